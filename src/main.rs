//! The command line's door; see `drivebench::cli`.

/// Included so that Cargo links again when the linker script changes.
const _: &str = include_str!("shipped.ld");

fn main() -> std::process::ExitCode {
    drivebench::cli::main()
}
