//! The adder at the ends of its bounds: operands up to 3 p and 4 p whose limbs are all zeros or all ones, which no points
//! of a curve would reach. The formulas hold for any field elements, so any pairs will do.

use super::exceptions::{join, reduced, split};
use super::{EightLaneAdder, LaneAdder};
use crate::curve::tables::{bls12_377, bn254};
use crate::field::lanes::ifma256::{Ifma256, Ifma256Vl};
use crate::field::lanes::ifma512::Ifma512;
use crate::field::lanes::params::{LIMB_MASK, multiple};
use crate::field::lanes::{Isa, Repack};
use crate::field::{Field, FieldParams, Fp, LaneParams, limbs};
use crate::msm::adder::{BatchAdder, Packed, Pair};

/// Values below `most` p: the largest ones, then limbs of zeros, ones and noise.
fn extremes<P: LaneParams<L>, const N: usize, const L: usize>(
    most: u64,
    count: usize,
    mut state: u64,
) -> Vec<[u64; N]> {
    let limit = join::<N, L>(multiple(P::MODULUS, most));
    let mut one = [0; N];
    one[0] = 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 12
    };
    let mut values = vec![limbs::sub(&limit, &one).0, one];
    while values.len() < count {
        let clean: [u64; L] = core::array::from_fn(|_| match next() % 3 {
            0 => 0,
            1 => LIMB_MASK,
            _ => next(),
        });
        let top = multiple(P::MODULUS, most)[L - 1];
        let value = join::<N, L>(core::array::from_fn(|i| if i + 1 < L { clean[i] } else { next() % (top + 1) }));
        if limbs::less(&value, &limit) {
            values.push(value);
        }
    }
    values
}

/// x and y of (x1, y1) + (x2, ±y2), in the lane domain, by the formulas; for x1 != x2.
fn sum<P: FieldParams<N>, const N: usize>(
    a: &Packed<Fp<P, N>>,
    b: &Packed<Fp<P, N>>,
    negate: bool,
    scale: Fp<P, N>,
) -> [Fp<P, N>; 2] {
    let unscale = scale.invert().expect("R52 is not zero");
    let [x1, y1, x2, y2] = [a.x, a.y, b.x, b.y].map(|limbs| reduced::<P, N>(limbs) * unscale);
    let y2 = if negate { -y2 } else { y2 };
    let slope = (y2 - y1) * (x2 - x1).invert().expect("x1 and x2 differ");
    let x = slope.square() - x1 - x2;
    [x * scale, (slope * (x1 - x) - y1) * scale]
}

fn adds_extremes<I: Isa, P: FieldParams<N> + LaneParams<L>, const N: usize, const L: usize>(isa: I)
where
    I::Vector: Repack<N, L>,
{
    const COUNT: usize = 203;
    let points = |seed: u64| -> Vec<Packed<Fp<P, N>>> {
        let (xs, ys) = (extremes::<P, N, L>(3, COUNT, seed), extremes::<P, N, L>(4, COUNT, seed + 1));
        xs.into_iter().zip(ys).map(|(x, y)| Packed { x, y }).collect()
    };
    let bound = |k| join::<N, L>(multiple(<P as LaneParams<L>>::MODULUS, k));
    let scale: Fp<P, N> = Fp::from_mont(join::<N, L>(<P as LaneParams<L>>::R));
    assert_eq!(split::<N, L>(scale.to_mont()), <P as LaneParams<L>>::R);
    for round in 0..20 {
        let (mut sums, sources) = (points(2 * round + 1), points(1000 + 2 * round));
        let before = sums.clone();
        let pairs: Vec<_> =
            (0..COUNT as u32).map(|i| Pair::new(i, (i + round as u32) % COUNT as u32, i % 2 == 0)).collect();
        let mut cancelled = Vec::new();
        // SAFETY: indices are below COUNT, and destinations differ.
        unsafe {
            LaneAdder::<I, P, N, L>::with_isa(isa, COUNT).add_batch(
                sums.as_mut_ptr(),
                sources.as_ptr(),
                &pairs,
                &mut cancelled,
            );
        }
        for pair in pairs {
            let (a, b) = (&before[pair.dst as usize], &sources[pair.src()]);
            if reduced::<P, N>(a.x) == reduced(b.x) {
                continue; // the tests of all adders have these
            }
            let got = sums[pair.dst as usize];
            assert!(limbs::less(&got.x, &bound(3)) && limbs::less(&got.y, &bound(4)), "{got:x?}");
            assert_eq!([got.x, got.y].map(reduced::<P, N>), sum(a, b, pair.negate(), scale), "{a:x?} + {b:x?}");
        }
    }
}

fn every_field<I: Isa>(name: &str)
where
    I::Vector: Repack<4, 5> + Repack<6, 8>,
{
    let Some(isa) = I::detect() else {
        println!("skipped: this CPU lacks {name}");
        return;
    };
    adds_extremes::<I, bn254::Fq, 4, 5>(isa);
    adds_extremes::<I, bls12_377::Fq, 6, 8>(isa); // its top limb is the shortest, and so says least about a value
}

#[test]
fn operands_at_their_bounds() {
    every_field::<Ifma512>("AVX-512 IFMA");
    every_field::<Ifma256Vl>("AVX-512 IFMA with VL");
    every_field::<Ifma256>("AVX-IFMA");
}

/// Bad points among good ones are found wherever they are; infinity passes; what passes can be exported again.
#[test]
fn admission() {
    type Adder = EightLaneAdder<bn254::Fq, 4, 5>;
    if Ifma512::detect().is_none() {
        println!("skipped: this CPU lacks AVX-512 IFMA");
        return;
    }
    let (x, y) = <bn254::G1 as crate::curve::CurveParams>::GENERATOR;
    let good = Packed::<Fp<bn254::Fq, 4>> { x: x.to_mont(), y: y.to_mont() };
    let bad = Packed { x: good.x, y: good.x };
    let b = <bn254::G1 as crate::curve::CurveParams>::B;
    for count in [0, 1, 7, 8, 9, 40] {
        let mut points = vec![good; count];
        points.iter_mut().step_by(3).for_each(|point| *point = Packed::EMPTY);
        let given = points.clone();
        assert_eq!(Adder::admit(&mut points, false, Some(b)), None);
        Adder::export(&mut points);
        assert_eq!(points, given);
        for at in 0..count {
            let mut points = given.clone();
            points[at..].fill(bad);
            assert_eq!(Adder::admit(&mut points, false, Some(b)), Some(at), "{count}");
            assert_eq!(Adder::admit(&mut given.clone(), false, None), None);
        }
    }
}
