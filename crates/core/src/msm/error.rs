//! What can go wrong in `prepare` and `msm`. Indices are those of the caller's arrays.

use core::fmt;

use super::Isa;

/// Errors of `prepare` and `msm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MsmError {
    /// A buffer of points whose length is no multiple of one point.
    PointLength {
        /// Limbs given.
        limbs: usize,
        /// Limbs of one point.
        per_point: usize,
    },
    /// More scalars than bases.
    Length {
        /// Number of bases.
        bases: usize,
        /// Number of scalars.
        scalars: usize,
    },
    /// A scalar is not below the group order.
    ScalarRange {
        /// The first such scalar.
        index: usize,
    },
    /// A coordinate is not below the field's modulus.
    CoordinateRange {
        /// The first such point.
        index: usize,
    },
    /// A point does not satisfy the equation of the curve.
    NotOnCurve {
        /// The first such point.
        index: usize,
    },
    /// A point of the curve is outside the subgroup of prime order.
    NotInSubgroup {
        /// The first such point.
        index: usize,
    },
    /// A forced window width is out of range.
    Window {
        /// The width asked for.
        window: u32,
        /// The widest one.
        most: u32,
    },
    /// A forced path that these inputs cannot take.
    PathUnavailable {
        /// Why.
        reason: &'static str,
    },
    /// This CPU cannot run the instruction set asked for.
    IsaUnavailable(Isa),
    /// More terms than an index can hold.
    TooMany {
        /// Number of terms.
        terms: usize,
        /// The most that are accepted.
        most: usize,
    },
    /// The caller raised the cancellation flag.
    Cancelled,
}

impl fmt::Display for MsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PointLength { limbs, per_point } => {
                write!(f, "{limbs} limbs of points are no multiple of the {per_point} limbs of one point")
            }
            Self::Length { bases, scalars } => write!(f, "{scalars} scalars for {bases} bases"),
            Self::ScalarRange { index } => write!(f, "scalar {index} is not below the group order"),
            Self::CoordinateRange { index } => {
                write!(f, "a coordinate of point {index} is not below the field modulus")
            }
            Self::NotOnCurve { index } => write!(f, "point {index} is not on the curve"),
            Self::NotInSubgroup { index } => write!(f, "point {index} is not in the subgroup of prime order"),
            Self::Window { window, most } => write!(f, "window width {window} is not in 1..={most}"),
            Self::PathUnavailable { reason } => f.write_str(reason),
            Self::IsaUnavailable(isa) => write!(f, "this CPU has no {}", isa.name()),
            Self::TooMany { terms, most } => write!(f, "{terms} terms; at most {most} are accepted"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl core::error::Error for MsmError {}
