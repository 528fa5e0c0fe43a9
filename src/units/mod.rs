//! Values that every room may use: sizes, loads, windows, latency histograms, and their formats.

mod health;
mod histogram;
mod load;
mod outcome;
mod percentile;
mod size;
mod visible;
mod window;
mod words;

pub use health::{Health, Power, RawValue, Warning};
pub use histogram::Histogram;
pub use load::{Caching, Content, Direction, Extent, Load, LoadError, Pattern, short_load_name};
pub use outcome::{Ended, EngineInfo, Outcome, RunStatus};
pub use percentile::Percentile;
pub use size::{
    KIB, MIB, SizeError, aim, count, decimal_bytes, duration, parse_size, percent, rate, size, thousands,
};
pub use visible::{clean, clean_json, hides};
pub use window::{SlowOp, Window, ZonePoint};
pub use words::{capital, distinct, listed, shell_word, shortened};
