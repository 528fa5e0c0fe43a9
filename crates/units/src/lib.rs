//! Values that several crates use: sizes, loads, windows, latency histograms, and their formats.

mod health;
mod histogram;
mod layout;
mod load;
mod outcome;
mod percentile;
mod pool;
mod remote;
mod service;
mod size;
mod visible;
mod window;
mod words;

pub use health::{Health, Power, Warning};
pub use histogram::Histogram;
pub use layout::{Layout, Parity};
pub use load::{Caching, Content, Direction, Extent, Load, LoadError, Pattern, short_load_name};
pub use outcome::{Ended, EngineInfo, Outcome, RunStatus};
pub use percentile::Percentile;
pub use pool::{Action, MemberState, Pool, PoolState, PredictedLoad, Work};
pub use remote::RemoteDir;
pub use service::Service;
pub use size::{
    KIB, MIB, SizeError, aim, count, decimal_bytes, duration, multiple, parse_size, percent, rate,
    signed_duration, signed_percent, size, thousands, whole,
};
pub use visible::{clean, clean_json, hides};
pub use window::is_zero;
pub use window::{SlowOp, Window, ZonePoint};
pub use words::{capital, distinct, listed, shell_word, shortened};

/// Speeds from here on are damaged numbers, bytes per second.
pub const FASTEST: f64 = 1e13;
