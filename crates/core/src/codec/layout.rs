//! What the formats look like: byte order, where the flags stand, and what they say.
//!
//! | format | order | flags | meaning |
//! |---|---|---|---|
//! | `sec` | big | a byte before x | 4 uncompressed, 2 and 3 compressed with even and odd y, 0 infinity (padded with zeros) |
//! | `zcash`, `blst` | big | top 3 bits of x | compressed, infinity, larger y (compressed only) |
//! | `gnark` | big | top 3 bits of x, or 2 where only 2 are free | the same; with 2: 00 uncompressed, 01 compressed infinity, 10 and 11 smaller and larger y |
//! | `arkworks` | little | top 2 bits of the last byte | larger y, infinity; on a curve that has `zcash`, the same as `zcash` |
//! | `snarkvm` | little | top 2 bits of the last byte | as arkworks, but no sign in the uncompressed form, whose infinity is (0, 1) |
//! | `icicle` | little | none | uncompressed only; infinity is (0, 0) |
//!
//! Sources: SEC 1 version 2 section 2.3.3; Zcash protocol specification section 5.4.9.2; gnark-crypto `marshal.go`;
//! ark-ec 0.6 `serialize_with_mode` and ark-bls12-381 0.6 `curves/util.rs`; snarkvm-curves 4.12 `templates/macros.rs`;
//! icicle `affine.h`.

use super::CodecError;
use crate::curve::CurveParams;
use crate::field::{Field, Limbs, PrimeField};

/// Names of byte encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// SEC 1.
    Sec,
    /// Zcash, blst, and the IETF drafts on BLS signatures.
    Zcash,
    /// arkworks.
    Arkworks,
    /// gnark-crypto.
    Gnark,
    /// snarkVM.
    SnarkVm,
    /// ICICLE.
    Icicle,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Sec, Self::Zcash, Self::Arkworks, Self::Gnark, Self::SnarkVm, Self::Icicle];

    /// The name in settings and in `curves/*.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sec => "sec",
            Self::Zcash => "zcash",
            Self::Arkworks => "arkworks",
            Self::Gnark => "gnark",
            Self::SnarkVm => "snarkvm",
            Self::Icicle => "icicle",
        }
    }

    /// The format of this name; `blst` is another name of `zcash`.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "blst" {
            return Some(Self::Zcash);
        }
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// Where the flags are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A byte of their own before x.
    Prefix,
    /// High bits of the first byte.
    First,
    /// High bits of the last byte.
    Last,
}

/// Which of ±y has the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Odd,
    /// Above (p − 1) / 2.
    Larger,
}

/// What flags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Infinity,
    Point { marked: bool },
}

/// One form of one format on one curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) compressed: bool,
    pub(super) order: Order,
    pub(super) place: Place,
    /// The bits that hold the flags.
    pub(super) mask: u8,
    pub(super) sign: Sign,
    /// Infinity is written as (0, 1), not (0, 0).
    pub(super) infinity_has_y_one: bool,
    /// Flags of a point without the mark, a point with it, and infinity.
    codes: [u8; 3],
}

impl Layout {
    /// The layout of a format's compressed or uncompressed form on a curve.
    pub(super) fn of<C: CurveParams<Field: PrimeField>>(format: Format, compressed: bool) -> Result<Self, CodecError> {
        let defined = |format: Format| C::CODECS.contains(&format.name());
        if !defined(format) || compressed && format == Format::Icicle {
            return Err(CodecError::Unsupported { format, compressed, curve: C::NAME });
        }
        let form = |uncompressed, compact| if compressed { compact } else { uncompressed };
        let free_bits = 64 * <C::Field as Field>::Limbs::COUNT as u32 - C::Field::BITS;
        let zcash = Self {
            compressed,
            order: Order::Big,
            place: Place::First,
            mask: 0xe0,
            sign: Sign::Larger,
            infinity_has_y_one: false,
            codes: form([0, 0, 0x40], [0x80, 0xa0, 0xc0]),
        };
        let arkworks = Self { order: Order::Little, place: Place::Last, mask: 0xc0, codes: [0, 0x80, 0x40], ..zcash };
        Ok(match format {
            Format::Sec => {
                Self { place: Place::Prefix, mask: 0xff, sign: Sign::Odd, codes: form([4, 4, 0], [2, 3, 0]), ..zcash }
            }
            Format::Gnark if free_bits < 3 => Self { mask: 0xc0, codes: form([0, 0, 0], [0x80, 0xc0, 0x40]), ..zcash },
            Format::Zcash | Format::Gnark => zcash,
            Format::Arkworks if defined(Format::Zcash) => zcash,
            Format::Arkworks => arkworks,
            Format::SnarkVm => {
                Self { codes: form([0, 0, 0x40], arkworks.codes), infinity_has_y_one: !compressed, ..arkworks }
            }
            Format::Icicle => Self { mask: 0, codes: [0; 3], ..arkworks },
        })
    }

    /// Bytes of a point whose coordinates take `size` each.
    pub(super) fn point_size(&self, size: usize) -> usize {
        usize::from(self.place == Place::Prefix) + if self.compressed { size } else { 2 * size }
    }

    /// Index of the byte with the flags in an encoding of so many bytes.
    pub(super) fn flag_index(&self, bytes: usize) -> usize {
        if self.place == Place::Last { bytes - 1 } else { 0 }
    }

    pub(super) fn flags(&self, meaning: Meaning) -> u8 {
        match meaning {
            Meaning::Infinity => self.codes[2],
            Meaning::Point { marked } => self.codes[usize::from(marked)],
        }
    }

    /// What flags say; where infinity has none of its own, coordinates that are `zero` say it.
    pub(super) fn meaning(&self, flags: u8, zero: bool) -> Option<Meaning> {
        let [plain, marked, infinity] = self.codes;
        match flags {
            _ if flags == infinity && (zero || flags != plain) => Some(Meaning::Infinity),
            _ if flags == plain => Some(Meaning::Point { marked: false }),
            _ if flags == marked => Some(Meaning::Point { marked: true }),
            _ => None,
        }
    }

    /// Whether one of ±y is marked: in every compressed form, and in some uncompressed ones.
    pub(super) fn marks(&self) -> bool {
        self.codes[0] != self.codes[1]
    }
}
