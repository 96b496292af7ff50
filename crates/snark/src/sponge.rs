//! The Fiat–Shamir sponge of Varuna: Poseidon over Fq, rate 2, with snarkVM's encodings.
//!
//! A permutation costs about 630 multiplications in Fq and is strictly serial (some 20 us).
//! Source: Poseidon (eprint 2019/458); encodings as in snarkVM 4.12, against which they were verified.

use ark_ec::AffineRepr;
use ark_ff::{AdditiveGroup, BigInt, BigInteger, Field, PrimeField};
use multiscalar_core::published::Published;

use crate::grain::{FULL_ROUNDS, PARTIAL_ROUNDS, Parameters, WIDTH, parameters};
use crate::points::G1;
use crate::{Fq, Fr};

const RATE: usize = WIDTH - 1;
/// Bits of Fq that are used, in and out: one less than the modulus has.
const CAPACITY_BITS: usize = 376;
/// A scalar enters as this many limbs ...
const LIMBS: usize = 5;
/// ... of this many bits; neighbours are packed two to a field element, `PACK_BITS` apart.
const LIMB_BITS: usize = 51;
const PACK_BITS: usize = 53;
/// Bits of a challenge.
pub const CHALLENGE_BITS: usize = 252;
/// Bits of a challenge of the polynomial commitments.
pub const SHORT_BITS: usize = 168;

static PARAMETERS: Published<Parameters> = Published::new();

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// The next element is added at this rate position.
    Absorbing(usize),
    /// The next element is read from this rate position.
    Squeezing(usize),
}

/// The duplex sponge. A clone goes its own way.
#[derive(Clone, Debug)]
pub struct Sponge {
    /// Element 0 is the capacity.
    state: [Fq; WIDTH],
    mode: Mode,
}

impl Default for Sponge {
    fn default() -> Self {
        Self { state: [Fq::ZERO; WIDTH], mode: Mode::Absorbing(0) }
    }
}

impl Sponge {
    /// Adds native elements. Nothing happens for none.
    pub fn absorb(&mut self, elements: impl IntoIterator<Item = Fq>) {
        for element in elements {
            let mut at = match self.mode {
                Mode::Absorbing(at) => at,
                Mode::Squeezing(_) => RATE,
            };
            if at == RATE {
                self.permute();
                at = 0;
            }
            self.state[1 + at] += element;
            self.mode = Mode::Absorbing(at + 1);
        }
    }

    /// Reads `count` native elements.
    pub fn squeeze(&mut self, count: usize) -> Vec<Fq> {
        (0..count)
            .map(|_| {
                let mut at = match self.mode {
                    Mode::Absorbing(_) => RATE,
                    Mode::Squeezing(at) => at,
                };
                if at == RATE {
                    self.permute();
                    at = 0;
                }
                self.mode = Mode::Squeezing(at + 1);
                self.state[1 + at]
            })
            .collect()
    }

    /// Adds bytes: 47 at a time, each chunk a big-endian number.
    pub fn absorb_bytes(&mut self, bytes: &[u8]) {
        self.absorb(bytes.chunks(CAPACITY_BITS / 8).map(Fq::from_be_bytes_mod_order));
    }

    /// Adds points as x, y and a flag; infinity is (0, 1, 1).
    pub fn absorb_points(&mut self, points: &[G1]) {
        self.absorb(
            points.iter().flat_map(|p| if p.is_zero() { [Fq::ZERO, Fq::ONE, Fq::ONE] } else { [p.x, p.y, Fq::ZERO] }),
        );
    }

    /// Adds one list of scalars. Limbs are packed across the scalars of a list, never across lists.
    pub fn absorb_scalars(&mut self, scalars: &[Fr]) {
        let limbs: Vec<u64> = scalars.iter().flat_map(limbs_of).collect();
        let shift = Fq::from(1u64 << PACK_BITS);
        self.absorb(limbs.chunks(2).map(|pair| pair.iter().fold(Fq::ZERO, |sum, l| sum * shift + Fq::from(*l))));
    }

    /// `count` challenges of 252 bits, drawn in one call.
    pub fn challenges(&mut self, count: usize) -> Vec<Fr> {
        self.cut(count, CHALLENGE_BITS)
    }

    /// `count` challenges of 168 bits, drawn in one call.
    pub fn short_challenges(&mut self, count: usize) -> Vec<Fr> {
        self.cut(count, SHORT_BITS)
    }

    fn cut(&mut self, count: usize, width: usize) -> Vec<Fr> {
        let elements = self.squeeze((count * width).div_ceil(CAPACITY_BITS));
        let bits: Vec<bool> = elements
            .iter()
            .flat_map(|e| {
                let mut bits = e.into_bigint().to_bits_be();
                bits.split_off(bits.len() - CAPACITY_BITS)
            })
            .collect();
        // 252 bits are always below r: the conversion cannot fail
        bits.chunks(width)
            .take(count)
            .map(|piece| Fr::from_bigint(BigInt::from_bits_be(piece)).unwrap_or_default())
            .collect()
    }

    fn permute(&mut self) {
        let parameters = PARAMETERS.get(parameters);
        let partial = FULL_ROUNDS / 2..FULL_ROUNDS / 2 + PARTIAL_ROUNDS;
        for (round, constants) in parameters.round_constants.iter().enumerate() {
            for (s, c) in self.state.iter_mut().zip(constants) {
                *s += c;
            }
            let boxes = if partial.contains(&round) { 1 } else { WIDTH };
            for s in &mut self.state[..boxes] {
                let mut power = *s;
                for _ in 0..4 {
                    power.square_in_place();
                }
                *s *= power; // s^17
            }
            self.state = std::array::from_fn(|i| Fq::sum_of_products(&parameters.mixing[i], &self.state));
        }
    }
}

/// Five 51-bit limbs, most significant first.
fn limbs_of(scalar: &Fr) -> [u64; LIMBS] {
    let words = scalar.into_bigint().0;
    std::array::from_fn(|i| {
        let bit = (LIMBS - 1 - i) * LIMB_BITS;
        let (word, offset) = (bit / 64, bit % 64);
        let mut limb = words[word] >> offset;
        if offset > 64 - LIMB_BITS && word + 1 < words.len() {
            limb |= words[word + 1] << (64 - offset);
        }
        limb & ((1 << LIMB_BITS) - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_vector() {
        let mut sponge = Sponge::default();
        sponge.absorb([Fq::from(1u64), Fq::from(2u64)]);
        assert_eq!(
            sponge.squeeze(1)[0].to_string(),
            "72294303043121704397147281326650193529010532614490517038576855078257126503035559320016387917342807\
             466309545106517"
        );
    }

    #[test]
    fn bytes_vector() {
        let mut sponge = Sponge::default();
        sponge.absorb_bytes(b"VARUNA-2023");
        assert_eq!(
            sponge.challenges(1)[0].to_string(),
            "366320403061895101660240321358696532704234722635149267024081898599257826848"
        );
    }

    #[test]
    fn scalar_vector() {
        let mut sponge = Sponge::default();
        sponge.absorb_scalars(&[Fr::from(1u64)]);
        assert_eq!(
            sponge.challenges(1)[0].to_string(),
            "1374689501375928659002724876291117228534935480450597048009951160439538098639"
        );
    }

    #[test]
    fn empty_calls_change_nothing() {
        let mut sponge = Sponge::default();
        sponge.absorb_bytes(b"x");
        let mut other = sponge.clone();
        other.absorb_bytes(b"");
        other.absorb_scalars(&[]);
        assert!(other.challenges(0).is_empty());
        other.absorb_bytes(b"y");
        sponge.absorb_bytes(b"y");
        assert_eq!(sponge.squeeze(5), other.squeeze(5));
    }

    #[test]
    fn squeezing_goes_on_where_it_stopped() {
        let mut one = Sponge::default();
        one.absorb_bytes(b"x");
        let mut many = one.clone();
        let all = one.squeeze(5);
        let pieces: Vec<Fq> = [2, 1, 2].into_iter().flat_map(|n| many.squeeze(n)).collect();
        assert_eq!(all, pieces);
    }

    #[test]
    fn limbs_recombine() {
        let scalar = -Fr::from(12_345u64);
        let shift = Fr::from(1u64 << LIMB_BITS);
        let sum = limbs_of(&scalar).iter().fold(Fr::ZERO, |sum, l| sum * shift + Fr::from(*l));
        assert_eq!(sum, scalar);
    }
}
