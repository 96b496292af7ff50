//! `_core.snark`: the prover's vectors, sponge, point codecs and pairing. Private: `multiscalar.varuna` is its only user.
//!
//! A vector is a C-contiguous `uint64[n, 4]` of scalars in Montgomery form, changed in place where an operation says
//! so; a single scalar is 32 bytes, canonical, little-endian; points are canonical `uint64[n, 2, 6]`, infinity zeros.
//! Faults are `ValueError`s whose text names index and value. The GIL is released around all work on vectors.

use multiscalar_snark::points::{G1, G2};
use multiscalar_snark::{Fr, Limbs, Refused, as_scalars, as_scalars_mut, ntt as transform, points, poly, pool};
use multiscalar_snark::{sparse, sponge, vector};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn refused(error: Refused) -> PyErr {
    PyValueError::new_err(error.0)
}

/// A C-contiguous array; kept alive and pinned by the buffer protocol.
struct View<T: Element>(PyBuffer<T>);

impl<T: Element> View<T> {
    fn new(object: &Bound<'_, PyAny>, writable: bool) -> PyResult<Self> {
        let buffer = PyBuffer::<T>::get(object)?;
        if !buffer.is_c_contiguous() || (writable && buffer.readonly()) {
            return Err(PyValueError::new_err("a C-contiguous array is needed, writable where results go"));
        }
        Ok(Self(buffer))
    }

    fn range(&self) -> std::ops::Range<usize> {
        let start = self.0.buf_ptr() as usize;
        start..start + self.0.len_bytes()
    }

    fn get(&self) -> &[T] {
        if self.0.item_count() == 0 {
            return &[];
        }
        // SAFETY: contiguous, of this length, checked for type and alignment by PyBuffer, alive as long as self.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.item_count()) }
    }
}

impl View<u64> {
    fn scalars(&self) -> &[Fr] {
        as_scalars(self.get().as_chunks().0)
    }
}

/// A vector that an operation changes, apart from all vectors it reads.
struct Target(View<u64>);

impl Target {
    fn new(object: &Bound<'_, PyAny>, apart_from: &[&View<u64>]) -> PyResult<Self> {
        let view = View::new(object, true)?;
        let own = view.range();
        if apart_from.iter().map(|other| other.range()).any(|r| own.start < r.end && r.start < own.end) {
            return Err(PyValueError::new_err("the vector that is changed overlaps one that is read"));
        }
        Ok(Self(view))
    }

    fn limbs(&mut self) -> &mut [Limbs] {
        let count = self.0.0.item_count() / 4;
        if count == 0 {
            return &mut [];
        }
        // SAFETY: as in `View::get`; writable and apart from what is read (`new`), and Python calls with arrays that
        // no other thread uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.0.0.buf_ptr().cast(), count) }
    }

    fn scalars(&mut self) -> &mut [Fr] {
        as_scalars_mut(self.limbs())
    }
}

fn scalar(bytes: &[u8]) -> PyResult<Fr> {
    let mut limbs = [Limbs::default()];
    if bytes.len() != 32 {
        return Err(PyValueError::new_err(format!("a scalar has 32 bytes, not {}", bytes.len())));
    }
    for (limb, chunk) in limbs[0].iter_mut().zip(bytes.as_chunks::<8>().0) {
        *limb = u64::from_le_bytes(*chunk);
    }
    vector::from_canonical(&mut limbs).map_err(refused)?;
    Ok(as_scalars(&limbs)[0])
}

fn scalar_bytes<'py>(py: Python<'py>, values: &[Fr]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| {
            let mut limbs = [value.0.0];
            vector::to_canonical(&mut limbs);
            limbs[0]
        })
        .flat_map(u64::to_le_bytes)
        .collect();
    PyBytes::new(py, &bytes)
}

fn work<T: Send>(py: Python<'_>, threads: usize, task: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pool::with_threads(threads, task))
}

/// As `work`, for an operation on a vector of `size` elements.
fn work_on<T: Send>(py: Python<'_>, size: usize, threads: usize, task: impl FnOnce() -> T + Send) -> T {
    py.detach(|| pool::for_size(size, threads, task))
}

/// One function that changes `a` by reading `b`.
macro_rules! changes_by {
    ($($name:ident = $op:path, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[pyfunction]
        fn $name(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
            let b = View::new(b, false)?;
            let mut a = Target::new(a, &[&b])?;
            let (a, b) = (a.scalars(), b.scalars());
            work_on(py, a.len(), threads, || $op(a, b)).map_err(refused)
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
            work_on(py, $a.len(), threads, || $body).map_err(refused)
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
    work_on(py, a.len(), threads, || vector::add_scaled(a, k, b)).map_err(refused)
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
    let sum = work_on(py, a.len(), threads, || vector::dot(a, b)).map_err(refused)?;
    Ok(scalar_bytes(py, &[sum]))
}

/// p(z).
#[pyfunction]
fn evaluate<'py>(py: Python<'py>, p: &Bound<'_, PyAny>, z: &[u8], threads: usize) -> PyResult<Bound<'py, PyBytes>> {
    let (p, z) = (View::new(p, false)?, scalar(z)?);
    let p = p.scalars();
    let value = work_on(py, p.len(), threads, || poly::evaluate(p, z));
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
    let value = work_on(py, p.len(), threads, || poly::divide_linear(p, z));
    Ok(scalar_bytes(py, &[value]))
}

/// p = q (X^n - 1) + r: p[n:] becomes q, p[:n] becomes r.
#[pyfunction]
fn divide_vanishing(py: Python<'_>, p: &Bound<'_, PyAny>, n: usize, threads: usize) -> PyResult<()> {
    let mut p = Target::new(p, &[])?;
    let p = p.scalars();
    work_on(py, p.len(), threads, || poly::divide_vanishing(p, n)).map_err(refused)
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
        work(py, threads, || self.0.multiply(x, out)).map_err(refused)
    }
}

/// The Fiat-Shamir sponge.
#[pyclass(module = "multiscalar._core.snark")]
struct Sponge(sponge::Sponge);

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

fn read_points(view: &View<u64>) -> PyResult<Vec<G1>> {
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
    work(py, threads, || points::read_all(chunks, |chunk| read(chunk))).map_err(refused)
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
    work(py, threads, || points::pairing_product_is_one(&g1, &g2)).map_err(refused)
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
    let found = work(py, threads, || points::fixed_base_multiples(base, scalars));
    write_points(&found, out)
}

/// Adds the submodule `snark` to the native module.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "snark")?;
    module.add_class::<Sparse>()?;
    module.add_class::<Sponge>()?;
    module.add_class::<G2Point>()?;
    macro_rules! functions {
        ($($name:ident)*) => {$( module.add_function(wrap_pyfunction!($name, &module)?)?; )*};
    }
    functions! {
        add sub mul scale subtract_from powers invert from_canonical to_canonical ntt intt
        add_scaled dot evaluate divide_linear divide_vanishing root_of_unity
        decompress read_uncompressed compress pairing_product_is_one multiples
    }
    parent.add_submodule(&module)
}
