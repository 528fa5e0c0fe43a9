//! What happens to a pool when a drive is taken away, by sysfs and the kernel's messages.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::array::Array;
use crate::{
    pull::{Moment, PullEvent},
    sysroot::Sysroot,
    test_files::{Op, Outcome},
    tools::{Runner, dmesg},
};

/// The most messages that are kept.
const MESSAGES: usize = 60;

/// Looks at the drive and its array again and again.
pub struct Watch {
    root: Sysroot,
    drive: String,
    /// The directory of the array in sysfs, and the member's name in it.
    array: Option<(String, String)>,
    seen: Vec<Moment>,
}

impl Watch {
    /// `array` as it is before the drive is taken away.
    pub fn new(array: Option<&Array>, drive: &str) -> Self {
        let array = array.map(|array| (format!("/sys/block/{}/md", array.name), array.member.clone()));
        Self { root: Sysroot::live(), drive: drive.to_owned(), array, seen: Vec::new() }
    }

    pub fn look(&mut self, zero: Instant) {
        let at = zero.elapsed().as_secs_f64();
        let gone = self.root.word(&format!("/sys/block/{}/size", self.drive)).is_none();
        let array = self.array.as_ref().map(|(md, member)| {
            let state = self.root.word(&format!("{md}/dev-{member}/state"));
            let missing = state.is_none_or(|state| state.contains("faulty"));
            (missing, self.root.word(&format!("{md}/array_state")).as_deref() == Some("broken"))
        });
        let (missing, broken) = array.unwrap_or_default();
        for (is, what) in [
            (gone, PullEvent::DriveGone),
            (missing, PullEvent::MemberMissing),
            (broken, PullEvent::ArrayBroken),
        ] {
            if is && self.seen.iter().all(|moment| moment.what != what) {
                self.seen.push(Moment { at, what });
            }
        }
    }

    /// What was seen, what the kernel said, and what became of operations, in order. Operations that began after the pull was noticed
    /// show that it works again.
    pub fn moments(self, ops: &[Op], kernel: &[(f64, String)], zero: Instant) -> Vec<Moment> {
        let mut all = self.seen;
        let since = |at: Instant| at.saturating_duration_since(zero).as_secs_f64();
        let ended = |op: &Op| since(op.at + op.took);
        let failed = ops.iter().filter(|op| op.at + op.took >= zero && op.outcome == Outcome::Failed);
        let error = failed.map(ended).min_by(f64::total_cmp);
        all.extend(error.map(|at| Moment { at, what: PullEvent::FirstError }));
        let noticed = all.iter().map(|moment| moment.at).min_by(f64::total_cmp);
        let works = |write: bool| {
            let after = |op: &&Op| op.at > zero && noticed.is_some_and(|noticed| since(op.at) > noticed);
            ops.iter().filter(after).find(|op| op.write == write && op.outcome == Outcome::Done).map(ended)
        };
        let again = [(works(false), PullEvent::ReadWorks), (works(true), PullEvent::WriteWorks)];
        all.extend(again.into_iter().filter_map(|(at, what)| Some(Moment { at: at?, what })));
        all.extend(reset(kernel));
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        all
    }
}

/// The first time that the kernel reset a device or a link: then the drive stays, unlike after a removal.
fn reset(messages: &[(f64, String)]) -> Option<Moment> {
    let is_reset = |text: &str| {
        text.contains(": reset ") && text.contains(" USB device number ")
            || text.contains(": hard resetting link")
    };
    messages.iter().find(|(_, text)| is_reset(text)).map(|(at, _)| Moment { at: *at, what: PullEvent::Reset })
}

/// The time of the kernel's messages, about.
pub fn kernel_now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// PullEvent the kernel said since then about drives, arrays and filesystems, with the time since then.
pub fn messages(runner: &dyn Runner, from: Duration, drive: &str) -> Vec<(f64, String)> {
    let said = runner.ask(&dmesg::messages()).map(|said| said.stdout).unwrap_or_default();
    since(&said, from.as_secs_f64(), drive)
}

fn since(said: &str, from: f64, drive: &str) -> Vec<(f64, String)> {
    // Both clocks begin at boot, and differ by little.
    const EARLIER: f64 = 0.05;
    let concerns = |text: &str| {
        let words = [
            "md/",
            "md:",
            "md1",
            "usb ",
            "I/O error",
            "EXT4-fs",
            "JBD2",
            "super_written",
            "scsi ",
            "resetting link",
        ];
        text.contains(drive) || words.iter().any(|word| text.contains(word))
    };
    let line = |line: &str| {
        let (time, text) = line.strip_prefix('[')?.split_once("] ")?;
        let at = time.trim().parse::<f64>().ok()? - from;
        (at > -EARLIER && concerns(text)).then(|| (at, text.to_owned()))
    };
    let mut all: Vec<(f64, String)> = Vec::new();
    for (at, text) in said.lines().filter_map(line) {
        // The same for one sector after the other.
        let kind = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        if all.len() < MESSAGES && all.iter().filter(|(_, other)| kind(other) == kind(&text)).count() < 3 {
            all.push((at, text));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_work_again_after_the_pull_was_noticed() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let op = |ms: u64, took: u64, write: bool, outcome: Outcome| Op {
            at: at(ms),
            took: Duration::from_millis(took),
            write,
            bytes: 1,
            outcome,
        };
        let ops = [
            op(1, 2, true, Outcome::Done),
            op(10, 40, true, Outcome::Failed),
            op(20, 5, false, Outcome::Done),
            op(60, 10, true, Outcome::Done),
            op(60, 1, false, Outcome::Done),
        ];
        let seen = vec![Moment { at: 0.03, what: PullEvent::DriveGone }];
        let watch = Watch { root: Sysroot::live(), drive: String::new(), array: None, seen };
        let moments: Vec<(u32, PullEvent)> =
            watch.moments(&ops, &[], zero).iter().map(|m| ((m.at * 1000.0).round() as u32, m.what)).collect();
        let expected = [
            (30, PullEvent::DriveGone),
            (50, PullEvent::FirstError),
            (61, PullEvent::ReadWorks),
            (70, PullEvent::WriteWorks),
        ];
        assert_eq!(moments, expected);
    }

    /// A bridge that stopped to answer (Linux 4.19, a Raspberry Pi 4, and Linux 6.1).
    #[test]
    fn a_reset_is_told_from_a_removal() {
        let said = "[ 4908.074308] sd 1:0:0:0: [sdb] tag#21 uas_eh_abort_handler 0 uas-tag 6 inflight: CMD IN \n\
                    [ 4908.114331] scsi host1: uas_eh_device_reset_handler start\n\
                    [ 4908.265195] usb 2-2: reset SuperSpeed Gen 1 USB device number 4 using xhci_hcd\n\
                    [ 4908.300379] scsi host1: uas_eh_device_reset_handler success\n";
        let at = |moment: Moment| ((moment.at * 1000.0).round() as u64, moment.what);
        assert_eq!(reset(&since(said, 4900.0, "sdb")).map(at), Some((8265, PullEvent::Reset)));
        let link = since("[   31.500000] ata1: hard resetting link\n", 31.0, "sdb");
        assert_eq!(reset(&link).map(at), Some((500, PullEvent::Reset)));
        assert_eq!(reset(&since(include_str!("fixtures/dmesg.txt"), 31.1, "sdb")), None);
    }

    #[test]
    fn the_kernels_messages_about_the_drive_and_its_array_are_kept() {
        // Linux 6.1, a member of a raid1 that was de-authorised.
        let said = include_str!("fixtures/dmesg.txt");
        let lines = since(said, 31.1, "sdb");
        insta::assert_debug_snapshot!(lines);
    }
}
