//! The operations of a sum, counted before it is done: exactly as the engine does them, for uniform scalars.

use super::cost::batch;
use super::grid::Grid;

/// Bytes of buckets from which on additions wait for them.
const NEAR: f64 = 262_144.0;

/// Numbers of operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Batched affine additions.
    pub(super) additions: f64,
    /// Additions, each times the doublings of its buckets beyond the cache near the core.
    pub(super) far: f64,
    /// Batched affine additions of Straus, whose tables and sums take more of the cache.
    pub(super) scattered: f64,
    /// Batches.
    pub(super) batches: f64,
    /// Digits read and sent to a bucket.
    pub(super) digits: f64,
    /// Doublings of the final chain.
    pub(super) doublings: f64,
    /// Mixed additions to the final chain.
    pub(super) mixed: f64,
    /// Scalars split, and images of bases found.
    pub(super) splits: f64,
    /// Whether threads are woken.
    pub(super) wakes: f64,
}

impl Work {
    /// What the busiest thread does in a grid over points of so many bytes, and the final chain.
    pub(super) fn of_grid(grid: &Grid, point: f64) -> Self {
        let mut work = Self {
            doublings: f64::from(grid.windows * grid.c),
            mixed: f64::from(grid.windows * grid.c),
            wakes: f64::from(u8::from(grid.threads > 1)),
            ..Self::default()
        };
        for (times, terms, windows) in grid.busiest() {
            work.add_cells(times, terms, windows, grid.c, point);
        }
        work
    }

    /// `times` cells of `windows` windows of width c jointly, over so many terms.
    fn add_cells(&mut self, times: f64, terms: f64, windows: f64, c: u32, point: f64) {
        let slots = (1u64 << (c - 1)) as f64;
        // Digits are zero with probability 2^-c.
        let pushed = terms * (1.0 - 0.5 / slots);
        // A slot stays empty with probability (1 - 1 / slots)^pushed, and its first base costs no addition.
        let empty = if c == 1 { 0.0 } else { (pushed * (-1.0 / slots).ln_1p()).exp() };
        let touched = slots * (1.0 - empty);
        let additions = times * windows * (pushed - touched + reduction(slots, empty, c));
        self.additions += additions;
        self.far += additions * (windows * slots * point / NEAR).log2().max(0.0);
        self.batches += additions / batch((windows * slots) as usize) as f64 + times * f64::from(c + 1);
        self.digits += times * windows * terms;
    }

    /// Straus with digits of this width, for `parts` scalars of `bits` bits over `terms` bases.
    pub(super) fn of_straus(terms: usize, parts: usize, bits: u32, window: u32) -> Self {
        let columns = f64::from(bits / window + 1);
        let tables = terms as f64 * f64::from((1u32 << (window - 1)) - 1);
        let sums = parts as f64 * columns * (1.0 - 0.5f64.powi(window as i32)) - columns;
        let levels = parts.next_power_of_two().trailing_zeros();
        Self {
            scattered: tables + sums.max(0.0),
            batches: f64::from(window - 1 + levels),
            doublings: f64::from(bits),
            mixed: columns,
            ..Self::default()
        }
    }
}

/// Additions of the butterfly of `reduce.rs` over slots that are empty with this probability.
fn reduction(slots: f64, empty: f64, c: u32) -> f64 {
    let (mut blocks, mut additions) = (slots, 0.0);
    // Chances that a block of 2^t slots is empty, and that half of it is.
    let (mut block_empty, mut half_empty) = (empty, 1.0);
    for t in 0..c - 1 {
        blocks /= 2.0;
        let (block, half) = (1.0 - block_empty, 1.0 - half_empty);
        additions += (blocks - 1.0) * block * block + blocks * f64::from(t) * half * half;
        (half_empty, block_empty) = (block_empty, block_empty * block_empty);
    }
    additions
}
