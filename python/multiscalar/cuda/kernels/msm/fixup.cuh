// Joins the partial sums of buckets that cross slice borders; also what tames a hot bucket: a tree, never a chain.
//
// The partial sums of a set are a list sorted by bucket, NONE where a slot is unused. A block takes FIXUP_ITEMS of
// them: each octet adds a run of FIXUP_RUN in order, then runs that share a bucket are joined pairwise in log steps. What is
// complete goes to its bucket; what may continue in the next block goes to two slots of the next level's list.
//
// Cost: FIXUP_RUN + log2(2 octets) octet additions deep a level (one or two levels but for huge n).

constexpr u32 FIXUP_OCTETS = 32, FIXUP_RUN = 8, FIXUP_ITEMS = FIXUP_OCTETS * FIXUP_RUN;

// The runs of one block: two slots an octet, with the same meaning as the slots of a slice.
struct FixupRuns {
    u32 points[2 * FIXUP_OCTETS * 3 * curve::N];
    u32 owners[2 * FIXUP_OCTETS];
};

// Adds items [begin, end) of the list in order. Octet-uniform branches diverge inside a warp, so every octet makes the
// same FIXUP_RUN steps and only the choice of operands differs.
static __device__ __forceinline__ void fixup_run(FixupRuns& runs, const u32* partials, const u32* owners, u32 count,
                                                 u32 begin, u32* buckets) {
    u32 octet = threadIdx.x / 8;
    Fe sum = octet_infinity();
    u32 bucket = NONE;
    bool begun_before = false;
    u32 slots[2] = {NONE, NONE};
    for (u32 k = 0; k <= FIXUP_RUN; k++) {
        u32 item = begin + k;
        bool inside = item < count;
        u32 owner = inside ? owners[item] : NONE;
        bool last = k == FIXUP_RUN;
        bool ends = bucket != NONE && (last || owner != bucket);
        bool goes_on = last && owner == bucket;
        // Close the run that ends here.
        u32 slot = begun_before ? 0 : 1;
        bool whole = ends && !begun_before && !goes_on;
        if (__any_sync(WARP, whole))
            octet_store_xyzz(buckets + u64(whole ? bucket : 0) * (4 * curve::N), sum, whole);
        if (ends && !whole) {
            octet_store_projective(runs.points + (2 * octet + slot) * (3 * curve::N), sum);
            slots[slot] = bucket;
            if (begun_before && goes_on) {
                octet_store_projective(runs.points + (2 * octet + 1) * (3 * curve::N), octet_infinity());
                slots[1] = bucket;
            }
        }
        if (last) break;
        // Open or extend.
        bool present = owner != NONE;
        bool extends = present && owner == bucket;
        Fe value = present ? octet_load_xyzz(partials + u64(item) * (4 * curve::N)) : octet_infinity();
        if (__any_sync(WARP, extends)) {
            Fe joined = octet_add(sum, value);
            sum = fe_select(extends, joined, value);
        } else {
            sum = value;
        }
        if (!extends) begun_before = present && k == 0 && item > 0 && owners[item - 1] == owner;
        bucket = owner;
    }
    if (octet_lane() == 0) runs.owners[2 * octet] = slots[0], runs.owners[2 * octet + 1] = slots[1];
}

// grid (ceil(count / FIXUP_ITEMS), sets), block 256. Lists of `count` items a set; out lists of 2 gridDim.x.
extern "C" __global__ void __launch_bounds__(256)
    msm_fixup(const u32* partials, const u32* owners, u32* partials_out, u32* owners_out, u32* buckets_out, u32 count,
              u32 buckets) {
    __shared__ FixupRuns runs;
    constexpr u32 ITEMS = 2 * FIXUP_OCTETS;
    u32 set = blockIdx.y, octet = threadIdx.x / 8;
    u32* set_buckets = buckets_out + u64(set) * buckets * (4 * curve::N);
    const u32* set_owners = owners + u64(set) * count;
    u32 first = blockIdx.x * FIXUP_ITEMS;
    fixup_run(runs, partials + u64(set) * count * (4 * curve::N), set_owners, count, first + octet * FIXUP_RUN,
              set_buckets);
    __syncthreads();
    // Join: item i takes in item i + step when both belong to one bucket and i is at a multiple of 2 step in its run.
    for (u32 step = 1; step < ITEMS; step *= 2) {
        bool any = false;
        for (u32 item = octet; item < ITEMS; item += FIXUP_OCTETS) {
            u32 owner = runs.owners[item], rank = 0;
            while (rank < item && runs.owners[item - rank - 1] == owner) rank++;
            bool joins = owner != NONE && rank % (2 * step) == 0 && item + step < ITEMS && runs.owners[item + step] == owner;
            any |= joins;
            if (!__any_sync(WARP, joins)) continue;
            u32* at = runs.points + item * (3 * curve::N);
            Fe joined = octet_add(octet_load_projective(at), octet_load_projective(joins ? at + step * (3 * curve::N) : at));
            if (joins) octet_store_projective(at, joined);
        }
        if (!__syncthreads_or(any)) break;
    }
    // Runs that touch neither edge of the block are complete.
    u64 slot = 2 * (u64(set) * gridDim.x + blockIdx.x);
    if (threadIdx.x < 2) owners_out[slot + threadIdx.x] = NONE;
    __syncthreads();
    u32 before = first > 0 ? set_owners[first - 1] : NONE;
    u32 after = first + FIXUP_ITEMS < count ? set_owners[first + FIXUP_ITEMS] : NONE;
    for (u32 item = octet; item < ITEMS; item += FIXUP_OCTETS) {
        u32 owner = runs.owners[item];
        bool head = owner != NONE && (item == 0 || runs.owners[item - 1] != owner);
        bool begun_before = head && before == owner, goes_on = head && after == owner;
        u32 out = begun_before ? 0 : 1;
        bool whole = head && !begun_before && !goes_on;
        Fe sum = octet_load_projective(runs.points + item * (3 * curve::N));
        if (__any_sync(WARP, head)) {
            u32* to = whole ? set_buckets + u64(owner) * (4 * curve::N) : partials_out + (slot + out) * (4 * curve::N);
            octet_store_xyzz(to, sum, head);
        }
        if (head && !whole && octet_lane() == 0) owners_out[slot + out] = owner;
        if (begun_before && goes_on) {
            if (octet_lane() == 0) owners_out[slot + 1] = owner;
            if (octet_lane() < 4) store_fe(partials_out + (slot + 1) * (4 * curve::N) + octet_lane() * curve::N, fe_zero());
        }
    }
}
