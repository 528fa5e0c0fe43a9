//! Shared parts of the engine benchmarks: a scratch file, runs of fio, and alternating runs.
#![allow(dead_code, clippy::print_stdout, clippy::disallowed_methods)]

use std::{
    error::Error,
    fs::{self, File, OpenOptions},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use drivebench::{
    engine::{Cancel, Ended, FileTarget, Flow, Job, Outcome, open},
    units::{Caching, Content, Direction, Extent, Load, MIB, Pattern},
};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A fully written file, removed on drop by the process that created it.
pub struct Scratch {
    pub path: PathBuf,
    pub file: Arc<File>,
    pub size: u64,
    ours: bool,
}

impl Scratch {
    /// In the directory that the first argument names, or in target/bench.
    pub fn new(name: &str, size: u64) -> Result<Self> {
        let directory =
            std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/bench"), PathBuf::from);
        fs::create_dir_all(&directory)?;
        let path = directory.join(format!("{name}-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let scratch = Self { path: path.canonicalize()?, file: Arc::new(file), size, ours: true };
        scratch.run(
            &load(Direction::Write, Pattern::Sequential, MIB, 4),
            Some("psync"),
            size,
            &mut |_| Flow::Continue,
        )?;
        scratch.file.sync_all()?;
        Ok(scratch)
    }

    /// A file of another process.
    pub fn existing(path: PathBuf, size: u64) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Self { path, file: Arc::new(file), size, ours: false })
    }

    /// Runs a load over the whole file with one of drivebench's engines.
    pub fn run(
        &self,
        load: &Load,
        engine: Option<&str>,
        bytes: u64,
        watch: &mut dyn FnMut(u64) -> Flow,
    ) -> Result<Outcome> {
        let targets = vec![FileTarget::new(self.file.clone(), self.path.display().to_string())];
        let extent = Extent { offset: 0, length: self.size };
        let job = Job { target: 0, load: load.clone(), extent, begin: 0, bytes, window: MIB };
        let mut engine = open(engine, load, targets)?;
        let outcomes = engine.run(&[job], &Cancel::default(), &mut |_, window| watch(window.to_ns))?;
        let outcome = outcomes.into_iter().next().ok_or("no outcome")?;
        match outcome.ended {
            Ended::Failed { .. } | Ended::Cancelled => Err(format!("{:?}", outcome.ended).into()),
            _ => Ok(outcome),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

pub fn load(direction: Direction, pattern: Pattern, block: u64, depth: u32) -> Load {
    let (caching, content) = (Caching::Direct, Content::Random);
    Load { depth, content, ..Load::new(direction, pattern, block, caching, 1) }
}

/// Runs fio with these arguments; returns the fields of its terse output, counted from 0.
pub fn fio(scratch: &Scratch, args: &[String]) -> Result<Vec<String>> {
    let output = Command::new("fio")
        .args(["--minimal", "--name=bench", "--direct=1", "--invalidate=0", "--fallocate=none"])
        .arg(format!("--filename={}", scratch.path.display()))
        .arg(format!("--size={}", scratch.size))
        .args(args)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().split(';').map(str::to_owned).collect())
}

/// User and system time so far of this process, or of its ended children, s.
pub fn cpu(children: bool) -> f64 {
    let who = if children { libc::RUSAGE_CHILDREN } else { libc::RUSAGE_SELF };
    // SAFETY: zeroed memory of the right size is a valid rusage, and getrusage only writes to it.
    #[allow(unsafe_code)]
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(who, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
