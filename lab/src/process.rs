//! The programs on the host that make a machine; the only place that starts any.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
};

/// A program that ends when its owner does, whichever way.
#[derive(Debug)]
pub struct Daemon(Child);

impl Daemon {
    /// Starts `program`; what it says goes to the file `log`, and with `terminal` it has ours for itself.
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

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program to its end; its output, or what it complained about.
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

/// Where a program is.
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

/// A program that isn't there comes with the package that brings it.
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
