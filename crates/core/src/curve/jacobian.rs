//! Jacobian points (X/Z^2, Y/Z^3) of curves with a = 0; infinity has Z = 0. Complete: every pair of inputs is right.
//!
//! Doubling 2M + 5S, mixed addition 7M + 4S, addition 11M + 5S.
//! Source: Explicit-Formulas Database, short Weierstrass a = 0: dbl-2009-l, madd-2007-bl, add-2007-bl.

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

    /// Whether this is the neutral element.
    #[inline(always)]
    pub fn is_infinity(&self) -> bool {
        self.z.is_zero()
    }

    /// 2 P. A point with y = 0 has order two: Z becomes 0 by itself.
    #[inline]
    pub fn double(&self) -> Self {
        let a = self.x.square();
        let b = self.y.square();
        let c = b.square();
        let d = ((self.x + b).square() - a - c).double();
        let e = a.double() + a;
        let x = e.square() - d.double();
        let y = e * (d - x) - c.double().double().double();
        Self { x, y, z: (self.y * self.z).double() }
    }

    /// P + Q for affine Q.
    #[inline]
    pub fn add_affine(&self, other: &Affine<C>) -> Self {
        if other.is_infinity() {
            return *self;
        }
        if self.is_infinity() {
            return (*other).into();
        }
        let zz = self.z.square();
        let h = other.x * zz - self.x;
        let r = other.y * self.z * zz - self.y;
        if h.is_zero() {
            return if r.is_zero() { self.double() } else { Self::INFINITY };
        }
        let (r, hh) = (r.double(), h.square());
        let i = hh.double().double();
        let j = h * i;
        let v = self.x * i;
        let x = r.square() - j - v.double();
        let y = r * (v - x) - (self.y * j).double();
        Self { x, y, z: (self.z + h).square() - zz - hh }
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
        let (r, i) = (r.double(), h.double().square());
        let j = h * i;
        let v = u1 * i;
        let x = r.square() - j - v.double();
        let y = r * (v - x) - (s1 * j).double();
        Self { x, y, z: ((self.z + other.z).square() - zz1 - zz2) * h }
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
