// The two passes over a tile of pairs: upwards the products of denominators, downwards, with their inverse, the sums.
//
// Every thread has its own pairs, so nothing waits for a neighbour; what it waits for is memory, which answers a random read of a
// busy device after some 6,000 cycles. So nothing is asked for when it is needed: upwards the x of the next row and the key of the
// one after are on their way in registers; downwards, where registers are full, the next row's coordinates, its prefix
// and the key after it are copied into shared memory meanwhile (COPIES_AHEAD). A row is a pair a thread, all of one set; the
// rows of a tile may be of several. Reads stay inside them: what lies beyond reads the row's, or the tile's, last pair again.
//
// Source and cost: as in pairs.cuh. What each step brought: docs/gpu-engine.md, step 10.

constexpr u32 MAX_PAIR_ROWS = 288;  // of a tile
constexpr u32 FE_QUADS = curve::N / 4, STAGE_THREADS = COPIES_AHEAD ? PAIR_THREADS : 1;

// One row ahead, [quad][thread], so that a warp meets all banks.
struct PairStage {
    Quad point[2][2][FE_QUADS][STAGE_THREADS];  // [side][axis]
    Quad prefix[FE_QUADS][STAGE_THREADS];
    PairKey key[STAGE_THREADS];
};

union PairSpace {
    Fe tree[2 * PAIR_THREADS];
    PairStage stage;
};

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

static __device__ __forceinline__ Fe staged_fe(const Quad (&place)[FE_QUADS][STAGE_THREADS]) {
    Fe a;
#pragma unroll
    for (u32 j = 0; j < FE_QUADS; j++) {
        Quad q = place[j][threadIdx.x];
#pragma unroll
        for (u32 i = 0; i < 4; i++) a.v[4 * j + i] = q.v[i];
    }
    return a;
}

// Neighbouring sums of one set, a thread each unless the set ends before. Sums are counted through all sets, `out_stride` to each.
struct PairRow {
    u32 first, last;
};

// A tile of `height` rows, and this thread's way through it. The row that is asked for ahead may be one or two beyond it.
constexpr u32 ROWS_AHEAD = 2;

template <typename Source>
struct PairTile {
    const Source& source;
    const PairRow* rows;
    u32 height;

    __device__ __forceinline__ bool holds(u32 row) const { return at(row) <= rows[row].last; }
    __device__ __forceinline__ u32 at(u32 row) const { return rows[row].first + threadIdx.x; }
    __device__ __forceinline__ u32 inside(u32 row) const { return at(row) < rows[row].last ? at(row) : rows[row].last; }
    __device__ __forceinline__ PairKey key(u32 row) const {
        const PairKey* place = source.key_place(inside(row));
        return place == nullptr ? PairKey{} : *place;
    }
    __device__ __forceinline__ Fe load(const PairKey& key, u32 row, u32 side, u32 axis) const {
        return load_fe_line(source.place(key, inside(row), side, axis));
    }

    // Asks for row `row` of the downward pass, and for the key of the row below it.
    __device__ __forceinline__ void fetch(const PairKey& key, u32 row, const Quad* scratch, PairStage& stage) const {
        if (!COPIES_AHEAD) return;
        u32 t = threadIdx.x;
#pragma unroll
        for (u32 side = 0; side < 2; side++)
#pragma unroll
            for (u32 axis = 0; axis < 2; axis++) {
                const Quad* from = reinterpret_cast<const Quad*>(source.place(key, inside(row), side, axis));
#pragma unroll
                for (u32 j = 0; j < FE_QUADS; j++) copy_ahead(&stage.point[side][axis][j][t], from + j);
            }
#pragma unroll
        for (u32 j = 0; j < FE_QUADS; j++)
            copy_scratch(&stage.prefix[j][t], scratch + (row * FE_QUADS + j) * PAIR_THREADS + t);
        const PairKey* below = row > 0 ? source.key_place(inside(row - 1)) : nullptr;
        if (below != nullptr) copy_ahead(&stage.key[t], below);
    }
    __device__ __forceinline__ Fe take(const PairKey& key, u32 row, u32 side, u32 axis, const PairStage& stage) const {
        return COPIES_AHEAD ? staged_fe(stage.point[side][axis]) : load(key, row, side, axis);
    }
};

// Upwards: the product of this thread's denominators; the products before each are kept in scratch.
template <typename Source>
static __device__ __forceinline__ Fe pairs_forward(const PairTile<Source>& tile, Quad* scratch) {
    const Source& source = tile.source;
    Fe product = fe_one();
    PairKey coming = tile.key(0), after = tile.key(1);
    Fe next1 = tile.load(coming, 0, 0, 0), next2 = tile.load(coming, 0, 1, 0);
    for (u32 row = 0; row < tile.height; row++) {
        PairKey key = coming;
        Fe x1 = source.x(key, 0, next1), x2 = source.x(key, 1, next2);
        coming = after;
        next1 = tile.load(coming, row + 1, 0, 0), next2 = tile.load(coming, row + 1, 1, 0);
        after = tile.key(row + 2);
        scratch_store(scratch, row, product);
        if (!tile.holds(row)) continue;
        Fe dx = sub(x2, x1);
        auto load_y = [&](u32 side) { return source.y(key, side, tile.load(key, row, side, 1)); };
        PairCase kind = pair_case(x1, x2, dx, load_y);
        if (kind == PAIR_ADD || kind == PAIR_DOUBLE) product = mul(product, pair_denominator(kind, dx, load_y));
    }
    return product;
}

// Downwards: `running` is the inverse of the product of all denominators of this thread; sums go to `xs` and `ys`.
template <typename Source>
static __device__ __forceinline__ void pairs_backward(const PairTile<Source>& tile, u32* xs, u32* ys, const Quad* scratch,
                                                      Fe running, PairStage& stage) {
    const Source& source = tile.source;
    PairKey coming = tile.key(tile.height - 1);
    tile.fetch(coming, tile.height - 1, scratch, stage);
    for (u32 row = tile.height; row-- > 0;) {
        copies_arrived();
        PairKey key = coming;
        Fe x1 = source.x(key, 0, tile.take(key, row, 0, 0, stage)), x2 = source.x(key, 1, tile.take(key, row, 1, 0, stage));
        Fe y1 = source.y(key, 0, tile.take(key, row, 0, 1, stage)), y2 = source.y(key, 1, tile.take(key, row, 1, 1, stage));
        Fe prefix = COPIES_AHEAD ? staged_fe(stage.prefix) : scratch_load(scratch, row);
        Fe dx = sub(x2, x1);
        if (row > 0) {
            coming = COPIES_AHEAD ? stage.key[threadIdx.x] : tile.key(row - 1);
            __syncwarp();  // all of this row is in registers before the next one takes its place
            tile.fetch(coming, row - 1, scratch, stage);
        }
        if (!tile.holds(row)) continue;
        auto load_x = [&](u32 side) { return side ? x2 : x1; };
        auto load_y = [&](u32 side) { return side ? y2 : y1; };
        PairCase kind = pair_case(x1, x2, dx, load_y);
        Affine sum = pair_sum(kind, dx, prefix, running, load_x, load_y);
        u64 to = u64(tile.at(row)) * curve::N;
        store_fe(xs + to, sum.x), store_fe(ys + to, sum.y);
    }
}
