//! Operations on vectors and polynomials, and sparse matrices.

use multiscalar_snark::{as_scalars_mut, ntt as transform, poly, sparse, vector};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::views::{Target, View, refused, scalar, scalar_bytes, work, work_on};

/// One function that changes `a` by reading `b`.
macro_rules! changes_by {
    ($($name:ident = $op:path, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[pyfunction]
        fn $name(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
            let b = View::new(b, false)?;
            let mut a = Target::new(a, &[&b])?;
            let (a, b) = (a.scalars(), b.scalars());
            work_on(py, a.len(), threads, || $op(a, b))?.map_err(refused)
        }
    )*};
}

changes_by! {
    add = vector::add, "a += b.";
    sub = vector::sub, "a -= b.";
    mul = vector::mul, "a *= b, element by element.";
}

/// One function that changes vector `a` (as limbs) alone, with scalars as further arguments.
macro_rules! changes {
    ($($doc:literal $name:ident($a:ident $(, $arg:ident)*) $body:block)*) => {$(
        #[doc = $doc]
        #[pyfunction]
        fn $name(py: Python<'_>, $a: &Bound<'_, PyAny>, $($arg: &[u8],)* threads: usize) -> PyResult<()> {
            let mut target = Target::new($a, &[])?;
            $(let $arg = scalar($arg)?;)*
            let $a = target.limbs();
            work_on(py, $a.len(), threads, || $body)?.map_err(refused)
        }
    )*};
}

changes! {
    "a *= k." scale(a, k) {
        vector::scale(as_scalars_mut(a), k);
        Ok(())
    }
    "a = k - a." subtract_from(a, k) {
        vector::subtract_from(as_scalars_mut(a), k);
        Ok(())
    }
    "a[i] = first * base^i." powers(a, first, base) {
        vector::powers(as_scalars_mut(a), first, base);
        Ok(())
    }
    "a = 1 / a, element by element." invert(a) { vector::invert(as_scalars_mut(a)) }
    "Canonical values to Montgomery form." from_canonical(a) { vector::from_canonical(a) }
    "Montgomery form to canonical values." to_canonical(a) {
        vector::to_canonical(a);
        Ok(())
    }
    "Coefficients to values on the domain of len(a) points." ntt(a) { transform::forward(a) }
    "Values to coefficients." intt(a) { transform::inverse(a) }
}

/// a += k * b.
#[pyfunction]
fn add_scaled(py: Python<'_>, a: &Bound<'_, PyAny>, k: &[u8], b: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
    let b = View::new(b, false)?;
    let (mut a, k) = (Target::new(a, &[&b])?, scalar(k)?);
    let (a, b) = (a.scalars(), b.scalars());
    work_on(py, a.len(), threads, || vector::add_scaled(a, k, b))?.map_err(refused)
}

/// Sum of a[i] * b[i].
#[pyfunction]
fn dot<'py>(
    py: Python<'py>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (a, b) = (View::new(a, false)?, View::new(b, false)?);
    let (a, b) = (a.scalars(), b.scalars());
    let sum = work_on(py, a.len(), threads, || vector::dot(a, b))?.map_err(refused)?;
    Ok(scalar_bytes(py, &[sum]))
}

/// p(z).
#[pyfunction]
fn evaluate<'py>(py: Python<'py>, p: &Bound<'_, PyAny>, z: &[u8], threads: usize) -> PyResult<Bound<'py, PyBytes>> {
    let (p, z) = (View::new(p, false)?, scalar(z)?);
    let p = p.scalars();
    let value = work_on(py, p.len(), threads, || poly::evaluate(p, z))?;
    Ok(scalar_bytes(py, &[value]))
}

/// p becomes the quotient of p - p(z) by X - z, its top coefficient zero; returns p(z).
#[pyfunction]
fn divide_linear<'py>(
    py: Python<'py>,
    p: &Bound<'_, PyAny>,
    z: &[u8],
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (mut p, z) = (Target::new(p, &[])?, scalar(z)?);
    let p = p.scalars();
    let value = work_on(py, p.len(), threads, || poly::divide_linear(p, z))?;
    Ok(scalar_bytes(py, &[value]))
}

/// p = q (X^n - 1) + r: p[n:] becomes q, p[:n] becomes r.
#[pyfunction]
fn divide_vanishing(py: Python<'_>, p: &Bound<'_, PyAny>, n: usize, threads: usize) -> PyResult<()> {
    let mut p = Target::new(p, &[])?;
    let p = p.scalars();
    work_on(py, p.len(), threads, || poly::divide_vanishing(p, n))?.map_err(refused)
}

/// The root of unity of order 2^log.
#[pyfunction]
fn root_of_unity(py: Python<'_>, log: u32) -> Bound<'_, PyBytes> {
    scalar_bytes(py, &[transform::root_of_unity(log)])
}

/// A sparse matrix, checked and compressed by rows.
#[pyclass(frozen, module = "multiscalar._core.snark")]
struct Sparse(sparse::Sparse);

#[pymethods]
impl Sparse {
    /// Row starts `uint64[rows + 1]`, column indices `uint32[n]`, values `uint64[n, 4]`, number of columns.
    #[new]
    fn new(
        starts: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        width: usize,
    ) -> PyResult<Self> {
        let (starts, columns) = (View::<u64>::new(starts, false)?, View::<u32>::new(columns, false)?);
        let values = View::new(values, false)?;
        sparse::Sparse::new(starts.get(), columns.get(), values.scalars(), width).map(Self).map_err(refused)
    }

    /// out = M x; elements of `out` past the last row become zero.
    fn multiply(&self, py: Python<'_>, x: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
        let x = View::new(x, false)?;
        let mut out = Target::new(out, &[&x])?;
        let (x, out) = (x.scalars(), out.scalars());
        work(py, threads, || self.0.multiply(x, out))?.map_err(refused)
    }
}

/// Adds all of this to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Sparse>()?;
    super::functions!(module: add sub mul scale subtract_from powers invert from_canonical to_canonical ntt intt
        add_scaled dot evaluate divide_linear divide_vanishing root_of_unity);
    Ok(())
}
