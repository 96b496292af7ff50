//! A constraint system from a file, as snarkVM wants to synthesize it.
//!
//! Layout, little-endian: u64 public, u64 private; three matrices, each u64 rows, each row u64 length and then
//! (32-byte value, u64 column); then u64 assignments, each (public + private) 32-byte values, the constant 1 first.

use anyhow::{Result, anyhow, ensure};
use snarkvm_algorithms::r1cs::{ConstraintSynthesizer, ConstraintSystem, LinearCombination, SynthesisError};
use snarkvm_curves::bls12_377::Fr;
use snarkvm_utilities::FromBytes;
use std::sync::Arc;

type Row = Vec<(Fr, usize)>;

/// One circuit with one assignment; the rows are shared.
#[derive(Clone)]
pub struct Circuit {
    public: usize,
    rows: Arc<[Vec<Row>; 3]>,
    values: Vec<Fr>,
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8]> {
        let (head, tail) = self.0.split_at_checked(count).ok_or_else(|| anyhow!("the file ends too early"))?;
        self.0 = tail;
        Ok(head)
    }

    fn number(&mut self) -> Result<usize> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into()?).try_into()?)
    }

    fn scalar(&mut self) -> Result<Fr> {
        Ok(Fr::read_le(self.take(32)?)?)
    }

    fn matrix(&mut self) -> Result<Vec<Row>> {
        let rows = self.number()?;
        (0..rows)
            .map(|_| {
                let length = self.number()?;
                (0..length).map(|_| Ok((self.scalar()?, self.number()?))).collect()
            })
            .collect()
    }
}

impl Circuit {
    /// All assignments of a file.
    pub fn read(data: &[u8]) -> Result<Vec<Self>> {
        let mut cursor = Cursor(data);
        let (public, private) = (cursor.number()?, cursor.number()?);
        let rows = Arc::new([cursor.matrix()?, cursor.matrix()?, cursor.matrix()?]);
        let count = cursor.number()?;
        ensure!(public >= 1 && count >= 1, "a circuit needs the constant 1 and an assignment");
        let all = (0..count).map(|_| {
            let values = (0..public + private).map(|_| cursor.scalar()).collect::<Result<_>>()?;
            Ok(Self { public, rows: rows.clone(), values })
        });
        all.collect()
    }

    /// The public inputs, the constant 1 included.
    pub fn inputs(&self) -> Vec<Fr> {
        self.values[..self.public].to_vec()
    }
}

impl ConstraintSynthesizer<Fr> for Circuit {
    fn generate_constraints<CS: ConstraintSystem<Fr>>(&self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut variables = vec![CS::one()];
        for (i, value) in self.values.iter().enumerate().skip(1) {
            variables.push(match i < self.public {
                true => cs.alloc_input(|| "x", || Ok(*value))?,
                false => cs.alloc(|| "w", || Ok(*value))?,
            });
        }
        let combination = |row: &Row| {
            row.iter().fold(LinearCombination::zero(), |sum, (value, column)| sum + (*value, variables[*column]))
        };
        let [a, b, c] = &*self.rows;
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            cs.enforce(|| "row", |_| combination(a), |_| combination(b), |_| combination(c));
        }
        Ok(())
    }
}
