//! Damaged trees on disk, the same each time: reading never panics, hangs, or leaves the tree. `tests/it/fuzz.rs` damages them in memory.

#[path = "../../../../tests/it/support/sound.rs"]
mod sound;

use std::{fs, os::unix::fs::symlink, path::Path};

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Inventory, fixtures};
use crate::{
    conditions::Snapshot,
    sysroot::{Archive, Sysroot, archive::Node},
};

const CASES: u64 = 100;

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
    assert!(!sound::inventory(&Sysroot::at(root)).contains("LEAKED"), "read outside");
}

#[test]
fn damaged_trees_on_disk() {
    let archives = fixtures::ALL.map(|(_, build)| {
        let tree = build();
        let root = tree.sysroot().recording();
        Inventory::read(&root);
        Archive::from_recording(&root)
    });
    for case in 0..CASES {
        println!("case {case}");
        let mut archive = archives[case as usize % archives.len()].clone();
        let paths: Vec<String> = archive.nodes().map(|(path, _)| path.clone()).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(case);
        for _ in 0..random.random_range(1..=8) {
            let path = paths.choose(&mut random).expect("a tree");
            archive.damage(path, substitute(&mut random));
        }
        check_on_disk(&archive);
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
