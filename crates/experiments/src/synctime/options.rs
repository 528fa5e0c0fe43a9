//! Options of synctime.

use super::super::{Declared, Opt, shared_options as shared};

/// What a page cache holds easily.
pub const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("256MiB");

pub const RUNS: Opt<u32> = shared::RUNS.default("5");

pub const OPTIONS: &[&dyn Declared] = &[&MAX_BYTES, &RUNS];
