//! The portable 64-bit Montgomery field: N limbs, R = 2^(64 N), values fully reduced.
//!
//! Multiplication is the CIOS method without the extra carry word, which is sound while the top limb of the
//! modulus is below 2^63 - 1: 2 N^2 + N word products. Source: eprint 2022/1400, section 4.

use core::marker::PhantomData;
use core::ops::{Add, Mul, Neg, Sub};

#[cfg(target_arch = "x86_64")]
use super::adx;
use super::limbs::{add, less, mac, select, shift_right, sub};
use super::{Field, FieldParams, PrimeField, inverse};

/// An integer modulo the modulus of `P`, in Montgomery form.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Fp<P, const N: usize>([u64; N], PhantomData<P>);

impl<P: FieldParams<N>, const N: usize> Fp<P, N> {
    const NO_CARRY: () = assert!(P::MODULUS[N - 1] < (u64::MAX >> 1), "the modulus leaves no spare bit");

    /// The element with these Montgomery limbs, which must be below the modulus.
    #[inline(always)]
    pub const fn from_mont(limbs: [u64; N]) -> Self {
        Self(limbs, PhantomData)
    }

    #[inline(always)]
    fn reduced(limbs: [u64; N]) -> Self {
        let (lower, borrow) = sub(&limbs, &P::MODULUS);
        Self::from_mont(select(borrow == 1, &limbs, &lower))
    }
}

/// a * b / R mod p, below 2 p, for a + p below R. Out of line: where the CPU has `adx`, it only costs code size.
#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
pub(super) fn mul_cios<P: FieldParams<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let mut t = [0; N];
    for &b_i in b {
        let (low, mut carry) = mac(t[0], a[0], b_i, 0);
        let m = low.wrapping_mul(P::NEG_INV);
        let (_, mut fold) = mac(low, m, P::MODULUS[0], 0);
        for j in 1..N {
            let word;
            (word, carry) = mac(t[j], a[j], b_i, carry);
            (t[j - 1], fold) = mac(word, m, P::MODULUS[j], fold);
        }
        t[N - 1] = carry + fold;
    }
    t
}

impl<P: FieldParams<N>, const N: usize> Add for Fp<P, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::reduced(add(&self.0, &other.0).0)
    }
}

impl<P: FieldParams<N>, const N: usize> Sub for Fp<P, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let (difference, borrow) = sub(&self.0, &other.0);
        let correction = P::MODULUS.map(|limb| limb & borrow.wrapping_neg());
        Self::from_mont(add(&difference, &correction).0)
    }
}

impl<P: FieldParams<N>, const N: usize> Mul for Fp<P, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let () = Self::NO_CARRY;
        #[cfg(target_arch = "x86_64")]
        if adx::available::<N>() {
            // SAFETY: just checked.
            return Self::from_mont(unsafe { adx::mul::<P, N>(&self.0, &other.0) });
        }
        Self::reduced(mul_cios::<P, N>(&self.0, &other.0))
    }
}

impl<P: FieldParams<N>, const N: usize> Neg for Fp<P, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::from_mont(select(self == Self::ZERO, &[0; N], &sub(&P::MODULUS, &self.0).0))
    }
}

impl<P: FieldParams<N>, const N: usize> Field for Fp<P, N> {
    type Limbs = [u64; N];
    const ZERO: Self = Self::from_mont([0; N]);
    const ONE: Self = Self::from_mont(P::R);

    #[inline(always)]
    fn double(self) -> Self {
        self + self
    }

    #[inline(always)]
    fn half(self) -> Self {
        let odd = self.0[0] & 1 == 1;
        let (even, _) = add(&self.0, &select(odd, &P::MODULUS, &[0; N]));
        Self::from_mont(shift_right(&even))
    }

    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }

    #[inline(always)]
    fn negate_if(self, flag: bool) -> Self {
        Self::from_mont(select(flag && !self.is_zero(), &sub(&P::MODULUS, &self.0).0, &self.0))
    }

    #[cfg(target_arch = "x86_64")]
    fn has_mul_inline() -> bool {
        adx::available::<N>()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn mul_inline(self, other: Self) -> Self {
        // SAFETY: the caller has asked `has_mul_inline`.
        Self::from_mont(unsafe { adx::mul_inline::<P, N>(&self.0, &other.0) })
    }

    /// By division steps on the Montgomery limbs: R^2 / (a R) = a^-1 R.
    fn invert(self) -> Option<Self> {
        (!self.is_zero()).then(|| Self::from_mont(inverse::invert(&self.0, &P::MODULUS, P::NEG_INV, &P::R2)))
    }

    #[inline(always)]
    fn to_mont(self) -> [u64; N] {
        self.0
    }

    #[inline(always)]
    fn from_mont(limbs: [u64; N]) -> Self {
        Self::from_mont(limbs)
    }

    #[inline(always)]
    fn is_reduced(limbs: &[u64; N]) -> bool {
        less(limbs, &P::MODULUS)
    }

    #[inline(always)]
    fn from_canonical(limbs: [u64; N]) -> Option<Self> {
        less(&limbs, &P::MODULUS).then(|| Self::from_mont(limbs) * Self::from_mont(P::R2))
    }

    #[inline(always)]
    fn to_canonical(self) -> [u64; N] {
        let mut one = [0; N];
        one[0] = 1;
        (self * Self::from_mont(one)).0
    }
}

impl<P: FieldParams<N>, const N: usize> PrimeField for Fp<P, N> {
    const BITS: u32 = P::BITS;
    const MODULUS: [u64; N] = P::MODULUS;
    const TWO_ADICITY: u32 = P::TWO_ADICITY;
    const TWO_ADIC_ROOT: Self = Self::from_mont(P::TWO_ADIC_ROOT);
}

impl<P: FieldParams<N>, const N: usize> core::fmt::Debug for Fp<P, N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("0x")?;
        self.to_canonical().iter().rev().try_for_each(|limb| write!(f, "{limb:016x}"))
    }
}
