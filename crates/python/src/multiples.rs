//! Many multiples of the generator, by batched affine addition: the inputs of benchmarks and tests.
//!
//! *Progression* (a + i b) G: from m points the next m follow by adding m b G to each, so n points cost n affine
//! additions of 6 multiplications. *Multiples* k_i G: fixed windows of w bits, one table a window, ceil(256 / w)
//! additions a point. Both share one inversion per block (Montgomery's trick). Kept apart from the engine on purpose:
//! it is part of the oracle.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

use multiscalar_core::curve::{Affine, CurveParams, Jacobian};
use multiscalar_core::field::{Field, Limbs};

/// Points that share an inversion: 100 multiplications over 512 points are lost in the noise, the block fits in L1.
const BLOCK: usize = 512;

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

/// The points (a + i b) G in canonical form. Stops early, with `out` unfinished, once `cancel` is raised.
pub fn progression<C: CurveParams>(a: &[u64], b: &[u64], out: &mut [u64], cancel: &AtomicBool) {
    let n = out.len() / (2 * <C::Field as Field>::Limbs::COUNT);
    let generator = Affine::<C>::GENERATOR;
    let mut points = Vec::with_capacity(n);
    points.extend((n > 0).then(|| generator.mul_limbs(a).to_affine()));
    let mut step = generator.mul_limbs(b).to_affine();
    while points.len() < n {
        let (old, fresh) = (points.len(), points.len().min(n - points.len()));
        points.extend_from_within(..fresh);
        for block in points[old..].chunks_mut(BLOCK) {
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            add_all(block, |_| step);
        }
        step = Jacobian::from(step).double().to_affine();
    }
    write(&points, out, cancel);
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
    let threads = if threads == 0 { available_parallelism().map_or(1, usize::from) } else { threads };
    let helpers = threads.min(scalars.len().div_ceil(BLOCK)) - 1;
    let blocks = Mutex::new(scalars.chunks(BLOCK).zip(out.chunks_mut(BLOCK * stride)));
    let take = || blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((scalars, out)) = take().filter(|_| !cancel.load(Ordering::Relaxed)) {
            let mut sums = vec![Affine::<C>::INFINITY; scalars.len()];
            for (w, table) in tables.iter().enumerate() {
                add_all(&mut sums, |i| table[digit(&scalars[i], w * bits, bits)]);
            }
            write(&sums, out, cancel);
        }
    };
    scope(|threads| {
        for _ in 0..helpers {
            // Without another thread the blocks are done by those there are.
            let _ = Builder::new().name("multiscalar".into()).spawn_scoped(threads, work);
        }
        work();
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
