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

// Copies of 16 bytes from global into shared memory that go on while the thread does something else. Copies between two
// commits are a group; waiting leaves the `PENDING` newest groups in flight. What a wait has seen is the waiting thread's own
// copies: lanes that read each other's need a barrier after it. Before sm_80 a copy is a load and a store.
//
// COPY_STAGES: groups worth having in flight, by the shared memory of a multiprocessor.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr u32 COPY_STAGES = 2;
#else
constexpr u32 COPY_STAGES = 1;
#endif

static __device__ __forceinline__ void copy_async(Quad* shared, const Quad* global) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(u32(__cvta_generic_to_shared(shared))), "l"(global)
                 : "memory");
#else
    *shared = *global;
#endif
}

static __device__ __forceinline__ void copy_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <u32 PENDING>
static __device__ __forceinline__ void copy_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// Whether a loop with a sum of four 8-limb coordinates and the next point on its way fits into 128 registers: it did with every
// assembler up to sm_90, while those for sm_100 and sm_120 spill 300 bytes.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool SUMS_FIT_REGISTERS = false;
#else
constexpr bool SUMS_FIT_REGISTERS = curve::N == 8;
#endif

// A 16-byte load from shared memory each time it is written down: what is read twice is not kept in registers between.
static __device__ __forceinline__ Quad load_shared(const Quad* address) {
    Quad q;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(q.v[0]), "=r"(q.v[1]), "=r"(q.v[2]), "=r"(q.v[3])
                 : "r"(u32(__cvta_generic_to_shared(address))));
    return q;
}

// Bits [shift, shift + 32) of the 64-bit value high:low, shift < 32.
static __device__ __forceinline__ u32 funnel(u32 low, u32 high, u32 shift) {
    return __funnelshift_r(low, high, shift);
}
