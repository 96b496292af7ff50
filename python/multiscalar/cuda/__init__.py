"""The CUDA backend: devices, compiled kernels, plans. Loaded by name, only when a GPU is asked for."""
