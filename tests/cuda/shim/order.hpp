// Portable twin of kernels/ptx/order.cuh: launches of the shim come one after the other.

static inline void await_previous() {}
static inline void admit_next() {}
