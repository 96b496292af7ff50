#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]

// Warp exchange. The portable twin is tests/cuda/shim/warp.hpp, where one exchange of a whole element is one rendezvous.

template <int N>
static __device__ __forceinline__ void shuffle_words(u32 (&r)[N], const u32 (&a)[N], int lane, int width) {
#pragma unroll
    for (int k = 0; k < N; k++) r[k] = __shfl_sync(0xffffffffu, a[k], lane, width);
}
