//! Damaged inputs for every parser of foreign bytes, the same each time: the captured samples, with a few changes each.
//!
//! A target panics if its parser does, or if what was parsed is not valid. `tests/it/fuzz.rs` tries some inputs of each, `bench/fuzz` a
//! million. Inputs that once failed are kept in `tests/fixtures/fuzz` and are samples from then on.

#[path = "sound.rs"]
mod sound;

use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Read as _},
    path::{Path, PathBuf},
};

use drivebench::{
    conditions::Snapshot,
    experiments,
    findings::Findings,
    import::{self, MAX_FILE},
    inventory::Inventory,
    plan::Suite,
    record::{Event, ImportOptions, Imported, Reader},
    report::{Format, Style, render},
    sysroot::{Archive, Sysroot},
    tools::{Output, smartctl, systemctl},
    units::Direction,
};
use flate2::read::MultiGzDecoder;
use rand::{
    Rng, SeedableRng,
    seq::{IndexedMutRandom, IndexedRandom},
};
use rand_xoshiro::Xoshiro256PlusPlus;

type Random = Xoshiro256PlusPlus;
/// Changes an input in one way; with another sample to take parts of.
type Damage = fn(&mut Vec<u8>, &[u8], &mut Random);
/// Reads an input: whether it was accepted.
type Read = fn(&[u8]) -> bool;

pub struct Target {
    pub name: &'static str,
    samples: Vec<Vec<u8>>,
    damage: Damage,
    read: Read,
}

/// Texts that number, string and document parsers might fail on.
const TEXTS: [&str; 34] = [
    "-1",
    "0",
    "NaN",
    "-nan",
    "inf",
    "1e308",
    "1e999",
    "99999999999999999999",
    "18446744073709551615",
    "9223372036854775808",
    "4294967295",
    "0.0000000000000000001",
    "1,234,567.8",
    "0-4294967295,7",
    "null",
    "true",
    "\"\"",
    "{}",
    "[]",
    "{",
    "}",
    "[[[[[[[[",
    "\r",
    "\n",
    "\u{1b}[",
    "\u{1b}",
    "\\u001b[2J",
    "\\ud800",
    "\"fio version\"",
    "../../../../proc/self/mem",
    "E:=\nS:\nE:ID_FS_TYPE=ext4",
    "Ω，、（",
    ";",
    "%=",
];

impl Target {
    /// Input number `n`.
    pub fn input(&self, n: u64) -> Vec<u8> {
        let mut random = Random::seed_from_u64(n);
        let mut bytes = self.samples[n as usize % self.samples.len()].clone();
        for _ in 0..random.random_range(1..=4) {
            let other = self.samples.choose(&mut random).expect("samples");
            (self.damage)(&mut bytes, other, &mut random);
        }
        bytes
    }

    /// The samples as they are.
    pub fn samples(&self) -> &[Vec<u8>] {
        &self.samples
    }

    /// Reads an input: whether it was accepted.
    pub fn read(&self, bytes: &[u8]) -> bool {
        (self.read)(bytes)
    }
}

pub fn targets() -> Vec<Target> {
    let bytes: Damage = damage;
    let targets = [
        ("record", records(), bytes, record as Read),
        ("import", files("tests/fixtures/import", &["txt", "json"]), bytes, imported),
        ("archive", archives(), damage_archive, archive),
        ("sysroot", trees(), damage_tree, sysroot),
        ("smartctl", files("tests/fixtures/smartctl", &["json"]), bytes, health),
        ("suite", files("suites", &["toml"]), bytes, suite),
        ("systemctl", files("tests/fixtures/systemctl", &["txt"]), bytes, boot_times),
    ];
    let target = |(name, mut samples, damage, read): (&'static str, Vec<Vec<u8>>, Damage, Read)| {
        samples.extend(files("tests/fixtures/fuzz", &[name]));
        assert!(!samples.is_empty(), "{name} has samples");
        Target { name, samples, damage, read }
    };
    targets.into_iter().map(target).collect()
}

/// The files of a directory whose names end so, in the order of their names.
fn files(directory: &str, ends: &[&str]) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| ends.iter().any(|end| path.extension().is_some_and(|own| own == *end)));
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
    plain
}

/// Records of each experiment, with a few lines of each kind.
fn records() -> Vec<Vec<u8>> {
    let few = |bytes: Vec<u8>| {
        let text = String::from_utf8(unpacked(&bytes)).expect("UTF-8");
        let mut seen = BTreeMap::<String, usize>::new();
        let kept = text.lines().filter(|line| {
            let kind = line.split(',').next().unwrap_or_default().to_owned();
            let count = seen.entry(kind).or_default();
            *count += 1;
            *count <= 4
        });
        kept.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
    };
    files("tests/fixtures/records", &["gz"]).into_iter().map(few).collect()
}

/// Small trees as tar archives, packed and not.
fn archives() -> Vec<Vec<u8>> {
    let packed = files("tests/trees", &["gz"]).into_iter().min_by_key(Vec::len).expect("trees");
    let plain = unpacked(&packed);
    vec![packed, plain]
}

/// The smallest tree, as a plain tar archive: each input of it is read as a whole machine.
fn trees() -> Vec<Vec<u8>> {
    archives().split_off(1)
}

/// Damages bytes of a packed or plain archive, or files in it.
fn damage_archive(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let way: Damage = if random.random_bool(0.5) { damage } else { damage_tree };
    way(bytes, other, random);
}

/// Damages some files of a tar archive, which stays one.
fn damage_tree(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let entries = |bytes: &[u8]| -> std::io::Result<Vec<(tar::Header, PathBuf, Vec<u8>)>> {
        let mut archive = tar::Archive::new(bytes);
        let entries = archive.entries()?.map(|entry| {
            let mut entry = entry?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            Ok((entry.header().clone(), entry.path()?.into_owned(), content))
        });
        entries.collect()
    };
    let Ok(mut all) = entries(bytes) else { return damage(bytes, other, random) };
    for _ in 0..random.random_range(1..=4) {
        let Some((header, path, content)) = all.choose_mut(random) else { return };
        match random.random_range(0..8) {
            0 => header.set_entry_type(tar::EntryType::Directory),
            1 => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_link_name(LINKS.choose(random).expect("links")).expect("a short link");
                content.clear();
            }
            2 => {
                *path = path
                    .with_file_name(["", "0", "sdz", "nvme0n1p1", "..", "é"].choose(random).expect("names"))
            }
            3 => *content = TEXTS.choose(random).expect("texts").as_bytes().to_vec(),
            _ => damage(content, &other[..other.len().min(4096)], random),
        }
    }
    let mut tar = tar::Builder::new(Vec::new());
    for (mut header, path, content) in all {
        header.set_size(content.len() as u64);
        // A name that tar refuses is left out.
        let _ = tar.append_data(&mut header, path, &content[..]);
    }
    *bytes = tar.into_inner().expect("memory");
}

const LINKS: [&str; 8] =
    ["..", "/", ".", "loop", "/sys/block", "/sys/devices", "../../../../proc/self/mountinfo", "missing"];

fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.random_range(0..=bytes.len());
    match random.random_range(0..9) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(..at)),
        2 => {
            for _ in 0..random.random_range(1..20) {
                if !bytes.is_empty() {
                    let byte = random.random_range(0..bytes.len());
                    bytes[byte] ^= 1 << random.random_range(0..8);
                }
            }
        }
        3 => {
            let from = random.random_range(0..=other.len());
            let part = &other[from..random.random_range(from..=other.len().min(from + 2000))];
            bytes.splice(at..at, part.iter().copied());
        }
        4 | 5 => {
            // A number becomes another text.
            let Some(from) = bytes[at..].iter().position(u8::is_ascii_digit).map(|n| at + n) else { return };
            let length = bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
            let text = TEXTS.choose(random).expect("texts");
            bytes.splice(from..from + length, text.bytes());
        }
        6 => drop(bytes.splice(at..at, TEXTS.choose(random).expect("texts").bytes())),
        7 => {
            // A line goes, or comes twice.
            let end = |from: usize| {
                bytes[from..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| from + n + 1)
            };
            let (from, to) = (end(at), end(end(at)));
            let line = bytes[from..to].to_vec();
            let twice = random.random_bool(0.5);
            bytes.splice(from..to, if twice { line.repeat(2) } else { Vec::new() });
        }
        _ => {
            let deep = random.random_range(1..300);
            let text = ["[", "{\"a\":", "(", "\n{"].choose(random).expect("texts").repeat(deep);
            bytes.splice(at..at, text.bytes());
        }
    }
}

/// Reads a record to its findings, and prints them.
fn record(bytes: &[u8]) -> bool {
    let stored = bytes.len() as u64;
    let Ok(mut record) = Reader::of(Cursor::new(bytes.to_vec()), stored, Path::new("record")) else {
        return false;
    };
    let Some(Event::Start(start)) = record.next() else { return false };
    let name = start.experiment.clone();
    let mut events = std::iter::once(Event::Start(start)).chain(record.by_ref());
    let findings = match experiments::find(&name) {
        Some(experiment) => experiment.findings(&mut events),
        None if name == import::EXPERIMENT => import::findings(&mut events),
        None => return false,
    };
    printed(&findings);
    record.damage().is_none()
}

fn printed(findings: &Findings) {
    for format in [Format::Text, Format::Json] {
        assert!(!render(findings, format, Style::PLAIN, true).is_empty());
    }
}

fn imported(bytes: &[u8]) -> bool {
    assert!(bytes.len() as u64 <= MAX_FILE);
    let direction = (bytes.len() % 2 == 0).then_some(Direction::Write);
    let said = ImportOptions { direction, ..ImportOptions::default() };
    let imported = match import::read(bytes, &said) {
        Ok(imported) => imported,
        Err(e) => {
            assert!(!e.to_string().is_empty());
            return false;
        }
    };
    assert!(!imported.loads.is_empty() && !imported.tool.is_empty());
    for load in &imported.loads {
        let numbers = [Some(load.speed), load.seconds, load.iops].into_iter().flatten();
        let latencies = load.latencies.iter().flat_map(|(share, seconds)| [*share, *seconds]);
        assert!(numbers.chain(latencies).all(|x| x.is_finite() && x >= 0.0), "{load:?}");
        assert!(load.speed > 0.0 && load.block != Some(0), "{load:?}");
        assert!(load.latencies.iter().all(|(share, _)| *share <= 1.0), "{load:?}");
    }
    let names =
        imported.loads.iter().flat_map(|l| [&l.name, &l.on]).chain([&imported.board, &imported.drive]);
    for text in names.flatten().chain(&imported.notes) {
        assert!(!text.chars().any(char::is_control) && text.len() < 4096, "{text:?}");
    }
    let json = serde_json::to_string(&imported).expect("JSON");
    let again: Imported = serde_json::from_str(&json).expect("reads back");
    assert_eq!(again, imported);
    printed(&import::findings(&mut std::iter::once(Event::Imported(Box::new(imported)))));
    true
}

/// The times of a boot, or of its units.
fn boot_times(bytes: &[u8]) -> bool {
    let stdout = String::from_utf8_lossy(bytes).into_owned();
    let output = Output { code: Some(0), stdout, ..Output::default() };
    let (manager, units) = (systemctl::parse_manager(&output), systemctl::parse_units(&output));
    for unit in &units {
        let took = unit.done().zip(unit.begun).map(|(done, begun)| done - begun);
        assert!(took.is_none_or(|took| took.is_finite() && took >= 0.0), "{unit:?}");
    }
    manager.is_some() || !units.is_empty()
}

fn archive(bytes: &[u8]) -> bool {
    let Ok(archive) = Archive::read(bytes) else { return false };
    let mut packed = Vec::new();
    // What was read can be written, unless its names are no names of tar.
    if archive.write(&mut packed).is_ok() {
        Archive::read(&packed[..]).expect("reads back");
    }
    true
}

/// Reads the machine from an archive whose files are damaged.
fn sysroot(bytes: &[u8]) -> bool {
    Archive::read(bytes).is_ok_and(|archive| !sound::inventory(&Sysroot::archive(archive)).is_empty())
}

fn health(bytes: &[u8]) -> bool {
    let stdout = String::from_utf8_lossy(bytes).into_owned();
    let answer = smartctl::parse("auto", &Output { code: Some(0), stdout, stderr: String::new() });
    let smartctl::Answer::Health(health) = answer else { return false };
    let shares = [health.wear, health.spare, health.temperature].into_iter().flatten();
    assert!(shares.into_iter().all(f64::is_finite), "{health:?}");
    serde_json::to_string(&health).expect("JSON");
    true
}

fn suite(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match Suite::parse("fuzz.toml", &text) {
        Ok(suite) => {
            assert!(!suite.loads.is_empty() && suite.loads.iter().all(|l| l.load.block > 0));
            true
        }
        Err(e) => {
            assert!(!e.to_string().is_empty());
            false
        }
    }
}
