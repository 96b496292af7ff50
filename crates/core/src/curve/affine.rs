//! Affine points; infinity is (0, 0), which is on no curve with b != 0.

use super::{CurveParams, Jacobian, endo};
use crate::field::{Field, PrimeField};

/// A point (x, y) of the curve, or infinity as (0, 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Affine<C: CurveParams> {
    /// x
    pub x: C::Field,
    /// y
    pub y: C::Field,
}

impl<C: CurveParams> Affine<C> {
    /// The neutral element.
    pub const INFINITY: Self = Self { x: C::Field::ZERO, y: C::Field::ZERO };
    /// The generator of the subgroup.
    pub const GENERATOR: Self = Self { x: C::GENERATOR.0, y: C::GENERATOR.1 };

    /// Whether this is the neutral element.
    #[inline(always)]
    pub fn is_infinity(&self) -> bool {
        self.x.is_zero() && self.y.is_zero()
    }

    /// Whether the coordinates satisfy the equation of the curve; true for infinity. 2S + 1M.
    #[inline]
    pub fn is_on_curve(&self) -> bool {
        self.y.square() == self.x.square() * self.x + C::B || self.is_infinity()
    }

    /// The coordinates of the same point for a Z that is `factor` times as large. 3M + 1S.
    #[inline]
    pub(crate) fn scale(&mut self, factor: C::Field) {
        let square = factor.square();
        self.x = self.x * square;
        self.y = self.y * square * factor;
    }

    /// Whether r P = O, for a point of the curve. Free when the cofactor is one.
    ///
    /// On a BLS curve lambda^2 + lambda + 1 is r itself, and phi^2 + phi + 1 = 0 on the whole curve: phi(P) = lambda P
    /// gives r P = 0, and holds on the subgroup. That is 127 doublings instead of 255 (eprint 2021/1130).
    pub fn is_in_subgroup(&self) -> bool {
        if C::COFACTOR == [1] {
            return true;
        }
        if endo::minimal_polynomial_is_order::<C>() {
            return self.mul_limbs(&C::ENDOMORPHISM.lambda) == endo::phi(self).into();
        }
        self.mul_limbs(C::Scalar::MODULUS.as_ref()).is_infinity()
    }

    /// scalar * P for a little-endian integer of any length; double-and-add, the plain reference.
    pub fn mul_limbs(&self, scalar: &[u64]) -> Jacobian<C> {
        let mut sum = Jacobian::INFINITY;
        for i in (0..crate::field::limbs::bit_length(scalar)).rev() {
            sum = sum.double();
            if crate::field::limbs::bit(scalar, i) {
                sum = sum.add_affine(self);
            }
        }
        sum
    }
}

impl<C: CurveParams> core::ops::Neg for Affine<C> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { x: self.x, y: -self.y }
    }
}
