// Scattering a chunk that is read once: every tile reserves its places for itself, so its items are counted only to rank them.
//
// Half as many shared-memory atomics an item as tiles_twice.cuh, for an eighth of an atomic on L2 (512 targets, tiles of 4,096);
// all reads of a tile are in flight together and none is repeated. Three blocks of a multiprocessor instead of two.

constexpr u32 SORT_BLOCKS = 3;  // resident blocks of a multiprocessor

// `reserve(target, count)` gives the first of `count` places; `write(place, item)`.
template <typename Read, typename Reserve, typename Write>
static __device__ __forceinline__ void scatter_chunk(SortSpace& space, u32 targets, u32 begin, u32 end, const Read& read,
                                                     const Reserve& reserve, const Write& write) {
    for (u32 tile = begin; tile < end; tile += TILE) {
        u32 ranks[TILE_ROUNDS], items[TILE_ROUNDS];  // the target, then also the rank in the tile among its target's items
        clear_targets(space.starts, targets);
#pragma unroll
        for (u32 k = 0; k < TILE_ROUNDS; k++) {
            u32 i = tile + k * SORT_THREADS + threadIdx.x, target = 0, item = 0;
            ranks[k] = i < end && read(i, target, item) ? target : ABSENT;
            items[k] = item;
        }
#pragma unroll
        for (u32 k = 0; k < TILE_ROUNDS; k++) {
            u32 rank = count_one(space.starts, ranks[k], ranks[k] != ABSENT);
            if (ranks[k] != ABSENT) ranks[k] |= rank << 16;
        }
        __syncthreads();
        for (u32 b = threadIdx.x; b < targets; b += SORT_THREADS)
            if (space.starts[b]) space.cursors[b] = reserve(b, space.starts[b]);
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
            write(space.cursors[to] + at - space.starts[to], space.items[at]);
        }
        __syncthreads();
    }
}
