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

// Bits [shift, shift + 32) of the 64-bit value high:low, shift < 32.
static __device__ __forceinline__ u32 funnel(u32 low, u32 high, u32 shift) {
    return __funnelshift_r(low, high, shift);
}
