//! Processor usage over a period, and how long drivebench waited for a processor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processors {
    /// Length of the period, s.
    pub seconds: f64,
    pub cores: Vec<Core>,
    /// CPU time of all threads of drivebench, s.
    pub worked: Option<f64>,
    /// Longest time that a runnable thread of drivebench waited for a processor, s; `None` if that isn't counted.
    pub waited: Option<f64>,
    /// Time for which a CPU limit throttled its control group or one above it, s; `None` without a limit or a count.
    pub throttled: Option<f64>,
}

/// Usage of one core, as shares of the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Core {
    /// Share of the time in which it was not idle.
    pub busy: f64,
    /// Share of the time spent in hard and soft interrupts.
    pub interrupts: f64,
}

#[derive(Debug)]
pub struct ProcessorWatch {
    cores: Vec<(String, Vec<u64>)>,
    ticks: Option<u64>,
    throttled: Option<u64>,
    /// Wait time of each thread when first and last sampled, ns: threads come and go.
    threads: BTreeMap<String, (u64, u64)>,
}

/// USER_HZ: units of processor time that the kernel reports, on all supported machines (1/s).
const TICKS: f64 = 100.0;

impl Processors {
    /// Seconds of all processors that were not idle.
    pub fn busy_seconds(&self) -> f64 {
        self.cores.iter().map(|core| core.busy * self.seconds).sum()
    }
}

impl ProcessorWatch {
    pub fn begin(root: &Sysroot) -> Self {
        Self {
            cores: cores(root),
            ticks: worked(root),
            throttled: throttled(root),
            threads: waits(root).into_iter().map(|(thread, ns)| (thread, (ns, ns))).collect(),
        }
    }

    /// Samples the wait times of threads: they are lost when a thread ends.
    pub fn look(&mut self, root: &Sysroot) {
        for (thread, ns) in waits(root) {
            // A new thread started at zero.
            self.threads.entry(thread).or_insert((0, ns)).1 = ns;
        }
    }

    /// Usage since the start, `seconds` ago.
    pub fn end(mut self, root: &Sysroot, seconds: f64) -> Processors {
        self.look(root);
        let now = cores(root);
        let pairs = self.cores.iter().filter_map(|(name, before)| {
            let (_, after) = now.iter().find(|(other, _)| other == name)?;
            core(before, after)
        });
        let since = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?) as f64);
        let waited = self.threads.values().map(|(first, last)| last.saturating_sub(*first)).max();
        Processors {
            seconds,
            cores: pairs.collect(),
            worked: since(self.ticks, worked(root)).map(|ticks| ticks / TICKS),
            waited: waited.map(|ns| ns as f64 / 1e9),
            throttled: since(self.throttled, throttled(root)).map(|us| us / 1e6),
        }
    }
}

/// Ticks of each core by state: proc_stat(5).
fn cores(root: &Sysroot) -> Vec<(String, Vec<u64>)> {
    let text = root.long_text("/proc/stat").unwrap_or_default();
    let core = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?.strip_prefix("cpu").filter(|number| !number.is_empty())?;
        // Guest time is included in user time.
        Some((name.to_owned(), words.take(8).map_while(|word| word.parse().ok()).collect()))
    };
    text.lines().filter_map(core).collect()
}

/// Seconds in which processors were idle or waited for drives.
pub(super) fn idle(root: &Sysroot) -> Option<f64> {
    let cores = cores(root);
    let ticks = |core: &[u64]| Some(core.get(3)? + core.get(4)?);
    let all = cores.iter().map(|(_, core)| ticks(core)).sum::<Option<u64>>()?;
    (!cores.is_empty()).then_some(all as f64 / TICKS)
}

/// Usage between two samples of a core's ticks: user, nice, system, idle, iowait, irq, softirq, steal.
fn core(before: &[u64], after: &[u64]) -> Option<Core> {
    let spent = |i: usize| {
        after.get(i).zip(before.get(i)).map_or(0, |(after, before)| after.saturating_sub(*before)) as f64
    };
    let all: f64 = (0..after.len()).map(spent).sum();
    (all > 0.0)
        .then(|| Core { busy: (all - spent(3) - spent(4)) / all, interrupts: (spent(5) + spent(6)) / all })
}

/// CPU ticks of drivebench, including ended threads.
fn worked(root: &Sysroot) -> Option<u64> {
    let text = root.text("/proc/self/stat")?;
    // The program name may contain anything; it ends at the last bracket.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<u64>().ok();
    Some(ticks(11)? + ticks(12)?)
}

/// Time that each thread of drivebench has waited for a processor, ns.
fn waits(root: &Sysroot) -> Vec<(String, u64)> {
    let threads = root.list("/proc/self/task");
    let waited = |thread: &String| {
        let text = root.text(&format!("/proc/self/task/{thread}/schedstat"))?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    threads.into_iter().filter_map(|thread| waited(&thread).map(|ns| (thread, ns))).collect()
}

/// Throttled time of the control group or one above it, the largest, µs.
fn throttled(root: &Sysroot) -> Option<u64> {
    let text = root.text("/proc/self/cgroup")?;
    let group = text.lines().find_map(|line| line.strip_prefix("0::"))?.trim_end_matches('/');
    let up = std::iter::successors(Some(group), |group| Some(group.rsplit_once('/')?.0));
    let throttled_us = |group: &str| {
        let stat = root.text(&format!("/sys/fs/cgroup{group}/cpu.stat"))?;
        stat.lines().find_map(|line| line.strip_prefix("throttled_usec ")?.trim().parse().ok())
    };
    // Nested limits throttle at the same time: take the largest.
    up.filter_map(throttled_us).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    fn machine(tree: &mut Tree, ticks: [&str; 2], worked: u64, throttled: u64, waits: &[(&str, u64)]) {
        let stat = format!("cpu  9 9 9 9\ncpu0 {}\ncpu1 {}\nintr 1 2 3\n", ticks[0], ticks[1]);
        tree.file("proc/stat", &stat);
        tree.file("proc/self/stat", &format!("7 (a) b) R 1 1 1 0 -1 0 0 0 0 0 {worked} 20 0 0 20 0 3\n"));
        tree.file("proc/self/cgroup", "0::/system.slice/x.service\n");
        let stat = format!("usage_usec 5\nnr_throttled 3\nthrottled_usec {throttled}\n");
        tree.file("sys/fs/cgroup/system.slice/cpu.stat", &stat);
        tree.file("sys/fs/cgroup/system.slice/x.service/cpu.stat", "throttled_usec 7\n");
        for (thread, ns) in waits {
            tree.file(&format!("proc/self/task/{thread}/schedstat"), &format!("99 {ns} 3\n"));
        }
    }

    #[test]
    fn usage_of_cores_and_threads_in_ten_seconds() {
        let mut tree = Tree::empty();
        machine(
            &mut tree,
            ["100 0 100 500 0 0 0 0 0 0", "0 0 0 9 0 0 0 0 0 0"],
            100,
            1_000_000,
            &[("7", 1_000_000_000)],
        );
        let mut watch = ProcessorWatch::begin(&tree.sysroot());
        // A thread that began later and is gone at the end.
        let mut during = Tree::empty();
        machine(&mut during, ["0 0 0 0 0", "0 0 0 0 0"], 0, 0, &[("7", 1_100_000_000), ("8", 400_000_000)]);
        watch.look(&during.sysroot());
        machine(
            &mut tree,
            ["200 0 200 700 400 50 150 0 0 0", "0 0 0 1009 0 0 0 0 0 0"],
            350,
            3_500_000,
            &[("7", 1_200_000_000)],
        );
        let usage = watch.end(&tree.sysroot(), 10.0);
        assert_eq!((usage.seconds, usage.worked, usage.waited), (10.0, Some(2.5), Some(0.4)));
        assert_eq!(usage.throttled, Some(2.5), "the group above is the one that is limited");
        assert_eq!(usage.cores.len(), 2);
        assert!((usage.cores[0].busy - 0.4).abs() < 1e-9 && (usage.cores[0].interrupts - 0.2).abs() < 1e-9);
        assert_eq!(usage.cores[1], Core::default());
    }

    #[test]
    fn missing_counters_are_unknown() {
        let empty = Tree::empty().sysroot();
        let usage = ProcessorWatch::begin(&empty).end(&empty, 1.0);
        assert_eq!(usage, Processors { seconds: 1.0, ..Processors::default() });
    }

    #[test]
    fn reads_this_machine() {
        let live = Sysroot::live();
        let mut watch = ProcessorWatch::begin(&live);
        watch.look(&live);
        let usage = watch.end(&live, 1.0);
        assert!(usage.cores.iter().all(|core| (0.0..=1.0).contains(&core.busy)), "{usage:?}");
        assert!(usage.worked.is_some(), "{usage:?}");
    }
}
