//! The engine against known logarithms: every path and instruction set, every size, width and shape of scalars.

use crate::support::{Random, asserted_subgroup, expected, isas, known, prepared, run};
use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::{Field, PrimeField};
use multiscalar_core::msm::{Engines, Options, Path, Prepared};

fn check<C: CurveParams<Field: Engines>>(
    bases: &[Prepared<C>],
    logarithms: &[C::Scalar],
    scalars: &[[u64; 4]],
    options: &Options<'_>,
) {
    let expected = expected::<C>(logarithms, scalars);
    for bases in bases {
        let (sum, stats) = run(bases, scalars, options).expect("valid inputs");
        assert_eq!(sum, expected, "{} n {} {options:?} {stats:?}", C::NAME, scalars.len());
    }
}

/// The points for every instruction set; `asserted` to be in the subgroup, which allows to split and negate scalars.
fn all<C: CurveParams<Field: Engines>>(points: &[Affine<C>], asserted: bool) -> Vec<Prepared<C>> {
    isas().map(|isa| if asserted { asserted_subgroup(points, isa) } else { prepared(points, isa) }).collect()
}

/// Makes the i-th scalar.
type Shape = Box<dyn Fn(usize, &mut Random) -> [u64; 4]>;

/// All sizes to 300, then around powers of two and other switches.
fn every_size<C: CurveParams<Field: Engines>>() {
    let (points, logarithms) = known::<C>(4097);
    let bases = all(&points, true);
    let mut random = Random(1);
    let scalars: Vec<_> = (0..4097).map(|_| random.scalar::<C::Scalar>()).collect();
    for n in (0..=300).chain([511, 512, 513, 1023, 1025, 4095, 4096, 4097]) {
        check(&bases, &logarithms[..n], &scalars[..n], &Options::default());
    }
}

/// Every width with scalars whose digits are extreme; all widths that divide L or L + 1 are among them.
fn every_width<C: CurveParams<Field: Engines>>() {
    let (points, logarithms) = known::<C>(40);
    let bases = [all(&points, false), all(&points, true)];
    let mut random = Random(2);
    let one = C::Scalar::ONE;
    let half = C::Scalar::from_canonical([2, 0, 0, 0]).and_then(|two| two.invert()).expect("odd order");
    for window in 1..=20 {
        let power = |k: u32| (0..k).fold(one, |power, _| power.double());
        let top = C::Scalar::BITS - 1;
        let mut scalars: Vec<[u64; 4]> = [-one, -one - one, half - one, power(top) - one, power(top)]
            .into_iter()
            .chain(
                (0..top / window)
                    .flat_map(|j| [power(window * j), power(window * j) - one, power(window * (j + 1) - 1)]),
            )
            .map(Field::to_canonical)
            .collect();
        scalars.resize_with(scalars.len().min(30), || [0; 4]);
        scalars.resize_with(40, || random.scalar::<C::Scalar>());
        for threads in [1, 3] {
            let options = Options { window: Some(window), path: Some(Path::Bucket), threads, ..Options::default() };
            check(&bases[threads / 2], &logarithms, &scalars, &options);
        }
    }
}

/// Every shape of scalars, at sizes with full queues and several cells.
fn every_shape<C: CurveParams<Field: Engines>>() {
    let n = 3000;
    let (points, logarithms) = known::<C>(n);
    let bases = [all(&points, false), all(&points, true)];
    let mut random = Random(3);
    let last = (-C::Scalar::ONE).to_canonical();
    let equal = random.scalar::<C::Scalar>();
    let shapes: Vec<Shape> = vec![
        Box::new(|_, _| [0; 4]),
        Box::new(|_, _| [1, 0, 0, 0]),
        Box::new(move |_, _| last),
        Box::new(move |_, _| equal),
        Box::new(move |i, _| [[0; 4], [1, 0, 0, 0], last][i % 3]),
        Box::new(|_, random| [random.word() & 1, 0, 0, 0]),
        Box::new(|_, random| [random.word() & 0xff, 0, 0, 0]),
        Box::new(|_, random| [random.word(), 0, 0, 0]),
        Box::new(|i, _| {
            let mut power = [0; 4];
            power[i % 252 / 64] = 1 << (i % 252 % 64);
            power
        }),
        Box::new(|i, random| if i == 1234 { random.scalar::<C::Scalar>() } else { [0; 4] }),
        Box::new(|i, random| if i % 2 == 0 { [1 << 12, 0, 0, 0] } else { random.scalar::<C::Scalar>() }),
    ];
    for shape in shapes {
        let scalars: Vec<_> = (0..n).map(|i| shape(i, &mut random)).collect();
        for threads in [1, 2] {
            check(&bases[threads - 1], &logarithms, &scalars, &Options { threads, ..Options::default() });
        }
    }
}

/// Equal points, opposite points, infinities, and sums that vanish.
fn related_points<C: CurveParams<Field: Engines>>() {
    let g = Affine::<C>::GENERATOR;
    let one = C::Scalar::ONE;
    let mut random = Random(4);
    let s = random.scalar::<C::Scalar>();
    for n in [2, 3, 31, 32, 33, 600] {
        let same = vec![g; n];
        check(&all(&same, n % 2 == 0), &vec![one; n], &vec![s; n], &Options::default());
        let opposite: Vec<_> = (0..n).map(|i| if i % 2 == 0 { g } else { -g }).collect();
        let signs: Vec<_> = (0..n).map(|i| if i % 2 == 0 { one } else { -one }).collect();
        check(&all(&opposite, n % 2 == 0), &signs, &vec![s; n], &Options::default());
        check(&all(&vec![Affine::<C>::INFINITY; n], true), &vec![C::Scalar::ZERO; n], &vec![s; n], &Options::default());
        let scattered: Vec<_> = (0..n).map(|i| if i % 3 == 0 { Affine::INFINITY } else { g }).collect();
        let present: Vec<_> = (0..n).map(|i| if i % 3 == 0 { C::Scalar::ZERO } else { one }).collect();
        let scalars: Vec<_> = (0..n).map(|_| random.scalar::<C::Scalar>()).collect();
        check(&all(&scattered, n % 2 == 0), &present, &scalars, &Options::default());
        check(
            &all(&scattered, n % 2 == 0),
            &present,
            &vec![[1, 0, 0, 0]; n],
            &Options { path: Some(Path::Bucket), ..Options::default() },
        );
    }
}

/// All paths, with and without the endomorphism, give the same sum.
fn every_path<C: CurveParams<Field: Engines>>() {
    let (points, logarithms) = known::<C>(70);
    let bases = all(&points, true);
    let mut random = Random(5);
    for n in [1, 2, 3, 4, 5, 16, 33, 64, 70] {
        let scalars: Vec<_> = (0..n).map(|_| random.scalar::<C::Scalar>()).collect();
        for path in Path::ALL {
            for endomorphism in [Some(false), Some(true)] {
                let options = Options { path: Some(path), endomorphism, threads: 2, ..Options::default() };
                check(&bases, &logarithms[..n], &scalars, &options);
            }
        }
    }
}

macro_rules! every_curve {
    ($($test:ident),*) => {
        every_curve!(@ bn254, $($test),*);
        every_curve!(@ bls12_377, $($test),*);
        every_curve!(@ bls12_381, $($test),*);
    };
    (@ $curve:ident, $($test:ident),*) => {
        mod $curve {
            use super::*;
            $(#[test] fn $test() { super::$test::<tables::$curve::G1>(); })*
        }
    };
}

every_curve!(every_size, every_width, every_shape, every_path, related_points);
