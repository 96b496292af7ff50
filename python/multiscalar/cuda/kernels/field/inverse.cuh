// a^-1 mod p by division steps, one lane, about 20 us on 254 bits: the latency that batched inversion amortises.
//
// 1. f = p, g = a; divstep halves g after adding or swapping in f so that it is even; about 2.1 steps a bit.
// 2. Thirty steps depend on the low 32 bits only: they are done in one word and give a 2x2 matrix of 31-bit entries.
// 3. The matrix is applied to (f, g), exactly divided by 2^30, and to (d, e) modulo p, where d p + .. = f and so on.
// 4. When g = 0, f = +-1 and d = +-1/a.
// Cost: no field multiplication; about 19 (254 bits) or 28 (381) matrix steps of 8 L wide multiply-adds, L = 9 or 13.
// Source: Bernstein, Yang, "Fast constant-time gcd computation and modular inversion", 2019; variable-time form.

struct Matrix30 {
    i32 u, v, q, r;
};

// Thirty steps on the low words; eta = -delta.
static __device__ __forceinline__ i32 division_steps(i32 eta, u32 f, u32 g, Matrix30& m) {
    u32 u = 1, v = 0, q = 0, r = 1;
    int left = 30;
    for (;;) {
        int zeros = __ffs(int(g | (0xffffffffu << left))) - 1;
        g >>= zeros, u <<= zeros, v <<= zeros;
        eta -= zeros, left -= zeros;
        if (left == 0) break;
        if (eta < 0) {  // swap, so that |f| shrinks
            eta = -eta;
            u32 t = f;
            f = g, g = 0u - t;
            t = u, u = q, q = 0u - t;
            t = v, v = r, r = 0u - t;
        }
        // Cancel up to six low bits of g at once, but not past the next swap: -1/f mod 64 is f (f^2 - 2).
        int limit = eta + 1 < left ? eta + 1 : left;
        u32 mask = limit >= 6 ? 63u : (1u << limit) - 1;
        u32 w = (g * (f * (f * f - 2))) & mask;
        g += f * w, q += u * w, r += v * w;
    }
    m.u = i32(u), m.v = i32(v), m.q = i32(q), m.r = i32(r);
    return eta;
}

// (f, g) = m (f, g) / 2^30, exact. Limbs of 30 bits, the top one signed.
static __device__ __forceinline__ void update_fg(i32* f, i32* g, const Matrix30& m) {
    constexpr int L = curve::INVERSION_LIMBS;
    i64 cf = i64(m.u) * f[0] + i64(m.v) * g[0], cg = i64(m.q) * f[0] + i64(m.r) * g[0];
    cf >>= 30, cg >>= 30;
#pragma unroll
    for (int k = 1; k < L; k++) {
        cf += i64(m.u) * f[k] + i64(m.v) * g[k], cg += i64(m.q) * f[k] + i64(m.r) * g[k];
        f[k - 1] = i32(cf) & 0x3fffffff, g[k - 1] = i32(cg) & 0x3fffffff;
        cf >>= 30, cg >>= 30;
    }
    f[L - 1] = i32(cf), g[L - 1] = i32(cg);
}

// (d, e) = m (d, e) / 2^30 mod p, kept in (-2p, p): a multiple of p makes the low limb vanish.
static __device__ __forceinline__ void update_de(i32* d, i32* e, const Matrix30& m) {
    constexpr int L = curve::INVERSION_LIMBS;
    i32 sd = d[L - 1] >> 31, se = e[L - 1] >> 31;
    i32 md = (m.u & sd) + (m.v & se), me = (m.q & sd) + (m.r & se);
    i64 cd = i64(m.u) * d[0] + i64(m.v) * e[0], ce = i64(m.q) * d[0] + i64(m.r) * e[0];
    md -= i32((curve::P30_INV * u32(cd) + u32(md)) & 0x3fffffff);
    me -= i32((curve::P30_INV * u32(ce) + u32(me)) & 0x3fffffff);
    cd += i64(i32(curve::P30[0])) * md, ce += i64(i32(curve::P30[0])) * me;
    cd >>= 30, ce >>= 30;
#pragma unroll
    for (int k = 1; k < L; k++) {
        cd += i64(m.u) * d[k] + i64(m.v) * e[k] + i64(i32(curve::P30[k])) * md;
        ce += i64(m.q) * d[k] + i64(m.r) * e[k] + i64(i32(curve::P30[k])) * me;
        d[k - 1] = i32(cd) & 0x3fffffff, e[k - 1] = i32(ce) & 0x3fffffff;
        cd >>= 30, ce >>= 30;
    }
    d[L - 1] = i32(cd), e[L - 1] = i32(ce);
}

// r += p where `mask` is all ones, then carries are propagated; the top limb stays signed.
static __device__ __forceinline__ void add_p_masked(i32* r, i32 mask, i32 sign) {
    constexpr int L = curve::INVERSION_LIMBS;
    i32 carry = 0;
#pragma unroll
    for (int k = 0; k < L; k++) {
        i32 t = ((r[k] ^ sign) - sign) + (i32(curve::P30[k]) & mask) + carry;
        carry = k < L - 1 ? t >> 30 : 0;
        r[k] = k < L - 1 ? t & 0x3fffffff : t;
    }
}

// 1 / a of a plain residue; 0 for a = 0 mod p.
static __device__ __noinline__ Fe inverse_plain(const Fe& a) {
    constexpr int L = curve::INVERSION_LIMBS, N = curve::N;
    i32 f[L], g[L], d[L], e[L];
    Fe x = fe_canonical(a);
#pragma unroll
    for (int k = 0; k < L; k++) {
        int word = 30 * k / 32, shift = 30 * k % 32;
        u32 low = word < N ? x.v[word] : 0, high = word + 1 < N ? x.v[word + 1] : 0;
        f[k] = i32(curve::P30[k]), g[k] = i32(funnel(low, high, shift) & 0x3fffffff);
        d[k] = 0, e[k] = k == 0;
    }
    i32 eta = -1;
    for (;;) {
        i32 any = 0;
#pragma unroll
        for (int k = 0; k < L; k++) any |= g[k];
        if (any == 0) break;
        Matrix30 m;
        eta = division_steps(eta, u32(f[0]) | u32(f[1]) << 30, u32(g[0]) | u32(g[1]) << 30, m);
        update_fg(f, g, m);
        update_de(d, e, m);
    }
    i32 sign = f[L - 1] >> 31;
    add_p_masked(d, d[L - 1] >> 31, 0);     // into (-p, p)
    add_p_masked(d, 0, sign);               // times the sign of f
    add_p_masked(d, d[L - 1] >> 31, 0);     // into [0, p), after
    add_p_masked(d, d[L - 1] >> 31, 0);     // a negation that may give -p..0
    Fe r;
#pragma unroll
    for (int k = 0; k < N; k++) {
        int limb = 32 * k / 30, shift = 32 * k % 30;
        u32 word = u32(d[limb]) >> shift;
        word |= limb + 1 < L ? u32(d[limb + 1]) << (30 - shift) : 0;
        if (shift > 28) word |= limb + 2 < L ? u32(d[limb + 2]) << (60 - shift) : 0;
        r.v[k] = word;
    }
    return r;
}

// 1 / a in Montgomery form: (a R)^-1 R^3 / R = a^-1 R. Zero for zero.
static __device__ __forceinline__ Fe inverse(const Fe& a) {
    return mul(inverse_plain(a), fe_constant(curve::R3));
}
