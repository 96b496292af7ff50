//! Microseconds a point by process CPU time, with the phases and the counted work, for tuning.
//!
//! ```text
//! cargo run --release -p multiscalar-core --example sweep -- \
//!     curve=bn254,bls12-381 log=10,16 isa=scalar,ifma512 window=0,13 threads=1 shape=uniform repeats=7
//! ```
//!
//! `window=0` lets the cost model choose. `n=` takes plain sizes. Every result is checked against one scalar
//! multiplication. The figure is the median of the repeats; repeats of all rows are interleaved.

use std::collections::HashMap;

use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::{Field, PrimeField};
use multiscalar_core::msm::{
    self, Check, Engines, Isa, Options, Path, Points, PrepareOptions, Prepared, Scalars, Stats,
};

fn main() {
    let arguments: HashMap<String, String> = std::env::args()
        .skip(1)
        .map(|argument| argument.split_once('=').map(|(k, v)| (k.into(), v.into())).expect("key=value"))
        .collect();
    println!(
        "curve      n        isa     path     glv   c  W thr shape      us/point    wall   scalars buckets combine    M/pt"
    );
    for name in list(&arguments, "curve", "bn254,bls12-377,bls12-381") {
        match name.as_str() {
            "bn254" => sweep::<tables::bn254::G1>(&arguments),
            "bls12-377" => sweep::<tables::bls12_377::G1>(&arguments),
            "bls12-381" => sweep::<tables::bls12_381::G1>(&arguments),
            other => panic!("unknown curve {other}"),
        }
    }
}

fn list(arguments: &HashMap<String, String>, key: &str, default: &str) -> Vec<String> {
    arguments.get(key).map_or(default, String::as_str).split(',').map(str::to_owned).collect()
}

fn numbers(arguments: &HashMap<String, String>, key: &str, default: &str) -> Vec<usize> {
    list(arguments, key, default).iter().map(|text| text.parse().expect(key)).collect()
}

/// One row: what is asked, and the samples.
struct Row {
    n: usize,
    isa: usize,
    shape: String,
    options: Options<'static>,
    samples: Vec<(f64, f64, Stats)>,
}

fn sweep<C: CurveParams<Field: Engines>>(arguments: &HashMap<String, String>) {
    let sizes: Vec<usize> = match arguments.get("n") {
        Some(_) => numbers(arguments, "n", ""),
        None => numbers(arguments, "log", "10,12,14,16").iter().map(|k| 1 << k).collect(),
    };
    let isas: Vec<Isa> = list(arguments, "isa", "scalar,ifma256,ifma512")
        .iter()
        .map(|name| Isa::ALL.into_iter().find(|isa| isa.name() == name).expect("isa"))
        .filter(|isa| isa.is_available())
        .collect();
    let path = arguments.get("path").map(|name| Path::ALL.into_iter().find(|path| path.name() == name).expect("path"));
    let endomorphism = arguments.get("glv").map(|flag| flag == "1");
    let most = sizes.iter().copied().max().unwrap_or(0);
    let limbs = known_points::<C>(most);
    let prepared: Vec<Prepared<C>> = isas
        .iter()
        .map(|&isa| {
            let options = PrepareOptions {
                check: Check::None,
                assert_subgroup: true,
                isa: Some(isa),
                ..PrepareOptions::default()
            };
            msm::prepare(Points::Montgomery(&limbs), &options).expect("points")
        })
        .collect();
    let mut rows = Vec::new();
    for &n in &sizes {
        for shape in list(arguments, "shape", "uniform") {
            for window in numbers(arguments, "window", "0") {
                for threads in numbers(arguments, "threads", "1") {
                    for isa in 0..isas.len() {
                        let window = (window > 0).then_some(window as u32);
                        let options = Options { threads, window, path, endomorphism, ..Options::default() };
                        rows.push(Row { n, isa, shape: shape.clone(), options, samples: Vec::new() });
                    }
                }
            }
        }
    }
    for _ in 0..numbers(arguments, "repeats", "5")[0] {
        for row in &mut rows {
            sample(&prepared[row.isa], row);
        }
    }
    for row in &mut rows {
        print::<C>(row);
    }
}

/// Points (7 + 3 i) G.
fn known_points<C: CurveParams<Field: Engines>>(n: usize) -> Vec<u64> {
    let [first, step] = [7, 3].map(|k| Affine::<C>::GENERATOR.mul_limbs(&[k]).to_affine());
    let points = msm::progression(first, step, n);
    points.iter().flat_map(|p| [p.x.to_mont(), p.y.to_mont()]).flat_map(|l| l.as_ref().to_vec()).collect()
}

fn scalars<S: PrimeField<Limbs = [u64; 4]>>(n: usize, shape: &str) -> Vec<[u64; 4]> {
    let mut state = 5090u64;
    let mut word = || {
        // splitmix64
        state = state.wrapping_add(0x9e3779b97f4a7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
        z ^ z >> 31
    };
    let mut uniform = || S::from_mont([word(), word(), word(), word() >> (257 - S::BITS)]).to_canonical();
    let last = (-S::ONE).to_canonical();
    let equal = uniform();
    (0..n)
        .map(|i| match shape {
            "uniform" => uniform(),
            "equal" => equal,
            "last" => last,
            "bits" => [uniform()[0] & 1, 0, 0, 0],
            "u8" => [uniform()[0] & 255, 0, 0, 0],
            "u64" => [uniform()[0], 0, 0, 0],
            "onehot" => [(i == n / 2) as u64, 0, 0, 0],
            "sparse" => {
                if uniform()[0] % 10 == 0 {
                    uniform()
                } else {
                    [0; 4]
                }
            }
            "witness" => match uniform()[0] % 10 {
                0..5 => [uniform()[0] & 1, 0, 0, 0],
                5..8 => [uniform()[0] & 255, 0, 0, 0],
                _ => uniform(),
            },
            other => panic!("unknown shape {other}"),
        })
        .collect()
}

fn sample<C: CurveParams<Field: Engines>>(bases: &Prepared<C>, row: &mut Row) {
    let scalars = scalars::<C::Scalar>(row.n, &row.shape);
    let (cpu, wall) = (cpu_time(), std::time::Instant::now());
    let (sum, stats) = msm::msm(bases, Scalars::Canonical(&scalars), &row.options).expect("msm");
    row.samples.push((cpu_time() - cpu, wall.elapsed().as_secs_f64(), stats));
    let integer = |k: u64| C::Scalar::from_canonical([k, 0, 0, 0]).expect("small");
    let total = scalars.iter().enumerate().fold(C::Scalar::ZERO, |total, (i, &scalar)| {
        total + C::Scalar::from_canonical(scalar).expect("reduced") * integer(7 + 3 * i as u64)
    });
    assert_eq!(sum, Affine::GENERATOR.mul_limbs(&total.to_canonical()).to_affine(), "wrong sum");
}

/// CPU time of this process in seconds: user and system ticks of all threads in nanoseconds.
fn cpu_time() -> f64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct is the one that 64-bit Linux fills.
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.seconds as f64 + time.nanoseconds as f64 * 1e-9
}

fn print<C: CurveParams>(row: &mut Row) {
    row.samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (cpu, wall, stats) = row.samples[row.samples.len() / 2];
    let each = |seconds: f64| seconds * 1e6 / row.n as f64;
    println!(
        "{:9} {:8} {:8} {:9} {:5} {:2} {:3} {:2} {:10} {:8.3} {:8.3} {:7.3} {:7.3} {:7.3} {:8.1}",
        C::NAME,
        row.n,
        stats.isa.name(),
        stats.path.name(),
        stats.endomorphism,
        stats.window,
        stats.windows,
        stats.threads,
        row.shape,
        each(cpu),
        each(wall),
        each(stats.phases.scalars.as_secs_f64()),
        each(stats.phases.buckets.as_secs_f64()),
        each(stats.phases.combine.as_secs_f64()),
        stats.counts.multiplications() as f64 / row.n as f64,
    );
}
