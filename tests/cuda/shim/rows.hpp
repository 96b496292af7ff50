// Portable twin of kernels/ptx/rows.cuh: the same rows in plain C++, the reference of the carry chains.

static inline u32 negate_opaque(u32 a) { return 0u - a; }

template <int N>
struct Rows {
    using Words = u32[N];

    // r[0..N] += the products of a[parity], a[parity + 2], ... by b, each at its own pair of words.
    static void products(u32* r, const u32* a, int parity, u32 b, u32& carry_out) {
        u64 carry = 0;
        for (int k = 0; k < N; k += 2) {
            u64 product = u64(a[k + parity]) * b;
            carry += u64(r[k]) + u32(product);
            r[k] = u32(carry);
            carry = (carry >> 32) + u64(r[k + 1]) + (product >> 32);
            r[k + 1] = u32(carry);
            carry >>= 32;
        }
        carry_out = u32(carry);
    }

    static void first(Words& x, Words& y, const Words& a, u32 b) {
        u32 carry;
        for (int k = 0; k < N; k++) x[k] = y[k] = 0;
        products(x, a, 0, b, carry);
        products(y, a, 1, b, carry);
    }

    static void next(Words& x, Words& y, const Words& a, u32 b) {
        u32 carry;
        u64 sum = u64(x[0]) + y[1];
        x[0] = u32(sum);
        for (int k = 0; k < N; k++) y[k] = k + 2 < N ? y[k + 2] : 0;
        for (int k = 0; k < N && sum >> 32; k++) sum = u64(y[k]) + (sum >> 32), y[k] = u32(sum);
        products(y, a, 1, b, carry);
        products(x, a, 0, b, carry);
        y[N - 1] += carry;
    }

    static void reduce(Words& x, Words& y, const Words& p, u32 m) {
        u32 carry;
        products(y, p, 1, m, carry);
        products(x, p, 0, m, carry);
        y[N - 1] += carry;
    }

    static void reduce_one(Words& x, Words& y, const Words& p, u32 m) { reduce(x, y, p, m); }

    static void shift_reduce(Words& x, Words& y, const Words& p, u32 factor) {
        u32 zero[N] = {};
        next(x, y, zero, 0);
        reduce(x, y, p, x[0] * factor);
    }

    static void shift_reduce_one(Words& x, Words& y, const Words& p) { shift_reduce(x, y, p, 0xffffffffu); }

    static void square(u32 (&wide)[2 * N], const Words& a) {
        for (u32& word : wide) word = 0;
        for (int i = 0; i < N; i++) {
            u64 carry = 0;
            for (int j = 0; j < N; j++) {
                carry += u64(a[i]) * a[j] + wide[i + j];
                wide[i + j] = u32(carry);
                carry >>= 32;
            }
            wide[i + N] = u32(carry);
        }
    }

    static void merge(Words& r, const Words& y, const Words& x) {
        u64 carry = 0;
        for (int k = 0; k < N; k++) {
            carry += u64(y[k]) + (k + 1 < N ? x[k + 1] : 0);
            r[k] = u32(carry);
            carry >>= 32;
        }
    }

    static u32 add(Words& r, const Words& a, const Words& b) {
        u64 carry = 0;
        for (int k = 0; k < N; k++) {
            carry += u64(a[k]) + b[k];
            r[k] = u32(carry);
            carry >>= 32;
        }
        return u32(carry);
    }

    static void add_if(Words& r, const Words& b, u32 flag) {
        if (flag) add(r, r, b);
    }

    static u32 sub(Words& r, const Words& a, const Words& b) {
        i64 borrow = 0;
        for (int k = 0; k < N; k++) {
            borrow += i64(a[k]) - i64(b[k]);
            r[k] = u32(borrow);
            borrow >>= 32;
        }
        return u32(borrow);
    }
};
