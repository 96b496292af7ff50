// One pair of affine points: where its coordinates come from, which case it is, its sum once its denominator is inverted.
//
// Exceptional pairs (equal, opposite, one or both missing) are told apart by the same test before and after the inversion.
// `passes.cuh` goes over the pairs of a tile, `rounds.cuh` over the tiles.
//
// Cost: 5M + 1S a sum with its share of an inversion, against 8M + 2S for an XYZZ addition.
// Source: Montgomery's trick (Math. Comp. 1987); affine formulas.

// Blocks of a multiprocessor: the chains of a sum are long, so warps count for more than registers.
constexpr u32 PAIR_THREADS = 128, PAIR_BLOCKS = curve::N == 8 ? 5 : 4;

enum PairCase { PAIR_ADD, PAIR_DOUBLE, PAIR_LEFT, PAIR_RIGHT, PAIR_INFINITY };

// Where the coordinates of a pair of inputs are: by table entries in the first round, among points later. A key is what has to
// be known before they can be asked for, and what is left to do to them then.
struct __align__(8) PairKey {
    u32 entry[2];
};

struct EntrySource {
    Table table;
    const PairKey* list;

    __device__ __forceinline__ const PairKey* key_place(u32 sum) const { return list + sum; }
    // Padding has record 0 read and marked.
    __device__ __forceinline__ const u32* place(const PairKey& key, u32, u32 side, u32 axis) const {
        u32 entry = key.entry[side];
        return table.at(entry == NONE ? 0 : entry) + axis * curve::N;
    }
    __device__ __forceinline__ Fe x(const PairKey& key, u32 side, Fe x) const {
        if (key.entry[side] == NONE) x.v[curve::N - 1] = INFINITY_MARK;
        return x;
    }
    __device__ __forceinline__ Fe y(const PairKey& key, u32 side, const Fe& y) const {
        return key.entry[side] & SIGN ? neg(y) : y;
    }
};

struct PointSource {
    const u32 *xs, *ys;

    __device__ __forceinline__ const PairKey* key_place(u32) const { return nullptr; }
    __device__ __forceinline__ const u32* place(const PairKey&, u32 sum, u32 side, u32 axis) const {
        return (axis ? ys : xs) + (2 * u64(sum) + side) * curve::N;
    }
    __device__ __forceinline__ Fe x(const PairKey&, u32, const Fe& x) const { return x; }
    __device__ __forceinline__ Fe y(const PairKey&, u32, const Fe& y) const { return y; }
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
