//! Forms of input and options: narrow and Montgomery scalars, prefixes, threads, cancellation, refusals; points of
//! small order, which no subgroup check has removed.

use std::sync::atomic::AtomicBool;

use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::{Field, PrimeField, limbs};
use multiscalar_core::msm::{
    self, Check, Engines, Isa, MsmError, Options, Path, Points, PrepareOptions, Scalars, reference, straus,
};

use crate::support::{Random, asserted_subgroup, expected, isas, known, limbs as raw, prepared, run};

type Curve = tables::bls12_377::G1;
type Scalar = <Curve as CurveParams>::Scalar;

fn bases(n: usize) -> (msm::Prepared<Curve>, Vec<Scalar>) {
    let (points, logarithms) = known::<Curve>(n);
    (prepared(&points, Isa::best()), logarithms)
}

#[test]
fn narrow_and_montgomery_scalars() {
    let (bases, logarithms) = bases(700);
    let mut random = Random(11);
    let words: Vec<u64> = (0..700).map(|_| random.word()).collect();
    let wide = |mask: u64| -> Vec<[u64; 4]> { words.iter().map(|word| [word & mask, 0, 0, 0]).collect() };
    let (u32s, u16s, u8s): (Vec<u32>, Vec<u16>, Vec<u8>) = (
        words.iter().map(|&w| w as u32).collect(),
        words.iter().map(|&w| w as u16).collect(),
        words.iter().map(|&w| w as u8).collect(),
    );
    let truths: Vec<u8> = words.iter().map(|&w| (w as u8) & 2).collect();
    let truth: Vec<[u64; 4]> = words.iter().map(|&w| [w >> 1 & 1, 0, 0, 0]).collect();
    let full: Vec<[u64; 4]> = (0..700).map(|_| random.scalar::<Scalar>()).collect();
    let montgomery: Vec<[u64; 4]> = full.iter().map(|&s| Scalar::from_canonical(s).unwrap().to_mont()).collect();
    for (scalars, plain) in [
        (Scalars::U64(&words), wide(u64::MAX)),
        (Scalars::U32(&u32s), wide(0xffff_ffff)),
        (Scalars::U16(&u16s), wide(0xffff)),
        (Scalars::U8(&u8s), wide(0xff)),
        (Scalars::Bool(&truths), truth),
        (Scalars::Montgomery(&montgomery), full),
    ] {
        let (sum, _) = msm::msm(&bases, scalars, &Options::default()).unwrap();
        assert_eq!(sum, expected::<Curve>(&logarithms, &plain), "{}", scalars.len());
    }
}

#[test]
fn prefixes_and_threads() {
    let (bases, logarithms) = bases(2000);
    let mut random = Random(12);
    let scalars: Vec<[u64; 4]> = (0..2000).map(|_| random.scalar::<Scalar>()).collect();
    for n in [0, 1, 2, 1999, 2000] {
        let expected = expected::<Curve>(&logarithms[..n], &scalars[..n]);
        for threads in [0, 1, 2, 3, 7, 64, 1000] {
            let options = Options { threads, path: Some(Path::Bucket), ..Options::default() };
            assert_eq!(run(&bases, &scalars[..n], &options).unwrap().0, expected, "n {n} threads {threads}");
        }
    }
}

#[test]
fn scalars_beyond_the_order() {
    let (bases, logarithms) = bases(5);
    let r = Scalar::MODULUS;
    let plus = |k: u64| limbs::add(&r, &[k, 0, 0, 0]).0;
    let scalars = [[3, 0, 0, 0], r, plus(1), [u64::MAX; 4], plus(7)];
    let refused = run(&bases, &scalars, &Options::default()).unwrap_err();
    assert_eq!(refused, MsmError::ScalarRange { index: 1 });
    let (sum, _) = run(&bases, &scalars, &Options { reduce: true, ..Options::default() }).unwrap();
    let two = Scalar::ONE.double();
    let most = (0..256).fold(Scalar::ONE, |power, _| power * two) - Scalar::ONE;
    let reduced = [[3, 0, 0, 0], [0; 4], [1, 0, 0, 0], most.to_canonical(), [7, 0, 0, 0]];
    assert_eq!(sum, expected::<Curve>(&logarithms, &reduced));
}

#[test]
fn refusals() {
    let (bases, _) = bases(4);
    let scalars = vec![[1, 0, 0, 0]; 5];
    let error = |options| run(&bases, &scalars[..4], &options).unwrap_err();
    assert_eq!(run(&bases, &scalars, &Options::default()).unwrap_err(), MsmError::Length { bases: 4, scalars: 5 });
    for window in [0, 21, 255] {
        let refused = error(Options { window: Some(window), ..Options::default() });
        assert!(matches!(refused, MsmError::Window { window: w, .. } if w == window));
    }
    let refused = error(Options { endomorphism: Some(true), ..Options::default() });
    assert!(matches!(refused, MsmError::PathUnavailable { .. }));
}

#[test]
fn every_path_heeds_the_flag() {
    let cancelled = AtomicBool::new(true);
    let (points, _) = known::<Curve>(3);
    let bases = asserted_subgroup(&points, Isa::best());
    for path in Path::ALL {
        for endomorphism in [None, Some(true)] {
            let options = Options { path: Some(path), endomorphism, cancel: Some(&cancelled), ..Options::default() };
            let refused = run(&bases, &[[1, 2, 3, 0]; 3], &options).unwrap_err();
            assert_eq!(refused, MsmError::Cancelled, "{path:?}");
        }
    }
}

/// Tables of Straus grow as n 2^w, and their indices have 31 bits: what would not fit is refused before it is made.
#[test]
fn straus_is_for_few_terms() {
    let most = straus::MOST_TERMS;
    let bases = asserted_subgroup(&vec![Affine::<Curve>::GENERATOR; most + 1], Isa::best());
    let scalars = vec![[1, 0, 0, 0]; most + 1];
    let with = |n: usize, window| {
        run(&bases, &scalars[..n], &Options { path: Some(Path::Straus), window, ..Options::default() })
    };
    let (sum, stats) = with(most, None).unwrap();
    assert_eq!((sum, stats.path), (Affine::GENERATOR.mul_limbs(&[most as u64]).to_affine(), Path::Straus));
    assert!(matches!(with(most + 1, None).unwrap_err(), MsmError::PathUnavailable { .. }));
    assert!(matches!(with(most, Some(8)).unwrap_err(), MsmError::PathUnavailable { .. }));
    assert_eq!(with(40, Some(10)).unwrap().0, Affine::GENERATOR.mul_limbs(&[40]).to_affine());
}

/// Scalars may start at any base; infinities before and after it are found where they are.
#[test]
fn parts_of_the_bases() {
    let (mut points, mut logarithms) = known::<Curve>(300);
    for i in [0, 7, 99, 100, 150, 299] {
        (points[i], logarithms[i]) = (Affine::INFINITY, Scalar::ZERO);
    }
    let mut random = Random(14);
    let scalars: Vec<_> = (0..300).map(|_| random.scalar::<Scalar>()).collect();
    for isa in isas() {
        for bases in [prepared(&points, isa), asserted_subgroup(&points, isa)] {
            for (first, n) in [(0, 300), (1, 299), (100, 1), (101, 2), (98, 60), (200, 100), (300, 0)] {
                let expected = expected::<Curve>(&logarithms[first..first + n], &scalars[..n]);
                for path in Path::ALL.map(Some).into_iter().chain([None]) {
                    let (sum, _) = run(&bases, &scalars[..n], &Options { first, path, ..Options::default() }).unwrap();
                    assert_eq!(sum, expected, "{isa:?} {path:?} {first} {n}");
                }
            }
            let beyond = run(&bases, &scalars[..2], &Options { first: 299, ..Options::default() }).unwrap_err();
            assert_eq!(beyond, MsmError::Length { bases: 1, scalars: 2 });
            let beyond = run(&bases, &scalars[..1], &Options { first: usize::MAX, ..Options::default() }).unwrap_err();
            assert_eq!(beyond, MsmError::Length { bases: 0, scalars: 1 });
            assert!(run(&bases, &[], &Options { first: usize::MAX, ..Options::default() }).is_ok());
        }
    }
}

#[test]
fn bad_points() {
    let points = known::<Curve>(3).0;
    let good = raw(&points);
    let prepare = |limbs: &[u64], check| {
        msm::prepare::<Curve>(Points::Montgomery(limbs), &PrepareOptions { check, ..PrepareOptions::default() }).err()
    };
    let changed = |at: usize, to: u64| {
        let mut limbs = good.clone();
        limbs[at] = to;
        limbs
    };
    assert_eq!(prepare(&good, Check::Subgroup), None);
    assert_eq!(prepare(&good[..35], Check::Curve), Some(MsmError::PointLength { limbs: 35, per_point: 12 }));
    assert_eq!(prepare(&changed(29, u64::MAX), Check::None), Some(MsmError::CoordinateRange { index: 2 }));
    assert_eq!(prepare(&changed(14, 5), Check::Curve), Some(MsmError::NotOnCurve { index: 1 }));
    assert_eq!(prepare(&changed(14, 5), Check::None), None);
    let order_three = Affine::<Curve> { x: <Curve as CurveParams>::Field::ZERO, y: <Curve as CurveParams>::Field::ONE };
    let outside = raw(&[points[0], order_three]);
    assert_eq!(prepare(&outside, Check::Curve), None);
    assert_eq!(prepare(&outside, Check::Subgroup), Some(MsmError::NotInSubgroup { index: 1 }));
}

/// MI-44. y^2 = x^3 + 1 has (-1, 0) of order 2, (0, 1) of order 3 and (2, 3) of order 6: doublings meet y = 0, buckets
/// vanish, and negating scalars or splitting them would be wrong.
#[test]
fn points_of_small_order() {
    let one = <Curve as CurveParams>::Field::ONE;
    let two = one.double();
    let orders = [
        Affine { x: -one, y: one - one },
        Affine { x: one - one, y: one },
        Affine { x: two, y: two + one },
        Affine::GENERATOR,
    ];
    let mut random = Random(13);
    for n in [1, 2, 3, 4, 8, 33, 400] {
        let points: Vec<Affine<Curve>> = (0..n).map(|i| orders[i % 4]).collect();
        let alike: Vec<Affine<Curve>> = vec![orders[n % 3]; n];
        let scalars: Vec<[u64; 4]> = (0..n).map(|_| random.scalar::<Scalar>()).collect();
        for points in [points, alike] {
            let expected = reference::msm(&points, &scalars).to_affine();
            for isa in isas() {
                let bases = prepared(&points, isa);
                for path in [None, Some(Path::Bucket)] {
                    let (sum, stats) = run(&bases, &scalars, &Options { path, ..Options::default() }).unwrap();
                    assert_eq!(sum, expected, "n {n} {stats:?}");
                }
            }
        }
    }
}

/// The engine counts what it does, and identical calls cost the same.
#[test]
fn counts_are_there() {
    fn additions<C: CurveParams<Field: Engines>>() -> u64 {
        let (points, _) = known::<C>(1000);
        let mut random = Random(14);
        let scalars: Vec<[u64; 4]> = (0..1000).map(|_| random.scalar::<C::Scalar>()).collect();
        let options = Options { path: Some(Path::Bucket), window: Some(8), threads: 1, ..Options::default() };
        run(&prepared(&points, Isa::Scalar), &scalars, &options).unwrap().1.counts.additions
    }
    // 32 windows: 1,000 terms less 128 first touches, and 2 * 128 for the reduction.
    let count = additions::<Curve>();
    assert!((34_000..37_500).contains(&count), "{count}");
    assert_eq!(count, additions::<Curve>());
}
