//! fio's JSON, fio 2 and 3, with any lines around it; and fio's normal output.
//!
//! fio 3 reports bytes and nanoseconds, fio 2 KiB and microseconds. In early versions `io_bytes` was in KiB: the unit is
//! derived from `bw` and `runtime`.

mod document;
mod options;
mod results;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Deserializer;

use self::{
    document::{DirectionStats, Document, DocumentContext, Job},
    options::{Known, relevant},
    results::load,
};
use super::{ContentError, MOST, note};
use crate::{
    record::{Half, Imported, ImportedLoad},
    units::{Direction, count},
};

/// Key that every fio document has.
const MARK: &str = "\"fio version\"";

/// Documents in the order of the file, each with its first line. Of several reports on one run, only the last is kept.
#[derive(Default)]
struct Documents {
    all: Vec<(u64, Document)>,
    jobs: usize,
    /// Reports that a later one replaced.
    replaced: u64,
}

impl Documents {
    fn add(&mut self, line: u64, document: Document) -> Result<(), ContentError> {
        if self.all.last().is_some_and(|(_, before)| before.is_continued_by(&document)) {
            self.jobs -= self.all.pop().map_or(0, |(_, before)| before.all_jobs().count());
            self.replaced += 1;
        }
        self.jobs += document.all_jobs().count();
        self.all.push((line, document));
        if self.jobs.max(self.all.len()) > MOST { Err(ContentError::TooMany) } else { Ok(()) }
    }
}

/// Reads all documents, or fio's normal output where there is none. Returns the rest of the text, with empty lines for
/// what was read.
pub(super) fn read(text: &str) -> Result<(Imported, String), ContentError> {
    let mut documents = Documents::default();
    let rest = match text.contains(MARK) {
        true => json(text, &mut documents)?,
        false => text::read(text, &mut documents)?,
    };
    let mut found = Imported::default();
    let (mut same, mut empty) = (Repetitions::default(), None);
    for (line, document) in &documents.all {
        match import_document(document, *line, &mut found, &mut same) {
            // Some of several documents may be of failed runs.
            Err(nothing @ ContentError::Nothing { .. }) => empty = empty.or(Some(nothing)),
            other => other?,
        }
    }
    same.settle(&mut found);
    match empty {
        Some(e) if found.loads.is_empty() => return Err(e),
        Some(e) => note(&mut found, format!("Skipped: {e}.")),
        None => {}
    }
    if documents.replaced > 0 {
        let reports = count(documents.replaced, "earlier report");
        note(
            &mut found,
            format!("{reports} of the same run (--status-interval) left out: only the last one counts."),
        );
    }
    Ok((found, rest))
}

/// Reads JSON documents, each of which begins with a brace at the start of a line.
fn json(text: &str, documents: &mut Documents) -> Result<String, ContentError> {
    // Old versions print nan and inf, which JSON doesn't allow.
    let numbers = [(": -nan", ": null"), (": nan", ": null"), (": -inf", ": null"), (": inf", ": null")];
    let text = numbers.iter().fold(text.to_owned(), |text, (none, null)| text.replace(none, null));
    let mut rest = String::with_capacity(text.len());
    let (mut at, mut line) = (0, 1);
    while let Some(before) = text[at..].find(MARK).map(|key| &text[at..at + key]) {
        let brace = before.rfind("\n{").map(|end| end + 1).or(before.starts_with('{').then_some(0));
        let Some(brace) = brace else {
            return Err(ContentError::NoBrace { line: line + lines(before) });
        };
        rest.push_str(&before[..brace]);
        line += lines(&before[..brace]);
        let begin = at + brace;
        let (document, length) = document(&text[begin..], line, begin as u64)?;
        documents.add(line, document)?;
        at = begin + length;
        let inside = lines(&text[begin..at]);
        rest.extend(std::iter::repeat_n('\n', inside as usize));
        line += inside;
    }
    rest.push_str(&text[at..]);
    Ok(rest)
}

fn lines(text: &str) -> u64 {
    text.bytes().filter(|b| *b == b'\n').count() as u64
}

/// The document at the start of `text`, and its length.
fn document(text: &str, line: u64, begin: u64) -> Result<(Document, usize), ContentError> {
    let cut_off = || ContentError::CutOff { line, at: begin + text.len() as u64 };
    let mut stream = Deserializer::from_str(text).into_iter::<Document>();
    let e = match stream.next() {
        Some(Ok(document)) => return Ok((document, stream.byte_offset())),
        Some(Err(e)) => e,
        None => return Err(cut_off()),
    };
    let above = text.split_inclusive('\n').take(e.line().saturating_sub(1));
    let before: usize = above.map(str::len).sum();
    // A syntax error at the very end is an incomplete document, too.
    if e.is_eof() || e.is_syntax() && before + e.column() >= text.trim_end().len() {
        return Err(cut_off());
    }
    let what = e.to_string();
    let what = what.split(" at line ").next().unwrap_or_default().to_owned();
    let line = line + (e.line() as u64).saturating_sub(1);
    Err(ContentError::Json { line, column: e.column() as u64, what })
}

fn import_document(
    document: &Document,
    line: u64,
    found: &mut Imported,
    same: &mut Repetitions,
) -> Result<(), ContentError> {
    let nothing = |why: String| ContentError::Nothing { line, why };
    let tool = document.version.as_deref().unwrap_or("fio").replacen("fio-", "fio ", 1);
    let jobs: Vec<&Job> = document.all_jobs().collect();
    if let Some(at) = document.timestamp.filter(|at| (1.0..1e11).contains(at)) {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
        found.measured.get_or_insert_with(|| humantime::format_rfc3339_seconds(at).to_string());
    }
    let global = serde_json::to_vec(&relevant(&document.global)).unwrap_or_default();
    let global_crc32 = crc32fast::hash(&global);
    let context = DocumentContext { tool, line, global: &document.global, global_crc32 };
    let before = found.loads.len();
    same.document += 1;
    let mut rest = &jobs[..];
    while let [first, ..] = rest {
        // Copies of a job (numjobs) are one load.
        let copies = rest.iter().take_while(|job| is_copy(first, job)).count();
        import_job(&context, &rest[..copies], found, same);
        rest = &rest[copies..];
    }
    let mut groups: BTreeMap<u64, BTreeSet<&Option<String>>> = BTreeMap::new();
    for job in &jobs {
        groups.entry(job.groupid.unwrap_or_default().to_bits()).or_default().insert(&job.jobname);
    }
    if groups.values().any(|names| names.len() > 1) {
        let what = "Several jobs of a group ran at the same time: each speed is that of one job.";
        note(found, what.to_owned());
    }
    match jobs.len() as u64 {
        0 => Err(nothing("it has no jobs".to_owned())),
        n if found.loads.len() == before => Err(nothing(format!("{} without a result", count(n, "job")))),
        _ => Ok(()),
    }
}

fn is_copy(first: &Job, other: &Job) -> bool {
    let key = |job: &Job| (job.jobname.clone(), job.groupid.map(f64::to_bits));
    std::ptr::eq(first, other)
        || first.groupid.is_some() && key(first) == key(other) && first.options == other.options
}

/// Imports a job, with its copies that ran at the same time.
fn import_job(context: &DocumentContext<'_>, copies: &[&Job], found: &mut Imported, same: &mut Repetitions) {
    let [first, ..] = copies else { return };
    let name = first.jobname.clone().unwrap_or_default();
    if let Some(error) = copies.iter().filter_map(|c| c.error).find(|e| *e != 0.0) {
        note(found, format!("fio ended job '{name}' with error {error}: its result may be incomplete."));
    }
    let ways = |of: fn(&Job) -> Option<&DirectionStats>| -> Vec<&DirectionStats> {
        copies.iter().filter_map(|c| of(c)).filter(|w| w.io_bytes.is_some_and(|b| b > 0.0)).collect()
    };
    let [reads, writes] = [ways(|j| j.read.as_ref()), ways(|j| j.write.as_ref())];
    let known = Known::of(context, first, copies.len());
    known.notes.iter().for_each(|what| note(found, format!("Job '{name}' {what}.")));
    let both = !reads.is_empty() && !writes.is_empty();
    let as_mix = matches!(known.load.direction, Some(Direction::Mixed { .. }));
    if both && !as_mix {
        note(found, format!("Job '{name}' read and wrote, at once or not: these are two loads."));
    }
    let mut add = |half: Option<Half>, ways: &[&DirectionStats], way: Option<Direction>| {
        let Some(load) = load(&known, ways, found) else { return };
        same.job(found.loads.len(), &known.key, half, first.groupid);
        found.loads.push(ImportedLoad { half, direction: way.or(load.direction), ..load });
    };
    if as_mix {
        let both: Vec<&DirectionStats> = reads.iter().chain(&writes).copied().collect();
        add(None, &both, None);
        add(Some(Half::Reads), &reads, None);
        add(Some(Half::Writes), &writes, None);
        return;
    }
    add(None, &reads, Some(Direction::Read));
    add(None, &writes, Some(Direction::Write));
}

/// Index of a load, its document and its group.
type Occurrence = (usize, u64, u64);

/// Jobs with equal options, each in its own document or group: fio runs these one after the other.
#[derive(Default)]
struct Repetitions {
    /// Number of the current document, from 1.
    document: u64,
    kinds: BTreeMap<(String, Option<Half>), Vec<Occurrence>>,
}

impl Repetitions {
    fn job(&mut self, at: usize, key: &Option<String>, half: Option<Half>, group: Option<f64>) {
        if let (Some(key), Some(group)) = (key, group) {
            let loads = self.kinds.entry((key.clone(), half)).or_default();
            loads.push((at, self.document, group.to_bits()));
        }
    }

    fn settle(self, found: &mut Imported) {
        for (number, all) in (0..).zip(self.kinds.into_values()) {
            let runs: BTreeSet<_> = all.iter().map(|(_, document, group)| (document, group)).collect();
            if runs.len() == all.len() {
                all.iter().for_each(|(at, ..)| found.loads[*at].same_as = Some(number));
            }
        }
    }
}
