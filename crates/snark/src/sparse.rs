//! Sparse matrices over the scalar field, compressed by rows.
//!
//! A product costs one multiplication per entry, less for entries that are 1 or -1, which is what almost all
//! entries of a rank-1 constraint system are. The transposed product is the product of the stored transpose.

use ark_ff::{One, Zero};
use rayon::prelude::*;

use crate::{Fr, Result, refuse};

/// Rows are handed out in blocks of this many.
const ROWS: usize = 256;

/// A matrix whose row i holds `(columns[j], values[j])` for j in `starts[i]..starts[i + 1]`.
pub struct Sparse {
    starts: Vec<usize>,
    entries: Vec<(u32, Kind)>,
    columns: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    One,
    MinusOne,
    Other(Fr),
}

impl Sparse {
    /// Checks every index; a bad one is refused with its place.
    pub fn new(starts: &[u64], columns: &[u32], values: &[Fr], width: usize) -> Result<Self> {
        let entries = columns.len();
        if values.len() != entries {
            return refuse(format!("{entries} column indices for {} values", values.len()));
        }
        if starts.first() != Some(&0) || starts.last() != Some(&(entries as u64)) {
            return refuse(format!("row starts must begin with 0 and end with the number of entries, {entries}"));
        }
        if let Some(row) = starts.windows(2).position(|w| w[0] > w[1]) {
            return refuse(format!("row {row} starts after it ends"));
        }
        if let Some(at) = columns.iter().position(|c| *c as usize >= width) {
            return refuse(format!("entry {at} names column {}; there are {width}", columns[at]));
        }
        let kind = |v: &Fr| match *v {
            v if v.is_one() => Kind::One,
            v if (-v).is_one() => Kind::MinusOne,
            v => Kind::Other(v),
        };
        Ok(Self {
            starts: starts.iter().map(|s| *s as usize).collect(),
            entries: columns.iter().zip(values).map(|(c, v)| (*c, kind(v))).collect(),
            columns: width,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// out = M x; `out` may be longer than the matrix is high, its rest is set to zero.
    pub fn multiply(&self, x: &[Fr], out: &mut [Fr]) -> Result<()> {
        let rows = self.rows();
        if x.len() != self.columns || out.len() < rows {
            return refuse(format!(
                "a {rows} x {} matrix does not take {} elements to {}",
                self.columns,
                x.len(),
                out.len()
            ));
        }
        let (out, rest) = out.split_at_mut(rows);
        rest.fill(Fr::zero());
        out.par_chunks_mut(ROWS).enumerate().for_each(|(block, out)| {
            for (i, slot) in out.iter_mut().enumerate() {
                let row = block * ROWS + i;
                let mut sum = Fr::zero();
                for (column, kind) in &self.entries[self.starts[row]..self.starts[row + 1]] {
                    let value = &x[*column as usize];
                    match kind {
                        Kind::One => sum += value,
                        Kind::MinusOne => sum -= value,
                        Kind::Other(k) => sum += *k * value,
                    }
                }
                *slot = sum;
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_equals_the_dense_one() {
        // [1 0 -1; 0 0 0; 5 7 0]
        let values = [Fr::one(), -Fr::one(), Fr::from(5), Fr::from(7)];
        let matrix = Sparse::new(&[0, 2, 2, 4], &[0, 2, 0, 1], &values, 3).unwrap();
        let x = [Fr::from(10), Fr::from(20), Fr::from(3)];
        let mut out = [Fr::one(); 4];
        matrix.multiply(&x, &mut out).unwrap();
        assert_eq!(out, [Fr::from(7), Fr::zero(), Fr::from(190), Fr::zero()]);
    }

    #[test]
    fn bad_shapes_are_refused() {
        let one = [Fr::one()];
        assert!(Sparse::new(&[0, 1], &[3], &one, 3).is_err());
        assert!(Sparse::new(&[1, 1], &[0], &one, 3).is_err());
        assert!(Sparse::new(&[0, 1, 0, 1], &[0], &one, 3).is_err());
        assert!(Sparse::new(&[0, 1], &[0], &[], 3).is_err());
        assert!(Sparse::new(&[], &[], &[], 3).is_err());
        let matrix = Sparse::new(&[0, 1], &[0], &one, 3).unwrap();
        assert!(matrix.multiply(&one, &mut [Fr::zero()]).is_err());
    }
}
