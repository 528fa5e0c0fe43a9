//! The command line's door; see `drivebench::cli`.

fn main() -> std::process::ExitCode {
    drivebench::cli::main()
}
