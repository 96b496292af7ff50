// Base-field elements in Montgomery form, N 32-bit limbs.
//
// Values are lazy: every function takes and returns representatives below 2p. For a, b < 2p the Montgomery product is
// below (4 p/R + 1) p < 2p on all curves (p/R = 0.19 on BN254, 0.10 on BLS12-381, 0.007 on BLS12-377), so `mul` needs
// no final subtraction. The corrections in `add` and `sub` are integer adds, which the pipe that multiplies leaves idle.
//
// Cost in wide multiply-adds: mul 2 N^2 (p = 1 mod 2^32: 2 N^2 - N), sqr about 1.5 N^2 + N, everything else none.
// Source: Montgomery 1985; CIOS of Koc, Acar, Kaliski 1996, with accumulators split by column parity.

struct __align__(16) Fe {
    u32 v[curve::N];
};

static __device__ __forceinline__ Fe fe_zero() {
    Fe r;
#pragma unroll
    for (int k = 0; k < curve::N; k++) r.v[k] = 0;
    return r;
}

static __device__ __forceinline__ Fe fe_constant(const u32 (&words)[curve::N]) {
    Fe r;
#pragma unroll
    for (int k = 0; k < curve::N; k++) r.v[k] = words[k];
    return r;
}

static __device__ __forceinline__ Fe fe_one() { return fe_constant(curve::R1); }

static __device__ __forceinline__ u32 fe_bits(const Fe& a) {
    u32 any = 0;
#pragma unroll
    for (int k = 0; k < curve::N; k++) any |= a.v[k];
    return any;
}

static __device__ __forceinline__ Fe fe_select(bool take, const Fe& yes, const Fe& no) {
    Fe r;
#pragma unroll
    for (int k = 0; k < curve::N; k++) r.v[k] = take ? yes.v[k] : no.v[k];
    return r;
}

// a - words if that is not negative, else a.
static __device__ __forceinline__ Fe fe_reduce_by(const Fe& a, const u32 (&words)[curve::N]) {
    Fe d;
    u32 borrow = Rows<curve::N>::sub(d.v, a.v, words);
    return fe_select(borrow != 0, a, d);
}

// The representative below p.
static __device__ __forceinline__ Fe fe_canonical(const Fe& a) { return fe_reduce_by(a, curve::P); }

static __device__ __forceinline__ Fe add(const Fe& a, const Fe& b) {
    Fe s;
    Rows<curve::N>::add(s.v, a.v, b.v);
    return fe_reduce_by(s, curve::TWO_P);
}

static __device__ __forceinline__ Fe sub(const Fe& a, const Fe& b) {
    Fe r;
    u32 borrow = Rows<curve::N>::sub(r.v, a.v, b.v);
    Rows<curve::N>::add_if(r.v, curve::TWO_P, borrow);
    return r;
}

static __device__ __forceinline__ Fe dbl(const Fe& a) { return add(a, a); }

// -a for a below p, as table coordinates are: p - a, so that zero stays a zero that `is_zero` knows.
static __device__ __forceinline__ Fe neg(const Fe& a) {
    Fe r;
    Rows<curve::N>::sub(r.v, curve::P, a.v);
    return r;
}

// Is a = 0 mod p? The first word decides nearly always.
static __device__ __forceinline__ bool is_zero(const Fe& a) {
    if (a.v[0] != 0 && a.v[0] != curve::P[0]) return false;
    u32 zero = 0, p = 0;
#pragma unroll
    for (int k = 0; k < curve::N; k++) zero |= a.v[k], p |= a.v[k] ^ curve::P[k];
    return zero == 0 || p == 0;
}

static __device__ __forceinline__ void reduce_row(u32 (&x)[curve::N], u32 (&y)[curve::N]) {
    if (curve::P_IS_ONE_MOD_WORD)
        Rows<curve::N>::reduce_one(x, y, curve::P, negate_opaque(x[0]));
    else
        Rows<curve::N>::reduce(x, y, curve::P, x[0] * curve::NEG_INV);
}

static __device__ __forceinline__ void shift_reduce_row(u32 (&x)[curve::N], u32 (&y)[curve::N]) {
    if (curve::P_IS_ONE_MOD_WORD)
        Rows<curve::N>::shift_reduce_one(x, y, curve::P);
    else
        Rows<curve::N>::shift_reduce(x, y, curve::P, curve::NEG_INV);
}

// a b / R mod p.
static __device__ __forceinline__ Fe mul(const Fe& a, const Fe& b) {
    u32 even[curve::N], odd[curve::N];
    Fe r;
    Rows<curve::N>::first(even, odd, a.v, b.v[0]);
    reduce_row(even, odd);
#pragma unroll
    for (int k = 1; k < curve::N; k += 2) {
        Rows<curve::N>::next(odd, even, a.v, b.v[k]);
        reduce_row(odd, even);
        if (k + 1 < curve::N) {
            Rows<curve::N>::next(even, odd, a.v, b.v[k + 1]);
            reduce_row(even, odd);
        }
    }
    Rows<curve::N>::merge(r.v, even, odd);
    return r;
}

// wide / R mod p for wide < 4 p^2: the low half is cleared row by row, the high half added at the end.
static __device__ __forceinline__ Fe fe_reduce_wide(const u32 (&wide)[2 * curve::N]) {
    u32 even[curve::N], odd[curve::N];
    Fe low, high, r;
#pragma unroll
    for (int k = 0; k < curve::N; k++) even[k] = wide[k], odd[k] = 0, high.v[k] = wide[curve::N + k];
    reduce_row(even, odd);
#pragma unroll
    for (int k = 1; k < curve::N; k += 2) {
        shift_reduce_row(odd, even);
        if (k + 1 < curve::N) shift_reduce_row(even, odd);
    }
    Rows<curve::N>::merge(low.v, even, odd);
    Rows<curve::N>::add(r.v, low.v, high.v);
    return r;
}

// a^2 / R mod p.
static __device__ __forceinline__ Fe sqr(const Fe& a) {
    u32 wide[2 * curve::N];
    Rows<curve::N>::square(wide, a.v);
    return fe_reduce_wide(wide);
}

// Canonical integer, any value below 2^(32 N), into Montgomery form; and back to the canonical integer.
static __device__ __forceinline__ Fe to_montgomery(const Fe& a) { return mul(a, fe_constant(curve::R2)); }
static __device__ __forceinline__ Fe from_montgomery(const Fe& a) {
    Fe one = fe_zero();
    one.v[0] = 1;
    return fe_canonical(mul(a, one));
}

// factor a, 0 < factor <= 4096: the quotient by p is estimated from the top 19 bits of p (error below 1/32), which costs
// 2 N wide instead of the 2 N^2 of a product by a constant.
static __device__ __forceinline__ Fe mul_small(const Fe& a, u32 factor) {
    constexpr int N = curve::N;
    u32 even[N], odd[N], x[N];
    Fe low, multiple, r;
    Rows<N>::first(even, odd, a.v, factor);
#pragma unroll
    for (int k = 0; k < N; k++) x[k] = k ? odd[k - 1] : 0;
    u32 top = odd[N - 1] + Rows<N>::add(low.v, even, x);
    u32 quotient = __umulhi(funnel(low.v[N - 1], top, curve::SMALL_SHIFT), curve::SMALL_QUOTIENT) >> 18;
    Rows<N>::first(even, odd, curve::P, quotient);
#pragma unroll
    for (int k = 0; k < N; k++) x[k] = k ? odd[k - 1] : 0;
    Rows<N>::add(multiple.v, even, x);
    Rows<N>::sub(r.v, low.v, multiple.v);
    return r;
}
