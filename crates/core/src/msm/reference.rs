//! The plain oracle: sum of s_i P_i, one double-and-add per term. About 4,500 field multiplications a term.

use crate::curve::{Affine, CurveParams, Jacobian};

/// The sum of s_i P_i for plain integers of any size.
pub fn msm<C: CurveParams>(points: &[Affine<C>], scalars: &[[u64; 4]]) -> Jacobian<C> {
    points.iter().zip(scalars).fold(Jacobian::INFINITY, |sum, (point, scalar)| sum.add(&point.mul_limbs(scalar)))
}
