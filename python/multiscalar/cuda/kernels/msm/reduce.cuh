// Bucket reduction: S = sum over b of (b + 1) X_b for every set, in logarithmic depth.
//
// 1. msm_reduce_runs (when there are many buckets): a thread takes `run` = 2^m neighbouring buckets and gives their sum
//    A_t and their weighted sum S_t = sum (j + 1) X_(t run + j), by running sums. Then S = sum S_t + run sum t A_t.
// 2. Bits: sum t A_t = sum 2^k T_k with T_k the sum of the A_t whose index t has bit k. Halving a list pairwise,
//    Y'_i = Y_2i + Y_(2i+1), the odd elements at level k are the summands of T_k, themselves halved from then on. So a
//    level works on the lists (Y[, S], T_0, T_1, ...) all of one length, and all its additions are independent.
// 3. msm_reduce_tree does `levels` halvings in a block, by octets; msm_reduce_last ends with Horner over the T_k. Where there
//    are many blocks they are small ones: the last halvings and Horner keep few octets of a block busy.
//
// Cost: 2 additions a bucket (24M), depth about 1.5 c octet additions and c doublings.
// Source: the identity sum i X_i = 2 sum i (X_2i + X_(2i+1)) + sum X_(2i+1).

// grid (ceil(runs sets / 128)). lists_out: [set][2][runs] points, A then S. Empty buckets are told by their offsets, so
// the bucket array need not be cleared.
extern "C" __global__ void __launch_bounds__(128, curve::N == 8 ? 4 : 3)
    msm_reduce_runs(const u32* buckets_in, const u32* offsets, u32* lists_out, u32 buckets, u32 sets, u32 run) {
    await_previous();
    u32 runs = buckets / run, thread = blockIdx.x * blockDim.x + threadIdx.x, set = thread / runs, t = thread % runs;
    if (set >= sets) return;
    const u32* place = offsets + u64(set) * (buckets + 1) + t * run;
    const u32* from = buckets_in + (u64(set) * buckets + t * run) * (4 * curve::N);
    Projective sum = projective_infinity(), weighted = projective_infinity();
    u32 end = place[run];
    bool any = false;
    for (u32 j = run; j-- > 0;) {
        u32 begin = place[j];
        if (begin != end) projective_add(sum, projective_from(load_xyzz(from + u64(j) * (4 * curve::N))));
        any |= begin != end;
        end = begin;
        if (any) projective_add(weighted, sum);  // narrow windows leave half of the buckets empty
    }
    u32* out = lists_out + u64(set) * runs * (6 * curve::N);
    store_projective(out + u64(t) * (3 * curve::N), sum);
    store_projective(out + (u64(runs) + t) * (3 * curve::N), weighted);
}

// Element i of list v at the start of the tree: from global lists [list][length], or from buckets.
struct TreeInput {
    const u32* points;
    const u32* offsets;  // of the buckets; null when `points` are homogeneous lists
    u32 length;

    __device__ __forceinline__ Fe load(u32 list, u32 i) const {
        if (offsets == nullptr) return octet_load_projective(points + (u64(list) * length + i) * (3 * curve::N));
        return offsets[i] == offsets[i + 1] ? octet_infinity() : octet_load_xyzz(points + u64(i) * (4 * curve::N));
    }
    // Elements i and i + 1. Two buckets become homogeneous by one product. All lanes of the warp call.
    __device__ __forceinline__ void load_pair(u32 list, u32 i, Fe& even, Fe& odd) const {
        if (offsets == nullptr) {
            even = load(list, i), odd = load(list, i + 1);
            return;
        }
        u32 begin = offsets[i], middle = offsets[i + 1], end = offsets[i + 2];
        even = octet_load_two_xyzz(points + u64(i) * (4 * curve::N), begin != middle, middle != end);
        odd = fe_from_lane(even, octet_lane() | 1);
    }
};

// Halves `lists` lists of `length` elements, starting at element `first` of the input, `levels` times. The even element
// of list 0 also gives a new list its odd element. Returns where the final elements lie, one a list.
static __device__ __forceinline__ u32* tree_reduce(const TreeInput& input, u32 first, u32 length, u32 lists, u32 levels,
                                                   u32* buffer, u32 half_buffer) {
    constexpr u32 POINT = 3 * curve::N;
    u32 octet = threadIdx.x / 8, octets = blockDim.x / 8;
    u32 *from = buffer + half_buffer, *to = buffer;
    if (levels == 0) {  // one element a list: only bring it in
        for (u32 task = octet; task < round_up(lists, 4); task += octets) {
            Fe value = input.load(task < lists ? task : 0, first);
            if (task < lists) octet_store_projective(to + task * POINT, value);
        }
        __syncthreads();
        return to;
    }
    for (u32 level = 0; level < levels; level++) {
        u32 half = length / 2, tasks = lists * half;
        for (u32 task = octet; task < round_up(tasks, 4); task += octets) {  // whole warps
            bool real = task < tasks;
            u32 list = real ? task / half : 0, i = real ? task % half : 0;
            Fe even, odd;
            if (level == 0) {
                input.load_pair(list, first + 2 * i, even, odd);
            } else {
                even = octet_load_projective(from + (list * length + 2 * i) * POINT);
                odd = octet_load_projective(from + (list * length + 2 * i + 1) * POINT);
            }
            Fe sum = octet_add(even, odd);
            if (!real) continue;
            octet_store_projective(to + (list * half + i) * POINT, sum);
            if (list == 0) octet_store_projective(to + (lists * half + i) * POINT, odd);
        }
        __syncthreads();
        length = half, lists++;
        u32* swap = from;
        from = to, to = swap;
    }
    return from;
}

// grid (chunks, sets), block up to 256, dynamic shared memory 2 half_buffer words. A block reduces 2^levels elements of each of
// `lists` lists; lists_out: [set][lists + levels][chunks].
extern "C" __global__ void __launch_bounds__(256, 2)
    msm_reduce_tree(const u32* input, const u32* offsets, u32* lists_out, u32 length, u32 lists, u32 levels,
                    u32 half_buffer) {
    await_previous();
    admit_next();
    DYNAMIC_SHARED(u32, buffer);
    u32 set = blockIdx.y, octet = threadIdx.x / 8, chunks = gridDim.x, all = lists + levels;
    u32 words = offsets != nullptr ? 4 * curve::N : 3 * curve::N;
    TreeInput in = {input + u64(set) * lists * length * words,
                    offsets != nullptr ? offsets + u64(set) * (length + 1) : nullptr, length};
    const u32* result = tree_reduce(in, blockIdx.x << levels, 1u << levels, lists, levels, buffer, half_buffer);
    u32* out = lists_out + u64(set) * all * chunks * (3 * curve::N);
    for (u32 list = octet; list < all; list += blockDim.x / 8)
        octet_store_projective(out + (u64(list) * chunks + blockIdx.x) * (3 * curve::N),
                               octet_load_projective(result + list * (3 * curve::N)));
}

// sum 2^k T_k of `terms` points by one warp: each octet takes a stretch of them by Horner, then they are put
// together from the top. The doublings stay, but two thirds of the additions are done side by side. Overwrites points.
static __device__ __forceinline__ Fe horner_of_bits(u32* points, u32 terms) {
    constexpr u32 POINT = 3 * curve::N, OCTETS = 4;
    if (terms == 0) return octet_infinity();
    u32 stretch = (terms + OCTETS - 1) / OCTETS, first = threadIdx.x / 8 * stretch;
    Fe sum = octet_infinity();
    for (u32 k = stretch; k-- > 0;) {
        Fe term = first + k < terms ? octet_load_projective(points + (first + k) * POINT) : octet_infinity();
        sum = k + 1 == stretch ? term : octet_add(octet_double(sum), term);
    }
    if (first < terms) octet_store_projective(points + first * POINT, sum);
    __syncwarp();
    u32 last = (terms - 1) / stretch;  // the octet with the highest terms
    sum = octet_load_projective(points + last * stretch * POINT);
    for (u32 octet = last; octet-- > 0;) {
        for (u32 k = 0; k < stretch; k++) sum = octet_double(sum);
        sum = octet_add(sum, octet_load_projective(points + octet * stretch * POINT));
    }
    return sum;
}

// The same for the one block that finishes a set: grid (sets). Input lists are (Y[, S], T_0, ...), `weighted` says whether
// S is there. sums_out[set] = S + 2^run_bits sum 2^k T_k, with S = Y when it is not.
extern "C" __global__ void __launch_bounds__(256, 2)
    msm_reduce_last(const u32* input, const u32* offsets, u32* sums_out, u32 length, u32 lists, u32 levels,
                    u32 half_buffer, u32 weighted, u32 run_bits) {
    await_previous();
    admit_next();
    DYNAMIC_SHARED(u32, buffer);
    u32 set = blockIdx.x, all = lists + levels;
    u32 words = offsets != nullptr ? 4 * curve::N : 3 * curve::N;
    TreeInput in = {input + u64(set) * lists * length * words,
                    offsets != nullptr ? offsets + u64(set) * (length + 1) : nullptr, length};
    u32* result = tree_reduce(in, 0, 1u << levels, lists, levels, buffer, half_buffer);
    if (threadIdx.x >= 32) return;
    Fe sum = horner_of_bits(result + (1 + weighted) * (3 * curve::N), all - 1 - weighted);
    for (u32 k = 0; k < run_bits; k++) sum = octet_double(sum);
    sum = octet_add(sum, octet_load_projective(result + weighted * (3 * curve::N)));
    if (threadIdx.x < 8) octet_store_projective(sums_out + u64(set) * (3 * curve::N), sum);
}
