//! Curves by name: one object-safe face over the core's generic functions.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use multiscalar_core::codec::{self, CodecError, Format};
use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::{Field, Limbs, PrimeField};
use multiscalar_core::msm::{
    self, Check, Engines, MsmError, Options, Points, PrepareOptions, Prepared, Scalars, Stats,
};

use crate::{multiples, normalize};

/// A sum in affine form: little-endian bytes of x and y, and whether it is infinity.
pub struct Sum {
    /// x, canonical
    pub x: Vec<u8>,
    /// y, canonical
    pub y: Vec<u8>,
    /// whether it is the neutral element
    pub is_infinity: bool,
}

impl Sum {
    fn new<C: CurveParams>(point: Affine<C>) -> Self {
        let bytes =
            |value: C::Field| value.to_canonical().as_ref().iter().flat_map(|limb| limb.to_le_bytes()).collect();
        Self { x: bytes(point.x), y: bytes(point.y), is_infinity: point.is_infinity() }
    }
}

/// Prepared bases of some curve.
pub trait AnyBases: Send + Sync {
    /// Number of bases.
    fn len(&self) -> usize;
    /// Name of the arithmetic they are prepared for.
    fn isa(&self) -> &'static str;
    /// Bytes they occupy.
    fn nbytes(&self) -> usize;
    /// Whether the endomorphism may be used.
    fn is_subgroup(&self) -> bool;
    /// The sum over the first `scalars.len()` bases.
    fn msm(&self, scalars: Scalars<'_>, options: &Options<'_>) -> Result<(Sum, Stats), MsmError>;
}

impl<C: CurveParams<Field: Engines>> AnyBases for Prepared<C> {
    fn len(&self) -> usize {
        Prepared::len(self)
    }
    fn isa(&self) -> &'static str {
        Prepared::isa(self).name()
    }
    fn nbytes(&self) -> usize {
        Prepared::len(self) * 16 * <C::Field as Field>::Limbs::COUNT
    }
    fn is_subgroup(&self) -> bool {
        Prepared::is_subgroup(self)
    }
    fn msm(&self, scalars: Scalars<'_>, options: &Options<'_>) -> Result<(Sum, Stats), MsmError> {
        msm::msm(self, scalars, options).map(|(point, stats)| (Sum::new(point), stats))
    }
}

/// What can be done on a curve.
pub trait AnyCurve: Send + Sync {
    /// Validates and packs points.
    fn prepare(&self, points: Points<'_>, options: &PrepareOptions<'_>) -> Result<Box<dyn AnyBases>, MsmError>;
    /// Writes the points (a + i b) G, canonical, to `out`.
    fn progression(&self, a: &[u64], b: &[u64], out: &mut [u64], threads: usize, cancel: &AtomicBool);
    /// Writes the points k_i G, canonical, to `out`.
    fn multiples(&self, scalars: &[[u64; 4]], out: &mut [u64], threads: usize, cancel: &AtomicBool);
    /// Bytes of one encoded point.
    fn point_size(&self, format: Format, compressed: bool) -> Result<usize, CodecError>;
    /// The encodings of points, one after the other.
    fn encode(
        &self,
        limbs: &[u64],
        montgomery: bool,
        format: Format,
        compressed: bool,
        cancel: &AtomicBool,
    ) -> Result<Vec<u8>, CodecError>;
    /// Writes the points that `data` encodes, canonical, to `out`.
    fn decode(
        &self,
        data: &[u8],
        format: Format,
        compressed: bool,
        check: Check,
        cancel: &AtomicBool,
        out: &mut [u64],
    ) -> Result<(), CodecError>;
    /// Writes the coordinates of points in the other form to `out`.
    fn convert(
        &self,
        values: &[u64],
        to_montgomery: bool,
        out: &mut [u64],
        cancel: &AtomicBool,
    ) -> Result<(), MsmError>;
    /// Writes the affine points of projective sums, canonical, to `out`; the first one that is no point.
    fn normalize(&self, projective: &[u64], out: &mut [u64]) -> Option<usize>;
}

struct Of<C>(PhantomData<C>);

impl<C: CurveParams<Field: Engines + PrimeField>> AnyCurve for Of<C> {
    fn prepare(&self, points: Points<'_>, options: &PrepareOptions<'_>) -> Result<Box<dyn AnyBases>, MsmError> {
        msm::prepare::<C>(points, options).map(|bases| Box::new(bases) as Box<dyn AnyBases>)
    }
    fn progression(&self, a: &[u64], b: &[u64], out: &mut [u64], threads: usize, cancel: &AtomicBool) {
        multiples::progression::<C>(a, b, out, threads, cancel);
    }
    fn multiples(&self, scalars: &[[u64; 4]], out: &mut [u64], threads: usize, cancel: &AtomicBool) {
        multiples::multiples::<C>(scalars, out, threads, cancel);
    }
    fn point_size(&self, format: Format, compressed: bool) -> Result<usize, CodecError> {
        codec::point_size::<C>(format, compressed)
    }
    fn encode(
        &self,
        limbs: &[u64],
        montgomery: bool,
        format: Format,
        compressed: bool,
        cancel: &AtomicBool,
    ) -> Result<Vec<u8>, CodecError> {
        let stride = 2 * <C::Field as Field>::Limbs::COUNT;
        let size = codec::point_size::<C>(format, compressed)?;
        let mut bytes = Vec::with_capacity(limbs.len() / stride * size);
        for (block, limbs) in limbs.chunks(BLOCK * stride).enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return Err(CodecError::Cancelled);
            }
            let points = limbs.chunks_exact(stride).enumerate().map(|(i, limbs)| {
                point::<C>(limbs, montgomery).ok_or(CodecError::Coordinate { index: block * BLOCK + i })
            });
            let points: Vec<_> = points.collect::<Result<_, _>>()?;
            bytes.extend(codec::encode(format, compressed, &points)?);
        }
        Ok(bytes)
    }
    fn decode(
        &self,
        data: &[u8],
        format: Format,
        compressed: bool,
        check: Check,
        cancel: &AtomicBool,
        out: &mut [u64],
    ) -> Result<(), CodecError> {
        let points = codec::decode::<C>(format, compressed, data, check, Some(cancel))?;
        multiples::write(&points, out, cancel);
        if cancel.load(Ordering::Relaxed) { Err(CodecError::Cancelled) } else { Ok(()) }
    }
    fn convert(
        &self,
        values: &[u64],
        to_montgomery: bool,
        out: &mut [u64],
        cancel: &AtomicBool,
    ) -> Result<(), MsmError> {
        let count = <C::Field as Field>::Limbs::COUNT;
        for (i, (source, target)) in values.chunks_exact(count).zip(out.chunks_exact_mut(count)).enumerate() {
            if i.is_multiple_of(BLOCK) && cancel.load(Ordering::Relaxed) {
                return Err(MsmError::Cancelled);
            }
            let value =
                element::<C::Field>(source, !to_montgomery).ok_or(MsmError::CoordinateRange { index: i / 2 })?;
            let converted = if to_montgomery { value.to_mont() } else { value.to_canonical() };
            target.copy_from_slice(converted.as_ref());
        }
        Ok(())
    }
    fn normalize(&self, projective: &[u64], out: &mut [u64]) -> Option<usize> {
        normalize::normalize::<C>(projective, out)
    }
}

/// Points that are encoded or converted between two looks at the cancellation flag.
const BLOCK: usize = 1 << 12;

/// The element with these limbs, if they are below the modulus.
fn element<F: Field>(limbs: &[u64], montgomery: bool) -> Option<F> {
    let mut value = F::Limbs::ZERO;
    value.as_mut().copy_from_slice(limbs);
    F::from_canonical(value).map(|plain| if montgomery { F::from_mont(value) } else { plain })
}

/// The point with these limbs, if both coordinates are below the modulus.
fn point<C: CurveParams>(limbs: &[u64], montgomery: bool) -> Option<Affine<C>> {
    let (x, y) = limbs.split_at(limbs.len() / 2);
    Some(Affine { x: element(x, montgomery)?, y: element(y, montgomery)? })
}

/// The curve called `name`.
pub fn find(name: &str) -> Option<&'static dyn AnyCurve> {
    static BN254: Of<tables::bn254::G1> = Of(PhantomData);
    static BLS12_377: Of<tables::bls12_377::G1> = Of(PhantomData);
    static BLS12_381: Of<tables::bls12_381::G1> = Of(PhantomData);
    match name {
        "bn254" => Some(&BN254),
        "bls12-377" => Some(&BLS12_377),
        "bls12-381" => Some(&BLS12_381),
        _ => None,
    }
}
