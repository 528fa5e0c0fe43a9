//! Findings of boot.

use super::{
    super::common::Series,
    result::{Boot, Boots},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{BootPart, Column, Findings, Metric, Next, Quantity, Scope, Table},
    plan::Plan,
    record::Run,
    units::{count, decimal_bytes, duration, signed_duration},
};

/// One boot does not show how much boots differ.
const ONE: &str = "one boot, no interval";

/// Counters of the drive that were read later than this after the end of a boot hold too much that is not of it, s.
const SOON: f64 = 300.0;

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    // It measured nothing itself.
    findings.spent = None;
    let Some(boots) = run.acts.values().find_map(|act| act.get::<Boots>()) else { return };
    let Some(target) = plan.targets.first() else { return };
    let (this, media) = (&boots.this, media(boots));
    findings.verdicts = verdicts(this, &media);
    findings.tables = vec![parts(this)];
    if media.len() == 1 {
        let question =
            "after a boot from another drive, to compare; both with --store DIR on a drive that both systems mount"
                .to_owned();
        findings.next.push(Next { command: "run boot --now".to_owned(), question });
    }
    if !boots.earlier.is_empty() {
        findings.tables.push(compared(&media));
    }
    let given = &target.given;
    let one = |(part, seconds): (BootPart, f64)| {
        Metric::new(given, Quantity::BootTime(part), Estimate::unbounded(seconds, ONE))
    };
    findings.estimates = times(this).map(|(part, _, seconds)| one((part, seconds))).collect();
    if let Some(reads) = this.reads {
        findings.estimates.push(one((BootPart::Reads, reads.seconds)));
        let bytes = Estimate::unbounded(reads.bytes as f64, ONE);
        findings.estimates.push(Metric::new(given, Quantity::BootReads, bytes));
    }
    let whole = || Quantity::BootTime(BootPart::Whole);
    for (at, medium) in media.iter().enumerate().filter(|_| !boots.earlier.is_empty()) {
        let metric = |estimate, scope| Metric::new(&medium.label, whole(), estimate).at(scope);
        findings.estimates.extend(medium.whole().map(|e| metric(e, Scope::OverBoots)));
        let longer = medium.longer_than(&media[0]).filter(|_| at > 0);
        findings.estimates.extend(longer.map(|e| metric(e, Scope::BesideThis)));
    }
    findings.conditions.push(format!("systemd {}", this.systemd));
}

/// The parts of a boot, s.
fn times(boot: &Boot) -> impl Iterator<Item = (BootPart, &'static str, f64)> {
    let part = |part, name, seconds| Some((part, name, seconds));
    let parts = [
        boot.firmware.and_then(|s| part(BootPart::Firmware, "firmware, as reported", s)),
        boot.loader.and_then(|s| part(BootPart::Loader, "boot loader, as reported", s)),
        part(BootPart::Kernel, "kernel", boot.kernel_seconds()),
        boot.initrd_seconds().and_then(|s| part(BootPart::Initrd, "initrd", s)),
        part(BootPart::Userspace, "userspace", boot.userspace_seconds()),
        part(BootPart::Whole, "kernel to the end of userspace", boot.finish),
    ];
    parts.into_iter().flatten()
}

fn parts(boot: &Boot) -> Table {
    let row = |(_, name, seconds): (BootPart, &str, f64)| vec![name.to_owned(), duration(seconds)];
    let mut rows: Vec<Vec<String>> = times(boot).map(row).collect();
    if let Some(reads) = boot.reads {
        let until = duration(reads.until);
        rows.push(vec![format!("sum of reads until {until}"), duration(reads.seconds)]);
        rows.push(vec![format!("bytes read until {until}"), decimal_bytes(reads.bytes)]);
    }
    Table { title: String::new(), columns: Column::all([("", false), ("this boot", true)]), rows }
}

fn compared(media: &[Medium<'_>]) -> Table {
    let text = |estimate: Option<Estimate>| estimate.map_or("-".to_owned(), |e| e.text(duration));
    let row = |(at, medium): (usize, &Medium<'_>)| {
        let longer = medium.longer_than(&media[0]).filter(|_| at > 0);
        vec![
            medium.label.clone(),
            medium.boots.len().to_string(),
            text(medium.median(Boot::userspace_seconds)),
            text(medium.whole()),
            longer.as_ref().map_or("-".to_owned(), difference),
            text(medium.reads()),
        ]
    };
    let columns = Column::all([
        ("from", false),
        ("boots", true),
        ("userspace", true),
        ("together", true),
        ("longer", true),
        ("reads", true),
    ]);
    let rows = media.iter().enumerate().map(row).collect();
    Table { title: "Boots of this machine, medians".to_owned(), columns, rows }
}

/// The boots from one drive, linked in one way.
struct Medium<'a> {
    label: String,
    boots: Vec<&'a Boot>,
}

impl<'a> Medium<'a> {
    fn each(&self, of: impl Fn(&Boot) -> f64) -> Vec<f64> {
        self.boots.iter().map(|boot| of(boot)).collect()
    }

    /// The median of a part of the boots.
    fn median(&self, of: impl Fn(&Boot) -> f64) -> Option<Estimate> {
        repeat::middle(&self.each(of))
    }

    /// Kernel and userspace together, s.
    fn whole(&self) -> Option<Estimate> {
        self.median(|boot| boot.finish)
    }

    /// How much longer boots from here take than from another one, s.
    fn longer_than(&self, other: &Self) -> Option<Estimate> {
        repeat::difference_of_medians(&self.each(|boot| boot.finish), &other.each(|boot| boot.finish))
    }

    /// Sum of the times of all reads of a boot, s, from boots whose counters were read soon after.
    fn reads(&self) -> Option<Estimate> {
        let soon = |boot: &&Boot| boot.reads.filter(|reads| reads.until <= boot.finish + SOON);
        repeat::middle(&self.boots.iter().filter_map(|boot| Some(soon(boot)?.seconds)).collect::<Vec<_>>())
    }
}

/// The media of these boots: that of this boot first, then by the median of their boots, fastest first.
fn media(boots: &Boots) -> Vec<Medium<'_>> {
    let mut media: Vec<Medium<'_>> = Vec::new();
    for boot in [&boots.this].into_iter().chain(&boots.earlier) {
        match media.iter_mut().find(|medium| medium.boots[0].is_same_medium(boot)) {
            Some(medium) => medium.boots.push(boot),
            None => media.push(Medium { label: boot.drive_and_link(), boots: vec![boot] }),
        }
    }
    let order = |medium: &Medium<'_>| medium.whole().map_or(f64::INFINITY, |whole| whole.value);
    if let [_, others @ ..] = &mut media[..] {
        others.sort_by(|a, b| order(a).total_cmp(&order(b)));
    }
    media
}

fn verdicts(this: &Boot, media: &[Medium<'_>]) -> Vec<String> {
    let (from, time) = (this.drive_and_link(), duration(this.finish));
    let mut verdicts =
        vec![format!("Booted from {from} in {time}, from kernel start until startup finished.")];
    verdicts.extend(at_most(this));
    if let [here, others @ ..] = media {
        verdicts.extend(others.iter().filter_map(|other| beside(here, other)));
    }
    verdicts
}

/// The most that a faster drive would save: a boot can't wait for reads longer than all of them took.
fn at_most(this: &Boot) -> Option<String> {
    let reads = this.reads?;
    Some(match reads.seconds < this.finish {
        true => format!(
            "A faster drive would save at most {}: the sum of all reads since the kernel started.",
            duration(reads.seconds)
        ),
        false => "What a faster drive would save is not known: reads overlapped, and their sum is longer than the boot."
            .to_owned(),
    })
}

/// The boots from another drive beside those from the drive of this boot.
fn beside(here: &Medium<'_>, other: &Medium<'_>) -> Option<String> {
    let (a, b) = (here.whole()?.value, other.whole()?.value);
    let longer = other.longer_than(here)?;
    let (of, and) = (other.boots.len(), count(here.boots.len() as u64, "boot"));
    let (a, b) = (duration(a), duration(b));
    let medians = format!("{b} from {}, {a} from {} (medians of {of} and {and})", other.label, here.label);
    let text = difference(&longer);
    Some(match () {
        () if !longer.high.is_finite() => {
            format!("{medians}; one boot is too few to show a difference.")
        }
        () if longer.low > 0.0 => format!("{medians}: {} takes {text} longer.", other.label),
        () if longer.high < 0.0 => {
            let shorter = difference(&here.longer_than(other)?);
            format!("{medians}: {} takes {shorter} less.", other.label)
        }
        () => format!("{medians}: no difference found, {text}."),
    })
}

/// A difference of times with its interval, which may hold 0.
fn difference(longer: &Estimate) -> String {
    if longer.high.is_finite() { longer.with_ends(signed_duration) } else { signed_duration(longer.value) }
}
