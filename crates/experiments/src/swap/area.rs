//! A swap area of ours: made, used before all others, and removed.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs,
    io::{self, Write},
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::geteuid;

use super::{
    group::{POLL, set},
    undo::SwapInUse,
};
use crate::{
    danger::Claims,
    engine::{Cancel, swap_file},
    inventory::Drive,
    run::{Entry, Journal, RunError, Scratch},
    target::Target,
    tools::{
        Change, Output, Runner, State,
        swap::{self, LABEL},
        wipefs,
    },
};

/// The highest priority there is: the kernel fills other areas only when this one is full.
pub const PRIORITY: u16 = 32767;
/// Bytes of a write that makes a file.
const BLOCK: usize = 1 << 20;

const CONTROL: &str = "/sys/class/zram-control";

/// A swap area that the kernel uses.
#[derive(Debug)]
pub struct Area {
    /// The device, or the file when it was made: that may be moved.
    path: PathBuf,
    /// Its entry in the journal, which is written before the kernel uses the area.
    entry: Option<Entry>,
    /// `None` once the area is removed.
    medium: Option<Medium>,
}

/// The medium of the area, which is released after it.
#[derive(Debug)]
enum Medium {
    File(Scratch),
    /// The number of a zram device.
    Zram(u32),
    /// The right to erase a drive or a partition.
    Device(Claims),
}

impl Area {
    fn new(path: PathBuf, medium: Medium, journal: &Journal) -> Result<Self, RunError> {
        // From here on the medium has to be given back, whatever happens.
        let mut area = Self { path, entry: None, medium: Some(medium) };
        area.entry = Some(journal.will(SwapInUse { path: area.path.clone() }).map_err(RunError::Journal)?);
        Ok(area)
    }

    /// In a file in `dir`, written from its begin to its end: an area may have no holes.
    pub fn file(
        dir: &Path,
        at: usize,
        bytes: u64,
        journal: &Journal,
        cancel: &Cancel,
    ) -> Result<Self, RunError> {
        let failed = |source| RunError::Scratch { dir: dir.to_owned(), bytes, source };
        let scratch = Scratch::named(dir, journal, at).map_err(failed)?;
        // Programs of others may be swapped to it.
        let about = scratch.file.metadata().map_err(failed)?;
        if about.mode() & 0o077 != 0 || about.uid() != geteuid().as_raw() {
            return Err(RunError::Act(format!(
                "other users may read files on {}, as its filesystem (such as FAT) is mounted: name a directory on another one",
                dir.display()
            )));
        }
        let block = vec![0; BLOCK];
        let mut left = bytes;
        while left > 0 {
            if cancel.is_set() {
                return Err(RunError::Interrupted);
            }
            let length = left.min(BLOCK as u64);
            (&scratch.file).write_all(&block[..length as usize]).map_err(failed)?;
            left -= length;
        }
        scratch.file.sync_all().map_err(failed)?;
        let file = scratch.file.try_clone().map_err(failed)?;
        let path = scratch.path().map(Path::to_owned).unwrap_or_default();
        let area = Self::new(path, Medium::File(scratch), journal)?;
        // By the open file: who may write to the directory could have root swap to another one.
        swap_file::make(&file, bytes, LABEL)
            .and_then(|()| swap_file::on(&file, PRIORITY))
            .map_err(|e| RunError::Act(format!("a swap file on {} can't be used: {e}", dir.display())))?;
        Ok(area)
    }

    /// In compressed memory, which takes no more than `bytes` of it.
    pub fn zram(
        algorithm: Option<&str>,
        bytes: u64,
        (journal, runner): (&Journal, &dyn Runner),
    ) -> Result<Self, RunError> {
        let no = |why: String| RunError::Act(format!("zram can't be used: {why}"));
        if !Path::new(CONTROL).exists() {
            succeeded(&swap::load_zram(), runner.ask(&swap::load_zram())?)?;
        }
        let number = fs::read_to_string(format!("{CONTROL}/hot_add")).map_err(|e| no(e.to_string()))?;
        let number: u32 = number.trim().parse().map_err(|_| no(format!("the kernel calls it '{number}'")))?;
        let area = Self::new(format!("{}{number}", swap::ZRAM).into(), Medium::Zram(number), journal)?;
        let sys = format!("/sys/block/zram{number}");
        let set =
            |file: &str, value: &str| set(format!("{sys}/{file}"), value).map_err(|e| no(e.to_string()));
        if let Some(algorithm) = algorithm {
            let known = fs::read_to_string(format!("{sys}/comp_algorithm")).unwrap_or_default();
            set("comp_algorithm", algorithm)
                .map_err(|e| no(format!("{e}; this kernel has: {}", known.trim())))?;
        }
        set("disksize", &bytes.to_string())?;
        set("mem_limit", &bytes.to_string())?;
        area.run(&swap::make(&area.path.to_string_lossy()), runner)?;
        area.run(&swap::on(&area.path.to_string_lossy(), PRIORITY), runner)?;
        Ok(area)
    }

    /// On a drive or a partition, whose content is lost. `erase` holds the serials of drives of which that is allowed.
    pub fn device(
        target: &Target,
        bytes: u64,
        erase: &[String],
        (journal, runner): (&Journal, &dyn Runner),
    ) -> Result<Self, RunError> {
        let shown: Vec<&Drive> = target.drives.iter().collect();
        let claims = Claims::of(&shown, erase).map_err(|e| RunError::Act(e.to_string()))?;
        let path = target.path.to_string_lossy();
        let make = swap::make_on(&path, bytes);
        succeeded(&make, make.run(&claims, runner)?)?;
        let area = Self::new(target.path.clone(), Medium::Device(claims), journal)?;
        area.run(&swap::on(&path, PRIORITY), runner)?;
        Ok(area)
    }

    /// Makes a change for which the journal has an entry.
    fn run(&self, change: &Change<State>, runner: &dyn Runner) -> Result<(), RunError> {
        let Some(entry) = &self.entry else { return Ok(()) };
        succeeded(change, change.run(entry, runner)?)
    }

    /// Where it is now.
    pub fn path(&self) -> PathBuf {
        match &self.medium {
            Some(Medium::File(scratch)) => scratch.place(),
            _ => self.path.clone(),
        }
    }

    /// The kernel stops using it, and reads what is in it; then it is removed.
    pub fn remove(mut self, runner: &dyn Runner) -> Result<(), RunError> {
        self.clear_away(runner)
    }

    fn clear_away(&mut self, runner: &dyn Runner) -> Result<(), RunError> {
        let failed = |e: io::Error| RunError::Act(e.to_string());
        match &self.medium {
            Some(Medium::File(scratch)) => match swap_file::off(&scratch.file) {
                // It was not used yet.
                Err(e) if e.kind() == io::ErrorKind::InvalidInput => {}
                off => {
                    off.map_err(|e| RunError::Act(format!("swapoff of {}: {e}", scratch.place().display())))?
                }
            },
            Some(_) if is_used(&self.path).map_err(failed)? => {
                self.run(&swap::off(&self.path.to_string_lossy()), runner)?;
            }
            _ => {}
        }
        match &self.medium {
            Some(Medium::Zram(number)) => {
                remove_zram(*number).map_err(|e| RunError::Act(format!("/dev/zram{number} stays: {e}")))?
            }
            Some(Medium::Device(claims)) => {
                let wipe = wipefs::wipe(&self.path.to_string_lossy());
                succeeded(&wipe, wipe.run(claims, runner)?)?;
            }
            _ => {}
        }
        if let Some(entry) = self.entry.take() {
            entry.done().map_err(RunError::Journal)?;
        }
        let left = |source| RunError::Leftover { path: self.path.clone(), command: "rm", source };
        match self.medium.take() {
            Some(Medium::File(mut scratch)) => scratch.remove().map_err(left),
            _ => Ok(()),
        }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // Errors can't be reported from drop: the entry stays in the journal, and the next run removes the area.
        let _ = self.clear_away(&crate::tools::System::default());
    }
}

fn succeeded(change: &impl fmt::Display, said: Output) -> Result<(), RunError> {
    match said.code {
        Some(0) => Ok(()),
        _ => Err(RunError::Act(format!("'{change}' failed: {}", said.complaint()))),
    }
}

/// A swap area in use: its path, the bytes in it, and its priority.
type InUse = (PathBuf, u64, i32);

fn in_use() -> io::Result<Vec<InUse>> {
    const SWAPS: &str = "/proc/swaps";
    match fs::read(SWAPS) {
        // A kernel without swap.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => parse(&read?).ok_or_else(|| io::Error::other(format!("{SWAPS} can't be understood"))),
    }
}

/// Names have any bytes but those that the kernel escapes, blanks among them. Not to know an area is worse than to stop.
fn parse(swaps: &[u8]) -> Option<Vec<InUse>> {
    let read = |line: &[u8]| {
        let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let path = unescaped(words.next()?);
        let mut number = |skipped| std::str::from_utf8(words.nth(skipped)?).ok()?.parse::<i64>().ok();
        let (kib, priority) = (u64::try_from(number(2)?).ok()?, i32::try_from(number(0)?).ok()?);
        Some((path, kib.checked_mul(1024)?, priority))
    };
    swaps.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty()).map(read).collect()
}

/// A path as the kernel writes it: a space is `\040`.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = path;
    while let [first, others @ ..] = rest {
        let code = (*first == b'\\').then(|| others.get(..3)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &others[3..] } else { others };
    }
    OsString::from_vec(bytes).into()
}

/// Bytes in a swap area, if the kernel uses it.
pub fn used(path: &Path) -> io::Result<Option<u64>> {
    // The kernel's name for the area of an unplugged drive.
    let mut deleted = path.as_os_str().to_owned();
    deleted.push(" (deleted)");
    let mut all = in_use()?.into_iter();
    Ok(all.find(|(at, ..)| at == path || *at == *deleted).map(|(_, bytes, _)| bytes))
}

/// Where an area with this name is, whatever became of the directories above it.
pub fn named(name: &OsStr) -> io::Result<Option<PathBuf>> {
    Ok(in_use()?.into_iter().map(|(path, ..)| path).find(|path| path.file_name() == Some(name)))
}

/// Whether the kernel uses it as a swap area.
pub fn is_used(path: &Path) -> io::Result<bool> {
    used(path).map(|bytes| bytes.is_some())
}

/// The highest priority of all areas that the kernel swaps to.
pub fn highest_priority() -> io::Result<Option<i32>> {
    Ok(in_use()?.into_iter().map(|(.., priority)| priority).max())
}

/// Gives its memory back. Where udev has it open for a moment, that is waited for.
pub fn remove_zram(number: u32) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let until = Instant::now() + PATIENCE;
    while Path::new(&format!("/sys/block/zram{number}")).exists() {
        match set(format!("{CONTROL}/hot_remove"), &number.to_string()) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && Instant::now() < until => {
                thread::sleep(POLL)
            }
            removed => return removed,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn areas_of_linux_6_1() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /mnt/a\\040b/.drivebench-r1t40.scratch       file\t\t131068\t\t24576\t\t32767\n\
                    /dev/zram0                              partition\t65532\t\t0\t\t-2\n";
        let expected = [("/mnt/a b/.drivebench-r1t40.scratch", 24576 << 10, 32767), ("/dev/zram0", 0, -2)];
        let expected = expected.map(|(path, bytes, priority)| (PathBuf::from(path), bytes, priority));
        assert_eq!(parse(text.as_bytes()), Some(expected.to_vec()));
        assert_eq!(unescaped(br"/a\012b\134c\9\04"), Path::new("/a\nb\\c\\9\\04"));
        let head = b"Filename\tType\tSize\tUsed\tPriority\n";
        assert_eq!(parse(head), Some(Vec::new()));
        assert_eq!(parse(&[&head[..], b"/swapfile file\n"].concat()), None);
        // No UTF-8, and blanks of Unicode, which the kernel doesn't escape.
        for name in [&b"/mnt/\xff/x"[..], "/mnt/\u{a0}\u{3000}/x".as_bytes()] {
            let found = parse(&[head, name, b" file\t\t32764\t0\t-2\n"].concat()).expect("understood");
            assert_eq!(found[0].0.as_os_str().as_bytes(), name);
            assert_eq!(found[0].2, -2);
        }
    }
}
