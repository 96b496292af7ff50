// Portable twin of kernels/ptx/warp.cuh: one rendezvous for all words.

template <int N>
static inline void shuffle_words(u32 (&r)[N], const u32 (&a)[N], int lane, int width) {
    unsigned first = threadIdx.x % 32 / unsigned(width) * unsigned(width);
    std::memcpy(r, shim::exchange(a, N)[first + unsigned(lane) % unsigned(width)], sizeof(r));
}
