//! Jacobian points (X/Z^2, Y/Z^3) of curves with a = 0; infinity has Z = 0. Complete: every pair of inputs is right.
//!
//! Doubling 3M + 4S, mixed addition 8M + 3S, addition 12M + 4S. Squarings cost as much as multiplications here, so
//! these are the forms with the fewest additions rather than those that trade multiplications for squarings.
//! Source: Explicit-Formulas Database, short Weierstrass: add-1998-cmo-2 and its mixed form; doubling for a = 0 scaled
//! by Z = 1/2, which turns all small factors but 3/2 into one.

use super::{Affine, CurveParams};
use crate::field::Field;

/// A point in Jacobian coordinates.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Jacobian<C: CurveParams> {
    x: C::Field,
    y: C::Field,
    z: C::Field,
}

impl<C: CurveParams> Jacobian<C> {
    /// The neutral element.
    pub const INFINITY: Self = Self { x: C::Field::ONE, y: C::Field::ONE, z: C::Field::ZERO };

    /// (X/Z^2, Y/Z^3), which must be on the curve; infinity has Z = 0.
    pub(crate) const fn from_coordinates(x: C::Field, y: C::Field, z: C::Field) -> Self {
        Self { x, y, z }
    }

    /// Whether this is the neutral element.
    #[inline(always)]
    pub fn is_infinity(&self) -> bool {
        self.z.is_zero()
    }

    /// 2 P. A point with y = 0 has order two: Z becomes 0 by itself.
    #[inline]
    pub fn double(&self) -> Self {
        self.double_by(|a, b| a * b)
    }

    /// 2 P with the given multiplication: see [`Field::mul_inline`].
    #[inline(always)]
    pub(crate) fn double_by(&self, mul: impl Fn(C::Field, C::Field) -> C::Field) -> Self {
        let xx = mul(self.x, self.x);
        let slope = xx + xx.half();
        let yy = mul(self.y, self.y);
        let v = mul(self.x, yy);
        let x = mul(slope, slope) - v.double();
        let y = mul(slope, v - x) - mul(yy, yy);
        Self { x, y, z: mul(self.y, self.z) }
    }

    /// P + Q for affine Q.
    #[inline]
    pub fn add_affine(&self, other: &Affine<C>) -> Self {
        self.add_affine_by(other, |a, b| a * b)
    }

    /// P + Q with the given multiplication.
    #[inline(always)]
    pub(crate) fn add_affine_by(&self, other: &Affine<C>, mul: impl Fn(C::Field, C::Field) -> C::Field) -> Self {
        if other.is_infinity() {
            return *self;
        }
        if self.is_infinity() {
            return (*other).into();
        }
        let zz = mul(self.z, self.z);
        let h = mul(other.x, zz) - self.x;
        let r = mul(mul(other.y, self.z), zz) - self.y;
        if h.is_zero() {
            return if r.is_zero() { self.double() } else { Self::INFINITY };
        }
        let hh = mul(h, h);
        let hhh = mul(h, hh);
        let v = mul(self.x, hh);
        let x = mul(r, r) - hhh - v.double();
        let y = mul(r, v - x) - mul(self.y, hhh);
        Self { x, y, z: mul(self.z, h) }
    }

    /// P + Q.
    #[inline]
    pub fn add(&self, other: &Self) -> Self {
        if other.is_infinity() {
            return *self;
        }
        if self.is_infinity() {
            return *other;
        }
        let (zz1, zz2) = (self.z.square(), other.z.square());
        let (u1, u2) = (self.x * zz2, other.x * zz1);
        let (s1, s2) = (self.y * other.z * zz2, other.y * self.z * zz1);
        let (h, r) = (u2 - u1, s2 - s1);
        if h.is_zero() {
            return if r.is_zero() { self.double() } else { Self::INFINITY };
        }
        let hh = h.square();
        let hhh = h * hh;
        let v = u1 * hh;
        let x = r.square() - hhh - v.double();
        let y = r * (v - x) - s1 * hhh;
        Self { x, y, z: self.z * other.z * h }
    }

    /// The point with the same x and y over a Z that is `factor` times as large: from an isomorphic curve to this one.
    pub(crate) fn scale_z(&self, factor: C::Field) -> Self {
        Self { z: self.z * factor, ..*self }
    }

    /// The affine form: one inversion, 3M + 1S.
    pub fn to_affine(&self) -> Affine<C> {
        match self.z.invert() {
            None => Affine::INFINITY,
            Some(inverse) => {
                let square = inverse.square();
                Affine { x: self.x * square, y: self.y * square * inverse }
            }
        }
    }
}

impl<C: CurveParams> core::ops::Neg for Jacobian<C> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { x: self.x, y: -self.y, z: self.z }
    }
}

impl<C: CurveParams> From<Affine<C>> for Jacobian<C> {
    fn from(point: Affine<C>) -> Self {
        if point.is_infinity() { Self::INFINITY } else { Self { x: point.x, y: point.y, z: C::Field::ONE } }
    }
}

impl<C: CurveParams> PartialEq for Jacobian<C> {
    /// Equality of points, not of coordinates.
    fn eq(&self, other: &Self) -> bool {
        if self.is_infinity() || other.is_infinity() {
            return self.is_infinity() == other.is_infinity();
        }
        let (zz1, zz2) = (self.z.square(), other.z.square());
        self.x * zz2 == other.x * zz1 && self.y * zz2 * other.z == other.y * zz1 * self.z
    }
}
