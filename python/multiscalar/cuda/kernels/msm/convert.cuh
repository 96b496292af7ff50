// Bases into table records, once per set of bases: Montgomery form, beta x for the endomorphism, precomputed multiples.
//
// A record is x, y (then beta x, y when coordinates = 4), canonical Montgomery words; infinity is (0, 0) outside and has
// x and beta x marked inside (see points.cuh).
// Cost: convert 3M a point and 2M + 1S when the curve equation is checked; a multiple `shift` doublings and an inversion.

constexpr u32 POINT_MONTGOMERY = 1, POINT_CHECK = 2;

static __device__ __forceinline__ bool below_modulus(const Fe& a) {
    Fe d;
    return Rows<curve::N>::sub(d.v, a.v, curve::P) != 0;
}

static __device__ __forceinline__ void store_record(u32* record, u32 coordinates, const Affine& p) {
    bool infinity = is_infinity(p);
    Affine kept = {infinity ? p.x : fe_canonical(p.x), fe_canonical(p.y)};
    store_affine(record, kept);
    if (coordinates != 4) return;
    if (!infinity) kept.x = fe_canonical(mul(p.x, fe_constant(curve::BETA_MONT)));
    store_affine(record + 2 * curve::N, kept);
}

// grid (ceil(n / 128)). points: [n][2][N] words, canonical or Montgomery. The status word gets the lowest index of a
// coordinate >= p or, with POINT_CHECK, of a point off the curve.
extern "C" __global__ void __launch_bounds__(128)
    msm_convert(const u32* points, u32* table, u32* status, u32 n, u32 coordinates, u32 flags, u32 first) {
    await_previous();
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Affine p = {load_fe(points + u64(i) * (2 * curve::N)), load_fe(points + u64(i) * (2 * curve::N) + curve::N)};
    bool good = below_modulus(p.x) && below_modulus(p.y);
    if (!(flags & POINT_MONTGOMERY)) p = {to_montgomery(p.x), to_montgomery(p.y)};
    p = {fe_canonical(p.x), fe_canonical(p.y)};
    bool infinity = (fe_bits(p.x) | fe_bits(p.y)) == 0;
    if (flags & POINT_CHECK && !infinity) {
        Fe right = add(mul(sqr(p.x), p.x), fe_constant(curve::B_MONT));
        good = good && is_zero(sub(sqr(p.y), right));
    }
    if (!good) atomicMin(&status[STATUS_POINT], first + i);
    store_record(table + u64(first + i) * (coordinates * curve::N), coordinates, infinity ? affine_infinity() : p);
}

// grid (ceil(n / 128)). out[i] = 2^shift in[i].
extern "C" __global__ void __launch_bounds__(128)
    msm_precompute(const u32* table_in, u32* table_out, u32 n, u32 coordinates, u32 shift) {
    await_previous();
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32* record = table_in + u64(i) * (coordinates * curve::N);
    Affine p = {load_fe(record), load_fe(record + curve::N)};
    Projective q = {p.x, p.y, fe_one()};
    if (is_infinity(p)) q = projective_infinity();
    for (u32 k = 0; k < shift; k++) {
        Projective same = q;
        projective_add(q, same);
    }
    Fe z = inverse(q.z);
    Affine multiple = {mul(q.x, z), mul(q.y, z)};
    if (is_zero(q.z)) multiple = affine_infinity();
    store_record(table_out + u64(i) * (coordinates * curve::N), coordinates, multiple);
}
