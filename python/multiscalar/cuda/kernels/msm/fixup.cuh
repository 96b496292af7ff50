// Joins the partial sums of buckets that cross slice borders; also what tames a hot bucket: a tree, never a chain.
//
// The partial sums of a set are a list sorted by bucket, NONE where a slot is unused: slot 2t for a bucket begun before
// slice t, slot 2t + 1 for one that goes on after it.
// 1. msm_join: a bucket over few slices (JOINED_ITEMS slots), the common case by far, is summed by one thread, which marks
//    its slots as joined.
//    A mark leaves the bucket number readable, so a neighbour that looks at the slots meanwhile decides the same.
// 2. msm_fixup: a block loads FIXUP_ITEMS slots and joins neighbours of one bucket pairwise in log steps, by octets. What is
//    complete goes to its bucket; what may continue in the next block goes to two slots of the next level's list. Blocks
//    with nothing to do return at once.
//
// Cost: join 12M + 2S a border; fixup log2(FIXUP_ITEMS) octet additions deep a level, all levels together log2(slices).

constexpr u32 JOINED = SIGN, FIXUP_OCTETS = 32, FIXUP_ITEMS = 2 * FIXUP_OCTETS, JOINED_ITEMS = 16;

// grid (ceil(sets slices / 128)): one thread a slice, through all sets.
extern "C" __global__ void __launch_bounds__(128, curve::N == 8 ? 4 : 3)
    msm_join(const u32* partials, u32* owners, u32* buckets_out, u32 sets, u32 slices, u32 buckets) {
    await_previous();
    admit_next();
    u32 g = blockIdx.x * blockDim.x + threadIdx.x, set = g / slices, t = g % slices;
    if (set >= sets || t + 1 == slices) return;
    u32* mine = owners + u64(set) * slices * 2;
    u32 first = 2 * t + 1, last = first + 1, end = 2 * slices, bucket = mine[first];
    if (bucket == NONE || (mine[first - 1] | JOINED) == (bucket | JOINED)) return;  // nothing begins here
    while (last < end && last - first <= JOINED_ITEMS && (mine[last] | JOINED) == (bucket | JOINED)) last++;
    if (last - first > JOINED_ITEMS) return;
    const u32* from = partials + u64(set) * slices * (8 * curve::N);
    Xyzz sum = load_xyzz(from + u64(first) * (4 * curve::N));
    for (u32 item = first + 1; item < last; item++) {
        Xyzz next = load_xyzz(from + u64(item) * (4 * curve::N));
        if (!is_infinity(next)) xyzz_add(sum, next);  // the second slot of a slice inside the bucket is empty
    }
    store_xyzz(buckets_out + (u64(set) * buckets + bucket) * (4 * curve::N), sum);
    for (u32 item = first; item < last; item++) mine[item] = bucket | JOINED;
}

// grid (ceil(count / FIXUP_ITEMS), sets), block 256. Lists of `count` items a set; out lists of 2 gridDim.x.
extern "C" __global__ void __launch_bounds__(256, 2)
    msm_fixup(const u32* partials, const u32* owners, u32* partials_out, u32* owners_out, u32* buckets_out, u32 count,
              u32 buckets) {
    await_previous();
    __shared__ u32 points[FIXUP_ITEMS * 3 * curve::N], held[FIXUP_ITEMS];
    constexpr u32 POINT = 3 * curve::N, XYZZ = 4 * curve::N;
    u32 set = blockIdx.y, octet = threadIdx.x / 8, first = blockIdx.x * FIXUP_ITEMS;
    const u32* set_owners = owners + u64(set) * count;
    u64 slot = 2 * (u64(set) * gridDim.x + blockIdx.x);
    u32 mine = NONE;
    if (threadIdx.x < FIXUP_ITEMS) {
        if (first + threadIdx.x < count) mine = set_owners[first + threadIdx.x];
        if (mine & JOINED) mine = NONE;
        held[threadIdx.x] = mine;
    }
    if (threadIdx.x < 2) owners_out[slot + threadIdx.x] = NONE;
    if (!__syncthreads_or(mine != NONE)) return;
    for (u32 item = octet; item < FIXUP_ITEMS; item += FIXUP_OCTETS)
        if (held[item] != NONE)
            octet_store_projective(points + item * POINT,
                                   octet_load_xyzz(partials + (u64(set) * count + first + item) * XYZZ));
    __syncthreads();
    // Item i takes in item i + step when both belong to one bucket and i is at a multiple of 2 step in its run.
    for (u32 step = 1; step < FIXUP_ITEMS; step *= 2) {
        bool any = false;
        for (u32 item = octet; item < FIXUP_ITEMS; item += FIXUP_OCTETS) {
            u32 owner = held[item], rank = 0;
            bool joins = owner != NONE && item + step < FIXUP_ITEMS && held[item + step] == owner;
            while (joins && rank < item && held[item - rank - 1] == owner) rank++;
            joins = joins && rank % (2 * step) == 0;
            any |= joins;
            if (!__any_sync(WARP, joins)) continue;
            u32* at = points + item * POINT;
            Fe left = octet_infinity(), right = left;  // and not an unused slot, whose zeros would call for a repair
            if (joins) left = octet_load_projective(at), right = octet_load_projective(at + step * POINT);
            Fe sum = octet_add(left, right);
            if (joins) octet_store_projective(at, sum);
        }
        if (!__syncthreads_or(any)) break;
    }
    // Runs that touch neither edge of the block are complete.
    u32* set_buckets = buckets_out + u64(set) * buckets * XYZZ;
    u32 before = first > 0 ? set_owners[first - 1] : NONE;
    u32 after = first + FIXUP_ITEMS < count ? set_owners[first + FIXUP_ITEMS] : NONE;
    for (u32 item = octet; item < FIXUP_ITEMS; item += FIXUP_OCTETS) {
        u32 owner = held[item];
        bool head = owner != NONE && (item == 0 || held[item - 1] != owner);
        bool begun_before = head && before == owner, goes_on = head && after == owner;
        u32 out = begun_before ? 0 : 1;
        bool whole = head && !begun_before && !goes_on;
        if (!__any_sync(WARP, head)) continue;
        Fe sum = octet_load_projective(points + item * POINT);
        octet_store_xyzz(whole ? set_buckets + u64(owner) * XYZZ : partials_out + (slot + out) * XYZZ, sum, head);
        if (head && !whole && octet_lane() == 0) owners_out[slot + out] = owner;
        if (begun_before && goes_on) {  // an empty slot 1 keeps the run adjacent
            if (octet_lane() == 0) owners_out[slot + 1] = owner;
            if (octet_lane() < 4) store_fe(partials_out + (slot + 1) * XYZZ + octet_lane() * curve::N, fe_zero());
        }
    }
}
