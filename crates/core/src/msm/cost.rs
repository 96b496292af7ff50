//! The cost model: every choice of path, width and split comes from here.
//!
//! The unit is one multiplication in 64-bit arithmetic. Prices are fitted to forced runs (benches: `msm bench --window`).

use super::grid::Grid;
use super::{Isa, Options, Path, digits};

/// What the operations of an arithmetic cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// A batched affine addition, without its share of the inversion.
    pub(super) addition: f64,
    /// An inversion, and what else a batch costs however short it is.
    pub(super) batch: f64,
    /// A doubling of the final chain.
    pub(super) doubling: f64,
    /// A mixed addition to the final chain.
    pub(super) mixed: f64,
}

impl Prices {
    pub(super) const fn of(isa: Isa) -> Self {
        let addition = match isa {
            Isa::Scalar => 9.0,
            Isa::Ifma256 => 4.0,
            Isa::Ifma512 => 2.5,
        };
        Self { addition, batch: 70.0, doubling: 9.0, mixed: 15.0 }
    }
}

/// Splitting a scalar and finding the image of its base.
const SPLIT: f64 = 4.0;
/// Beyond this, images of the bases would take memory for little.
const MOST_SPLIT: usize = 1 << 14;
/// What an addition of Straus costs over one to a bucket: its tables and sums take more of the cache.
const SCATTERED: f64 = 1.4;
/// Terms that lanes do not pay for: their batches are too short.
pub(super) const MOST_WITHOUT_LANES: usize = 2;
/// Beyond this, tables do not stay in cache.
const MOST_STRAUS: usize = 256;

/// Additions in a batch for this many buckets: an eighth of them keeps conflicts at 6 %, 1,024 keep the scratch in
/// cache, and more would make an inversion no cheaper.
pub(super) fn batch(buckets: usize) -> usize {
    (buckets / 8).clamp(32, 1024)
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

/// The cheapest way for so many terms of `bits` bits; `half_bits` are left of a scalar that is split, where it may be.
pub(super) fn choose(
    isa: Isa,
    terms: usize,
    bits: u32,
    half_bits: Option<u32>,
    threads: usize,
    options: &Options<'_>,
) -> Choice {
    let prices = Prices::of(isa);
    let half_bits = half_bits.filter(|&half| half < bits);
    let mut grid = cheapest_grid(&prices, terms, bits, threads, options.window);
    let mut lowest = grid_cost(&prices, &grid);
    let mut split = false;
    if let Some(half) = half_bits.filter(|_| terms <= MOST_SPLIT || options.endomorphism == Some(true)) {
        let halved = cheapest_grid(&prices, 2 * terms, half, threads, options.window);
        let cost = grid_cost(&prices, &halved) + SPLIT * terms as f64;
        if cost < lowest || options.endomorphism == Some(true) {
            (grid, lowest, split) = (halved, cost, true);
        }
    }
    let straus = terms <= MOST_STRAUS && straus(&prices, terms, bits, half_bits, options.window).1 < lowest;
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

/// The cheapest grid for n terms of `bits` bits; the width may be forced.
fn cheapest_grid(prices: &Prices, terms: usize, bits: u32, threads: usize, forced: Option<u32>) -> Grid {
    let of_width = |c| Grid { terms, windows: digits::windows(bits, c), c, threads };
    let widths = match forced {
        Some(c) => c..=c,
        None => 1..=digits::WIDEST.min(bits + 1),
    };
    widths.map(of_width).min_by(|a, b| grid_cost(prices, a).total_cmp(&grid_cost(prices, b))).unwrap_or(of_width(1))
}

/// Expected wall time of a grid.
fn grid_cost(prices: &Prices, grid: &Grid) -> f64 {
    let buckets = (grid.windows as usize) << (grid.c - 1);
    let batches = grid.additions() / batch(buckets) as f64 + f64::from(grid.c);
    prices.addition * grid.additions()
        + prices.batch * batches
        + (prices.doubling + prices.mixed) * f64::from(grid.windows * grid.c)
}
