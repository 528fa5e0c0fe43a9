//! The command line's door; see `drivebench::cli`.

fn main() {}
