//! A few terms: tables of small multiples and one chain of doublings for all (Straus), everything else batched affine.
//!
//! Each scalar is split by the endomorphism where the bases allow it, cut into W signed digits of w bits, and each
//! base gets a table of its multiples up to 2^(w-1). A column of digits is then a sum of table entries: all columns are
//! summed at once as pairwise trees, one shared inversion a level. What remains is a chain of w·W doublings and W
//! mixed additions in 64-bit arithmetic.
//!
//! Cost for n terms in h parts of b bits, W = b/w + 1: n·(2^(w-1) - 1) + n·h·W·(1 - 2^-w) - W batched additions,
//! w - 1 + log2(n·h) inversions, b doublings, W mixed additions. Measured with everything around it (min, 8 lanes,
//! Sapphire Rapids at 3 GHz): 4 terms 60 µs on BN254, 111 µs on BLS12-381; 16 terms 123 and 184 µs.
//! Source: Straus, "Addition chains of vectors", American Mathematical Monthly 71 (1964); the trees by columns and
//! the width by cost are ours.
//!
//! One and two terms, too few for batches, go to `wnaf` where they may be split.

use core::sync::atomic::AtomicBool;

use super::adder::{BatchAdder, Packed, Pair, exported};
use super::chain::{self, Step};
use super::cost::{self, Prices};
use super::{Counts, Engines, Isa, MsmError, options, wnaf};
use crate::curve::{Affine, CurveParams, Jacobian, endo};
use crate::field::{Field, Limbs, limbs};

/// Pairs in one batch: the inversion is below 2 % of such a batch, and its scratch stays in the cache.
const BATCH: usize = 1024;

/// Widest digits: beyond this the tables outgrow any use.
pub const WIDEST: u32 = 10;

/// Most terms of a call: the path is for a few, and from some hundred on buckets take less time and memory.
pub const MOST_TERMS: usize = 1 << 14;

/// Most multiples in all tables together: 96 MiB of the widest points.
const MOST_MULTIPLES: usize = 1 << 20;

/// A sum and how it was computed.
pub struct Sum<C: CurveParams> {
    /// The sum.
    pub point: Jacobian<C>,
    /// Width of the digits.
    pub window: u32,
    /// Number of columns; 0 where digits are not in columns.
    pub windows: u32,
    /// Whether scalars were split.
    pub endomorphism: bool,
    /// Work done.
    pub counts: Counts,
}

/// A scalar as (is negative, magnitude).
pub type SignedScalar = (bool, [u64; 4]);

/// Σ kᵢ·Pᵢ over finite bases in the adder's domain, for |kᵢ| < r. `endomorphism` needs bases in the subgroup.
///
/// Works for points of any order: a base that meets infinity among its own small multiples is done by double-and-add.
///
/// `isa` is for the chain; batches are added by `A`, which owns the domain of the bases.
///
/// Errors: tables that would hold too much, cancellation.
pub fn msm<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    isa: Isa,
    bases: &[Packed<C::Field>],
    scalars: &[SignedScalar],
    endomorphism: bool,
    window: Option<u32>,
    cancel: Option<&AtomicBool>,
) -> Result<Sum<C>, MsmError> {
    if endomorphism && window.is_none() && bases.len() <= cost::MOST_WITHOUT_LANES {
        let points: Vec<_> = bases.iter().map(|&base| exported::<C, A>(base)).collect();
        let (point, counts) = wnaf::msm(isa, &points, scalars);
        return Ok(Sum { point, window: wnaf::WIDTH, windows: 0, endomorphism, counts });
    }
    let parts = Parts::new::<C>(scalars, endomorphism);
    let half_bits = (parts.per_scalar == 2).then_some(parts.bits);
    let (window, _) = cost::straus(
        &Prices::of(A::ISA, <C::Field as Field>::Limbs::COUNT),
        bases.len(),
        parts.bits,
        half_bits,
        window,
    );
    let windows = parts.bits / window + 1;
    if parts.parts.len() << (window - 1) > MOST_MULTIPLES {
        return Err(MsmError::PathUnavailable { reason: TOO_WIDE });
    }
    let mut batch = Batch::new(A::new(BATCH), cancel);
    let image = (parts.per_scalar == 2).then_some(C::ENDOMORPHISM.beta);
    let table = Table::new(bases, window, image, &mut batch)?;
    let mut columns = Columns::new(&parts, window, windows, &table, &mut batch)?;
    columns.collapse(&mut batch)?;
    let mut point = combine::<C, A>(isa, &columns, window, &mut batch.counts);
    for &term in &table.short_orders {
        options::heed(cancel)?;
        let (negative, magnitude) = scalars[term];
        let product = exported::<C, A>(bases[term]).mul_limbs(&magnitude);
        point = point.add(&if negative { -product } else { product });
    }
    Ok(Sum { point, window, windows, endomorphism: parts.per_scalar == 2, counts: batch.counts })
}

const TOO_WIDE: &str = "the tables of this width would hold more than 2^20 multiples: choose a narrower window";

/// The scalars in one or two parts each.
struct Parts {
    /// Part p of scalar t at `t * per_scalar + p`.
    parts: Vec<SignedScalar>,
    per_scalar: usize,
    /// Bit length of the longest magnitude.
    bits: u32,
}

impl Parts {
    fn new<C: CurveParams>(scalars: &[SignedScalar], endomorphism: bool) -> Self {
        let longest = |parts: &[SignedScalar]| parts.iter().map(|(_, m)| limbs::bit_length(m)).max().unwrap_or(0);
        let bits = longest(scalars);
        if !endomorphism || bits <= C::ENDOMORPHISM.bits {
            return Self { parts: scalars.to_vec(), per_scalar: 1, bits };
        }
        let halves = |&(negative, magnitude): &SignedScalar| {
            endo::split::<C>(&magnitude).map(|half| ((half < 0) != negative, magnitude_of(half)))
        };
        let parts: Vec<_> = scalars.iter().flat_map(halves).collect();
        let bits = longest(&parts);
        Self { parts, per_scalar: 2, bits }
    }
}

fn magnitude_of(half: i128) -> [u64; 4] {
    let magnitude = half.unsigned_abs();
    [magnitude as u64, (magnitude >> 64) as u64, 0, 0]
}

/// Multiples 1 … 2^(w-1) of every base, then the same of phi(base) where scalars are split.
struct Table<F: Field> {
    entries: Vec<Packed<F>>,
    /// Multiples of one base.
    size: usize,
    /// Where the multiples of phi(base) start.
    images: usize,
    /// Bases with a small multiple that is infinity; their rows are not used.
    short_orders: Vec<usize>,
}

impl<F: Field> Table<F> {
    /// `image` is the factor of x that phi applies, where images are wanted.
    fn new<A: BatchAdder<F>>(
        bases: &[Packed<F>],
        window: u32,
        image: Option<F>,
        batch: &mut Batch<'_, A>,
    ) -> Result<Self, MsmError> {
        let size = 1usize << (window - 1);
        let mut entries = vec![Packed::EMPTY; bases.len() * size * (1 + usize::from(image.is_some()))];
        let rows = bases.len() * size;
        for (row, &base) in entries.chunks_exact_mut(size).zip(bases) {
            row[0] = base;
        }
        let mut short_orders = Vec::new();
        // The multiples 1 … known give known + 1 … 2·known.
        for known in (0..window - 1).map(|level| 1 << level) {
            for (term, row) in entries[..rows].chunks_exact_mut(size).enumerate() {
                if !short_orders.contains(&term) {
                    row.copy_within(..known, known);
                    let first = term * size;
                    batch.pairs.extend(
                        (0..known).map(|i| Pair::new((first + known + i) as u32, (first + known - 1) as u32, false)),
                    );
                }
            }
            let row = entries.as_mut_ptr();
            // SAFETY: destinations are the upper halves of the rows as far as they go, sources the lower ones.
            unsafe { batch.add(row, row) }?;
            short_orders.extend(batch.cancelled.drain(..).map(|entry| entry as usize / size));
            short_orders.sort_unstable();
            short_orders.dedup();
        }
        if let Some(beta) = image {
            entries.copy_within(..rows, rows);
            A::scale_x(&mut entries[rows..], beta);
        }
        Ok(Self { entries, size, images: rows, short_orders })
    }

    /// Index of digit·(part p of base t), for digit ≥ 1.
    fn entry(&self, term: usize, part: usize, digit: u32) -> usize {
        part * self.images + term * self.size + digit as usize - 1
    }
}

/// One sum a column of digits. Column j owns `stride` places from `j * stride` on, of which the first `lengths[j]` are in use.
struct Columns<F: Field> {
    sums: Vec<Packed<F>>,
    states: Vec<State>,
    lengths: Vec<usize>,
    stride: usize,
}

/// What a place stands for: its point, the negative of it (loosely reduced points are not negated in place), or infinity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Positive,
    Negative,
    Infinite,
}

impl<F: Field> Columns<F> {
    /// Reads the digits and adds table entries in pairs: the first level of the trees.
    fn new<A: BatchAdder<F>>(
        parts: &Parts,
        window: u32,
        windows: u32,
        table: &Table<F>,
        batch: &mut Batch<'_, A>,
    ) -> Result<Self, MsmError> {
        let stride = parts.parts.len().div_ceil(2);
        let mut columns = Self {
            sums: vec![Packed::EMPTY; stride * windows as usize],
            states: vec![State::Infinite; stride * windows as usize],
            lengths: vec![0; windows as usize],
            stride,
        };
        let mut odd = vec![false; windows as usize];
        for (index, (negative, magnitude)) in parts.parts.iter().enumerate() {
            let (term, part) = (index / parts.per_scalar, index % parts.per_scalar);
            if table.short_orders.binary_search(&term).is_ok() {
                continue;
            }
            for (j, digit) in digits(magnitude, window, windows).enumerate().filter(|&(_, digit)| digit != 0) {
                let entry = table.entry(term, part, digit.unsigned_abs());
                let state = if (digit < 0) == *negative { State::Positive } else { State::Negative };
                let place = j * stride + columns.lengths[j];
                if odd[j] {
                    batch.pairs.push(Pair::new(place as u32, entry as u32, state != columns.states[place]));
                    columns.lengths[j] += 1;
                } else {
                    (columns.sums[place], columns.states[place]) = (table.entries[entry], state);
                }
                odd[j] = !odd[j];
            }
        }
        for (length, odd) in columns.lengths.iter_mut().zip(odd) {
            *length += usize::from(odd);
        }
        // SAFETY: every place got at most one pair, places and entries are in bounds.
        unsafe { batch.add(columns.sums.as_mut_ptr(), table.entries.as_ptr()) }?;
        columns.mark_cancelled(batch);
        Ok(columns)
    }

    /// Halves every column until one sum is left in each.
    fn collapse<A: BatchAdder<F>>(&mut self, batch: &mut Batch<'_, A>) -> Result<(), MsmError> {
        while self.lengths.iter().any(|&length| length > 1) {
            for (j, length) in self.lengths.iter_mut().enumerate() {
                let (first, half) = (j * self.stride, length.div_ceil(2));
                for (to, from) in (first..).zip(first + half..first + *length) {
                    if self.states[to] == State::Infinite {
                        (self.sums[to], self.states[to]) = (self.sums[from], self.states[from]);
                    } else if self.states[from] != State::Infinite {
                        batch.pairs.push(Pair::new(to as u32, from as u32, self.states[from] != self.states[to]));
                    }
                }
                *length = half;
            }
            let sums = self.sums.as_mut_ptr();
            // SAFETY: destinations lie in the lower halves of the columns, sources in the upper ones.
            unsafe { batch.add(sums, sums) }?;
            self.mark_cancelled(batch);
        }
        Ok(())
    }

    fn mark_cancelled<A>(&mut self, batch: &mut Batch<'_, A>) {
        for place in batch.cancelled.drain(..) {
            self.states[place as usize] = State::Infinite;
        }
    }

    /// The sum of a column, in 64-bit arithmetic.
    fn sum<C: CurveParams<Field = F>, A: BatchAdder<F>>(&self, j: usize) -> Affine<C> {
        let place = j * self.stride;
        match (self.lengths[j] > 0).then(|| self.states[place]) {
            None | Some(State::Infinite) => Affine::INFINITY,
            Some(State::Positive) => exported::<C, A>(self.sums[place]),
            Some(State::Negative) => -exported::<C, A>(self.sums[place]),
        }
    }
}

/// The digits of a magnitude in [-2^(w-1) + 1, 2^(w-1)], least first.
fn digits(magnitude: &[u64; 4], window: u32, windows: u32) -> impl Iterator<Item = i32> {
    let half = 1 << (window - 1);
    let mut carry = 0;
    (0..windows).map(move |j| {
        let digit = limbs::bits(magnitude, j * window, window) as i32 + carry;
        carry = i32::from(digit > half);
        digit - (carry << window)
    })
}

/// Σ 2^(w·j)·column j, from the top.
fn combine<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    isa: Isa,
    columns: &Columns<C::Field>,
    window: u32,
    counts: &mut Counts,
) -> Jacobian<C> {
    let sums: Vec<_> = (0..columns.lengths.len()).map(|j| columns.sum::<C, A>(j)).collect();
    let term = |j: usize| (!sums[j].is_infinity()).then_some((j, false));
    let steps: Vec<_> = (0..sums.len()).rev().map(|j| Step { doublings: window, term: term(j) }).collect();
    let (total, operations) = chain::run(isa, &sums, &steps);
    counts.projective += operations;
    total
}

/// An adder with the pairs that wait for it.
struct Batch<'a, A> {
    adder: A,
    pairs: Vec<Pair>,
    cancelled: Vec<u32>,
    counts: Counts,
    /// The caller's wish to end.
    cancel: Option<&'a AtomicBool>,
}

impl<'a, A> Batch<'a, A> {
    fn new(adder: A, cancel: Option<&'a AtomicBool>) -> Self {
        let pairs = Vec::with_capacity(BATCH);
        Self { adder, pairs, cancelled: Vec::new(), counts: Counts::default(), cancel }
    }

    /// Adds all waiting pairs; `cancelled` then holds the places that are infinity. The only error is that of
    /// cancellation.
    ///
    /// # Safety
    /// As [`BatchAdder::add`], for the pairs taken together.
    unsafe fn add<F: Field>(&mut self, sums: *mut Packed<F>, sources: *const Packed<F>) -> Result<(), MsmError>
    where
        A: BatchAdder<F>,
    {
        for pairs in self.pairs.chunks(BATCH) {
            options::heed(self.cancel)?;
            // SAFETY: the caller's contract holds for every part of the list.
            unsafe { self.adder.add(sums, sources, pairs, &mut self.cancelled) };
            self.counts.additions += pairs.len() as u64;
            self.counts.inversions += 1;
        }
        self.pairs.clear();
        Ok(())
    }
}
