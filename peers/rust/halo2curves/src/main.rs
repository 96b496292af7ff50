//! halo2curves: `msm_best`; for one term the group's own scalar multiplication.

use halo2curves::ff::PrimeField;
use halo2curves::group::Curve as _;
use halo2curves::group::prime::PrimeCurveAffine;
use halo2curves::msm::msm_best;
use halo2curves::{CurveAffine, bls12381, bn256};
use peer_protocol::{
    Affine, Call, Curve, Engine, Failure, Form, Hello, Raw, RayonThreads, SCALAR_LIMBS, is_infinity, serve,
};

struct Halo2<C, const LIMBS: usize>(std::marker::PhantomData<C>);

/// An element from little-endian limbs in the stated form; `shift` is 2^(-64·limbs).
fn element<F: PrimeField>(limbs: &[u64], form: Form, shift: F) -> Option<F> {
    let mut repr = F::Repr::default();
    for (bytes, limb) in repr.as_mut().chunks_exact_mut(8).zip(limbs) {
        bytes.copy_from_slice(&limb.to_le_bytes());
    }
    let value = F::from_repr_vartime(repr)?;
    Some(if form == Form::Montgomery { value * shift } else { value })
}

fn shift<F: PrimeField>(limbs: usize) -> F {
    F::from(2).pow_vartime([64 * limbs as u64]).invert().expect("a power of two is invertible")
}

fn limbs<F: PrimeField>(value: &F) -> Vec<u64> {
    let repr = value.to_repr();
    repr.as_ref().chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

impl<C, const LIMBS: usize> Engine for Halo2<C, LIMBS>
where
    C: CurveAffine + PrimeCurveAffine<Scalar = <C as CurveAffine>::ScalarExt>,
    C::Base: PrimeField,
    <C as CurveAffine>::ScalarExt: PrimeField,
{
    type Bases = Vec<C>;
    type Scalars = Vec<<C as CurveAffine>::ScalarExt>;
    type Sum = C;

    const LIMBS: usize = LIMBS;

    fn bases(raw: &Raw) -> Result<Self::Bases, Failure> {
        let unshift = shift::<C::Base>(LIMBS);
        let point = |(index, (x, y)): (usize, (&[u64], &[u64]))| {
            if is_infinity(x, y) {
                return Ok(<C as PrimeCurveAffine>::identity());
            }
            let found = element(x, raw.form, unshift).zip(element(y, raw.form, unshift));
            let point = found.and_then(|(x, y)| Option::from(C::from_xy(x, y)));
            point.ok_or_else(|| Failure::data(format!("point {index}: not on the curve")))
        };
        raw.coordinates().enumerate().map(point).collect()
    }

    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure> {
        let unshift = shift(SCALAR_LIMBS);
        let scalar = |(index, limbs): (usize, [u64; SCALAR_LIMBS])| {
            let value = element(&limbs, raw.scalar_form, unshift);
            value.ok_or_else(|| Failure::data(format!("scalar {index}: not below r")))
        };
        raw.scalar_limbs().enumerate().map(scalar).collect()
    }

    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<Self::Sum, Failure> {
        let sum = match call.n {
            1 => bases[0] * scalars[0],
            _ => msm_best(&scalars[..call.n], &bases[..call.n]),
        };
        Ok(sum.to_affine())
    }

    fn affine(sum: &Self::Sum) -> Affine {
        match Option::from(sum.coordinates()) {
            None => Affine::infinity(),
            Some(point) => {
                let point: halo2curves::Coordinates<C> = point;
                Affine::finite(&limbs(point.x()), &limbs(point.y()))
            }
        }
    }
}

const CURVES: [Curve; 2] =
    [Curve::of::<Halo2<bn256::G1Affine, 4>>("bn254"), Curve::of::<Halo2<bls12381::G1Affine, 6>>("bls12-381")];

fn main() {
    let hello = Hello {
        name: "halo2curves",
        version: env!("PEER_LIBRARY_VERSION"),
        curves: &["bn254", "bls12-381"],
        groups: &["g1"],
        devices: vec!["cpu".into()],
        paths: &["cpu"],
        scopes: &["resident-bases", "end-to-end"],
        options: &[],
        timed: "halo2curves::msm::msm_best over affine bases and scalar field elements (its call turns them into \
                bytes), then to_affine; n = 1: base * scalar",
    };
    serve(hello, &CURVES, RayonThreads::default());
}
