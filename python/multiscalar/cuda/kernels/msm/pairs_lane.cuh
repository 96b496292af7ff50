// Reading pairs lane by lane: every thread asks for the coordinates of its own pairs, 16 bytes at a time.
//
// Nothing is shared, so nothing waits for a neighbour. But a point of 64 bytes is two requests to L2, one of 96 three or four, and
// requests are what the first round is bound by (docs/gpu-engine.md, step 7).

struct PairSpace {
    Fe tree[2 * PAIR_THREADS];
};

// Forward: prefix products of the denominators.
template <typename Source>
static __device__ __forceinline__ Fe pairs_forward(const Source& source, u32 first, u32 length, u32 run, Quad* scratch,
                                                   PairSpace&) {
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
                                                      const Quad* scratch, Fe running, PairSpace&) {
    for (u32 k = run; k-- > 0;) {
        u32 i = first + k * PAIR_THREADS + threadIdx.x;
        if (i >= length) continue;
        PairKey key = source.key(i);
        Fe x1 = source.x(key, i, 0), x2 = source.x(key, i, 1);
        Fe y1 = source.y(key, i, 0), y2 = source.y(key, i, 1);
        Fe prefix = scratch_load(scratch, k);
        Fe dx = sub(x2, x1);
        auto load_x = [&](u32 side) { return side ? x2 : x1; };
        auto load_y = [&](u32 side) { return side ? y2 : y1; };
        PairCase kind = pair_case(x1, x2, dx, load_y);
        Affine sum = pair_sum(kind, dx, prefix, running, load_x, load_y);
        store_fe(xs + u64(i) * curve::N, sum.x), store_fe(ys + u64(i) * curve::N, sum.y);
    }
}
