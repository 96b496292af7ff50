//! The bucket method over signed digits, with batched affine addition throughout.
//!
//! 1. Terms are classified (`terms.rs`), the width c is chosen (`cost.rs`).
//! 2. The grid of windows x terms is cut into cells, each with its own buckets. A cell takes as many windows jointly
//!    as its buckets stay in cache: all of them for small n, one for large n.
//! 3. In a cell every digit sends its base to a bucket (`buckets.rs`), then the buckets are reduced (`reduce.rs`).
//! 4. One chain of doublings combines the cells (`combine.rs`).
//!
//! Cost: W (n + 2^c) additions of 6M, and 18M a bit. Source: Pippenger as in eprint 2012/549, section 4, with the
//! affine batches of eprint 2022/1400.

use core::ops::Range;
use core::sync::atomic::AtomicBool;

use super::MsmError;
use super::adder::{BatchAdder, Packed, Pair};
use super::buckets::Buckets;
use super::combine::BitSums;
use super::cost;
use super::digits::Window;
use super::options::{self, Counts};
use super::reduce;
use super::terms::Terms;
use crate::curve::CurveParams;

/// Digits read at a time, and between two looks at the cancellation flag: at most a few milliseconds of work. A tile
/// takes the same terms for all windows of the cell, so that a batch meets the buckets of all of them.
const TILE: usize = 1024;

/// A part of the grid of windows and terms.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) windows: Range<u32>,
    pub(super) terms: Range<usize>,
}

/// The bit sums of one cell.
pub(super) fn cell<C: CurveParams, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    c: u32,
    cell: &Cell,
    cancel: Option<&AtomicBool>,
) -> Result<(BitSums<C>, Counts), MsmError> {
    let windows: Vec<Window> = cell.windows.clone().map(|w| Window::new(w, c, terms.stride)).collect();
    let count = windows.len() << (c - 1);
    let mut buckets = Buckets::<_, A>::new(count, cost::batch(count), bases);
    let tile = (TILE / windows.len()).clamp(8, TILE);
    let mut digits = Vec::with_capacity(tile);
    let mut start = cell.terms.start;
    while start < cell.terms.end {
        options::heed(cancel)?;
        let end = (start + tile).min(cell.terms.end);
        for (w, window) in windows.iter().enumerate() {
            digits.clear();
            let first = (w as u32) << (c - 1);
            terms.digits(start..end, window, |digit, base| {
                if digit != 0 {
                    let dst = first | reduce::slot(digit.unsigned_abs(), c);
                    digits.push(Pair { dst, signed_src: base ^ (digit < 0) as u32 });
                }
            });
            let last = w + 1 == windows.len();
            buckets.push_all(&digits, if last { terms.limbs(end..(end + tile).min(cell.terms.end)) } else { &[] });
        }
        start = end;
    }
    buckets.drain();
    let points = reduce::bit_sums::<C, A>(&mut buckets, windows.len() as u32, c);
    Ok((BitSums { lowest: cell.windows.start * c, points }, buckets.adder.counts))
}
