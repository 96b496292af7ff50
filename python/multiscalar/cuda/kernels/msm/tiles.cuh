// What the sort's blocks work with: counters of targets and a tile of items in shared memory.
//
// A scatter puts every item of a chunk where the items of its target go. It sorts tiles in shared memory before it writes them,
// so that it writes runs and not single words, and reads every item once: a tile reserves its places for itself, so its
// items are counted only to rank them.
//
// Cost: an item's count in shared memory, and an atomic on L2 for each target of a tile, an eighth of one an item (512 targets).

constexpr u32 MAX_TARGETS = 2048, SORT_THREADS = 512, TILE_ROUNDS = 8, TILE = SORT_THREADS * TILE_ROUNDS;
constexpr u32 SCATTER_BLOCKS = 3;  // resident blocks of a multiprocessor

// A scatter's working set: a tile of items with their targets, and where those of each target go.
struct SortSpace {
    u32 places[MAX_TARGETS];  // of the tile in the output
    u32 starts[MAX_TARGETS];  // counts, then first place in the tile
    u32 items[TILE];
    unsigned short targets[TILE];
    u32 scratch[33];
};

// Exclusive prefix sums of counts[0 .. targets) in place; returns the total. All threads call.
static __device__ __forceinline__ u32 scan_targets(u32* counts, u32 targets, u32* scratch) {
    u32 base = 0;
    for (u32 first = 0; first < targets; first += blockDim.x) {
        u32 b = first + threadIdx.x, total;
        u32 before = base + block_scan(b < targets ? counts[b] : 0, scratch, total);
        if (b < targets) counts[b] = before;
        base += total;
    }
    return base;
}

static __device__ __forceinline__ void clear_targets(u32* counts, u32 targets) {
    for (u32 b = threadIdx.x; b < targets; b += blockDim.x) counts[b] = 0;
    __syncthreads();
}

// Items of a chunk: `read(i, target, item)` says whether there is one, its target and its item. Reads are issued several
// at a time, ahead of the counting that synchronises the warp, or each would be waited for.
constexpr u32 ABSENT = 0xffffffffu;

template <u32 ROUNDS, typename Read>
static __device__ __forceinline__ void read_items(u32 (&targets)[ROUNDS], u32 (&items)[ROUNDS], u32 begin, u32 end,
                                                  const Read& read) {
#pragma unroll
    for (u32 k = 0; k < ROUNDS; k++) {
        u32 i = begin + k * SORT_THREADS + threadIdx.x, target = 0, item = 0;
        targets[k] = i < end && read(i, target, item) ? target : ABSENT;
        items[k] = item;
    }
}

template <typename Read>
static __device__ __forceinline__ void count_targets(u32* counts, u32 targets, u32 begin, u32 end, const Read& read) {
    constexpr u32 ROUNDS = 4;
    clear_targets(counts, targets);
    for (u32 first = begin; first < end; first += ROUNDS * SORT_THREADS) {
        u32 target[ROUNDS], items[ROUNDS];
        read_items(target, items, first, end, read);
#pragma unroll
        for (u32 k = 0; k < ROUNDS; k++) count_one(counts, target[k], target[k] != ABSENT);
    }
    __syncthreads();
}

// `reserve(target, count)` gives the first of `count` places; `write(place, item)`.
template <typename Read, typename Reserve, typename Write>
static __device__ __forceinline__ void scatter_chunk(SortSpace& space, u32 targets, u32 begin, u32 end, const Read& read,
                                                     const Reserve& reserve, const Write& write) {
    for (u32 tile = begin; tile < end; tile += TILE) {
        u32 ranks[TILE_ROUNDS], items[TILE_ROUNDS];  // the target, then also the rank in the tile among its target's items
        clear_targets(space.starts, targets);
        read_items(ranks, items, tile, end, read);
#pragma unroll
        for (u32 k = 0; k < TILE_ROUNDS; k++) {
            u32 rank = count_one(space.starts, ranks[k], ranks[k] != ABSENT);
            if (ranks[k] != ABSENT) ranks[k] |= rank << 16;
        }
        __syncthreads();
        for (u32 b = threadIdx.x; b < targets; b += SORT_THREADS)
            if (space.starts[b]) space.places[b] = reserve(b, space.starts[b]);
        u32 total = scan_targets(space.starts, targets, space.scratch);
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < TILE_ROUNDS; k++)
            if (ranks[k] != ABSENT) {
                u32 at = space.starts[ranks[k] & 0xffff] + (ranks[k] >> 16);
                space.items[at] = items[k], space.targets[at] = (unsigned short)(ranks[k] & 0xffff);
            }
        __syncthreads();
        for (u32 at = threadIdx.x; at < total; at += SORT_THREADS) {
            u32 to = space.targets[at];
            write(space.places[to] + at - space.starts[to], space.items[at]);
        }
        __syncthreads();
    }
}
