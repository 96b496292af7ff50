//! Bases in the engine's own form: validated, packed, in the Montgomery domain of the chosen arithmetic.

use super::adder::{BatchAdder, Packed};
use super::{Engines, Isa, MOST_TERMS, MsmError, first_outside_subgroup};
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
pub struct PrepareOptions {
    /// What to verify.
    pub check: Check,
    /// The caller asserts that the points are in the subgroup, which allows the endomorphism unverified.
    pub assert_subgroup: bool,
    /// The arithmetic; none means the best one of this CPU.
    pub isa: Option<Isa>,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        Self { check: Check::Curve, assert_subgroup: false, isa: None }
    }
}

/// Bases ready for `msm`. Immutable, so that any number of threads may use them at once.
#[derive(Clone, Debug)]
pub struct Prepared<C: CurveParams> {
    pub(super) isa: Isa,
    pub(super) bases: Vec<Packed<C::Field>>,
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

    /// Whether the i-th base is infinity.
    #[inline(always)]
    pub fn is_infinity(&self, i: usize) -> bool {
        self.bases[i] == Packed::EMPTY
    }

    /// The i-th base.
    pub fn point(&self, i: usize) -> Affine<C> {
        let mut base = [self.bases[i]];
        match self.isa {
            Isa::Scalar => <C::Field as Engines>::Scalar::export(&mut base),
            Isa::Ifma256 => <C::Field as Engines>::Ifma256::export(&mut base),
            Isa::Ifma512 => <C::Field as Engines>::Ifma512::export(&mut base),
        }
        let [Packed { x, y }] = base;
        Affine { x: C::Field::from_mont(x), y: C::Field::from_mont(y) }
    }
}

/// Validates points and packs them for the chosen arithmetic.
pub fn prepare<C: CurveParams<Field: Engines>>(
    points: Points<'_>,
    options: &PrepareOptions,
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
    let mut bases = Vec::with_capacity(limbs.len() / (2 * count));
    for (index, coordinates) in limbs.chunks_exact(2 * count).enumerate() {
        let (x, y) = coordinates.split_at(count);
        let point = match (coordinate::<C::Field>(x, canonical), coordinate::<C::Field>(y, canonical)) {
            (Some(x), Some(y)) => Affine::<C> { x, y },
            _ => return Err(MsmError::CoordinateRange { index }),
        };
        if options.check != Check::None && !point.is_on_curve() {
            return Err(MsmError::NotOnCurve { index });
        }
        bases.push(Packed { x: point.x.to_mont(), y: point.y.to_mont() });
    }
    if options.check == Check::Subgroup {
        let points: Vec<_> =
            bases.iter().map(|p| Affine { x: Field::from_mont(p.x), y: Field::from_mont(p.y) }).collect();
        if let Some(index) = first_outside_subgroup::<C>(&points, 0) {
            return Err(MsmError::NotInSubgroup { index });
        }
    }
    let subgroup = C::COFACTOR == [1] || options.check == Check::Subgroup || options.assert_subgroup;
    match isa {
        Isa::Scalar => <C::Field as Engines>::Scalar::import(&mut bases),
        Isa::Ifma256 => <C::Field as Engines>::Ifma256::import(&mut bases),
        Isa::Ifma512 => <C::Field as Engines>::Ifma512::import(&mut bases),
    }
    Ok(Prepared { isa, bases, subgroup })
}

/// A coordinate from the caller's limbs; none if it is not below the modulus.
fn coordinate<F: Field>(source: &[u64], canonical: bool) -> Option<F> {
    let mut limbs = F::Limbs::ZERO;
    limbs.as_mut().copy_from_slice(source);
    let plain = F::from_canonical(limbs)?;
    Some(if canonical { plain } else { F::from_mont(limbs) })
}
