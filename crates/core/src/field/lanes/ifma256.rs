//! Four lanes: AVX-IFMA (VEX), for CPUs without AVX-512; and its AVX-512 VL twin, which tests it on the others.
//!
//! The two differ in the instruction of the multiply-add and in nothing else. Cost: most methods are one
//! instruction, those on masks and `shrd` are two or three. Source: Intel SDM, VPMADD52LUQ and VPMADD52HUQ.

use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, Sub};

use super::{Isa, Kernel, Vector};

/// Proof that this CPU has AVX2 and AVX-IFMA.
#[derive(Clone, Copy, Debug)]
pub struct Ifma256(());

/// Proof that this CPU has AVX2 and AVX-512 IFMA with VL.
#[derive(Clone, Copy, Debug)]
pub struct Ifma256Vl(());

/// Four lanes of either. Made only from a token of its set, so its methods may assume the instructions.
#[derive(Clone, Copy, Debug)]
pub struct Ymm<I>(__m256i, I);

impl Isa for Ifma256 {
    type Vector = Ymm<Self>;

    fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxifma")).then_some(Self(()))
    }

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { enabled(self, kernel) }
    }
}

#[target_feature(enable = "avx2,avxifma")]
fn enabled<K: Kernel<Ifma256>>(isa: Ifma256, kernel: K) -> K::Output {
    kernel.run(isa)
}

impl Isa for Ifma256Vl {
    type Vector = Ymm<Self>;

    fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512ifma"))
        .then_some(Self(()))
    }

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        // SAFETY: `self` proves that the CPU has the features.
        unsafe { enabled_vl(self, kernel) }
    }
}

#[target_feature(enable = "avx2,avx512vl,avx512ifma")]
fn enabled_vl<K: Kernel<Ifma256Vl>>(isa: Ifma256Vl, kernel: K) -> K::Output {
    kernel.run(isa)
}

/// The one instruction that the two sets spell differently.
pub trait MultiplyAdd: Isa<Vector = Ymm<Self>> + core::fmt::Debug {
    /// See [`Vector::madd_lo`].
    fn lo(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i;
    /// See [`Vector::madd_hi`].
    fn hi(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i;
}

impl MultiplyAdd for Ifma256 {
    #[inline(always)]
    fn lo(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        ymm!(_mm256_madd52lo_avx_epu64(sum, a, b))
    }
    #[inline(always)]
    fn hi(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        ymm!(_mm256_madd52hi_avx_epu64(sum, a, b))
    }
}

impl MultiplyAdd for Ifma256Vl {
    #[inline(always)]
    fn lo(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        ymm!(_mm256_madd52lo_epu64(sum, a, b))
    }
    #[inline(always)]
    fn hi(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        ymm!(_mm256_madd52hi_epu64(sum, a, b))
    }
}

/// Wraps an intrinsic that asks for nothing but CPU features.
macro_rules! ymm {
    ($intrinsic:expr) => {
        // SAFETY: a `Ymm` or a token is at hand, so `detect` has found the features.
        unsafe { $intrinsic }
    };
}
use ymm;

impl<I: MultiplyAdd> Add for Ymm<I> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(ymm!(_mm256_add_epi64(self.0, other.0)), self.1)
    }
}

impl<I: MultiplyAdd> Sub for Ymm<I> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(ymm!(_mm256_sub_epi64(self.0, other.0)), self.1)
    }
}

impl<I: MultiplyAdd> BitAnd for Ymm<I> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(ymm!(_mm256_and_si256(self.0, other.0)), self.1)
    }
}

impl<I: MultiplyAdd> Vector for Ymm<I> {
    type Isa = I;
    /// All bits of a lane set, or none.
    type Mask = __m256i;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(isa: I, value: u64) -> Self {
        Self(ymm!(_mm256_set1_epi64x(value as i64)), isa)
    }

    #[inline(always)]
    unsafe fn load(isa: I, from: *const u64) -> Self {
        // SAFETY: the caller vouches for the words, the token for the features.
        Self(unsafe { _mm256_loadu_si256(from.cast()) }, isa)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller vouches for the words, `self` for the features.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    fn madd_lo(self, a: Self, b: Self) -> Self {
        Self(self.1.lo(self.0, a.0, b.0), self.1)
    }

    #[inline(always)]
    fn madd_hi(self, a: Self, b: Self) -> Self {
        Self(self.1.hi(self.0, a.0, b.0), self.1)
    }

    #[inline(always)]
    fn shr<const S: u32>(self) -> Self {
        Self(ymm!(_mm256_srl_epi64(self.0, _mm_cvtsi32_si128(S as i32))), self.1)
    }

    #[inline(always)]
    fn shl<const S: u32>(self) -> Self {
        Self(ymm!(_mm256_sll_epi64(self.0, _mm_cvtsi32_si128(S as i32))), self.1)
    }

    #[inline(always)]
    fn shrd<const S: u32, const REST: u32>(self, high: Self) -> Self {
        const { assert!(S + REST == 64) };
        self.shr::<S>() + high.shl::<REST>()
    }

    #[inline(always)]
    fn at_least(self, least: Self) -> __m256i {
        ymm!(_mm256_cmpgt_epi64(self.0, _mm256_sub_epi64(least.0, _mm256_set1_epi64x(1))))
    }

    #[inline(always)]
    fn sub_if(self, mask: __m256i, what: Self) -> Self {
        Self(ymm!(_mm256_sub_epi64(self.0, _mm256_and_si256(mask, what.0))), self.1)
    }

    #[inline(always)]
    fn add_if(self, mask: __m256i, what: Self) -> Self {
        Self(ymm!(_mm256_add_epi64(self.0, _mm256_and_si256(mask, what.0))), self.1)
    }

    #[inline(always)]
    fn not_if(self, mask: __m256i) -> Self {
        Self(ymm!(_mm256_xor_si256(self.0, mask)), self.1)
    }

    #[inline(always)]
    fn bits(mask: __m256i) -> u32 {
        ymm!(_mm256_movemask_pd(_mm256_castsi256_pd(mask))) as u32
    }

    #[inline(always)]
    fn spread_lane<const D: usize>(self) -> Self {
        Self(
            match D {
                0 => ymm!(_mm256_permute4x64_epi64::<0b00_00_00_00>(self.0)),
                1 => ymm!(_mm256_permute4x64_epi64::<0b01_01_01_01>(self.0)),
                2 => ymm!(_mm256_permute4x64_epi64::<0b10_10_10_10>(self.0)),
                _ => ymm!(_mm256_permute4x64_epi64::<0b11_11_11_11>(self.0)),
            },
            self.1,
        )
    }

    #[inline(always)]
    fn with_lane<const D: usize>(self, other: Self) -> Self {
        Self(
            match D {
                0 => ymm!(_mm256_blend_epi32::<0b0000_0011>(self.0, other.0)),
                1 => ymm!(_mm256_blend_epi32::<0b0000_1100>(self.0, other.0)),
                2 => ymm!(_mm256_blend_epi32::<0b0011_0000>(self.0, other.0)),
                _ => ymm!(_mm256_blend_epi32::<0b1100_0000>(self.0, other.0)),
            },
            self.1,
        )
    }

    #[inline(always)]
    fn swap_lanes<const D: usize>(self) -> Self {
        Self(
            match D {
                1 => ymm!(_mm256_permute4x64_epi64::<0b10_11_00_01>(self.0)),
                _ => ymm!(_mm256_permute4x64_epi64::<0b01_00_11_10>(self.0)),
            },
            self.1,
        )
    }

    #[inline(always)]
    unsafe fn load_rows(isa: I, rows: &[*const u64; 8]) -> [Self; 4] {
        // SAFETY: the caller vouches for the words, the token for the features.
        unsafe {
            let [a, b, c, d] = transpose([
                _mm256_loadu_si256(rows[0].cast()),
                _mm256_loadu_si256(rows[1].cast()),
                _mm256_loadu_si256(rows[2].cast()),
                _mm256_loadu_si256(rows[3].cast()),
            ]);
            [Self(a, isa), Self(b, isa), Self(c, isa), Self(d, isa)]
        }
    }

    #[inline(always)]
    unsafe fn store_rows(columns: [Self; 4], rows: &[*mut u64; 8]) {
        // SAFETY: the caller vouches for the words, the columns for the features.
        unsafe {
            let [a, b, c, d] = transpose(columns.map(|column| column.0));
            _mm256_storeu_si256(rows[0].cast(), a);
            _mm256_storeu_si256(rows[1].cast(), b);
            _mm256_storeu_si256(rows[2].cast(), c);
            _mm256_storeu_si256(rows[3].cast(), d);
        }
    }
}

/// The transpose of a 4 x 4 matrix of words; its own inverse.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn transpose([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    // SAFETY: as above.
    unsafe {
        let (ab_even, ab_odd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (cd_even, cd_odd) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        [
            _mm256_permute2x128_si256::<0x20>(ab_even, cd_even),
            _mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd),
            _mm256_permute2x128_si256::<0x31>(ab_even, cd_even),
            _mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd),
        ]
    }
}
