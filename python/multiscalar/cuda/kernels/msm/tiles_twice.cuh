// Scattering a chunk that is read twice: first counted as a whole, so that one atomic a target reserves all its places, then tile
// by tile.

constexpr u32 SORT_BLOCKS = 2;  // resident blocks of a multiprocessor

// `reserve(target, count)` gives the first of `count` places; `write(place, item)`.
template <typename Read, typename Reserve, typename Write>
static __device__ __forceinline__ void scatter_chunk(SortSpace& space, u32 targets, u32 begin, u32 end, const Read& read,
                                                     const Reserve& reserve, const Write& write) {
    count_targets(space.cursors, targets, begin, end, read);
    for (u32 b = threadIdx.x; b < targets; b += blockDim.x)
        if (space.cursors[b]) space.cursors[b] = reserve(b, space.cursors[b]);
    __syncthreads();
    for (u32 tile = begin; tile < end; tile += TILE) {
        u32 ranks[TILE_ROUNDS];  // the target, then also the rank in the tile among its target's items
        clear_targets(space.starts, targets);
        read_targets(ranks, tile, end, read);
#pragma unroll
        for (u32 k = 0; k < TILE_ROUNDS; k++) {
            u32 rank = count_one(space.starts, ranks[k], ranks[k] != ABSENT);
            if (ranks[k] != ABSENT) ranks[k] |= rank << 16;
        }
        __syncthreads();
        u32 total = scan_targets(space.starts, targets, space.scratch);
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < TILE_ROUNDS; k++)
            if (ranks[k] != ABSENT) {
                u32 target = 0, item = 0;
                read(tile + k * SORT_THREADS + threadIdx.x, target, item);  // again, from the cache
                u32 at = space.starts[ranks[k] & 0xffff] + (ranks[k] >> 16);
                space.items[at] = item, space.targets[at] = (unsigned short)target;
            }
        __syncthreads();
        for (u32 at = threadIdx.x; at < total; at += SORT_THREADS) {
            u32 to = space.targets[at];
            write(space.cursors[to] + at - space.starts[to], space.items[at]);
        }
        __syncthreads();
        for (u32 b = threadIdx.x; b < targets; b += SORT_THREADS)
            space.cursors[b] += (b + 1 < targets ? space.starts[b + 1] : total) - space.starts[b];
        __syncthreads();
    }
}
