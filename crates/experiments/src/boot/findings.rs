//! Findings of boot.

use super::{
    super::common::Series,
    media::{Medium, media},
    result::{Boot, Boots},
    verdicts,
};
use crate::{
    analyse::Estimate,
    findings::{
        Axis, BootPart, Column, Curve, Figure, Findings, Metric, Next, Point, Quantity, Scope, Style, Table,
        Unit,
    },
    plan::Plan,
    record::Run,
    units::{decimal_bytes, duration},
};

/// One boot does not show how much boots differ.
const ONE: &str = "one boot, no interval";

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    // It measured nothing itself.
    findings.spent = None;
    let Some(boots) = run.acts.values().find_map(|act| act.get::<Boots>()) else { return };
    let Some(target) = plan.targets.first() else { return };
    let (this, media) = (&boots.this, media(boots));
    findings.verdicts = verdicts::all(this, &media);
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
    findings.figures.extend((media.len() > 1).then(|| figure(&media)));
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
            longer.as_ref().map_or("-".to_owned(), verdicts::difference),
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

/// The parts of the median boot from each medium, on each other.
fn figure(media: &[Medium<'_>]) -> Figure {
    let has_initrd = media.iter().flat_map(|medium| &medium.boots).any(|boot| boot.initrd.is_some());
    let until = |name: &str, of: fn(&Boot) -> f64| {
        let points = media.iter().enumerate();
        let points = points.filter_map(|(at, medium)| Some(Point::new(at as f64, medium.median(of)?.value)));
        Curve::new(name, Style::Bars, points)
    };
    let initrd = has_initrd.then(|| until("initrd", |boot| boot.userspace));
    Figure {
        title: "Parts of a boot".to_owned(),
        text: "From kernel start until startup finished.".to_owned(),
        n: "medians of the boots from each drive".to_owned(),
        x: Axis::named("", media.iter().map(|medium| medium.label.clone())),
        y: Axis::of("time", Unit::Seconds),
        curves: [until("userspace", |boot| boot.finish)]
            .into_iter()
            .chain(initrd)
            .chain([until("kernel", Boot::kernel_seconds)])
            .collect(),
        ..Figure::default()
    }
}
