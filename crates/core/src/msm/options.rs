//! What a caller may ask of an MSM, and what it reports back.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use super::{Isa, MsmError};

/// How a sum is computed. The cost model chooses; tests and benchmarks may force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// One double-and-add per term, added up: the plain oracle.
    Reference,
    /// Tables of small multiples, all terms in one chain of doublings; for a few terms.
    Straus,
    /// Buckets with batched affine addition.
    Bucket,
}

impl Path {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reference, Self::Straus, Self::Bucket];

    /// The name used in settings and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Straus => "straus",
            Self::Bucket => "bucket",
        }
    }
}

/// Options of one call. `Options::default()` lets the cost model choose everything on one thread per core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Most threads to use, the caller's included; 0 means one per available core.
    pub threads: usize,
    /// Force the window width.
    pub window: Option<u32>,
    /// Force the path.
    pub path: Option<Path>,
    /// Force the use (or not) of the endomorphism; it needs bases proven or asserted to be in the subgroup.
    pub endomorphism: Option<bool>,
    /// Reduce scalars that are not below the group order instead of refusing them.
    pub reduce: bool,
    /// The base of the first scalar; the others follow it.
    pub first: usize,
    /// Checked at least every few milliseconds; once true, the call ends with `MsmError::Cancelled`.
    pub cancel: Option<&'a AtomicBool>,
}

/// `MsmError::Cancelled` once the flag is raised.
pub(crate) fn heed(cancel: Option<&AtomicBool>) -> Result<(), MsmError> {
    match cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        true => Err(MsmError::Cancelled),
        false => Ok(()),
    }
}

/// How a result was computed and what it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The path taken.
    pub path: Path,
    /// The arithmetic.
    pub isa: Isa,
    /// Window width in bits; 0 where there is none.
    pub window: u32,
    /// Number of windows.
    pub windows: u32,
    /// Whether scalars were split by the endomorphism.
    pub endomorphism: bool,
    /// Threads that took part.
    pub threads: usize,
    /// Terms left after zero scalars and points at infinity were dropped.
    pub terms: usize,
    /// Wall time of the phases.
    pub phases: Phases,
    /// Work, counted.
    pub counts: Counts,
}

/// Wall time of the phases of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Reading, validating and classifying the scalars.
    pub scalars: Duration,
    /// Accumulation of terms into buckets and reduction of the buckets, all threads.
    pub buckets: Duration,
    /// The final chain of doublings.
    pub combine: Duration,
}

/// Counted group and field operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Affine additions with a shared inversion: 5M + 1S each.
    pub additions: u64,
    /// Inversions that were shared.
    pub inversions: u64,
    /// Projective additions and doublings of the final combination and of Straus chains.
    pub projective: u64,
}

impl Counts {
    /// The work in field multiplications: 6 a batched addition, 64 an inversion (54 to 70 measured), 9 a projective
    /// operation (7 a doubling, 11 a mixed addition, as many of each).
    pub const fn multiplications(&self) -> u64 {
        6 * self.additions + 64 * self.inversions + 9 * self.projective
    }
}

impl core::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.additions += other.additions;
        self.inversions += other.inversions;
        self.projective += other.projective;
    }
}
