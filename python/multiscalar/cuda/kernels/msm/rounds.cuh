// Rounds of pairwise affine addition: halves every bucket's list of points, with one inversion for thousands of sums.
//
// Output point i of a set is the sum of inputs 2i and 2i + 1, which the padding puts in the same bucket. The sums of all
// sets form one list of rows, of which each block gets an equal share; it works through it in tiles of `run` rows of 128 sums,
// whatever sets they are of:
//   1. forward: each thread multiplies up the denominators of its sums, keeping the prefix products in scratch;
//   2. a product tree over the 128 threads, one inversion by lane 0, the tree downwards;
//   3. backward: each sum's inverse is the running inverse times the prefix; then slope, x, y.
// Step 1 waits for memory, step 2 for one lane, step 3 for the multiplier: they hide each other only if the blocks of a
// multiprocessor are in different steps, so the first tile of a block is shortened by its place there.
//
// Points between rounds are kept as an array of x and an array of y, for all sets: the forward pass reads x only.
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

// The lengths of all sets' lists of sums: of set s at offsets[s (buckets + 1) + buckets] >> shift. `shift`: pair rounds up to
// and with this one.
struct PairLengths {
    const u32* offsets;
    u32 buckets, sets, shift;

    __device__ __forceinline__ u32 of(u32 set) const { return offsets[u64(set) * (buckets + 1) + buckets] >> shift; }
    __device__ __forceinline__ u32 rows(u32 set) const { return (of(set) + PAIR_THREADS - 1) / PAIR_THREADS; }
};

// How many rows a block has still to do, and where the next one is: in which set, and which of its rows.
struct PairShare {
    u32 rows, set, row;
};

// A batch has thousands of sets, a walk of as many reads one after the other: instead every thread counts the rows of some of
// them, and a scan tells where each begins. All threads call.
static __device__ __forceinline__ PairShare pair_share(const PairLengths& lengths) {
    __shared__ u32 scratch[33], place[2];
    u32 each = (lengths.sets + PAIR_THREADS - 1) / PAIR_THREADS, set = threadIdx.x * each, mine = 0, all;
    for (u32 s = set; s < set + each && s < lengths.sets; s++) mine += lengths.rows(s);
    u32 before = block_scan(mine, scratch, all);
    u32 begin = u32(u64(all) * blockIdx.x / gridDim.x), end = u32(u64(all) * (blockIdx.x + 1) / gridDim.x);
    if (before <= begin && begin < before + mine) {
        for (u32 rows; begin >= before + (rows = lengths.rows(set)); set++) before += rows;
        place[0] = set, place[1] = begin - before;
    }
    __syncthreads();
    return {end - begin, place[0], place[1]};  // a place of no meaning when there is nothing to do
}

// The next `height` rows of a share, and the last of them once more for those who look ahead. All threads call.
static __device__ __forceinline__ void take_rows(PairRow* rows, u32 height, PairShare& share, const PairLengths& lengths,
                                                 u32 out_stride) {
    share.rows -= height;
    for (u32 done = 0; done < height;) {
        u32 length = lengths.of(share.set), left = (length + PAIR_THREADS - 1) / PAIR_THREADS - share.row;
        u32 count = left < height - done ? left : height - done, base = share.set * out_stride, last = base + length - 1;
        for (u32 k = threadIdx.x; k < count; k += PAIR_THREADS) rows[done + k] = {base + (share.row + k) * PAIR_THREADS, last};
        done += count, share.row += count;
        if (count == left) share.set++, share.row = 0;
    }
    __syncthreads();
    if (threadIdx.x < ROWS_AHEAD) rows[height + threadIdx.x] = rows[height - 1];
    __syncthreads();
}

// The block's share of the sums of all sets, tile by tile. `slots`: blocks of a multiprocessor, for the stagger.
template <typename Source>
static __device__ __forceinline__ void pairs_all(const Source& source, const PairLengths& lengths, u32* out, Quad* scratch,
                                                 u32 run, u32 slots, u32 out_stride) {
    __shared__ PairSpace space;
    __shared__ PairRow rows[MAX_PAIR_ROWS + ROWS_AHEAD];
    PairShare share = pair_share(lengths);
    Quad* mine = scratch + u64(blockIdx.x) * (run * (curve::N / 4) * PAIR_THREADS);
    u32* ys = out + u64(lengths.sets) * out_stride * curve::N;
    u32 limit = (run * (blockIdx.x * slots / gridDim.x % slots + 1) + slots - 1) / slots;  // rows of the first tile, not none
    while (share.rows > 0) {
        u32 height = share.rows < limit ? share.rows : limit;
        limit = run;
        take_rows(rows, height, share, lengths, out_stride);
        PairTile<Source> tile = {source, rows, height};
        Fe inverted = block_inverse(pairs_forward(tile, mine), space.tree);
        __syncthreads();  // the stage lies where the tree was read
        pairs_backward(tile, out, ys, mine, inverted, space.stage);
        __syncthreads();
    }
}

// First round. grid: any; scratch: gridDim.x x run x 128 elements, run <= MAX_PAIR_ROWS. A set has room for 2 out_stride entries.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    msm_pairs_entries(const u32* table, const u32* entries, const u32* offsets, u32* out, u32* scratch, u32 coordinates,
                      u32 buckets, u32 sets, u32 run, u32 slots, u32 out_stride) {
    await_previous();
    EntrySource source = {{table, coordinates}, reinterpret_cast<const PairKey*>(entries)};
    pairs_all(source, {offsets, buckets, sets, 1}, out, reinterpret_cast<Quad*>(scratch), run, slots, out_stride);
}

// Later rounds: `shift` = 2, 3, ...; a set has room for 2 out_stride points.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    msm_pairs_points(const u32* points, const u32* offsets, u32* out, u32* scratch, u32 buckets, u32 sets, u32 shift,
                     u32 run, u32 slots, u32 out_stride) {
    await_previous();
    PointSource source = {points, points + u64(sets) * out_stride * (2 * curve::N)};
    pairs_all(source, {offsets, buckets, sets, shift}, out, reinterpret_cast<Quad*>(scratch), run, slots, out_stride);
}
