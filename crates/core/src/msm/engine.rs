//! One call from scalars to point, in one arithmetic: classify, choose, run the cells on the pool, combine.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use super::adder::BatchAdder;
use super::combine::{BitSums, combine};
use super::grid::Grid;
use super::terms::{self, Terms};
use super::{Counts, Engines, MsmError, Options, Path, Phases, Prepared, Scalars, Stats};
use super::{bucket, cost, pool, reference};
use crate::curve::{Affine, CurveParams};

/// See `msm`; `A` is the adder of `bases.isa()`.
pub(super) fn run<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &Prepared<C>,
    scalars: &Scalars<'_>,
    options: &Options<'_>,
) -> Result<(Affine<C>, Stats), MsmError> {
    let started = Instant::now();
    let is_infinity = |i| bases.is_infinity(i);
    let terms = terms::classify::<C::Scalar>(scalars, is_infinity, options.reduce, bases.subgroup)?;
    let mut stats = Stats {
        path: options.path.unwrap_or(Path::Bucket),
        isa: A::ISA,
        window: 0,
        windows: 0,
        endomorphism: false,
        threads: 1,
        terms: terms.len(),
        phases: Phases { scalars: started.elapsed(), ..Phases::default() },
        counts: Counts::default(),
    };
    let sum = match stats.path {
        Path::Reference => by_reference(bases, &terms, &mut stats),
        Path::Straus | Path::Bucket => by_buckets::<C, A>(bases, &terms, options, &mut stats)?,
    };
    Ok((sum, stats))
}

fn by_reference<C: CurveParams<Field: Engines>>(
    bases: &Prepared<C>,
    terms: &Terms<'_>,
    stats: &mut Stats,
) -> Affine<C> {
    let started = Instant::now();
    let (points, scalars): (Vec<_>, Vec<_>) = terms
        .range(0..terms.len())
        .map(|(limbs, base)| {
            let point = bases.point((base >> 1) as usize);
            let mut scalar = [0; 4];
            scalar[..limbs.len()].copy_from_slice(limbs);
            (if base & 1 == 1 { -point } else { point }, scalar)
        })
        .unzip();
    let sum = reference::msm(&points, &scalars).to_affine();
    stats.phases.buckets = started.elapsed();
    sum
}

fn by_buckets<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    bases: &Prepared<C>,
    terms: &Terms<'_>,
    options: &Options<'_>,
    stats: &mut Stats,
) -> Result<Affine<C>, MsmError> {
    if terms.len() == 0 {
        return Ok(Affine::INFINITY);
    }
    let started = Instant::now();
    let grid = cost::grid(terms.len(), terms.bits, pool::threads(options.threads), options.window);
    let (parts, counts) = run_cells::<C, A>(bases, terms, &grid, options.cancel)?;
    let reduced = Instant::now();
    let (sum, projective) = combine(&parts);
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
    bases: &Prepared<C>,
    terms: &Terms<'_>,
    grid: &Grid,
    cancel: Option<&AtomicBool>,
) -> Result<Parts<C>, MsmError> {
    let cells = grid.cells();
    let done: Mutex<Parts<C>> = Mutex::new((Vec::with_capacity(cells.len()), Counts::default()));
    let cancelled = AtomicBool::new(false);
    pool::run(
        grid.threads,
        cells.len(),
        &|i| match bucket::cell::<C, A>(&bases.bases, terms, grid.c, &cells[i], cancel) {
            Ok((part, counts)) => {
                let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                done.0.push(part);
                done.1 += counts;
            }
            Err(_) => cancelled.store(true, Ordering::Relaxed),
        },
    );
    if cancelled.into_inner() {
        return Err(MsmError::Cancelled);
    }
    Ok(done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}
