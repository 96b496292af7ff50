//! Reduction of the buckets of all windows at once, in c - 1 steps of conflict-free additions.
//!
//! Instead of the running sums of Pippenger's method, which are a chain, the weighted sum is taken bit by bit:
//! sum of j B_j = sum over k of 2^k O_k, where O_k adds the buckets whose index has bit k set. One butterfly makes
//! all O_k in place. At step t = 0, 1, .., for every block of 2^(t+1) slots at i and every
//! r in {0, 1, 2, 4, .., 2^(t-1)}:
//!
//! ```text
//!     B[i + r] += B[i + r + 2^t]
//! ```
//!
//! r = 0 carries the totals of blocks upwards, the others the partial O_k; at the end O_k is B[2^k].
//! Bucket 2^(c-1), which stands alone in its bit, lives in slot 0, which no weight uses.
//!
//! Cost: m sum of (t + 1) / 2^(t+1) = 2 m additions a window of m = 2^(c-1) buckets, the same as running sums, but in
//! batches of m, m, 3/4 m, .. halves, and without any projective addition. The O_k enter the final chain of doublings
//! at their own bit (`combine.rs`).

use super::adder::BatchAdder;
use super::buckets::{Buckets, Slot};
use super::tree::fold;
use crate::curve::{Affine, CurveParams};
use crate::field::Field;

/// Slot of the bucket of a digit's magnitude, 1 ..= 2^(c-1), among the 2^(c-1) slots of its window.
#[inline(always)]
pub(super) const fn slot(magnitude: u32, c: u32) -> u32 {
    magnitude & ((1 << (c - 1)) - 1)
}

/// Reduces `windows` windows of width c; element c w + k of the result is worth 2^(c w + k).
pub(super) fn bit_sums<C: CurveParams, A: BatchAdder<C::Field>>(
    buckets: &mut Buckets<'_, C::Field, A>,
    windows: u32,
    c: u32,
) -> Vec<Affine<C>> {
    let size = 1 << (c - 1);
    for t in 0..c - 1 {
        for first in (0..windows).map(|w| w * size) {
            for block in (first..first + size).step_by(2 << t) {
                let Buckets { adder, points, slots, .. } = buckets;
                if block != first {
                    fold(adder, points, slots, block, block + (1 << t));
                }
                for k in 0..t {
                    fold(adder, points, slots, block + (1 << k), block + (1 << k) + (1 << t));
                }
            }
        }
        buckets.adder.flush_within(&mut buckets.points, &mut buckets.slots);
    }
    let chosen = (0..windows).flat_map(|w| (0..c).map(move |k| (w * size + slot(1 << k, c)) as usize));
    export::<C, A>(buckets, chosen)
}

/// The points in these slots, in affine form.
fn export<C: CurveParams, A: BatchAdder<C::Field>>(
    buckets: &Buckets<'_, C::Field, A>,
    slots: impl Iterator<Item = usize> + Clone,
) -> Vec<Affine<C>> {
    let mut points: Vec<_> = slots.clone().map(|slot| buckets.points[slot]).collect();
    A::export(&mut points);
    slots
        .zip(points)
        .map(|(slot, point)| match buckets.slots[slot] {
            Slot::Empty => Affine::INFINITY,
            _ => Affine { x: C::Field::from_mont(point.x), y: C::Field::from_mont(point.y) },
        })
        .collect()
}
