// Grouping entries by bucket, in shared memory, for small lists: one block a set.
//
// 1. Count digits, each thread keeping HELD of them and their ranks among the digits of their bucket; 2. prefix sums give
// each bucket's place; 3. what was kept is written at place + rank. Lists of more than HELD digits a thread are read a
// second time and ranked anew. Zero digits are dropped.
// Cost: one sweep over the digits of the set by one multiprocessor, HELD reads of a thread in flight; two for long lists.
//
// offsets[set][b] is the list position of bucket b (digit magnitude b + 1), offsets[set][buckets] the length.

struct EntryMap {
    u32 n, halves, parts;         // a list holds parts x halves x n candidates
    u32 points;                   // table points of one part
    u32 first;                    // table index of this msm's first base
};

static __device__ __forceinline__ u32 entry_of(const EntryMap& map, u32 block, u32 i, u32 digit) {
    u32 half = block % map.halves, part = block / map.halves;
    return (digit & SIGN) | (half ? PHI : 0) | (part * map.points + map.first + i);
}

// A stretch of a set's candidates, one of every blockDim.x a thread.
constexpr u32 HELD = 16;

struct HeldDigits {
    u32 digits[HELD], ranks[HELD];

    __device__ __forceinline__ void read(const u32* from, u32 first, u32 count) {
#pragma unroll
        for (u32 k = 0; k < HELD; k++) {
            u32 j = first + k * blockDim.x + threadIdx.x;
            digits[k] = j < count ? from[j] : 0;
        }
    }

    // counters[b] += 1 for every digit of bucket b; its rank is what the counter was. All threads call.
    __device__ __forceinline__ void rank(u32* counters, u32 first, u32 count) {
#pragma unroll
        for (u32 k = 0; k < HELD; k++) {
            if (first + k * blockDim.x >= count) break;
            u32 magnitude = digits[k] & ~SIGN;
            ranks[k] = count_one(counters, magnitude - 1, magnitude != 0);
        }
    }

    // The entries, at their ranks counted from starts[b]; null starts: the ranks are places already.
    __device__ __forceinline__ void write(u32* to, const EntryMap& map, const u32* starts, u32 first, u32 count) const {
#pragma unroll
        for (u32 k = 0; k < HELD; k++) {
            u32 j = first + k * blockDim.x + threadIdx.x, magnitude = digits[k] & ~SIGN;
            if (j >= count || magnitude == 0) continue;
            u32 start = starts == nullptr ? 0 : starts[magnitude - 1];
            to[start + ranks[k]] = entry_of(map, j / map.n, j % map.n, digits[k]);
        }
    }
};

// grid (sets), block a multiple of 32, dynamic shared memory: buckets words. digit_stride = halves parts n.
extern "C" __global__ void __launch_bounds__(1024)
    msm_group(const u32* digits, u32* entries, u32* offsets, u32 n, u32 halves, u32 parts, u32 points, u32 own_bases,
              u32 groups, u32 buckets, u32 digit_stride, u32 entry_stride) {
    await_previous();
    DYNAMIC_SHARED(u32, counters);
    __shared__ u32 scratch[33];
    u32 set = blockIdx.x, count = digit_stride, stretch = HELD * blockDim.x;
    EntryMap map = {n, halves, parts, points, own_bases ? set / groups * n : 0};
    const u32* from = digits + u64(set) * digit_stride;
    u32* place = offsets + u64(set) * (buckets + 1);
    HeldDigits held;

    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) counters[b] = 0;
    __syncthreads();
    for (u32 first = 0; first < count; first += stretch) held.read(from, first, count), held.rank(counters, first, count);
    __syncthreads();
    u32 base = 0;
    for (u32 first = 0; first < buckets; first += blockDim.x) {
        u32 b = first + threadIdx.x, total;
        u32 before = base + block_scan(b < buckets ? counters[b] : 0, scratch, total);
        if (b < buckets) counters[b] = before, place[b] = before;
        base += total;
    }
    if (threadIdx.x == 0) place[buckets] = base;
    __syncthreads();
    u32* to = entries + u64(set) * entry_stride;
    if (count <= stretch) {
        held.write(to, map, counters, 0, count);
        return;
    }
    for (u32 first = 0; first < count; first += stretch) {
        held.read(from, first, count), held.rank(counters, first, count);
        held.write(to, map, nullptr, first, count);
    }
}
