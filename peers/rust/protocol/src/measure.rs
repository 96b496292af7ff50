//! One workload in a library's own form, and how a sample of it is taken.

use serde_json::{Map, Value};

use crate::clock::Stopwatch;
use crate::message::{Affine, Failure, Outcome, Run, Sample, Scope};
use crate::raw::Raw;

/// One call as it was asked for.
pub struct Call<'a> {
    /// Terms, at least 1.
    pub n: usize,
    pub threads: usize,
    pub path: &'a str,
    pub scope: Scope,
    pub options: &'a Map<String, Value>,
}

/// What a library knows of its own time inside one call.
#[derive(Default)]
pub struct Clocks {
    pub copy_ns: Option<u64>,
    pub device_ns: Option<u64>,
}

/// A library on one curve: its conversions and the call that is measured.
pub trait Engine: 'static {
    /// Bases in the library's own form.
    type Bases: Send + Sync;
    /// Scalars in the form that the library's entry point takes.
    type Scalars: Send + Sync;
    /// An affine point of the library, or what becomes one at no cost that matters.
    type Sum: PartialEq + Send;

    /// Limbs of a coordinate.
    const LIMBS: usize;
    /// Whether the library's call takes host arrays as its users hold them: then that call alone is `end-to-end`.
    const TAKES_HOST_ARRAYS: bool = false;

    /// Reads the bases; infinity is (0, 0).
    fn bases(raw: &Raw) -> Result<Self::Bases, Failure>;
    /// Reads the scalars.
    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure>;
    /// What the scope leaves out of the clock beyond the two conversions, before the first warm-up.
    fn prepare(_bases: &Self::Bases, _scalars: &Self::Scalars, _call: &Call) -> Result<(), Failure> {
        Ok(())
    }
    /// The timed call, by the library's best documented entry point, to an affine point.
    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<Self::Sum, Failure>;
    /// Canonical coordinates.
    fn affine(sum: &Self::Sum) -> Affine;
    /// Parts of the time of the call that gave `sum`.
    fn clocks(_sum: &Self::Sum) -> Clocks {
        Clocks::default()
    }
    /// Where the call ran and what shows it; `sum` is the last one.
    fn place(_sum: Option<&Self::Sum>) -> (String, Map<String, Value>) {
        ("cpu".into(), Map::new())
    }
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

    fn sample(&self, call: &Call) -> Result<(Sample, E::Sum), Failure> {
        let watch = Stopwatch::start();
        let sum = if call.scope == Scope::EndToEnd && !E::TAKES_HOST_ARRAYS {
            let (bases, scalars) = (E::bases(&self.raw)?, E::scalars(&self.raw)?);
            E::msm(&bases, &scalars, call)?
        } else {
            E::msm(&self.bases, &self.scalars, call)?
        };
        let times = watch.stop();
        let Clocks { copy_ns, device_ns } = E::clocks(&sum);
        Ok((Sample { copy_ns, device_ns, ..times }, sum))
    }
}

impl<E: Engine> Loaded for Workload<E> {
    fn n(&self) -> usize {
        self.raw.n
    }

    fn measure(&self, run: &Run, threads: usize) -> Result<Outcome, Failure> {
        let n = run.n.unwrap_or(self.raw.n);
        if run.scope == Scope::EndToEnd && n != self.raw.n && !E::TAKES_HOST_ARRAYS {
            return Err(Failure::usage("end-to-end samples cover the whole load: load the prefix itself"));
        }
        let call = Call { n, threads, path: &run.path, scope: run.scope, options: &run.options };
        let (mut sums, mut samples) = (Vec::new(), Vec::with_capacity(run.repeats));
        if n > 0 {
            E::prepare(&self.bases, &self.scalars, &call)?;
        }
        for turn in 0..run.warmups + run.repeats {
            let sample = if n > 0 {
                let (sample, sum) = self.sample(&call)?;
                sums.push(sum);
                sample
            } else {
                Stopwatch::start().stop()
            };
            if turn >= run.warmups {
                samples.push(sample);
            }
        }
        let result = sums.first().map_or_else(Affine::infinity, E::affine);
        let (place, shown) = E::place(sums.last());
        let agree = sums.iter().all(|sum| *sum == sums[0]);
        Ok(Outcome { samples, result, agree, place, evidence: evidence(threads, shown) })
    }
}

/// What shows where the samples ran: this process, its threads, and what the library adds.
fn evidence(threads: usize, mut facts: Map<String, Value>) -> Map<String, Value> {
    facts.insert("pid".into(), std::process::id().into());
    facts.insert("threads_asked".into(), threads.into());
    if let Ok(tasks) = std::fs::read_dir("/proc/self/task") {
        facts.insert("threads_alive".into(), tasks.count().into());
    }
    facts
}
