//! What can be asked of revisit.

use super::super::{Declared, Opt, shared_options as shared};

/// Seconds between the two reads.
pub const GAP: Opt<f64> = Opt::new("gap", "TIME", shared::seconds, "Time between the reads").default("1m");

/// Two short reads are enough.
pub const MAX_BYTES: Opt<u64> = shared::MAX_BYTES.default("256MiB");

pub const OPTIONS: &[&dyn Declared] = &[&MAX_BYTES, &GAP];
