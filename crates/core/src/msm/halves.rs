//! The terms of a call split by the endomorphism: twice as many, half as long.
//!
//! Halves the windows and so the reduction and the chain of doublings; the additions stay as many. Pays for few terms.
//! Cost: 1M a base and a split (`curve::endo`) a scalar, on all threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::adder::{BatchAdder, Packed};
use super::packed_array::PackedArray;
use super::terms::Terms;
use super::{MsmError, options, pool};
use crate::curve::{CurveParams, endo};
use crate::field::limbs;

/// Terms that one task splits.
const CHUNK: usize = 1 << 10;

/// Split terms with the bases they refer to: the used ones, then their images under phi.
pub(super) struct Halves<C: CurveParams> {
    pub(super) bases: PackedArray<C::Field>,
    pub(super) terms: Terms<'static>,
}

/// A run of terms: where their bases, images, halves and signed indices go.
struct Chunk<'a, C: CurveParams> {
    used: &'a mut [Packed<C::Field>],
    images: &'a mut [Packed<C::Field>],
    limbs: &'a mut [u64],
    signed: &'a mut [u32],
}

/// Splits terms over bases in the subgroup. The only error is that of cancellation.
pub(super) fn split<C: CurveParams, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    threads: usize,
    cancel: Option<&AtomicBool>,
) -> Result<Halves<C>, MsmError> {
    let count = terms.len();
    let mut used = PackedArray::new(2 * count);
    let mut halves = vec![0; 4 * count];
    let mut signed = vec![0; 2 * count];
    let (first, second) = used.split_at_mut(count);
    let rows = first.chunks_mut(CHUNK).zip(second.chunks_mut(CHUNK));
    let columns = halves.chunks_mut(4 * CHUNK).zip(signed.chunks_mut(2 * CHUNK));
    let chunks: Vec<_> = rows
        .zip(columns)
        .map(|((used, images), (limbs, signed))| Mutex::new(Chunk::<C> { used, images, limbs, signed }))
        .collect();
    let longest = [AtomicU64::new(0), AtomicU64::new(0)];
    pool::run(threads, chunks.len(), &|i| {
        if options::heed(cancel).is_err() {
            return;
        }
        let mut chunk = chunks[i].lock().unwrap_or_else(PoisonError::into_inner);
        let any = split_chunk::<C, A>(bases, terms, i * CHUNK, &mut chunk);
        longest[0].fetch_or(any as u64, Ordering::Relaxed);
        longest[1].fetch_or((any >> 64) as u64, Ordering::Relaxed);
    });
    drop(chunks);
    options::heed(cancel)?;
    let bits = limbs::bit_length(&longest.map(AtomicU64::into_inner));
    Ok(Halves { bases: used, terms: Terms::new(halves, 2, signed, bits) })
}

/// Splits the terms from `start` on; returns all magnitudes or-ed.
fn split_chunk<C: CurveParams, A: BatchAdder<C::Field>>(
    bases: &[Packed<C::Field>],
    terms: &Terms<'_>,
    start: usize,
    chunk: &mut Chunk<'_, C>,
) -> u128 {
    let mut any = 0;
    let targets = chunk.limbs.chunks_exact_mut(4).zip(chunk.signed.chunks_exact_mut(2));
    let range = start..start + chunk.used.len();
    for (i, ((scalar, base), (limbs, signed))) in terms.range(range).zip(targets).enumerate() {
        chunk.used[i] = bases[(base >> 1) as usize];
        let mut whole = [0; 4];
        whole[..scalar.len()].copy_from_slice(scalar);
        for (part, half) in endo::split::<C>(&whole).into_iter().enumerate() {
            let magnitude = half.unsigned_abs();
            any |= magnitude;
            limbs[2 * part] = magnitude as u64;
            limbs[2 * part + 1] = (magnitude >> 64) as u64;
            let place = part * terms.len() + start + i;
            signed[part] = (place as u32) << 1 | (base & 1) ^ u32::from(half < 0);
        }
    }
    chunk.images.copy_from_slice(chunk.used);
    A::scale_x(chunk.images, C::ENDOMORPHISM.beta);
    any
}
