// Memory access with hints. The portable twin is tests/cuda/shim/memory.hpp.

struct __align__(16) Quad {
    u32 v[4];
};

// A 16-byte load of read-only data whose neighbours in the same 64-byte line will be wanted too: a point is two or
// three such lines read by one lane, and without the hint each half line is a DRAM access of its own.
static __device__ __forceinline__ Quad load_line(const Quad* address) {
    Quad q;
    asm("ld.global.nc.L2::64B.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(q.v[0]), "=r"(q.v[1]), "=r"(q.v[2]), "=r"(q.v[3])
        : "l"(address));
    return q;
}

// A 16-byte load of data written by this kernel (scratch): cached in L2 only.
static __device__ __forceinline__ Quad load_scratch(const Quad* address) {
    Quad q;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(q.v[0]), "=r"(q.v[1]), "=r"(q.v[2]), "=r"(q.v[3])
                 : "l"(address)
                 : "memory");
    return q;
}

static __device__ __forceinline__ void store_scratch(Quad* address, const Quad& q) {
    asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(q.v[0]), "r"(q.v[1]), "r"(q.v[2]),
                 "r"(q.v[3])
                 : "memory");
}

// Copies from global into shared memory that go on while the thread does something else; what a wait has seen is the waiting
// thread's own copies. `copy_ahead` takes 16 or 8 bytes of read-only data through L1, where two halves of a sector meet;
// `copy_scratch` takes 16 bytes that this kernel wrote, from L2.
//
// COPIES_AHEAD: a multiprocessor has the copies and the shared memory for a row of pairs of every resident block (164 KB and
// more). Elsewhere pairs are loaded where they are needed.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr bool COPIES_AHEAD = true;
#define COPY_ASYNC(TEXT, BYTES, SHARED, GLOBAL)                                                                                 \
    asm volatile("cp.async." TEXT ".shared.global [%0], [%1], %2;" ::"r"(u32(__cvta_generic_to_shared(SHARED))), "l"(GLOBAL),   \
                 "n"(BYTES)                                                                                                     \
                 : "memory")
static __device__ __forceinline__ void copies_arrived() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
constexpr bool COPIES_AHEAD = false;
#define COPY_ASYNC(TEXT, BYTES, SHARED, GLOBAL)
static __device__ __forceinline__ void copies_arrived() {}
#endif

template <typename T>
static __device__ __forceinline__ void copy_ahead(T* shared, const T* global) {
    COPY_ASYNC("ca", sizeof(T), shared, global);
}

static __device__ __forceinline__ void copy_scratch(Quad* shared, const Quad* global) {
    COPY_ASYNC("cg", 16, shared, global);
}

// Whether a loop with a sum of four 8-limb coordinates and the next point on its way fits into 128 registers: it did with every
// assembler up to sm_90, while those for sm_100 and sm_120 spill 300 bytes.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool SUMS_FIT_REGISTERS = false;
#else
constexpr bool SUMS_FIT_REGISTERS = curve::N == 8;
#endif

// Bits [shift, shift + 32) of the 64-bit value high:low, shift < 32.
static __device__ __forceinline__ u32 funnel(u32 low, u32 high, u32 shift) {
    return __funnelshift_r(low, high, shift);
}
