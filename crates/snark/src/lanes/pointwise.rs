//! Products of vectors element by element, eight at a time: some 230 instructions a group, half of them the product.

use multiscalar_core::field::lanes::ifma512::Ifma512;
use multiscalar_core::field::lanes::{Isa, Kernel, Limbwise, Repack, Vector};

use super::{L, factor, product, reduce, shrink};
use crate::{Fr, Limbs};

const LANES: usize = 8;

/// a *= b over whole groups of eight; returns how many elements were done.
pub fn multiply(isa: Ifma512, a: &mut [Limbs], b: &[Limbs]) -> usize {
    isa.run(Multiply { a, b });
    a.len() / LANES * LANES
}

/// a *= k over whole groups; returns how many elements were done.
pub fn scale(isa: Ifma512, a: &mut [Limbs], k: Fr) -> usize {
    isa.run(Scale { a, k: factor(k) });
    a.len() / LANES * LANES
}

/// a += k b over whole groups; returns how many elements were done.
pub fn add_scaled(isa: Ifma512, a: &mut [Limbs], k: Fr, b: &[Limbs]) -> usize {
    isa.run(AddScaled { a, k: factor(k), b });
    a.len() / LANES * LANES
}

/// Eight elements as clean limbs.
#[inline(always)]
fn load<V: Vector>(isa: V::Isa, a: &[Limbs; LANES]) -> [V; L] {
    // SAFETY: every row is an element of four words.
    let words = unsafe { V::load_rows(isa, &std::array::from_fn(|i| a[i].as_ptr())) };
    V::clean(isa, V::limbs(words))
}

/// Fully reduced limbs to eight elements.
#[inline(always)]
fn store<V: Vector>(isa: V::Isa, value: [V; L], a: &mut [Limbs; LANES]) {
    let rows = a.each_mut().map(|row| row.as_mut_ptr());
    // SAFETY: every row is an element of four words.
    unsafe { V::store_rows(V::words(isa, value), &rows) };
}

struct Multiply<'a> {
    a: &'a mut [Limbs],
    b: &'a [Limbs],
}

impl<I: Isa> Kernel<I> for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        for (a, b) in self.a.as_chunks_mut::<LANES>().0.iter_mut().zip(self.b.as_chunks::<LANES>().0) {
            let (x, y) = (load::<I::Vector>(isa, a), load::<I::Vector>(isa, b));
            // the factor 16 that the domain asks for: below 16 p, so the product is below 2.1 p
            let y = I::Vector::carry(y.map(|limb| limb.shl::<4>()));
            store(isa, reduce(isa, product(isa, x, y)), a);
        }
    }
}

struct Scale<'a> {
    a: &'a mut [Limbs],
    k: [u64; L],
}

impl<I: Isa> Kernel<I> for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        let k = I::Vector::constant(isa, self.k);
        for a in self.a.as_chunks_mut::<LANES>().0 {
            store(isa, reduce(isa, product(isa, load::<I::Vector>(isa, a), k)), a);
        }
    }
}

struct AddScaled<'a> {
    a: &'a mut [Limbs],
    k: [u64; L],
    b: &'a [Limbs],
}

impl<I: Isa> Kernel<I> for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        let k = I::Vector::constant(isa, self.k);
        for (a, b) in self.a.as_chunks_mut::<LANES>().0.iter_mut().zip(self.b.as_chunks::<LANES>().0) {
            let (x, y) = (load::<I::Vector>(isa, a), load::<I::Vector>(isa, b));
            store(isa, reduce(isa, shrink(isa, I::Vector::add(x, product(isa, y, k)))), a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{as_scalars, as_scalars_mut, vector};

    fn sample(n: usize, base: u64) -> Vec<Limbs> {
        let mut out = vec![Limbs::default(); n];
        vector::powers(as_scalars_mut(&mut out), -Fr::from(1), Fr::from(base) - Fr::from(1u64 << 40));
        out[0] = [0; 4];
        out
    }

    #[test]
    fn equal_the_portable_operations() {
        let Some(isa) = super::super::available() else {
            println!("skipped: this CPU has no AVX-512 IFMA");
            return;
        };
        let (a, b) = (sample(67, 5), sample(67, 9));
        for k in [Fr::from(0), Fr::from(1), -Fr::from(1), -Fr::from(77)] {
            let check = |done: usize, got: &[Limbs], expected: &dyn Fn(Fr, Fr) -> Fr| {
                assert_eq!(done, 64);
                for (i, got) in as_scalars(got).iter().enumerate() {
                    let (a, b) = (as_scalars(&a)[i], as_scalars(&b)[i]);
                    assert_eq!(*got, if i < done { expected(a, b) } else { a });
                }
            };
            let mut out = a.clone();
            check(multiply(isa, &mut out, &b), &out, &|a, b| a * b);
            out.clone_from(&a);
            check(scale(isa, &mut out, k), &out, &|a, _| a * k);
            out.clone_from(&a);
            check(add_scaled(isa, &mut out, k, &b), &out, &|a, b| a + k * b);
        }
    }
}
