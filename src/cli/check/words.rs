//! The decisions of a check in words, one line for each drive.

use crate::{
    analyse::Estimate,
    cli::results::day,
    experiments::check::{Alarm, Change, Counter, Decision, Skipped, Unknown},
    units::{count, percent},
};

/// All decisions on a drive.
pub(super) fn line(decisions: &[Decision]) -> String {
    decisions.iter().map(words).collect::<Vec<_>>().join("; ")
}

fn words(decision: &Decision) -> String {
    match decision {
        Decision::First => "first check; later ones are compared with it".to_owned(),
        Decision::Fine { change } => format!("fine: {}", changed(change)),
        Decision::Slower { change } => {
            let Change { load, ratio, since } = change;
            format!(
                "SLOWER by {} since {}: {load} at {}",
                percent(1.0 - ratio.value),
                day(since),
                interval(ratio)
            )
        }
        Decision::NewErrors { counter, from, to } => new_errors(*counter, Some(*from), *to),
        Decision::ReadFailed { error } => format!("READ ERROR: {error}; back it up now"),
        Decision::SlowerThanPeers { load, ratio, peers } => format!(
            "SLOWER than its peers by {}: {load} at {} of {} of its model",
            percent(1.0 - ratio.value),
            interval(ratio),
            count(*peers as u64, "drive")
        ),
        Decision::Unknown { why } => unknown(why),
        Decision::Skipped { why } => format!("skipped: {}", skipped(why)),
    }
}

fn changed(change: &Change) -> String {
    format!("{} at {} of {}", change.load, interval(&change.ratio), day(&change.since))
}

/// `81 % (74–88)`.
fn interval(ratio: &Estimate) -> String {
    let whole = |share: f64| (share * 100.0).round();
    format!("{} % ({}–{})", whole(ratio.value), whole(ratio.low), whole(ratio.high))
}

fn unknown(why: &Unknown) -> String {
    match why {
        Unknown::Disturbed => "not judged: other programs used the drive".to_owned(),
        Unknown::Incomplete => "not judged: too few reads succeeded".to_owned(),
        Unknown::Unconfirmed { change, more } => {
            format!(
                "perhaps slower, {}; {} needed to confirm",
                changed(change),
                count(*more as u64, "more check")
            )
        }
    }
}

fn skipped(why: &Skipped) -> String {
    match why {
        Skipped::Asleep => "it is asleep; --wake wakes it".to_owned(),
        Skipped::MaybeAsleep { because } => format!("it may be asleep ({because}); --wake checks it"),
        Skipped::InUse => "other programs use it now".to_owned(),
        Skipped::Measured => "another run of drivebench measures it".to_owned(),
        Skipped::NotPermitted => {
            "no permission to read it; root and the group disk usually have it".to_owned()
        }
    }
}

/// An alarm of the last check.
pub(super) fn alarm(alarm: &Alarm) -> String {
    match alarm {
        Alarm::Slower { load } => format!("slower than its reference ({load})"),
        Alarm::SlowerThanPeers { load } => format!("slower than others of its model ({load})"),
        Alarm::ReadFailed => "a read failed; back it up now".to_owned(),
        Alarm::NewErrors { counter, to } => new_errors(*counter, None, *to),
    }
}

fn new_errors(counter: Counter, from: Option<u64>, to: u64) -> String {
    let before = from.map(|from| format!(", {from} before")).unwrap_or_default();
    let rose = |name: &str| format!("NEW ERRORS: {to} {name}{before}");
    match counter {
        Counter::Failing => "FAILING: the drive itself reports that it fails; back it up now".to_owned(),
        Counter::Pending => rose("sectors can't be read") + "; what is in them may be lost",
        Counter::Uncorrectable => rose("uncorrectable errors") + "; data was lost or read wrongly",
        Counter::Reallocated => rose("sectors replaced") + "; its medium is wearing out",
        Counter::Cable => rose("transfer errors") + "; usually the cable or its plug",
        Counter::Wear => format!("WORN: {to} % of its rated life is used; plan to replace it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_each_decision() {
        let ratio = Estimate { low: 0.74, high: 0.88, ..Estimate::unbounded(0.81, "") };
        let change = Change {
            load: "SEQ1M".to_owned(),
            ratio: ratio.clone(),
            since: "2026-11-12T03:00:00Z".to_owned(),
        };
        let errors = |counter, from, to| Decision::NewErrors { counter, from, to };
        let unknown = |why| Decision::Unknown { why };
        let skipped = |why| Decision::Skipped { why };
        let all = [
            Decision::First,
            Decision::Fine {
                change: Change {
                    ratio: Estimate { value: 0.99, low: 0.93, high: 1.06, ..ratio.clone() },
                    ..change.clone()
                },
            },
            Decision::Slower { change: change.clone() },
            errors(Counter::Failing, 0, 1),
            errors(Counter::Pending, 0, 8),
            errors(Counter::Uncorrectable, 1, 2),
            errors(Counter::Reallocated, 8, 24),
            errors(Counter::Cable, 0, 120),
            errors(Counter::Wear, 0, 90),
            Decision::ReadFailed { error: "Input/output error".to_owned() },
            Decision::SlowerThanPeers { load: "SEQ1M".to_owned(), ratio, peers: 3 },
            unknown(Unknown::Disturbed),
            unknown(Unknown::Incomplete),
            unknown(Unknown::Unconfirmed { change, more: 2 }),
            skipped(Skipped::Asleep),
            skipped(Skipped::MaybeAsleep {
                because: "hdparm is not installed: apt install hdparm".to_owned(),
            }),
            skipped(Skipped::InUse),
            skipped(Skipped::Measured),
            skipped(Skipped::NotPermitted),
        ];
        let lines: Vec<String> = all.iter().map(|one| line(std::slice::from_ref(one))).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
