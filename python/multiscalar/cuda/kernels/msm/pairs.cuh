// One pair of affine points: where its coordinates come from, which case it is, its sum once its denominator is inverted.
//
// Exceptional pairs (equal, opposite, one or both missing) are told apart by the same test before and after the inversion.
// `rounds.cuh` says how many pairs share an inversion; pairs_lane.cuh reads them.
//
// Cost: 5M + 1S a sum with its share of an inversion, against 8M + 2S for an XYZZ addition.
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

// The sum of a pair. `running` is the inverse of the product of all denominators up to this one, `prefix` the product of
// those before it; `running` moves on to the pair before. Coordinates are asked for where they are used, some twice.
template <typename LoadX, typename LoadY>
static __device__ __forceinline__ Affine pair_sum(PairCase kind, Fe dx, const Fe& prefix, Fe& running, const LoadX& load_x,
                                                  const LoadY& load_y) {
    if (kind == PAIR_LEFT) return {load_x(0), load_y(0)};
    if (kind == PAIR_RIGHT) return {load_x(1), load_y(1)};
    if (kind == PAIR_INFINITY) return affine_infinity();
    Fe inverted = mul(running, prefix), rise;
    if (kind == PAIR_DOUBLE) {
        Fe xx = sqr(load_x(0));
        rise = add(dbl(xx), xx);
        dx = dbl(load_y(0));
    } else {
        rise = sub(load_y(1), load_y(0));
    }
    running = mul(running, dx);
    Fe slope = mul(rise, inverted);
    Affine sum;
    sum.x = sub(sub(sqr(slope), load_x(0)), load_x(1));
    sum.y = sub(mul(slope, sub(load_x(0), sum.x)), load_y(0));
    return sum;
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
