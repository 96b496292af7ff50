//! arkworks (ark-ec): `VariableBaseMSM::msm_bigint`; for one term the curve's own scalar multiplication (GLV).
//!
//! Built twice: with `parallel` for any number of threads, and without it for exactly one, because the parallel build
//! makes a new thread pool in every call, which a user with one thread would not pay for.

use ark_ec::short_weierstrass::{Affine as Point, Projective, SWCurveConfig};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{BigInteger, PrimeField};
use peer_protocol::{Affine, Call, Curve, Engine, Failure, Form, Hello, Raw, SCALAR_LIMBS, is_infinity, serve};

struct Arkworks<C, const LIMBS: usize>(std::marker::PhantomData<C>);

/// An element from limbs in the stated form; `shift` is 2^(-64·limbs), which takes Montgomery form away.
fn element<F: PrimeField>(limbs: &[u64], form: Form, shift: F) -> Option<F> {
    let mut integer = F::BigInt::default();
    integer.as_mut().copy_from_slice(limbs);
    let value = F::from_bigint(integer)?;
    Some(if form == Form::Montgomery { value * shift } else { value })
}

fn shift<F: PrimeField>(limbs: usize) -> F {
    F::from(2u64).pow([64 * limbs as u64]).inverse().expect("a power of two is invertible")
}

impl<C, const LIMBS: usize> Engine for Arkworks<C, LIMBS>
where
    C: SWCurveConfig + 'static,
    C::BaseField: PrimeField,
{
    type Bases = Vec<Point<C>>;
    type Scalars = Vec<<C::ScalarField as PrimeField>::BigInt>;
    type Sum = Point<C>;

    const LIMBS: usize = LIMBS;

    fn bases(raw: &Raw) -> Result<Self::Bases, Failure> {
        let unshift = shift::<C::BaseField>(LIMBS);
        let point = |(index, (x, y)): (usize, (&[u64], &[u64]))| {
            if is_infinity(x, y) {
                return Ok(Point::identity());
            }
            let coordinates = element(x, raw.form, unshift).zip(element(y, raw.form, unshift));
            let (x, y) = coordinates.ok_or_else(|| Failure::data(format!("point {index}: coordinate not below p")))?;
            Ok(Point::new_unchecked(x, y))
        };
        raw.coordinates().enumerate().map(point).collect()
    }

    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure> {
        let unshift = shift::<C::ScalarField>(SCALAR_LIMBS);
        let scalar = |(index, limbs): (usize, [u64; SCALAR_LIMBS])| {
            let value = element(&limbs, raw.scalar_form, unshift);
            value.map(|s| s.into_bigint()).ok_or_else(|| Failure::data(format!("scalar {index}: not below r")))
        };
        raw.scalar_limbs().enumerate().map(scalar).collect()
    }

    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<Self::Sum, Failure> {
        let sum: Projective<C> = match call.n {
            1 => bases[0].mul_bigint(scalars[0]),
            _ => Projective::msm_bigint(&bases[..call.n], &scalars[..call.n]),
        };
        Ok(sum.into_affine())
    }

    fn affine(sum: &Self::Sum) -> Affine {
        match sum.xy() {
            None => Affine::infinity(),
            Some((x, y)) => Affine::finite(limbs(x).as_ref(), limbs(y).as_ref()),
        }
    }
}

fn limbs<F: PrimeField>(value: F) -> impl BigInteger {
    value.into_bigint()
}

const CURVES: [Curve; 3] = [
    Curve::of::<Arkworks<ark_bn254::g1::Config, 4>>("bn254"),
    Curve::of::<Arkworks<ark_bls12_377::g1::Config, 6>>("bls12-377"),
    Curve::of::<Arkworks<ark_bls12_381::g1::Config, 6>>("bls12-381"),
];

fn main() {
    let hello = Hello {
        name: "arkworks",
        version: env!("PEER_LIBRARY_VERSION"),
        curves: &["bn254", "bls12-377", "bls12-381"],
        groups: &["g1"],
        devices: vec!["cpu".into()],
        paths: &["cpu"],
        scopes: &["resident-bases", "end-to-end"],
        options: &[],
        timed: "ark_ec VariableBaseMSM::msm_bigint over affine bases and BigInt scalars, then into_affine; \
                n = 1: mul_bigint",
    };
    #[cfg(feature = "parallel")]
    serve(hello, &CURVES, peer_protocol::RayonThreads::default());
    #[cfg(not(feature = "parallel"))]
    serve(hello, &CURVES, peer_protocol::OneThread);
}
