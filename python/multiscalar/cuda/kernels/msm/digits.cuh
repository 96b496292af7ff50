// Scalars into signed digits.
//
// 1. Read a scalar of `scalar_bytes` bytes; leave Montgomery form; note the lowest index of a scalar >= r; reduce mod r.
// 2. GLV: k = k1 + k2 lambda with half-length halves. Or, in the r-subgroup, k -> r - k when that is shorter by a bit.
// 3. Cut into windows (see `window_width`) and recode: digit d > 2^(c-1) becomes d - 2^c and carries.
// The digit of window w goes to set w mod groups, list position ((w / groups) halves + half) n + i, as sign | magnitude.
//
// Cost: none in the base field. Source: Gallant, Lambert, Vanstone, CRYPTO 2001, with rounding constants from curves/.

constexpr u32 SCALAR_MONTGOMERY = 1, SCALAR_NEGATE = 2, SCALAR_GLV = 4, SCALAR_ROWS = 8;

struct Scalar {
    u32 v[8];
};

static __device__ __forceinline__ bool scalar_below_order(const Scalar& s) {
    i64 borrow = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) borrow = (i64(s.v[k]) - i64(curve::ORDER[k]) + borrow) >> 32;
    return borrow != 0;
}

// order - s, or s - order, as `order_first` says; the difference must not be negative.
static __device__ __forceinline__ Scalar scalar_difference(const Scalar& s, bool order_first) {
    Scalar r;
    i64 carry = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        i64 d = order_first ? i64(curve::ORDER[k]) - i64(s.v[k]) : i64(s.v[k]) - i64(curve::ORDER[k]);
        carry += d;
        r.v[k] = u32(carry);
        carry >>= 32;
    }
    return r;
}

static __device__ __forceinline__ Scalar scalar_read(const unsigned char* scalars, u64 index, u32 bytes) {
    Scalar s;
#pragma unroll
    for (int k = 0; k < 8; k++) s.v[k] = 0;
    if (bytes == 32) {
        const Quad* from = reinterpret_cast<const Quad*>(scalars) + 2 * index;
        Quad low = from[0], high = from[1];
#pragma unroll
        for (int k = 0; k < 4; k++) s.v[k] = low.v[k], s.v[k + 4] = high.v[k];
        return s;
    }
    u64 value = 0;
    for (u32 k = 0; k < bytes; k++) value |= u64(scalars[index * bytes + k]) << (8 * k);
    s.v[0] = u32(value), s.v[1] = u32(value >> 32);
    return s;
}

// s / 2^256 mod r, for s < r.
static __device__ Scalar scalar_from_montgomery(Scalar s) {
    for (int row = 0; row < 8; row++) {
        u32 m = s.v[0] * curve::ORDER_NEG_INV;
        u64 carry = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            carry += u64(m) * curve::ORDER[k] + s.v[k];
            if (k) s.v[k - 1] = u32(carry);
            carry >>= 32;
        }
        s.v[7] = u32(carry);
    }
    return scalar_below_order(s) ? s : scalar_difference(s, false);
}

// round(k g / 2^384), or a number beside it once in 2^60 times: the products below word GLV_LOWEST are left out, more than half of
// them. Either quotient gives halves of the same sum, and their bound (`glv_bits`) has 15 % and more to spare. Four words suffice
// for every lattice in curves/.
constexpr int GLV_LOWEST = 9;

static __device__ __forceinline__ void glv_quotient(u32 (&q)[4], const Scalar& k, const u32 (&g)[10]) {
    u32 column[18];
#pragma unroll
    for (int i = 0; i < 18; i++) column[i] = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        u64 carry = 0;
#pragma unroll
        for (int j = 0; j < 10; j++) {
            if (i + j < GLV_LOWEST) continue;
            carry += u64(k.v[i]) * g[j] + column[i + j];
            column[i + j] = u32(carry);
            carry >>= 32;
        }
        column[i + 10] = u32(carry);
    }
    u64 carry = column[11] >> 31;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        carry += column[12 + i];
        q[i] = u32(carry);
        carry >>= 32;
    }
}

// r += (-1)^negative q m, modulo 2^160.
static __device__ __forceinline__ void glv_accumulate(u32 (&r)[5], const u32 (&q)[4], const u32 (&m)[4], bool negative) {
    u32 product[5];
#pragma unroll
    for (int i = 0; i < 5; i++) product[i] = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u64 carry = 0;
#pragma unroll
        for (int j = 0; i + j < 5; j++) {
            carry += product[i + j];
            if (j < 4) carry += u64(q[i]) * m[j];
            product[i + j] = u32(carry);
            carry >>= 32;
        }
    }
    u64 carry = negative;
#pragma unroll
    for (int i = 0; i < 5; i++) {
        carry += u64(r[i]) + (negative ? ~product[i] : product[i]);
        r[i] = u32(carry);
        carry >>= 32;
    }
}

// Absolute value of a two's-complement number of 160 bits; returns its sign.
static __device__ __forceinline__ bool glv_absolute(Scalar& s, const u32 (&r)[5]) {
    bool negative = r[4] >> 31;
    u64 carry = negative;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        u32 word = i < 5 ? r[i] : 0;
        if (negative && i < 5) word = ~word;
        carry += word;
        s.v[i] = i < 5 ? u32(carry) : 0;
        carry >>= 32;
    }
    return negative;
}

static __device__ __forceinline__ void glv_split(const Scalar& k, Scalar (&half)[2], bool (&negative)[2]) {
    u32 c1[4], c2[4], r1[5], r2[5];
    glv_quotient(c1, k, curve::GLV_G1);
    glv_quotient(c2, k, curve::GLV_G2);
#pragma unroll
    for (int i = 0; i < 5; i++) r1[i] = k.v[i], r2[i] = 0;
    glv_accumulate(r1, c1, curve::GLV_A1, !(curve::GLV_G1_NEGATIVE ^ curve::GLV_A1_NEGATIVE));
    glv_accumulate(r1, c2, curve::GLV_A2, !(curve::GLV_G2_NEGATIVE ^ curve::GLV_A2_NEGATIVE));
    glv_accumulate(r2, c1, curve::GLV_B1, !(curve::GLV_G1_NEGATIVE ^ curve::GLV_B1_NEGATIVE));
    glv_accumulate(r2, c2, curve::GLV_B2, !(curve::GLV_G2_NEGATIVE ^ curve::GLV_B2_NEGATIVE));
    negative[0] = glv_absolute(half[0], r1);
    negative[1] = glv_absolute(half[1], r2);
}

struct Recoding {
    u32* digits;     // of this msm
    u32 set_stride;  // list capacity of a set
    u32 bits, windows, groups, parts;
    u32 part_stride, position;  // list positions of one part; position inside the part
};

static __device__ __forceinline__ void recode(Scalar s, bool negative, const Recoding& to) {
    u32 carry = 0, narrow = to.bits / to.windows, first_wide = to.windows - to.bits % to.windows;  // see window_width
    u32* part = to.digits + to.position;
    for (u32 w = 0; w < to.groups * to.parts; part += to.part_stride) {
        u32* place = part;
        for (u32 group = 0; group < to.groups; group++, w++, place += to.set_stride) {
            u32 digit = 0, sign = negative ? SIGN : 0;
            if (w < to.windows) {
                u32 width = narrow + (w >= first_wide);
                digit = (s.v[0] & ((1u << width) - 1)) + carry;
                carry = digit > (1u << (width - 1)) && w + 1 < to.windows;
                if (carry) digit = (1u << width) - digit, sign ^= SIGN;
#pragma unroll
                for (int k = 0; k < 8; k++) s.v[k] = funnel(s.v[k], k < 7 ? s.v[k + 1] : 0, width);
            }
            *place = digit ? sign | digit : 0;
        }
    }
}

// grid (ceil(n / block), batch). scalars: the rows of all msms, or with SCALAR_ROWS the address of each; lengths: terms of each msm,
// or null when all have n. Nothing beyond a row's end is read.
extern "C" __global__ void __launch_bounds__(128)
    msm_digits(const unsigned char* scalars, const u32* lengths, u32* digits, u32* status, u32 scalar_bytes, u32 flags,
               u32 n, u32 bits, u32 windows, u32 groups, u32 parts, u32 set_stride) {
    await_previous();
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, msm = blockIdx.y;
    if (i >= n) return;
    u64 index = u64(msm) * n + i;
    u32 halves = flags & SCALAR_GLV ? 2 : 1;
    Scalar s = {};
    if (lengths == nullptr || i < lengths[msm])
        s = flags & SCALAR_ROWS ? scalar_read(reinterpret_cast<const unsigned char* const*>(scalars)[msm], i, scalar_bytes)
                                : scalar_read(scalars, index, scalar_bytes);
    if (scalar_bytes == 32) {
        if (!scalar_below_order(s)) atomicMin(&status[STATUS_SCALAR], u32(index));
        while (!scalar_below_order(s)) s = scalar_difference(s, false);
        if (flags & SCALAR_MONTGOMERY) s = scalar_from_montgomery(s);
    }
    Recoding to = {digits + u64(msm) * groups * set_stride, set_stride, bits, windows, groups, parts, halves * n, i};
    if (flags & SCALAR_GLV) {
        Scalar half[2];
        bool negative[2];
        glv_split(s, half, negative);
        recode(half[0], negative[0], to);
        to.position += n;
        recode(half[1], negative[1], to);
        return;
    }
    bool negative = false;
    if (flags & SCALAR_NEGATE) {
        Scalar opposite = scalar_difference(s, true);
        i64 borrow = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) borrow = (i64(opposite.v[k]) - i64(s.v[k]) + borrow) >> 32;
        negative = borrow != 0;  // r - s < s
        if (negative) s = opposite;
    }
    recode(s, negative, to);
}
