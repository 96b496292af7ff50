//! Prime fields: the traits that everything above is generic over, and the constants of a modulus.
//!
//! `Field` is what point arithmetic needs and what an extension field can provide too; `PrimeField` adds
//! the integers behind it. `Fp` is the portable 64-bit Montgomery field.

#[cfg(target_arch = "x86_64")]
mod adx;
mod fp;
mod inverse;
#[cfg(target_arch = "x86_64")]
pub mod lanes;
pub mod limbs;
mod sqrt;

use core::fmt::Debug;
use core::ops::{Add, Mul, Neg, Sub};

pub use fp::Fp;
pub use sqrt::SquareRoot;

/// Constants of a modulus in N limbs of 64 bits, generated from `curves/*.toml`. R = 2^(64 N).
pub trait FieldParams<const N: usize>: Copy + Debug + Eq + Send + Sync + 'static {
    /// Bit length of the modulus.
    const BITS: u32;
    /// The modulus p.
    const MODULUS: [u64; N];
    /// R mod p: one in Montgomery form.
    const R: [u64; N];
    /// R^2 mod p: takes integers to Montgomery form.
    const R2: [u64; N];
    /// -p^-1 mod 2^64.
    const NEG_INV: u64;
    /// s with p - 1 = 2^s t, t odd.
    const TWO_ADICITY: u32;
    /// An element of order 2^s, in Montgomery form.
    const TWO_ADIC_ROOT: [u64; N];
}

/// Constants of a modulus in L limbs of 52 bits, generated from `curves/*.toml`. R52 = 2^(52 L), 4p < R52.
pub trait LaneParams<const L: usize>: Copy + Debug + Eq + Send + Sync + 'static {
    /// The modulus p.
    const MODULUS: [u64; L];
    /// R52 mod p.
    const R: [u64; L];
    /// R52^2 mod p.
    const R2: [u64; L];
    /// -p^-1 mod 2^52.
    const NEG_INV: u64;
    /// R52^2 / R64 mod p: one lane multiplication by it takes the 64-bit Montgomery form to the lane form.
    const FROM_R64: [u64; L];
    /// R64 mod p: one lane multiplication by it takes the lane form to the 64-bit Montgomery form.
    const TO_R64: [u64; L];
}

/// A finite field. Values are always fully reduced, so `==` is equality in the field.
pub trait Field:
    Copy
    + Debug
    + Eq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// The representation in memory: packed little-endian 64-bit limbs, reduced, in the Montgomery domain.
    type Limbs: Limbs;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// Twice the value.
    fn double(self) -> Self;
    /// Half the value; the characteristic is not two.
    fn half(self) -> Self;
    /// The square; may be cheaper than a multiplication.
    fn square(self) -> Self;
    /// The inverse; none for zero. Costs about as much as 60 to 100 multiplications.
    fn invert(self) -> Option<Self>;
    /// `if flag { -self } else { self }` without a branch.
    fn negate_if(self, flag: bool) -> Self;
    /// Whether `mul_inline` is there on this CPU.
    fn has_mul_inline() -> bool {
        false
    }
    /// The product by the fastest code there is, inlined. For long loops, which ask for it once.
    ///
    /// # Safety
    ///
    /// `has_mul_inline` has returned true.
    #[inline(always)]
    unsafe fn mul_inline(self, other: Self) -> Self {
        self * other
    }
    /// The limbs in the Montgomery domain R = 2^(64 N).
    fn to_mont(self) -> Self::Limbs;
    /// The element with these Montgomery limbs, which must be reduced.
    fn from_mont(limbs: Self::Limbs) -> Self;
    /// Whether limbs, of either form, are below the modulus.
    fn is_reduced(limbs: &Self::Limbs) -> bool;
    /// The element of plain (canonical) limbs; none unless they are below the modulus.
    fn from_canonical(limbs: Self::Limbs) -> Option<Self>;
    /// The plain limbs, below the modulus.
    fn to_canonical(self) -> Self::Limbs;

    /// Whether this is zero.
    fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

/// Integers modulo a prime; the plain limbs of an element are the integer.
pub trait PrimeField: Field {
    /// Bit length of the modulus.
    const BITS: u32;
    /// The modulus.
    const MODULUS: Self::Limbs;
    /// s with p - 1 = 2^s t, t odd.
    const TWO_ADICITY: u32;
    /// An element of order 2^s.
    const TWO_ADIC_ROOT: Self;
}

/// An array of 64-bit limbs, little-endian: `[u64; N]` for some N.
pub trait Limbs: Copy + Debug + Eq + Send + Sync + 'static + AsRef<[u64]> + AsMut<[u64]> {
    /// N.
    const COUNT: usize;
    /// All limbs zero.
    const ZERO: Self;
}

impl<const N: usize> Limbs for [u64; N] {
    const COUNT: usize = N;
    const ZERO: Self = [0; N];
}

#[cfg(test)]
mod tests;
