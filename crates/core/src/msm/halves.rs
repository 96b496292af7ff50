//! The terms of a call split by the endomorphism: twice as many, half as long.
//!
//! Halves the windows and so the reduction and the chain of doublings; the additions stay as many. Pays for few terms.
//! Cost: 1M a base and a split (`curve::endo`) a scalar.

use super::adder::{BatchAdder, Packed};
use super::packed_array::PackedArray;
use super::terms::Terms;
use crate::curve::{CurveParams, endo};
use crate::field::limbs;

/// Split terms with the bases they refer to: the used ones, then their images under phi.
pub(super) struct Halves<C: CurveParams> {
    pub(super) bases: PackedArray<C::Field>,
    pub(super) terms: Terms<'static>,
}

/// Splits terms over bases in the subgroup.
pub(super) fn split<C: CurveParams, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
) -> Halves<C> {
    let count = terms.len();
    let mut used = PackedArray::new(2 * count);
    let mut limbs_out = Vec::with_capacity(4 * count);
    let mut signed = Vec::with_capacity(2 * count);
    let mut all = 0;
    for (i, (scalar, base)) in terms.range(0..count).enumerate() {
        used[i] = bases[(base >> 1) as usize];
        let mut whole = [0; 4];
        whole[..scalar.len()].copy_from_slice(scalar);
        for (half, place) in endo::split::<C>(&whole).into_iter().zip([i, count + i]) {
            let magnitude = half.unsigned_abs();
            all |= magnitude;
            limbs_out.extend([magnitude as u64, (magnitude >> 64) as u64]);
            signed.push((place as u32) << 1 | (base & 1) ^ u32::from(half < 0));
        }
    }
    used.copy_within(..count, count);
    A::scale_x(&mut used[count..], C::ENDOMORPHISM.beta);
    let bits = limbs::bit_length(&[all as u64, (all >> 64) as u64]);
    Halves { bases: used, terms: Terms::new(limbs_out, 2, signed, bits) }
}
