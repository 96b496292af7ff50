//! Eight lanes: AVX-512 IFMA.
//!
//! Cost: a method is one instruction on port 0 or 5 (there are two 512-bit ports), a load, or nothing; a transpose
//! of four words from eight rows is 4 inserts and 8 shuffles. Source: Intel SDM, VPMADD52LUQ and VPMADD52HUQ.

use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, Sub};

use super::{Isa, Kernel, Vector};

/// Proof that this CPU has all that the eight-lane kernels use.
#[derive(Clone, Copy, Debug)]
pub struct Ifma512(());

impl Isa for Ifma512 {
    type Vector = Zmm;

    fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("avx512vbmi2"))
        .then_some(Self(()))
    }

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { enabled(self, kernel) }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi2")]
fn enabled<K: Kernel<Ifma512>>(isa: Ifma512, kernel: K) -> K::Output {
    kernel.run(isa)
}

/// Eight lanes. Made only from an [`Ifma512`], so its methods may assume the instructions.
#[derive(Clone, Copy, Debug)]
pub struct Zmm(__m512i);

/// Wraps an intrinsic that asks for nothing but CPU features.
macro_rules! zmm {
    ($intrinsic:expr) => {
        // SAFETY: a `Zmm` or an `Ifma512` is at hand, so `Ifma512::detect` has found the features.
        unsafe { $intrinsic }
    };
}

impl Add for Zmm {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(zmm!(_mm512_add_epi64(self.0, other.0)))
    }
}

impl Sub for Zmm {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(zmm!(_mm512_sub_epi64(self.0, other.0)))
    }
}

impl BitAnd for Zmm {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(zmm!(_mm512_and_si512(self.0, other.0)))
    }
}

impl Vector for Zmm {
    type Isa = Ifma512;
    type Mask = __mmask8;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(_: Ifma512, value: u64) -> Self {
        Self(zmm!(_mm512_set1_epi64(value as i64)))
    }

    #[inline(always)]
    unsafe fn load(_: Ifma512, from: *const u64) -> Self {
        // SAFETY: the caller vouches for the words, the token for the features.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller vouches for the words, `self` for the features.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    fn madd_lo(self, a: Self, b: Self) -> Self {
        Self(zmm!(_mm512_madd52lo_epu64(self.0, a.0, b.0)))
    }

    #[inline(always)]
    fn madd_hi(self, a: Self, b: Self) -> Self {
        Self(zmm!(_mm512_madd52hi_epu64(self.0, a.0, b.0)))
    }

    #[inline(always)]
    fn shr<const S: u32>(self) -> Self {
        Self(zmm!(_mm512_srli_epi64::<S>(self.0)))
    }

    #[inline(always)]
    fn shl<const S: u32>(self) -> Self {
        Self(zmm!(_mm512_slli_epi64::<S>(self.0)))
    }

    #[inline(always)]
    fn shrd<const S: u32, const REST: u32>(self, high: Self) -> Self {
        const { assert!(S + REST == 64) };
        Self(zmm!(_mm512_shrdv_epi64(self.0, high.0, _mm512_set1_epi64(S as i64))))
    }

    #[inline(always)]
    fn at_least(self, least: Self) -> __mmask8 {
        zmm!(_mm512_cmpge_epi64_mask(self.0, least.0))
    }

    #[inline(always)]
    fn sub_if(self, mask: __mmask8, what: Self) -> Self {
        Self(zmm!(_mm512_mask_sub_epi64(self.0, mask, self.0, what.0)))
    }

    #[inline(always)]
    fn add_if(self, mask: __mmask8, what: Self) -> Self {
        Self(zmm!(_mm512_mask_add_epi64(self.0, mask, self.0, what.0)))
    }

    #[inline(always)]
    fn not_if(self, mask: __mmask8) -> Self {
        Self(zmm!(_mm512_mask_xor_epi64(self.0, mask, self.0, _mm512_set1_epi64(-1))))
    }

    #[inline(always)]
    fn bits(mask: __mmask8) -> u32 {
        mask as u32
    }

    #[inline(always)]
    fn spread_lane<const D: usize>(self) -> Self {
        Self(zmm!(_mm512_permutexvar_epi64(_mm512_set1_epi64(D as i64), self.0)))
    }

    #[inline(always)]
    fn with_lane<const D: usize>(self, other: Self) -> Self {
        Self(zmm!(_mm512_mask_mov_epi64(self.0, 1 << D, other.0)))
    }

    #[inline(always)]
    fn swap_lanes<const D: usize>(self) -> Self {
        Self(match D {
            1 => zmm!(_mm512_permutex_epi64::<0b10_11_00_01>(self.0)),
            2 => zmm!(_mm512_permutex_epi64::<0b01_00_11_10>(self.0)),
            _ => zmm!(_mm512_shuffle_i64x2::<0b01_00_11_10>(self.0, self.0)),
        })
    }

    /// Rows are paired (0, 2), (1, 3), (4, 6), (5, 7) on loading, which leaves the lanes in the order of the rows.
    #[inline(always)]
    unsafe fn load_rows(_: Ifma512, rows: &[*const u64; 8]) -> [Self; 4] {
        // SAFETY: the caller vouches for the words, the token for the features.
        unsafe {
            let (a, b) = (load_pair(rows[0], rows[2]), load_pair(rows[1], rows[3]));
            let (c, d) = (load_pair(rows[4], rows[6]), load_pair(rows[5], rows[7]));
            let (ab_even, ab_odd) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
            let (cd_even, cd_odd) = (_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
            [
                Self(_mm512_shuffle_i64x2::<0b10_00_10_00>(ab_even, cd_even)),
                Self(_mm512_shuffle_i64x2::<0b10_00_10_00>(ab_odd, cd_odd)),
                Self(_mm512_shuffle_i64x2::<0b11_01_11_01>(ab_even, cd_even)),
                Self(_mm512_shuffle_i64x2::<0b11_01_11_01>(ab_odd, cd_odd)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_rows(columns: [Self; 4], rows: &[*mut u64; 8]) {
        let [w0, w1, w2, w3] = columns.map(|column| column.0);
        // SAFETY: the caller vouches for the words, the columns for the features.
        unsafe {
            let (even_low, odd_low) = (_mm512_unpacklo_epi64(w0, w1), _mm512_unpackhi_epi64(w0, w1));
            let (even_high, odd_high) = (_mm512_unpacklo_epi64(w2, w3), _mm512_unpackhi_epi64(w2, w3));
            let (first, second) =
                (_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15));
            store_pair([rows[0], rows[2]], _mm512_permutex2var_epi64(even_low, first, even_high));
            store_pair([rows[1], rows[3]], _mm512_permutex2var_epi64(odd_low, first, odd_high));
            store_pair([rows[4], rows[6]], _mm512_permutex2var_epi64(even_low, second, even_high));
            store_pair([rows[5], rows[7]], _mm512_permutex2var_epi64(odd_low, second, odd_high));
        }
    }
}

/// Four words from each of two rows.
///
/// # Safety
///
/// They are readable, and the CPU has AVX-512.
#[inline(always)]
unsafe fn load_pair(low: *const u64, high: *const u64) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let low = _mm512_castsi256_si512(_mm256_loadu_si256(low.cast()));
        _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(high.cast()))
    }
}

/// Four words to each of two rows.
///
/// # Safety
///
/// They are writable, and the CPU has AVX-512.
#[inline(always)]
unsafe fn store_pair(rows: [*mut u64; 2], pair: __m512i) {
    // SAFETY: as above.
    unsafe {
        _mm256_storeu_si256(rows[0].cast(), _mm512_castsi512_si256(pair));
        _mm256_storeu_si256(rows[1].cast(), _mm512_extracti64x4_epi64::<1>(pair));
    }
}
