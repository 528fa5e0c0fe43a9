//! `drivebench results pack` and `verify`: one run as a file that others can check.
//!
//! A pack is a compressed record with a last line, the seal: the findings as they were when it was packed, and a digest of
//! everything before. Whoever has the file can compute the findings again from its windows.

use std::{
    fs,
    io::{self, Cursor, Read, Write},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use anyhow::{anyhow, bail};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{capture, errors::Usage, output::Output, stored};
use crate::{
    record::{AtomicFile, Event, Reader, Start, Store, open_regular},
    sysroot::Archive,
    tools::{Runner, System, ssh_keygen},
    units::{clean, decimal_bytes},
};

/// The version of the seal.
const FORMAT: u32 = 1;
/// The largest pack that is read, before and after it is unpacked, bytes.
const LARGEST: u64 = 64 << 20;
const LARGEST_UNPACKED: u64 = 1 << 30;
/// How long a person may take to type a passphrase.
const PATIENCE: Duration = Duration::from_secs(120);

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
        for part in [record, version.as_bytes(), b"\n", findings.as_bytes()] {
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
        let findings = findings(&record)?;
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

    /// `None` where it is something else than a pack.
    fn read(file: impl Read) -> io::Result<Option<Self>> {
        let mut record = Vec::new();
        let unpacked = GzDecoder::new(file.take(LARGEST)).take(LARGEST_UNPACKED).read_to_end(&mut record);
        match unpacked {
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                return Ok(None);
            }
            unpacked => unpacked?,
        };
        let text = record.strip_suffix(b"\n").unwrap_or(&record);
        let last = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let seal: Option<Seal> = serde_json::from_slice(&text[last..]).ok();
        record.truncate(last);
        Ok(seal.filter(|seal| seal.drivebench_pack == FORMAT).map(|seal| Self { record, seal }))
    }

    fn is_unchanged(&self) -> bool {
        Seal::digest(&self.record, &self.seal.version, &self.seal.findings) == self.seal.sha256
    }

    fn events(&self) -> anyhow::Result<Reader> {
        reader(&self.record)
    }
}

fn reader(record: &[u8]) -> anyhow::Result<Reader> {
    Ok(Reader::of(Cursor::new(record.to_vec()), record.len() as u64, Path::new("the pack"))?)
}

/// The findings of a record, as JSON.
fn findings(record: &[u8]) -> anyhow::Result<String> {
    let (findings, damage) = stored::of(reader(record)?, None)?;
    match damage {
        Some(why) => bail!("the record {why}"),
        None => Ok(serde_json::to_string(&findings)?),
    }
}

/// Opens a pack; `None` where the file is something else.
fn open(path: &Path) -> anyhow::Result<Option<Pack>> {
    let read = open_regular(path).and_then(Pack::read);
    read.map_err(|e| Usage(format!("{} can't be read: {e}", path.display())).into())
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
        events = anonymised(events)?;
    }
    let mut pack = Pack::new(&events)?;
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
        "Serials, UUIDs and the name of the machine were replaced; models, labels and paths were not."
    });
    Ok(ExitCode::SUCCESS)
}

/// The events without what identifies the machine and its drives.
fn anonymised(mut events: Vec<Event>) -> anyhow::Result<Vec<Event>> {
    const RECORD: &str = "/drivebench/record.json";
    for event in &mut events {
        if let Event::Start(start) = event {
            // Short names are not found in text.
            start.host.name = None;
        }
    }
    let mut archive = Archive::default();
    archive.add_file(RECORD, serde_json::to_vec(&events)?);
    Ok(serde_json::from_slice(archive.anonymise(capture::seed()?).file(RECORD).unwrap_or_default())?)
}

fn sign(key: &Path, digest: &str) -> anyhow::Result<String> {
    let mut talk = System::default().talk(&ssh_keygen::sign(key))?;
    let said = talk.say(&format!("{digest}\n"));
    talk.says_no_more();
    let lines: Vec<String> = std::iter::from_fn(|| talk.next_line(&|| false)).collect();
    let output = talk.end(PATIENCE);
    match (output.code, said) {
        (Some(0), Ok(())) => Ok(lines.join("\n")),
        _ => Err(anyhow!("ssh-keygen did not sign with {}: {}", key.display(), output.complaint())),
    }
}

/// What became of a signature.
enum Signed {
    Not,
    /// There is one, and no file of signers to check it by.
    Unchecked,
    By(String),
    Wrong(String),
}

pub(super) fn verify(path: &Path, signers: Option<&Path>, output: &Output) -> anyhow::Result<ExitCode> {
    let name = path.display();
    let Some(pack) = open(path)? else {
        return Err(Usage(format!("{name} is not a pack: `drivebench results pack` makes them")).into());
    };
    let unchanged = pack.is_unchanged();
    let again = findings(&pack.record);
    let alike = again.as_ref().is_ok_and(|again| *again == pack.seal.findings);
    let signed = match (&pack.seal.signature, signers) {
        (None, _) => Signed::Not,
        (Some(_), None) => Signed::Unchecked,
        (Some(signature), Some(signers)) => {
            let said = System::default().ask(&ssh_keygen::verify(signers, signature, &pack.seal.sha256))?;
            match said.code {
                Some(0) => Signed::By(clean(said.stdout.trim()).into_owned()),
                _ => Signed::Wrong(said.complaint()),
            }
        }
    };
    let content = if unchanged { "unchanged since it was packed" } else { "CHANGED since it was packed" };
    let found = match &again {
        Ok(_) if alike => "the same, computed again from its windows".to_owned(),
        Ok(again) => format!("DIFFERENT when computed again{}", differences(again, &pack.seal)),
        Err(e) => format!("NOT computable: {e}"),
    };
    let signature = match &signed {
        Signed::Not => "none".to_owned(),
        Signed::Unchecked => "not checked: name the file of allowed signers with --signers".to_owned(),
        Signed::By(whom) => whom.clone(),
        Signed::Wrong(why) => format!("WRONG: {why}"),
    };
    output.result(&format!("content    {content}\nfindings   {found}\nsignature  {signature}\n"))?;
    output.note(
        "A signature shows who packed it and that nothing changed since. Nothing shows that the run happened as recorded.",
    );
    let fine = unchanged
        && alike
        && !matches!(signed, Signed::Wrong(_))
        && (signers.is_none() || matches!(signed, Signed::By(_)));
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where two findings differ, and whether another drivebench computed them.
fn differences(again: &str, seal: &Seal) -> String {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (now, then) = (parse(again), parse(&seal.findings));
    let keys = |value: &Value| {
        value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut names: Vec<String> = [keys(&now), keys(&then)].concat();
    names.retain(|name| now.get(name) != then.get(name));
    names.sort();
    names.dedup();
    let other = seal.version != env!("CARGO_PKG_VERSION");
    let by = if other { format!(" (packed by drivebench {})", clean(&seal.version)) } else { String::new() };
    format!(": {}{by}", clean(&names.join(", ")))
}

/// Takes a pack into the store: the name of its run there. `None` where the file is something else.
pub(super) fn import(path: &Path, store: &Store) -> anyhow::Result<Option<String>> {
    // Other files than compressed ones are read elsewhere, if at all.
    let is_packed = fs::File::open(path).and_then(|mut file| {
        let mut magic = [0; 2];
        file.read_exact(&mut magic).map(|()| magic == [0x1f, 0x8b])
    });
    if !path.is_file() || !is_packed.unwrap_or(false) {
        return Ok(None);
    }
    let Some(pack) = open(path)? else { return Ok(None) };
    if !pack.is_unchanged() {
        return Err(Usage(format!("{} was changed since it was packed", path.display())).into());
    }
    let mut record = pack.events()?;
    let mut events: Vec<Event> = record.by_ref().collect();
    if let Some(why) = record.damage() {
        return Err(Usage(format!("{}: the record {why}", path.display())).into());
    }
    if events.is_empty() {
        return Ok(None);
    }
    let Event::Start(start) = events.remove(0) else { return Ok(None) };
    Ok(Some(store.keep(|run| Start { run, ..*start }, &events)?))
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
        let back = Pack::read(&written(&pack)[..]).expect("memory").expect("a pack");
        assert!(back.is_unchanged() && back.seal == pack.seal);
        assert_eq!(findings(&back.record).expect("findings"), pack.seal.findings);
        assert_eq!(back.events().expect("a record").collect::<Vec<_>>(), events());
    }

    #[test]
    fn each_change_is_found_even_with_a_new_digest() {
        let pack = Pack::new(&events()).expect("a whole record");
        let text = String::from_utf8(pack.record.clone()).expect("JSON");
        let window = text.find("\"event\":\"window\"").expect("a window");
        let at = window + text[window..].find("\"bytes\":").expect("its bytes") + "\"bytes\":".len();
        let mut changed = Pack { record: pack.record.clone(), seal: pack.seal.clone() };
        changed.record[at] = if changed.record[at] == b'1' { b'2' } else { b'1' };
        assert!(!changed.is_unchanged());
        changed.seal.sha256 = Seal::digest(&changed.record, &changed.seal.version, &changed.seal.findings);
        assert!(changed.is_unchanged());
        assert_ne!(findings(&changed.record).ok().as_deref(), Some(pack.seal.findings.as_str()));
    }

    #[test]
    fn mutated_packs_are_refused_or_are_what_they_say() {
        use rand::{Rng, SeedableRng};
        let pack = Pack::new(&events()).expect("a whole record");
        let bytes = written(&pack);
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(48);
        for _ in 0..200 {
            let mut bytes = bytes.clone();
            let at = random.random_range(0..bytes.len());
            bytes[at] ^= 1 << random.random_range(0..8);
            if let Ok(Some(read)) = Pack::read(&bytes[..]) {
                assert!(!read.is_unchanged() || read.seal.sha256 == pack.seal.sha256);
            }
        }
    }

    #[test]
    fn names_of_the_machine_are_replaced() {
        let text = serde_json::to_string(&anonymised(events()).expect("events")).expect("JSON");
        let serial = "\"serial\":\"";
        let own: Vec<String> =
            events().iter().map(|event| serde_json::to_string(event).expect("JSON")).collect();
        let at = own.iter().find_map(|line| Some(line.split_once(serial)?.1.split('"').next()?.to_owned()));
        assert!(at.filter(|serial| serial.len() >= 4).is_none_or(|serial| !text.contains(&serial)));
        assert!(!text.contains("host_name"));
    }
}
