//! Multiplication, squaring and the small change of limbs, unrolled for each number of limbs.
//!
//! Cost in vector instructions: a multiplication is 4 L^2 + 1 multiply-adds, 2 L shifts and additions, and 2 (L - 1)
//! for the carry: 119 for L = 5, 287 for L = 8. A squaring is 2 L (L + 1) / 2 + 2 L^2 + 1 multiply-adds and some
//! 6 L others: 109 and 251. The bound on a CPU with two 512-bit ports is half of that in cycles for eight lanes;
//! docs/cpu-lanes.md has what is reached. Rolled loops over const-generic limbs would halve the speed.
//! Source: Montgomery reduction by operand scanning, with the multiple of the modulus that ends in 2^52 - 1 for all
//! rounds but the last (`LaneField::FRIENDLY`).

use super::params::LaneField;
use super::{Vector, unroll};
use crate::field::LaneParams;

/// Arithmetic on elements of L limbs. See the module above for clean, dirty and raw limbs.
pub trait Limbwise<const L: usize>: Vector {
    /// The same limbs in every lane.
    fn constant(isa: Self::Isa, limbs: [u64; L]) -> [Self; L];
    /// a + b.
    fn add(a: [Self; L], b: [Self; L]) -> [Self; L];
    /// a - b.
    fn sub(a: [Self; L], b: [Self; L]) -> [Self; L];
    /// `sum` + the low 52 bits of the limbs of a.
    fn add_clean(isa: Self::Isa, sum: [Self; L], a: [Self; L]) -> [Self; L];
    /// a + b where the mask is set.
    fn add_where(a: [Self; L], mask: Self::Mask, b: [Self; L]) -> [Self; L];
    /// a - b where the mask is set.
    fn sub_where(a: [Self; L], mask: Self::Mask, b: [Self; L]) -> [Self; L];
    /// Adds each limb's excess over 52 bits to the next one: raw to dirty.
    fn carry(a: [Self; L]) -> [Self; L];
    /// Removes what `carry` left in place: dirty to clean.
    fn clean(isa: Self::Isa, a: [Self; L]) -> [Self; L];
    /// Lane D in every lane.
    fn spread<const D: usize>(a: [Self; L]) -> [Self; L];
    /// a with lane D taken from b.
    fn with<const D: usize>(a: [Self; L], b: [Self; L]) -> [Self; L];
    /// Lane i to lane i ^ D.
    fn swap<const D: usize>(a: [Self; L]) -> [Self; L];
    /// Loads limb vectors that lie one after the other.
    ///
    /// # Safety
    ///
    /// L vectors are readable.
    unsafe fn load_limbs(isa: Self::Isa, from: *const u64) -> [Self; L];
    /// Stores limb vectors one after the other.
    ///
    /// # Safety
    ///
    /// L vectors are writable.
    unsafe fn store_limbs(a: [Self; L], to: *mut u64);
    /// a b / R52 + addend: dirty factors, raw addend and result.
    fn mul<P: LaneField<N, L>, const N: usize>(
        isa: Self::Isa,
        a: [Self; L],
        b: [Self; L],
        addend: [Self; L],
    ) -> [Self; L];
    /// a^2 / R52 + addend: dirty factor, raw addend and result.
    fn square<P: LaneField<N, L>, const N: usize>(isa: Self::Isa, a: [Self; L], addend: [Self; L]) -> [Self; L];
}

/// Clears column I of the product in `t`, for some I < L.
macro_rules! reduce {
    ($isa:ident, $t:ident, $p:ident, $i:ident, $l:literal, [$($j:literal)*]) => {
        if $i + 1 < $l {
            let m = $t[$i];
            $t[$i + 1] = $t[$i + 1] + m.shr::<52>();
            unroll!(J in [$($j)*] {
                let friendly = V::splat($isa, $p::FRIENDLY[J]);
                $t[$i + J + 1] = $t[$i + J + 1].madd_lo(m, friendly);
                $t[$i + J + 2] = $t[$i + J + 2].madd_hi(m, friendly);
            });
        } else {
            let m = V::splat($isa, 0).madd_lo($t[$i], V::splat($isa, <$p as LaneParams<$l>>::NEG_INV));
            unroll!(J in [$($j)*] {
                let modulus = V::splat($isa, <$p as LaneParams<$l>>::MODULUS[J]);
                $t[$i + J] = $t[$i + J].madd_lo(m, modulus);
                $t[$i + J + 1] = $t[$i + J + 1].madd_hi(m, modulus);
            });
            $t[$i + 1] = $t[$i + 1] + $t[$i].shr::<52>();
        }
    };
}

macro_rules! limbwise {
    ($l:literal, [$($i:literal)*], [$($below_top:literal)*]) => {
        impl<V: Vector> Limbwise<$l> for V {
            #[inline(always)]
            fn constant(isa: V::Isa, limbs: [u64; $l]) -> [V; $l] {
                [$(V::splat(isa, limbs[$i])),*]
            }

            #[inline(always)]
            fn add(a: [V; $l], b: [V; $l]) -> [V; $l] {
                [$(a[$i] + b[$i]),*]
            }

            #[inline(always)]
            fn sub(a: [V; $l], b: [V; $l]) -> [V; $l] {
                [$(a[$i] - b[$i]),*]
            }

            #[inline(always)]
            fn add_clean(isa: V::Isa, sum: [V; $l], a: [V; $l]) -> [V; $l] {
                let one = V::splat(isa, 1);
                [$(sum[$i].madd_lo(a[$i], one)),*]
            }

            #[inline(always)]
            fn add_where(a: [V; $l], mask: V::Mask, b: [V; $l]) -> [V; $l] {
                [$(a[$i].add_if(mask, b[$i])),*]
            }

            #[inline(always)]
            fn sub_where(a: [V; $l], mask: V::Mask, b: [V; $l]) -> [V; $l] {
                [$(a[$i].sub_if(mask, b[$i])),*]
            }

            #[inline(always)]
            fn carry(mut a: [V; $l]) -> [V; $l] {
                $(a[$below_top + 1] = a[$below_top + 1] + a[$below_top].shr::<52>();)*
                a
            }

            #[inline(always)]
            fn clean(isa: V::Isa, mut a: [V; $l]) -> [V; $l] {
                let mask = V::splat(isa, super::params::LIMB_MASK);
                $(a[$below_top] = a[$below_top] & mask;)*
                a
            }

            #[inline(always)]
            fn spread<const D: usize>(a: [V; $l]) -> [V; $l] {
                [$(a[$i].spread_lane::<D>()),*]
            }

            #[inline(always)]
            fn with<const D: usize>(a: [V; $l], b: [V; $l]) -> [V; $l] {
                [$(a[$i].with_lane::<D>(b[$i])),*]
            }

            #[inline(always)]
            fn swap<const D: usize>(a: [V; $l]) -> [V; $l] {
                [$(a[$i].swap_lanes::<D>()),*]
            }

            #[inline(always)]
            unsafe fn load_limbs(isa: V::Isa, from: *const u64) -> [V; $l] {
                // SAFETY: the caller vouches for L vectors.
                unsafe { [$(V::load(isa, from.add($i * V::LANES))),*] }
            }

            #[inline(always)]
            unsafe fn store_limbs(a: [V; $l], to: *mut u64) {
                // SAFETY: the caller vouches for L vectors.
                unsafe { $(a[$i].store(to.add($i * V::LANES));)* }
            }

            #[inline(always)]
            fn mul<P: LaneField<N, $l>, const N: usize>(
                isa: V::Isa, a: [V; $l], b: [V; $l], addend: [V; $l],
            ) -> [V; $l] {
                let mut t = [V::splat(isa, 0); 2 * $l];
                $(t[$l + $i] = addend[$i];)*
                unroll!(I in [$($i)*] {
                    unroll!(J in [$($i)*] {
                        t[I + J] = t[I + J].madd_lo(a[J], b[I]);
                        t[I + J + 1] = t[I + J + 1].madd_hi(a[J], b[I]);
                    });
                });
                unroll!(I in [$($i)*] { reduce!(isa, t, P, I, $l, [$($i)*]); });
                [$(t[$l + $i]),*]
            }

            #[inline(always)]
            fn square<P: LaneField<N, $l>, const N: usize>(isa: V::Isa, a: [V; $l], addend: [V; $l]) -> [V; $l] {
                let mut t = [V::splat(isa, 0); 2 * $l];
                unroll!(I in [$($i)*] {
                    unroll!(J in [$($i)*] {
                        if I < J {
                            t[I + J] = t[I + J].madd_lo(a[J], a[I]);
                            t[I + J + 1] = t[I + J + 1].madd_hi(a[J], a[I]);
                        }
                    });
                });
                // Columns 0 and 2 L - 1 hold no product of two different limbs.
                unroll!(I in [$($below_top)*] {
                    t[I + 1] = t[I + 1] + t[I + 1];
                    t[$l + I] = t[$l + I] + t[$l + I];
                });
                unroll!(I in [$($i)*] {
                    t[$l + I] = t[$l + I] + addend[I];
                    t[2 * I] = t[2 * I].madd_lo(a[I], a[I]);
                    t[2 * I + 1] = t[2 * I + 1].madd_hi(a[I], a[I]);
                });
                unroll!(I in [$($i)*] { reduce!(isa, t, P, I, $l, [$($i)*]); });
                [$(t[$l + $i]),*]
            }
        }
    };
}

limbwise!(5, [0 1 2 3 4], [0 1 2 3]);
limbwise!(8, [0 1 2 3 4 5 6 7], [0 1 2 3 4 5 6]);
