//! Bases in the engine's own form: validated, packed, in the Montgomery domain of the chosen arithmetic.

use core::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use super::adder::{BatchAdder, Packed};
use super::packed_array::PackedArray;
use super::{Engines, Isa, MOST_TERMS, MsmError, first_outside_subgroup, options, pool};
use crate::curve::{Affine, CurveParams};
use crate::field::{Field, Limbs};

/// Points, borrowed from the caller: n x 2 x N little-endian limbs (x, then y), infinity as (0, 0).
#[derive(Clone, Copy, Debug)]
pub enum Points<'a> {
    /// Plain integers.
    Canonical(&'a [u64]),
    /// Montgomery form with R = 2^(64 N).
    Montgomery(&'a [u64]),
}

/// What `prepare` verifies about the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// That coordinates are below the modulus.
    None,
    /// And that the points are on the curve.
    Curve,
    /// And that they are in the subgroup of prime order.
    Subgroup,
}

/// How `prepare` treats the points.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOptions<'a> {
    /// What to verify.
    pub check: Check,
    /// The caller asserts that the points are in the subgroup, which allows the endomorphism unverified.
    pub assert_subgroup: bool,
    /// The arithmetic; none means the best one of this CPU.
    pub isa: Option<Isa>,
    /// Most threads to use; 0 means one per available core.
    pub threads: usize,
    /// Once true, the call ends with `MsmError::Cancelled` within milliseconds.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for PrepareOptions<'_> {
    fn default() -> Self {
        Self { check: Check::Curve, assert_subgroup: false, isa: None, threads: 0, cancel: None }
    }
}

/// Bases ready for `msm`. Immutable, so that any number of threads may use them at once.
#[derive(Clone, Debug)]
pub struct Prepared<C: CurveParams> {
    pub(super) isa: Isa,
    pub(super) bases: PackedArray<C::Field>,
    /// Indices of bases at infinity, ascending.
    pub(super) infinities: Vec<u32>,
    pub(super) subgroup: bool,
}

impl<C: CurveParams<Field: Engines>> Prepared<C> {
    /// Number of bases.
    pub fn len(&self) -> usize {
        self.bases.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bases.is_empty()
    }

    /// The arithmetic they are prepared for.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether the bases are known (or asserted) to be in the subgroup of prime order.
    pub fn is_subgroup(&self) -> bool {
        self.subgroup
    }
}

/// Validates points and packs them for the chosen arithmetic.
pub fn prepare<C: CurveParams<Field: Engines>>(
    points: Points<'_>,
    options: &PrepareOptions<'_>,
) -> Result<Prepared<C>, MsmError> {
    let isa = options.isa.unwrap_or_else(Isa::best);
    if !isa.is_available() {
        return Err(MsmError::IsaUnavailable(isa));
    }
    let count = <C::Field as Field>::Limbs::COUNT;
    let (limbs, canonical) = match points {
        Points::Canonical(limbs) => (limbs, true),
        Points::Montgomery(limbs) => (limbs, false),
    };
    if limbs.len() % (2 * count) != 0 {
        return Err(MsmError::PointLength { limbs: limbs.len(), per_point: 2 * count });
    }
    if limbs.len() / (2 * count) > MOST_TERMS {
        return Err(MsmError::TooMany { terms: limbs.len() / (2 * count), most: MOST_TERMS });
    }
    let source = Source { limbs, canonical, check: options.check, cancel: options.cancel };
    let (bases, infinities) = match isa {
        Isa::Scalar => pack::<C, <C::Field as Engines>::Scalar>(&source, options.threads),
        Isa::Ifma256 => pack::<C, <C::Field as Engines>::Ifma256>(&source, options.threads),
        Isa::Ifma512 => pack::<C, <C::Field as Engines>::Ifma512>(&source, options.threads),
    }?;
    let subgroup = C::COFACTOR == [1] || options.check == Check::Subgroup || options.assert_subgroup;
    Ok(Prepared { isa, bases, infinities, subgroup })
}

/// Points as the caller gave them, and what to verify.
struct Source<'a> {
    limbs: &'a [u64],
    canonical: bool,
    check: Check,
    cancel: Option<&'a AtomicBool>,
}

/// Packed bases and the indices of those at infinity.
type PackedBases<F> = (PackedArray<F>, Vec<u32>);

/// Packs all points, in chunks on several threads. An error names the first bad point.
fn pack<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    source: &Source<'_>,
    threads: usize,
) -> Result<PackedBases<C::Field>, MsmError> {
    const CHUNK: usize = 1 << 10;
    let mut bases = PackedArray::new(source.limbs.len() / (2 * <C::Field as Field>::Limbs::COUNT));
    let chunks: Vec<_> = bases.chunks_mut(CHUNK).map(Mutex::new).collect();
    let outcomes: Vec<Mutex<Result<Vec<u32>, MsmError>>> = chunks.iter().map(|_| Mutex::new(Ok(Vec::new()))).collect();
    pool::run(pool::threads(threads), chunks.len(), &|i| {
        let mut chunk = chunks[i].lock().unwrap_or_else(PoisonError::into_inner);
        *outcomes[i].lock().unwrap_or_else(PoisonError::into_inner) = pack_chunk::<C, A>(source, i * CHUNK, &mut chunk);
    });
    drop(chunks);
    let mut infinities = Vec::new();
    for outcome in outcomes {
        infinities.extend(outcome.into_inner().unwrap_or_else(PoisonError::into_inner)?);
    }
    Ok((bases, infinities))
}

/// Packs the points from `first` on, and returns which are at infinity.
fn pack_chunk<C: CurveParams<Field: Engines>, A: BatchAdder<C::Field>>(
    source: &Source<'_>,
    first: usize,
    bases: &mut [Packed<C::Field>],
) -> Result<Vec<u32>, MsmError> {
    options::heed(source.cancel)?;
    let count = <C::Field as Field>::Limbs::COUNT;
    let mut infinities = Vec::new();
    let points = source.limbs[2 * count * first..].chunks_exact(2 * count);
    let mut beyond = None;
    for (i, (coordinates, base)) in points.zip(bases.iter_mut()).enumerate() {
        let (x, y) = coordinates.split_at(count);
        base.x.as_mut().copy_from_slice(x);
        base.y.as_mut().copy_from_slice(y);
        if !(C::Field::is_reduced(&base.x) && C::Field::is_reduced(&base.y)) {
            beyond = Some(i);
            break;
        }
        if *base == Packed::EMPTY {
            infinities.push((first + i) as u32);
        }
    }
    let b = (source.check != Check::None).then_some(C::B);
    // Points before one with a bad coordinate may be bad themselves, and come first.
    let good = beyond.unwrap_or(bases.len());
    let bases = &mut bases[..good];
    if let Some(i) = A::admit(bases, source.canonical, b) {
        return Err(MsmError::NotOnCurve { index: first + i });
    }
    if source.check == Check::Subgroup {
        let mut plain = bases.to_vec();
        A::export(&mut plain);
        let points: Vec<_> =
            plain.into_iter().map(|p| Affine { x: Field::from_mont(p.x), y: Field::from_mont(p.y) }).collect();
        if let Some(i) = first_outside_subgroup::<C>(&points, 1) {
            return Err(MsmError::NotInSubgroup { index: first + i });
        }
    }
    match beyond {
        Some(i) => Err(MsmError::CoordinateRange { index: first + i }),
        None => Ok(infinities),
    }
}
