// Grouping entries by bucket for long lists: a counting sort of two levels, without host decisions.
//
// 1. msm_bin_count      histogram of the high digit bits (the bins), one block a chunk of the digits
// 2. msm_bin_scatter    each block reserves room in every bin with one atomic a bin and writes its entries there
// 3. msm_bucket_count   one block a bin: histogram of the low digit bits, padded length of the bin
// 4. msm_bucket_scatter one block a bin: entries to their buckets, padding filled with NONE
// Buckets start at multiples of `pad`, so that log2(pad) rounds of pairwise addition need no further bookkeeping.
//
// Cost: about 30 bytes of traffic an entry. Bins are at most 1024, buckets of a bin at most 2048.

constexpr u32 MAX_BINS = 1024, MAX_BIN_BUCKETS = 2048;

static __device__ __forceinline__ u32 round_up(u32 value, u32 multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

// Which stretch of the digits a block handles: chunks x (halves parts) blocks a set.
struct Chunk {
    u32 block, begin, end;

    __device__ __forceinline__ Chunk(u32 n, u32 chunk) {
        u32 chunks = (n + chunk - 1) / chunk;
        block = blockIdx.x / chunks;
        begin = blockIdx.x % chunks * chunk;
        end = begin + chunk < n ? begin + chunk : n;
    }
};

static __device__ __forceinline__ void count_bins(u32* counts, const u32* digits, const Chunk& chunk, u32 n, u32 bins,
                                                  u32 low_bits) {
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) counts[b] = 0;
    __syncthreads();
    for (u32 first = chunk.begin; first < chunk.end; first += blockDim.x) {
        u32 i = first + threadIdx.x;
        u32 magnitude = i < chunk.end ? digits[u64(chunk.block) * n + i] & ~SIGN : 0;
        count_one(counts, (magnitude - 1) >> low_bits, magnitude != 0);
    }
    __syncthreads();
}

// grid (chunks halves parts, sets).
extern "C" __global__ void __launch_bounds__(512)
    msm_bin_count(const u32* digits, u32* bin_counts, u32 n, u32 chunk, u32 bins, u32 low_bits, u32 digit_stride) {
    __shared__ u32 counts[MAX_BINS];
    Chunk mine(n, chunk);
    count_bins(counts, digits + u64(blockIdx.y) * digit_stride, mine, n, bins, low_bits);
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x)
        if (counts[b]) atomicAdd(&bin_counts[u64(blockIdx.y) * bins + b], counts[b]);
}

// grid (chunks halves parts, sets); bin_cursors start at zero.
extern "C" __global__ void __launch_bounds__(512)
    msm_bin_scatter(const u32* digits, const u32* bin_counts, u32* bin_cursors, u32* binned_entries,
                    unsigned short* binned_keys, u32 n, u32 halves, u32 parts, u32 points, u32 own_bases, u32 groups,
                    u32 first_set, u32 chunk, u32 bins, u32 low_bits, u32 digit_stride) {
    __shared__ u32 cursors[MAX_BINS], scratch[33];
    u32 set = blockIdx.y;
    EntryMap map = {n, halves, parts, points, own_bases ? (first_set + set) / groups * n : 0};
    Chunk mine(n, chunk);
    const u32* from = digits + u64(set) * digit_stride;
    count_bins(cursors, from, mine, n, bins, low_bits);
    u32 base = 0;
    for (u32 first = 0; first < bins; first += blockDim.x) {
        u32 b = first + threadIdx.x, total;
        u32 before = base + block_scan(b < bins ? bin_counts[u64(set) * bins + b] : 0, scratch, total);
        if (b < bins && cursors[b]) cursors[b] = before + atomicAdd(&bin_cursors[u64(set) * bins + b], cursors[b]);
        base += total;
    }
    __syncthreads();
    for (u32 first = mine.begin; first < mine.end; first += blockDim.x) {
        u32 i = first + threadIdx.x;
        u32 digit = i < mine.end ? from[u64(mine.block) * n + i] : 0;
        u32 magnitude = digit & ~SIGN;
        u32 position = count_one(cursors, (magnitude - 1) >> low_bits, magnitude != 0);
        if (magnitude == 0) continue;
        u64 at = u64(set) * digit_stride + position;
        binned_entries[at] = entry_of(map, mine.block, i, digit);
        binned_keys[at] = (unsigned short)((magnitude - 1) & ((1u << low_bits) - 1));
    }
}

// Sum of values[0 .. count) over the block, count <= MAX_BINS.
static __device__ __forceinline__ u32 block_sum(const u32* values, u32 count, u32* scratch) {
    u32 own = 0, total;
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) own += values[k];
    block_scan(own, scratch, total);
    return total;
}

// grid (bins, sets). offsets receives plain counts, bin_lengths padded sums.
extern "C" __global__ void __launch_bounds__(256)
    msm_bucket_count(const u32* bin_counts, const unsigned short* binned_keys, u32* offsets, u32* bin_lengths, u32 bins,
                     u32 low_bits, u32 pad, u32 digit_stride) {
    __shared__ u32 counts[MAX_BIN_BUCKETS], scratch[33];
    u32 set = blockIdx.y, bin = blockIdx.x, local = 1u << low_bits;
    const u32* sizes = bin_counts + u64(set) * bins;
    u32 begin = block_sum(sizes, bin, scratch), size = sizes[bin];
    for (u32 b = threadIdx.x; b < local; b += blockDim.x) counts[b] = 0;
    __syncthreads();
    const unsigned short* keys = binned_keys + u64(set) * digit_stride + begin;
    for (u32 first = 0; first < size; first += blockDim.x) {
        u32 i = first + threadIdx.x;
        count_one(counts, i < size ? keys[i] : 0, i < size);
    }
    __syncthreads();
    u32 own = 0, total;
    for (u32 b = threadIdx.x; b < local; b += blockDim.x) {
        offsets[u64(set) * ((bins << low_bits) + 1) + (bin << low_bits) + b] = counts[b];
        own += round_up(counts[b], pad);
    }
    block_scan(own, scratch, total);
    if (threadIdx.x == 0) bin_lengths[u64(set) * bins + bin] = total;
}

// grid (bins, sets). Turns the counts in offsets into offsets.
extern "C" __global__ void __launch_bounds__(256)
    msm_bucket_scatter(const u32* bin_counts, const u32* bin_lengths, const u32* binned_entries,
                       const unsigned short* binned_keys, u32* offsets, u32* entries, u32 bins, u32 low_bits, u32 pad,
                       u32 digit_stride, u32 entry_stride) {
    __shared__ u32 cursors[MAX_BIN_BUCKETS], scratch[33];
    u32 set = blockIdx.y, bin = blockIdx.x, local = 1u << low_bits;
    const u32* sizes = bin_counts + u64(set) * bins;
    u32 begin = block_sum(sizes, bin, scratch), size = sizes[bin];
    u32 place = block_sum(bin_lengths + u64(set) * bins, bin, scratch);
    u32* mine = offsets + u64(set) * ((bins << low_bits) + 1) + (bin << low_bits);
    u32* to = entries + u64(set) * entry_stride;
    for (u32 first = 0; first < local; first += blockDim.x) {
        u32 b = first + threadIdx.x, total;
        u32 count = b < local ? mine[b] : 0, padded = round_up(count, pad);
        u32 start = place + block_scan(padded, scratch, total);
        if (b < local) {
            cursors[b] = start, mine[b] = start;
            for (u32 k = count; k < padded; k++) to[start + k] = NONE;
        }
        place += total;
    }
    if (bin == bins - 1 && threadIdx.x == 0) mine[local] = place;
    __syncthreads();
    u64 at = u64(set) * digit_stride + begin;
    for (u32 first = 0; first < size; first += blockDim.x) {
        u32 i = first + threadIdx.x;
        u32 position = count_one(cursors, i < size ? binned_keys[at + i] : 0, i < size);
        if (i < size) to[position] = binned_entries[at + i];
    }
}
