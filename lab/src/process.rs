//! Programs on the host. The only file that starts processes.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
};

/// A program that ends when its owner ends, even by a crash.
#[derive(Debug)]
pub struct Daemon(Child);

impl Daemon {
    /// Starts `program`; its output goes to the file `log`, or with `terminal` to the terminal.
    ///
    /// The kernel ends it when the thread that called this ends.
    pub fn start<S: AsRef<OsStr>>(
        program: &str,
        args: impl IntoIterator<Item = S>,
        log: &Path,
        terminal: bool,
    ) -> io::Result<Self> {
        let mut command = command("setpriv");
        command.args(["--pdeathsig", "KILL", "--", program]).args(args);
        if !terminal {
            let log = File::create(log)?;
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        }
        command.spawn().map(Self).map_err(|e| missing("setpriv", &e))
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Ends it.
    pub fn end(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a program to its end; returns its output, or its error message.
pub fn run<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> io::Result<Output> {
    let output =
        command(program).args(args).stdin(Stdio::null()).output().map_err(|e| missing(program, &e))?;
    match output.status.success() {
        true => Ok(output),
        false => {
            let why = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!("{program} failed: {}", why.trim())))
        }
    }
}

/// The path of a program.
pub fn find(program: &str) -> io::Result<PathBuf> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&dirs).collect();
    dirs.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let path = dirs.iter().map(|dir| dir.join(program)).find(|path| path.is_file());
    path.ok_or_else(|| missing(program, &io::ErrorKind::NotFound.into()))
}

#[allow(clippy::disallowed_methods)]
fn command(program: &str) -> Command {
    Command::new(find(program).unwrap_or_else(|_| program.into()))
}

/// The error for a missing program, with its package.
fn missing(program: &str, error: &io::Error) -> io::Error {
    let package = match program {
        "qemu-system-x86_64" => "qemu-system-x86",
        "qemu-system-aarch64" => "qemu-system-arm",
        "mke2fs" => "e2fsprogs",
        "qemu-img" | "qemu-io" => "qemu-utils",
        "setpriv" => "util-linux",
        other => other,
    };
    io::Error::new(error.kind(), format!("{program}: {error} (it comes with the package {package})"))
}
