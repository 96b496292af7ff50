//! Points: codecs, pairing, the multiples that a seeded setup is made of.

use multiscalar_snark::Refused;
use multiscalar_snark::points::{self, G1, G2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::views::{Target, View, refused, scalar, work};

/// Points from canonical limbs; a bad one is named by its index.
pub(super) fn read_points(view: &View<u64>) -> PyResult<Vec<G1>> {
    let numbered = view.get().as_chunks::<12>().0.iter().enumerate();
    numbered
        .map(|(i, limbs)| points::from_limbs(limbs).map_err(|e| PyValueError::new_err(format!("point {i}: {e}"))))
        .collect()
}

fn write_points(found: &[G1], out: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut target = Target::new(out, &[])?;
    let rows = target.limbs().as_flattened_mut().as_chunks_mut::<12>().0;
    if rows.len() != found.len() {
        return Err(PyValueError::new_err(format!("{} points for {} rows", found.len(), rows.len())));
    }
    for (row, point) in rows.iter_mut().zip(found) {
        *row = points::to_limbs(point);
    }
    Ok(())
}

fn each_point<const N: usize>(
    py: Python<'_>,
    data: &[u8],
    threads: usize,
    read: impl Fn(&[u8]) -> Result<G1, Refused> + Sync + Send,
) -> PyResult<Vec<G1>> {
    let (chunks, rest) = data.as_chunks::<N>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err(format!("{} bytes are no whole number of {N}-byte points", data.len())));
    }
    work(py, threads, || points::read_all(chunks, |chunk| read(chunk)))?.map_err(refused)
}

/// Compressed points into `out`; each is checked to lie in the subgroup.
#[pyfunction]
fn decompress(py: Python<'_>, data: &[u8], out: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
    write_points(&each_point::<48>(py, data, threads, points::decompress)?, out)
}

/// Uncompressed points into `out`; checked to lie on the curve, and in the subgroup if asked.
#[pyfunction]
fn read_uncompressed(
    py: Python<'_>,
    data: &[u8],
    out: &Bound<'_, PyAny>,
    subgroup: bool,
    threads: usize,
) -> PyResult<()> {
    write_points(&each_point::<96>(py, data, threads, |chunk| points::read_g1(chunk, subgroup))?, out)
}

/// Points in compressed form.
#[pyfunction]
fn compress<'py>(py: Python<'py>, points: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let found = read_points(&View::new(points, false)?)?;
    let bytes: Vec<u8> = found.iter().flat_map(points::compress).collect();
    Ok(PyBytes::new(py, &bytes))
}

/// G2 points are opaque to Python: checked once, kept in the form the pairing wants.
#[pyclass(frozen, module = "multiscalar._core.snark")]
struct G2Point(G2);

#[pymethods]
impl G2Point {
    /// From 192 bytes, uncompressed; curve and subgroup are checked.
    #[new]
    fn new(data: &[u8]) -> PyResult<Self> {
        points::read_g2(data).map(Self).map_err(refused)
    }

    /// The usual generator.
    #[staticmethod]
    fn generator() -> Self {
        Self(points::g2_generator())
    }

    /// self * k.
    fn multiply(&self, k: &[u8]) -> PyResult<Self> {
        Ok(Self(points::g2_multiple(self.0, scalar(k)?)))
    }

    /// 192 bytes, uncompressed.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &points::g2_bytes(&self.0))
    }
}

/// Whether the product of the pairings e(g1[i], g2[i]) is 1.
#[pyfunction]
fn pairing_product_is_one(
    py: Python<'_>,
    g1: &Bound<'_, PyAny>,
    g2: Vec<PyRef<'_, G2Point>>,
    threads: usize,
) -> PyResult<bool> {
    let g1 = read_points(&View::new(g1, false)?)?;
    let g2: Vec<G2> = g2.iter().map(|point| point.0).collect();
    work(py, threads, || points::pairing_product_is_one(&g1, &g2))?.map_err(refused)
}

/// out[i] = base * k[i] for a vector k in Montgomery form: what a seeded setup is made of.
#[pyfunction]
fn multiples(
    py: Python<'_>,
    base: &Bound<'_, PyAny>,
    scalars: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<()> {
    let base = read_points(&View::new(base, false)?)?;
    let scalars = View::new(scalars, false)?;
    let [base] = base[..] else {
        return Err(PyValueError::new_err(format!("one base is needed, not {}", base.len())));
    };
    let scalars = scalars.scalars();
    let found = work(py, threads, || points::fixed_base_multiples(base, scalars))?;
    write_points(&found, out)
}

/// Adds all of this to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<G2Point>()?;
    super::functions!(module: decompress read_uncompressed compress pairing_product_is_one multiples);
    Ok(())
}
