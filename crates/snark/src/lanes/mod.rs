//! Scalars of BLS12-377 in vector lanes: eight at a time where the CPU has AVX-512 IFMA.
//!
//! Memory holds Montgomery form with R64 = 2^256, lanes multiply with R52 = 2^260. A factor that was multiplied by
//! 16 beforehand (tables, constants) makes up for the difference, so data never change their domain.
//! Bounds are multiples of p = r; R52 is 219 p, so a product of values below a p and b p is below (2 + a b / 219) p.

mod ntt;
mod pointwise;

use multiscalar_core::curve::tables::bls12_377::Fr as Modulus;
use multiscalar_core::field::LaneParams;
use multiscalar_core::field::lanes::ifma512::Ifma512;
use multiscalar_core::field::lanes::params::{LIMB, LIMB_MASK, multiple};
use multiscalar_core::field::lanes::{Isa, Limbwise, Vector};

pub use ntt::transform;
pub use pointwise::{add_scaled, multiply, scale};

use crate::Fr;

const L: usize = 5;
const N: usize = 4;
const P: [u64; L] = <Modulus as LaneParams<L>>::MODULUS;

/// Proof of the instructions. The standard library remembers what the CPU has.
pub fn available() -> Option<Ifma512> {
    Ifma512::detect()
}

/// Limbs of 52 bits of a factor: its Montgomery form times 16.
fn factor(value: Fr) -> [u64; L] {
    let w = (value * Fr::from(16)).0.0;
    [
        w[0] & LIMB_MASK,
        (w[0] >> 52 | w[1] << 12) & LIMB_MASK,
        (w[1] >> 40 | w[2] << 24) & LIMB_MASK,
        (w[2] >> 28 | w[3] << 36) & LIMB_MASK,
        w[3] >> 16,
    ]
}

/// 2^260 - k p in clean limbs.
const fn complement(k: u64) -> [u64; L] {
    multiscalar_core::field::lanes::params::complement(multiple(P, k))
}

/// Raw limbs of a value below 100 p to clean ones below 3 p: the quotient is estimated from the top limb.
#[inline(always)]
fn shrink<V: Vector>(isa: V::Isa, value: [V; L]) -> [V; L] {
    const INVERSE: u64 = (1 << LIMB) / (P[L - 1] + 1);
    const MINUS_P: [u64; L] = complement(1);
    let mut t = V::clean(isa, V::carry(value));
    let q = V::splat(isa, 0).madd_hi(t[L - 1], V::splat(isa, INVERSE));
    let minus_p = V::constant(isa, MINUS_P);
    // adding q (2^260 - p) and dropping the multiples of 2^260 subtracts q p
    for i in 0..L {
        t[i] = t[i].madd_lo(q, minus_p[i]);
        if i + 1 < L {
            t[i + 1] = t[i + 1].madd_hi(q, minus_p[i]);
        }
    }
    let mut t = V::clean(isa, V::carry(t));
    t[L - 1] = t[L - 1] & V::splat(isa, LIMB_MASK);
    t
}

/// Clean limbs of a value below 4 p to clean limbs below p.
#[inline(always)]
fn reduce<V: Vector>(isa: V::Isa, mut value: [V; L]) -> [V; L] {
    for k in [complement(2), complement(1)] {
        let k = V::constant(isa, k);
        // adding 2^260 - k p carries out of the top limb exactly when the value is at least k p
        let sum = V::carry(<V as Limbwise<L>>::add(value, k));
        let large = sum[L - 1].at_least(V::splat(isa, 1 << LIMB));
        value = V::clean(isa, V::carry(V::add_where(value, large, k)));
        value[L - 1] = value[L - 1] & V::splat(isa, LIMB_MASK);
    }
    value
}

/// a b / R52 in clean limbs.
#[inline(always)]
fn product<V: Vector>(isa: V::Isa, a: [V; L], b: [V; L]) -> [V; L] {
    let raw = V::mul::<Modulus, N>(isa, a, b, V::constant(isa, [0; L]));
    V::clean(isa, V::carry(raw))
}
