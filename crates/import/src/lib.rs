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
mod pibenchmarks;
mod results;

#[cfg(test)]
mod damage;

use std::{io, path::PathBuf};

pub use files::{Found, files};
pub use results::{EXPERIMENT, findings};

use crate::{
    record::{ImportOptions, Imported, ImportedLoad},
    units::{Direction, Pattern, clean, count, distinct, hides, rate, size},
};

/// Larger files are refused; the output of a single run has at most a few MiB.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

pub const FORMATS: &str = "fio's JSON (--output-format=json), its normal and terse output, dd's summary lines in any \
                           language, and the output of PiBenchmarks";

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{path} can't be read: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is neither a file nor a directory")]
    NoFile { path: PathBuf },
    #[error("{path} has more than {most} files: use a directory that contains only results")]
    TooMany { path: PathBuf, most: usize },
    #[error("{path} is larger than the limit of {}", size(MAX_FILE))]
    TooLarge { path: PathBuf },
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
    #[error("line {line} contains NUL bytes: it is not text, is UTF-16, or was not written completely")]
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
    let text = String::from_utf8_lossy(bytes);
    if let Some(at) = text.find('\0') {
        return Err(ContentError::Nul { line: 1 + text[..at].matches('\n').count() as u64 });
    }
    let text = plain(&text);
    let (mut found, rest) = fio::read(&text)?;
    lines(&rest, &mut found);
    if found.loads.is_empty() {
        return Err(ContentError::Unknown { lines: text.lines().count() as u64 });
    }
    if found.loads.len() > MOST {
        return Err(ContentError::TooMany);
    }
    contradictions(&mut found);
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

/// Notes loads whose operations and bytes don't fit. fio rounds IOPS to whole numbers.
fn contradictions(found: &mut Imported) {
    let contradiction = |load: &ImportedLoad| {
        let (iops, block) = (load.iops?, load.block?);
        let expected = iops * block as f64;
        let fits = (expected - load.speed).abs() <= 0.1 * load.speed.max(expected) + block as f64;
        let name = load.name.clone().unwrap_or_else(|| load.label());
        let (expected, speed, block) = (rate(expected), rate(load.speed), size(block));
        (!fits).then(|| {
            format!("'{name}' contradicts itself: {iops:.0} operations a second of {block} are {expected}, its speed is {speed}.")
        })
    };
    let all: Vec<String> = found.loads.iter().filter_map(contradiction).collect();
    all.into_iter().for_each(|what| note(found, what));
}

/// Limits of characters in a name and of notes.
const LONGEST: usize = 160;
const NOTES: usize = 20;

/// Reads line-based output, dd's summary lines and PiBenchmarks, and counts unknown lines.
fn lines(text: &str, found: &mut Imported) {
    let (mut log, mut page) = (dd::Log::default(), pibenchmarks::Page::default());
    for (number, line) in (1..).zip(text.split('\n')) {
        // One above the limit is refused later; a hostile file could exhaust memory here.
        if found.loads.len() > MOST {
            break;
        }
        let line = line.trim_end_matches(['\r', ' ']);
        // Text before a carriage return was progress output, overwritten on the terminal.
        let (over, last) = line.rsplit_once('\r').map_or((false, line), |(_, last)| (true, last));
        let used = page.line(last, found) || !over && log.line(last, number, page.section(), found);
        if !used && !last.trim().is_empty() {
            found.skipped_lines += 1;
        }
    }
    page.finish(found);
}

/// Cleans names and notes, and truncates them.
fn clean_names(found: &mut Imported) {
    let clean_text = |text: &mut String, most: usize| {
        *text = clean(text).chars().take(most).collect();
    };
    [&mut found.board, &mut found.drive].into_iter().flatten().for_each(|text| clean_text(text, LONGEST));
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

/// Text without escape sequences and control characters, except line ends and carriage returns.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                // The length of a sequence is limited, in case the file is hostile.
                while chars.next_if(|c| c.is_ascii_digit() || *c == ';' || *c == '?').is_some() {}
                chars.next_if(char::is_ascii_alphabetic);
            }
            '\u{1b}' => {
                // `tput sgr0` also selects a character set.
                if chars.next_if_eq(&'(').is_some() {
                    chars.next();
                }
            }
            '\n' | '\r' | '\t' => out.push(c),
            c if hides(c) => {}
            c => out.push(c),
        }
    }
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
    use crate::{record::Half, units::Caching};

    fn parse(text: &str) -> Imported {
        read(text.as_bytes(), &ImportOptions::default()).expect("a result")
    }

    #[test]
    fn what_a_result_is_of_is_known_or_said_to_be_unknown() {
        const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cases");
        let imported =
            |name: &str| parse(&std::fs::read_to_string(format!("{CASES}/{name}")).expect("a sample"));
        // Each result belongs to its command, also where the command comes after it.
        let timed = imported("dd-zsh-time.log").loads;
        let ways: Vec<_> = timed.iter().map(|load| (load.direction, load.caching)).collect();
        let [write, read] = [(Direction::Write, Caching::BufferedFsync), (Direction::Read, Caching::Direct)];
        assert_eq!(ways, [write, read].map(|(way, caching)| (Some(way), Some(caching))));
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
        // The client's own disk was idle, or there were several clients.
        for name in ["fio-rbd.txt", "fio-clients.txt"] {
            assert_eq!(imported(name).drive, None, "{name}");
        }
        // JSON whose first brace is not the first of its line.
        for (name, n) in [("fio-quoted.json", 1), ("fio-terminal.txt", 1), ("fio-compose.log", 3)] {
            let loads = imported(name).loads;
            assert_eq!((loads.len(), loads[0].block), (n, Some(4096)), "{name}");
        }
    }

    #[test]
    fn fio_2_reports_kib_and_microseconds() {
        let imported = parse(include_str!("../../../tests/fixtures/import/fio-2.2.10.json"));
        let [load] = &imported.loads[..] else { panic!("{imported:?}") };
        assert_eq!((imported.tool.as_str(), imported.drive.as_deref()), ("fio 2.2.10", Some("xvda")));
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
    fn clients_are_distinguished_from_their_sum() {
        let [sum] = &parse(include_str!("../../../tests/fixtures/import/fio-2.6-client.json")).loads[..]
        else {
            panic!("one load")
        };
        assert_eq!((sum.name.as_deref(), sum.bytes), (Some("All clients"), Some(2_021_176 * 1024)));
        // A sum has no options, so fio's defaults don't apply.
        assert_eq!((sum.direction, sum.block, sum.depth, sum.caching), (None, None, None, None));
        let imported = parse(include_str!("../../../tests/fixtures/import/fio-3.33-client.txt"));
        let [client] = &imported.loads[..] else { panic!("one load") };
        assert_eq!((client.name.as_deref(), imported.board.as_deref()), (Some("cl"), Some("127.0.0.1")));
        assert_eq!(client.block, Some(65536));
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
    fn pibenchmarks_page_and_table() {
        let page = parse(include_str!("../../../tests/fixtures/import/pibenchmarks-switch.txt"));
        assert_eq!(
            (page.tool.as_str(), page.board.as_deref()),
            ("PiBenchmarks", Some("Nintendo Switch (2017)"))
        );
        assert_eq!(page.loads.iter().map(|l| l.tool.as_str()).filter(|t| *t == "fio").count(), 2);
        let iozone = |name: &str| {
            page.loads.iter().find(|l| l.name.as_deref() == Some(name)).map(|l| l.speed / 1024.0)
        };
        assert_eq!([iozone("write"), iozone("random read")], [Some(8433.0), Some(21376.0)]);
        let table = parse(include_str!("../../../tests/fixtures/import/pibenchmarks-table.txt"));
        assert_eq!(table.loads.len(), 8);
        assert_eq!(table.loads[0].speed, 707.07 * 1048576.0);
        assert_eq!(
            (table.loads[2].speed, table.loads[2].caching),
            (418e6, Some(crate::units::Caching::BufferedFsync))
        );
        // Text instead of a number is no speed.
        let broken = parse(include_str!("../../../tests/fixtures/import/pibenchmarks-no-hdparm.txt"));
        assert_eq!(broken.loads.len(), 2);
        let steps = parse(include_str!("../../../tests/fixtures/import/pibenchmarks-steps.txt"));
        assert_eq!(
            steps.loads.iter().map(|l| l.tool.as_str()).collect::<Vec<_>>(),
            ["hdparm", "hdparm", "dd"]
        );
        assert_eq!(steps.loads[2].label(), "write");
        // Slow drives are reported in kB/s.
        let slow = parse(" Timing O_DIRECT disk reads:   2 MB in  4.81 seconds = 425.71 kB/sec\n");
        assert_eq!(slow.loads[0].speed, 425.71 * 1024.0);
    }

    #[test]
    fn columns_that_iozone_leaves_blank_shift_no_speed() {
        let text = include_str!("../../../tests/fixtures/import/iozone-blank.txt");
        let speeds = |text: &str| -> Vec<(String, f64)> {
            parse(text).loads.into_iter().map(|l| (l.name.unwrap_or_default(), l.speed / 1024.0)).collect()
        };
        let expected = [
            ("write", 337889.0),
            ("rewrite", 338181.0),
            ("random read", 352902.0),
            ("random write", 325248.0),
        ]
        .map(|(name, speed)| (name.to_owned(), speed));
        assert_eq!(speeds(text), expected);
        // As pasted where spaces are collapsed.
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(speeds(&text.lines().map(words).collect::<Vec<_>>().join("\n")), expected);
        // Without the tests it is unknown which columns are blank.
        let unknown = format!(
            "{}\nHDParm Disk Read 1 MB/sec\n1000000 bytes copied, 1 s, 1.0 MB/s\n",
            text.replace("-i 0 -i 2", "")
        );
        let imported = parse(&unknown);
        assert_eq!(imported.loads.iter().map(|l| l.tool.as_str()).collect::<Vec<_>>(), ["dd"]);
        assert!(
            imported.notes[0].contains("4 speeds") && imported.notes[0].contains("13 columns"),
            "{:?}",
            imported.notes
        );
        // All tests.
        let all = "Command line used: iozone -a -I\n 64 4 1 2 3 4 5 6 7 8 9 10 11 12 13\n";
        assert_eq!(
            speeds(all).iter().map(|(_, speed)| *speed).collect::<Vec<_>>(),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
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
            ("0 bytes copied, 2.1e-05 s, 0.0 kB/s", "no result found"),
        ] {
            let e = read(text.as_bytes(), &ImportOptions::default()).expect_err(text).to_string();
            assert!(e.contains(message), "{text}: {e}");
        }
        assert!(read(&[0xff, 0xfe, 0, 1, 2], &ImportOptions::default()).is_err());
    }
}
