// Rounds of pairwise affine addition: halves every bucket's list of points, with one inversion for thousands of sums.
//
// Output point i of a set is the sum of inputs 2i and 2i + 1, which the padding puts in the same bucket. The sums of all
// sets form one list, of which each block gets an equal share; it works through it in tiles of 128 x `run` sums:
//   1. forward: each thread multiplies up the denominators of its sums, keeping the prefix products in scratch;
//   2. a product tree over the 128 threads, one inversion by lane 0, the tree downwards;
//   3. backward: each sum's inverse is the running inverse times the prefix; then slope, x, y.
// Step 1 waits for memory, step 2 for one lane, step 3 for the multiplier: they hide each other only if the blocks of a
// multiprocessor are in different steps, so the first tile of a block is shortened by its place there.
//
// Points between rounds are kept as an array of x and an array of y for each set: the forward pass reads x only.
//
// Cost: 5M + 1S a sum and an inversion a tile, against 8M + 2S for an XYZZ addition.
// Source: Montgomery's trick (Math. Comp. 1987); affine formulas.

// Product tree over the block; returns the inverse of the caller's value. `tree` holds 2 PAIR_THREADS elements.
static __device__ __forceinline__ Fe block_inverse(const Fe& value, Fe* tree) {
    u32 t = threadIdx.x;
    tree[PAIR_THREADS + t] = value;
    __syncthreads();
    for (u32 width = PAIR_THREADS / 2; width > 0; width /= 2) {
        if (t < width) tree[width + t] = mul(tree[2 * (width + t)], tree[2 * (width + t) + 1]);
        __syncthreads();
    }
    if (t == 0) tree[1] = inverse(tree[1]);
    __syncthreads();
    for (u32 width = 2; width <= PAIR_THREADS; width *= 2) {
        Fe mine;
        if (t < width) mine = mul(tree[(width + t) / 2], tree[(width + t) ^ 1]);
        __syncthreads();
        if (t < width) tree[width + t] = mine;
        __syncthreads();
    }
    return tree[PAIR_THREADS + t];
}

// Where a block begins: rows of 128 sums, counted over all sets.
struct PairShare {
    u64 begin, end, set_begin;
    u32 set;
};

// A batch has thousands of sets, a walk of as many reads one after the other: instead every thread counts the rows of some of
// them, and a scan tells where each begins. `lengths`: of set s at lengths[s (buckets + 1)]. All threads call.
static __device__ __forceinline__ PairShare pair_share(const u32* lengths, u32 buckets, u32 sets, u32 shift) {
    __shared__ u32 scratch[33], place[2];
    auto rows_of = [&](u32 set) {
        return ((lengths[u64(set) * (buckets + 1)] >> shift) + PAIR_THREADS - 1) / PAIR_THREADS;
    };
    u32 each = (sets + PAIR_THREADS - 1) / PAIR_THREADS, set = threadIdx.x * each, mine = 0, all;
    for (u32 s = set; s < set + each && s < sets; s++) mine += rows_of(s);
    u32 before = block_scan(mine, scratch, all);
    PairShare share = {u64(all) * blockIdx.x / gridDim.x, u64(all) * (blockIdx.x + 1) / gridDim.x, 0, 0};
    if (before <= share.begin && share.begin < before + mine) {
        for (u32 rows; share.begin >= before + (rows = rows_of(set)); set++) before += rows;
        place[0] = set, place[1] = before;
    }
    __syncthreads();
    share.set = place[0], share.set_begin = place[1];  // of no meaning to a block that has nothing to do
    return share;
}

// The block's share of the sums of all sets, tile by tile. `shift`: pair rounds up to and with this one, so a set has
// offsets[buckets] >> shift sums; `slots`: blocks of a multiprocessor, for the stagger.
template <typename MakeSource>
static __device__ __forceinline__ void pairs_all(const MakeSource& make, const u32* offsets, u32* out, Quad* scratch,
                                                 u32 buckets, u32 sets, u32 shift, u32 run, u32 slots, u32 out_stride) {
    __shared__ PairSpace space;
    const u32* lengths = offsets + buckets;
    auto [begin, end, set_begin, set] = pair_share(lengths, buckets, sets, shift);
    Quad* mine = scratch + u64(blockIdx.x) * (run * (curve::N / 4) * PAIR_THREADS);
    u32 limit = (run * (blockIdx.x * slots / gridDim.x % slots + 1) + slots - 1) / slots;  // rows of the first tile, not none
    while (begin < end) {
        u32 length = lengths[u64(set) * (buckets + 1)] >> shift;
        u64 set_end = set_begin + (length + PAIR_THREADS - 1) / PAIR_THREADS;
        if (begin >= set_end) {
            set++, set_begin = set_end;
            continue;
        }
        u64 last = set_end < end ? set_end : end;
        u32 height = u32(last - begin) < limit ? u32(last - begin) : limit, first = u32(begin - set_begin) * PAIR_THREADS;
        limit = run;
        auto source = make(set);
        u32* xs = out + u64(set) * out_stride * (2 * curve::N);
        PairTile<decltype(source)> tile = {source, first, length, height};
        Fe inverted = block_inverse(pairs_forward(tile, mine), space.tree);
        __syncthreads();  // the stage lies where the tree was read
        pairs_backward(tile, xs, xs + u64(out_stride) * curve::N, mine, inverted, space.stage);
        begin += height;
        __syncthreads();
    }
}

// First round. grid: any; scratch: gridDim.x x run x 128 elements. out_stride >= entry_stride / 2.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    msm_pairs_entries(const u32* table, const u32* entries, const u32* offsets, u32* out, u32* scratch, u32 coordinates,
                      u32 buckets, u32 sets, u32 run, u32 slots, u32 entry_stride, u32 out_stride) {
    await_previous();
    Table records = {table, coordinates};
    pairs_all([&](u32 set) { return EntrySource{records, reinterpret_cast<const PairKey*>(entries + u64(set) * entry_stride)}; }, offsets, out,
              reinterpret_cast<Quad*>(scratch), buckets, sets, 1, run, slots, out_stride);
}

// Later rounds: `shift` = 2, 3, ...; in_stride and out_stride in points.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    msm_pairs_points(const u32* points, const u32* offsets, u32* out, u32* scratch, u32 buckets, u32 sets, u32 shift,
                     u32 run, u32 slots, u32 in_stride, u32 out_stride) {
    await_previous();
    auto make = [&](u32 set) {
        const u32* xs = points + u64(set) * in_stride * (2 * curve::N);
        return PointSource{xs, xs + u64(in_stride) * curve::N};
    };
    pairs_all(make, offsets, out, reinterpret_cast<Quad*>(scratch), buckets, sets, shift, run, slots, out_stride);
}
