//! Lanes against `Fp`, at the ends of the bounds and with dirty limbs, for every instruction set that this CPU has.

use super::ifma256::{Ifma256, Ifma256Vl};
use super::ifma512::Ifma512;
use super::params::{LIMB, LIMB_MASK, multiple};
use super::{Isa, Kernel, LaneField, Limbwise, Repack, Vector};
use crate::curve::tables::{bls12_377, bls12_381, bn254};
use crate::field::{Field, FieldParams, Fp, LaneParams, limbs};

/// Runs a check for every instruction set, and says which ones are missing.
macro_rules! for_every_isa {
    ($check:ident :: <$($p:ty, $n:literal, $l:literal);+>) => {
        fn missing(isa: &str) {
            println!("skipped: this CPU lacks {isa}");
        }
        match Ifma512::detect() {
            Some(isa) => { $($check::<_, $p, $n, $l>(isa);)+ }
            None => missing("AVX-512 IFMA"),
        }
        match Ifma256Vl::detect() {
            Some(isa) => { $($check::<_, $p, $n, $l>(isa);)+ }
            None => missing("AVX-512 IFMA with VL"),
        }
        match Ifma256::detect() {
            Some(isa) => { $($check::<_, $p, $n, $l>(isa);)+ }
            None => missing("AVX-IFMA"),
        }
    };
}

/// Values of the lanes of one element: limbs, lane by lane.
type Lanes<const L: usize> = [[u64; L]; 8];

/// What a kernel under test computes: from two elements to one, through memory.
struct Compute<'a, const L: usize, F> {
    a: &'a Lanes<L>,
    b: &'a Lanes<L>,
    operation: F,
}

impl<I: Isa, const L: usize, F> Kernel<I> for Compute<'_, L, F>
where
    I::Vector: Limbwise<L>,
    F: FnOnce(I, [I::Vector; L], [I::Vector; L]) -> [I::Vector; L],
{
    type Output = Lanes<L>;

    #[inline(always)]
    fn run(self, isa: I) -> Lanes<L> {
        let result = (self.operation)(isa, load::<I, L>(isa, self.a), load::<I, L>(isa, self.b));
        let mut lanes = [[0; L]; 8];
        for (i, limb) in result.into_iter().enumerate() {
            let mut words = [0; 8];
            // SAFETY: eight words are enough for any vector.
            unsafe { limb.store(words.as_mut_ptr()) };
            (0..8).for_each(|lane| lanes[lane][i] = words[lane]);
        }
        lanes
    }
}

fn load<I: Isa, const L: usize>(isa: I, lanes: &Lanes<L>) -> [I::Vector; L] {
    core::array::from_fn(|i| {
        let words: [u64; 8] = core::array::from_fn(|lane| lanes[lane][i]);
        // SAFETY: eight words are enough for any vector.
        unsafe { I::Vector::load(isa, words.as_ptr()) }
    })
}

/// The field element of clean limbs of any size.
fn element<P: FieldParams<N>, const N: usize, const L: usize>(limbs: [u64; L]) -> Fp<P, N> {
    let mut word = [0; N];
    (word[0], word[1]) = (1 << LIMB, 0);
    let radix = Fp::<P, N>::from_canonical(word).expect("2^52 is below the modulus");
    limbs.iter().rev().fold(Fp::ZERO, |sum, &limb| {
        word[0] = limb;
        sum * radix + Fp::from_canonical(word).expect("a limb is below the modulus")
    })
}

fn less<const L: usize>(a: &[u64; L], b: &[u64; L]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

/// 0, 1 and k p - 1, k p, k p + 1 for k up to `most`, then pseudo-random values below `most` p, all clean.
fn samples<P: LaneParams<L>, const L: usize>(most: u64, count: usize) -> Vec<[u64; L]> {
    let mut one = [0; L];
    one[0] = 1;
    let mut values = vec![[0; L], one];
    for k in 1..=most {
        let kp = multiple(P::MODULUS, k);
        let (mut below, mut above) = (kp, kp);
        below[0] -= 1; // p is odd, and no k here makes the lowest limb zero or all ones
        above[0] += 1;
        values.extend([below, kp, above]);
    }
    values.retain(|value| less(value, &multiple(P::MODULUS, most)));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while values.len() < count {
        let value = core::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 12
        });
        let mut value: [u64; L] = value;
        value[L - 1] %= multiple(P::MODULUS, most)[L - 1];
        values.push(value);
    }
    values
}

/// The same value with rubbish above the limbs (the top one must stay).
fn dirty<const L: usize>(clean: [u64; L], seed: u64) -> [u64; L] {
    core::array::from_fn(|i| if i + 1 < L { clean[i] | seed.rotate_left(7 * i as u32) << LIMB } else { clean[i] })
}

/// Products of values below 8 p and 6 p, and squares: right modulo p, below 3 p, and the addend is added.
fn products<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(isa: I)
where
    I::Vector: Repack<N, L>,
{
    let inverse_radix = element::<P, N, L>(<P as LaneParams<L>>::R).invert().expect("R52 is not zero");
    let (left, right) = (samples::<P, L>(8, 64), samples::<P, L>(6, 57));
    for shift in 0..right.len() {
        for group in left.chunks_exact(8) {
            let a: Lanes<L> = core::array::from_fn(|lane| group[lane]);
            let b: Lanes<L> = core::array::from_fn(|lane| right[(shift + lane) % right.len()]);
            let (dirty_a, dirty_b) = (a.map(|x| dirty(x, 0xdead_beef)), b.map(|x| dirty(x, 0x0123_4567_89ab)));
            let multiply = |isa, a, b| {
                let product = I::Vector::mul::<P, N>(isa, a, b, I::Vector::constant(isa, [0; L]));
                I::Vector::clean(isa, I::Vector::carry(product))
            };
            let square = |isa, a, b| {
                let sum = I::Vector::square::<P, N>(isa, a, I::Vector::clean(isa, b));
                I::Vector::clean(isa, I::Vector::carry(sum))
            };
            let product = isa.run(Compute { a: &dirty_a, b: &dirty_b, operation: multiply });
            let sum = isa.run(Compute { a: &dirty_a, b: &dirty_b, operation: square });
            for lane in 0..I::Vector::LANES {
                let (x, y) = (element::<P, N, L>(a[lane]), element::<P, N, L>(b[lane]));
                assert!(less(&product[lane], &multiple(<P as LaneParams<L>>::MODULUS, 3)), "{:x?}", product[lane]);
                assert_eq!(element::<P, N, L>(product[lane]), x * y * inverse_radix, "{:x?} {:x?}", a[lane], b[lane]);
                assert_eq!(element::<P, N, L>(sum[lane]), x.square() * inverse_radix + y, "{:x?}", a[lane]);
            }
        }
    }
}

#[test]
fn products_at_the_bounds() {
    for_every_isa!(products::<
        bn254::Fq, 4, 5; bn254::Fr, 4, 5; bls12_377::Fq, 6, 8; bls12_381::Fq, 6, 8
    >);
}

/// Words to limbs and back, for words that are all ones, and limbs that are those of the words.
fn repacking<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(isa: I)
where
    I::Vector: Repack<N, L>,
{
    struct Move<'a, const N: usize, const L: usize>(&'a mut [[u64; 16]; 8]);
    impl<I: Isa, const N: usize, const L: usize> Kernel<I> for Move<'_, N, L>
    where
        I::Vector: Repack<N, L>,
    {
        type Output = Lanes<L>;
        #[inline(always)]
        fn run(self, isa: I) -> Lanes<L> {
            let rows = self.0.each_mut().map(|row| row.as_mut_ptr());
            let read = rows.map(|row| row.cast_const());
            // SAFETY: every row has room for a point.
            let (x, y) = unsafe { (I::Vector::load_x(isa, &read), I::Vector::load_y(isa, &read)) };
            let (x, y) = (I::Vector::limbs(x), I::Vector::limbs(y));
            let words = (I::Vector::words(isa, y), I::Vector::words(isa, x));
            // SAFETY: as above.
            unsafe { I::Vector::store_points(words.0, words.1, &rows) };
            let identity = |isa, a, _| I::Vector::clean(isa, a);
            let mut saved = [[0; L]; 8];
            for (i, limb) in x.into_iter().enumerate() {
                let mut words = [0; 8];
                // SAFETY: eight words are enough for any vector.
                unsafe { limb.store(words.as_mut_ptr()) };
                (0..8).for_each(|lane| saved[lane][i] = words[lane]);
            }
            Compute { a: &saved.clone(), b: &saved, operation: identity }.run(isa)
        }
    }
    let mut state = 1_u64;
    for fill in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
        let mut rows = [[0; 16]; 8];
        for word in rows.iter_mut().flat_map(|row| &mut row[..2 * N]) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *word = if fill == 0x0123_4567_89ab_cdef { state } else { fill };
        }
        rows[1][..N].copy_from_slice(&<P as FieldParams<N>>::MODULUS);
        let before = rows;
        let saved = isa.run(Move::<N, L>(&mut rows));
        for lane in 0..I::Vector::LANES {
            let (x, y) = before[lane][..2 * N].split_at(N);
            assert_eq!((&rows[lane][..N], &rows[lane][N..2 * N]), (y, x), "x and y change places");
            for (i, &limb) in saved[lane].iter().enumerate() {
                let bit = |j: usize| j < 64 * N && limbs::bit(x, j as u32);
                let expected = (0..52).filter(|&j| bit(52 * i + j)).fold(0, |sum, j| sum | 1 << j);
                assert_eq!(limb & LIMB_MASK, expected, "limb {i}");
            }
        }
    }
}

#[test]
fn repacking_keeps_every_bit() {
    for_every_isa!(repacking::<bn254::Fq, 4, 5; bls12_381::Fq, 6, 8>);
}

/// p FRIENDLY-style identities, by plain arithmetic: 2^52 friendly = k p + 1 and INVERSE p = 1 modulo 2^52.
#[test]
fn derived_constants() {
    fn check<P: LaneField<N, L>, const N: usize, const L: usize>() {
        let p = <P as LaneParams<L>>::MODULUS;
        assert_eq!(P::INVERSE.wrapping_mul(p[0]) & LIMB_MASK, 1);
        let mut one = [0; L];
        one[0] = 1;
        let mut shifted = [0; L];
        shifted[1] = 1;
        let radix = element::<P, N, L>(shifted);
        assert_eq!(element::<P, N, L>(P::FRIENDLY) * radix, element::<P, N, L>(one), "friendly 2^52 is 1 modulo p");
        assert!(less(&P::FRIENDLY, &p));
        let complement = super::params::complement(p);
        let sum: [u64; L] = core::array::from_fn(|i| complement[i] + p[i]);
        let carried = sum
            .iter()
            .fold((true, 0), |(zero, carry), limb| (zero && (limb + carry) & LIMB_MASK == 0, (limb + carry) >> LIMB));
        assert_eq!(carried, (true, 1), "complement + p = 2^(52 L)");
    }
    check::<bn254::Fq, 4, 5>();
    check::<bn254::Fr, 4, 5>();
    check::<bls12_377::Fq, 6, 8>();
    check::<bls12_381::Fq, 6, 8>();
}
