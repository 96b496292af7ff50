//! The cost model: every choice of width and path comes from here.
//!
//! The unit is one field multiplication of the arithmetic in use.

use super::digits;
use super::grid::Grid;

/// A batched affine addition.
const ADDITION: f64 = 6.0;
/// A doubling and a mixed addition of the final chain.
const CHAIN: f64 = 18.0;

/// Additions in a batch for this many buckets: an eighth of them keeps conflicts at 6 %, 1,024 keep the scratch in
/// cache, and more would make an inversion no cheaper.
pub(super) fn batch(buckets: usize) -> usize {
    (buckets / 8).clamp(32, 1024)
}

/// The cheapest grid for n terms of `bits` bits; the width may be forced.
pub(super) fn grid(terms: usize, bits: u32, threads: usize, forced: Option<u32>) -> Grid {
    let of_width = |c| Grid { terms, windows: digits::windows(bits, c), c, threads };
    let widths = match forced {
        Some(c) => c..=c,
        None => 1..=digits::WIDEST.min(bits + 1),
    };
    widths.map(of_width).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(of_width(1))
}

/// Expected wall time of a grid.
fn cost(grid: &Grid) -> f64 {
    ADDITION * grid.additions() + CHAIN * (grid.windows * grid.c) as f64
}
