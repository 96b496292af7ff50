//! The cost model: every choice of path, width, split and thread count comes from here, and any can be forced.
//!
//! The number of operations of each way is computed as the engine does them, exactly for uniform scalars (first touches
//! of a bucket are free, sparse buckets reduce cheaply), and weighed with measured prices. As the model counts what is
//! done, the least cost grows smoothly with n: there is no cliff where the choice changes.

use super::grid::Grid;
use super::{Isa, Options, Path, digits};

/// What the operations of an arithmetic cost. Only ratios matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// A batched affine addition, without its share of the inversion, to buckets in the cache near the core.
    addition: f64,
    /// More for an addition, for every doubling of the buckets beyond that cache.
    spill: f64,
    /// What an addition of Straus costs over one to a bucket: its tables and sums take more of the cache.
    scattered: f64,
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
    /// Bytes of a point.
    point: f64,
}

impl Prices {
    /// Field multiplications, as `Counts` counts them.
    const COUNTED: Self = Self {
        addition: 6.0,
        spill: 0.0,
        scattered: 1.0,
        batch: 64.0,
        digit: 0.0,
        doubling: 7.0,
        mixed: 11.0,
        split: 1.0,
        point: 64.0,
    };

    /// Nanoseconds of a Sapphire Rapids core at 3 GHz (`examples/adder.rs`, `examples/sweep.rs`), for coordinates of
    /// `limbs` 64-bit limbs.
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
        let point = 16.0 * limbs as f64;
        Self { addition, spill: 4.0, scattered: 1.4, batch, digit: 5.0, doubling, mixed, split, point }
    }

    /// The price of an addition to one of so many buckets.
    fn addition_to(&self, buckets: f64) -> f64 {
        self.addition + self.spill * (buckets * self.point / NEAR).log2().max(0.0)
    }
}

/// Bytes of buckets from which on additions wait for them.
const NEAR: f64 = 262_144.0;
/// How much more work a choice may take than another to save time by staying in cache. Kept below two percent, so
/// that no sum is more work than a larger one by more (see the test).
const TOLERANCE: f64 = 1.012;
/// Widest window that is chosen: wider ones save little and take megabytes a thread.
const WIDEST: u32 = 17;
/// Waking threads and waiting for the last one.
const WAKE: f64 = 20_000.0;
/// Beyond this, images of the bases would take memory and time for little.
const MOST_SPLIT: usize = 1 << 15;
/// Beyond this, tables do not stay in cache.
const MOST_STRAUS: usize = 256;
/// Terms that lanes do not pay for: their batches are too short.
pub(super) const MOST_WITHOUT_LANES: usize = 2;

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
    let half_bits = shape.half_bits.filter(|&half| half < shape.bits);
    let ways = ways(shape, half_bits, options);
    let near = Prices { spill: 0.0, ..*prices };
    let fastest = |prices: &Prices, least_work: f64| {
        ways.iter()
            .filter(|way| cost(&Prices::COUNTED, shape, way) <= TOLERANCE * least_work)
            .min_by(|a, b| cost(prices, shape, a).total_cmp(&cost(prices, shape, b)))
            .copied()
    };
    // Without the caches times and work agree, and both grow with n; what the caches say decides among near equals.
    let first = fastest(&near, f64::INFINITY).expect("there is at least one way");
    let (split, grid) = fastest(prices, cost(&Prices::COUNTED, shape, &first)).unwrap_or(first);
    let buckets = cost(&near, shape, &first);
    let straus =
        shape.terms <= MOST_STRAUS && straus(prices, shape.terms, shape.bits, half_bits, options.window).1 < buckets;
    let path = options.path.unwrap_or(if straus { Path::Straus } else { Path::Bucket });
    Choice { path, split, grid }
}

/// A way of the bucket method: whether scalars are split, and the grid.
type Way = (bool, Grid);

/// All that the options allow.
fn ways(shape: &Shape, half_bits: Option<u32>, options: &Options<'_>) -> Vec<Way> {
    let mut ways = Vec::with_capacity(80);
    let split = half_bits.filter(|_| shape.terms <= MOST_SPLIT || options.endomorphism == Some(true));
    let whole = if split.is_some() && options.endomorphism == Some(true) { None } else { Some(shape.bits) };
    for (halved, bits) in [(false, whole), (true, split)] {
        let Some(bits) = bits else { continue };
        let terms = if halved { 2 * shape.terms } else { shape.terms };
        let widths = match options.window {
            Some(c) => c..=c,
            None => 1..=WIDEST.min(bits + 1),
        };
        for c in widths {
            let grid = Grid { terms, windows: digits::windows(bits, c), c, threads: 1 };
            ways.push((halved, grid));
            if shape.threads > 1 {
                ways.push((halved, Grid { threads: shape.threads, ..grid }));
            }
        }
    }
    ways
}

/// Expected wall time of a way.
fn cost(prices: &Prices, shape: &Shape, &(split, ref grid): &Way) -> f64 {
    grid_cost(prices, grid) + if split { prices.split * shape.terms as f64 } else { 0.0 }
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
        prices.scattered * prices.addition * (table + columns.max(0.0))
            + prices.batch * f64::from(batches)
            + prices.doubling * f64::from(bits)
            + prices.mixed * windows
    };
    let widths = forced.map_or(2..=8, |window| window..=window);
    widths.map(|window| (window, cost(window))).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((4, f64::INFINITY))
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
    prices.addition_to(windows * slots) * additions + prices.batch * batches + prices.digit * windows * terms
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

#[cfg(test)]
mod tests {
    use super::*;

    fn work(prices: &Prices, shape: &Shape) -> f64 {
        let choice = choose(prices, shape, &Options::default());
        match choice.path {
            Path::Straus => {
                // The width is chosen by time, the work of it counted.
                let (window, _) = straus(prices, shape.terms, shape.bits, shape.half_bits, None);
                straus(&Prices::COUNTED, shape.terms, shape.bits, shape.half_bits, Some(window)).1
            }
            _ => cost(&Prices::COUNTED, shape, &(choice.split, choice.grid)),
        }
    }

    /// No step of 1 % in n costs over 8 % more work, and no larger n is cheaper by over 2 %.
    #[test]
    fn there_are_no_cliffs() {
        for isa in Isa::ALL {
            for (limbs, bits, half_bits) in
                [(4, 254, Some(126)), (6, 253, Some(127)), (6, 255, Some(128)), (6, 255, None)]
            {
                let prices = Prices::of(isa, limbs);
                let (mut last, mut most, mut n) = (0.0f64, 0.0f64, 1usize);
                while n <= 1 << 22 {
                    let work = work(&prices, &Shape { terms: n, bits, half_bits, threads: 1 });
                    assert!(n <= 100 || work < 1.08 * last, "{isa:?} {limbs} {n}: {last} to {work}");
                    assert!(work > 0.98 * most, "{isa:?} {limbs} {n}: {most} to {work}");
                    (last, most) = (work, most.max(work));
                    n = (n + 1).max(n + n / 100);
                }
            }
        }
    }

    /// Threads share the work of any size that is worth it.
    #[test]
    fn two_threads_take_little_more_than_half() {
        for isa in Isa::ALL {
            for (limbs, bits) in [(4, 254), (6, 253), (6, 255)] {
                let prices = Prices::of(isa, limbs);
                for log in 14..=22 {
                    let shape = Shape { terms: 1 << log, bits, half_bits: None, threads: 1 };
                    let time = |threads| {
                        let shape = Shape { threads, ..shape };
                        let choice = choose(&prices, &shape, &Options::default());
                        cost(&prices, &shape, &(choice.split, choice.grid))
                    };
                    assert!(time(1) / time(2) > 1.85, "{isa:?} {limbs} 2^{log}: {}", time(1) / time(2));
                }
            }
        }
    }
}
