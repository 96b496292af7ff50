// Bucket accumulation over equal slices of the grouped lists.
//
// Every list is cut into `slices` slices and the threads count through those of all sets, so that a set need not have whole
// blocks of them. Slice t of a set is the list positions [t L, (t + 1) L), whatever the buckets are, so the time does not
// depend on the distribution of scalars. L is the length that the list turned out to have over the number of slices: no slice
// is empty before the last ones of its set, and what is launched fits the device's places whether they are or not. A bucket
// that lies inside a slice is stored; one that crosses a border leaves a partial sum, which msm_fixup joins. Two slots a slice:
// slot 0 for a bucket begun earlier, slot 1 for one that goes on.
//
// Cost: an XYZZ mixed addition (8M + 2S) an entry, less the first of each bucket. Source: EFD shortw/xyzz.

// Where sums go: whole buckets, of one set, and two slots with bucket numbers for each slice of any set.
struct Sums {
    u32* buckets;
    u32* partials;
    u32* owners;
};

// Places a finished run of bucket `b`, all that slice `slot / 2` has of it.
static __device__ __forceinline__ u32* sum_target(const Sums& sums, u32 b, u64 slot, bool begun_before, bool goes_on) {
    if (begun_before) {
        sums.owners[slot] = b;
        return sums.partials + slot * (4 * curve::N);
    }
    if (goes_on) {
        sums.owners[slot + 1] = b;
        return sums.partials + (slot + 1) * (4 * curve::N);
    }
    return sums.buckets + u64(b) * (4 * curve::N);
}

template <typename Load>
static __device__ __forceinline__ void accumulate_slice(const u32* offsets, u32 buckets, u32 shift, u32 slices, u32 g,
                                                        const Sums& sums, const Load& load) {
    u64 slot = 2 * u64(g);
    sums.owners[slot] = NONE, sums.owners[slot + 1] = NONE;
    u32 length = offsets[buckets] >> shift, slice = (length + slices - 1) / slices, begin = g % slices * slice;
    if (begin >= length) return;
    u32 end = begin + slice < length ? begin + slice : length;
    u32 low = 0, high = buckets;  // bisect for the first bucket
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if ((offsets[middle] >> shift) <= begin)
            low = middle;
        else
            high = middle;
    }
    u32 bucket = low, bucket_end = offsets[bucket + 1] >> shift;
    bool begun_before = (offsets[bucket] >> shift) < begin;
    Xyzz sum = xyzz_infinity();
    Affine next = load(begin);
    for (u32 position = begin; position < end; position++) {
        Affine p = next;
        if (position + 1 < end) next = load(position + 1);
        if (position == bucket_end) {
            store_xyzz(sum_target(sums, bucket, slot, begun_before, false), sum);
            bucket = find_bucket(offsets, buckets, shift, bucket + 1, position);
            bucket_end = offsets[bucket + 1] >> shift;
            begun_before = false;
            sum = xyzz_from(p);
        } else {
            xyzz_add_affine(sum, p);
        }
    }
    bool goes_on = bucket_end > end;
    store_xyzz(sum_target(sums, bucket, slot, begun_before, goes_on), sum);
    if (begun_before && goes_on) {  // a bucket wider than the slice: an empty slot 1 keeps its partials adjacent
        sums.owners[slot + 1] = bucket;
        store_xyzz(sums.partials + (slot + 1) * (4 * curve::N), xyzz_infinity());
    }
}

// grid (ceil(sets slices / 128)): partial sums of 2^32 slices would not fit any memory.
extern "C" __global__ void __launch_bounds__(128, curve::N == 8 ? 4 : 3)
    msm_accumulate(const u32* table, const u32* entries, const u32* offsets, u32* buckets_out, u32* partials, u32* owners,
                   u32 coordinates, u32 buckets, u32 sets, u32 slices, u32 entry_stride) {
    await_previous();
    u32 g = blockIdx.x * blockDim.x + threadIdx.x, set = g / slices;
    if (set >= sets) return;
    Table records = {table, coordinates};
    const u32* list = entries + u64(set) * entry_stride;
    Sums sums = {buckets_out + u64(set) * buckets * (4 * curve::N), partials, owners};
    accumulate_slice(offsets + u64(set) * (buckets + 1), buckets, 0, slices, g, sums,
                     [&](u32 position) { return load_entry(records, list[position]); });
}

// The same over points left by msm_pairs; `shift` is the number of pair rounds.
extern "C" __global__ void __launch_bounds__(128, curve::N == 8 ? 4 : 3)
    msm_accumulate_points(const u32* points, const u32* offsets, u32* buckets_out, u32* partials, u32* owners,
                          u32 buckets, u32 sets, u32 slices, u32 shift, u32 point_stride) {
    await_previous();
    u32 g = blockIdx.x * blockDim.x + threadIdx.x, set = g / slices;
    if (set >= sets) return;
    const u32 *xs = points + u64(set) * point_stride * curve::N, *ys = xs + u64(sets) * point_stride * curve::N;
    Sums sums = {buckets_out + u64(set) * buckets * (4 * curve::N), partials, owners};
    accumulate_slice(offsets + u64(set) * (buckets + 1), buckets, shift, slices, g, sums, [&](u32 position) {
        return Affine{load_fe_line(xs + u64(position) * curve::N), load_fe_line(ys + u64(position) * curve::N)};
    });
}
