//! Every batch adder against the projective formulas, on every kind of pair.

use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::Field;
use multiscalar_core::msm::Engines;
use multiscalar_core::msm::adder::{BatchAdder, Packed, Pair};

fn packed<C: CurveParams>(k: u64, negate: bool) -> Packed<C::Field> {
    let point = Affine::<C>::GENERATOR.mul_limbs(&[k]).to_affine();
    let point = if negate { -point } else { point };
    Packed { x: point.x.to_mont(), y: point.y.to_mont() }
}

/// Destination i holds (i + 1) G; source j holds (j / 2 + 1) G with the sign of j's last bit: a batch of n pairs
/// meets ordinary sums, doublings and cancellations in every lane.
fn sums_are_right<C: CurveParams, A: BatchAdder<C::Field>>(n: u32) {
    if !A::ISA.is_available() {
        return;
    }
    let mut sums: Vec<_> = (0..n as u64).map(|i| packed::<C>(i + 1, false)).collect();
    let mut sources: Vec<_> = (0..2 * n as u64 + 2).map(|j| packed::<C>(j / 2 + 1, j % 2 == 1)).collect();
    let pairs: Vec<_> = (0..n).rev().map(|i| Pair::new(i, (2 * i + i % 5).min(2 * n + 1), i % 3 == 0)).collect();
    A::import(&mut sums);
    A::import(&mut sources);
    let mut cancelled = Vec::new();
    // SAFETY: indices are in range by construction, destinations differ, the arrays do not overlap.
    unsafe { A::new(n as usize).add(sums.as_mut_ptr(), sources.as_ptr(), &pairs, &mut cancelled) };
    A::export(&mut sums);
    A::export(&mut sources);
    for pair in pairs {
        let source = Affine::<C> {
            x: C::Field::from_mont(sources[pair.src()].x),
            y: C::Field::from_mont(sources[pair.src()].y),
        };
        let source = if pair.negate() { -source } else { source };
        let expected = Affine::<C>::GENERATOR.mul_limbs(&[pair.dst as u64 + 1]).add_affine(&source).to_affine();
        assert_eq!(cancelled.contains(&pair.dst), expected.is_infinity(), "{pair:?}");
        if !expected.is_infinity() {
            let sum = sums[pair.dst as usize];
            assert_eq!((sum.x, sum.y), (expected.x.to_mont(), expected.y.to_mont()), "{pair:?} of {n}");
        }
    }
}

fn every_adder<C: CurveParams<Field: Engines>>() {
    for n in (0..20).chain([31, 64, 100]) {
        sums_are_right::<C, <C::Field as Engines>::Scalar>(n);
        sums_are_right::<C, <C::Field as Engines>::Ifma256>(n);
        sums_are_right::<C, <C::Field as Engines>::Ifma512>(n);
    }
}

#[test]
fn bn254() {
    every_adder::<tables::bn254::G1>();
}

#[test]
fn bls12_377() {
    every_adder::<tables::bls12_377::G1>();
}

#[test]
fn bls12_381() {
    every_adder::<tables::bls12_381::G1>();
}
