//! Ten thousand damaged trees, the same each time: reading never panics, hangs, or leaves the tree.

#[path = "../../../../tests/it/support/sound.rs"]
mod sound;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
};

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Inventory, fixtures};
use crate::{
    conditions::Snapshot,
    sysroot::{Archive, Sysroot, archive::Node},
};

/// On disk, where links could lead outside, and in memory, which is much quicker.
const ON_DISK: u64 = 1_000;
const IN_MEMORY: u64 = 9_000;

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

/// A tree, and where damaged parts of it are kept until they are restored.
struct Victim {
    tree: fixtures::Tree,
    paths: Vec<PathBuf>,
    aside: PathBuf,
    secret: PathBuf,
}

impl Victim {
    fn new(build: fn() -> fixtures::Tree) -> Self {
        let tree = build();
        let (secret, aside) = (tree.outside().join("SECRET"), tree.outside().join("aside"));
        fs::write(&secret, "LEAKED\n").expect("a file");
        fs::create_dir(&aside).expect("a directory");
        let mut paths = Vec::new();
        entries(tree.root(), &mut paths);
        paths.sort();
        Self { tree, paths, aside, secret }
    }

    /// Damages the tree, runs `check`, and restores it.
    fn damage(&self, random: &mut Xoshiro256PlusPlus, check: impl FnOnce(&fixtures::Tree)) {
        let mut done: Vec<&Path> = Vec::new();
        for _ in 0..random.random_range(1..=8) {
            let path = self.paths.choose(random).expect("a tree").as_path();
            // Skips what is behind a link or a missing directory: it may be outside the tree.
            let reached = path.parent().and_then(|parent| parent.canonicalize().ok());
            if reached.as_deref() == path.parent()
                && fs::rename(path, self.aside.join(done.len().to_string())).is_ok()
            {
                self.replace(path, random);
                done.push(path);
            }
        }
        check(&self.tree);
        for (n, path) in done.iter().enumerate().rev() {
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
            fs::rename(self.aside.join(n.to_string()), path).expect("restores");
        }
    }

    fn replace(&self, path: &Path, random: &mut Xoshiro256PlusPlus) {
        let done = match substitute(random) {
            _ if random.random_ratio(1, 6) => symlink(&self.secret, path),
            None => Ok(()),
            Some(Node::Directory) => fs::create_dir(path),
            Some(Node::File(bytes)) => fs::write(path, bytes),
            Some(Node::Link(target)) => symlink(target, path),
        };
        done.expect("a substitute");
    }
}

fn entries(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            entries(&entry.path(), found);
        }
        found.push(entry.path());
    }
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

fn check(root: &Sysroot) {
    assert!(!sound::inventory(root).contains("LEAKED"), "read outside");
}

#[test]
fn a_thousand_damaged_trees_on_disk() {
    let victims = fixtures::ALL.map(|(name, build)| (name, Victim::new(build)));
    for n in 0..ON_DISK {
        let (name, victim) = &victims[n as usize % victims.len()];
        let case = Case(n, name);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(case.0);
        victim.damage(&mut random, |tree| check(&tree.sysroot()));
    }
}

#[test]
fn nine_thousand_damaged_trees_in_memory() {
    let archives = fixtures::ALL.map(|(name, build)| {
        let tree = build();
        let root = tree.sysroot().recording();
        Inventory::read(&root);
        (name, Archive::from_recording(&root))
    });
    let archives = archives.map(|(name, archive)| {
        let paths: Vec<String> = archive.nodes().map(|(path, _)| path.clone()).collect();
        (name, archive, paths)
    });
    for n in 0..IN_MEMORY {
        let (name, archive, paths) = &archives[n as usize % archives.len()];
        let case = Case(n, name);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1 << 32 | case.0);
        let mut archive = archive.clone();
        for _ in 0..random.random_range(1..=8) {
            let path = paths.choose(&mut random).expect("a tree");
            archive.damage(path, substitute(&mut random));
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
