"""Cures for unstable timing, tried one by one beside the untreated subject: `catalogue`, `wrappers`, `outcome`."""
