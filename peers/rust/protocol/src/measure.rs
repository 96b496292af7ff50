//! One workload in a library's own form, and how a sample of it is taken.

use serde_json::{Map, Value};

use crate::clock::Stopwatch;
use crate::message::{Affine, Failure, Outcome, Run, Sample, Scope};
use crate::raw::Raw;

/// A library on one curve: four conversions and the call that is measured.
pub trait Engine: 'static {
    /// Bases in the library's own form.
    type Bases: Send + Sync;
    /// Scalars in the form that the library's entry point takes.
    type Scalars: Send + Sync;
    /// An affine point of the library.
    type Sum: PartialEq + Send;

    /// Limbs of a coordinate.
    const LIMBS: usize;

    /// Reads the bases; infinity is (0, 0).
    fn bases(raw: &Raw) -> Result<Self::Bases, Failure>;
    /// Reads the scalars.
    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure>;
    /// The timed call: the first `n` terms, `n` at least 1, by the library's best documented entry point, to an affine point.
    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, n: usize, threads: usize) -> Result<Self::Sum, Failure>;
    /// Canonical coordinates.
    fn affine(sum: &Self::Sum) -> Affine;
}

/// A loaded workload whose library is no longer a type parameter.
pub trait Loaded: Send + Sync {
    /// Terms loaded.
    fn n(&self) -> usize;
    /// Takes the warm-ups and the samples that `run` asks for, on the current thread.
    fn measure(&self, run: &Run, threads: usize) -> Result<Outcome, Failure>;
}

/// The workload of one engine: what lay in the files and the same in the library's form.
pub struct Workload<E: Engine> {
    raw: Raw,
    bases: E::Bases,
    scalars: E::Scalars,
}

impl<E: Engine> Workload<E> {
    /// Converts `raw`; the files' own form stays at hand for `end-to-end` samples.
    pub fn new(raw: Raw) -> Result<Self, Failure> {
        Ok(Self { bases: E::bases(&raw)?, scalars: E::scalars(&raw)?, raw })
    }

    fn sample(&self, scope: Scope, n: usize, threads: usize) -> Result<(Sample, E::Sum), Failure> {
        let watch = Stopwatch::start();
        let sum = match scope {
            Scope::ResidentBases => E::msm(&self.bases, &self.scalars, n, threads)?,
            Scope::EndToEnd => {
                let (bases, scalars) = (E::bases(&self.raw)?, E::scalars(&self.raw)?);
                E::msm(&bases, &scalars, n, threads)?
            }
        };
        Ok((watch.stop(), sum))
    }
}

impl<E: Engine> Loaded for Workload<E> {
    fn n(&self) -> usize {
        self.raw.n
    }

    fn measure(&self, run: &Run, threads: usize) -> Result<Outcome, Failure> {
        let n = run.n.unwrap_or(self.raw.n);
        if run.scope == Scope::EndToEnd && n != self.raw.n {
            return Err(Failure::usage("end-to-end samples cover the whole load: load the prefix itself"));
        }
        let (mut first, mut agree) = (None, true);
        let mut samples = Vec::with_capacity(run.repeats);
        for turn in 0..run.warmups + run.repeats {
            if n == 0 {
                samples.push(Stopwatch::start().stop());
                continue;
            }
            let (sample, sum) = self.sample(run.scope, n, threads)?;
            match &first {
                None => first = Some(sum),
                Some(seen) => agree &= *seen == sum,
            }
            if turn >= run.warmups {
                samples.push(sample);
            }
        }
        samples.truncate(run.repeats);
        let result = first.as_ref().map_or_else(Affine::infinity, E::affine);
        Ok(Outcome { samples, result, agree, place: "cpu".into(), evidence: evidence(threads) })
    }
}

/// Where a CPU sample ran: this process, with so many threads asked for and so many alive.
fn evidence(threads: usize) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("pid".into(), std::process::id().into());
    facts.insert("threads_asked".into(), threads.into());
    if let Ok(tasks) = std::fs::read_dir("/proc/self/task") {
        facts.insert("threads_alive".into(), tasks.count().into());
    }
    facts
}
