// CUDA C++ names on top of fibres.hpp.
#pragma once

#include "fibres.hpp"

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __shared__ static __attribute__((section("shim_shared")))
#define __align__(n) alignas(n)

#define threadIdx (shim::block.current->thread)
#define blockIdx (shim::block_index)
#define blockDim (shim::block_dim)
#define gridDim (shim::grid_dim)

#define DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(shim::dynamic_shared)

inline void __syncthreads() { shim::arrive_block(); }

inline void __syncwarp() { shim::arrive_warp(shim::warp_of_current()); }

inline int __syncthreads_or(int predicate) { return shim::arrive_block(predicate != 0); }

inline unsigned __shfl_sync(unsigned, unsigned value, int lane, int width = 32) {
    unsigned self = threadIdx.x % 32, first = self / width * width;
    return shim::exchange(&value, 1)[first + unsigned(lane) % width][0];
}

inline unsigned __shfl_up_sync(unsigned, unsigned value, unsigned delta) {
    unsigned self = threadIdx.x % 32;
    return shim::exchange(&value, 1)[self >= delta ? self - delta : self][0];
}

inline unsigned __ballot_sync(unsigned, bool predicate) {
    unsigned value = predicate, result = 0;
    auto slot = shim::exchange(&value, 1);
    for (unsigned k = 0; k < 32; k++) result |= slot[k][0] << k;
    return result;
}

inline bool __any_sync(unsigned mask, bool predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }

inline unsigned atomicAdd(unsigned* address, unsigned value) {
    unsigned old = *address;
    *address = old + value;
    return old;
}

inline unsigned atomicMin(unsigned* address, unsigned value) {
    unsigned old = *address;
    if (value < old) *address = value;
    return old;
}
