// Grouping entries by bucket, in shared memory, for lists that are not long: one block a set.
//
// 1. Count digits, each thread keeping HELD of them and their ranks among the digits of their bucket; 2. prefix sums give
// each bucket's place, rounded up to a multiple of `pad`, the rest filled with NONE; 3. what was kept goes to place + rank.
// Where there is room the list is put together in shared memory and written out as it lies there, since words written one by
// one each cost a sector. Lists of more than HELD digits a thread are read a second time and ranked anew. Zero digits are
// dropped.
// Cost: one sweep over the digits of the set by one multiprocessor, HELD reads of a thread in flight; two for long lists.
//
// offsets[set][b] is the list position of bucket b (digit magnitude b + 1), offsets[set][buckets] the length.

struct EntryMap {
    u32 n, halves, parts;         // a list holds parts x halves x n candidates; halves is 1 or 2
    u32 points;                   // table points of one part
    u32 first;                    // table index of this msm's first base
};

static __device__ __forceinline__ u32 entry_of(const EntryMap& map, u32 block, u32 i, u32 digit) {
    u32 second = block & (map.halves - 1), part = block >> (map.halves - 1);
    return (digit & SIGN) | (second ? PHI : 0) | (part * map.points + map.first + i);
}

// A stretch of a set's candidates, one of every blockDim.x a thread. A digit's rank is kept in its word: magnitudes are at most
// 2^13, as many as there are buckets, and ranks below HELD 1024.
constexpr u32 HELD = 16, RANK = 14, MAGNITUDE = (1u << RANK) - 1;

struct HeldDigits {
    u32 digits[HELD];

    __device__ __forceinline__ void read(const u32* from, u32 first, u32 count) {
#pragma unroll
        for (u32 k = 0; k < HELD; k++) {
            u32 j = first + k * blockDim.x + threadIdx.x;
            digits[k] = j < count ? from[j] : 0;
        }
    }

    // counters[b] += 1 for every digit of bucket b; its rank is what the counter was. All threads call.
    __device__ __forceinline__ void rank(u32* counters, u32 first, u32 count) {
#pragma unroll
        for (u32 k = 0; k < HELD; k++) {
            if (first + k * blockDim.x >= count) break;
            u32 magnitude = digits[k] & MAGNITUDE;
            digits[k] |= count_one(counters, magnitude - 1, magnitude != 0) << RANK;
        }
    }

    // The entries, each at place(digit, its magnitude), which all threads ask for together.
    template <typename Place>
    __device__ __forceinline__ void write(u32* to, const EntryMap& map, u32 first, u32 count, const Place& place) const {
        u32 j = first + threadIdx.x, block = j / map.n, i = j % map.n;
#pragma unroll
        for (u32 k = 0; k < HELD; k++) {
            if (first + k * blockDim.x >= count) break;
            u32 magnitude = digits[k] & MAGNITUDE, where = place(digits[k], magnitude);
            if (magnitude != 0) to[where] = entry_of(map, block, i, digits[k]);
            for (i += blockDim.x; i >= map.n; i -= map.n) block++;
        }
    }
};

// grid (sets), block a multiple of 32, dynamic shared memory: buckets words, and entry_stride more if `staged`, which takes a
// block of at least digit_stride / HELD threads. digit_stride = halves parts n; entry_stride has room for all padding.
// 40 registers: three blocks of 512 threads a multiprocessor, which is what many sets get.
extern "C" __global__ void __maxnreg__(40)
    msm_group(const u32* digits, u32* entries, u32* offsets, u32 n, u32 halves, u32 parts, u32 points, u32 own_bases,
              u32 groups, u32 buckets, u32 pad, u32 staged, u32 digit_stride, u32 entry_stride) {
    await_previous();
    DYNAMIC_SHARED(u32, counters);
    __shared__ u32 scratch[33];
    u32 set = blockIdx.x, count = digit_stride, stretch = HELD * blockDim.x;
    const u32* from = digits + u64(set) * digit_stride;
    u32 *place = offsets + u64(set) * (buckets + 1), *out = entries + u64(set) * entry_stride, *stage = counters + buckets;
    HeldDigits held;

    for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) counters[b] = 0;
    __syncthreads();
    for (u32 first = 0; first < count; first += stretch) held.read(from, first, count), held.rank(counters, first, count);
    __syncthreads();
    u32 length = 0;
    for (u32 first = 0; first < buckets; first += blockDim.x) {
        u32 b = first + threadIdx.x, total;
        u32 filled = b < buckets ? counters[b] : 0, padded = round_up(filled, pad);
        u32 before = length + block_scan(padded, scratch, total);
        if (b < buckets) {
            counters[b] = before, place[b] = before;
            for (u32 k = filled; k < padded; k++) (staged ? stage : out)[before + k] = NONE;
        }
        length += total;
    }
    if (threadIdx.x == 0) place[buckets] = length;
    __syncthreads();
    EntryMap map = {n, halves, parts, points, own_bases ? set / groups * n : 0};
    auto ranked = [&](u32 digit, u32 magnitude) {
        return magnitude == 0 ? 0 : counters[magnitude - 1] + ((digit & ~SIGN) >> RANK);
    };
    if (staged) {
        held.write(stage, map, 0, count, ranked);
        __syncthreads();
        for (u32 k = threadIdx.x; k < length; k += blockDim.x) out[k] = stage[k];
    } else if (count <= stretch) {
        held.write(out, map, 0, count, ranked);
    } else {
        for (u32 first = 0; first < count; first += stretch) {
            held.read(from, first, count);
            held.write(out, map, first, count, [&](u32, u32 magnitude) {
                return count_one(counters, magnitude - 1, magnitude != 0);
            });
        }
    }
}
