//! The transform of [`crate::ntt`] in lanes: decimation in frequency over blocks of eight elements.
//!
//! Cost of a butterfly on eight pairs: one multiplication (119 instructions) and some 35 more; every fourth layer also
//! shrinks its sums. The last three layers exchange lanes within a block. The bit reversal is the address of the
//! final stores. Bounds: sums at most double a layer, so from 3 p they stay below 24 p between two shrinkings.

use ark_ff::One;
use multiscalar_core::field::lanes::ifma512::Ifma512;
use multiscalar_core::field::lanes::params::{multiple, spread};
use multiscalar_core::field::lanes::{Isa, Kernel, Limbwise, Repack, Vector};
use multiscalar_core::published::Published;

use super::{L, P, factor, product, reduce, shrink};
use crate::ntt::{MAX_LOG, root_of_unity};
use crate::pool::GRAIN;
use crate::{Fr, Limbs};

const LANES: usize = 8;
const LANES_LOG: u32 = 3;
/// Layers between two shrinkings.
const PERIOD: u32 = 4;
/// Blocks up to which a kernel goes through all remaining layers by itself: 64 elements by 40 bytes fill half of L1.
const SMALL: usize = 64;
/// Blocks above which halves are handed to other threads.
const FORK: usize = 256;
/// 32 p, spread so that limbs below 2^57 can be subtracted.
const ABOVE: [u64; L] = spread(multiple(P, 32), 1 << 57);

/// Eight elements: L vectors of limbs.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Block([[u64; LANES]; L]);

impl Block {
    const ZERO: Self = Self([[0; LANES]; L]);

    fn of(values: impl Iterator<Item = Fr>) -> Self {
        let mut block = Self::ZERO;
        for (lane, value) in values.enumerate() {
            for (limbs, limb) in block.0.iter_mut().zip(factor(value)) {
                limbs[lane] = limb;
            }
        }
        block
    }

    #[inline(always)]
    fn load<V: Vector>(&self, isa: V::Isa) -> [V; L] {
        // SAFETY: a block is L vectors of eight lanes.
        unsafe { V::load_limbs(isa, self.0.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store<V: Vector>(&mut self, value: [V; L]) {
        // SAFETY: a block is L vectors of eight lanes.
        unsafe { V::store_limbs(value, self.0.as_mut_ptr().cast()) }
    }
}

/// Powers of the root of order 2^(k+1), as factors: 2^k of them, or for k < 3 by lane, as the layer within a block
/// uses them.
static ROOTS: [Published<Vec<Block>>; MAX_LOG as usize] = [const { Published::new() }; MAX_LOG as usize];

fn roots(log_half: u32) -> &'static [Block] {
    ROOTS[log_half as usize].get(|| {
        let root = root_of_unity(log_half + 1);
        let mut power = Fr::one();
        let powers: Vec<Fr> = (0..1usize << log_half)
            .map(|_| {
                let current = power;
                power *= root;
                current
            })
            .collect();
        match log_half {
            0..LANES_LOG => vec![Block::of((0..LANES).map(|lane| powers[lane % powers.len()]))],
            _ => powers.chunks(LANES).map(|chunk| Block::of(chunk.iter().copied())).collect(),
        }
    })
}

/// In place: values on the domain from coefficients, or (`inverse`) coefficients from values.
///
/// `a` has 2^log elements, at least one block.
pub fn transform(isa: Ifma512, a: &mut [Limbs], inverse: bool) {
    let log = a.len().trailing_zeros();
    let scale = inverse.then(|| {
        use ark_ff::Field;
        factor(Fr::from(a.len() as u64).inverse().unwrap_or_default())
    });
    let mut blocks = vec![Block::ZERO; a.len() / LANES];
    if a.len() <= GRAIN {
        isa.run(Load { a, blocks: &mut blocks });
        layers(isa, &mut blocks, log, 0);
        let out = Rows { rows: a.as_mut_ptr(), log };
        return isa.run(Store { blocks: &blocks, first: 0, out, scale });
    }
    let chunk = blocks.len().div_ceil(rayon::current_num_threads()).max(SMALL);
    rayon::scope(|scope| {
        for (blocks, a) in blocks.chunks_mut(chunk).zip(a.chunks(chunk * LANES)) {
            scope.spawn(move |_| isa.run(Load { a, blocks }));
        }
    });
    layers(isa, &mut blocks, log, 0);
    let out = Rows { rows: a.as_mut_ptr(), log };
    let blocks = &blocks;
    rayon::scope(move |scope| {
        for (i, blocks) in blocks.chunks(chunk).enumerate() {
            // the places of different chunks are different: reversing bits is a permutation
            scope.spawn(move |_| isa.run(Store { blocks, first: i * chunk, out, scale }));
        }
    });
}

struct Load<'a> {
    a: &'a [Limbs],
    blocks: &'a mut [Block],
}

impl<I: Isa> Kernel<I> for Load<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        for (block, a) in self.blocks.iter_mut().zip(self.a.as_chunks::<LANES>().0) {
            let rows: [*const u64; 8] = std::array::from_fn(|i| a[i].as_ptr());
            // SAFETY: every row is an element of four words.
            let words = unsafe { I::Vector::load_rows(isa, &rows) };
            block.store(I::Vector::clean(isa, I::Vector::limbs(words)));
        }
    }
}

fn layers(isa: Ifma512, blocks: &mut [Block], log: u32, depth: u32) {
    if blocks.len() <= SMALL {
        return isa.run(Small { blocks, log, depth });
    }
    let (low, high) = blocks.split_at_mut(blocks.len() / 2);
    let roots = roots(log - 1);
    let last = depth % PERIOD == PERIOD - 1;
    if low.len() >= FORK {
        let chunk = low.len() / 2;
        rayon::scope(|scope| {
            for ((low, high), roots) in low.chunks_mut(chunk).zip(high.chunks_mut(chunk)).zip(roots.chunks(chunk)) {
                scope.spawn(move |_| isa.run(Layer { low, high, roots, last }));
            }
        });
        rayon::join(|| layers(isa, low, log - 1, depth + 1), || layers(isa, high, log - 1, depth + 1));
    } else {
        isa.run(Layer { low, high, roots, last });
        layers(isa, low, log - 1, depth + 1);
        layers(isa, high, log - 1, depth + 1);
    }
}

/// One layer of butterflies between two halves; `last` of a period shrinks the sums.
struct Layer<'a> {
    low: &'a mut [Block],
    high: &'a mut [Block],
    roots: &'a [Block],
    last: bool,
}

impl<I: Isa> Kernel<I> for Layer<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        let above = I::Vector::constant(isa, ABOVE);
        for ((low, high), root) in self.low.iter_mut().zip(self.high).zip(self.roots) {
            let (u, v) = (low.load::<I::Vector>(isa), high.load::<I::Vector>(isa));
            let sum = I::Vector::add(u, v);
            low.store(if self.last { shrink(isa, sum) } else { sum });
            let difference = I::Vector::carry(I::Vector::add(I::Vector::sub(u, v), above));
            high.store(product(isa, difference, root.load::<I::Vector>(isa)));
        }
    }
}

/// All remaining layers of a part that fits the first cache.
struct Small<'a> {
    blocks: &'a mut [Block],
    log: u32,
    depth: u32,
}

impl<I: Isa> Kernel<I> for Small<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        let mut depth = self.depth;
        for half in (LANES_LOG..self.log).rev() {
            let size = 1 << (half - LANES_LOG);
            let last = depth % PERIOD == PERIOD - 1;
            for part in self.blocks.chunks_mut(2 * size) {
                let (low, high) = part.split_at_mut(size);
                Layer { low, high, roots: roots(half), last }.run(isa);
            }
            depth += 1;
        }
        within::<I, 4>(isa, self.blocks, &roots(2)[0], depth % PERIOD == PERIOD - 1);
        within::<I, 2>(isa, self.blocks, &roots(1)[0], (depth + 1) % PERIOD == PERIOD - 1);
        within::<I, 1>(isa, self.blocks, &roots(0)[0], (depth + 2) % PERIOD == PERIOD - 1);
    }
}

/// Butterflies between lanes i and i + D of every block.
#[inline(always)]
fn within<I: Isa, const D: usize>(isa: I, blocks: &mut [Block], roots: &Block, last: bool) {
    let upper: [u64; LANES] = std::array::from_fn(|lane| u64::from(lane & D != 0));
    // SAFETY: eight words.
    let upper = unsafe { I::Vector::load(isa, upper.as_ptr()) };
    let upper = upper.at_least(I::Vector::splat(isa, 1));
    let (above, roots) = (I::Vector::constant(isa, ABOVE), roots.load::<I::Vector>(isa));
    for block in blocks {
        let x = block.load::<I::Vector>(isa);
        let other = I::Vector::swap::<D>(x);
        let sum = I::Vector::add(x, other);
        let sum = if last { shrink(isa, sum) } else { sum };
        let difference = I::Vector::carry(I::Vector::add(I::Vector::sub(other, x), above));
        let rotated = product(isa, difference, roots);
        // where upper: the sum plus what the other one is more
        block.store(I::Vector::add_where(sum, upper, I::Vector::sub(rotated, sum)));
    }
}

/// Where the results go.
#[derive(Clone, Copy)]
struct Rows {
    rows: *mut Limbs,
    log: u32,
}

// SAFETY: threads write to different rows.
unsafe impl Send for Rows {}

impl Rows {
    #[inline(always)]
    fn of(&self, block: usize, inverse: bool) -> [*mut u64; 8] {
        std::array::from_fn(|lane| {
            let place = (block * LANES + lane).reverse_bits() >> (usize::BITS - self.log);
            // the inverse is the forward transform with all but the first value in reverse order
            let place = if inverse { place.wrapping_neg() & ((1 << self.log) - 1) } else { place };
            self.rows.wrapping_add(place).cast()
        })
    }
}

/// Fully reduced words to their places; the inverse also divides by n.
struct Store<'a> {
    blocks: &'a [Block],
    first: usize,
    out: Rows,
    scale: Option<[u64; L]>,
}

impl<I: Isa> Kernel<I> for Store<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        for (i, block) in self.blocks.iter().enumerate() {
            let value = block.load::<I::Vector>(isa);
            let small = match self.scale {
                Some(scale) => product(isa, I::Vector::carry(value), I::Vector::constant(isa, scale)),
                None => shrink(isa, value),
            };
            let words = I::Vector::words(isa, reduce(isa, small));
            let rows = self.out.of(self.first + i, self.scale.is_some());
            // SAFETY: every row is an element of the output, written by nobody else.
            unsafe { I::Vector::store_rows(words, &rows) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{as_scalars, as_scalars_mut, ntt, vector};

    #[test]
    fn equals_the_portable_transform() {
        let Some(isa) = super::super::available() else {
            println!("skipped: this CPU has no AVX-512 IFMA");
            return;
        };
        let largest = (-Fr::one()).0.0;
        let random = |n: usize| {
            let mut values = vec![Limbs::default(); n];
            vector::powers(as_scalars_mut(&mut values), -Fr::one(), Fr::from(0x1234_5678_9abc_u64));
            values
        };
        // all r - 1 and its like drive the sums to their bounds
        let kinds: [&dyn Fn(usize) -> Vec<Limbs>; 4] = [
            &random,
            &|n| vec![largest; n],
            &|n| (0..n).map(|i| if i % 2 == 0 { largest } else { [0; 4] }).collect(),
            &|n| (0..n).map(|i| if i < n / 2 { largest } else { Fr::one().0.0 }).collect(),
        ];
        for (log, kind) in [3, 4, 5, 6, 9, 10, 13, 14].into_iter().flat_map(|log| kinds.map(|kind| (log, kind))) {
            let values = kind(1 << log);
            for inverse in [false, true] {
                let mut portable = values.clone();
                let slice = as_scalars_mut(&mut portable);
                if inverse {
                    ntt::portable_inverse(slice)
                } else {
                    ntt::portable_forward(slice)
                }
                for threads in [1, 3] {
                    let mut lanes = values.clone();
                    crate::pool::with_threads(threads, || transform(isa, &mut lanes, inverse));
                    assert_eq!(as_scalars(&lanes), as_scalars(&portable), "log {log}, inverse {inverse}");
                }
            }
        }
    }
}
