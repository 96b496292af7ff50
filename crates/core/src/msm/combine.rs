//! The final chain: sum over bits b of 2^b S_b. One doubling a bit, one mixed addition a point: 18M a bit.

use super::chain::{self, Step};
use super::{Engines, Isa};
use crate::curve::{Affine, CurveParams, Jacobian};

/// Partial sums of consecutive bits, from some lowest bit on.
pub(super) struct BitSums<C: CurveParams> {
    /// The bit that the first point is worth.
    pub(super) lowest: u32,
    /// Point i is worth 2^(lowest + i).
    pub(super) points: Vec<Affine<C>>,
}

/// Adds everything up, and the number of projective operations that took.
pub(super) fn combine<C: CurveParams<Field: Engines>>(isa: Isa, parts: &[BitSums<C>]) -> (Jacobian<C>, u64) {
    let points: Vec<_> = parts.iter().flat_map(|part| part.points.iter().copied()).collect();
    let bits = parts.iter().map(|part| part.lowest + part.points.len() as u32).max().unwrap_or(0);
    let mut steps = Vec::with_capacity(bits as usize + points.len());
    for bit in (0..bits).rev() {
        steps.push(Step { doublings: 1, term: None });
        let mut first = 0;
        for part in parts {
            let index = bit.checked_sub(part.lowest).map(|i| i as usize).filter(|&i| i < part.points.len());
            if let Some(index) = index.map(|i| first + i).filter(|&index| !points[index].is_infinity()) {
                steps.push(Step { doublings: 0, term: Some((index, false)) });
            }
            first += part.points.len();
        }
    }
    chain::run(isa, &points, &steps)
}
