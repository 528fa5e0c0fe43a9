//! Rows as Parquet.

use std::{
    io::{self, Write},
    sync::Arc,
};

use parquet::{
    basic::{LogicalType, Repetition, TimeUnit, Type as Physical},
    column::writer::ColumnWriterImpl,
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::Type,
};

use super::{COLUMNS, Cell, Export, Get, Row, milliseconds};

/// Rows that are held before they are written: some 10 MB, and few enough groups for a reader.
pub(super) const GROUP: usize = 20_000;

/// A file of row groups. It is not compressed: most columns repeat a few texts, which are kept once in a dictionary.
pub struct Parquet<W: Write + Send> {
    out: SerializedFileWriter<W>,
    held: Vec<Held>,
    rows: usize,
}

/// Values of one column that are not written yet; a level is 0 where the value is missing.
struct Held {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Texts(Vec<ByteArray>),
    /// Milliseconds since 1970.
    Times(Vec<i64>),
    Flags(Vec<bool>),
    Numbers(Vec<f64>),
    Wholes(Vec<i64>),
}

impl<W: Write + Send> Parquet<W> {
    /// Begins a file.
    pub fn new(out: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_created_by(concat!("drivebench ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let schema = schema().map_err(failed)?;
        let out = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Self { out, held: COLUMNS.iter().map(|(_, get)| Held::of(get)).collect(), rows: 0 })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.out.next_row_group()?;
        for column in &mut self.held {
            column.write(&mut group)?;
        }
        self.rows = 0;
        group.close().map(drop)
    }
}

impl<W: Write + Send> Export for Parquet<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        for (column, cell) in self.held.iter_mut().zip(row.cells()) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows < GROUP { Ok(()) } else { self.write_group().map_err(failed) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group().map_err(failed)?;
        }
        self.out.finish().map_err(failed)?;
        self.out.inner_mut().flush()
    }
}

fn schema() -> Result<Type, ParquetError> {
    let column = |(name, get): &(&str, Get)| {
        let (physical, logical) = match get {
            Get::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Get::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
            Get::Flag(_) => (Physical::BOOLEAN, None),
            Get::Number(_) => (Physical::DOUBLE, None),
            Get::Whole(_) => (Physical::INT64, None),
        };
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let columns = COLUMNS.iter().map(column).collect::<Result<_, _>>()?;
    Type::group_type_builder("estimates").with_fields(columns).build()
}

impl Held {
    fn of(get: &Get) -> Self {
        let values = match get {
            Get::Text(_) => Values::Texts(Vec::new()),
            Get::Time(_) => Values::Times(Vec::new()),
            Get::Flag(_) => Values::Flags(Vec::new()),
            Get::Number(_) => Values::Numbers(Vec::new()),
            Get::Whole(_) => Values::Wholes(Vec::new()),
        };
        Self { levels: Vec::new(), values }
    }

    fn push(&mut self, cell: Cell<'_>) {
        let there = match (&mut self.values, cell) {
            (Values::Texts(values), Cell::Text(text)) => add(values, Some((&*text).into())),
            (Values::Times(values), Cell::Text(text)) => add(values, milliseconds(&text)),
            (Values::Flags(values), Cell::Flag(flag)) => add(values, Some(flag)),
            (Values::Numbers(values), Cell::Number(number)) => add(values, Some(number)),
            (Values::Wholes(values), Cell::Whole(number)) => add(values, i64::try_from(number).ok()),
            _ => false,
        };
        self.levels.push(i16::from(there));
    }

    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        match &mut self.values {
            Values::Texts(values) => put(column.typed::<ByteArrayType>(), values, &self.levels)?,
            Values::Times(values) | Values::Wholes(values) => {
                put(column.typed::<Int64Type>(), values, &self.levels)?;
            }
            Values::Flags(values) => put(column.typed::<BoolType>(), values, &self.levels)?,
            Values::Numbers(values) => put(column.typed::<DoubleType>(), values, &self.levels)?,
        }
        self.levels.clear();
        column.close()
    }
}

/// Keeps a value, and tells whether there is one.
fn add<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let there = value.is_some();
    values.extend(value);
    there
}

fn put<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> Result<(), ParquetError> {
    column.write_batch(values, Some(levels), None)?;
    values.clear();
    Ok(())
}

/// As in CSV, what the system said stays what it said.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
