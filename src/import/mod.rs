//! Output of other tools, read into records: what they told is kept, what they didn't is unknown.
//!
//! Such a record is shown side by side with what drivebench measures.
//!
//! The format is known from the content, never from a file's name. Everything here is a pure function of bytes but
//! [`files`], which finds them.

mod dd;
mod files;
mod findings;
mod fio;
mod groups;
mod number;
mod pibenchmarks;
mod text;

#[cfg(test)]
mod damage;

use std::{io, path::PathBuf};

pub use files::{Found, files};
pub use findings::{EXPERIMENT, findings};

use crate::{
    record::{Imported, Said, Told},
    units::{Direction, Pattern, count, size},
};

/// No file is larger; the largest outputs of a single run have some MiB.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The formats that are understood, for people.
pub const FORMATS: &str =
    "fio's JSON (--output-format=json), dd's last lines in any language, and what PiBenchmarks prints";

/// Why a file can't be imported. The file is named by whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It can't be read.
    #[error("{path} can't be read: {source}")]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither a file nor a directory.
    #[error("{path} is neither a file nor a directory")]
    NoFile {
        /// What was named.
        path: PathBuf,
    },
    /// Too many files below a directory.
    #[error("{path} holds more than {most} files: name a directory of results only")]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// How many are taken at once.
        most: usize,
    },
    /// It is too large.
    #[error("{path} has {}, but outputs of up to {} are read", size(*bytes), size(MAX_FILE))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size, bytes.
        bytes: u64,
    },
    /// What stands in it.
    #[error("{path}: {why}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: ContentError,
    },
}

/// Why content can't be understood.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContentError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// No known format.
    #[error("no result was found in its {}; understood are {FORMATS}", count(*lines, "line"))]
    Unknown {
        /// How many lines it has.
        lines: u64,
    },
    /// More results than a record holds.
    #[error("it tells of more than {MOST} loads, which is more than a record holds: split it")]
    TooMany,
    /// fio's JSON ends in its midst.
    #[error(
        "fio's JSON, which begins on line {line}, is cut off at byte {at}, the end of the file: fio was killed, or the file is a part only"
    )]
    CutOff {
        /// The line on which the document begins.
        line: u64,
        /// Where it ends, bytes.
        at: u64,
    },
    /// fio's JSON is damaged.
    #[error("fio's JSON is damaged on line {line}, column {column}: {what}")]
    Json {
        /// The line in the file.
        line: u64,
        /// The column.
        column: u64,
        /// What was expected.
        what: String,
    },
    /// fio told of no load that moved bytes.
    #[error("fio's JSON on line {line} tells of no read or write that took time: {why}")]
    Nothing {
        /// The line on which the document begins.
        line: u64,
        /// What it tells instead.
        why: String,
    },
}

/// Reads the content of a file.
///
/// # Errors
/// Where nothing in it is understood, or what is understood is damaged or cut off.
pub fn read(bytes: &[u8], said: &Said) -> Result<Imported, ContentError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ContentError::Empty);
    }
    let text = plain(bytes);
    let (mut found, rest) = fio::read(&text)?;
    text::read(&rest, &mut found);
    if found.loads.is_empty() {
        return Err(ContentError::Unknown { lines: text.lines().count() as u64 });
    }
    if found.loads.len() > MOST {
        return Err(ContentError::TooMany);
    }
    tidy(&mut found);
    found.bytes = bytes.len() as u64;
    found.crc32 = crc32fast::hash(bytes);
    found.said = said.clone();
    for load in found.loads.iter_mut().filter(|l| l.direction.is_none()) {
        load.direction = said.direction;
    }
    repetitions(&mut found);
    let mut tools: Vec<String> = Vec::new();
    for load in &found.loads {
        if !tools.contains(&load.tool) {
            tools.push(load.tool.clone());
        }
    }
    if found.tool.is_empty() {
        found.tool = tools.join(", ");
    }
    Ok(found)
}

/// Loads that a record holds of one file.
const MOST: usize = 4_000;
/// Characters of a name that are kept, and sentences of what is to be known.
const LONGEST: usize = 160;
const NOTES: usize = 20;

/// Names and sentences without what terminals obey, and of a length that a page can bear.
fn tidy(found: &mut Imported) {
    let clean = |text: &mut String, most: usize| {
        if text.chars().any(char::is_control) || text.len() > most {
            let plain = text.chars().map(|c| if c.is_control() { '?' } else { c });
            *text = plain.take(most).collect();
        }
    };
    [&mut found.board, &mut found.drive].into_iter().flatten().for_each(|text| clean(text, LONGEST));
    for load in &mut found.loads {
        clean(&mut load.tool, LONGEST);
        [&mut load.name, &mut load.on].into_iter().flatten().for_each(|text| clean(text, LONGEST));
    }
    found.notes.iter_mut().for_each(|note| clean(note, 4 * LONGEST));
}

/// Adds what a reader must know, once, and not without end.
fn note(found: &mut Imported, text: String) {
    match found.notes.len() {
        n if n < NOTES && !found.notes.contains(&text) => found.notes.push(text),
        NOTES => found.notes.push("More of this kind is left out.".to_owned()),
        _ => {}
    }
}

/// Text without what terminals obey: colours and other controls. Line ends and carriage returns stay.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                // Parameters of such a sequence are few; a file of hostile ones still ends.
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
            c if c.is_control() || c == '\u{feff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Numbers runs of a load that tell, by themselves or by a person's word, that they are the same.
fn repetitions(found: &mut Imported) {
    let mut kinds: Vec<Told> = Vec::new();
    for load in &mut found.loads {
        // fio's jobs were numbered by their options, which tell more than what is kept of them.
        if load.same_as.is_some() || load.direction.is_none() || load.tool.starts_with("fio") {
            continue;
        }
        let kind =
            Told { seconds: None, speed: 0.0, iops: None, latencies: Vec::new(), line: 0, ..load.clone() };
        let at = kinds.iter().position(|k| *k == kind).unwrap_or(kinds.len());
        if at == kinds.len() {
            kinds.push(kind);
        }
        load.same_as = Some(u32::try_from(at).unwrap_or(u32::MAX).saturating_add(SAID));
    }
}

/// Numbers from here on are of runs that look alike, below it of jobs with the same options.
const SAID: u32 = 1 << 16;

/// Whether a number can be a speed or a time: it says something, and a sum of many stays finite.
fn sane(x: f64) -> bool {
    x.is_finite() && (0.0..1e18).contains(&x)
}

/// A direction by fio's name for it.
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

    fn taken(text: &str) -> Imported {
        read(text.as_bytes(), &Said::default()).expect("is understood")
    }

    #[test]
    fn fio_2_tells_kib_and_microseconds() {
        let imported = taken(include_str!("../../tests/fixtures/import/fio-2.2.10.json"));
        let [load] = &imported.loads[..] else { panic!("{imported:?}") };
        assert_eq!((imported.tool.as_str(), imported.drive.as_deref()), ("fio 2.2.10", Some("xvda")));
        assert_eq!(imported.measured.as_deref(), Some("2017-11-17T23:59:32Z"));
        assert_eq!(load.bytes, Some(37_500_272 * 1024));
        assert!((load.speed - 62_499.0 * 1024.0).abs() < 1024.0 * 5.0, "{}", load.speed);
        assert_eq!(
            load.latencies.iter().find(|(share, _)| *share == 0.99).map(|(_, s)| (s * 1e6).round()),
            Some(8640.0)
        );
        // It tells no options.
        assert_eq!((load.block, load.depth, load.caching, load.pattern), (None, None, None, None));
        assert_eq!(load.direction, Some(Direction::Write));
    }

    #[test]
    fn fio_3_tells_bytes_nanoseconds_and_options() {
        let imported = taken(include_str!("../../tests/fixtures/import/fio-3.33-several.json"));
        let names: Vec<String> = imported.loads.iter().map(Told::label).collect();
        assert_eq!(names, ["write", "randrw", "randrw, reads", "randrw, writes", "randread"]);
        let [write, mix, reads, writes, randread] = &imported.loads[..] else { panic!("five loads") };
        assert_eq!((write.bytes, write.seconds), (Some(4 << 20), Some(0.088)));
        assert_eq!(load("write", write).describe(), "sequential write, 4 KiB, direct, depth 1");
        assert_eq!(mix.direction, Some(Direction::Mixed { read_percent: 70 }));
        assert_eq!(mix.bytes, Some(2_924_544 + 1_269_760));
        assert_eq!((reads.half, writes.half), (Some(Half::Reads), Some(Half::Writes)));
        assert_eq!((randread.jobs, randread.bytes), (Some(2), Some(112_324_608)));
        assert!(imported.loads.iter().all(|l| l.tool == "fio 3.33" && load("", l).unknown().is_empty()));
        assert!(mix.latencies.is_empty() && !reads.latencies.is_empty(), "percentiles of two don't add up");
    }

    #[test]
    fn jobs_with_the_same_options_one_after_the_other_are_repetitions() {
        let text = include_str!("../../tests/fixtures/import/fio-3.33-repeated.json");
        let imported = taken(text);
        assert_eq!(imported.loads.len(), 3);
        assert!(imported.loads.iter().all(|l| l.same_as.is_some() && l.same_as == imported.loads[0].same_as));
        // In one group they ran at the same time.
        let together = taken(
            &text.replace("\"groupid\": 1", "\"groupid\": 0").replace("\"groupid\": 2", "\"groupid\": 0"),
        );
        assert!(together.loads.iter().all(|l| l.same_as.is_none()));
        assert!(together.notes[0].contains("at the same time"), "{:?}", together.notes);
        // Two documents in a file were two runs, and text around them is nobody's.
        let two = taken(&format!("fio: a warning\n{text}\nnothing\n{text}"));
        assert_eq!((two.loads.len(), two.left), (6, 2));
        assert!(two.loads.iter().all(|l| l.same_as == two.loads[0].same_as && l.same_as.is_some()));
        assert_eq!(two.loads[5].line, 1 + 1 + text.lines().count() as u64 + 1);
    }

    #[test]
    fn braces_of_others_and_runs_that_failed_hide_no_result() {
        let text = include_str!("../../tests/fixtures/import/fio-3.33-repeated.json");
        let far = "a line of a log\n".repeat(400);
        let failed = "{ \"fio version\" : \"fio-3.33\", \"jobs\" : [] }";
        let imported = taken(&format!("{{ not JSON }}\n{far}{text}\n{failed}\n"));
        assert_eq!((imported.loads.len(), imported.left), (3, 401));
        assert!(imported.notes[0].contains("it has no jobs"), "{:?}", imported.notes);
        // Keys in another order, as jq -S leaves them.
        let sorted: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let sorted = format!("{{\"a\": \"{}\", {}", "x".repeat(5000), &sorted.to_string()[1..]);
        assert_eq!(taken(&sorted).loads.len(), 3);
    }

    #[test]
    fn copies_of_a_job_are_one_load() {
        let text = include_str!("../../tests/fixtures/import/fio-3.33-repeated.json");
        let text =
            text.replace("\"groupid\": 1", "\"groupid\": 0").replace("\"groupid\": 2", "\"groupid\": 0");
        let text = text.replace("\"w2\"", "\"w1\"").replace("\"w3\"", "\"w1\"");
        let [load] = &taken(&text).loads[..] else { panic!("one load") };
        assert_eq!((load.jobs, load.bytes, load.latencies.len()), (Some(3), Some(3 * (2 << 20)), 0));
    }

    #[test]
    fn clients_are_told_apart_from_their_sum() {
        let [sum] = &taken(include_str!("../../tests/fixtures/import/fio-2.6-client.json")).loads[..] else {
            panic!("one load")
        };
        assert_eq!((sum.name.as_deref(), sum.bytes), (Some("All clients"), Some(2_021_176 * 1024)));
        // Of a sum no options are told, so its defaults aren't either.
        assert_eq!((sum.direction, sum.block, sum.depth, sum.caching), (None, None, None, None));
        let imported = taken(include_str!("../../tests/fixtures/import/fio-3.33-client.txt"));
        let [client] = &imported.loads[..] else { panic!("one load") };
        assert_eq!((client.name.as_deref(), imported.board.as_deref()), (Some("cl"), Some("127.0.0.1")));
        assert_eq!(client.block, Some(65536));
    }

    #[test]
    fn numbers_that_are_none_hide_nothing_else() {
        let text = include_str!("../../tests/fixtures/import/fio-2.2.10.json");
        let imported = taken(&text.replace("\"iops\" : 15624.70", "\"iops\" : -nan"));
        assert_eq!(imported.loads[0].iops, None);
        assert_eq!(imported.loads[0].bytes, Some(37_500_272 * 1024));
        let e = read(text.replace("62499", "\"fast\"").as_bytes(), &Said::default()).expect_err("no number");
        assert!(
            e.to_string().contains("damaged on line 38") && e.to_string().contains("invalid type"),
            "{e}"
        );
        let failed = taken(&text.replace("\"error\" : 0", "\"error\" : 5"));
        assert!(failed.notes[0].contains("error 5"), "{:?}", failed.notes);
    }

    #[test]
    fn a_log_of_dd_says_what_it_knows() {
        let imported = taken(include_str!("../../tests/fixtures/import/dd-loop.txt"));
        let labels: Vec<String> = imported.loads.iter().map(Told::label).collect();
        assert_eq!(labels, ["write", "write", "write", "read"]);
        assert!(
            imported.loads[..3].iter().all(|l| l.same_as == imported.loads[0].same_as && l.same_as.is_some())
        );
        assert_ne!(imported.loads[3].same_as, imported.loads[0].same_as);
        assert_eq!(load("read", &imported.loads[3]).describe(), "sequential read, 64 KiB, direct, depth 1");
        assert_eq!(imported.loads[0].speed, 33_554_432.0 / 0.0289578);
    }

    #[test]
    fn runs_of_unknown_direction_are_no_repetitions_until_someone_says_so() {
        let text = include_bytes!("../../tests/fixtures/import/dd-de.txt");
        let imported = read(text, &Said::default()).expect("is understood");
        assert_eq!(imported.loads.len(), 3);
        assert!(
            imported
                .loads
                .iter()
                .all(|l| l.same_as.is_none() && l.label() == "copy" && l.block == Some(4096))
        );
        assert!((imported.loads[0].seconds.expect("a time") - 0.0302075).abs() < 1e-12);
        let said = Said { direction: Some(Direction::Write), ..Said::default() };
        let imported = read(text, &said).expect("is understood");
        assert!(imported.loads.iter().all(|l| l.same_as == imported.loads[0].same_as && l.same_as.is_some()));
        assert_eq!(imported.loads[0].label(), "write");
    }

    #[test]
    fn what_dd_draws_over_or_tells_in_between_is_no_run_of_its_own() {
        for (text, bytes, left) in [
            (include_str!("../../tests/fixtures/import/dd-progress.txt"), 1_966_080_000, 1),
            (include_str!("../../tests/fixtures/import/dd-interrupted.txt"), 4_417_196_032, 1),
        ] {
            let imported = taken(text);
            assert_eq!(imported.loads.iter().map(|l| l.bytes).collect::<Vec<_>>(), [Some(bytes)]);
            assert_eq!(imported.left, left);
        }
    }

    #[test]
    fn pibenchmarks_page_and_table() {
        let page = taken(include_str!("../../tests/fixtures/import/pibenchmarks-switch.txt"));
        assert_eq!(
            (page.tool.as_str(), page.board.as_deref()),
            ("PiBenchmarks", Some("Nintendo Switch (2017)"))
        );
        assert_eq!(page.loads.iter().map(|l| l.tool.as_str()).filter(|t| *t == "fio").count(), 2);
        let iozone = |name: &str| {
            page.loads.iter().find(|l| l.name.as_deref() == Some(name)).map(|l| l.speed / 1024.0)
        };
        assert_eq!([iozone("write"), iozone("random read")], [Some(8433.0), Some(21376.0)]);
        let table = taken(include_str!("../../tests/fixtures/import/pibenchmarks-table.txt"));
        assert_eq!(table.loads.len(), 8);
        assert_eq!(table.loads[0].speed, 707.07 * 1048576.0);
        assert_eq!(
            (table.loads[2].speed, table.loads[2].caching),
            (418e6, Some(crate::units::Caching::BufferedFsync))
        );
        // A word where a number belongs is no speed.
        let broken = taken(include_str!("../../tests/fixtures/import/pibenchmarks-no-hdparm.txt"));
        assert_eq!(broken.loads.len(), 2);
        let steps = taken(include_str!("../../tests/fixtures/import/pibenchmarks-steps.txt"));
        assert_eq!(
            steps.loads.iter().map(|l| l.tool.as_str()).collect::<Vec<_>>(),
            ["hdparm", "hdparm", "dd"]
        );
        assert_eq!(steps.loads[2].label(), "write");
        // The one that was slow was slow.
        let slow = taken(" Timing O_DIRECT disk reads:   2 MB in  4.81 seconds = 425.71 kB/sec\n");
        assert_eq!(slow.loads[0].speed, 425.71 * 1024.0);
    }

    #[test]
    fn what_is_no_result_is_refused_with_what_is_understood() {
        for (text, said) in [
            ("", "it is empty"),
            (" \n\t\n", "it is empty"),
            ("a\nb\n", "no result was found in its 2 lines; understood are fio's JSON"),
            ("{}\n", "no result was found"),
            ("{\"fio version\": \"fio-3.1\"}", "it has no jobs"),
            ("{\"fio version\": \"fio-3.1\", \"jobs\": [{}]}", "1 job without one"),
            ("x\n{ \"fio version\" : \"fio-3.1\",\n \"jobs\" : [", "begins on line 2, is cut off at byte 42"),
            ("0 bytes copied, 2.1e-05 s, 0.0 kB/s", "no result was found"),
        ] {
            let e = read(text.as_bytes(), &Said::default()).expect_err(text).to_string();
            assert!(e.contains(said), "{text}: {e}");
        }
        assert!(read(&[0xff, 0xfe, 0, 1, 2], &Said::default()).is_err());
    }
}
