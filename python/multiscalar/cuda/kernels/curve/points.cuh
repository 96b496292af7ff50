// Points: affine (x, y), infinity marked by a top word of x that no residue has; XYZZ buckets (x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2) with ZZ = 0 in every
// word for infinity; homogeneous (x = X/Z, y = Y/Z) with (0, 1, 0).
//
// Cost: xyzz_add_affine 8M + 2S; projective_add 12M, without exceptions.
// Source: Explicit-Formulas Database, shortw/xyzz (madd-2008-s, mdbl-2008-s-1); Renes, Costello, Batina, eprint 2015/1060,
// algorithm 7 (a = 0).

struct Affine {
    Fe x, y;
};

struct Xyzz {
    Fe x, y, zz, zzz;
};

struct Projective {
    Fe x, y, z;
};

// One word to look at in loops that meet infinity hardly ever; callers' (0, 0) becomes this when a table is made.
constexpr u32 INFINITY_MARK = 0xffffffffu;

static __device__ __forceinline__ bool is_marked(const Fe& x) { return x.v[curve::N - 1] == INFINITY_MARK; }

static __device__ __forceinline__ Fe fe_mark() {
    Fe r = fe_zero();
    r.v[curve::N - 1] = INFINITY_MARK;
    return r;
}

static __device__ __forceinline__ bool is_infinity(const Affine& p) { return is_marked(p.x); }
static __device__ __forceinline__ bool is_infinity(const Xyzz& p) { return fe_bits(p.zz) == 0; }

static __device__ __forceinline__ Affine affine_infinity() { return {fe_mark(), fe_zero()}; }
static __device__ __forceinline__ Xyzz xyzz_infinity() { return {fe_zero(), fe_zero(), fe_zero(), fe_zero()}; }
static __device__ __forceinline__ Projective projective_infinity() { return {fe_zero(), fe_one(), fe_zero()}; }

static __device__ __forceinline__ Xyzz xyzz_from(const Affine& p) {
    if (is_infinity(p)) return xyzz_infinity();
    return {p.x, p.y, fe_one(), fe_one()};
}

// 2 p for affine p.
static __device__ __forceinline__ void xyzz_twice(Xyzz& r, const Affine& p) {
    if (is_zero(p.y)) {
        r = xyzz_infinity();
        return;
    }
    Fe u = dbl(p.y);
    r.zz = sqr(u);
    r.zzz = mul(u, r.zz);
    Fe s = mul(p.x, r.zz);
    Fe xx = sqr(p.x);
    Fe m = add(dbl(xx), xx);
    r.x = sub(sqr(m), dbl(s));
    r.y = sub(mul(m, sub(s, r.x)), mul(r.zzz, p.y));
}

// The same out of line, being rare inside an accumulation. By value, the loop around the call keeps its sum in registers, if it
// fits; by reference the sum lives in local memory, and the registers are left to the point that is on its way.
static __device__ __noinline__ Xyzz xyzz_double_affine(Affine p) {
    Xyzz r;
    xyzz_twice(r, p);
    return r;
}
static __device__ __noinline__ void xyzz_double_affine(Xyzz& r, const Affine& p) { xyzz_twice(r, p); }

// r += p.
static __device__ __forceinline__ void xyzz_add_affine(Xyzz& r, const Affine& p) {
    if (is_infinity(p)) return;
    if (is_infinity(r)) {
        r = {p.x, p.y, fe_one(), fe_one()};
        return;
    }
    Fe h = sub(mul(p.x, r.zz), r.x);
    Fe s = sub(mul(p.y, r.zzz), r.y);
    if (is_zero(h)) {
        if (is_zero(s)) {
            if (SUMS_FIT_REGISTERS)
                r = xyzz_double_affine(p);
            else
                xyzz_double_affine(r, p);
        } else {
            r = xyzz_infinity();
        }
        return;
    }
    Fe hh = sqr(h);
    Fe hhh = mul(h, hh);
    Fe q = mul(r.x, hh);
    r.zz = mul(r.zz, hh);
    r.zzz = mul(r.zzz, hhh);
    Fe yhhh = mul(r.y, hhh);
    r.x = sub(sub(sqr(s), hhh), dbl(q));
    r.y = sub(mul(s, sub(q, r.x)), yhhh);
}

// Multiply by 3 b, with its sign.
static __device__ __forceinline__ Fe mul_b3(const Fe& a) {
    Fe r = mul_small(a, curve::B3);
    return curve::B_NEGATIVE ? sub(fe_zero(), r) : r;
}

static __device__ __forceinline__ Projective projective_from(const Xyzz& p) {
    if (is_infinity(p)) return projective_infinity();
    return {mul(p.x, p.zzz), mul(p.y, p.zz), mul(p.zz, p.zzz)};
}

// p + q by the chord, for p - q of order two: the one case in which the complete formulas give (0, 0, 0). Only on curves
// of even order, and only for bases outside the subgroup. p = q is no such case; p = -q is.
static __device__ __noinline__ void projective_add_chord(Projective& p, const Projective& q) {
    if (is_zero(q.z)) return;
    if (is_zero(p.z)) {
        p = q;
        return;
    }
    Fe y1z2 = mul(p.y, q.z), x1z2 = mul(p.x, q.z), zz = mul(p.z, q.z);
    Fe u = sub(mul(q.y, p.z), y1z2), v = sub(mul(q.x, p.z), x1z2);
    if (is_zero(v)) {
        p = projective_infinity();
        return;
    }
    Fe vv = sqr(v);
    Fe vvv = mul(v, vv), vvx = mul(vv, x1z2);
    Fe a = sub(sub(mul(sqr(u), zz), vvv), dbl(vvx));
    p = {mul(v, a), sub(mul(u, sub(vvx, a)), mul(vvv, y1z2)), mul(vvv, zz)};
}

// p + q by complete formulas: no case distinction, also for p = +-q and infinity.
static __device__ __forceinline__ void projective_add(Projective& p, const Projective& q) {
    Projective before = p;
    Fe xx = mul(p.x, q.x), yy = mul(p.y, q.y), zz = mul(p.z, q.z);
    Fe xy = sub(mul(add(p.x, p.y), add(q.x, q.y)), add(xx, yy));
    Fe yz = sub(mul(add(p.y, p.z), add(q.y, q.z)), add(yy, zz));
    Fe xz = mul_b3(sub(mul(add(p.x, p.z), add(q.x, q.z)), add(xx, zz)));
    Fe xx3 = add(dbl(xx), xx), zz3 = mul_b3(zz);
    Fe minus = sub(yy, zz3), plus = add(yy, zz3);
    p.x = sub(mul(xy, minus), mul(yz, xz));
    p.y = add(mul(plus, minus), mul(xx3, xz));
    p.z = add(mul(yz, plus), mul(xx3, xy));
    if (curve::HAS_ORDER_TWO && is_zero(p.z) && is_zero(p.y)) {
        p = before;
        projective_add_chord(p, q);
    }
}

// r += q where the x coordinates agree, or one is infinity: by way of the complete formulas, out of line.
static __device__ __noinline__ void xyzz_add_complete(Xyzz& r, const Xyzz& q) {
    Projective p = projective_from(r);
    projective_add(p, projective_from(q));
    Fe z = is_zero(p.z) ? fe_zero() : p.z;
    r.zz = sqr(z);
    r.zzz = mul(r.zz, z);
    r.x = mul(p.x, z);
    r.y = mul(p.y, r.zz);
}

// r += q, 12M + 2S.
static __device__ __forceinline__ void xyzz_add(Xyzz& r, const Xyzz& q) {
    Fe u = mul(r.x, q.zz), s = mul(r.y, q.zzz);
    Fe h = sub(mul(q.x, r.zz), u), rise = sub(mul(q.y, r.zzz), s);
    if (is_zero(h) || is_infinity(r) || is_infinity(q)) {
        xyzz_add_complete(r, q);
        return;
    }
    Fe hh = sqr(h);
    Fe hhh = mul(h, hh);
    u = mul(u, hh);
    r.zz = mul(mul(r.zz, q.zz), hh);
    r.zzz = mul(mul(r.zzz, q.zzz), hhh);
    r.x = sub(sub(sqr(rise), hhh), dbl(u));
    r.y = sub(mul(rise, sub(u, r.x)), mul(s, hhh));
}

// Global memory, 16 bytes at a time.
static __device__ __forceinline__ Fe load_fe(const u32* address) {
    const Quad* from = reinterpret_cast<const Quad*>(address);
    Fe r;
#pragma unroll
    for (int k = 0; k < curve::N / 4; k++) {
        Quad q = from[k];
#pragma unroll
        for (int j = 0; j < 4; j++) r.v[4 * k + j] = q.v[j];
    }
    return r;
}

static __device__ __forceinline__ Fe load_fe_line(const u32* address) {
    const Quad* from = reinterpret_cast<const Quad*>(address);
    Fe r;
#pragma unroll
    for (int k = 0; k < curve::N / 4; k++) {
        Quad q = load_line(from + k);
#pragma unroll
        for (int j = 0; j < 4; j++) r.v[4 * k + j] = q.v[j];
    }
    return r;
}

static __device__ __forceinline__ void store_fe(u32* address, const Fe& a) {
    Quad* to = reinterpret_cast<Quad*>(address);
#pragma unroll
    for (int k = 0; k < curve::N / 4; k++) {
        Quad q;
#pragma unroll
        for (int j = 0; j < 4; j++) q.v[j] = a.v[4 * k + j];
        to[k] = q;
    }
}

static __device__ __forceinline__ void store_affine(u32* address, const Affine& p) {
    store_fe(address, p.x), store_fe(address + curve::N, p.y);
}

static __device__ __forceinline__ void store_xyzz(u32* address, const Xyzz& p) {
    store_fe(address, p.x), store_fe(address + curve::N, p.y);
    store_fe(address + 2 * curve::N, p.zz), store_fe(address + 3 * curve::N, p.zzz);
}

static __device__ __forceinline__ Xyzz load_xyzz(const u32* address) {
    return {load_fe(address), load_fe(address + curve::N), load_fe(address + 2 * curve::N),
            load_fe(address + 3 * curve::N)};
}

static __device__ __forceinline__ void store_projective(u32* address, const Projective& p) {
    store_fe(address, p.x), store_fe(address + curve::N, p.y), store_fe(address + 2 * curve::N, p.z);
}

static __device__ __forceinline__ Projective load_projective(const u32* address) {
    return {load_fe(address), load_fe(address + curve::N), load_fe(address + 2 * curve::N)};
}
