// Grouping entries by bucket, in shared memory, for small lists: one block a set.
//
// 1. Count digits; 2. prefix sums give each bucket's place; 3. scatter. Zero digits are dropped.
// Cost: three sweeps over the digits of the set by one multiprocessor, about 10 us up to 2^13 entries.
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

// grid (sets), block a multiple of 32, dynamic shared memory: buckets words.
extern "C" __global__ void __launch_bounds__(1024)
    msm_group(const u32* digits, u32* entries, u32* offsets, u32 n, u32 halves, u32 parts, u32 points, u32 own_bases,
              u32 groups, u32 buckets, u32 digit_stride, u32 entry_stride) {
    DYNAMIC_SHARED(u32, counters);
    __shared__ u32 scratch[33];
    u32 set = blockIdx.x;
    EntryMap map = {n, halves, parts, points, own_bases ? set / groups * n : 0};
    const u32* from = digits + u64(set) * digit_stride;
    u32* place = offsets + u64(set) * (buckets + 1);
    u32 rounded = (n + blockDim.x - 1) / blockDim.x * blockDim.x;

    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) counters[b] = 0;
    __syncthreads();
    for (u32 block = 0; block < halves * parts; block++)
        for (u32 i = threadIdx.x; i < rounded; i += blockDim.x) {
            u32 magnitude = i < n ? from[block * n + i] & ~SIGN : 0;
            count_one(counters, magnitude - 1, magnitude != 0);
        }
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
    for (u32 block = 0; block < halves * parts; block++)
        for (u32 i = threadIdx.x; i < rounded; i += blockDim.x) {
            u32 digit = i < n ? from[block * n + i] : 0;
            u32 magnitude = digit & ~SIGN;
            u32 position = count_one(counters, magnitude - 1, magnitude != 0);
            if (magnitude) to[position] = entry_of(map, block, i, digit);
        }
}
