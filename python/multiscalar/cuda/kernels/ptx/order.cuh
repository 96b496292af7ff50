// The order of launches (programmatic dependent launch, sm_90 and newer). The portable twin is tests/cuda/shim/order.hpp.
//
// A launch that was submitted as an early one may begin while the launch before it ends. So every thread of every kernel first
// waits until all of the previous launch has ended and its writes are seen: that makes ends transitive, and what a kernel
// overwrites has been read by everybody. Launched the ordinary way both statements do nothing.

static __device__ __forceinline__ void await_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next launch's blocks may take the room that this one leaves: in kernels of few blocks, whose successors have few too. Where
// blocks have to spread evenly over the device, early ones would crowd where room comes first.
static __device__ __forceinline__ void admit_next() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
