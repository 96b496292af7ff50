//! snarkVM on the CPU: `VariableBase::msm`, as its prover calls it.

use peer_protocol::{
    Affine, Call, Curve, Engine, Failure, Form, Hello, Raw, RayonThreads, SCALAR_LIMBS, is_infinity, serve,
};
use snarkvm_algorithms::msm::VariableBase;
use snarkvm_curves::bls12_377::{Fq, Fr, G1Affine};
use snarkvm_curves::{AffineCurve, ProjectiveCurve};
use snarkvm_fields::{PrimeField, Zero};
use snarkvm_utilities::{BigInteger256, BigInteger384};

const LIMBS: usize = 6;

struct SnarkVm;

fn base_element(limbs: &[u64], form: Form, shift: Fq) -> Option<Fq> {
    let value = Fq::from_bigint(BigInteger384(limbs.try_into().expect("six limbs")))?;
    Some(if form == Form::Montgomery { value * shift } else { value })
}

fn shift<F: PrimeField>(limbs: usize) -> F {
    F::from(2u64).pow([64 * limbs as u64]).inverse().expect("a power of two is invertible")
}

impl Engine for SnarkVm {
    type Bases = Vec<G1Affine>;
    type Scalars = Vec<BigInteger256>;
    type Sum = G1Affine;

    const LIMBS: usize = LIMBS;

    fn bases(raw: &Raw) -> Result<Self::Bases, Failure> {
        let unshift = shift::<Fq>(LIMBS);
        let point = |(index, (x, y)): (usize, (&[u64], &[u64]))| {
            if is_infinity(x, y) {
                return Ok(G1Affine::zero());
            }
            let found = base_element(x, raw.form, unshift).zip(base_element(y, raw.form, unshift));
            let (x, y) = found.ok_or_else(|| Failure::data(format!("point {index}: coordinate not below p")))?;
            Ok(G1Affine::new(x, y, false))
        };
        raw.coordinates().enumerate().map(point).collect()
    }

    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure> {
        let unshift = shift::<Fr>(SCALAR_LIMBS);
        let scalar = |(index, limbs)| {
            let value = Fr::from_bigint(BigInteger256(limbs));
            let value = value.ok_or_else(|| Failure::data(format!("scalar {index}: not below r")))?;
            Ok(if raw.scalar_form == Form::Montgomery { value * unshift } else { value }.to_bigint())
        };
        raw.scalar_limbs().enumerate().map(scalar).collect()
    }

    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<Self::Sum, Failure> {
        Ok(VariableBase::msm(&bases[..call.n], &scalars[..call.n]).to_affine())
    }

    fn affine(sum: &Self::Sum) -> Affine {
        if sum.is_zero() {
            return Affine::infinity();
        }
        Affine::finite(&sum.to_x_coordinate().to_bigint().0, &sum.to_y_coordinate().to_bigint().0)
    }
}

const CURVES: [Curve; 1] = [Curve::of::<SnarkVm>("bls12-377")];

fn main() {
    let hello = Hello {
        name: "snarkvm",
        version: env!("PEER_LIBRARY_VERSION"),
        curves: &["bls12-377"],
        groups: &["g1"],
        devices: vec!["cpu".into()],
        paths: &["cpu", "batched"],
        scopes: &["resident-bases", "end-to-end"],
        options: &[],
        timed: "snarkvm_algorithms VariableBase::msm over affine bases and BigInteger256 scalars, then to_affine",
    };
    serve(hello, &CURVES, RayonThreads::default());
}
