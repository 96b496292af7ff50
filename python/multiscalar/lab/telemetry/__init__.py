"""What the machine did while it was measured: GPU state through NVML, host state through /proc. Observes,
never sets.
"""
