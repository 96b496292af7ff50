"""What the machine did while it was measured: GPU through NVML, host through /proc.

Observes, never sets.
"""
