//! Multi-scalar multiplication on short Weierstrass curves with a = 0.
//!
//! Rings: `field` <- `curve` <- `msm`; `codec` stands beside `msm`. Nothing here knows Python,
//! reads the environment or logs. All arithmetic is variable-time.

pub mod codec;
pub mod curve;
pub mod field;
pub mod msm;
pub mod published;
pub mod staging;
