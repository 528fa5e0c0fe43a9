//! `drivebench results pack` and `verify`: one run as a file that others can check.
//!
//! A pack is a compressed record with a last line, the seal: the findings as they were when it was packed, and a digest of
//! everything before. Anyone can compute the findings again from its windows.

use std::{
    fs,
    io::{self, BufRead, BufReader, Cursor, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    slice,
};

use anyhow::{anyhow, bail};
use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{errors::Usage, import::list_skipped, output::Output, report, stored};
use crate::{
    compare::Peers,
    findings::Findings,
    record::{AtomicFile, Event, Reader, Start, Store, Summary, open_regular},
    report::{Format, render},
    sysroot::Archive,
    tools::{Runner, System, ssh_keygen},
    units::{clean, count, decimal_bytes},
};

/// The version of the seal.
const FORMAT: u32 = 1;
/// The largest pack, unpacked, bytes: packs of others are read in memory.
const LARGEST: u64 = 256 << 20;
/// The longest signature, bytes.
const LONGEST_SIGNATURE: usize = 16 << 10;

/// The last line of a pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Seal {
    drivebench_pack: u32,
    /// The drivebench that computed the findings.
    version: String,
    /// JSON as a text, which is compared to the last digit.
    findings: String,
    /// Of the lines of the record, the version and the findings; hexadecimal.
    sha256: String,
    /// By `ssh-keygen -Y sign -n drivebench`, of the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// A pack as it was read.
struct Pack {
    /// The lines of the record.
    record: Vec<u8>,
    seal: Seal,
}

impl Seal {
    fn digest(record: &[u8], version: &str, findings: &str) -> String {
        let mut digest = Sha256::new();
        for part in [record, version.as_bytes(), findings.as_bytes()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Pack {
    /// The record of a run with its findings.
    fn new(events: &[Event]) -> anyhow::Result<Self> {
        let mut record = Vec::new();
        for event in events {
            serde_json::to_writer(&mut record, event)?;
            record.push(b'\n');
        }
        let (_, findings) = findings(&record)?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let sha256 = Seal::digest(&record, &version, &findings);
        Ok(Self {
            record,
            seal: Seal { drivebench_pack: FORMAT, version, findings, sha256, signature: None },
        })
    }

    fn write(&self, out: impl Write) -> io::Result<()> {
        let mut packed = GzEncoder::new(out, Compression::default());
        packed.write_all(&self.record)?;
        serde_json::to_writer(&mut packed, &self.seal)?;
        packed.write_all(b"\n")?;
        packed.finish()?.flush()
    }

    /// `None` where this is something else than a pack.
    fn read(packed: impl BufRead) -> Option<Self> {
        let mut record = Vec::new();
        let mut unpacked = GzDecoder::new(packed).take(LARGEST);
        unpacked.read_to_end(&mut record).ok()?;
        if unpacked.limit() == 0 || !unpacked.into_inner().into_inner().fill_buf().ok()?.is_empty() {
            return None;
        }
        let text = record.strip_suffix(b"\n").unwrap_or(&record);
        let last = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let seal: Seal = serde_json::from_slice(&text[last..]).ok()?;
        record.truncate(last);
        let is_short =
            |text: &String| text.len() <= LONGEST_SIGNATURE && text.is_ascii() && !text.contains('\0');
        // Not packed once more.
        let fits = record.starts_with(b"{")
            && seal.drivebench_pack == FORMAT
            && seal.signature.as_ref().is_none_or(is_short);
        fits.then_some(Self { record, seal })
    }

    fn digest(&self) -> String {
        Seal::digest(&self.record, &self.seal.version, &self.seal.findings)
    }

    fn is_unchanged(&self) -> bool {
        self.digest() == self.seal.sha256
    }
}

fn reader(record: &[u8]) -> anyhow::Result<Reader> {
    Ok(Reader::of(Cursor::new(record.to_vec()), record.len() as u64, Path::new("the pack"))?)
}

/// The findings of a record, and their JSON.
fn findings(record: &[u8]) -> anyhow::Result<(Findings, String)> {
    let (findings, damage) = stored::of(reader(record)?, None)?;
    if let Some(why) = damage {
        bail!("the record {why}");
    }
    let json = serde_json::to_string(&findings)?;
    Ok((findings, json))
}

/// Opens a pack; `None` where the file is something else.
fn open(path: &Path) -> anyhow::Result<Option<Pack>> {
    let file = open_regular(path).map_err(|e| Usage(format!("{} can't be read: {e}", path.display())))?;
    Ok(Pack::read(BufReader::new(file)))
}

pub(super) fn pack(
    run: &str,
    out: Option<&Path>,
    identities: bool,
    key: Option<&Path>,
    store: &Store,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let default = format!("{run}.drivebench");
    let path = out.unwrap_or(Path::new(&default));
    let mut record = store.open(run)?;
    let mut events: Vec<Event> = record.by_ref().collect();
    if let Some(why) = record.damage() {
        bail!("the record of {run} {why}");
    }
    if !identities {
        events = anonymised(events, store)?;
    }
    let mut pack = Pack::new(&events)?;
    if pack.record.len() as u64 > LARGEST / 2 {
        bail!("the record of {run} is too long for a pack: the limit is {}", decimal_bytes(LARGEST / 2));
    }
    if let Some(key) = key {
        pack.seal.signature = Some(sign(key, &pack.seal.sha256)?);
    }
    let name = path.display();
    let file = AtomicFile::create(path, 0o666)
        .and_then(|file| pack.write(file.file()).and_then(|()| file.keep_new()))
        .map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                Usage(format!("{name} already exists: name another file with --out")).into()
            }
            _ => anyhow!("{name} can't be written: {e}"),
        })?;
    let bytes = decimal_bytes(file.metadata()?.len());
    let signed = if key.is_some() { ", signed" } else { "" };
    output.note(&format!("Wrote {name}: {bytes}{signed}. Others check it with `drivebench results verify`."));
    output.note(if identities {
        "It contains serials, paths and the name of the machine."
    } else {
        "Serials, UUIDs and hardware addresses were replaced, and the name of the machine removed. Models, labels, paths, \
         users, servers and names of less than four characters may still be in it."
    });
    Ok(ExitCode::SUCCESS)
}

/// The events without what identifies the machine and its drives.
fn anonymised(mut events: Vec<Event>, store: &Store) -> anyhow::Result<Vec<Event>> {
    const RECORD: &str = "/drivebench/record.json";
    let mut archive = Archive::default();
    archive.add_file(RECORD, serde_json::to_vec(&events)?);
    let archive = archive.anonymise(&store.pseudonym_key()?);
    events = serde_json::from_slice(archive.file(RECORD).unwrap_or_default()).map_err(|e| {
        anyhow!("a serial is like a word of the record, so it can't be replaced ({e}): --identities keeps it")
    })?;
    // A short name is not replaced.
    for event in &mut events {
        if let Event::Start(start) = event {
            start.host.name = None;
        }
    }
    Ok(events)
}

fn sign(key: &Path, digest: &str) -> anyhow::Result<String> {
    let said = System::default().ask(&ssh_keygen::sign(key, digest))?;
    match said.code {
        Some(0) => Ok(said.stdout.trim_end().to_owned()),
        _ => Err(anyhow!(
            "ssh-keygen did not sign with {}: {} (a key with a passphrase must be in ssh-agent)",
            key.display(),
            said.complaint()
        )),
    }
}

pub(super) fn verify(path: &Path, signers: Option<&Path>, output: &Output) -> anyhow::Result<ExitCode> {
    let name = path.display();
    let Some(pack) = open(path)? else {
        return Err(Usage(format!("{name} is not a pack: `drivebench results pack` makes them")).into());
    };
    let unchanged = pack.is_unchanged();
    let again = findings(&pack.record).map(|(_, json)| json);
    let alike = again.as_ref().is_ok_and(|again| *again == pack.seal.findings);
    let (signature, is_signed) = match (&pack.seal.signature, signers) {
        (None, _) => ("none".to_owned(), false),
        (Some(_), None) => ("not checked: name the file of allowed signers with --signers".to_owned(), false),
        (Some(signature), Some(signers)) => {
            open_regular(signers).map_err(|e| Usage(format!("{} can't be read: {e}", signers.display())))?;
            let said = System::default().ask(&ssh_keygen::verify(signers, signature, &pack.digest()))?;
            match said.code {
                Some(0) => (clean(said.stdout.trim()).into_owned(), true),
                _ => (format!("NOT by any of the signers: {}", said.complaint()), false),
            }
        }
    };
    let content = match (unchanged, is_signed) {
        (false, _) => "CHANGED since it was packed",
        (true, true) => "unchanged since it was signed",
        (true, false) => "as its digest says, which anyone can compute again",
    };
    let found = match &again {
        Ok(_) if alike => "the same, computed again from its windows".to_owned(),
        Ok(_) => format!("DIFFERENT when computed again{}", by_another(&pack.seal)),
        Err(e) => format!("NOT computable: {}", clean(&e.to_string())),
    };
    output.result(&format!("content    {content}\nfindings   {found}\nsignature  {signature}\n"))?;
    output.note("Nothing shows that the run happened as recorded.");
    let fine = unchanged && alike && (signers.is_none() || is_signed);
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The version of another drivebench, which may compute other findings.
fn by_another(seal: &Seal) -> String {
    let is_other = seal.version != env!("CARGO_PKG_VERSION");
    if is_other { format!(" (packed by drivebench {})", clean(&seal.version)) } else { String::new() }
}

/// The findings of a pack, if `verify` finds nothing wrong; signatures are not checked.
fn verified(path: &Path) -> anyhow::Result<Findings> {
    let Some(pack) = open(path)? else { bail!("it is not a pack, or damaged") };
    if !pack.is_unchanged() {
        bail!("it was changed since it was packed");
    }
    let (findings, json) = findings(&pack.record)?;
    if json != pack.seal.findings {
        bail!("its findings are different when computed again{}", by_another(&pack.seal));
    }
    Ok(findings)
}

/// Where a target of a run stands among the packs of a directory.
pub(super) fn compare(
    side: &str,
    dir: &Path,
    (format, full): (Format, bool),
    store: &Store,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let (run, target) = stored::side(store, side)?;
    let mut packed = Vec::new();
    if store.has_pseudonym_key() {
        match report::anonymised(slice::from_ref(&run), store, slice::from_ref(&run.run)) {
            Ok(anonymised) => packed = anonymised,
            Err(e) => output.note(&format!("Packs of this drive may count as another: {e}.")),
        }
    }
    let mut peers = Peers::of(&run, target, packed.first().unwrap_or(&run))?;
    let entries = fs::read_dir(dir).map_err(|e| Usage(format!("{} can't be read: {e}", dir.display())))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| !path.is_dir());
    paths.sort();
    let (mut skipped, mut others) = (Vec::new(), 0);
    for path in &paths {
        match verified(path) {
            Ok(findings) => others += u64::from(!peers.add(&findings)),
            Err(e) => skipped.push(format!("{}: {e}.", path.display())),
        }
    }
    list_skipped(&skipped, output);
    if skipped.len() == paths.len() {
        let why = format!("{} has no valid pack: `drivebench results pack` makes them", dir.display());
        return Err(Usage(why).into());
    }
    if others > 0 {
        let packs = count(others, "pack");
        output.note(&format!("Not counted: {packs} of this drive, or of other models, suites or loads."));
    }
    output.result(&render(&peers.findings(), format, output.style, full))?;
    Ok(ExitCode::SUCCESS)
}

/// The events of a pack; `None` where the file is something else.
pub(super) fn events(path: &Path) -> anyhow::Result<Option<Vec<Event>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let Some(pack) = open(path)? else { return Ok(None) };
    let name = path.display();
    if !pack.is_unchanged() {
        return Err(Usage(format!("{name} was changed since it was packed")).into());
    }
    let mut record = reader(&pack.record)?;
    let events: Vec<Event> = record.by_ref().collect();
    match record.damage() {
        Some(why) => Err(Usage(format!("{name}: the record {why}")).into()),
        None => Ok(Some(events)),
    }
}

/// Refuses the events of a pack whose run is in the store.
pub(super) fn is_new(events: &[Event], store: &Store) -> anyhow::Result<()> {
    let [Event::Start(start), ..] = events else { bail!("the record has no start") };
    let is_same = |run: &Summary| {
        (&run.at, &run.experiment, &run.targets) == (&start.at, &start.experiment, &start.targets)
    };
    match store.list()?.0.iter().find(|run| is_same(run)) {
        Some(same) => Err(Usage(format!("this run is in the store already: {}", same.run)).into()),
        None => Ok(()),
    }
}

/// Keeps the events of a pack as a run of the store, and returns its name.
pub(super) fn keep(events: &[Event], store: &Store, output: &Output) -> anyhow::Result<String> {
    let [Event::Start(start), rest @ ..] = events else { bail!("the record has no start") };
    let run = store.keep(|run| Start { run, ..(**start).clone() }, rest)?;
    stored::pack(store, &run, output);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Vec<Event> {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records/rbase1.jsonl.gz"));
        Reader::open(path).expect("a fixture").collect()
    }

    fn written(pack: &Pack) -> Vec<u8> {
        let mut out = Vec::new();
        pack.write(&mut out).expect("memory");
        out
    }

    #[test]
    fn a_pack_gives_the_same_findings_again() {
        let pack = Pack::new(&events()).expect("a whole record");
        let back = Pack::read(&written(&pack)[..]).expect("a pack");
        assert!(back.is_unchanged() && back.seal == pack.seal);
        assert_eq!(findings(&back.record).expect("findings").1, pack.seal.findings);
        assert_eq!(reader(&back.record).expect("a record").collect::<Vec<_>>(), events());
        let longer = [written(&pack), vec![0]].concat();
        assert!(Pack::read(&longer[..]).is_none(), "nothing may follow");
    }

    #[test]
    fn each_change_is_found_even_with_a_new_digest() {
        let pack = Pack::new(&events()).expect("a whole record");
        let record = String::from_utf8(pack.record.clone()).expect("JSON");
        // The same with another text after these, and a new digest.
        let after = |text: &str, places: [&str; 2], other: &str| {
            let at =
                places.iter().fold(0, |at, place| at + text[at..].find(place).expect(place) + place.len());
            [&text[..at], other, &text[at + other.len()..]].concat()
        };
        let records =
            [(["\"event\":\"window\"", "\"bytes\":"], "7"), (["\"event\":\"plan\"", "\"given\":\""], "x")];
        let records =
            records.map(|(places, other)| (after(&record, places, other), pack.seal.findings.clone()));
        let estimates = "\"estimates\":";
        let findings = [([estimates, "\"unit\":\""], "s"), ([estimates, "\"name\":\""], "x")];
        let findings =
            findings.map(|(places, other)| (record.clone(), after(&pack.seal.findings, places, other)));
        for (record, findings) in records.into_iter().chain(findings) {
            let mut changed =
                Pack { record: record.into_bytes(), seal: Seal { findings, ..pack.seal.clone() } };
            assert!(!changed.is_unchanged());
            changed.seal.sha256 = changed.digest();
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("changed.drivebench");
            std::fs::write(&path, written(&changed)).expect("writes");
            assert!(open(&path).expect("reads").expect("a pack").is_unchanged());
            assert!(verified(&path).is_err());
        }
    }

    #[test]
    fn mutated_packs_are_refused_or_are_what_they_say() {
        use rand::{Rng, SeedableRng};
        let pack = Pack::new(&events()).expect("a whole record");
        let packed = written(&pack);
        let mut plain = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut plain).expect("unpacks");
        let line = |begin: &str| {
            let at = plain.windows(begin.len()).position(|part| part == begin.as_bytes()).expect(begin);
            at..at + plain[at..].iter().position(|byte| *byte == b'\n').expect("an end")
        };
        let lines = ["{\"event\":\"window\"", "{\"event\":\"plan\"", "{\"drivebench_pack\""].map(line);
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(48);
        let (mut refused, mut found) = (0, 0);
        for n in 0..1000 {
            let line = lines.get(n % 4).cloned();
            let mut bytes = if line.is_some() { plain.clone() } else { packed.clone() };
            let at = random.random_range(line.clone().unwrap_or(0..bytes.len()));
            bytes[at] ^= 1 << random.random_range(0..8);
            if line.is_some() {
                let mut packed = GzEncoder::new(Vec::new(), Compression::none());
                packed.write_all(&bytes).expect("memory");
                bytes = packed.finish().expect("memory");
            }
            match Pack::read(&bytes[..]) {
                None => refused += 1,
                Some(read) if !read.is_unchanged() => found += 1,
                // A field of gzip's header, such as its time.
                Some(read) => {
                    assert!(
                        line.is_none() && read.record == pack.record && read.seal == pack.seal,
                        "{n}: {at}"
                    );
                }
            }
        }
        assert!(refused > 300 && found > 300 && refused + found > 980, "{refused} and {found}");
    }

    #[test]
    fn names_of_the_machine_are_replaced_and_numbers_are_not() {
        let mut events = events();
        let Some(Event::Start(start)) = events.first_mut() else { panic!("a start") };
        start.host.name = Some("attic-server".to_owned());
        start.command.push("ATTIC-server".to_owned());
        let serial = "4096000";
        start.inventory.drives.iter_mut().for_each(|drive| drive.serial = Some(serial.to_owned()));
        let text = serde_json::to_string(&events).expect("JSON");
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let [one, other] = dirs.each_ref().map(|dir| Store::at(dir.path().to_owned()));
        let replaced = anonymised(events.clone(), &one).expect("events");
        assert_eq!(
            replaced,
            anonymised(events.clone(), &one).expect("events"),
            "a store's names stay the same"
        );
        assert_ne!(replaced, anonymised(events, &other).expect("events"));
        let hidden = serde_json::to_string(&replaced).expect("JSON");
        assert!(text.contains("attic-server") && !hidden.to_lowercase().contains("attic-server"));
        assert!(
            text.contains("\"4096000\"")
                && !hidden.contains("\"4096000\"")
                && !hidden.contains("\"host_name\":\"")
        );
        let windows = |events: &[Event]| {
            events.iter().filter(|event| matches!(event, Event::Window { .. })).cloned().collect::<Vec<_>>()
        };
        assert_eq!(windows(&replaced), windows(&self::events()));
    }

    #[test]
    fn a_run_starts_only_once() {
        let mut events = events();
        events.insert(2, events[0].clone());
        assert!(Pack::new(&events).is_err());
    }
}
