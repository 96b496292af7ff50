//! The backward pass: slopes and sums. 4M + 1S a pair.

use super::forward::WIDE;
use super::{AddBatch, DENOMINATOR, PRODUCT, X1};
use crate::field::LaneParams;
use crate::field::lanes::params::{minus, multiple, nearly, spread};
use crate::field::lanes::{Isa, LaneField, Limbwise, Repack, Vector};

/// Room for three clean limbs to be taken off.
const NARROW: u64 = 1 << 54;

/// L limb vectors.
type Element<I, const L: usize> = [<I as Isa>::Vector; L];

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// Adds the pairs of two neighbouring groups, given the inverses of the products up to and including them;
    /// returns the inverses of the products before them. Every step is made for both groups in turn: they are
    /// independent, and the CPU overlaps them.
    #[inline(always)]
    pub(super) fn backward(&mut self, isa: I, group: usize, inverses: [Element<I, L>; 2]) -> [Element<I, L>; 2] {
        let zero = I::Vector::constant(isa, [0; L]);
        // 1 / d and then the slope, the inverses to return, 4 p - y1, x3 and y3, group by group.
        let [mut slope, mut before, mut minus_y1, mut x, mut y] = [[zero; 2]; 5];
        for i in 0..2 {
            slope[i] = times::<I, P, N, L>(isa, inverses[i], self.load(isa, group + i, PRODUCT)); // 1 / d
            before[i] = times::<I, P, N, L>(isa, inverses[i], self.load(isa, group + i, DENOMINATOR));
        }
        for i in 0..2 {
            let numerator;
            (numerator, minus_y1[i]) = self.numerator(isa, group + i);
            slope[i] = times::<I, P, N, L>(isa, slope[i], numerator);
        }
        for i in 0..2 {
            let sum = I::Vector::square::<P, N>(isa, slope[i], self.minus_xs(isa, group + i)); // below 9 p
            x[i] = below_three::<I, P, N, L>(isa, sum);
        }
        for i in 0..2 {
            let run = I::Vector::carry(I::Vector::sub(self.load(isa, group + i, X1), x[i])); // x1 - x3, below 6 p
            let sum = I::Vector::mul::<P, N>(isa, slope[i], run, minus_y1[i]); // below 7 p
            y[i] = below_four::<I, P, N, L>(isa, sum);
        }
        self.exceptions.forget_from(group);
        for i in 0..2 {
            let x = I::Vector::words(isa, I::Vector::carry(x[i]));
            let y = I::Vector::words(isa, I::Vector::carry(y[i]));
            // SAFETY: rows of the batch, or of idle lanes.
            unsafe { I::Vector::store_points(x, y, &self.groups.accumulators(group + i)) };
        }
        before
    }

    #[inline(always)]
    fn load(&self, isa: I, group: usize, which: usize) -> Element<I, L> {
        // SAFETY: the forward pass has stored SAVED elements for each group.
        unsafe { I::Vector::load_limbs(isa, self.saved(group, which)) }
    }

    /// 6 p - x1 - x2, raw: as saved are x1 + 3 p (spread) and d = x1 - x2 + 3 p, it is 9 p + d - 2 x1.
    #[inline(always)]
    fn minus_xs(&self, isa: I, group: usize) -> Element<I, L> {
        let (d, x1) = (self.load(isa, group, DENOMINATOR), self.load(isa, group, X1));
        // x1, saved and taken off twice, holds at most 2 clean limbs and WIDE; `below_three` takes off 2 more.
        let nine = const { spread(multiple(<P as LaneParams<L>>::MODULUS, 9), 2 * WIDE + 2 * NARROW) };
        let rest = I::Vector::sub(I::Vector::sub(I::Vector::constant(isa, nine), x1), x1);
        I::Vector::add_clean(isa, rest, d)
    }

    /// The numerator of the slopes, dirty and below 8 p: y1 minus the signed y2, or 3 x1^2 for a doubling; and
    /// 4 p - y1, raw.
    #[inline(always)]
    fn numerator(&mut self, isa: I, group: usize) -> (Element<I, L>, Element<I, L>) {
        let pairs = self.groups.pairs(group).as_ptr();
        // SAFETY: rows of the batch, or of idle lanes; a group has a pair (8 bytes) for every lane.
        let (w1, mut w2, signs) = unsafe {
            let accumulators = self.groups.accumulators(group).map(|row| row.cast_const());
            (
                I::Vector::load_y(isa, &accumulators),
                I::Vector::load_y(isa, &self.groups.sources(group)),
                I::Vector::load(isa, pairs.cast()),
            )
        };
        // The lowest bit of `signed_src` is bit 32 of a pair. Where it is clear, y2 becomes its complement.
        let positive = signs.shl::<31>().at_least(I::Vector::splat(isa, 0));
        for word in &mut w2 {
            *word = word.not_if(positive);
        }
        let y1 = I::Vector::clean(isa, I::Vector::limbs(w1));
        let (four, offset) = const {
            let four = spread(multiple(<P as LaneParams<L>>::MODULUS, 4), NARROW);
            (four, minus(four, P::ONES))
        };
        let sum = I::Vector::add_clean(isa, y1, I::Vector::limbs(w2));
        let sum = I::Vector::add_where(sum, positive, I::Vector::constant(isa, offset));
        let mut numerator = I::Vector::carry(sum);
        if self.exceptions.any_from(group) {
            numerator = self.with_doublings(isa, group, numerator);
        }
        (numerator, I::Vector::sub(I::Vector::constant(isa, four), y1))
    }

    /// The numerators with those of doublings put in their lanes.
    #[inline(always)]
    fn with_doublings(&mut self, isa: I, group: usize, numerator: Element<I, L>) -> Element<I, L> {
        let mut limbs = [0; 8 * 8];
        const { assert!(L <= 8) };
        // SAFETY: room for L vectors of at most 8 lanes.
        unsafe {
            I::Vector::store_limbs(numerator, limbs.as_mut_ptr());
            self.double(group, &mut limbs);
            I::Vector::load_limbs(isa, limbs.as_ptr())
        }
    }
}

/// a b / R52, dirty.
#[inline(always)]
fn times<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    a: Element<I, L>,
    b: Element<I, L>,
) -> Element<I, L>
where
    I::Vector: Limbwise<L>,
{
    I::Vector::carry(I::Vector::mul::<P, N>(isa, a, b, I::Vector::constant(isa, [0; L])))
}

/// A raw value below 9 p to one below 3 p.
#[inline(always)]
fn below_three<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(isa: I, a: Element<I, L>) -> Element<I, L>
where
    I::Vector: Limbwise<L>,
{
    let a = reduce_once::<I, P, N, L, 5, 4>(isa, a);
    reduce_once::<I, P, N, L, 3, 2>(isa, a)
}

/// A raw value below 7 p to one below 4 p.
#[inline(always)]
fn below_four<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(isa: I, a: Element<I, L>) -> Element<I, L>
where
    I::Vector: Limbwise<L>,
{
    reduce_once::<I, P, N, L, 4, 3>(isa, a)
}

/// Subtracts LESS p from a raw value unless it is below LIMIT p; it may do so from LIMIT p - p / 16 on.
#[inline(always)]
pub(super) fn reduce_once<
    I: Isa,
    P: LaneField<N, L>,
    const N: usize,
    const L: usize,
    const LIMIT: u64,
    const LESS: u64,
>(
    isa: I,
    a: Element<I, L>,
) -> Element<I, L>
where
    I::Vector: Limbwise<L>,
{
    let limit = const { nearly(<P as LaneParams<L>>::MODULUS, LIMIT) };
    let less = const { multiple(<P as LaneParams<L>>::MODULUS, LESS) };
    let large = a[L - 1].at_least(I::Vector::splat(isa, limit));
    I::Vector::sub_where(a, large, I::Vector::constant(isa, less))
}
