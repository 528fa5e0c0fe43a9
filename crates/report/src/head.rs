//! The head of a page, and what its figures and loads have in common.

use crate::{
    findings::{Findings, LoadKey, Scope, Table},
    units::distinct,
};

/// Lines under the title: experiment and run, machine, drives; none where nothing was run.
pub(super) fn lines(findings: &Findings) -> Vec<String> {
    if findings.run.is_empty() {
        return Vec::new();
    }
    let origin = &findings.origin;
    let machine = origin.board.as_ref().or(origin.lab.as_ref());
    let host = origin.host_name.as_ref();
    let run = [Some(&findings.experiment), Some(&findings.run), host, machine, Some(&origin.at)]
        .into_iter()
        .flatten();
    let run = run.map(String::as_str).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ");
    [run].into_iter().chain(findings.context.iter().cloned()).filter(|line| !line.is_empty()).collect()
}

/// Each load that was measured, once; of a load in many block sizes, what is common to all. None where nothing was run.
pub(super) fn loads(findings: &Findings) -> Vec<String> {
    let mut lines = Vec::new();
    if findings.run.is_empty() {
        return lines;
    }
    for metric in &findings.estimates {
        let Some(load) = &metric.load else { continue };
        let block = load.block.filter(|_| !matches!(metric.scope, Scope::Block(_)));
        let words = LoadKey { block, ..load.clone() }.describe();
        let line = if load.name.is_empty() { words } else { format!("{}: {words}", load.name) };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// How the figures are read, each way once.
pub(super) fn readings(findings: &Findings) -> Vec<&str> {
    let readings = findings.figures.iter().map(|figure| figure.reading.as_str());
    distinct(readings.filter(|reading| !reading.is_empty()))
}

/// The first table, which stands before the sentences, and those after the pictures.
pub(super) fn tables(all: &[Table]) -> (&[Table], &[Table]) {
    all.split_at(all.len().min(1))
}
