//! The tables and the plain reference: what everything else is compared with.

use multiscalar_core::curve::{Affine, CurveParams, Jacobian, tables};
use multiscalar_core::field::{Field, Limbs, PrimeField};
use multiscalar_core::msm::{self, Engines, Options, Points, PrepareOptions, Scalars};

/// r G = O, G is on the curve, phi(G) = lambda G, beta^3 = 1.
fn tables_hold<C: CurveParams>() {
    let generator = Affine::<C>::GENERATOR;
    assert!(generator.is_on_curve());
    assert!(generator.mul_limbs(C::Scalar::MODULUS.as_ref()).is_infinity());
    let beta = C::ENDOMORPHISM.beta;
    assert!(beta != C::Field::ONE && beta * beta * beta == C::Field::ONE);
    let phi = Affine::<C> { x: generator.x * beta, y: generator.y };
    assert!(generator.mul_limbs(&C::ENDOMORPHISM.lambda) == phi.into());
}

/// (1 + 4 + 9 + ... + n^2) G through the public entry, from both forms of points.
fn squares<C: CurveParams<Field: Engines>>(n: u64) {
    let points: Vec<Affine<C>> = (1..=n).map(|i| Affine::GENERATOR.mul_limbs(&[i]).to_affine()).collect();
    let limbs = |convert: fn(C::Field) -> <C::Field as Field>::Limbs| -> Vec<u64> {
        points.iter().flat_map(|p| [convert(p.x), convert(p.y)]).flat_map(|l| l.as_ref().to_vec()).collect()
    };
    let scalars: Vec<[u64; 4]> = (1..=n).map(|i| [i, 0, 0, 0]).collect();
    let expected = Affine::<C>::GENERATOR.mul_limbs(&[n * (n + 1) * (2 * n + 1) / 6]).to_affine();
    let (canonical, montgomery) = (limbs(Field::to_canonical), limbs(Field::to_mont));
    for points in [Points::Canonical(&canonical), Points::Montgomery(&montgomery)] {
        let bases = msm::prepare::<C>(points, &PrepareOptions::default()).unwrap();
        let (sum, stats) = msm::msm(&bases, Scalars::Canonical(&scalars), &Options::default()).unwrap();
        assert_eq!((sum, stats.terms), (expected, n as usize));
    }
    assert_eq!(canonical.len(), 2 * n as usize * <C::Field as Field>::Limbs::COUNT);
}

fn jacobian_is_complete<C: CurveParams>() {
    let g = Jacobian::from(Affine::<C>::GENERATOR);
    let three = Affine::<C>::GENERATOR.mul_limbs(&[3]);
    assert!(g.add(&g) == g.double() && g.add(&-g).is_infinity() && g.double().add(&g) == three);
    assert!(g.add(&Jacobian::INFINITY) == g && Jacobian::INFINITY.add(&three) == three);
    assert!(three.add_affine(&three.to_affine()) == three.double());
    assert!(three.add_affine(&-three.to_affine()).is_infinity());
}

macro_rules! every_curve {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            tables_hold::<tables::$name::G1>();
            jacobian_is_complete::<tables::$name::G1>();
            squares::<tables::$name::G1>(40);
        }
    )*};
}

every_curve!(bn254, bls12_377, bls12_381);

/// A curve that the core has never heard of, from its table alone.
#[test]
fn fourth_curve() {
    tables_hold::<crate::grumpkin::G1>();
    jacobian_is_complete::<crate::grumpkin::G1>();
    squares::<crate::grumpkin::G1>(600);
}
