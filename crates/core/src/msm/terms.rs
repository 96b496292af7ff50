//! The terms of a call, classified: zero scalars and bases at infinity are dropped, scalars close to the group order
//! become short negative ones, and the longest scalar that is left decides the number of windows.
//!
//! Plain arrays of uniform scalars are read in place; anything else is copied once.

use core::ops::Range;
use core::sync::atomic::AtomicBool;
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use super::digits::Window;
use super::{MsmError, Scalars, options, pool};
use crate::field::{PrimeField, limbs};

/// Scalars with the bases they belong to.
pub(super) struct Terms<'a> {
    limbs: Cow<'a, [u64]>,
    /// Limbs of one scalar.
    pub(super) stride: usize,
    /// Base of each scalar times two, plus one if the term is negative; empty: the i-th base.
    bases: Vec<u32>,
    /// No scalar is longer.
    pub(super) bits: u32,
    /// Scalars of full length that would have as many bits: what the cost depends on when most scalars are short.
    pub(super) dense: usize,
}

impl<'a> Terms<'a> {
    /// Terms made elsewhere: scalar i, of at most `bits` bits, belongs to base `bases[i] / 2`, negated if odd.
    pub(super) fn new(limbs: Vec<u64>, stride: usize, bases: Vec<u32>, bits: u32) -> Self {
        debug_assert_eq!(limbs.len(), stride * bases.len());
        let dense = bases.len();
        Self { limbs: limbs.into(), stride, bases, bits, dense }
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.limbs.len() / self.stride
    }

    /// Scalars and signed bases of a range of terms.
    #[inline(always)]
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = (&[u64], u32)> {
        let scalars = self.limbs(range.clone()).chunks_exact(self.stride);
        let bases = if self.bases.is_empty() { &[] } else { &self.bases[range.clone()] };
        scalars
            .enumerate()
            .map(move |(i, scalar)| (scalar, bases.get(i).copied().unwrap_or(((range.start + i) as u32) << 1)))
    }

    /// The limbs of the scalars of a range of terms.
    pub(super) fn limbs(&self, range: Range<usize>) -> &[u64] {
        &self.limbs[range.start * self.stride..range.end * self.stride]
    }

    /// Calls `each` with the digit and the signed base of every term of a range.
    #[inline(always)]
    pub(super) fn digits(&self, range: Range<usize>, window: &Window, mut each: impl FnMut(i32, u32)) {
        let scalars = self.limbs(range.clone());
        if self.bases.is_empty() {
            let first = range.start as u32;
            window.digits(scalars, self.stride, |i, digit| each(digit, (first + i as u32) << 1));
        } else {
            let bases = &self.bases[range];
            window.digits(scalars, self.stride, |i, digit| each(digit, bases[i]));
        }
    }
}

/// What to do with the scalars, and which of them belong to nothing.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// Indices of bases at infinity, ascending; counted from a base before or at that of the first scalar.
    pub(super) infinities: &'a [u32],
    /// Index of the base of the first scalar, counted like those.
    pub(super) first: usize,
    /// Reduce scalars that are not below the group order instead of refusing them.
    pub(super) reduce: bool,
    /// r P = O is known for every base, so s P = -(r - s) P.
    pub(super) negate: bool,
    /// Threads that may be used.
    pub(super) threads: usize,
    /// Once true, classifying ends with `MsmError::Cancelled`.
    pub(super) cancel: Option<&'a AtomicBool>,
}

impl Rules<'_> {
    #[inline(always)]
    fn drops(&self, i: usize, scalar: &[u64; 4]) -> bool {
        *scalar == [0; 4]
            || (!self.infinities.is_empty() && self.infinities.binary_search(&((self.first + i) as u32)).is_ok())
    }
}

/// Scalars that are read at a time, and between two looks at the cancellation flag.
const CHUNK: usize = 1 << 12;

/// What the first pass over the scalars finds.
#[derive(Clone, Copy, Default)]
struct Survey {
    /// Terms that count.
    terms: usize,
    /// All scalars or-ed: as long as the longest.
    any: [u64; 4],
    /// The same when each may be replaced by its negative.
    any_short: [u64; 4],
    /// Length of all scalars together.
    total_bits: u64,
}

impl Survey {
    fn of<S: PrimeField<Limbs = [u64; 4]>>(
        scalars: &Scalars<'_>,
        range: Range<usize>,
        rules: &Rules<'_>,
    ) -> Result<Self, MsmError> {
        options::heed(rules.cancel)?;
        let mut survey = Self::default();
        for i in range {
            let given = scalars.get::<S>(i, rules.reduce)?;
            if rules.drops(i, &given) {
                continue;
            }
            survey.terms += 1;
            survey.total_bits += u64::from(limbs::bit_length(&given));
            // Only a long scalar can have a shorter negative.
            let short = if rules.negate && given[3] != 0 { shorter::<S>(&given).0 } else { given };
            for (j, (given, short)) in given.into_iter().zip(short).enumerate() {
                survey.any[j] |= given;
                survey.any_short[j] |= short;
            }
        }
        Ok(survey)
    }

    fn merge(mut self, other: &Self) -> Self {
        self.terms += other.terms;
        self.total_bits += other.total_bits;
        for j in 0..4 {
            self.any[j] |= other.any[j];
            self.any_short[j] |= other.any_short[j];
        }
        self
    }

    /// The survey of all scalars, on several threads if there are many; errors name the first bad scalar.
    fn of_all<S: PrimeField<Limbs = [u64; 4]>>(scalars: &Scalars<'_>, rules: &Rules<'_>) -> Result<Self, MsmError> {
        let chunks = scalars.len().div_ceil(CHUNK);
        let surveys: Vec<Mutex<Option<Result<Self, MsmError>>>> = (0..chunks).map(|_| Mutex::default()).collect();
        pool::run(rules.threads, chunks, &|chunk| {
            let range = chunk * CHUNK..scalars.len().min((chunk + 1) * CHUNK);
            *surveys[chunk].lock().unwrap_or_else(PoisonError::into_inner) = Some(Self::of::<S>(scalars, range, rules));
        });
        surveys
            .into_iter()
            .filter_map(|survey| survey.into_inner().unwrap_or_else(PoisonError::into_inner))
            .try_fold(Self::default(), |all, survey| Ok(all.merge(&survey?)))
    }
}

/// The shorter of s and r - s, and whether that is the latter.
#[inline(always)]
fn shorter<S: PrimeField<Limbs = [u64; 4]>>(scalar: &[u64; 4]) -> ([u64; 4], bool) {
    let negative = limbs::sub(&S::MODULUS, scalar).0;
    let flip = limbs::less(&negative, scalar);
    (limbs::select(flip, &negative, scalar), flip)
}

/// Reads and classifies the scalars.
pub(super) fn classify<'a, S: PrimeField<Limbs = [u64; 4]>>(
    scalars: &Scalars<'a>,
    rules: &Rules<'_>,
) -> Result<Terms<'a>, MsmError> {
    let survey = Survey::of_all::<S>(scalars, rules)?;
    let [bits, short_bits] = [survey.any, survey.any_short].map(|any| limbs::bit_length(&any));
    // A bit or two less would seldom save a window, and the copy costs more.
    let shorten = short_bits + 8 <= bits;
    let mut terms = match scalars.limbs() {
        Some((limbs, stride)) if !shorten && !rules.reduce && survey.terms == scalars.len() => {
            Terms { limbs: limbs.into(), stride, bases: Vec::new(), bits, dense: 0 }
        }
        _ => copied::<S>(scalars, rules, survey.terms, shorten.then_some(short_bits), bits)?,
    };
    let dense = survey.total_bits.div_ceil(u64::from(bits.max(1))) as usize;
    // Uniform scalars are a bit shorter than the longest on average.
    terms.dense = if dense + dense / 16 >= survey.terms || shorten { survey.terms } else { dense };
    Ok(terms)
}

/// The terms that count, shortened if that makes them `shortened` bits long.
fn copied<'a, S: PrimeField<Limbs = [u64; 4]>>(
    scalars: &Scalars<'_>,
    rules: &Rules<'_>,
    count: usize,
    shortened: Option<u32>,
    bits: u32,
) -> Result<Terms<'a>, MsmError> {
    let bits = shortened.unwrap_or(bits);
    let stride = (bits as usize).div_ceil(64).max(1);
    let mut limbs = Vec::with_capacity(count * stride);
    let mut bases = Vec::with_capacity(count);
    for i in 0..scalars.len() {
        if i.is_multiple_of(CHUNK) {
            options::heed(rules.cancel)?;
        }
        // The survey has seen every scalar, so none is refused any more.
        let Ok(given) = scalars.get::<S>(i, rules.reduce) else { continue };
        if rules.drops(i, &given) {
            continue;
        }
        let (scalar, flip) = if shortened.is_some() { shorter::<S>(&given) } else { (given, false) };
        limbs.extend_from_slice(&scalar[..stride]);
        bases.push((i as u32) << 1 | flip as u32);
    }
    Ok(Terms::new(limbs, stride, bases, bits))
}
