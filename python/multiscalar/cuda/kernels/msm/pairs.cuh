// Rounds of pairwise affine addition: halves every bucket's list of points, with one inversion for thousands of sums.
//
// Output point i of a set is the sum of inputs 2i and 2i + 1, which the padding puts in the same bucket. The sums of all
// sets form one list, of which each block gets an equal share; it works through it in tiles of 128 x `run` sums:
//   1. forward: each thread multiplies up the denominators of its sums, keeping the prefix products in scratch;
//   2. a product tree over the 128 threads, one inversion by lane 0, the tree downwards;
//   3. backward: each sum's inverse is the running inverse times the prefix; then slope, x, y.
// Step 1 waits for memory, step 2 for one lane, step 3 for the multiplier: they hide each other only if the blocks of a
// multiprocessor are in different steps, so the first tile of a block is shortened by its place there.
// Exceptional pairs (equal, opposite, one or both missing) are told apart in both passes by the same test.
//
// Points between rounds are kept as an array of x and an array of y for each set: the forward pass reads x only.
//
// Cost: 5M + 1S a sum and an inversion a tile, against 8M + 2S for an XYZZ addition.
// Source: Montgomery's trick (Math. Comp. 1987); affine formulas.

// Blocks of a multiprocessor: the chains of a sum are long, so warps count for more than registers.
constexpr u32 PAIR_THREADS = 128, PAIR_BLOCKS = curve::N == 8 ? 5 : 4;

enum PairCase { PAIR_ADD, PAIR_DOUBLE, PAIR_LEFT, PAIR_RIGHT, PAIR_INFINITY };

// Reads the coordinates of a pair of inputs: by table entries in the first round, from points later. A key is what has to
// be known before the coordinates can be asked for.
struct PairKey {
    u32 v[2];
};

struct EntrySource {
    Table table;
    const u32* list;

    __device__ __forceinline__ PairKey key(u32 i) const { return {{list[2 * i], list[2 * i + 1]}}; }
    __device__ __forceinline__ Fe x(const PairKey& key, u32, u32 side) const {
        u32 entry = key.v[side];
        return entry == NONE ? fe_mark() : load_fe_line(table.at(entry));
    }
    __device__ __forceinline__ Fe y(const PairKey& key, u32, u32 side) const {
        u32 entry = key.v[side];
        if (entry == NONE) return fe_zero();
        Fe y = load_fe_line(table.at(entry) + curve::N);
        return entry & SIGN ? neg(y) : y;
    }
};

struct PointSource {
    const u32 *xs, *ys;

    __device__ __forceinline__ PairKey key(u32) const { return {{0, 0}}; }
    __device__ __forceinline__ Fe x(const PairKey&, u32 i, u32 side) const {
        return load_fe_line(xs + (2 * u64(i) + side) * curve::N);
    }
    __device__ __forceinline__ Fe y(const PairKey&, u32 i, u32 side) const {
        return load_fe_line(ys + (2 * u64(i) + side) * curve::N);
    }
};

// Classifies a pair. The y coordinates are asked for only when the x's agree.
template <typename LoadY>
static __device__ __forceinline__ PairCase pair_case(const Fe& x1, const Fe& x2, const Fe& dx, const LoadY& load_y) {
    bool none1 = is_marked(x1), none2 = is_marked(x2);
    if (none1 || none2) return none1 && none2 ? PAIR_INFINITY : none2 ? PAIR_LEFT : PAIR_RIGHT;
    if (!is_zero(dx)) return PAIR_ADD;
    Fe y1 = load_y(0), y2 = load_y(1);
    return is_zero(sub(y1, y2)) && !is_zero(y1) ? PAIR_DOUBLE : PAIR_INFINITY;
}

// What has to be inverted for this pair; never zero.
template <typename LoadY>
static __device__ __forceinline__ Fe pair_denominator(PairCase kind, const Fe& dx, const LoadY& load_y) {
    if (kind == PAIR_ADD) return dx;
    return kind == PAIR_DOUBLE ? dbl(load_y(0)) : fe_one();
}

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

// Prefix products: scratch of this block, [run][N / 4][128] quads, so that a warp writes whole lines.
static __device__ __forceinline__ void scratch_store(Quad* scratch, u32 k, const Fe& a) {
#pragma unroll
    for (int j = 0; j < curve::N / 4; j++) {
        Quad q;
#pragma unroll
        for (int i = 0; i < 4; i++) q.v[i] = a.v[4 * j + i];
        store_scratch(scratch + (k * (curve::N / 4) + j) * PAIR_THREADS + threadIdx.x, q);
    }
}

static __device__ __forceinline__ Fe scratch_load(const Quad* scratch, u32 k) {
    Fe a;
#pragma unroll
    for (int j = 0; j < curve::N / 4; j++) {
        Quad q = load_scratch(scratch + (k * (curve::N / 4) + j) * PAIR_THREADS + threadIdx.x);
#pragma unroll
        for (int i = 0; i < 4; i++) a.v[4 * j + i] = q.v[i];
    }
    return a;
}

// Forward: prefix products of the denominators.
template <typename Source>
static __device__ __forceinline__ Fe pairs_forward(const Source& source, u32 first, u32 length, u32 run, Quad* scratch) {
    Fe product = fe_one();
    for (u32 k = 0; k < run; k++) {
        u32 i = first + k * PAIR_THREADS + threadIdx.x;
        scratch_store(scratch, k, product);
        if (i >= length) continue;
        PairKey key = source.key(i);
        Fe x1 = source.x(key, i, 0), x2 = source.x(key, i, 1);
        Fe dx = sub(x2, x1);
        auto load_y = [&](u32 side) { return source.y(key, i, side); };
        PairCase kind = pair_case(x1, x2, dx, load_y);
        if (kind == PAIR_ADD || kind == PAIR_DOUBLE) product = mul(product, pair_denominator(kind, dx, load_y));
    }
    return product;
}

// Backward: `running` is the inverse of the product of all denominators of this thread.
template <typename Source>
static __device__ __forceinline__ void pairs_backward(const Source& source, u32* xs, u32* ys, u32 first, u32 length, u32 run,
                                                      const Quad* scratch, Fe running) {
    for (u32 k = run; k-- > 0;) {
        u32 i = first + k * PAIR_THREADS + threadIdx.x;
        if (i >= length) continue;
        PairKey key = source.key(i);
        Fe x1 = source.x(key, i, 0), x2 = source.x(key, i, 1);
        Fe y1 = source.y(key, i, 0), y2 = source.y(key, i, 1);
        Fe prefix = scratch_load(scratch, k);
        Fe dx = sub(x2, x1);
        PairCase kind = pair_case(x1, x2, dx, [&](u32 side) { return side ? y2 : y1; });
        Affine sum = kind == PAIR_LEFT ? Affine{x1, y1} : kind == PAIR_RIGHT ? Affine{x2, y2} : affine_infinity();
        if (kind == PAIR_ADD || kind == PAIR_DOUBLE) {
            Fe inverted = mul(running, prefix);
            Fe rise = sub(y2, y1);
            if (kind == PAIR_DOUBLE) {
                Fe xx = sqr(x1);
                rise = add(dbl(xx), xx);
                dx = dbl(y1);
            }
            running = mul(running, dx);
            Fe slope = mul(rise, inverted);
            sum.x = sub(sub(sqr(slope), x1), x2);
            sum.y = sub(mul(slope, sub(x1, sum.x)), y1);
        }
        store_fe(xs + u64(i) * curve::N, sum.x), store_fe(ys + u64(i) * curve::N, sum.y);
    }
}

// The block's share of the sums of all sets, tile by tile. `shift`: pair rounds up to and with this one, so a set has
// offsets[buckets] >> shift sums; `slots`: blocks of a multiprocessor, for the stagger.
template <typename MakeSource>
static __device__ __forceinline__ void pairs_all(const MakeSource& make, const u32* offsets, u32* out, Quad* scratch,
                                                 u32 buckets, u32 sets, u32 shift, u32 run, u32 slots, u32 out_stride) {
    __shared__ Fe tree[2 * PAIR_THREADS];
    const u32* lengths = offsets + buckets;  // of set s at lengths[s (buckets + 1)]
    u64 rows = 0;                            // of 128 sums
    for (u32 set = 0; set < sets; set++)
        rows += ((lengths[u64(set) * (buckets + 1)] >> shift) + PAIR_THREADS - 1) / PAIR_THREADS;
    u64 begin = rows * blockIdx.x / gridDim.x, end = rows * (blockIdx.x + 1) / gridDim.x;
    Quad* mine = scratch + u64(blockIdx.x) * (run * (curve::N / 4) * PAIR_THREADS);
    u32 limit = run * (blockIdx.x * slots / gridDim.x % slots + 1) / slots;  // rows of the first tile
    u32 set = 0;
    u64 set_begin = 0;
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
        Fe product = pairs_forward(source, first, length, height, mine);
        Fe inverted = block_inverse(product, tree);
        pairs_backward(source, xs, xs + u64(out_stride) * curve::N, first, length, height, mine, inverted);
        begin += height;
        __syncthreads();
    }
}

// First round. grid: any; scratch: gridDim.x x run x 128 elements. out_stride >= entry_stride / 2.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    msm_pairs_entries(const u32* table, const u32* entries, const u32* offsets, u32* out, u32* scratch, u32 coordinates,
                      u32 buckets, u32 sets, u32 run, u32 slots, u32 entry_stride, u32 out_stride) {
    Table records = {table, coordinates};
    pairs_all([&](u32 set) { return EntrySource{records, entries + u64(set) * entry_stride}; }, offsets, out,
              reinterpret_cast<Quad*>(scratch), buckets, sets, 1, run, slots, out_stride);
}

// Later rounds: `shift` = 2, 3, ...; in_stride and out_stride in points.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    msm_pairs_points(const u32* points, const u32* offsets, u32* out, u32* scratch, u32 buckets, u32 sets, u32 shift,
                     u32 run, u32 slots, u32 in_stride, u32 out_stride) {
    auto make = [&](u32 set) {
        const u32* xs = points + u64(set) * in_stride * (2 * curve::N);
        return PointSource{xs, xs + u64(in_stride) * curve::N};
    };
    pairs_all(make, offsets, out, reinterpret_cast<Quad*>(scratch), buckets, sets, shift, run, slots, out_stride);
}
