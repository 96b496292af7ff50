//! The final chain: sum over bits b of 2^b S_b. One doubling a bit, one mixed addition a point: 18M a bit.

use crate::curve::{Affine, CurveParams, Jacobian};

/// Partial sums of consecutive bits, from some lowest bit on.
pub(super) struct BitSums<C: CurveParams> {
    /// The bit that the first point is worth.
    pub(super) lowest: u32,
    /// Point i is worth 2^(lowest + i).
    pub(super) points: Vec<Affine<C>>,
}

/// Adds everything up, and the number of projective operations that took.
pub(super) fn combine<C: CurveParams>(parts: &[BitSums<C>]) -> (Jacobian<C>, u64) {
    let bits = parts.iter().map(|part| part.lowest + part.points.len() as u32).max().unwrap_or(0);
    let mut sum = Jacobian::INFINITY;
    for bit in (0..bits).rev() {
        sum = sum.double();
        for part in parts {
            if let Some(point) = bit.checked_sub(part.lowest).and_then(|i| part.points.get(i as usize)) {
                sum = sum.add_affine(point);
            }
        }
    }
    let additions: usize = parts.iter().map(|part| part.points.len()).sum();
    (sum, bits as u64 + additions as u64)
}
