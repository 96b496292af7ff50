//! Many multiples of the generator, by batched affine addition: the inputs of benchmarks and tests.
//!
//! *Progression* (a + i b) G: every row of 4,096 is the first one plus a multiple of 4,096 b G, so n points cost n affine
//! additions of 6 multiplications. *Multiples* k_i G: fixed windows of w bits, one table a window, ceil(256 / w)
//! additions a point. Both share one inversion per block (Montgomery's trick) and their blocks among threads. Kept apart
//! from the engine on purpose: it is part of the oracle.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

use multiscalar_core::curve::{Affine, CurveParams, Jacobian};
use multiscalar_core::field::{Field, Limbs};

/// Points that share an inversion: 100 multiplications over 512 points are lost in the noise, the block fits in L1.
const BLOCK: usize = 512;
/// Points of a progression that one more addition each makes the next row: there are as many rows as points in a row
/// at 2^24, and the first row and the rows' distances are all that one thread makes alone.
const ROW: usize = 1 << 12;

/// left_i += right_i for all i, at 6 multiplications each and one inversion for all.
fn add_all<C: CurveParams>(left: &mut [Affine<C>], right: impl Fn(usize) -> Affine<C>) {
    let mut products = [C::Field::ONE; BLOCK];
    let mut product = C::Field::ONE;
    for (i, point) in left.iter().enumerate() {
        products[i] = product;
        let difference = right(i).x - point.x;
        if !difference.is_zero() {
            product = product * difference;
        }
    }
    let mut inverse = product.invert().expect("a product of non-zero factors");
    for (i, point) in left.iter_mut().enumerate().rev() {
        let other = right(i);
        let difference = other.x - point.x;
        if difference.is_zero() || point.is_infinity() || other.is_infinity() {
            if !difference.is_zero() {
                inverse = inverse * difference;
            }
            *point = Jacobian::from(*point).add_affine(&other).to_affine();
            continue;
        }
        let slope = (other.y - point.y) * inverse * products[i];
        inverse = inverse * difference;
        let x = slope.square() - point.x - other.x;
        *point = Affine { x, y: slope * (point.x - x) - point.y };
    }
}

/// Writes points in canonical form. Stops early once `cancel` is raised.
pub fn write<C: CurveParams>(points: &[Affine<C>], out: &mut [u64], cancel: &AtomicBool) {
    let count = <C::Field as Field>::Limbs::COUNT;
    for (points, out) in points.chunks(BLOCK).zip(out.chunks_mut(BLOCK * 2 * count)) {
        if cancel.load(Ordering::Relaxed) {
            return;
        }
        for (point, target) in points.iter().zip(out.chunks_exact_mut(2 * count)) {
            target[..count].copy_from_slice(point.x.to_canonical().as_ref());
            target[count..].copy_from_slice(point.y.to_canonical().as_ref());
        }
    }
}

/// first + i step for i below n: from m points the next m follow by adding m step to each.
fn doubling<C: CurveParams>(first: Affine<C>, mut step: Affine<C>, n: usize) -> Vec<Affine<C>> {
    let mut points = Vec::with_capacity(n);
    points.extend((n > 0).then_some(first));
    while points.len() < n {
        let old = points.len();
        points.extend_from_within(..old.min(n - old));
        for block in points[old..].chunks_mut(BLOCK) {
            add_all(block, |_| step);
        }
        step = Jacobian::from(step).double().to_affine();
    }
    points
}

/// The points (a + i b) G in canonical form, on up to `threads` threads (0: one a core) as far as the system grants
/// them. Stops early, with `out` unfinished, once `cancel` is raised.
pub fn progression<C: CurveParams>(a: &[u64], b: &[u64], out: &mut [u64], threads: usize, cancel: &AtomicBool) {
    let stride = 2 * <C::Field as Field>::Limbs::COUNT;
    let n = out.len() / stride;
    let [first, step] = [a, b].map(|k| Affine::<C>::GENERATOR.mul_limbs(k).to_affine());
    let row = doubling(first, step, n.min(ROW));
    let distances = doubling(Affine::INFINITY, step.mul_limbs(&[ROW as u64]).to_affine(), n.div_ceil(ROW));
    let rows = distances.into_iter().zip(out.chunks_mut(ROW * stride));
    share(rows, threads, cancel, |(distance, out)| {
        for (points, out) in row.chunks(BLOCK).zip(out.chunks_mut(BLOCK * stride)) {
            let mut points = points[..out.len() / stride].to_vec();
            add_all(&mut points, |_| distance);
            write(&points, out, cancel);
        }
    });
}

/// Tables T[w][d] = d 2^(w bits) G for 1 <= d < 2^bits, one after the other.
fn tables<C: CurveParams>(bits: usize) -> Vec<Vec<Affine<C>>> {
    let mut base = Jacobian::from(Affine::<C>::GENERATOR);
    (0..256usize.div_ceil(bits))
        .map(|_| {
            let first = base.to_affine();
            let mut table = vec![Affine::INFINITY, first];
            let mut step = Jacobian::from(first).double().to_affine();
            while table.len() < 1 << bits {
                let old = table.len(); // from d < old to d + old: the step is old times the base
                table.extend_from_within(..);
                for block in table[old..].chunks_mut(BLOCK) {
                    add_all(block, |_| step);
                }
                step = Jacobian::from(step).double().to_affine();
            }
            for _ in 0..bits {
                base = base.double();
            }
            table
        })
        .collect()
}

/// The points k_i G in canonical form, for integers k_i below 2^256, on up to `threads` threads (0: one a core) as far
/// as the system grants them. Stops early once `cancel` is raised.
pub fn multiples<C: CurveParams>(scalars: &[[u64; 4]], out: &mut [u64], threads: usize, cancel: &AtomicBool) {
    if scalars.is_empty() {
        return;
    }
    let bits = if scalars.len() < 1 << 14 { 8 } else { 12 };
    let tables = tables::<C>(bits);
    let stride = 2 * <C::Field as Field>::Limbs::COUNT;
    let blocks = scalars.chunks(BLOCK).zip(out.chunks_mut(BLOCK * stride));
    share(blocks, threads, cancel, |(scalars, out)| {
        let mut sums = vec![Affine::<C>::INFINITY; scalars.len()];
        for (w, table) in tables.iter().enumerate() {
            add_all(&mut sums, |i| table[digit(&scalars[i], w * bits, bits)]);
        }
        write(&sums, out, cancel);
    });
}

/// Does each piece of work once, on up to `threads` threads (0: one a core); those that the system does not grant are
/// done without. Stops early once `cancel` is raised.
fn share<T: Send>(
    pieces: impl ExactSizeIterator<Item = T> + Send,
    threads: usize,
    cancel: &AtomicBool,
    work: impl Fn(T) + Sync,
) {
    let threads = if threads == 0 { available_parallelism().map_or(1, usize::from) } else { threads };
    let helpers = threads.min(pieces.len()).saturating_sub(1);
    let pieces = Mutex::new(pieces);
    let take = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let turns = || {
        while let Some(piece) = take().filter(|_| !cancel.load(Ordering::Relaxed)) {
            work(piece);
        }
    };
    scope(|threads| {
        for _ in 0..helpers {
            let _ = Builder::new().name("multiscalar".into()).spawn_scoped(threads, turns);
        }
        turns();
    });
}

/// Bits `from .. from + bits` of an integer.
fn digit(scalar: &[u64; 4], from: usize, bits: usize) -> usize {
    let (limb, shift) = (from / 64, from % 64);
    let mut value = scalar[limb] >> shift;
    if shift + bits > 64 && limb + 1 < 4 {
        value |= scalar[limb + 1] << (64 - shift);
    }
    (value as usize) & ((1 << bits) - 1)
}
