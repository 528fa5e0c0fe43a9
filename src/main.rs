//! The command line's door; see `drivebench::cli`.

/// Read so that Cargo links again when it changes.
const _: &str = include_str!("shipped.ld");

fn main() -> std::process::ExitCode {
    drivebench::cli::main()
}
