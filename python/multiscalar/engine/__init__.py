"""The engine: `msm` and `Bases` over backends behind one small protocol."""
