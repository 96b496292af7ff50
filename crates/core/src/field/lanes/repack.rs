//! Between memory and lanes: rows of packed 64-bit words, one per lane, to vectors of 52-bit limbs and back.
//!
//! Cost in vector instructions for eight points: a transpose is 12 for every four words of a row; limbs from words
//! 4 shifts for N = 4 and 7 for N = 6 (words from limbs 8 and 13). Gathers and scatters would cost 3 to 4 times more.

use super::{Limbwise, Vector};

/// Repacking of elements of N words and L limbs.
pub trait Repack<const N: usize, const L: usize>: Limbwise<L> {
    /// Words below 2^(64 N) to dirty limbs, the top one clean.
    fn limbs(words: [Self; N]) -> [Self; L];
    /// Dirty limbs of a value below 2^(64 N) to words.
    fn words(isa: Self::Isa, limbs: [Self; L]) -> [Self; N];
    /// The words of x of the points at `rows`, each 2 N words.
    ///
    /// # Safety
    ///
    /// The first `LANES` pointers have 2 N readable words.
    unsafe fn load_x(isa: Self::Isa, rows: &[*const u64; 8]) -> [Self; N];
    /// The words of y of the points at `rows`.
    ///
    /// # Safety
    ///
    /// As for `load_x`.
    unsafe fn load_y(isa: Self::Isa, rows: &[*const u64; 8]) -> [Self; N];
    /// Stores points: x, then y.
    ///
    /// # Safety
    ///
    /// The first `LANES` pointers have 2 N writable words.
    unsafe fn store_points(x: [Self; N], y: [Self; N], rows: &[*mut u64; 8]);
}

/// `rows`, `words` further on.
///
/// # Safety
///
/// The rows are at least that long.
#[inline(always)]
unsafe fn offset(rows: &[*const u64; 8], words: usize) -> [*const u64; 8] {
    // SAFETY: as above. Pointers of lanes that do not exist are never followed, so they may wrap.
    rows.map(|row| row.wrapping_add(words))
}

impl<V: Vector> Repack<4, 5> for V {
    #[inline(always)]
    fn limbs(w: [V; 4]) -> [V; 5] {
        [w[0], w[0].shrd::<52, 12>(w[1]), w[1].shrd::<40, 24>(w[2]), w[2].shrd::<28, 36>(w[3]), w[3].shr::<16>()]
    }

    #[inline(always)]
    fn words(_: V::Isa, l: [V; 5]) -> [V; 4] {
        [
            l[0].shl::<12>().shrd::<12, 52>(l[1]),
            l[1].shl::<12>().shrd::<24, 40>(l[2]),
            l[2].shl::<12>().shrd::<36, 28>(l[3]),
            l[3].shl::<12>().shrd::<48, 16>(l[4]),
        ]
    }

    #[inline(always)]
    unsafe fn load_x(isa: V::Isa, rows: &[*const u64; 8]) -> [V; 4] {
        // SAFETY: the caller vouches for the rows.
        unsafe { V::load_rows(isa, rows) }
    }

    #[inline(always)]
    unsafe fn load_y(isa: V::Isa, rows: &[*const u64; 8]) -> [V; 4] {
        // SAFETY: the caller vouches for the rows.
        unsafe { V::load_rows(isa, &offset(rows, 4)) }
    }

    #[inline(always)]
    unsafe fn store_points(x: [V; 4], y: [V; 4], rows: &[*mut u64; 8]) {
        // SAFETY: the caller vouches for the rows.
        unsafe {
            V::store_rows(x, rows);
            V::store_rows(y, &rows.map(|row| row.wrapping_add(4)));
        }
    }
}

impl<V: Vector> Repack<6, 8> for V {
    #[inline(always)]
    fn limbs(w: [V; 6]) -> [V; 8] {
        [
            w[0],
            w[0].shrd::<52, 12>(w[1]),
            w[1].shrd::<40, 24>(w[2]),
            w[2].shrd::<28, 36>(w[3]),
            w[3].shrd::<16, 48>(w[4]),
            w[4].shr::<4>(),
            w[4].shrd::<56, 8>(w[5]),
            w[5].shr::<44>(),
        ]
    }

    #[inline(always)]
    fn words(isa: V::Isa, l: [V; 8]) -> [V; 6] {
        let fifth = l[5] & V::splat(isa, super::params::LIMB_MASK);
        [
            l[0].shl::<12>().shrd::<12, 52>(l[1]),
            l[1].shl::<12>().shrd::<24, 40>(l[2]),
            l[2].shl::<12>().shrd::<36, 28>(l[3]),
            l[3].shl::<12>().shrd::<48, 16>(l[4]),
            l[4].shl::<12>().shrd::<60, 4>(fifth) + l[6].shl::<56>(),
            l[6].shl::<12>().shrd::<20, 44>(l[7]),
        ]
    }

    #[inline(always)]
    unsafe fn load_x(isa: V::Isa, rows: &[*const u64; 8]) -> [V; 6] {
        // SAFETY: the caller vouches for the rows.
        unsafe {
            let ([a, b, c, d], [e, f, ..]) = (V::load_rows(isa, rows), V::load_rows(isa, &offset(rows, 4)));
            [a, b, c, d, e, f]
        }
    }

    #[inline(always)]
    unsafe fn load_y(isa: V::Isa, rows: &[*const u64; 8]) -> [V; 6] {
        // SAFETY: the caller vouches for the rows.
        unsafe {
            let ([.., a, b], [c, d, e, f]) = (V::load_rows(isa, &offset(rows, 4)), V::load_rows(isa, &offset(rows, 8)));
            [a, b, c, d, e, f]
        }
    }

    #[inline(always)]
    unsafe fn store_points(x: [V; 6], y: [V; 6], rows: &[*mut u64; 8]) {
        // SAFETY: the caller vouches for the rows.
        unsafe {
            V::store_rows([x[0], x[1], x[2], x[3]], rows);
            V::store_rows([x[4], x[5], y[0], y[1]], &rows.map(|row| row.wrapping_add(4)));
            V::store_rows([y[2], y[3], y[4], y[5]], &rows.map(|row| row.wrapping_add(8)));
        }
    }
}
