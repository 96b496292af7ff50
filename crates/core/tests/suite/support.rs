//! Inputs with known answers, shared by the integration tests.

use multiscalar_core::curve::{Affine, CurveParams};
use multiscalar_core::field::{Field, PrimeField};
use multiscalar_core::msm::{self, Engines, Isa, MsmError, Options, Points, PrepareOptions, Prepared, Scalars, Stats};

/// splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
        z ^ z >> 31
    }

    pub fn scalar<S: PrimeField<Limbs = [u64; 4]>>(&mut self) -> [u64; 4] {
        // Any limbs below the modulus are the Montgomery form of some scalar.
        S::from_mont([self.word(), self.word(), self.word(), self.word() >> (257 - S::BITS)]).to_canonical()
    }
}

/// Points as Montgomery limbs.
pub fn limbs<C: CurveParams>(points: &[Affine<C>]) -> Vec<u64> {
    points.iter().flat_map(|p| [p.x.to_mont(), p.y.to_mont()]).flat_map(|l| l.as_ref().to_vec()).collect()
}

pub fn prepared<C: CurveParams<Field: Engines>>(points: &[Affine<C>], isa: Isa) -> Prepared<C> {
    let options = PrepareOptions { isa: Some(isa), ..PrepareOptions::default() };
    msm::prepare(Points::Montgomery(&limbs(points)), &options).expect("points of the curve")
}

pub fn asserted_subgroup<C: CurveParams<Field: Engines>>(points: &[Affine<C>], isa: Isa) -> Prepared<C> {
    let options = PrepareOptions { isa: Some(isa), assert_subgroup: true, ..PrepareOptions::default() };
    msm::prepare(Points::Montgomery(&limbs(points)), &options).expect("points of the curve")
}

pub fn run<C: CurveParams<Field: Engines>>(
    bases: &Prepared<C>,
    scalars: &[[u64; 4]],
    options: &Options<'_>,
) -> Result<(Affine<C>, Stats), MsmError> {
    msm::msm(bases, Scalars::Canonical(scalars), options)
}

/// Every instruction set of this CPU.
pub fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available())
}

/// Points (a + i b) G and their logarithms.
pub fn known<C: CurveParams<Field: Engines>>(n: usize) -> (Vec<Affine<C>>, Vec<C::Scalar>) {
    let (a, b) = ([7, 5, 3, 1], [9, 8, 7, 0]);
    let [first, step] = [a, b].map(|k| Affine::<C>::GENERATOR.mul_limbs(&k).to_affine());
    let [a, b] = [a, b].map(|k| C::Scalar::from_canonical(k).expect("below the order"));
    let logarithms = std::iter::successors(Some(a), |&k| Some(k + b)).take(n).collect();
    (msm::progression(first, step, n), logarithms)
}

/// (sum of k_i s_i) G.
pub fn expected<C: CurveParams>(logarithms: &[C::Scalar], scalars: &[[u64; 4]]) -> Affine<C> {
    let total = logarithms
        .iter()
        .zip(scalars)
        .fold(C::Scalar::ZERO, |total, (&k, &s)| total + k * C::Scalar::from_canonical(s).expect("below the order"));
    Affine::<C>::GENERATOR.mul_limbs(&total.to_canonical()).to_affine()
}
