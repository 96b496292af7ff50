//! Points as bytes, in the formats that other libraries read and write. Vectors of n points, both ways.
//!
//! A format is a `Layout` (`layout.rs`): byte order, where the flags are, what they mean. Decoding is strict: every byte
//! sequence that is accepted is the one that encoding gives back, and anything else is refused with the index of the
//! first such point. Input is taken as hostile: nothing is trusted but the length of the slice.
//!
//! Cost: a square root a compressed point (`field::SquareRoot`), 2S + 1M a point for the curve's equation; the subgroup
//! is checked for all points together (`msm::first_outside_subgroup`).

mod error;
mod layout;

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::curve::{Affine, CurveParams};
use crate::field::{Field, Limbs, PrimeField, SquareRoot};
use crate::msm::{self, Check, Engines, pool};

pub use error::CodecError;
pub use layout::Format;
use layout::{Layout, Meaning, Order, Place, Sign};

/// Bytes of one point.
///
/// Errors: the format has no such form for the curve.
pub fn point_size<C: CurveParams<Field: PrimeField>>(format: Format, compressed: bool) -> Result<usize, CodecError> {
    Layout::of::<C>(format, compressed).map(|layout| layout.point_size(coordinate_size::<C>()))
}

/// The points of a sequence of encodings without gaps, on as many threads as there are cores.
///
/// Errors: a length that is no multiple of a point's; the index of the first point with unknown flags, a coordinate not
/// below the modulus, an infinity that is not written as such, a wrong sign, no point on the curve, or (`check`) a point
/// outside the subgroup. `Check::None` skips the curve's equation for uncompressed points only. `cancel` is looked at
/// between blocks of points.
pub fn decode<C: CurveParams<Field: PrimeField + Engines>>(
    format: Format,
    compressed: bool,
    bytes: &[u8],
    check: Check,
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Affine<C>>, CodecError> {
    let layout = Layout::of::<C>(format, compressed)?;
    let size = layout.point_size(coordinate_size::<C>());
    if !bytes.len().is_multiple_of(size) {
        return Err(CodecError::Length { bytes: bytes.len(), per_point: size });
    }
    let roots = compressed.then(SquareRoot::<C::Field>::new);
    let mut points = vec![Affine::INFINITY; bytes.len() / size];
    let blocks: Vec<_> = points.chunks_mut(BLOCK).zip(bytes.chunks(BLOCK * size)).map(Mutex::new).collect();
    let first: Mutex<Option<(usize, CodecError)>> = Mutex::new(None);
    let locked = |first: &Mutex<Option<(usize, CodecError)>>| *first.lock().unwrap_or_else(PoisonError::into_inner);
    pool::run(pool::threads(0), blocks.len(), &|i| {
        if locked(&first).is_some_and(|(block, _)| block < i) {
            return;
        }
        let mut block = blocks[i].lock().unwrap_or_else(PoisonError::into_inner);
        let (points, bytes) = &mut *block;
        let result = if cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Err(CodecError::Cancelled)
        } else {
            decode_block(&layout, roots.as_ref(), bytes, check, i * BLOCK, points)
        };
        if let Err(error) = result {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none_or(|(block, _)| i < block) {
                *first = Some((i, error));
            }
        }
    });
    drop(blocks);
    match locked(&first) {
        Some((_, error)) => Err(error),
        None => Ok(points),
    }
}

/// Decodes a block whose first point has the index `first`.
fn decode_block<C: CurveParams<Field: PrimeField + Engines>>(
    layout: &Layout,
    roots: Option<&SquareRoot<C::Field>>,
    bytes: &[u8],
    check: Check,
    first: usize,
    points: &mut [Affine<C>],
) -> Result<(), CodecError> {
    let size = bytes.len() / points.len();
    for (i, (point, bytes)) in points.iter_mut().zip(bytes.chunks_exact(size)).enumerate() {
        *point = decode_point(layout, roots, bytes, check, first + i)?;
    }
    match (check == Check::Subgroup).then(|| msm::first_outside_subgroup(points, 1)).flatten() {
        Some(at) => Err(CodecError::NotInSubgroup { index: first + at }),
        None => Ok(()),
    }
}

/// The encodings of points one after the other. The points must be on the curve.
///
/// Errors: the format has no such form for the curve.
pub fn encode<C: CurveParams<Field: PrimeField>>(
    format: Format,
    compressed: bool,
    points: &[Affine<C>],
) -> Result<Vec<u8>, CodecError> {
    let layout = Layout::of::<C>(format, compressed)?;
    let size = layout.point_size(coordinate_size::<C>());
    let mut bytes = vec![0; size * points.len()];
    for (place, point) in bytes.chunks_exact_mut(size).zip(points) {
        encode_point(&layout, point, place);
    }
    Ok(bytes)
}

/// Points that one thread takes at a time: some ten milliseconds of square roots.
const BLOCK: usize = 512;

/// Bytes of the longest encoding: a prefix and two coordinates of eight limbs.
const MOST_BYTES: usize = 1 + 2 * 64;

/// Bytes of one coordinate: the flags fit in its free bits.
const fn coordinate_size<C: CurveParams>() -> usize {
    8 * <C::Field as Field>::Limbs::COUNT
}

fn encode_point<C: CurveParams<Field: PrimeField>>(layout: &Layout, point: &Affine<C>, bytes: &mut [u8]) {
    let (meaning, y) = if point.is_infinity() {
        (Meaning::Infinity, infinity_y(layout))
    } else {
        (Meaning::Point { marked: is_marked(layout.sign, point.y) }, point.y)
    };
    let size = coordinate_size::<C>();
    let start = usize::from(layout.place == Place::Prefix);
    write(layout.order, point.x, &mut bytes[start..start + size]);
    if !layout.compressed {
        write(layout.order, y, &mut bytes[start + size..]);
    }
    bytes[layout.flag_index(bytes.len())] |= layout.flags(meaning);
}

fn decode_point<C: CurveParams<Field: PrimeField>>(
    layout: &Layout,
    roots: Option<&SquareRoot<C::Field>>,
    bytes: &[u8],
    check: Check,
    index: usize,
) -> Result<Affine<C>, CodecError> {
    let size = coordinate_size::<C>();
    let start = usize::from(layout.place == Place::Prefix);
    let flag_index = layout.flag_index(bytes.len());
    let flags = bytes[flag_index] & layout.mask;
    if layout.meaning(flags, true).is_none() {
        return Err(CodecError::Flags { index, found: flags, compressed: layout.compressed });
    }
    let mut plain = [0; MOST_BYTES];
    plain[..bytes.len()].copy_from_slice(bytes);
    plain[flag_index] &= !layout.mask;
    let coordinate = |bytes| read::<C::Field>(layout.order, bytes).ok_or(CodecError::Coordinate { index });
    let x = coordinate(&plain[start..start + size])?;
    let y = if layout.compressed { None } else { Some(coordinate(&plain[start + size..bytes.len()])?) };
    let is_infinity = x.is_zero() && y.is_none_or(|y| y == infinity_y(layout));
    let marked = match layout.meaning(flags, is_infinity) {
        Some(Meaning::Point { marked }) => marked,
        _ if is_infinity => return Ok(Affine::INFINITY),
        _ => return Err(CodecError::Infinity { index }),
    };
    match (y, roots) {
        (Some(y), _) => {
            let point = Affine::<C> { x, y };
            // (0, 0) is the engine's infinity, and is only read from an encoding of infinity.
            if point.is_infinity() || check != Check::None && !point.is_on_curve() {
                return Err(CodecError::NotOnCurve { index });
            }
            if layout.marks() && is_marked(layout.sign, y) != marked {
                return Err(CodecError::Sign { index });
            }
            Ok(point)
        }
        (None, Some(roots)) => {
            let root = roots.sqrt(x.square() * x + C::B).ok_or(CodecError::NotOnCurve { index })?;
            let y = if is_marked(layout.sign, root) == marked { root } else { -root };
            // y = 0 is its own negative: the mark on it would be a second spelling.
            if is_marked(layout.sign, y) == marked { Ok(Affine { x, y }) } else { Err(CodecError::Sign { index }) }
        }
        (None, None) => unreachable!("compressed layouts come with roots"),
    }
}

/// What stands for y in an uncompressed infinity.
fn infinity_y<F: Field>(layout: &Layout) -> F {
    if layout.infinity_has_y_one { F::ONE } else { F::ZERO }
}

/// Whether y is the one of ±y that the sign flag marks.
fn is_marked<F: PrimeField>(sign: Sign, y: F) -> bool {
    let plain = y.to_canonical();
    match sign {
        Sign::Odd => plain.as_ref()[0] & 1 == 1,
        Sign::Larger => plain.as_ref().iter().rev().gt((-y).to_canonical().as_ref().iter().rev()),
    }
}

fn write<F: PrimeField>(order: Order, value: F, bytes: &mut [u8]) {
    for (limb, place) in value.to_canonical().as_ref().iter().zip(bytes.chunks_exact_mut(8)) {
        place.copy_from_slice(&limb.to_le_bytes());
    }
    if order == Order::Big {
        bytes.reverse();
    }
}

/// The coordinate, if it is below the modulus.
fn read<F: PrimeField>(order: Order, bytes: &[u8]) -> Option<F> {
    let mut limbs = F::Limbs::ZERO;
    for (i, &byte) in bytes.iter().enumerate() {
        let place = if order == Order::Big { bytes.len() - 1 - i } else { i };
        limbs.as_mut()[place / 8] |= u64::from(byte) << (8 * (place % 8));
    }
    F::from_canonical(limbs)
}
