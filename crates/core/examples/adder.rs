//! Time of one batched affine addition, by arithmetic, curve, batch size and size of the bucket array.
//!
//! `cargo run --release --example adder [curve] [isa]`. Prints nanoseconds and core cycles (by a chain of
//! multiplications timed beside it) for an addition, inversion and exceptional-case tests included; the minimum
//! of many batches. Destinations are random and distinct, sources come in order, as in the bucket method.

use std::hint::black_box;
use std::time::Instant;

use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::Field;
use multiscalar_core::msm::Engines;
use multiscalar_core::msm::adder::{BatchAdder, Packed, Pair};

const SOURCES: usize = 1 << 14;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    curve::<tables::bn254::G1>(&wanted);
    curve::<tables::bls12_377::G1>(&wanted);
    curve::<tables::bls12_381::G1>(&wanted);
}

fn curve<C: CurveParams<Field: Engines>>(wanted: &[String]) {
    if wanted.first().is_some_and(|name| name != C::NAME) {
        return;
    }
    println!("{:10} {:8} {:>8} {:>6} {:>8} {:>8}", C::NAME, "isa", "buckets", "batch", "ns", "cycles");
    rows::<C, <C::Field as Engines>::Scalar>(wanted);
    rows::<C, <C::Field as Engines>::Ifma256>(wanted);
    rows::<C, <C::Field as Engines>::Ifma512>(wanted);
}

fn rows<C: CurveParams, A: BatchAdder<C::Field>>(wanted: &[String]) {
    if !A::ISA.is_available() || wanted.get(1).is_some_and(|name| name != A::ISA.name()) {
        return;
    }
    let sources = points::<C>(SOURCES, 3);
    for (buckets, batches) in [(1 << 12, &[128, 512, 1024, 2048][..]), (1 << 15, &[512, 1024, 2048, 4096][..])] {
        for &batch in batches {
            let (ns, cycles) = time::<C, A>(buckets, batch, &sources);
            println!("{:10} {:8} {buckets:8} {batch:6} {ns:8.1} {cycles:8.1}", "", A::ISA.name());
        }
    }
}

/// The median over many batches of (nanoseconds, cycles) an addition.
fn time<C: CurveParams, A: BatchAdder<C::Field>>(
    buckets: usize,
    batch: usize,
    sources: &[Packed<C::Field>],
) -> (f64, f64) {
    let mut accumulators = points::<C>(buckets, 7);
    let mut sources = sources.to_vec();
    A::import(&mut accumulators);
    A::import(&mut sources);
    let mut adder = A::new(batch);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut order: Vec<u32> = (0..buckets as u32).collect();
    let mut samples = Vec::new();
    for round in 0..(1 << 19) / batch {
        for i in 0..batch {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(i, i + (state >> 33) as usize % (buckets - i));
        }
        let first = round * batch % SOURCES;
        let pairs: Vec<_> =
            order[..batch].iter().enumerate().map(|(i, &dst)| Pair::new(dst, (first + i) as u32, i % 3 == 0)).collect();
        let mut cancelled = Vec::new();
        let before = cycle();
        let start = Instant::now();
        // SAFETY: destinations are distinct and below `buckets`; the sources are below SOURCES, as `batch` divides it.
        unsafe { adder.add(accumulators.as_mut_ptr(), sources.as_ptr(), &pairs, &mut cancelled) };
        let ns = start.elapsed().as_nanos() as f64 / batch as f64;
        samples.push((ns, ns / cycle().min(before)));
        black_box(&cancelled);
    }
    samples.sort_by(|a, b| a.1.total_cmp(&b.1));
    samples[samples.len() / 4]
}

/// Nanoseconds of a core cycle: a chain of multiplications has a latency of 3 on all recent x86-64 CPUs.
fn cycle() -> f64 {
    let start = Instant::now();
    let mut x = black_box(3_u64);
    for _ in 0..2000 {
        x = x.wrapping_mul(x);
    }
    black_box(x);
    start.elapsed().as_nanos() as f64 / 6000.0
}

/// n points k G for consecutive k, in the 64-bit domain.
fn points<C: CurveParams>(n: usize, first: u64) -> Vec<Packed<C::Field>> {
    let mut point = Affine::<C>::GENERATOR.mul_limbs(&[first << 20]);
    (0..n)
        .map(|_| {
            let affine = point.to_affine();
            point = point.add_affine(&Affine::GENERATOR);
            Packed { x: affine.x.to_mont(), y: affine.y.to_mont() }
        })
        .collect()
}
