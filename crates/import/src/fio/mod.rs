//! fio's JSON, fio 2 and 3: `jobs`, or `client_stats` with clients, with any text around it.
//!
//! fio 3 reports bytes and nanoseconds, fio 2 KiB and microseconds. In early versions `io_bytes` was in KiB: the unit is
//! derived from `bw` and `runtime`.

mod document;
mod options;
mod results;
mod terse;
#[cfg(test)]
mod tests;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use serde_json::Deserializer;

use self::{
    document::{DirectionStats, Document, DocumentContext, Job},
    options::{Known, relevant},
    results::load,
};
use super::{ContentError, MOST, note, sane};
use crate::{
    record::{Half, Imported, ImportedLoad},
    units::{Direction, count},
};

/// Key that every fio document has.
const MARK: &str = "\"fio version\"";

/// Distance of that key from the start of a document, bytes, unless the keys were sorted.
const NEAR: usize = 4096;

/// Documents in the order of the file, each with its first line. Of several reports on one run, only the last is kept.
#[derive(Default)]
struct Documents {
    all: Vec<(u64, Document)>,
    jobs: usize,
    /// Reports that a later one replaced.
    replaced: u64,
    /// They are of clients (`fio --client`): drives are those of other machines.
    of_clients: bool,
}

impl Documents {
    fn add(&mut self, line: u64, document: Document) -> Result<(), ContentError> {
        if self.all.iter().any(|(_, other)| other.is_printed_as(&document)) {
            return Ok(());
        }
        if self.all.last().is_some_and(|(_, before)| before.is_continued_by(&document)) {
            self.jobs -= self.all.pop().map_or(0, |(_, before)| before.all_jobs().count());
            self.replaced += 1;
        }
        self.jobs += document.all_jobs().count();
        self.all.push((line, document));
        if self.jobs.max(self.all.len()) > MOST { Err(ContentError::TooMany) } else { Ok(()) }
    }
}

/// Reads all documents. Returns the rest of the text, with documents replaced by empty lines.
pub(super) fn read(text: &str) -> Result<(Imported, String), ContentError> {
    let mut documents = Documents::default();
    let rest = json(text, &mut documents)?;
    let rest = text::read(&rest, &mut documents)?;
    let mut found = Imported::default();
    let (mut same, mut empty) = (Repetitions::default(), None);
    documents.all.sort_by_key(|(line, _)| *line);
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

/// The text without what each line begins with in logs of containers, if the line above fio's key has such a prefix.
fn unprefixed(text: &str) -> Option<String> {
    let above = text[..text.find(MARK)?].lines().rev().nth(1)?;
    let width = above.strip_suffix('{')?.len();
    let prefix = |line: &str| line.get(..width).is_some_and(|start| !start.trim().is_empty());
    let key = text.lines().find(|line| line.contains(MARK))?;
    (prefix(above) && prefix(key))
        .then(|| text.lines().map(|line| line.get(width..).unwrap_or(line).to_owned() + "\n").collect())
}

fn json(text: &str, documents: &mut Documents) -> Result<String, ContentError> {
    if !text.contains(MARK) {
        return Ok(text.to_owned());
    }
    // Old versions print nan and inf, which JSON doesn't allow.
    let text = replace_nan(&unprefixed(text).unwrap_or_else(|| text.to_owned()));
    let mut rest = String::with_capacity(text.len());
    let (mut at, mut line, mut first) = (0, 1, true);
    while let Some(Begin { brace, key }) = next(&text, at, std::mem::take(&mut first)) {
        let begin = brace.unwrap_or(key);
        rest.push_str(&text[at..begin]);
        line += lines(&text[at..begin]);
        at = begin;
        let is_near = brace.is_some_and(|brace| key - brace < NEAR);
        // Without its brace, as a terminal shows it whose last line was not empty, or a quotation.
        let headless = || {
            let (document, length) = document("{", &text[key..], line, key as u64)?;
            Ok((document, key - begin + length - 1))
        };
        let read = match brace {
            Some(_) => document("", &text[begin..], line, begin as u64),
            None => headless(),
        };
        let (document, length) = match read {
            Err(ContentError::Json { .. }) if brace.is_none() => (None, MARK.len()),
            // A brace of another log.
            Err(ContentError::Json { .. }) if !is_near => continue,
            Err(e @ ContentError::Json { .. }) => headless().map_err(|_: ContentError| e)?,
            other => other?,
        };
        if let Some(document) = document {
            documents.add(line, document)?;
        }
        let inside = lines(&text[begin..begin + length]);
        rest.extend(std::iter::repeat_n('\n', inside as usize));
        line += inside;
        at = begin + length;
    }
    rest.push_str(&text[at..]);
    Ok(rest)
}

fn lines(text: &str) -> u64 {
    text.bytes().filter(|b| *b == b'\n').count() as u64
}

/// Where the next document begins.
struct Begin {
    /// A brace at the start of a line before the key, near it or, if keys were sorted, the `first` one of a text.
    brace: Option<usize>,
    /// fio's key.
    key: usize,
}

fn next(text: &str, from: usize, first: bool) -> Option<Begin> {
    let key = from + text[from..].find(MARK)?;
    let mut at = from;
    let braces = text[from..key].split_inclusive('\n').filter_map(|line| {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        text[begin..].starts_with('{').then_some(begin)
    });
    let brace = braces.into_iter().find(|begin| first || key - begin < NEAR);
    Some(Begin { brace, key })
}

/// The document at the start of `text` after `head`, if it is fio's, and the length of both.
fn document(
    head: &str,
    text: &str,
    line: u64,
    begin: u64,
) -> Result<(Option<Document>, usize), ContentError> {
    let cut_off = || ContentError::CutOff { line, at: begin + text.len() as u64 };
    let (found, length) = if head.is_empty() {
        let mut stream = Deserializer::from_str(text).into_iter::<Document>();
        (stream.next(), stream.byte_offset())
    } else {
        let mut stream =
            Deserializer::from_reader(head.as_bytes().chain(text.as_bytes())).into_iter::<Document>();
        (stream.next(), stream.byte_offset())
    };
    match found {
        Some(Ok(document)) => {
            let is = document.version.is_some() || document.jobs.is_some() || document.client_stats.is_some();
            Ok((is.then_some(document), length))
        }
        Some(Err(e)) => {
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
        None => Err(cut_off()),
    }
}

/// Replaces `: -nan,` by `: null,`, with the same length, so that positions stay valid.
fn replace_nan(text: &str) -> String {
    let mut text = text.to_owned();
    for (none, null) in [(": -nan", ": null"), (": nan", ":null"), (": -inf", ": null"), (": inf", ":null")] {
        if text.contains(none) {
            for end in [",", "\n", "\r", " ", "}"] {
                text = text.replace(&format!("{none}{end}"), &format!("{null}{end}"));
            }
        }
    }
    text
}

fn import_document(
    document: &Document,
    line: u64,
    found: &mut Imported,
    same: &mut Repetitions,
) -> Result<(), ContentError> {
    let nothing = |why: String| ContentError::Nothing { line, why };
    let tool = document.version.as_deref().unwrap_or("fio").replacen("fio-", "fio ", 1);
    let mut jobs: Vec<&Job> = document.all_jobs().collect();
    let sum = |job: &Job| job.jobname.as_deref() == Some("All clients");
    if !jobs.iter().all(|job| sum(job)) {
        jobs.retain(|job| !sum(job));
    }
    let hosts: BTreeSet<&str> = jobs.iter().filter_map(|job| job.hostname.as_deref()).collect();
    if let (Some(host), 1) = (hosts.first(), hosts.len()) {
        found.board.get_or_insert_with(|| (*host).to_owned());
    }
    // With I/O to a server or in the page cache, the drive of this machine was idle.
    if let Some([disk]) = document.disk_util.as_deref() {
        let ways = jobs.iter().flat_map(|job| job.read.iter().chain(&job.write));
        let ops: f64 = ways.filter_map(|way| Some(way.iops? * way.runtime? / 1000.0)).sum();
        if let Some(name) = disk.name.as_ref().filter(|_| !disk.was_idle(ops)) {
            found.drive.get_or_insert_with(|| name.clone());
        }
    }
    if let Some(at) = document.timestamp.filter(|at| (1.0..1e11).contains(at)) {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
        found.measured.get_or_insert_with(|| humantime::format_rfc3339_seconds(at).to_string());
    }
    let global = serde_json::to_vec(&relevant(&document.global)).unwrap_or_default();
    let global_crc32 = crc32fast::hash(&global);
    let several_hosts = hosts.len() > 1;
    let context = DocumentContext { tool, line, global: &document.global, global_crc32, several_hosts };
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
    let key = |job: &Job| (job.jobname.clone(), job.groupid.map(f64::to_bits), job.hostname.clone());
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
    let [reads, writes, mixed] =
        [ways(|j| j.read.as_ref()), ways(|j| j.write.as_ref()), ways(|j| j.mixed.as_ref())];
    let known = Known::of(context, first, copies.len());
    known.notes.iter().for_each(|what| note(found, format!("Job '{name}' {what}.")));
    let verified = known.load.direction == Some(Direction::Write) && !writes.is_empty();
    let both = !reads.is_empty() && !writes.is_empty();
    let as_mix = match known.load.direction {
        Some(Direction::Mixed { .. }) => true,
        Some(_) => false,
        None => both && at_once(&reads, &writes),
    };
    if verified && both {
        let what = "read back what it had written, to verify it; these reads are left out";
        note(found, format!("Job '{name}' {what}."));
    } else if both && !as_mix {
        let what = "read and wrote one after the other, for different times: these are two loads";
        note(found, format!("Job '{name}' {what}."));
    }
    let mut add = |half: Option<Half>, ways: &[&DirectionStats], way: Option<Direction>| {
        let Some(load) = load(&known, ways, found) else { return };
        same.job(found.loads.len(), &known.key, half, first.groupid);
        found.loads.push(ImportedLoad { half, direction: way.or(load.direction), ..load });
    };
    if as_mix {
        let share = known.share.or_else(|| share(&reads, &writes));
        let way = share.map(|read_percent| Direction::Mixed { read_percent });
        let both: Vec<&DirectionStats> = reads.iter().chain(&writes).copied().collect();
        add(None, &both, way);
        add(Some(Half::Reads), &reads, way);
        add(Some(Half::Writes), &writes, way);
    } else {
        if !verified {
            add(None, &reads, Some(Direction::Read));
        }
        add(None, &writes, Some(Direction::Write));
    }
    add(None, &mixed, None);
}

/// Whether reads and writes went on for the same time, as in a mix; not where one followed the other, to verify it.
fn at_once(reads: &[&DirectionStats], writes: &[&DirectionStats]) -> bool {
    let longest = |ways: &[&DirectionStats]| ways.iter().filter_map(|way| way.runtime).fold(0.0, f64::max);
    let (r, w) = (longest(reads), longest(writes));
    r.min(w) >= 0.9 * r.max(w)
}

/// The percentage of reads among the operations, for versions of fio that don't report the option.
fn share(reads: &[&DirectionStats], writes: &[&DirectionStats]) -> Option<u8> {
    let [r, w] = [reads, writes]
        .map(|ways| ways.iter().filter_map(|way| way.iops).filter(|iops| sane(*iops)).sum::<f64>());
    (r + w > 0.0).then(|| (100.0 * r / (r + w)).round() as u8)
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
