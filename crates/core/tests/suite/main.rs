//! All integration tests of the core, as one program: the engine is generic, and every program that uses it is compiled
//! with an engine of its own for every curve and instruction set.

mod adder;
mod codec;
#[rustfmt::skip]
mod grumpkin;
mod inputs;
mod msm;
mod reference;
mod straus;
mod support;
