//! The cost model: every choice of path, width, split and thread count comes from here, and any can be forced.
//!
//! The number of operations of each way is computed as the engine does them, exactly for uniform scalars (first touches
//! of a bucket are free, sparse buckets reduce cheaply), and weighed with measured prices. As the model counts what is
//! done, the least cost grows smoothly with n: there is no cliff where the choice changes.

use super::grid::Grid;
use super::{Isa, Options, Path, digits};

/// What the operations of an arithmetic cost, in nanoseconds of a Sapphire Rapids core at 3 GHz
/// (`examples/adder.rs`); only their ratios matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// A batched affine addition, without its share of the inversion.
    addition: f64,
    /// An inversion, and what else a batch costs however short it is.
    batch: f64,
    /// Reading a digit and scheduling its term.
    digit: f64,
    /// A doubling of the final chain.
    doubling: f64,
    /// A mixed addition to the final chain.
    mixed: f64,
    /// Splitting a scalar and finding the image of its base.
    split: f64,
}

impl Prices {
    /// For coordinates of `limbs` 64-bit limbs.
    pub(super) const fn of(isa: Isa, limbs: usize) -> Self {
        let narrow = limbs <= 4;
        let (addition, split) = match (isa, narrow) {
            (Isa::Scalar, true) => (133.0, 60.0),
            (Isa::Ifma256, true) => (70.0, 50.0),
            (Isa::Ifma512, true) => (45.0, 45.0),
            (Isa::Scalar, false) => (265.0, 90.0),
            (Isa::Ifma256, false) => (160.0, 70.0),
            (Isa::Ifma512, false) => (95.0, 60.0),
        };
        let (batch, doubling, mixed) = if narrow { (1400.0, 150.0, 260.0) } else { (2100.0, 300.0, 500.0) };
        Self { addition, batch, digit: 5.0, doubling, mixed, split }
    }
}

/// Waking threads and waiting for the last one.
const WAKE: f64 = 20_000.0;
/// Beyond this, images of the bases would take memory for little.
const MOST_SPLIT: usize = 1 << 16;
/// What an addition of Straus costs over one to a bucket: its tables and sums take more of the cache.
const SCATTERED: f64 = 1.4;
/// Terms that lanes do not pay for: their batches are too short.
pub(super) const MOST_WITHOUT_LANES: usize = 2;
/// Beyond this, tables do not stay in cache.
const MOST_STRAUS: usize = 256;

/// Additions in a batch for this many buckets: a quarter of them keeps conflicts at 12 %, 1,024 keep the scratch in
/// cache, and more would make an inversion hardly cheaper.
pub(super) fn batch(buckets: usize) -> usize {
    (buckets / 4).clamp(32, 1024)
}

/// How a call is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) path: Path,
    /// Whether the bucket method gets split scalars; Straus decides for itself.
    pub(super) split: bool,
    /// For the bucket method.
    pub(super) grid: Grid,
}

/// What is known of the terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Number of terms.
    pub(super) terms: usize,
    /// Length of the longest scalar.
    pub(super) bits: u32,
    /// What is left of it when it is split, where it may be.
    pub(super) half_bits: Option<u32>,
    /// Threads that may be used.
    pub(super) threads: usize,
}

/// The cheapest way.
pub(super) fn choose(prices: &Prices, shape: &Shape, options: &Options<'_>) -> Choice {
    let Shape { terms, bits, threads, .. } = *shape;
    let half_bits = shape.half_bits.filter(|&half| half < bits);
    let (mut lowest, mut grid) = cheapest_grid(prices, terms, bits, threads, options.window);
    let mut split = false;
    if let Some(half) = half_bits.filter(|_| terms <= MOST_SPLIT || options.endomorphism == Some(true)) {
        let (cost, halved) = cheapest_grid(prices, 2 * terms, half, threads, options.window);
        let cost = cost + prices.split * terms as f64;
        if cost < lowest || options.endomorphism == Some(true) {
            (grid, lowest, split) = (halved, cost, true);
        }
    }
    let straus = terms <= MOST_STRAUS && straus(prices, terms, bits, half_bits, options.window).1 < lowest;
    let path = options.path.unwrap_or(if straus { Path::Straus } else { Path::Bucket });
    Choice { path, split, grid }
}

/// The cheapest width of Straus' tables, and its cost.
pub(super) fn straus(
    prices: &Prices,
    terms: usize,
    bits: u32,
    half_bits: Option<u32>,
    forced: Option<u32>,
) -> (u32, f64) {
    let (parts, bits) = half_bits.map_or((terms, bits), |half| (2 * terms, half));
    let cost = |window: u32| {
        let windows = f64::from(bits / window + 1);
        let table = terms as f64 * f64::from((1u32 << (window - 1)) - 1);
        let columns = parts as f64 * windows * (1.0 - 0.5f64.powi(window as i32)) - windows;
        let batches = window - 1 + parts.next_power_of_two().trailing_zeros();
        SCATTERED * prices.addition * (table + columns.max(0.0))
            + prices.batch * f64::from(batches)
            + prices.doubling * f64::from(bits)
            + prices.mixed * windows
    };
    let widths = forced.map_or(2..=8, |window| window..=window);
    widths.map(|window| (window, cost(window))).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((4, f64::INFINITY))
}

/// The cost of the cheapest grid for so many terms of `bits` bits, and the grid; the width may be forced.
fn cheapest_grid(prices: &Prices, terms: usize, bits: u32, threads: usize, forced: Option<u32>) -> (f64, Grid) {
    let widths = match forced {
        Some(c) => c..=c,
        None => 1..=digits::WIDEST.min(bits + 1),
    };
    let mut best: Option<(f64, Grid)> = None;
    for c in widths {
        for threads in [1, threads] {
            let grid = Grid { terms, windows: digits::windows(bits, c), c, threads };
            let cost = grid_cost(prices, &grid);
            if best.is_none_or(|(lowest, _)| cost < lowest) {
                best = Some((cost, grid));
            }
        }
    }
    best.expect("there is at least one width")
}

/// Expected wall time of a grid.
fn grid_cost(prices: &Prices, grid: &Grid) -> f64 {
    let wake = if grid.threads > 1 { WAKE } else { 0.0 };
    let chain = (prices.doubling + prices.mixed) * f64::from(grid.windows * grid.c);
    grid.busiest(|terms, windows| cell_cost(prices, terms, windows, grid.c)) + chain + wake
}

/// Expected time of a cell: `windows` windows of width c jointly, over so many terms.
fn cell_cost(prices: &Prices, terms: f64, windows: f64, c: u32) -> f64 {
    let slots = (1u64 << (c - 1)) as f64;
    // Digits are zero with probability 2^-c.
    let pushed = terms * (1.0 - 0.5 / slots);
    // A slot stays empty with probability (1 - 1 / slots)^pushed, and its first base costs no addition.
    let empty = if c == 1 { 0.0 } else { (pushed * (-1.0 / slots).ln_1p()).exp() };
    let touched = slots * (1.0 - empty);
    let additions = windows * (pushed - touched + reduction(slots, empty, c));
    let batches = additions / batch((windows * slots) as usize) as f64 + f64::from(c + 1);
    prices.addition * additions + prices.batch * batches + prices.digit * windows * terms
}

/// Additions of the butterfly of `reduce.rs` over slots that are empty with this probability.
fn reduction(slots: f64, empty: f64, c: u32) -> f64 {
    let full = |slots: f64| 1.0 - empty.powf(slots);
    (0..c - 1)
        .map(|t| {
            let (blocks, size) = (slots / (2u64 << t) as f64, (1u64 << t) as f64);
            (blocks - 1.0) * full(size).powi(2) + blocks * f64::from(t) * full(size / 2.0).powi(2)
        })
        .sum()
}
