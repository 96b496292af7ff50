//! A multiplication as a function of its own, for where there are many of them and none is in the inner loops: each
//! one inlined is 100 to 300 instructions, compiled for every field and instruction set.

use core::marker::PhantomData;

use crate::field::lanes::{Isa, Kernel, LaneField, Limbwise};

/// a b / R52, dirty.
#[inline(always)]
pub(super) fn times<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    a: [I::Vector; L],
    b: [I::Vector; L],
) -> [I::Vector; L]
where
    I::Vector: Limbwise<L>,
{
    isa.run(Times::<I, P, N, L> { a, b, field: PhantomData })
}

struct Times<I: Isa, P, const N: usize, const L: usize> {
    a: [I::Vector; L],
    b: [I::Vector; L],
    field: PhantomData<P>,
}

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> Kernel<I> for Times<I, P, N, L>
where
    I::Vector: Limbwise<L>,
{
    type Output = [I::Vector; L];

    #[inline(always)]
    fn run(self, isa: I) -> [I::Vector; L] {
        I::Vector::carry(I::Vector::mul::<P, N>(isa, self.a, self.b, I::Vector::constant(isa, [0; L])))
    }
}
