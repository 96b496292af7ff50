//! What can go wrong with bytes. Indices count points.

use core::fmt;

use super::Format;

/// Errors of `decode` and `encode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// The format is not defined for the curve, or not in this form.
    Unsupported {
        /// The format.
        format: Format,
        /// Whether the compressed form was asked for.
        compressed: bool,
        /// The curve's name.
        curve: &'static str,
    },
    /// The bytes are no whole number of points.
    Length {
        /// Bytes given.
        bytes: usize,
        /// Bytes of one point.
        per_point: usize,
    },
    /// Flags that this form does not have: often another format, or the other form of this one.
    Flags {
        /// The first such point.
        index: usize,
        /// The flag bits found, in their place.
        found: u8,
        /// Whether the compressed form was expected.
        compressed: bool,
    },
    /// A coordinate is not below the field's modulus.
    Coordinate {
        /// The first such point.
        index: usize,
    },
    /// Flags say infinity, coordinates do not.
    Infinity {
        /// The first such point.
        index: usize,
    },
    /// The flag for the sign of y contradicts y.
    Sign {
        /// The first such point.
        index: usize,
    },
    /// No point of the curve has this x, or these coordinates.
    NotOnCurve {
        /// The first such point.
        index: usize,
    },
    /// A point of the curve is outside the subgroup of prime order.
    NotInSubgroup {
        /// The first such point.
        index: usize,
    },
    /// The caller raised the cancellation flag.
    Cancelled,
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = |compressed| if compressed { "compressed" } else { "uncompressed" };
        match *self {
            Self::Unsupported { format, compressed, curve } => {
                write!(f, "the {} form of {} is not defined for {curve}", form(compressed), format.name())
            }
            Self::Length { bytes, per_point } => {
                write!(f, "{bytes} bytes are no multiple of the {per_point} bytes of one point")
            }
            Self::Flags { index, found, compressed } => {
                write!(f, "point {index} has flag bits {found:#04x}, which no {} point has", form(compressed))
            }
            Self::Coordinate { index } => write!(f, "a coordinate of point {index} is not below the field modulus"),
            Self::Infinity { index } => write!(f, "point {index} is flagged as infinity but has other bits set"),
            Self::Sign { index } => write!(f, "the sign flag of point {index} contradicts its y"),
            Self::NotOnCurve { index } => write!(f, "point {index} is not on the curve"),
            Self::NotInSubgroup { index } => write!(f, "point {index} is not in the subgroup of prime order"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl core::error::Error for CodecError {}
