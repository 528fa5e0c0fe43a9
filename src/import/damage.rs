//! Ten thousand damaged outputs, the same each time: reading never panics, and all imported numbers are valid.

use std::thread;

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{ContentError, MOST, read};
use crate::{
    record::{ImportOptions, Imported},
    units::Direction,
};

const CASES: u64 = 10_000;

/// Texts that number, string and document parsers might fail on.
const TEXTS: [&str; 22] = [
    "-1",
    "0",
    "NaN",
    "-nan",
    "inf",
    "1e308",
    "1e999",
    "99999999999999999999",
    "18446744073709551615",
    "0.0000000000000000001",
    "1,234,567.8",
    "null",
    "\"\"",
    "{",
    "}",
    "[[[[[[[[",
    "\r",
    "\u{1b}[",
    "\u{1b}",
    "\\u001b[2J",
    "\"fio version\"",
    "Ω，、（",
];

fn samples() -> Vec<(&'static str, &'static [u8])> {
    macro_rules! sample {
        ($($name:literal),*) => { vec![$(($name, &include_bytes!(concat!("../../tests/fixtures/import/", $name))[..])),*] };
    }
    sample!(
        "dd-de.txt",
        "dd-interrupted.txt",
        "dd-loop.txt",
        "dd-progress.txt",
        "fio-2.2.10.json",
        "fio-2.6-client.json",
        "fio-3.33-client.txt",
        "fio-3.33-repeated.json",
        "fio-3.33-several.json",
        "pibenchmarks-no-hdparm.txt",
        "pibenchmarks-steps.txt",
        "pibenchmarks-switch.txt",
        "pibenchmarks-table.txt"
    )
}

/// Prints the case if it fails.
struct Case(u64, &'static str);

impl Drop for Case {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("case {} of {}", self.0, self.1);
        }
    }
}

fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Xoshiro256PlusPlus) {
    let at = random.random_range(0..=bytes.len());
    match random.random_range(0..7) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(..at)),
        2 => {
            for _ in 0..random.random_range(1..20) {
                if let Some(byte) = bytes.choose(random).map(|_| random.random_range(0..bytes.len())) {
                    bytes[byte] ^= 1 << random.random_range(0..8);
                }
            }
        }
        3 => {
            let from = random.random_range(0..other.len());
            let part = &other[from..random.random_range(from..=other.len())];
            bytes.splice(at..at, part.iter().copied());
        }
        4 => {
            // A number becomes another text.
            let digits: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
            let Some(&from) = digits.choose(random) else { return };
            let length = bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
            let text = TEXTS.choose(random).expect("texts");
            bytes.splice(from..from + length, text.bytes());
        }
        5 => drop(bytes.splice(at..at, TEXTS.choose(random).expect("texts").bytes())),
        _ => {
            let deep = random.random_range(1..3000);
            let text = ["[", "{\"a\":", "(", "\n{"].choose(random).expect("texts").repeat(deep);
            bytes.splice(at..at, text.bytes());
        }
    }
}

fn check(imported: &Imported) {
    assert!(!imported.loads.is_empty() && imported.loads.len() <= MOST && !imported.tool.is_empty());
    for load in &imported.loads {
        let numbers = [Some(load.speed), load.seconds, load.iops].into_iter().flatten();
        let latencies = load.latencies.iter().flat_map(|(share, seconds)| [*share, *seconds]);
        for x in numbers.chain(latencies) {
            assert!(x.is_finite() && x >= 0.0, "{load:?}");
        }
        assert!(
            load.speed > 0.0
                && load.block != Some(0)
                && load.latencies.iter().all(|(share, _)| *share <= 1.0)
        );
    }
    let texts =
        imported.loads.iter().flat_map(|l| [&l.name, &l.on]).chain([&imported.board, &imported.drive]);
    let notes = imported.notes.iter();
    for text in texts.flatten().chain(notes) {
        assert!(!text.contains(crate::units::hides) && text.len() < 4096, "{text:?}");
    }
    let json = serde_json::to_string(imported).expect("JSON");
    let again: Imported = serde_json::from_str(&json).expect("reads back");
    assert_eq!(&again, imported);
}

#[test]
fn ten_thousand_damaged_outputs() {
    let samples = samples();
    let (mut accepted, mut refused) = (0u64, 0u64);
    for n in 0..CASES {
        let (name, sample) = samples[n as usize % samples.len()];
        let case = Case(n, name);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(case.0);
        let mut bytes = sample.to_vec();
        for _ in 0..random.random_range(1..=4) {
            let (_, other) = samples.choose(&mut random).expect("samples");
            damage(&mut bytes, other, &mut random);
        }
        let said = ImportOptions {
            direction: random.random_bool(0.5).then_some(Direction::Write),
            ..ImportOptions::default()
        };
        match read(&bytes, &said) {
            Ok(imported) => {
                accepted += 1;
                check(&imported);
            }
            Err(e) => {
                refused += 1;
                assert!(!e.to_string().is_empty());
            }
        }
    }
    // Both outcomes are frequent.
    assert!(accepted > CASES / 10 && refused > CASES / 10, "{accepted} accepted, {refused} refused");
}

#[test]
fn an_incomplete_document_is_refused_with_its_end() {
    let whole = include_bytes!("../../tests/fixtures/import/fio-2.2.10.json");
    let end = whole.iter().rposition(|b| *b == b'}').expect("an end");
    for cut in whole.iter().position(|b| *b == b':').expect("a colon")..=end {
        let e = read(&whole[..cut], &ImportOptions::default()).expect_err("half a document");
        assert_eq!(e, ContentError::CutOff { line: 1, at: cut as u64 }, "cut at {cut}");
    }
}

#[test]
fn reading_time_is_linear_in_the_size_of_hostile_files() {
    // Parsing to the end from every brace would take hours.
    for line in ["just a line of some log\n", "{ \"fio\": [\n", "\u{1b}[1;31m{\r{\n"] {
        let text = line.repeat(4_000_000 / line.len());
        assert!(
            matches!(read(text.as_bytes(), &ImportOptions::default()), Err(ContentError::Unknown { .. })),
            "{line}"
        );
    }
    let many = "1000000 bytes copied, 1 s, 1.0 MB/s\n".repeat(MOST + 1);
    assert_eq!(read(many.as_bytes(), &ImportOptions::default()), Err(ContentError::TooMany));
    let document = "{\"fio version\": \"fio-3.1\", \"jobs\": [{\"read\": {\"io_bytes\": 9, \"bw_bytes\": 9, \"runtime\": 1000}}]}\n";
    assert_eq!(
        read(document.repeat(MOST + 1).as_bytes(), &ImportOptions::default()),
        Err(ContentError::TooMany)
    );
    let jobs = "{\"groupid\": 1, \"error\": 5},".repeat(MOST * 10);
    let many = format!("{{\"fio version\": \"x\", \"jobs\": [{jobs}{{}}]}}");
    assert_eq!(read(many.as_bytes(), &ImportOptions::default()), Err(ContentError::TooMany));
}
