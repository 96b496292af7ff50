// What all kernels of an MSM share: entries, window widths, block scans, aggregated atomics.
//
// A *set* is one set of buckets: (msm, window), or (msm, window group) when precomputed tables let windows share buckets.
// An *entry* of a set's list names a table point: its index, whether its x is replaced by beta x, and its sign.

constexpr u32 SIGN = 0x80000000u, PHI = 0x40000000u, INDEX = 0x3fffffffu;
constexpr u32 NONE = 0xffffffffu;  // padding entry; also "no bucket" in lists of partial sums

// Status words, NONE before a run: the lowest index of an inadmissible scalar, of a point off the curve.
constexpr u32 STATUS_SCALAR = 0, STATUS_POINT = 1, STATUS_WORDS = 2;

// `bits` split into `windows` widths that differ by at most one, the wider ones last. An even split keeps the top window from
// being narrow, where every term would meet in a few buckets; and no scalar reaches all of the top window's (halves of a
// BLS12-377 scalar 54 % of them), so it is one that has buckets to spare.
static __device__ __forceinline__ u32 window_width(u32 bits, u32 windows, u32 w) {
    return bits / windows + (w + bits % windows >= windows);
}

static __device__ __forceinline__ u32 round_up(u32 value, u32 multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

// Exclusive prefix sum over the block; `total` gets the sum. `scratch` holds 33 words. All threads call.
static __device__ __forceinline__ u32 block_scan(u32 value, u32* scratch, u32& total) {
    u32 inclusive = value;
    for (u32 step = 1; step < 32; step *= 2) {
        u32 below = __shfl_up_sync(0xffffffffu, inclusive, step);
        if (lane_id() >= step) inclusive += below;
    }
    u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
    __syncthreads();
    if (lane_id() == 31) scratch[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        u32 sum = lane_id() < warps ? scratch[lane_id()] : 0, own = sum;
        for (u32 step = 1; step < 32; step *= 2) {
            u32 below = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane_id() >= step) sum += below;
        }
        scratch[lane_id()] = sum - own;
        if (lane_id() == 31) scratch[32] = sum;
    }
    __syncthreads();
    total = scratch[32];
    return scratch[warp] + inclusive - value;
}

// counters[key] += 1 for active lanes; returns the old value. Where many lanes share the key of the first active lane, they do
// it with one atomic, so that a hot key costs no more than a spread of keys. All lanes of the warp call.
static __device__ __forceinline__ u32 count_one(u32* counters, u32 key, bool active) {
    constexpr int MANY = 4;
    u32 voters = __ballot_sync(0xffffffffu, active);
    if (voters == 0) return 0;
    int leader = __ffs(int(voters)) - 1;
    u32 hot = __shfl_sync(0xffffffffu, key, leader);
    u32 same = __ballot_sync(0xffffffffu, active && key == hot);
    bool together = __popc(same) > MANY;  // of the whole warp
    u32 first = 0;
    if (together) {
        if (int(lane_id()) == leader) first = atomicAdd(&counters[hot], u32(__popc(same)));
        first = __shfl_sync(0xffffffffu, first, leader);
    }
    if (!active) return 0;
    if (together && key == hot) return first + u32(__popc(same & ((1u << lane_id()) - 1)));
    return atomicAdd(&counters[key], 1u);
}

// The bucket that holds list position `position`: the last b with offsets[b] <= position << shift, given that `low` is
// such a bucket. Tries the neighbour first, then bisects, so that a run of empty buckets costs a logarithm.
static __device__ __forceinline__ u32 find_bucket(const u32* offsets, u32 buckets, u32 shift, u32 low, u32 position) {
    if (low + 1 >= buckets || (offsets[low + 1] >> shift) > position) return low;
    if (low + 2 >= buckets || (offsets[low + 2] >> shift) > position) return low + 1;
    u32 high = buckets;  // offsets[high] > position
    low += 2;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if ((offsets[middle] >> shift) <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}
