//! Ten thousand damaged trees, the same each time: reading never panics, hangs, or leaves the tree.

#[path = "../../../../tests/it/support/sound.rs"]
mod sound;

use std::{fs, os::unix::fs::symlink, path::Path, thread};

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Inventory, fixtures};
use crate::{
    conditions::Snapshot,
    sysroot::{Archive, Sysroot, archive::Node},
};

const CASES: u64 = 10_000;
/// Every so many of them are read from disk, too, which is much slower.
const ON_DISK: u64 = 97;

/// Texts that number, list and record parsers might fail on.
const TEXTS: [&str; 16] = [
    "",
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "4294967295",
    "NaN",
    "inf",
    "1e400",
    "0-4294967295,7",
    ":",
    "a:b",
    "0x",
    "8:0\n8:0",
    "1-1.1.1.1.1",
    "E:=\nE:ID_FS_LABEL_ENC=\\x\nS:\nE:ID_FS_TYPE=ext4",
];
const LINKS: [&str; 9] = [
    "..",
    "/",
    ".",
    "loop",
    "/sys/block",
    "/sys/devices",
    "../../../../proc/self/mountinfo",
    "../../../../../../../../../../../../../../SECRET",
    "missing",
];

/// Prints the case if it fails.
struct Case(u64, &'static str);

impl Drop for Case {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("case {} of {}", self.0, self.1);
        }
    }
}

fn check(root: &Sysroot) {
    assert!(!sound::inventory(root).contains("LEAKED"), "read outside");
}

/// Reads a tree from disk, where links could lead outside.
fn check_on_disk(archive: &Archive) {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().canonicalize().expect("a directory");
    fs::write(dir.join("SECRET"), "LEAKED\n").expect("a file");
    let root = dir.join("root");
    fs::create_dir(&root).expect("a directory");
    for (path, node) in archive.nodes() {
        let path = root.join(path.trim_start_matches('/'));
        // What is behind a link or a missing directory stays away: it may be outside the tree.
        let is_inside = |above: &Path| above.is_dir() && above.canonicalize().is_ok_and(|real| real == above);
        if !path.parent().is_some_and(is_inside) {
            continue;
        }
        match node {
            Node::Directory => fs::create_dir(path),
            Node::File(bytes) => fs::write(path, bytes),
            Node::Link(target) => symlink(target, path),
        }
        .expect("an entry");
    }
    check(&Sysroot::at(root));
}

#[test]
fn ten_thousand_damaged_trees() {
    let archives = fixtures::ALL.map(|(name, build)| {
        let tree = build();
        let root = tree.sysroot().recording();
        Inventory::read(&root);
        let archive = Archive::from_recording(&root);
        let paths: Vec<String> = archive.nodes().map(|(path, _)| path.clone()).collect();
        (name, archive, paths)
    });
    for n in 0..CASES {
        let (name, archive, paths) = &archives[n as usize % archives.len()];
        let case = Case(n, name);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1 << 32 | case.0);
        let mut archive = archive.clone();
        for _ in 0..random.random_range(1..=8) {
            let path = paths.choose(&mut random).expect("a tree");
            archive.damage(path, substitute(&mut random));
        }
        if n % ON_DISK == 0 {
            check_on_disk(&archive);
        }
        check(&Sysroot::archive(archive));
    }
}

fn substitute(random: &mut Xoshiro256PlusPlus) -> Option<Node> {
    match random.random_range(0..5) {
        0 => None,
        1 => Some(Node::Directory),
        2 => Some(Node::File(TEXTS.choose(random).expect("a text").as_bytes().to_vec())),
        3 => Some(Node::File((0..random.random_range(0..300)).map(|_| random.random()).collect())),
        _ => Some(Node::Link((*LINKS.choose(random).expect("a link")).to_owned())),
    }
}
