// Reading pairs warp by warp: the lanes of a warp fetch the records of their 32 pairs together, into shared memory.
//
// Neighbouring lanes ask for neighbouring 16 bytes of one record, so a point is one request to L2 with all its sectors, where a
// lane alone makes a request of every sector; between rounds, where pairs are contiguous, a request is a full line. Copies are
// asynchronous and take no registers: those of the next row run while this row is computed, and the list entries of the row
// after that are on their way. Sums go back through the same place, so that the stores are full lines too.
//
// Requests a sum, first round: 5 instead of 8 (8 limbs), 7 instead of 13 (12 limbs); later rounds 2.5 of 4.5, 4 of 12.
// A plane holds 32 records of one side of the pairs, or of one coordinate where x and y are arrays of their own.
constexpr u32 COORDINATE = curve::N / 4, RECORD = 2 * COORDINATE, PLANE = 32 * RECORD;  // in quads

union PairSpace {
    Fe tree[2 * PAIR_THREADS];
    Quad planes[PAIR_THREADS / 32][COPY_STAGES][2][PLANE];
};

// Where quad `q` of record `m` lies in its plane: turned about so that lanes which read the same quad of their own records,
// or two halves of neighbouring ones, meet different banks.
static __device__ __forceinline__ u32 plane_place(u32 m, u32 q) {
    u32 turn = RECORD == 4 ? m & 2 | m >> 2 & 1 : m >> 2 & 1;
    return m * RECORD + (q ^ turn);
}

static __device__ __forceinline__ Fe plane_load(const Quad* plane, u32 first_quad) {
    Fe a;
#pragma unroll
    for (u32 j = 0; j < COORDINATE; j++) {
        Quad quad = load_shared(plane + plane_place(lane_id(), first_quad + j));
#pragma unroll
        for (u32 i = 0; i < 4; i++) a.v[4 * j + i] = quad.v[i];
    }
    return a;
}

static __device__ __forceinline__ void plane_store(Quad* plane, u32 first_quad, const Fe& a) {
#pragma unroll
    for (u32 j = 0; j < COORDINATE; j++) {
        Quad quad;
#pragma unroll
        for (u32 i = 0; i < 4; i++) quad.v[i] = a.v[4 * j + i];
        plane[plane_place(lane_id(), first_quad + j)] = quad;
    }
}

// Neighbouring lanes take the quads of one record, in groups of a power of two (a lane or two of a group idle where a record
// is no power of two): so which record and quad a lane takes differs from step to step by a constant.
template <u32 QUADS>
struct Share {
    static constexpr u32 GROUP = QUADS > 4 ? 8 : QUADS > 2 ? 4 : 2, STEPS = GROUP;

    static __device__ __forceinline__ u32 record(u32 step) { return step * (32 / GROUP) + lane_id() / GROUP; }
    static __device__ __forceinline__ u32 quad() { return lane_id() % GROUP; }
};

// The first QUADS quads of each lane's record into a plane; `address(m)` is where lane m's record lies, null for none. All
// lanes call.
template <u32 QUADS, typename Address>
static __device__ __forceinline__ void plane_fetch(Quad* plane, const Address& address) {
#pragma unroll
    for (u32 step = 0; step < Share<QUADS>::STEPS; step++) {
        u32 m = Share<QUADS>::record(step), q = Share<QUADS>::quad();
        const u32* from = address(m);
        if (q < QUADS && from != nullptr) copy_async(plane + plane_place(m, q), reinterpret_cast<const Quad*>(from) + q);
    }
}

// How each source fills the two planes of a row, x only or both coordinates, and reads its own lane's part of them.
// `warp_first` is the pair of lane 0, `key` this lane's. A row of points is fetched whole, also where it runs over the end of a
// set: the buffers have room for that.
template <bool WHOLE>
static __device__ __forceinline__ void fetch_row(const EntrySource& source, Quad (&planes)[2][PLANE], const PairKey& key, u32) {
#pragma unroll
    for (u32 side = 0; side < 2; side++)
        plane_fetch<WHOLE ? RECORD : COORDINATE>(planes[side], [&](u32 m) -> const u32* {
            u32 entry = __shfl_sync(0xffffffffu, key.v[side], int(m));
            return entry == NONE ? nullptr : source.table.at(entry);
        });
}

template <bool WHOLE>
static __device__ __forceinline__ void fetch_row(const PointSource& source, Quad (&planes)[2][PLANE], const PairKey&,
                                                 u32 warp_first) {
#pragma unroll
    for (u32 axis = 0; axis < (WHOLE ? 2 : 1); axis++) {
        const u32* from = (axis ? source.ys : source.xs) + 2 * u64(warp_first) * curve::N;
        plane_fetch<RECORD>(planes[axis], [&](u32 m) { return from + 2 * m * curve::N; });
    }
}

static __device__ __forceinline__ Fe row_x(const EntrySource&, const Quad (&planes)[2][PLANE], const PairKey& key, u32 side) {
    return key.v[side] == NONE ? fe_mark() : plane_load(planes[side], 0);
}

static __device__ __forceinline__ Fe row_y(const EntrySource&, const Quad (&planes)[2][PLANE], const PairKey& key, u32 side) {
    if (key.v[side] == NONE) return fe_zero();
    Fe y = plane_load(planes[side], COORDINATE);
    return key.v[side] & SIGN ? neg(y) : y;
}

static __device__ __forceinline__ Fe row_x(const PointSource&, const Quad (&planes)[2][PLANE], const PairKey&, u32 side) {
    return plane_load(planes[0], side * COORDINATE);
}

static __device__ __forceinline__ Fe row_y(const PointSource&, const Quad (&planes)[2][PLANE], const PairKey&, u32 side) {
    return plane_load(planes[1], side * COORDINATE);
}

// The tile's rows, upwards or downwards: `before(k)` while row k is on its way, then `work(i, key, planes, held)` with what it
// returned, for this lane's pair i, which may lie beyond `length`.
template <bool WHOLE, typename Source, typename Before, typename Work>
static __device__ __forceinline__ void for_rows(const Source& source, PairSpace& space, u32 first, u32 length, u32 run,
                                                bool upwards, const Before& before, const Work& work) {
    auto& stages = space.planes[threadIdx.x / 32];
    auto row = [&](u32 step) { return upwards ? step : run - 1 - step; };
    auto pair = [&](u32 step) { return first + row(step) * PAIR_THREADS + threadIdx.x; };
    auto key_of = [&](u32 step) {
        PairKey none = {{NONE, NONE}};
        return step < run && pair(step) < length ? source.key(pair(step)) : none;
    };
    auto fetch = [&](u32 step, const PairKey& key) {
        if (step < run) fetch_row<WHOLE>(source, stages[step % COPY_STAGES], key, pair(step) - lane_id());
        copy_commit();
    };
    PairKey coming = key_of(0), last = coming;
    for (u32 turn = 0; turn < run + COPY_STAGES - 1; turn++) {
        __syncwarp();  // everybody has left the stage that is overwritten now
        fetch(turn, coming);
        PairKey key = COPY_STAGES == 2 ? last : coming;
        last = coming, coming = key_of(turn + 1);
        if (turn + 1 < COPY_STAGES) continue;
        u32 step = turn + 1 - COPY_STAGES;
        auto held = before(row(step));
        copy_wait<COPY_STAGES - 1>();
        __syncwarp();
        work(pair(step), key, stages[step % COPY_STAGES], held);
    }
}

// Forward: prefix products of the denominators.
template <typename Source>
static __device__ __forceinline__ Fe pairs_forward(const Source& source, u32 first, u32 length, u32 run, Quad* scratch,
                                                   PairSpace& space) {
    Fe product = fe_one();
    for_rows<false>(
        source, space, first, length, run, true,
        [&](u32 k) {
            scratch_store(scratch, k, product);
            return 0;
        },
        [&](u32 i, const PairKey& key, const Quad(&planes)[2][PLANE], int) {
            if (i >= length) return;
            Fe x1 = row_x(source, planes, key, 0), x2 = row_x(source, planes, key, 1);
            Fe dx = sub(x2, x1);
            auto load_y = [&](u32 side) { return source.y(key, i, side); };
            PairCase kind = pair_case(x1, x2, dx, load_y);
            if (kind == PAIR_ADD || kind == PAIR_DOUBLE) product = mul(product, pair_denominator(kind, dx, load_y));
        });
    __syncthreads();  // the tree lies where other warps may still read
    return product;
}

// A row of sums out of the plane where every lane has left its own: one coordinate, full lines.
static __device__ __forceinline__ void store_row(u32* out, const Quad* plane, u32 first_quad, u32 warp_first, u32 length) {
    Quad* to = reinterpret_cast<Quad*>(out + u64(warp_first) * curve::N);
#pragma unroll
    for (u32 step = 0; step < Share<COORDINATE>::STEPS; step++) {
        u32 m = Share<COORDINATE>::record(step), q = Share<COORDINATE>::quad();
        if (q < COORDINATE && warp_first + m < length) to[m * COORDINATE + q] = plane[plane_place(m, first_quad + q)];
    }
}

// Backward: `running` is the inverse of the product of all denominators of this thread.
template <typename Source>
static __device__ __forceinline__ void pairs_backward(const Source& source, u32* xs, u32* ys, u32 first, u32 length, u32 run,
                                                      const Quad* scratch, Fe running, PairSpace& space) {
    __syncthreads();  // everybody has read the tree
    for_rows<true>(
        source, space, first, length, run, false, [&](u32 k) { return scratch_load(scratch, k); },
        [&](u32 i, const PairKey& key, Quad(&planes)[2][PLANE], const Fe& prefix) {
            if (i < length) {
                auto load_x = [&](u32 side) { return row_x(source, planes, key, side); };
                auto load_y = [&](u32 side) { return row_y(source, planes, key, side); };
                Fe x1 = load_x(0), x2 = load_x(1);
                Fe dx = sub(x2, x1);
                PairCase kind = pair_case(x1, x2, dx, load_y);
                Affine sum = pair_sum(kind, dx, prefix, running, load_x, load_y);
                plane_store(planes[0], 0, sum.x), plane_store(planes[0], COORDINATE, sum.y);
            }
            __syncwarp();
            store_row(xs, planes[0], 0, i - lane_id(), length);
            store_row(ys, planes[0], COORDINATE, i - lane_id(), length);
        });
}
