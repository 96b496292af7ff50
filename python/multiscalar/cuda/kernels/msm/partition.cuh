// Grouping entries by bucket for long lists: a counting sort of two levels, without host decisions.
//
// 1. msm_bin_count       histogram of the high digit bits (the bins)
// 2. msm_bin_scatter     entries to their bins
// 3. msm_bucket_count    histogram of the low digit bits inside each bin, i.e. of the buckets
// 4. msm_bin_lengths     list length of each bin, buckets padded; one block a bin (left out when pad = 1)
// 5. msm_bucket_offsets  where each bucket starts, padding filled with NONE; one block a bin
// 6. msm_bucket_scatter  entries to their buckets
// Every block of 1, 2, 3 and 6 handles an equal chunk of a list, so a bin that holds everything costs what a spread does.
// Scatters reserve room with one atomic a target and write runs (tiles.cuh). Buckets start at multiples of `pad`: log2(pad)
// rounds of pairwise addition then need no further bookkeeping.
//
// Cost: about 40 bytes of traffic an entry. Targets (bins, or buckets of a bin) are at most MAX_TARGETS.

constexpr u32 MAX_BINS = 1024;

// Which stretch of a set's digits a block handles: chunks x (halves parts) blocks a set.
struct DigitChunk {
    u32 block, begin, end;

    __device__ __forceinline__ DigitChunk(u32 n, u32 chunk) {
        u32 chunks = (n + chunk - 1) / chunk;
        block = blockIdx.x / chunks;
        begin = blockIdx.x % chunks * chunk;
        end = begin + chunk < n ? begin + chunk : n;
    }
};

// grid (chunks halves parts, sets); bin_counts start at zero.
extern "C" __global__ void __launch_bounds__(SORT_THREADS, 2)
    msm_bin_count(const u32* digits, u32* bin_counts, u32 n, u32 chunk, u32 bins, u32 low_bits, u32 digit_stride) {
    await_previous();
    __shared__ u32 counts[MAX_TARGETS];
    DigitChunk mine(n, chunk);
    const u32* from = digits + u64(blockIdx.y) * digit_stride + u64(mine.block) * n;
    count_targets(counts, bins, mine.begin, mine.end, [&](u32 i, u32& target, u32&) {
        u32 magnitude = from[i] & ~SIGN;
        target = (magnitude - 1) >> low_bits;
        return magnitude != 0;
    });
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x)
        if (counts[b]) atomicAdd(&bin_counts[u64(blockIdx.y) * bins + b], counts[b]);
}

// grid (chunks halves parts, sets); bin_cursors start at zero. A binned item is its entry and its low digit bits.
extern "C" __global__ void __launch_bounds__(SORT_THREADS, SCATTER_BLOCKS)
    msm_bin_scatter(const u32* digits, const u32* bin_counts, u32* bin_cursors, u32* binned_entries,
                    unsigned short* binned_keys, u32 n, u32 halves, u32 parts, u32 points, u32 own_bases, u32 groups,
                    u32 first_set, u32 chunk, u32 bins, u32 low_bits, u32 digit_stride) {
    await_previous();
    __shared__ SortSpace space;
    __shared__ u32 places[MAX_BINS];
    u32 set = blockIdx.y;
    EntryMap map = {n, halves, parts, points, own_bases ? (first_set + set) / groups * n : 0};
    DigitChunk mine(n, chunk);
    const u32* from = digits + u64(set) * digit_stride + u64(mine.block) * n;
    auto read = [&](u32 i, u32& target, u32& item) {
        u32 magnitude = from[i] & ~SIGN;
        target = (magnitude - 1) >> low_bits, item = i;
        return magnitude != 0;
    };
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) places[b] = bin_counts[u64(set) * bins + b];
    __syncthreads();
    scan_targets(places, bins, space.scratch);
    __syncthreads();
    auto reserve = [&](u32 bin, u32 count) { return places[bin] + atomicAdd(&bin_cursors[u64(set) * bins + bin], count); };
    u32* entries = binned_entries + u64(set) * digit_stride;
    unsigned short* keys = binned_keys + u64(set) * digit_stride;
    scatter_chunk(space, bins, mine.begin, mine.end, read, reserve, [&](u32 place, u32 i) {
        u32 digit = from[i];  // in the cache: the tile has just been read
        entries[place] = entry_of(map, mine.block, i, digit);
        keys[place] = (unsigned short)(((digit & ~SIGN) - 1) & ((1u << low_bits) - 1));
    });
}

// Runs `work(bin, begin, end)` for the bins that meet list positions [first, first + chunk): the block's share. The
// prefix sums of the bins are left in `places` (bins + 1 words).
template <typename Work>
static __device__ __forceinline__ void for_bins(const u32* bin_counts, u32 bins, u32 chunk, u32* places, u32* scratch,
                                                const Work& work) {
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) places[b] = bin_counts[b];
    __syncthreads();
    u32 length = scan_targets(places, bins, scratch);
    if (threadIdx.x == 0) places[bins] = length;
    __syncthreads();
    u32 position = blockIdx.x * chunk, last = position + chunk < length ? position + chunk : length;
    if (position >= length) return;
    u32 bin = find_bucket(places, bins, 0, 0, position);
    while (position < last) {
        u32 bin_end = places[bin + 1], end = bin_end < last ? bin_end : last;
        if (position < end) work(bin, position, end);
        position = end, bin++;
    }
}

// grid (chunks, sets); bucket_counts, one word a bucket with stride `stride`, start at zero.
extern "C" __global__ void __launch_bounds__(SORT_THREADS, 2)
    msm_bucket_count(const u32* bin_counts, const unsigned short* binned_keys, u32* bucket_counts, u32 bins, u32 low_bits,
                     u32 chunk, u32 digit_stride) {
    await_previous();
    __shared__ u32 counts[MAX_TARGETS], places[MAX_BINS + 1], scratch[33];
    u32 set = blockIdx.y;
    const unsigned short* keys = binned_keys + u64(set) * digit_stride;
    for_bins(bin_counts + u64(set) * bins, bins, chunk, places, scratch, [&](u32 bin, u32 begin, u32 end) {
        count_targets(counts, 1u << low_bits, begin, end, [&](u32 i, u32& target, u32&) {
            target = keys[i];
            return true;
        });
        u32* to = bucket_counts + ((u64(set) * bins + bin) << low_bits);
        for (u32 b = threadIdx.x; b < 1u << low_bits; b += blockDim.x)
            if (counts[b]) atomicAdd(&to[b], counts[b]);
        __syncthreads();
    });
}

// grid (bins, sets).
extern "C" __global__ void __launch_bounds__(256)
    msm_bin_lengths(const u32* bucket_counts, u32* bin_lengths, u32 bins, u32 low_bits, u32 pad) {
    await_previous();
    __shared__ u32 scratch[33];
    u64 bin = u64(blockIdx.y) * bins + blockIdx.x;
    u32 own = 0, total;
    for (u32 b = threadIdx.x; b < 1u << low_bits; b += blockDim.x) own += round_up(bucket_counts[(bin << low_bits) + b], pad);
    block_scan(own, scratch, total);
    if (threadIdx.x == 0) bin_lengths[bin] = total;
}

// grid (bins, sets). offsets: [set][buckets + 1]. The counts become the cursors of msm_bucket_scatter.
extern "C" __global__ void __launch_bounds__(256)
    msm_bucket_offsets(const u32* bin_lengths, u32* bucket_counts, u32* offsets, u32* entries, u32 bins, u32 low_bits,
                       u32 pad, u32 entry_stride) {
    await_previous();
    __shared__ u32 scratch[33];
    u32 set = blockIdx.y, bin = blockIdx.x, local = 1u << low_bits;
    u32 own = 0, place;
    for (u32 k = threadIdx.x; k < bin; k += blockDim.x) own += bin_lengths[u64(set) * bins + k];
    block_scan(own, scratch, place);
    u32* counts = bucket_counts + ((u64(set) * bins + bin) << low_bits);
    u32* mine = offsets + u64(set) * ((bins << low_bits) + 1) + (bin << low_bits);
    u32* to = entries + u64(set) * entry_stride;
    for (u32 first = 0; first < local; first += blockDim.x) {
        u32 b = first + threadIdx.x, total;
        u32 count = b < local ? counts[b] : 0, padded = round_up(count, pad);
        u32 start = place + block_scan(padded, scratch, total);
        if (b < local) {
            mine[b] = start, counts[b] = start;
            for (u32 k = count; k < padded; k++) to[start + k] = NONE;
        }
        place += total;
    }
    if (bin == bins - 1 && threadIdx.x == 0) mine[local] = place;
}

// grid (chunks, sets).
extern "C" __global__ void __launch_bounds__(SORT_THREADS, SCATTER_BLOCKS)
    msm_bucket_scatter(const u32* bin_counts, u32* bucket_cursors, const u32* binned_entries,
                       const unsigned short* binned_keys, u32* entries, u32 bins, u32 low_bits, u32 chunk,
                       u32 digit_stride, u32 entry_stride) {
    await_previous();
    __shared__ SortSpace space;
    __shared__ u32 places[MAX_BINS + 1];
    u32 set = blockIdx.y, local = 1u << low_bits;
    const unsigned short* keys = binned_keys + u64(set) * digit_stride;
    const u32* from = binned_entries + u64(set) * digit_stride;
    u32* to = entries + u64(set) * entry_stride;
    for_bins(bin_counts + u64(set) * bins, bins, chunk, places, space.scratch, [&](u32 bin, u32 begin, u32 end) {
        auto read = [&](u32 i, u32& target, u32& entry) {
            target = keys[i], entry = from[i];
            return true;
        };
        u32* cursors = bucket_cursors + ((u64(set) * bins + bin) << low_bits);
        auto reserve = [&](u32 bucket, u32 count) { return atomicAdd(&cursors[bucket], count); };
        scatter_chunk(space, local, begin, end, read, reserve, [&](u32 place, u32 entry) { to[place] = entry; });
    });
}
