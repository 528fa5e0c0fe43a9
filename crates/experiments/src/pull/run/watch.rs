//! What happens to a pool when a drive is taken away, by sysfs.

use std::time::Instant;

use super::array::Array;
use crate::{
    pull::{Moment, PullEvent},
    sysroot::Sysroot,
    test_files::{Op, Outcome},
};

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

    /// What was seen and what became of operations, in order. Operations that began after the pull was noticed show that it works
    /// again.
    pub fn moments(self, ops: &[Op], zero: Instant) -> Vec<Moment> {
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
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
            watch.moments(&ops, zero).iter().map(|m| ((m.at * 1000.0).round() as u32, m.what)).collect();
        let expected = [
            (30, PullEvent::DriveGone),
            (50, PullEvent::FirstError),
            (61, PullEvent::ReadWorks),
            (70, PullEvent::WriteWorks),
        ];
        assert_eq!(moments, expected);
    }
}
