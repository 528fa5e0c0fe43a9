//! Rows as JSON.

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::{COLUMNS, Export, Row};

/// One array of objects, a line each, so that it can be read as a whole or by lines; what isn't known is `null`.
pub struct Json<W> {
    out: W,
    any: bool,
}

impl<W> Json<W> {
    pub fn new(out: W) -> Self {
        Self { out, any: false }
    }
}

impl<W: Write> Export for Json<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"[\n" })?;
        self.any = true;
        Ok(serde_json::to_writer(&mut self.out, row)?)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.write_all(if self.any { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(COLUMNS.iter().map(|(name, _)| name).zip(self.cells()))
    }
}
