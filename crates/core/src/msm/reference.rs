//! The plain oracle: sum of s_i P_i, one double-and-add per term. About 4,500 field multiplications a term.

use crate::curve::{Affine, CurveParams, Jacobian};

/// The sum of s_i P_i for plain integers of any size, little-endian.
pub fn sum<'a, C: CurveParams>(terms: impl Iterator<Item = (Affine<C>, &'a [u64])>) -> Jacobian<C> {
    terms.fold(Jacobian::INFINITY, |sum, (point, scalar)| sum.add(&point.mul_limbs(scalar)))
}
