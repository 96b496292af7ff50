"""CPU or GPU by measurement: profiles of this machine, the choice, its reason. Loaded by name by the engine."""
