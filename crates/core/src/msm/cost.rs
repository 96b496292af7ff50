//! The cost model: every choice of path, width, split and thread count comes from here, and any can be forced.
//!
//! The operations of each way are counted (`work.rs`) and weighed with measured prices. As the model counts what is done,
//! the least cost grows smoothly with n: there is no cliff where the choice changes.

use super::grid::Grid;
use super::work::Work;
use super::{Isa, Options, Path, digits};

/// How much more work a choice may take than another to save time. Kept below two percent, so
/// that no sum is more work than a larger one by more (see the test).
const TOLERANCE: f64 = 1.012;
/// Widest window that is chosen. At 2^20 one bit more saves 3 % of the work and costs 10 % of the time, as its buckets
/// are 4 MiB; at 2^22 the two are level.
const WIDEST: u32 = 16;
/// Beyond this, images of the bases would take memory and time for little.
const MOST_SPLIT: usize = 1 << 15;
/// Beyond this, tables do not stay in cache.
const MOST_STRAUS: usize = 256;
/// Terms that lanes do not pay for: their batches are too short.
pub(super) const MOST_WITHOUT_LANES: usize = 2;

/// What the operations of an arithmetic cost. Only ratios matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// A batched affine addition, without its share of the inversion, to buckets in the cache near the core.
    addition: f64,
    /// More for an addition, for every doubling of the buckets beyond that cache.
    far: f64,
    /// An addition of Straus.
    scattered: f64,
    /// An inversion, and what else a batch costs however short it is.
    batch: f64,
    digit: f64,
    doubling: f64,
    mixed: f64,
    split: f64,
    /// Waking threads and waiting for the last one.
    wake: f64,
    /// Bytes of a point.
    point: f64,
}

impl Prices {
    /// Field multiplications, as `Counts` counts them.
    const COUNTED: Self = Self {
        addition: 6.0,
        far: 0.0,
        scattered: 6.0,
        batch: 64.0,
        digit: 0.0,
        doubling: 7.0,
        mixed: 11.0,
        split: 1.0,
        wake: 0.0,
        point: 64.0,
    };

    /// Nanoseconds of a Sapphire Rapids core at 3 GHz (`examples/adder.rs`, `examples/sweep.rs`), for coordinates of
    /// `limbs` 64-bit limbs.
    pub(super) const fn of(isa: Isa, limbs: usize) -> Self {
        let narrow = limbs <= 4;
        let (addition, split) = match (isa, narrow) {
            (Isa::Scalar, true) => (133.0, 60.0),
            (Isa::Ifma256, true) => (57.0, 50.0),
            (Isa::Ifma512, true) => (40.0, 45.0),
            (Isa::Scalar, false) => (265.0, 90.0),
            (Isa::Ifma256, false) => (108.0, 70.0),
            (Isa::Ifma512, false) => (75.0, 60.0),
        };
        let batch = if narrow { 1400.0 } else { 2100.0 };
        let (doubling, mixed) = match (isa, narrow) {
            (Isa::Scalar, true) => (140.0, 230.0),
            (Isa::Scalar, false) => (290.0, 470.0),
            (_, true) => (110.0, 180.0),
            (_, false) => (190.0, 315.0),
        };
        Self {
            addition,
            far: 4.0,
            // Fitted to where the two paths take the same time: 64 to 96 terms. Their work is level at 32 already.
            scattered: if matches!(isa, Isa::Scalar) { 0.86 * addition } else { 1.1 * addition },
            batch,
            digit: 5.0,
            doubling,
            mixed,
            split,
            wake: 20_000.0,
            point: 16.0 * limbs as f64,
        }
    }

    /// The cost of work at these prices.
    fn cost(&self, work: &Work) -> f64 {
        self.addition * work.additions
            + self.far * work.far
            + self.scattered * work.scattered
            + self.batch * work.batches
            + self.digit * work.digits
            + self.doubling * work.doublings
            + self.mixed * work.mixed
            + self.split * work.splits
            + self.wake * work.wakes
    }
}

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
    pub(super) count: usize,
    /// Terms of full length that would have as many bits in all: less than `count` when most scalars are short.
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
    let ways = ways(prices, shape, half_bits, options);
    let fastest = |prices: &Prices, most_work: f64| {
        ways.iter()
            .filter(|way| Prices::COUNTED.cost(&way.work) <= most_work)
            .min_by(|a, b| prices.cost(&a.work).total_cmp(&prices.cost(&b.work)))
    };
    // Without the caches times and work agree, and both grow with n; what the caches say decides among near equals.
    let near = Prices { far: 0.0, ..*prices };
    let first = fastest(&near, f64::INFINITY).expect("there is at least one way");
    let way = fastest(prices, TOLERANCE * Prices::COUNTED.cost(&first.work)).unwrap_or(first);
    let straus = shape.count <= MOST_STRAUS && {
        let (window, time) = straus(prices, shape.count, shape.bits, half_bits, options.window);
        let (_, work) = straus(&Prices::COUNTED, shape.count, shape.bits, half_bits, Some(window));
        time < near.cost(&first.work) && work <= TOLERANCE * Prices::COUNTED.cost(&first.work)
    };
    let path = options.path.unwrap_or(if straus { Path::Straus } else { Path::Bucket });
    Choice { path, split: way.split, grid: way.grid }
}

/// A way of the bucket method.
struct Way {
    split: bool,
    grid: Grid,
    work: Work,
}

/// All that the options allow, except widths far from the best.
fn ways(prices: &Prices, shape: &Shape, half_bits: Option<u32>, options: &Options<'_>) -> Vec<Way> {
    let mut ways = Vec::with_capacity(40);
    let thread_counts = [1, shape.threads];
    let halves = half_bits.filter(|_| shape.count <= MOST_SPLIT || options.endomorphism == Some(true));
    let whole = (halves.is_none() || options.endomorphism != Some(true)).then_some(shape.bits);
    for (split, bits) in [(false, whole), (true, halves)] {
        let Some(bits) = bits else { continue };
        let terms = if split { 2 * shape.terms } else { shape.terms };
        // About log2 n - 4 is best for many terms, log2 n + 2 for few.
        let widest = (terms.max(1).ilog2() + 2).min(WIDEST).min(bits + 1);
        let widths = match options.window {
            Some(c) => c..=c,
            None => widest.saturating_sub(8).max(1)..=widest,
        };
        for c in widths {
            for &threads in &thread_counts[..if shape.threads > 1 { 2 } else { 1 }] {
                let grid = Grid { terms, windows: digits::windows(bits, c), c, threads };
                let splits = if split { shape.terms as f64 } else { 0.0 };
                ways.push(Way { split, grid, work: Work { splits, ..Work::of_grid(&grid, prices.point) } });
            }
        }
    }
    ways
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
    let widths = forced.map_or(2..=8, |window| window..=window);
    widths
        .map(|window| (window, prices.cost(&Work::of_straus(terms, parts, bits, window))))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((4, f64::INFINITY))
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
            _ => {
                let splits = if choice.split { shape.terms as f64 } else { 0.0 };
                Prices::COUNTED.cost(&Work { splits, ..Work::of_grid(&choice.grid, prices.point) })
            }
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
                    let work = work(&prices, &Shape { count: n, terms: n, bits, half_bits, threads: 1 });
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
                    let shape = Shape { count: 1 << log, terms: 1 << log, bits, half_bits: None, threads: 1 };
                    let time = |threads| {
                        let shape = Shape { threads, ..shape };
                        let choice = choose(&prices, &shape, &Options::default());
                        prices.cost(&Work::of_grid(&choice.grid, prices.point))
                    };
                    assert!(time(1) / time(2) > 1.85, "{isa:?} {limbs} 2^{log}: {}", time(1) / time(2));
                }
            }
        }
    }
}
