//! Rows as CSV.

use std::io::{self, Write};

use super::{COLUMNS, Cell, Export, Row};

/// CSV with a head; what isn't known is empty.
pub struct Csv<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> Csv<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(COLUMNS.iter().map(|(name, _)| name)).map_err(failed)?;
        Ok(Self { out })
    }
}

impl<W: Write> Export for Csv<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.out.write_record(row.cells().map(|cell| text(&cell))).map_err(failed)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

/// A spreadsheet runs a text that begins like a formula; an apostrophe keeps it a text.
fn text(cell: &Cell<'_>) -> String {
    let formula = |text: &str| text.trim_start().starts_with(['=', '+', '-', '@']);
    match cell {
        Cell::Text(text) if formula(text) => format!("'{text}"),
        cell => cell.to_string(),
    }
}

/// I/O errors are passed on unchanged, so that a closed pipe is recognised.
fn failed(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
