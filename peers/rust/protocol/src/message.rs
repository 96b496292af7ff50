//! The messages of the peer protocol: one JSON object a line, requests on stdin and answers on stdout.
//!
//! Source: the peer protocol of the multiscalar lab (docs/peers/protocol.md).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the lab asks for; the tag is the key `do`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    Hello,
    Load(Load),
    Run(Run),
    Bye,
}

/// Domain of the residues in a file: the value itself, or the value times 2^(64·limbs).
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    #[default]
    Canonical,
    Montgomery,
}

/// Names the two raw files of one workload.
#[derive(Debug, Deserialize)]
pub struct Load {
    pub curve: String,
    #[serde(default = "g1")]
    pub group: String,
    pub n: usize,
    pub points: PathBuf,
    pub scalars: PathBuf,
    #[serde(default)]
    pub form: Form,
    #[serde(default)]
    pub scalar_form: Form,
}

/// What one timed sample covers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Bases and scalars already in the library's own form; the call itself is timed.
    #[default]
    ResidentBases,
    /// Conversion from the raw arrays in memory is timed as well.
    EndToEnd,
    /// Bases and scalars already in device memory.
    Resident,
}

/// One measurement of the loaded workload, or of its first `n` terms.
#[derive(Debug, Deserialize)]
pub struct Run {
    #[serde(default = "cpu")]
    pub path: String,
    #[serde(default)]
    pub scope: Scope,
    #[serde(default)]
    pub warmups: usize,
    #[serde(default = "one")]
    pub repeats: usize,
    /// Zero means all processors that this process may use.
    #[serde(default = "one")]
    pub threads: usize,
    #[serde(default)]
    pub options: Map<String, Value>,
    pub n: Option<usize>,
}

fn g1() -> String {
    "g1".into()
}

fn cpu() -> String {
    "cpu".into()
}

fn one() -> usize {
    1
}

impl Scope {
    /// The word of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::ResidentBases => "resident-bases",
            Self::EndToEnd => "end-to-end",
            Self::Resident => "resident",
        }
    }
}

/// What a peer says about itself.
#[derive(Debug, Serialize)]
pub struct Hello {
    pub name: &'static str,
    pub version: &'static str,
    pub curves: &'static [&'static str],
    pub groups: &'static [&'static str],
    pub devices: Vec<String>,
    pub paths: &'static [&'static str],
    pub scopes: &'static [&'static str],
    pub options: &'static [&'static str],
    /// In words: exactly what one `resident-bases` sample covers.
    pub timed: &'static str,
}

/// Clocks of one sample, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    pub wall_ns: u64,
    pub cpu_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_ns: Option<u64>,
}

/// A sum in affine form: canonical coordinates in hex, (0, 0) with the flag for infinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Affine {
    pub x: String,
    pub y: String,
    pub is_infinity: bool,
}

impl Affine {
    /// The point at infinity.
    pub fn infinity() -> Self {
        Self { x: "0x0".into(), y: "0x0".into(), is_infinity: true }
    }

    /// A finite point from little-endian canonical limbs.
    pub fn finite(x: &[u64], y: &[u64]) -> Self {
        Self { x: hex(x), y: hex(y), is_infinity: false }
    }
}

fn hex(limbs: &[u64]) -> String {
    let digits: String = limbs.iter().rev().map(|limb| format!("{limb:016x}")).collect();
    let short = digits.trim_start_matches('0');
    format!("0x{}", if short.is_empty() { "0" } else { short })
}

/// The answer to `run`.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub samples: Vec<Sample>,
    pub result: Affine,
    /// Whether every sample and warm-up gave the same point.
    pub agree: bool,
    #[serde(rename = "where")]
    pub place: String,
    pub evidence: Map<String, Value>,
}

/// An answer of the form `{"error": {"kind", "message"}}`.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub kind: &'static str,
    pub message: String,
}

impl Failure {
    /// The request itself is wrong: unknown field value, order of calls, sizes.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: "usage", message: message.into() }
    }

    /// The library cannot do what was asked.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: "unsupported", message: message.into() }
    }

    /// A file is missing, short, or holds a value that the library refuses.
    pub fn data(message: impl Into<String>) -> Self {
        Self { kind: "data", message: message.into() }
    }

    /// No device that could do this.
    pub fn device(message: impl Into<String>) -> Self {
        Self { kind: "device", message: message.into() }
    }

    /// The library itself failed.
    pub fn library(message: impl Into<String>) -> Self {
        Self { kind: "library", message: message.into() }
    }
}
