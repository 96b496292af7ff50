//! One call from scalars to point, in one arithmetic: classify, choose, run the cells on the pool, combine.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use super::adder::{BatchAdder, Packed, exported};
use super::combine::{BitSums, combine};
use super::cost::{Prices, Shape};
use super::grid::Grid;
use super::terms::{self, Rules, Terms};
use super::{Counts, Engines, MsmError, Options, Path, Phases, Prepared, Scalars, Stats};
use super::{bucket, cost, halves, options, pool, reference, straus};
use crate::curve::{Affine, CurveParams, Jacobian};
use crate::field::{Field, Limbs};

/// See `msm`; `A` is the adder of `bases.isa()`.
pub(super) fn run<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &Prepared<C>,
    scalars: &Scalars<'_>,
    options: &Options<'_>,
) -> Result<(Affine<C>, Stats), MsmError> {
    let started = Instant::now();
    let threads = pool::threads(options.threads);
    let rules = Rules {
        infinities: &bases.infinities,
        first: options.first,
        reduce: options.reduce,
        negate: bases.subgroup,
        threads,
        cancel: options.cancel,
    };
    let terms = terms::classify::<C::Scalar>(scalars, &rules)?;
    let splits = match options.endomorphism {
        Some(true) if !bases.subgroup => return Err(MsmError::PathUnavailable { reason: UNPROVEN }),
        asked => asked.unwrap_or(bases.subgroup),
    };
    let shape = Shape {
        count: terms.len(),
        terms: terms.dense,
        bits: terms.bits,
        half_bits: splits.then_some(C::ENDOMORPHISM.bits),
        threads,
    };
    let choice = cost::choose(&Prices::of(A::ISA, <C::Field as Field>::Limbs::COUNT), &shape, options);
    let mut stats = Stats {
        path: choice.path,
        isa: A::ISA,
        window: 0,
        windows: 0,
        endomorphism: false,
        threads: 1,
        terms: terms.len(),
        phases: Phases { scalars: started.elapsed(), ..Phases::default() },
        counts: Counts::default(),
    };
    let bases = bases.bases.get(options.first..).unwrap_or_default();
    let sum = match stats.path {
        _ if terms.len() == 0 => Affine::INFINITY,
        Path::Reference => by_reference::<C, A>(bases, &terms, options, &mut stats)?,
        Path::Straus if terms.len() > straus::MOST_TERMS => {
            return Err(MsmError::PathUnavailable { reason: TOO_MANY_FOR_STRAUS });
        }
        Path::Straus if options.window.is_some_and(|window| window > straus::WIDEST) => {
            return Err(MsmError::Window { window: options.window.unwrap_or(0), most: straus::WIDEST });
        }
        Path::Straus => by_straus::<C, A>(bases, &terms, splits, options, &mut stats)?,
        Path::Bucket if choice.split => {
            stats.endomorphism = true;
            let halves = halves::split::<C, A>(bases, &terms, choice.grid.threads, options.cancel)?;
            by_buckets::<C, A>(&halves.bases, &halves.terms, &choice.grid, options, &mut stats)?
        }
        Path::Bucket => by_buckets::<C, A>(bases, &terms, &choice.grid, options, &mut stats)?,
    };
    Ok((sum, stats))
}

const UNPROVEN: &str = "the endomorphism needs bases that are proven or asserted to be in the subgroup";

const TOO_MANY_FOR_STRAUS: &str = "the path straus takes at most 16384 terms";

/// A term's scalar at full length.
fn full_length(limbs: &[u64]) -> [u64; 4] {
    let mut scalar = [0; 4];
    scalar[..limbs.len()].copy_from_slice(limbs);
    scalar
}

fn by_straus<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    splits: bool,
    options: &Options<'_>,
    stats: &mut Stats,
) -> Result<Affine<C>, MsmError> {
    let started = Instant::now();
    let (mut points, scalars): (Vec<_>, Vec<_>) = terms
        .range(0..terms.len())
        .map(|(limbs, base)| (bases[(base >> 1) as usize], (base & 1 == 1, full_length(limbs))))
        .unzip();
    let sum = if terms.len() <= cost::MOST_WITHOUT_LANES {
        A::export(&mut points);
        straus::msm::<C, <C::Field as Engines>::Scalar>(
            A::ISA,
            &points,
            &scalars,
            splits,
            options.window,
            options.cancel,
        )?
    } else {
        straus::msm::<C, A>(A::ISA, &points, &scalars, splits, options.window, options.cancel)?
    };
    stats.window = sum.window;
    stats.windows = sum.windows;
    stats.endomorphism = sum.endomorphism;
    stats.counts = sum.counts;
    let sum = sum.point.to_affine();
    stats.phases.buckets = started.elapsed();
    Ok(sum)
}

fn by_reference<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    options: &Options<'_>,
    stats: &mut Stats,
) -> Result<Affine<C>, MsmError> {
    let started = Instant::now();
    let mut sum = Jacobian::INFINITY;
    for (limbs, base) in terms.range(0..terms.len()) {
        options::heed(options.cancel)?;
        let point: Affine<C> = exported::<C, A>(bases[(base >> 1) as usize]);
        let point = if base & 1 == 1 { -point } else { point };
        sum = sum.add(&reference::msm(&[point], &[full_length(limbs)]));
    }
    let sum = sum.to_affine();
    stats.phases.buckets = started.elapsed();
    Ok(sum)
}

fn by_buckets<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    grid: &Grid,
    options: &Options<'_>,
    stats: &mut Stats,
) -> Result<Affine<C>, MsmError> {
    let started = Instant::now();
    // The model may have been told of fewer terms than there are.
    let grid = Grid { terms: terms.len(), ..*grid };
    let (parts, counts) = run_cells::<C, A>(bases, terms, &grid, options.cancel)?;
    let reduced = Instant::now();
    let (sum, projective) = combine(A::ISA, &parts);
    let sum = sum.to_affine();
    stats.window = grid.c;
    stats.windows = grid.windows;
    stats.threads = grid.threads;
    stats.counts = counts;
    stats.counts.projective += projective;
    stats.phases.buckets = reduced - started;
    stats.phases.combine = reduced.elapsed();
    Ok(sum)
}

type Parts<C> = (Vec<BitSums<C>>, Counts);

fn run_cells<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    grid: &Grid,
    cancel: Option<&AtomicBool>,
) -> Result<Parts<C>, MsmError> {
    let cells = grid.cells();
    let done: Mutex<Parts<C>> = Mutex::new((Vec::with_capacity(cells.len()), Counts::default()));
    let cancelled = AtomicBool::new(false);
    pool::run(grid.threads, cells.len(), &|i| match bucket::cell::<C, A>(bases, terms, grid.c, &cells[i], cancel) {
        Ok((part, counts)) => {
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.0.push(part);
            done.1 += counts;
        }
        Err(_) => cancelled.store(true, Ordering::Relaxed),
    });
    if cancelled.into_inner() {
        return Err(MsmError::Cancelled);
    }
    Ok(done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}
