//! Imports the output of other tools into records. Values that the output doesn't contain are unknown.
//!
//! The format is detected from the content, never from the file name. Everything but [`files`] is a pure function of
//! bytes and records.

use drivebench_analyse as analyse;
use drivebench_core::record;
use drivebench_findings as findings;
use drivebench_units as units;

mod dd;
mod files;
mod fio;
mod groups;
mod number;
mod results;

#[cfg(test)]
mod damage;

use std::{borrow::Cow, io, path::PathBuf};

pub use files::{Found, files};
pub use results::{EXPERIMENT, findings};

use crate::{
    record::{ImportOptions, Imported, ImportedLoad},
    units::{Direction, Pattern, clean, count, distinct, hides, size},
};

/// Larger files are refused; the output of a single run has at most a few MiB.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

pub const FORMATS: &str =
    "fio's JSON (--output-format=json), its normal output, and dd's summary lines in any language";

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{path} can't be read: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is neither a file nor a directory")]
    NoFile { path: PathBuf },
    #[error("{path} has more than {most} files: use a directory that contains only results")]
    TooMany { path: PathBuf, most: usize },
    #[error("{path} is {}, larger than the limit of {}", size(*bytes), size(MAX_FILE))]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("{path}: {why}")]
    Content { path: PathBuf, why: ContentError },
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContentError {
    #[error("empty file")]
    Empty,
    #[error("no result found in {}; supported formats: {FORMATS}", count(*lines, "line"))]
    Unknown { lines: u64 },
    #[error("more than {MOST} results, the limit of a record: split the file")]
    TooMany,
    #[error(
        "fio's JSON, which starts on line {line}, is incomplete: the file ends at byte {at}; fio was killed, or the file was truncated"
    )]
    CutOff {
        /// First line of the document.
        line: u64,
        /// End of the file, bytes.
        at: u64,
    },
    #[error("fio's JSON is damaged on line {line}, column {column}: {what}")]
    Json { line: u64, column: u64, what: String },
    #[error(
        "fio's JSON, which goes on in line {line}, has no brace at the start of a line: remove what is before it"
    )]
    NoBrace { line: u64 },
    #[error("line {line} contains NUL bytes: it is not text, or was not written completely")]
    Nul {
        /// The first line that does.
        line: u64,
    },
    /// fio reported no load that moved bytes.
    #[error("fio's output on line {line} has no read or write with a result: {why}")]
    Nothing {
        /// First line of the document.
        line: u64,
        why: String,
    },
}

/// Reads the content of a file.
pub fn read(bytes: &[u8], options: &ImportOptions) -> Result<Imported, ContentError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ContentError::Empty);
    }
    let text = plain(&decoded(bytes)?);
    let (mut found, rest) = fio::read(&text)?;
    lines(&rest, &mut found);
    if found.loads.is_empty() {
        return Err(ContentError::Unknown { lines: text.lines().count() as u64 });
    }
    if found.loads.len() > MOST {
        return Err(ContentError::TooMany);
    }
    clean_names(&mut found);
    found.bytes = bytes.len() as u64;
    found.crc32 = crc32fast::hash(bytes);
    found.options = options.clone();
    for load in found.loads.iter_mut().filter(|l| l.direction.is_none()) {
        load.direction = options.direction;
    }
    repetitions(&mut found);
    if found.tool.is_empty() {
        found.tool = distinct(found.loads.iter().map(|load| load.tool.clone())).join(", ");
    }
    Ok(found)
}

const MOST: usize = 4_000;

/// Limits of characters in a name and of notes.
const LONGEST: usize = 160;
const NOTES: usize = 20;

/// Reads dd's lines, and counts unknown ones.
fn lines(text: &str, found: &mut Imported) {
    let mut log = dd::Log::default();
    for (number, line) in (1..).zip(text.split('\n')) {
        // One above the limit is refused later; a hostile file could exhaust memory here.
        if found.loads.len() > MOST {
            break;
        }
        let line = line.trim_end_matches(['\r', ' ']);
        // Text before a carriage return was progress output, overwritten on the terminal.
        let (over, last) = line.rsplit_once('\r').map_or((false, line), |(_, last)| (true, last));
        let used = !over && log.line(last, number, found);
        if !used && !last.trim().is_empty() {
            found.skipped_lines += 1;
        }
    }
}

/// Cleans names and notes, and truncates them.
fn clean_names(found: &mut Imported) {
    let clean_text = |text: &mut String, most: usize| {
        *text = clean(text).chars().take(most).collect();
    };
    for load in &mut found.loads {
        clean_text(&mut load.tool, LONGEST);
        [&mut load.name, &mut load.on].into_iter().flatten().for_each(|text| clean_text(text, LONGEST));
    }
    found.notes.iter_mut().for_each(|note| clean_text(note, 4 * LONGEST));
}

/// Adds a note for the reader, once, up to a limit.
fn note(found: &mut Imported, text: String) {
    match found.notes.len() {
        n if n < NOTES && !found.notes.contains(&text) => found.notes.push(text),
        NOTES => found.notes.push("Further notes are left out.".to_owned()),
        _ => {}
    }
}

/// The text of a file. Windows redirects output as UTF-16, which begins with its mark; other text has no NUL bytes.
fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, ContentError> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    };
    match text.find('\0') {
        Some(at) => Err(ContentError::Nul { line: 1 + text[..at].matches('\n').count() as u64 }),
        None => Ok(text),
    }
}

/// Text without escape sequences and control characters, except line ends and carriage returns.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    // A sequence ends with the first letter.
    let inside = |c: char| c.is_ascii_digit() || matches!(c, '[' | '(' | ';' | '?');
    parts.for_each(|part| out.extend(part.trim_start_matches(inside).chars().skip(1)));
    out.retain(|c| matches!(c, '\n' | '\r' | '\t') || !hides(c));
    out
}

/// Numbers repetitions: runs of a load with equal settings, as reported by the tool or stated by the user.
fn repetitions(found: &mut Imported) {
    let mut kinds: Vec<ImportedLoad> = Vec::new();
    for load in &mut found.loads {
        // fio's jobs are already numbered, by all of their options.
        if load.same_as.is_some() || load.direction.is_none() || load.tool.starts_with("fio") {
            continue;
        }
        let kind = ImportedLoad {
            seconds: None,
            speed: 0.0,
            iops: None,
            latencies: Vec::new(),
            line: 0,
            ..load.clone()
        };
        let at = kinds.iter().position(|k| *k == kind).unwrap_or(kinds.len());
        if at == kinds.len() {
            kinds.push(kind);
        }
        load.same_as = Some(u32::try_from(at).unwrap_or(u32::MAX).saturating_add(FIRST_BY_SETTINGS));
    }
}

/// Numbers from here on are for loads with equal settings, lower ones for fio jobs with equal options.
const FIRST_BY_SETTINGS: u32 = 1 << 16;

/// Whether a number can be a speed or a time: finite, and small enough that sums stay finite.
fn sane(x: f64) -> bool {
    x.is_finite() && (0.0..1e18).contains(&x)
}

/// Direction and pattern of fio's `rw` option.
fn direction(rw: &str, read_percent: u8) -> Option<(Direction, Pattern)> {
    let (rest, pattern) = match rw.strip_prefix("rand") {
        Some(rest) => (rest, Pattern::Random),
        None => (rw, Pattern::Sequential),
    };
    let direction = match rest {
        "read" => Direction::Read,
        "write" => Direction::Write,
        "rw" | "readwrite" => Direction::Mixed { read_percent },
        _ => return None,
    };
    Some((direction, pattern))
}

#[cfg(test)]
mod tests {
    use super::{groups::load, *};
    use crate::record::Half;

    fn parse(text: &str) -> Imported {
        read(text.as_bytes(), &ImportOptions::default()).expect("a result")
    }

    #[test]
    fn what_a_result_is_of_is_known_or_said_to_be_unknown() {
        const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cases");
        let imported =
            |name: &str| parse(&std::fs::read_to_string(format!("{CASES}/{name}")).expect("a sample"));
        // Progress is no result.
        for (name, total) in [
            ("dd-progress-gnu.txt", 2_147_483_648),
            ("dd-progress-bsd.txt", 2_147_483_648),
            ("dd-progress-fsync.txt", 6_291_456_000),
            ("dd-usr1.txt", 20_971_520_000),
        ] {
            let bytes: Vec<_> = imported(name).loads.iter().map(|load| load.bytes).collect();
            assert_eq!(bytes, [Some(total)], "{name}");
        }
        // Options of the last job are not those of the others.
        let group = imported("fio-group.json");
        let [sum, ..] = &group.loads[..] else { panic!("{group:?}") };
        assert_eq!((sum.pattern, sum.depth, sum.jobs, sum.caching), (None, None, None, None));
        // Options that decide the speed are noted.
        for (name, option) in [
            ("fio-pctrand.json", "percentage_random=10"),
            ("fio-zipf.json", "random_distribution=zipf:1.2"),
            ("fio-pattern.json", "buffer_pattern=0xdeadbeef"),
        ] {
            let job = imported(name);
            assert!(job.notes.iter().any(|note| note.contains(option)), "{name}: {:?}", job.notes);
            assert_eq!(job.loads[0].pattern.is_none(), !name.contains("pattern"), "{name}");
        }
    }

    #[test]
    fn fio_2_reports_kib_and_microseconds() {
        let imported = parse(include_str!("../../../tests/fixtures/import/fio-2.2.10.json"));
        let [load] = &imported.loads[..] else { panic!("{imported:?}") };
        assert_eq!(imported.tool, "fio 2.2.10");
        assert_eq!(imported.measured.as_deref(), Some("2017-11-17T23:59:32Z"));
        assert_eq!(load.bytes, Some(37_500_272 * 1024));
        assert!((load.speed - 62_499.0 * 1024.0).abs() < 1024.0 * 5.0, "{}", load.speed);
        assert_eq!(
            load.latencies.iter().find(|(share, _)| *share == 0.99).map(|(_, s)| (s * 1e6).round()),
            Some(8640.0)
        );
        // It has no options.
        assert_eq!((load.block, load.depth, load.caching, load.pattern), (None, None, None, None));
        assert_eq!(load.direction, Some(Direction::Write));
    }

    #[test]
    fn fio_3_reports_bytes_nanoseconds_and_options() {
        let imported = parse(include_str!("../../../tests/fixtures/import/fio-3.33-several.json"));
        let names: Vec<String> = imported.loads.iter().map(ImportedLoad::label).collect();
        assert_eq!(names, ["write", "randrw", "randrw, reads", "randrw, writes", "randread"]);
        let [write, mix, reads, writes, randread] = &imported.loads[..] else { panic!("five loads") };
        assert_eq!((write.bytes, write.seconds), (Some(4 << 20), Some(0.088)));
        assert_eq!(load("write", write).describe(), "sequential write, 4 KiB, direct, depth 1");
        assert_eq!(mix.direction, Some(Direction::Mixed { read_percent: 70 }));
        assert_eq!(mix.bytes, Some(2_924_544 + 1_269_760));
        assert_eq!((reads.half, writes.half), (Some(Half::Reads), Some(Half::Writes)));
        assert_eq!((randread.jobs, randread.bytes), (Some(2), Some(112_324_608)));
        assert!(imported.loads.iter().all(|l| l.tool == "fio 3.33" && load("", l).unknown().is_empty()));
        assert!(mix.latencies.is_empty() && !reads.latencies.is_empty(), "percentiles can't be added");
    }

    #[test]
    fn jobs_with_the_same_options_one_after_the_other_are_repetitions() {
        let text = include_str!("../../../tests/fixtures/import/fio-3.33-repeated.json");
        let imported = parse(text);
        assert_eq!(imported.loads.len(), 3);
        assert!(imported.loads.iter().all(|l| l.same_as.is_some() && l.same_as == imported.loads[0].same_as));
        // In one group they ran at the same time.
        let together = parse(
            &text.replace("\"groupid\": 1", "\"groupid\": 0").replace("\"groupid\": 2", "\"groupid\": 0"),
        );
        assert!(together.loads.iter().all(|l| l.same_as.is_none()));
        assert!(together.notes[0].contains("at the same time"), "{:?}", together.notes);
        // Two documents in a file are two runs; text around them is skipped.
        let two = parse(&format!("fio: a warning\n{text}\nnothing\n{text}"));
        assert_eq!((two.loads.len(), two.skipped_lines), (6, 2));
        assert!(two.loads.iter().all(|l| l.same_as == two.loads[0].same_as && l.same_as.is_some()));
        assert_eq!(two.loads[5].line, 1 + 1 + text.lines().count() as u64 + 1);
    }

    #[test]
    fn other_braces_and_failed_runs_do_not_hide_results() {
        let text = include_str!("../../../tests/fixtures/import/fio-3.33-repeated.json");
        let far = "a line of a log\n".repeat(400);
        let failed = "{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }";
        let imported = parse(&format!("{{ not JSON }}\n{far}{text}\n{failed}\n"));
        assert_eq!((imported.loads.len(), imported.skipped_lines), (3, 401));
        assert!(imported.notes[0].contains("it has no jobs"), "{:?}", imported.notes);
        // Keys in another order, as jq -S leaves them.
        let sorted: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let sorted = format!("{{\"a\": \"{}\", {}", "x".repeat(5000), &sorted.to_string()[1..]);
        assert_eq!(parse(&sorted).loads.len(), 3);
    }

    #[test]
    fn copies_of_a_job_are_one_load() {
        let text = include_str!("../../../tests/fixtures/import/fio-3.33-repeated.json");
        let text =
            text.replace("\"groupid\": 1", "\"groupid\": 0").replace("\"groupid\": 2", "\"groupid\": 0");
        let text = text.replace("\"w2\"", "\"w1\"").replace("\"w3\"", "\"w1\"");
        let [load] = &parse(&text).loads[..] else { panic!("one load") };
        assert_eq!((load.jobs, load.bytes, load.latencies.len()), (Some(3), Some(3 * (2 << 20)), 0));
    }

    #[test]
    fn invalid_numbers_do_not_hide_other_values() {
        let text = include_str!("../../../tests/fixtures/import/fio-2.2.10.json");
        let imported = parse(&text.replace("\"iops\" : 15624.70", "\"iops\" : -nan"));
        assert_eq!(imported.loads[0].iops, None);
        assert_eq!(imported.loads[0].bytes, Some(37_500_272 * 1024));
        let e = read(text.replace("62499", "\"fast\"").as_bytes(), &ImportOptions::default())
            .expect_err("no number");
        assert!(
            e.to_string().contains("damaged on line 38") && e.to_string().contains("invalid type"),
            "{e}"
        );
        let failed = parse(&text.replace("\"error\" : 0", "\"error\" : 5"));
        assert!(failed.notes[0].contains("error 5"), "{:?}", failed.notes);
    }

    #[test]
    fn a_log_of_dd_with_command_lines() {
        let imported = parse(include_str!("../../../tests/fixtures/import/dd-loop.txt"));
        let labels: Vec<String> = imported.loads.iter().map(ImportedLoad::label).collect();
        assert_eq!(labels, ["write", "write", "write", "read"]);
        assert!(
            imported.loads[..3].iter().all(|l| l.same_as == imported.loads[0].same_as && l.same_as.is_some())
        );
        assert_ne!(imported.loads[3].same_as, imported.loads[0].same_as);
        assert_eq!(load("read", &imported.loads[3]).describe(), "sequential read, 64 KiB, direct, depth 1");
        assert_eq!(imported.loads[0].speed, 33_554_432.0 / 0.0289578);
    }

    #[test]
    fn runs_of_unknown_direction_are_repetitions_only_if_the_user_gives_it() {
        let text = include_bytes!("../../../tests/fixtures/import/dd-de.txt");
        let imported = read(text, &ImportOptions::default()).expect("a result");
        assert_eq!(imported.loads.len(), 3);
        assert!(
            imported
                .loads
                .iter()
                .all(|l| l.same_as.is_none() && l.label() == "copy" && l.block == Some(4096))
        );
        assert!((imported.loads[0].seconds.expect("a time") - 0.0302075).abs() < 1e-12);
        let said = ImportOptions { direction: Some(Direction::Write), ..ImportOptions::default() };
        let imported = read(text, &said).expect("a result");
        assert!(imported.loads.iter().all(|l| l.same_as == imported.loads[0].same_as && l.same_as.is_some()));
        assert_eq!(imported.loads[0].label(), "write");
    }

    #[test]
    fn progress_lines_of_dd_are_no_results() {
        for (text, bytes, left) in [
            (include_str!("../../../tests/fixtures/import/dd-progress.txt"), 1_966_080_000, 1),
            (include_str!("../../../tests/fixtures/import/dd-interrupted.txt"), 4_417_196_032, 1),
        ] {
            let imported = parse(text);
            assert_eq!(imported.loads.iter().map(|l| l.bytes).collect::<Vec<_>>(), [Some(bytes)]);
            assert_eq!(imported.skipped_lines, left);
        }
    }

    #[test]
    fn files_without_a_result_are_refused() {
        for (text, message) in [
            ("", "empty file"),
            (" \n\t\n", "empty file"),
            ("a\nb\n", "no result found in 2 lines; supported formats: fio's JSON"),
            ("{}\n", "no result found"),
            ("{\"fio version\": \"fio-3.1\"}", "it has no jobs"),
            ("{\"fio version\": \"fio-3.1\", \"jobs\": [{}]}", "1 job without a result"),
            (
                "x\n{ \"fio version\" : \"fio-3.1\",\n \"jobs\" : [",
                "starts on line 2, is incomplete: the file ends at byte 42",
            ),
            (
                "> {\n> \"fio version\": \"fio-3.1\"}",
                "goes on in line 2, has no brace at the start of a line",
            ),
            ("0 bytes copied, 2.1e-05 s, 0.0 kB/s", "no result found"),
        ] {
            let e = read(text.as_bytes(), &ImportOptions::default()).expect_err(text).to_string();
            assert!(e.contains(message), "{text}: {e}");
        }
        assert!(read(&[0xff, 0xfe, 0, 1, 2], &ImportOptions::default()).is_err());
    }
}
