//! Straus against the reference: every width, with and without the endomorphism, and the inputs that break addition.

use std::sync::atomic::AtomicBool;

use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::{Field, Limbs, PrimeField, limbs};
use multiscalar_core::msm::adder::{BatchAdder, Packed};
use multiscalar_core::msm::scalar_adder::ScalarAdder;
use multiscalar_core::msm::{Engines, Isa, MsmError, reference, straus};

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn scalar<C: CurveParams>(&mut self) -> [u64; 4] {
        let r = C::Scalar::MODULUS;
        let mut value = core::array::from_fn(|_| self.word());
        value[3] %= r[3];
        value
    }

    fn point<C: CurveParams>(&mut self) -> Affine<C> {
        Affine::GENERATOR.mul_limbs(&self.scalar::<C>()).to_affine()
    }
}

fn check<C: CurveParams<Field: Engines>>(
    points: &[Affine<C>],
    scalars: &[[u64; 4]],
    endomorphism: bool,
    window: Option<u32>,
) {
    let mut bases: Vec<_> = points.iter().map(|p| Packed { x: p.x.to_mont(), y: p.y.to_mont() }).collect();
    ScalarAdder::import(&mut bases);
    let plus: Vec<_> = scalars.iter().map(|&scalar| (false, scalar)).collect();
    let minus: Vec<_> = scalars.iter().map(|&scalar| (true, scalar)).collect();
    let expected = reference::msm(points, scalars);
    for isa in [Isa::Scalar, Isa::best()] {
        let sum = |scalars: &[_]| {
            straus::msm::<C, ScalarAdder<C::Field>>(isa, &bases, scalars, endomorphism, window, None)
                .expect("small tables")
        };
        let (sum, negative) = (sum(&plus), sum(&minus));
        let case = format!("{} {} terms, {window:?}, {}", C::NAME, points.len(), isa.name());
        assert!(negative.point == -sum.point, "{case}, negated");
        assert!(sum.point == expected, "{case}");
        assert!(window.is_none_or(|window| window == sum.window));
    }
}

fn all_widths<C: CurveParams<Field: Engines>>() {
    let mut random = Random(7);
    for n in [0, 1, 2, 3, 7, 16] {
        let points: Vec<_> = (0..n).map(|_| random.point::<C>()).collect();
        let scalars: Vec<_> = (0..n).map(|_| random.scalar::<C>()).collect();
        for endomorphism in [false, true] {
            for window in (1..=8).map(Some).chain([None]) {
                check(&points, &scalars, endomorphism, window);
            }
        }
    }
}

/// Equal points, opposite points, sums that vanish in a column, scalars at both ends of their range.
fn related_terms<C: CurveParams<Field: Engines>>() {
    let mut random = Random(11);
    let (p, k) = (random.point::<C>(), random.scalar::<C>());
    let near_r = |less| limbs::sub(&C::Scalar::MODULUS, &[less, 0, 0, 0]).0;
    let ends = [[0; 4], [1, 0, 0, 0], near_r(1), near_r(2), [0, 0, 1, 0], C::ENDOMORPHISM.lambda];
    for endomorphism in [false, true] {
        for n in [2, 3, 8, 31] {
            check(&vec![p; n], &vec![k; n], endomorphism, None);
            let signs: Vec<_> = (0..n).map(|i| if i % 2 == 0 { p } else { -p }).collect();
            check(&signs, &vec![k; n], endomorphism, None);
            let multiples: Vec<_> = (1..=n as u64).map(|i| p.mul_limbs(&[i]).to_affine()).collect();
            check(&multiples, &vec![k; n], endomorphism, None);
            for end in ends {
                check(&multiples, &vec![end; n], endomorphism, None);
            }
        }
        for end in ends {
            check(&[p], &[end], endomorphism, None);
        }
    }
}

/// A point outside the subgroup, and the multiples of it that have the orders that divide the cofactor.
fn other_orders<C: CurveParams<Field: Engines>>(x: u64, y: u64) {
    let field = |value| {
        let mut limbs = <C::Field as Field>::Limbs::ZERO;
        limbs.as_mut()[0] = value;
        C::Field::from_canonical(limbs).unwrap()
    };
    let order_three = Affine::<C> { x: field(x), y: field(y) };
    assert!(order_three.is_on_curve() && order_three.mul_limbs(&[3]).is_infinity());
    let mut random = Random(13);
    let mixed = order_three.mul_limbs(&[1]).add_affine(&random.point::<C>()).to_affine();
    let points = [order_three, random.point::<C>(), mixed, -order_three, order_three];
    let scalars: Vec<_> = points.iter().map(|_| random.scalar::<C>()).collect();
    for window in [None, Some(2), Some(5)] {
        check(&points, &scalars, false, window);
    }
}

macro_rules! every_curve {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            all_widths::<tables::$name::G1>();
            related_terms::<tables::$name::G1>();
        }
    )*};
}

every_curve!(bn254, bls12_377, bls12_381);

#[test]
fn batches_heed_the_flag() {
    type C = tables::bn254::G1;
    let mut bases = vec![Packed { x: Affine::<C>::GENERATOR.x.to_mont(), y: Affine::<C>::GENERATOR.y.to_mont() }; 9];
    ScalarAdder::import(&mut bases);
    let cancelled = AtomicBool::new(true);
    let sum = straus::msm::<C, ScalarAdder<_>>(
        Isa::Scalar,
        &bases,
        &[(false, [7, 0, 0, 0]); 9],
        false,
        None,
        Some(&cancelled),
    );
    assert_eq!(sum.err(), Some(MsmError::Cancelled));
}

#[test]
fn points_of_small_order() {
    other_orders::<tables::bls12_381::G1>(0, 2);
    other_orders::<tables::bls12_377::G1>(0, 1);
}
