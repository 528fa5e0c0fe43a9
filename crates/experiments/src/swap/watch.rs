//! Counts the cost of a load with swap, and ends it before other programs stall.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::param::page_size;

use super::{
    act::MakeSwapArea,
    area,
    group::{Group, full_stalls, set},
    undo::ZswapOn,
};
use crate::{
    conditions::bytes_written,
    inventory::machine,
    run::{Entry, Journal, RunError},
    sysroot::Sysroot,
    units::decimal_bytes,
};

/// Memory that other programs must have, at least, and as a share of all.
const SPARE: u64 = 24 << 20;
const SPARE_SHARE: u64 = 20;
/// The largest share of time that other programs may wait for memory, and the period over which it is measured.
const SUFFERING: f64 = 0.25;
const OVER: Duration = Duration::from_secs(5);

/// Memory pressure of the whole machine.
const PRESSURE: &str = "/proc/pressure/memory";
pub const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";

/// Refuses a load that would leave other programs too little memory.
pub fn has_room(root: &Sysroot, act: &MakeSwapArea) -> Result<(), String> {
    let Some((available, all)) = memory(root) else {
        return Err("/proc/meminfo does not say how much memory is available".to_owned());
    };
    let zram = if act.medium.is_zram() { act.area } else { 0 };
    let needed = act.memory + zram + spare(all);
    match available < needed {
        true => Err(format!(
            "{} of memory are available, and {} are needed to leave some for other programs: end some of them, or lower --memory",
            decimal_bytes(available),
            decimal_bytes(needed)
        )),
        false => Ok(()),
    }
}

fn spare(all: u64) -> u64 {
    SPARE.max(all / SPARE_SHARE)
}

/// Bytes that are available, and all.
fn memory(root: &Sysroot) -> Option<(u64, u64)> {
    Some((machine::memory(root, "MemAvailable")?, machine::memory(root, "MemTotal")?))
}

/// Bytes that the kernel swapped out since its start.
fn swapped_out(root: &Sysroot) -> u64 {
    let text = root.text("/proc/vmstat").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("pswpout ")?.parse::<u64>().ok());
    count.unwrap_or(0) * page_size() as u64
}

#[derive(Debug)]
pub struct Watch {
    root: Sysroot,
    /// The block devices whose writes count.
    media: Vec<String>,
    /// The most that may be written to them, and what was written before, in bytes.
    most: u64,
    began: u64,
    /// When the stalls of others were these, by the name of their control group.
    before: Option<(Instant, BTreeMap<String, f64>)>,
    area: PathBuf,
}

impl Watch {
    pub fn new(root: Sysroot, media: Vec<String>, most: u64, area: PathBuf) -> Self {
        let mut watch = Self { root, media, most, began: 0, before: None, area };
        watch.began = watch.moved();
        watch
    }

    /// Another load begins, in a group whose stalls begin at 0.
    pub fn begin_load(&mut self) {
        self.before = None;
    }

    /// Bytes written to the media so far; None where no device is known.
    pub fn written(&self) -> Option<u64> {
        let each = |name: &String| {
            // What it holds in compressed form.
            if name.starts_with("zram") {
                let text = self.root.text(&format!("/sys/block/{name}/mm_stat"))?;
                return text.split_whitespace().nth(1)?.parse().ok();
            }
            bytes_written(&self.root, name)
        };
        let all: Option<Vec<u64>> = self.media.iter().map(each).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.into_iter().sum())
    }

    /// What counts as written: where no device is known, what was swapped out.
    fn moved(&self) -> u64 {
        self.written().unwrap_or_else(|| swapped_out(&self.root))
    }

    /// As much was written as is allowed.
    pub fn is_enough(&self) -> bool {
        self.moved().saturating_sub(self.began) > self.most
    }

    pub fn enough(&self) -> String {
        format!("{} were written, the limit of --max-bytes", decimal_bytes(self.most))
    }

    /// Nearly: what comes next may go to another area.
    pub fn is_full(&self, bytes: u64) -> bool {
        matches!(area::used(&self.area), Ok(Some(used)) if used > bytes / 100 * 95)
    }

    /// Why the load must end, if so.
    pub fn look(&mut self, group: &Group) -> Option<String> {
        if let Some((available, all)) =
            memory(&self.root).filter(|(available, all)| *available < spare(*all) / 2)
        {
            let (available, all) = (decimal_bytes(available), decimal_bytes(all));
            return Some(format!("only {available} of {all} of memory were left for other programs"));
        }
        let now = Instant::now();
        let seconds = now.duration_since(self.before.as_ref().map_or(now, |(since, _)| *since));
        if self.before.is_some() && seconds < OVER {
            return None;
        }
        let stalls = self.stalls_of_others(group);
        let (_, before) = self.before.replace((now, stalls.clone()))?;
        let longer = stalls.iter().filter_map(|(name, now)| Some(now - before.get(name)?));
        let share = longer.fold(0.0, f64::max) / seconds.as_secs_f64();
        (share > SUFFERING).then(|| {
            format!("other programs were kept waiting for memory for {:.0} % of the time", share * 100.0)
        })
    }

    /// Seconds in which each sibling control group was stalled by lack of memory; without siblings, the machine's stalls less
    /// this group's. Empty if the kernel does not report this group's own.
    fn stalls_of_others(&self, group: &Group) -> BTreeMap<String, f64> {
        let (Some(own), Some(above)) = (group.stalled(), group.dir().parent()) else {
            return BTreeMap::new();
        };
        let above = above.to_string_lossy();
        let is_other = |name: &String| group.dir().file_name() != Some(name.as_ref());
        let stalls = |name: String| {
            let text = self.root.text(&format!("{above}/{name}/memory.pressure"))?;
            Some((name, full_stalls(&text)?))
        };
        let all: BTreeMap<String, f64> =
            self.root.list(&above).into_iter().filter(is_other).filter_map(stalls).collect();
        if !all.is_empty() {
            return all;
        }
        let whole = self.root.text(PRESSURE).and_then(|text| full_stalls(&text));
        whole.map(|whole| (String::new(), whole - own)).into_iter().collect()
    }
}

/// zswap, on as long as this lives.
#[derive(Debug)]
pub struct Zswap {
    entry: Option<Entry>,
}

impl Zswap {
    pub fn turn_on(journal: &Journal) -> Result<Self, RunError> {
        match Sysroot::live().word(ZSWAP).as_deref() {
            None => Err(RunError::Act("this kernel has no zswap".to_owned())),
            Some("Y" | "1") => Ok(Self { entry: None }),
            Some(_) => {
                let entry = journal.will(ZswapOn {}).map_err(RunError::Journal)?;
                set(ZSWAP, "Y").map_err(|e| RunError::Act(format!("zswap can't be turned on: {e}")))?;
                Ok(Self { entry: Some(entry) })
            }
        }
    }
}

impl Drop for Zswap {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            // The entry stays in the journal then, and the next run turns it off.
            let _ = set(ZSWAP, "N").and_then(|()| entry.done());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::act::SwapMedium;
    use super::*;

    fn root(available: u64) -> (tempfile::TempDir, Sysroot) {
        let home = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(home.path().join("proc")).expect("makes");
        let text = format!(
            "MemTotal:         507904 kB\nMemFree:          12 kB\nMemAvailable:     {} kB\n",
            available >> 10
        );
        fs::write(home.path().join("proc/meminfo"), text).expect("writes");
        let root = Sysroot::at(home.path().to_owned());
        (home, root)
    }

    #[test]
    fn a_load_that_leaves_others_too_little_memory_is_refused() {
        let act = |medium| MakeSwapArea { medium, area: 100 << 20, memory: 64 << 20, most: 1 << 30 };
        let (_home, root) = root(150 << 20);
        assert!(has_room(&root, &act(SwapMedium::File)).is_ok());
        let zram = act(SwapMedium::Zram { algorithm: None });
        let why = has_room(&root, &zram).expect_err("it takes memory itself").to_string();
        assert!(why.contains("157 MB of memory are available, and 198 MB are needed"), "{why}");
    }
}
