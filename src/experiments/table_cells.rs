//! Cells of tables, as all experiments write them.

use crate::{
    analyse::Estimate,
    findings::Column,
    units::{percent, rate},
};

/// A column of words, or of numbers, which stand to the `right`.
pub fn column(name: &str, right: bool) -> Column {
    Column { name: name.to_owned(), right }
}

/// A name that leaves room for the numbers: the end of a long one tells more than its beginning.
pub fn short(name: &str) -> String {
    let length = name.chars().count();
    if length <= NAME {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length + 1 - NAME).collect::<String>())
    }
}

/// Columns for a target's name.
const NAME: usize = 14;

/// A value with its interval written out, in sentences; `alone` is said of one without.
pub fn within(e: &Estimate, write: impl Fn(f64) -> String, alone: &str) -> String {
    if e.high.is_finite() {
        format!("{} (95 %: {} to {})", write(e.value), write(e.low), write(e.high))
    } else {
        write(e.value) + alone
    }
}

/// Said of a value of one run.
pub const ONE_RUN: &str = " (one run, so no interval)";

/// A throughput with its interval; asymmetric intervals are written out.
pub fn value(e: &Estimate) -> String {
    let half = e.half_width();
    if !half.is_finite() {
        rate(e.value)
    } else if half < 0.1 {
        format!("{} ±{}", rate(e.value), percent(half))
    } else {
        format!("{} ({}–{})", rate(e.value), rate(e.low).trim_end_matches(" MB/s"), rate(e.high))
    }
}
