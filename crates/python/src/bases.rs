//! Prepared bases as a Python object.

use std::sync::atomic::AtomicBool;

use multiscalar_core::msm::{Check, Isa, Options, Path, Points, PrepareOptions, Scalars, Stats};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::Input;
use crate::curves::AnyBases;
use crate::failure::{failure, from_msm};
use crate::inputs::curve;
use crate::interrupt::run;

/// Terms from which a call may take longer than a signal should wait (about 10 ms), and gets a thread of its own.
const LONG: usize = 1 << 12;

/// The same for the plain oracle, which takes 200 µs a term.
const LONG_REFERENCE: usize = 1 << 6;

/// Limbs of points from which preparing them may take so long.
const LONG_POINTS: usize = 1 << 16;

/// Bases in the core's own form. Immutable.
#[pyclass(frozen, module = "multiscalar._core")]
pub struct Bases(Box<dyn AnyBases>);

/// Facts of one call: path, isa, window, windows, endomorphism, threads, terms, phases in nanoseconds, counts.
type Facts = (&'static str, &'static str, u32, u32, bool, usize, usize, (u64, u64, u64), (u64, u64, u64));

/// What `msm` returns: x and y as little-endian bytes, whether it is infinity, facts.
type Answer<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, bool, Facts);

fn word<T: Copy>(what: &str, name: &str, all: &[(&str, T)]) -> PyResult<T> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|(known, _)| *known).collect();
        failure("option", None, format!("{what} = {name:?}; accepted: {}", known.join(", ")))
    })
}

fn isa_by_name(name: &str) -> PyResult<Option<Isa>> {
    if name == "auto" {
        return Ok(None);
    }
    word("isa", name, &Isa::ALL.map(|isa| (isa.name(), isa))).map(Some)
}

/// The check of this name.
pub fn check_by_name(name: &str) -> PyResult<Check> {
    word("check", name, &[("none", Check::None), ("curve", Check::Curve), ("subgroup", Check::Subgroup)])
}

/// Validates and packs points, uint64[n, 2, L].
#[pyfunction]
pub fn prepare(
    py: Python<'_>,
    name: &str,
    points: &Bound<'_, PyAny>,
    montgomery: bool,
    check: &str,
    assert_subgroup: bool,
    isa: &str,
    threads: usize,
) -> PyResult<Bases> {
    let (curve, points) = (curve(name)?, Input::<u64>::new(points)?);
    let limbs = points.as_slice();
    let (long, cancel) = (limbs.len() >= LONG_POINTS, AtomicBool::new(false));
    let options = PrepareOptions {
        check: check_by_name(check)?,
        assert_subgroup,
        isa: isa_by_name(isa)?,
        threads,
        cancel: Some(&cancel),
    };
    let points = if montgomery { Points::Montgomery(limbs) } else { Points::Canonical(limbs) };
    let bases = run(py, long, &cancel, None, || curve.prepare(points, &options))?;
    bases.map(Bases).map_err(from_msm)
}

/// Scalars of any width, with their buffer.
enum Operand {
    U64(Input<u64>),
    U32(Input<u32>),
    U16(Input<u16>),
    U8(Input<u8>),
}

impl Operand {
    fn new(kind: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match kind {
            "u32" => Self::U32(Input::new(object)?),
            "u16" => Self::U16(Input::new(object)?),
            "u8" | "bool" => Self::U8(Input::new(object)?),
            _ => Self::U64(Input::new(object)?),
        })
    }

    fn scalars(&self, kind: &str) -> PyResult<Scalars<'_>> {
        Ok(match (self, kind) {
            (Self::U64(input), "full") => Scalars::Canonical(input.as_slice().as_chunks().0),
            (Self::U64(input), "montgomery") => Scalars::Montgomery(input.as_slice().as_chunks().0),
            (Self::U64(input), "u64") => Scalars::U64(input.as_slice()),
            (Self::U32(input), _) => Scalars::U32(input.as_slice()),
            (Self::U16(input), _) => Scalars::U16(input.as_slice()),
            (Self::U8(input), "bool") => Scalars::Bool(input.as_slice()),
            (Self::U8(input), _) => Scalars::U8(input.as_slice()),
            _ => return Err(failure("internal", None, format!("no scalars are of kind {kind}"))),
        })
    }
}

#[pymethods]
impl Bases {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Name of the arithmetic the bases are prepared for.
    #[getter]
    fn isa(&self) -> &'static str {
        self.0.isa()
    }

    /// Bytes that the prepared form occupies.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Whether the endomorphism may be used: the points are proven or asserted to be in the subgroup.
    #[getter]
    fn is_subgroup(&self) -> bool {
        self.0.is_subgroup()
    }

    /// The sum over len(scalars) bases from number `first` on; `kind` is full, montgomery, u64, u32, u16, u8 or bool.
    #[pyo3(signature = (scalars, kind, threads, reduce, window, path, endomorphism, stop, first))]
    fn msm<'py>(
        &self,
        py: Python<'py>,
        scalars: &Bound<'py, PyAny>,
        kind: &str,
        threads: usize,
        reduce: bool,
        window: Option<u32>,
        path: Option<&str>,
        endomorphism: Option<bool>,
        stop: Option<Py<PyAny>>,
        first: usize,
    ) -> PyResult<Answer<'py>> {
        let operand = Operand::new(kind, scalars)?;
        let scalars = operand.scalars(kind)?;
        let path = path.map(|name| word("path", name, &Path::ALL.map(|path| (path.name(), path)))).transpose()?;
        let cancel = AtomicBool::new(false);
        let options = Options { threads, window, path, endomorphism, reduce, first, cancel: Some(&cancel) };
        let long = scalars.len() >= if path == Some(Path::Reference) { LONG_REFERENCE } else { LONG };
        let result = run(py, long, &cancel, stop, || self.0.msm(scalars, &options))?;
        let (sum, stats) = result.map_err(from_msm)?;
        Ok((PyBytes::new(py, &sum.x), PyBytes::new(py, &sum.y), sum.is_infinity, facts(&stats)))
    }
}

fn facts(stats: &Stats) -> Facts {
    let (phases, counts) = (&stats.phases, &stats.counts);
    let ns = |time: std::time::Duration| time.as_nanos() as u64;
    (
        stats.path.name(),
        stats.isa.name(),
        stats.window,
        stats.windows,
        stats.endomorphism,
        stats.threads,
        stats.terms,
        (ns(phases.scalars), ns(phases.buckets), ns(phases.combine)),
        (counts.additions, counts.inversions, counts.projective),
    )
}
