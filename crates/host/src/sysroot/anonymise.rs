//! Replaces serials, UUIDs and other identifying names in an archive. Each name is replaced by another of the same length,
//! everywhere by the same one, so that the tree parses as before.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Archive, archive::Node, is_placeholder, is_serial};

/// The length of a UUID.
const UUID: usize = 36;
/// Shorter names would match unrelated text.
const SHORTEST: usize = 4;
/// Files that contain only a name.
const NAMES: [&str; 9] =
    ["serial", "wwid", "address", "serial-number", "uuid", "unique_id", "nguid", "eui", "hostname"];
/// Keys of JSON, and parts of udev's keys, whose values are names.
const KEYS: [&str; 11] = [
    "serial",
    "serial_number",
    "uuid",
    "partuuid",
    "ptuuid",
    "wwid",
    "wwn",
    "logical_unit_id",
    "eui64",
    "host_name",
    "machine_id",
];

impl Archive {
    /// The archive without serials, UUIDs, world-wide names, hardware addresses and the host name. Under one `key` a
    /// name always gets the same pseudonym; with the key, serials can be guessed. Labels, models and mount points stay.
    pub fn anonymise(&self, key: &[u8; 32]) -> Self {
        let mut names = BTreeSet::new();
        for (path, node) in self.nodes() {
            // A btrfs directory is named by its UUID.
            let uuid = path.strip_prefix("/sys/fs/btrfs/").and_then(|rest| rest.split('/').next());
            uuid.filter(|uuid| *uuid != "features").into_iter().for_each(|uuid| add(uuid, &mut names));
            if let Node::File(bytes) = node {
                collect(path, bytes, &mut names);
            }
        }
        let boards =
            ["compatible", "model"].map(|file| match self.node(&format!("/proc/device-tree/{file}")) {
                Some(Node::File(bytes)) => String::from_utf8_lossy(bytes).to_lowercase(),
                _ => String::new(),
            });
        // Host names that repeat the board's model identify nothing, and replacing them would hide the model.
        names.retain(|name| {
            is_serial(name) && !is_placeholder(name) && !boards.iter().any(|board| board.contains(name))
        });
        let mut pairs: Vec<_> = names.iter().flat_map(|name| spellings(name, key)).collect();
        // Longer names first: they may contain shorter ones.
        pairs.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        pairs.dedup_by(|a, b| a.0 == b.0);
        let text = |text: &str| String::from_utf8_lossy(&replaced(text.as_bytes(), &pairs)).into_owned();
        let mut archive = Self::default();
        for (path, node) in self.nodes() {
            let node = match node {
                Node::File(bytes) => Node::File(match own_json(path, bytes) {
                    Some(mut json) => {
                        strings(&mut json, &text);
                        serde_json::to_vec(&json).unwrap_or_default()
                    }
                    None => replaced(bytes, &pairs),
                }),
                Node::Link(target) => Node::Link(text(target)),
                Node::Directory => Node::Directory,
            };
            archive.insert(text(path), node);
        }
        archive
    }
}

fn add(name: &str, names: &mut BTreeSet<String>) {
    let name = name.trim().trim_matches(['"', '\0']);
    let prefixes = ["naa.", "eui.", "uuid.", "0x", "CRYPT-LUKS2-", "CRYPT-LUKS1-", "LVM-"];
    let core = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    if (SHORTEST..=128).contains(&core.len()) {
        names.insert(core.to_lowercase());
    }
}

fn collect(path: &str, bytes: &[u8], names: &mut BTreeSet<String>) {
    let text = String::from_utf8_lossy(bytes);
    let file = path.rsplit('/').next().unwrap_or_default();
    match file {
        _ if NAMES.contains(&file) => add(&text, names),
        "cid" => names.extend(cid_serial(&text)),
        "vpd_pg80" => add(&String::from_utf8_lossy(bytes.get(4..).unwrap_or_default()), names),
        _ => {}
    }
    if path.starts_with("/run/udev/data/") {
        let keys = ["SERIAL_SHORT", "UUID", "WWN", "SCSI_SERIAL"];
        let pairs = text.lines().filter_map(|line| line.strip_prefix("E:")?.split_once('='));
        let named = pairs.filter(|(key, _)| keys.iter().any(|part| key.contains(part)));
        named.for_each(|(_, value)| add(value, names));
    }
    if path.starts_with("/drivebench/") {
        if let Ok(json) = serde_json::from_slice(bytes) {
            collect_json(&json, names);
        }
    }
    for word in text.split(|c: char| c.is_whitespace() || ",\"'()[]/".contains(c)) {
        // Mount points may be named by their UUID, after other words.
        let end = word.len().checked_sub(UUID).and_then(|at| word.get(at..));
        let uuid = end.filter(|end| is_hex(end, '-', &[8, 4, 4, 4, 12]));
        let value = word.rsplit_once("UUID=").map_or(word, |(_, uuid)| uuid);
        if value.len() < word.len() || uuid.is_some() || is_hex(value, ':', &[2; 6]) {
            add(uuid.unwrap_or(value), names);
        }
    }
}

/// Only the serial part of a card's CID identifies it.
fn cid_serial(cid: &str) -> Option<String> {
    cid.trim().get(18..26).map(str::to_lowercase)
}

fn collect_json(json: &Value, names: &mut BTreeSet<String>) {
    match json {
        Value::Object(map) => map.iter().for_each(|(key, value)| match value.as_str() {
            // Names of other drives have a prefix.
            Some(cid) if key == "wwid" && is_hex(cid, ':', &[32]) => names.extend(cid_serial(cid)),
            Some(text) if KEYS.contains(&key.as_str()) => add(text, names),
            _ => collect_json(value, names),
        }),
        Value::Array(list) => list.iter().for_each(|value| collect_json(value, names)),
        _ => {}
    }
}

/// A file of drivebench or smartctl as JSON, without the world-wide name that smartctl writes as numbers.
fn own_json(path: &str, bytes: &[u8]) -> Option<Value> {
    let mut json = path.starts_with("/drivebench/").then(|| serde_json::from_slice(bytes).ok()).flatten()?;
    if let Value::Object(map) = &mut json {
        map.remove("wwn");
    }
    Some(json)
}

/// Changes all strings of a JSON value. Numbers and keys may look like a serial and are none.
fn strings(json: &mut Value, change: &impl Fn(&str) -> String) {
    match json {
        Value::String(text) => *text = change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| strings(value, change)),
        Value::Object(map) => map.values_mut().for_each(|value| strings(value, change)),
        _ => {}
    }
}

/// Whether a word has hexadecimal fields of these lengths.
fn is_hex(word: &str, separator: char, lengths: &[usize]) -> bool {
    word.split(separator).map(str::len).eq(lengths.iter().copied())
        && word.chars().all(|c| c == separator || c.is_ascii_hexdigit())
}

/// The spellings of a name, each with its replacement: unchanged, upper case, and with spaces as udev escapes them.
fn spellings(name: &str, key: &[u8; 32]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let other = pseudonym(name, key);
    let cases: [fn(&str) -> String; 2] = [str::to_owned, str::to_uppercase];
    let spelled = |case: fn(&str) -> String| {
        [" ", "_", r"\x20"]
            .map(|space| [name, &other].map(|name| case(name).replace(' ', space).into_bytes()))
    };
    cases.into_iter().flat_map(spelled).map(|[name, other]| (name, other)).collect()
}

/// Another name of the same form: digits stay digits, letters stay letters, hexadecimal stays hexadecimal.
fn pseudonym(name: &str, key: &[u8; 32]) -> String {
    let mut random = Xoshiro256PlusPlus::from_seed(hmac(key, name.as_bytes()));
    let hex = name.chars().all(|c| c.is_ascii_hexdigit() || "-:.".contains(c));
    let letters = if hex { 6 } else { 26 };
    let change = |c: char| match c {
        '0'..='9' => char::from(b'0' + random.random_range(0..10)),
        'a'..='z' => char::from(b'a' + random.random_range(0..letters)),
        other => other,
    };
    name.chars().map(change).collect()
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        Sha256::new().chain_update(block)
    };
    let inner = padded(0x36).chain_update(message).finalize();
    padded(0x5c).chain_update(inner).finalize().into()
}

/// The bytes with every name in `pairs` replaced in one pass, longer names first.
fn replaced(bytes: &[u8], pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        // Exact spellings come first; of others, the case is lost.
        let begins = |name: &[u8]| rest.get(..name.len()).is_some_and(|part| part.eq_ignore_ascii_case(name));
        let exact = pairs.iter().find(|(name, _)| name[0] == *first && rest.starts_with(name));
        let found = exact.or_else(|| pairs.iter().find(|(name, _)| begins(name)));
        let (taken, put) = found.map_or((1, &rest[..1]), |(name, other)| (name.len(), &other[..]));
        out.extend_from_slice(put);
        rest = &rest[taken..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Inventory, fixtures},
        sysroot::Sysroot,
    };

    fn captured(tree: &fixtures::Tree) -> Archive {
        let root = tree.sysroot().recording();
        Inventory::read(&root);
        Archive::from_recording(&root)
    }

    #[test]
    fn all_names_are_replaced_and_the_tree_parses_as_before() {
        for (tree_name, tree) in fixtures::ALL {
            let mut tree = tree();
            tree.file("proc/sys/kernel/hostname", "attic-server\n");
            tree.file("proc/cmdline", "root=PARTUUID=738a4d67-02 host=attic-server\n");
            let before = tree.inventory();
            let archive = captured(&tree).anonymise(&[7; 32]);
            let bytes: Vec<u8> = archive
                .nodes()
                .flat_map(|(path, node)| match node {
                    Node::File(bytes) => [path.as_bytes(), bytes].concat(),
                    Node::Link(target) => [path.as_bytes(), target.as_bytes()].concat(),
                    Node::Directory => path.clone().into_bytes(),
                })
                .collect();
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            let serials = before.drives.iter().filter_map(|drive| drive.serial.clone());
            let uuids = before.blocks().filter_map(|block| block.content().uuid.clone());
            let macs = before.ports.iter().filter_map(|port| port.mac.clone());
            let more = ["attic-server".to_owned(), "738a4d67-02".to_owned()];
            for name in serials.chain(uuids).chain(macs).chain(more).filter(|name| !is_placeholder(name)) {
                let name = name.trim_start_matches("0x").to_lowercase();
                assert!(!text.contains(&name), "{tree_name}: {name} is left");
            }
            let after = Inventory::read(&Sysroot::archive(archive));
            let codes = |inventory: &Inventory| {
                inventory.findings().iter().map(|f| (f.code, f.drives.clone())).collect::<Vec<_>>()
            };
            assert_eq!(codes(&after), codes(&before), "{tree_name}");
            assert_eq!(
                (&after.buses, after.drives.len()),
                (&before.buses, before.drives.len()),
                "{tree_name}"
            );
            assert_eq!(after.machine, before.machine, "{tree_name}");
        }
    }

    #[test]
    fn a_name_gets_the_same_replacement_everywhere() {
        let mut archive = Archive::default();
        archive.add_file("/sys/x/serial", "AB12 34\n");
        archive.add_file("/sys/x/cid", "0353445343333247801f3a5b22013a7f");
        archive.add_file("/run/udev/data/b8:0", "E:ID_MODEL=x\nE:ID_SERIAL=Maker_AB12_34-0:0\n");
        archive.add_file(
            "/drivebench/smartctl/sda.json",
            r#"{"wwn":{"naa":5,"id":4711},"serial_number":"ab12 34"}"#,
        );
        archive.add_file("/drivebench/record.json", r#"{"wwid":"0353445343333247801f3a5b22013a7f"}"#);
        let archive = archive.anonymise(&[1; 32]);
        let text = |path: &str| match archive.node(path) {
            Some(Node::File(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{other:?}"),
        };
        let serial = text("/sys/x/serial").trim().to_owned();
        assert!(serial != "AB12 34" && serial.len() == 7, "{serial}");
        assert!(text("/run/udev/data/b8:0").contains(&format!("Maker_{}-0:0", serial.replace(' ', "_"))));
        let json = text("/drivebench/smartctl/sda.json");
        assert_eq!(json, format!(r#"{{"serial_number":"{}"}}"#, serial.to_lowercase()));
        let cid = text("/sys/x/cid");
        assert!(
            cid.starts_with("035344534333324780") && cid.ends_with("013a7f") && !cid.contains("1f3a5b22"),
            "{cid}"
        );
        assert_eq!(text("/drivebench/record.json"), format!(r#"{{"wwid":"{cid}"}}"#));
    }

    #[test]
    fn recognises_uuids_and_mac_addresses() {
        let is_uuid = |word| is_hex(word, '-', &[8, 4, 4, 4, 12]);
        assert!(is_uuid("56f80fa2-e005-4cca-86e6-19da1069914d") && !is_uuid("56f80fa2-e005"));
        let is_mac = |word| is_hex(word, ':', &[2; 6]);
        assert!(is_mac("dc:a6:32:01:02:03") && !is_mac("0:0:0:0:0:0"));
    }

    #[test]
    fn pseudonyms_depend_on_the_key_alone() {
        // From Python's hmac.
        assert_eq!(hmac(&[0x0b; 32], b"Hi There")[..4], [0x19, 0x8a, 0x60, 0x7e]);
        // Exports of one store agree for years, whatever becomes of the generator.
        let names = ["4c530001", "attic-server"].map(|name| pseudonym(name, &[1; 32]));
        assert_eq!(names, ["7e176772", "zwpff-qlsehi"]);
        assert_ne!(names[0], pseudonym("4c530001", &[2; 32]));
    }
}
