//! The terms of a call, classified: zero scalars and bases at infinity are dropped, scalars close to the group order
//! become short negative ones, and the longest scalar that is left decides the number of windows.
//!
//! Plain arrays of uniform scalars are read in place; anything else is copied once.

use std::borrow::Cow;

use super::{MsmError, Scalars};
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
}

impl<'a> Terms<'a> {
    /// Terms made elsewhere: scalar i, of at most `bits` bits, belongs to base `bases[i] / 2`, negated if odd.
    pub(super) fn new(limbs: Vec<u64>, stride: usize, bases: Vec<u32>, bits: u32) -> Self {
        debug_assert_eq!(limbs.len(), stride * bases.len());
        Self { limbs: limbs.into(), stride, bases, bits }
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.limbs.len() / self.stride
    }

    /// Scalars and signed bases of a range of terms.
    #[inline(always)]
    pub(super) fn range(&self, range: core::ops::Range<usize>) -> impl Iterator<Item = (&[u64], u32)> {
        let scalars = self.limbs[range.start * self.stride..range.end * self.stride].chunks_exact(self.stride);
        let bases = if self.bases.is_empty() { &[] } else { &self.bases[range.clone()] };
        scalars
            .enumerate()
            .map(move |(i, scalar)| (scalar, bases.get(i).copied().unwrap_or(((range.start + i) as u32) << 1)))
    }
}

/// What the first pass over the scalars finds.
#[derive(Clone, Copy, Default)]
struct Survey {
    /// Terms that count.
    terms: usize,
    /// Longest scalar as given.
    bits: u32,
    /// Longest scalar when each may be replaced by its negative.
    short_bits: u32,
}

/// Reads and classifies the scalars. `negate`: r P = O is known for every base, so s P = -(r - s) P.
pub(super) fn classify<'a, S: PrimeField<Limbs = [u64; 4]>>(
    scalars: &Scalars<'a>,
    is_infinity: impl Fn(usize) -> bool,
    reduce: bool,
    negate: bool,
) -> Result<Terms<'a>, MsmError> {
    let count = scalars.len();
    let mut survey = Survey::default();
    for i in 0..count {
        let given = scalars.get::<S>(i, reduce)?;
        if is_infinity(i) || given == [0; 4] {
            continue;
        }
        let bits = limbs::bit_length(&given);
        let short = if negate { bits.min(limbs::bit_length(&limbs::sub(&S::MODULUS, &given).0)) } else { bits };
        survey.terms += 1;
        survey.bits = survey.bits.max(bits);
        survey.short_bits = survey.short_bits.max(short);
    }
    let shorten = negate && survey.short_bits < survey.bits;
    match scalars.limbs() {
        Some((limbs, stride)) if !shorten && !reduce && survey.terms == count => {
            Ok(Terms { limbs: limbs.into(), stride, bases: Vec::new(), bits: survey.bits })
        }
        _ => Ok(copied::<S>(scalars, is_infinity, reduce, shorten, survey)),
    }
}

/// The terms that count, shortened if `shorten`.
fn copied<'a, S: PrimeField<Limbs = [u64; 4]>>(
    scalars: &Scalars<'_>,
    is_infinity: impl Fn(usize) -> bool,
    reduce: bool,
    shorten: bool,
    survey: Survey,
) -> Terms<'a> {
    let bits = if shorten { survey.short_bits } else { survey.bits };
    let stride = (bits as usize).div_ceil(64).max(1);
    let mut limbs_out = Vec::with_capacity(survey.terms * stride);
    let mut bases = Vec::with_capacity(survey.terms);
    for i in 0..scalars.len() {
        // The survey has seen every scalar, so none is refused any more.
        let Ok(given) = scalars.get::<S>(i, reduce) else { continue };
        if is_infinity(i) || given == [0; 4] {
            continue;
        }
        let negative = limbs::sub(&S::MODULUS, &given).0;
        let flip = shorten && limbs::less(&negative, &given);
        limbs_out.extend_from_slice(&(if flip { negative } else { given })[..stride]);
        bases.push((i as u32) << 1 | flip as u32);
    }
    Terms::new(limbs_out, stride, bases, bits)
}
