//! The sponge.

use multiscalar_snark::sponge;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::points::read_points;
use super::views::{View, scalar_bytes};

/// The Fiat-Shamir sponge.
#[pyclass(module = "multiscalar._core.snark")]
pub(super) struct Sponge(sponge::Sponge);

#[pymethods]
impl Sponge {
    #[new]
    fn new() -> Self {
        Self(sponge::Sponge::default())
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn absorb_bytes(&mut self, data: &[u8]) {
        self.0.absorb_bytes(data);
    }

    fn absorb_points(&mut self, points: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.absorb_points(&read_points(&View::new(points, false)?)?);
        Ok(())
    }

    /// One list of scalars, a vector in Montgomery form.
    fn absorb_scalars(&mut self, py: Python<'_>, scalars: &Bound<'_, PyAny>) -> PyResult<()> {
        let scalars = View::new(scalars, false)?;
        let (scalars, sponge) = (scalars.scalars(), &mut self.0);
        py.detach(|| sponge.absorb_scalars(scalars));
        Ok(())
    }

    /// `count` challenges of 252 bits, one after the other, 32 bytes each.
    fn challenges<'py>(&mut self, py: Python<'py>, count: usize) -> Bound<'py, PyBytes> {
        let challenges = self.0.challenges(count);
        scalar_bytes(py, &challenges)
    }

    /// `count` challenges of 168 bits.
    fn short_challenges<'py>(&mut self, py: Python<'py>, count: usize) -> Bound<'py, PyBytes> {
        let challenges = self.0.short_challenges(count);
        scalar_bytes(py, &challenges)
    }
}
