//! Every arithmetic of a field against plain integers: schoolbook doubling and adding, one bit at a time.

use super::fp::mul_cios;
use super::limbs::{add, bit, less, shift_right, sub};
use super::{Field, FieldParams, Fp, PrimeField, SquareRoot, inverse};
use crate::curve::tables::{bls12_377, bls12_381, bn254};

/// a·b mod p by doubling and adding.
fn product<const N: usize>(a: &[u64; N], b: &[u64; N], p: &[u64; N]) -> [u64; N] {
    let reduced = |(sum, _): ([u64; N], u64)| if less(&sum, p) { sum } else { sub(&sum, p).0 };
    (0..64 * N as u32).rev().fold([0; N], |sum, i| {
        let twice = reduced(add(&sum, &sum));
        if bit(b, i) { reduced(add(&twice, a)) } else { twice }
    })
}

/// Zero, one, two, p−1, p−2, (p−1)/2, 2⁶⁴−1, single high bits, and values from a xorshift generator, all below p.
fn samples<const N: usize>(p: &[u64; N], random: usize) -> Vec<[u64; N]> {
    let small = |value| core::array::from_fn(|i| if i == 0 { value } else { 0 });
    let below = |value| sub(p, &small(value)).0;
    let mut values = vec![small(0), small(1), small(2), below(1), below(2), shift_right(p), small(u64::MAX)];
    values.extend((0..N).map(|limb| core::array::from_fn(|i| u64::from(i == limb) * (p[N - 1] >> 1))));
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    values.extend((0..random).map(|_| {
        let mut value = core::array::from_fn(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        });
        value[N - 1] %= p[N - 1];
        value
    }));
    values
}

fn multiplication<P: FieldParams<N>, const N: usize>() {
    let values = samples(&P::MODULUS, 8);
    for a in &values {
        for b in &values {
            let expected = product(a, b, &P::MODULUS);
            let element = |limbs: &[u64; N]| Fp::<P, N>::from_canonical(*limbs).unwrap();
            assert_eq!((element(a) * element(b)).to_canonical(), expected, "{a:x?} * {b:x?}");
            let to_mont = |limbs: &[u64; N]| product(limbs, &P::R, &P::MODULUS);
            let portable = mul_cios::<P, N>(&to_mont(a), &to_mont(b));
            let lower = if less(&portable, &P::MODULUS) { portable } else { sub(&portable, &P::MODULUS).0 };
            assert_eq!(lower, to_mont(&expected), "portable {a:x?} * {b:x?}");
        }
    }
}

/// Operands up to 2p − 1 on the left, where 4p fits, and results that are fully reduced all the same.
fn lazy_operands<P: FieldParams<N>, const N: usize>() {
    if P::MODULUS[N - 1] >= 1 << 62 {
        return;
    }
    let values = samples(&P::MODULUS, 8);
    for a in &values {
        for b in &values {
            let lazy = add(a, &P::MODULUS).0;
            let reduced = Fp::<P, N>::from_mont(*a) * Fp::from_mont(*b);
            assert_eq!((Fp::<P, N>::from_mont(lazy) * Fp::from_mont(*b)).to_mont(), reduced.to_mont());
        }
    }
}

fn inversion<P: FieldParams<N>, const N: usize>() {
    let one = core::array::from_fn(|i| u64::from(i == 0));
    assert_eq!(Fp::<P, N>::ZERO.invert(), None);
    for a in samples(&P::MODULUS, 200).into_iter().filter(|a| *a != [0; N]) {
        let plain = inverse::invert(&a, &P::MODULUS, P::NEG_INV, &one);
        assert_eq!(product(&a, &plain, &P::MODULUS), one, "1 / {a:x?}");
        let element = Fp::<P, N>::from_mont(a);
        assert_eq!(element.invert().unwrap() * element, Fp::ONE);
        assert_eq!(element.half().double(), element);
    }
}

/// Squares have roots; a non-residue times a square has none; the root of unity has the order the tables rest on.
fn square_roots<P: FieldParams<N>, const N: usize>() {
    let roots = SquareRoot::<Fp<P, N>>::new();
    let root = <Fp<P, N> as PrimeField>::TWO_ADIC_ROOT;
    let order_two = (1..P::TWO_ADICITY).fold(root, |power, _| power.square());
    assert_eq!(order_two, -Fp::ONE);
    for a in samples(&P::MODULUS, 200) {
        let element = Fp::<P, N>::from_mont(a);
        let square = element.square();
        let found = roots.sqrt(square).unwrap();
        assert!(found == element || found == -element);
        assert!(element.is_zero() || roots.sqrt(square * root).is_none());
    }
    // Logarithms of every length.
    for power in core::iter::successors(Some(root), |power| Some(power.square())).take(P::TWO_ADICITY as usize).skip(1)
    {
        assert_eq!(roots.sqrt(power).map(Field::square), Some(power));
    }
}

macro_rules! every_field {
    ($($name:ident: $params:ty, $limbs:literal;)*) => {$(
        #[test]
        fn $name() {
            multiplication::<$params, $limbs>();
            lazy_operands::<$params, $limbs>();
            inversion::<$params, $limbs>();
            square_roots::<$params, $limbs>();
        }
    )*};
}

every_field! {
    bn254_fq: bn254::Fq, 4;
    bn254_fr: bn254::Fr, 4;
    bls12_377_fq: bls12_377::Fq, 6;
    bls12_377_fr: bls12_377::Fr, 4;
    bls12_381_fq: bls12_381::Fq, 6;
    bls12_381_fr: bls12_381::Fr, 4;
}
