//! Pools that are built and removed on a modelled machine, which may be killed before or after any command.

use std::{cell::Cell, collections::BTreeMap, path::Path, sync::Mutex};

use super::{
    BuildError, Building, Built, Commands, Former, PoolLog, Replacement, former, in_no_pool,
    log::Line,
    pools,
    removal::{covering, others, remove},
    unclean,
};
use crate::{
    danger::Claimed,
    engine::Cancel,
    inventory::{Drive, Inventory},
    pool::{Build, Request, Step, testing::request},
    tools::{Content, Output, Query, Replay, Right, Runner, ToolError, ToolResult},
    units::{KIB, Layout},
};

const DRIVES: [&str; 4] = ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"];

/// What is on the devices of a machine: the names of signatures, by path.
#[derive(Default)]
struct Disks {
    signatures: Mutex<BTreeMap<String, Vec<&'static str>>>,
    /// Commands until it is killed, and whether the last one is still done.
    until: Mutex<Option<(u32, bool)>>,
}

impl Disks {
    fn new() -> Self {
        let disks = Self::default();
        DRIVES.iter().for_each(|drive| disks.add(drive, "old"));
        disks
    }

    fn add(&self, path: &str, what: &'static str) {
        self.signatures.lock().expect("one thread").entry(path.to_owned()).or_default().push(what);
    }

    fn all(&self) -> BTreeMap<String, Vec<&'static str>> {
        self.signatures.lock().expect("one thread").clone()
    }

    fn perform(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let last = *words.last().expect("a program");
        match words[0] {
            "wipefs" => {
                let mut signatures = self.signatures.lock().expect("one thread");
                // Without its table, a drive has no partition.
                signatures.retain(|path, _| path != last && !path.starts_with(&format!("{last}1")));
            }
            "sgdisk" => {
                self.add(last, "gpt");
                self.add(&format!("{last}1"), "old");
            }
            "mdadm" => {
                words.iter().filter(|word| word.starts_with("/dev/sd")).for_each(|part| self.add(part, "md"))
            }
            // The first drive shows the filesystem of a linear pool.
            "mkfs.ext4" if last.starts_with("/dev/mapper") => self.add(DRIVES[0], "ext4"),
            "mkfs.ext4" | "dmsetup" | "mount" | "blockdev" => {}
            other => panic!("{other} is not modelled"),
        }
    }
}

impl Runner for Disks {
    fn ask(&self, query: &Query) -> ToolResult {
        let mut until = self.until.lock().expect("one thread");
        let line = query.to_string();
        let Some((left, done)) = &mut *until else {
            self.perform(&line);
            return Ok(Output { code: Some(0), ..Output::default() });
        };
        if *left == 0 {
            if *done {
                self.perform(&line);
            }
            // Nothing that follows is run, and nothing more is written to the log.
            return Err(ToolError::Unrecorded("killed".to_owned()));
        }
        *left -= 1;
        self.perform(&line);
        Ok(Output { code: Some(0), ..Output::default() })
    }

    fn stream(&self, _: &Query, _: &dyn Fn() -> bool, _: &mut dyn FnMut(&str)) -> ToolResult {
        unreachable!("no command is streamed")
    }
}

/// The right to change some drives.
struct Only(Vec<String>);

impl Right<Content> for Only {
    fn covers(&self, path: &str) -> Result<(), String> {
        let ours = self.0.iter().any(|drive| path.starts_with(drive)) || path.starts_with("/dev/m");
        ours.then_some(()).ok_or_else(|| format!("{path} is not claimed"))
    }
}

impl Claimed for Only {
    fn settle(&self, _: &dyn Runner) -> Result<(), String> {
        Ok(())
    }
}

fn plan(layout: Layout) -> Build {
    let drive = |path: &&str| Drive {
        name: path.trim_start_matches("/dev/").to_owned(),
        serial: Some(format!("serial-{path}")),
        sectors: 400_000,
        logical_block: 512,
        ..Drive::default()
    };
    let drives: Vec<Drive> = DRIVES.iter().map(drive).collect();
    let request = Request { chunk: 64 * KIB, ..request(layout) };
    request.plan(&Inventory::default(), &drives.iter().collect::<Vec<_>>()).expect("fits")
}

/// A process that another test starts holds a lock of this one until it runs its program.
fn patiently<T>(log: impl Fn() -> std::io::Result<T>) -> T {
    loop {
        match log() {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => std::thread::yield_now(),
            log => return log.expect("a log"),
        }
    }
}

/// Builds it on the machine, until that is killed.
fn begin(plan: &Build, disks: &Disks, store: &Path) -> Result<(), BuildError> {
    let mut log = patiently(|| PoolLog::begin(store, plan));
    let commands = &mut Commands { runner: disks, says: &mut |_| {}, exists: &|_| true };
    let cancel = &Cancel::default();
    let (paths, all) = (DRIVES.map(str::to_owned), Only(DRIVES.map(str::to_owned).to_vec()));
    let mut building =
        Building { build: plan, drives: &paths, claims: &all, log: &mut log, commands, cancel };
    building.join()?;
    building.complete(Some(Path::new("/mnt/data")), &[])
}

/// Removes what is left of it. Only the drives that were changed are claimed.
fn clean(disks: &Disks, store: &Path) -> Result<(), BuildError> {
    let (log, built) = patiently(|| PoolLog::open(store, "data"));
    let drives: Vec<(usize, String)> =
        built.touched().into_iter().map(|(at, _)| (at, DRIVES[at].to_owned())).collect();
    let only = Only(drives.iter().map(|(_, path)| path.clone()).collect());
    let there = disks.all();
    let exists = |path: &str| DRIVES.contains(&path) || there.contains_key(path);
    remove(&built, &drives, &only, log, &mut Commands { runner: disks, says: &mut |_| {}, exists: &exists })
}

fn one(store: &Path) -> Built {
    let (mut pools, damaged) = pools(store);
    assert!(damaged.is_empty() && pools.len() == 1, "{damaged:?}");
    pools.remove(0)
}

#[test]
fn what_a_kill_leaves_at_any_command_is_known_and_can_be_removed() {
    for layout in Layout::ALL {
        let plan = plan(layout);
        // Its steps, and the mount.
        let commands = plan.steps().len() as u32 + 1;
        for (kill, done) in (0..commands).flat_map(|kill| [(kill, false), (kill, true)]) {
            let store = tempfile::tempdir().expect("a directory");
            let disks = Disks::new();
            *disks.until.lock().expect("one thread") = Some((kill, done));
            let what = format!("{layout}, killed at command {kill}, done: {done}");
            begin(&plan, &disks, store.path()).expect_err(&what);
            let built = one(store.path());
            // The last command is the mount.
            let begun = (kill + 1).min(commands - 1) as usize;
            assert!(!built.finished && built.begun.len() == begun, "{what}");
            assert_eq!(built.mount.is_some(), kill + 1 == commands, "{what}");
            // A drive that was not reached keeps what it holds, and is not needed to remove the rest.
            let untouched = &DRIVES[built.touched().len()..];

            // Removing it is killed, too, once at each command, and then completed.
            *disks.until.lock().expect("one thread") = None;
            let removals = Cell::new(0);
            loop {
                *disks.until.lock().expect("one thread") = Some((removals.get(), done));
                removals.set(removals.get() + 1);
                if clean(&disks, store.path()).is_ok() {
                    break;
                }
                assert!(one(store.path()).removing, "{what}");
            }
            let left: Vec<String> = disks.all().into_keys().collect();
            assert_eq!(left, untouched, "{what}: {:?}", disks.all());
            assert!(pools(store.path()).0.is_empty());
        }
    }
}

#[test]
fn a_log_that_is_cut_off_anywhere_knows_all_that_was_begun() {
    let store = tempfile::tempdir().expect("a directory");
    let plan = plan(Layout::Raid1);
    begin(&plan, &Disks::new(), store.path()).expect("is built");
    let path = store.path().join("pools/data.jsonl");
    let text = std::fs::read(&path).expect("reads");
    let all = one(store.path());
    assert!(all.finished && all.begun == plan.steps());
    let plan_ends = text.iter().position(|b| *b == b'\n').expect("a line") + 1;
    for end in plan_ends..text.len() {
        std::fs::write(&path, &text[..end]).expect("writes");
        let (pools, damaged) = pools(store.path());
        assert!(damaged.is_empty(), "{end}");
        let begun = pools[0].begun.len();
        // A step is run only after its line is complete.
        let lines = text[..end].split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n"));
        let said = lines.filter(|line| String::from_utf8_lossy(line).contains("\"will\"")).count();
        assert_eq!(begun, said, "{end}");
        // A later line does not become part of the line that was cut off.
        let (mut log, _) = patiently(|| PoolLog::open(store.path(), "data"));
        log.append(&Line::Finished).expect("writes");
        assert!(one(store.path()).finished, "{end}");
    }
    let again = || PoolLog::begin(store.path(), &plan);
    assert_eq!(again().expect_err("there is one").kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn a_log_that_is_not_what_its_name_says_is_refused() {
    let store = tempfile::tempdir().expect("a directory");
    let plan = plan(Layout::Raid1);
    begin(&plan, &Disks::new(), store.path()).expect("is built");
    let path = store.path().join("pools/data.jsonl");
    let text = std::fs::read_to_string(&path).expect("reads");
    let refused = |text: &str| {
        std::fs::write(&path, text).expect("writes");
        (pools(store.path()).1.len(), PoolLog::open(store.path(), "data").is_err())
    };
    let name = format!("\"name\":\"{}\"", plan.name);
    assert!(text.contains(&name));
    for other in ["other", "x/../../etc", "../data"] {
        assert_eq!(refused(&text.replace(&name, &format!("\"name\":\"{other}\""))), (1, true), "{other}");
    }
    assert_eq!(refused(&text), (0, false));
    // A link to it.
    let away = store.path().join("away");
    std::fs::rename(&path, &away).expect("moves");
    std::os::unix::fs::symlink(&away, &path).expect("links");
    assert!(PoolLog::open(store.path(), "data").is_err());
    // Root removes lines only where there may be some.
    std::fs::remove_file(&path).expect("removes");
    std::fs::write(&path, text + "{\"line\":\"configure\",\"file\":\"/etc/shadow\"}\n").expect("writes");
    assert_eq!(one(store.path()).foreign_file(), Some(Path::new("/etc/shadow")));
    clean(&Disks::new(), store.path()).expect_err("it names a file of others");
}

#[test]
fn a_replacement_is_known_until_it_is_complete_and_is_the_member_afterwards() {
    let store = tempfile::tempdir().expect("a directory");
    let plan = plan(Layout::Raid5);
    begin(&plan, &Disks::new(), store.path()).expect("is built");
    let (mut log, built) = patiently(|| PoolLog::open(store.path(), "data"));
    let mut member = built.build.members[1].clone();
    member.identity = "another".to_owned();
    log.append(&Line::Replacing { replacement: Box::new(Replacement { at: 1, member }) }).expect("writes");
    let begun = one(store.path());
    assert_eq!(begun.build.members, plan.members);
    let touched = |built: &Built| {
        let members = built.touched();
        members.into_iter().map(|(at, member)| (at, member.identity.clone())).collect::<Vec<_>>()
    };
    // A drive that was not reached keeps what it holds.
    assert_eq!(touched(&begun).len(), 4);
    log.append(&Line::Will { step: Step::Wipe(1) }).expect("writes");
    let begun = one(store.path());
    // Both are to be removed with the pool: the old one is still in it.
    assert_eq!(touched(&begun).len(), 5);
    assert!(touched(&begun).contains(&(1, "another".to_owned())));
    log.append(&Line::Replaced).expect("writes");
    let after = one(store.path());
    assert_eq!(after.build.members[1].identity, "another");
    assert!(after.replacing.is_none() && touched(&after).len() == 4);
    // The next one fails, and is given up.
    let mut member = built.build.members[2].clone();
    member.identity = "a third".to_owned();
    log.append(&Line::Replacing { replacement: Box::new(Replacement { at: 2, member }) }).expect("writes");
    log.append(&Line::Will { step: Step::Wipe(2) }).expect("writes");
    log.append(&Line::GivenUp).expect("writes");
    let after = one(store.path());
    assert!(after.replacing.is_none() && !touched(&after).iter().any(|(_, identity)| identity == "a third"));
}

#[test]
fn what_is_mounted_over_a_pool_is_found() {
    let line = |id: u32, number: &str, path: &str, source: &str| {
        format!("{id} 1 {number} / {path} rw - ext4 {source} rw\n")
    };
    let text = [
        line(30, "9:127", "/srv/data", "/dev/md127"),
        line(31, "0:40", "/srv/data", "/dev/other"),
        line(32, "9:127", "/srv/else", "/dev/md127"),
    ]
    .concat();
    let over = |path: &str| covering(&text, path).map(|mount| mount.source);
    assert_eq!(over("/srv/data").as_deref(), Some("/dev/other"));
    assert_eq!(over("/srv/else").as_deref(), Some("/dev/md127"));
    assert_eq!(over("/srv"), None);
}

#[test]
fn an_array_over_a_drive_that_was_not_named_is_no_pool() {
    let dir = tempfile::tempdir().expect("a directory");
    let slaves = dir.path().join("slaves");
    std::fs::create_dir(&slaves).expect("a directory");
    let add = |device: &str| {
        let to = dir.path().join(device);
        std::fs::create_dir_all(&to).expect("a directory");
        let name = to.file_name().expect("a name");
        std::os::unix::fs::symlink(&to, slaves.join(name)).expect("links");
    };
    add("sda/sda1");
    add("sdb");
    assert_eq!(others(&slaves, &["sda", "sdb"]), None);
    // sdaa is not sda.
    assert_eq!(others(&slaves, &["sdb"]).as_deref(), Some("sda1"));
    add("sdaa/sdaa1");
    assert_eq!(others(&slaves, &["sda", "sdb"]).as_deref(), Some("sdaa1"));
}

/// As another drivebench builds it while this one waits for a serial to be typed.
#[test]
fn a_drive_that_became_part_of_a_pool_meanwhile_is_refused() {
    let store = tempfile::tempdir().expect("a directory");
    let plan = plan(Layout::Linear);
    let drive = |path: &&str| Drive {
        name: path.trim_start_matches("/dev/").to_owned(),
        serial: Some(format!("serial-{path}")),
        sectors: 400_000,
        logical_block: 512,
        ..Drive::default()
    };
    let mut drives: Vec<Drive> = DRIVES.iter().map(drive).collect();
    drives.push(Drive { name: "sde".to_owned(), serial: Some("free".to_owned()), ..drives[0].clone() });
    let inventory = Inventory { drives, ..Inventory::default() };
    let refused = |at: usize, own: Option<&str>| {
        let result = in_no_pool(&[&inventory.drives[at]], &inventory, store.path(), own);
        result.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(1, None), "", "before");
    begin(&plan, &Disks::new(), store.path()).expect("is built");
    // It is not active, and nothing on the drives shows it.
    let erase: String = DRIVES.iter().map(|path| format!(" --erase serial-{path}")).collect();
    let of_pool = format!(
        "drive sdb serial-/dev/sdb is a drive of the pool data: choose another drive, or remove the pool: \
         drivebench pool destroy data{erase}"
    );
    assert_eq!(refused(1, None), of_pool);
    assert_eq!(refused(1, Some("another")), of_pool);
    assert_eq!(refused(1, Some("data")), "", "it is for this pool");
    assert_eq!(refused(4, None), "");
    std::fs::write(store.path().join("pools/broken.jsonl"), "{").expect("writes");
    assert!(refused(4, None).contains("the drives of this pool are not known"));
}

#[test]
fn a_drive_that_comes_back_with_newer_data_is_told_from_one_that_missed_some() {
    let plan = plan(Layout::Raid1);
    let said = |stdout: String| Output { code: Some(0), stdout, ..Output::default() };
    let own = plan.uuids[0].as_str();
    let other = "153f7e0e:069fb954:415c8744:bbe3e33b";
    let of_array = |uuid: &str, events: &str| {
        said(format!("              UUID : {uuid}\n            Events : {events}\n"))
    };
    let compared = |uuid: &str, events: u64, state: &str, array: Output| {
        let of_drive = format!(
            "     Array UUID : {uuid}\n          State : clean\n         Events : {events}\n   Array State : {state} ('A' == active)\n"
        );
        let tools = Replay::default()
            .answer("mdadm --examine /dev/sdb1", said(of_drive))
            .answer("mdadm --detail /dev/md127", array);
        former(own, "/dev/sdb1", "/dev/md127", &tools).map_err(|e| e.to_string())
    };
    assert_eq!(compared(own, 60, "AA", of_array(own, "60")), Ok(Former::Older { whole: true }));
    assert_eq!(compared(own, 61, "AA", of_array(own, "60")), Ok(Former::Newer { drive: 61, array: 60 }));
    // It was used without the other one, and has events of its own.
    assert_eq!(compared(own, 40, ".A", of_array(own, "60")), Ok(Former::Older { whole: false }));
    assert_eq!(compared(other, 99, "AA", of_array(own, "60")), Ok(Former::Nothing));
    for array in [of_array(own, ""), of_array(other, "60"), said(String::new())] {
        let unknown = compared(own, 60, "AA", array).expect_err("not known");
        assert!(
            unknown.starts_with("whether /dev/sdb1 has newer data than /dev/md127 is not known"),
            "{unknown}"
        );
    }
    let none = Output {
        code: Some(1),
        stderr: "mdadm: No md superblock detected on /dev/sdb1.\n".to_owned(),
        ..Output::default()
    };
    let tools = Replay::default().answer("mdadm --examine", none);
    assert!(matches!(former(&plan.uuids[0], "/dev/sdb1", "/dev/md127", &tools), Ok(Former::Nothing)));
}

#[test]
fn an_array_with_parity_that_was_cut_off_and_lacks_a_member_is_known() {
    // Each member: state, events, which members it knows of.
    let shown = |layout: Layout, members: &[(&str, u64, &str)]| {
        let plan = plan(layout);
        let mut tools = Replay::default();
        for ((state, events, array), drive) in members.iter().zip(DRIVES) {
            let uuid = &plan.uuids[0];
            let stdout = format!(
                "     Array UUID : {uuid}\n          State : {state}\n         Events : {events}\n   Array State : {array} ('A' == active)\n"
            );
            let command = format!("mdadm --examine {drive}1");
            tools = tools.answer(&command, Output { code: Some(0), stdout, ..Output::default() });
        }
        let parts: Vec<String> = DRIVES[..members.len()].iter().map(|drive| format!("{drive}1")).collect();
        unclean(&plan, &parts, &tools)
    };
    // With the newest data on these.
    let parts = |all: &[&str]| Some(all.iter().map(|drive| format!("{drive}1")).collect::<Vec<_>>());
    let members = plan(Layout::Raid5).members.len();
    let whole = vec![("active", 30, "AAAA"); members];
    let missing = &whole[1..];
    assert_eq!(shown(Layout::Raid5, &whole), None, "md compares all of it");
    assert_eq!(shown(Layout::Raid5, missing), parts(&DRIVES[..members - 1]));
    assert_eq!(shown(Layout::Raid1, missing), None, "no parity");
    let clean = vec![("clean", 30, "AAAA"); members - 1];
    assert_eq!(shown(Layout::Raid5, &clean), None);
    // The first one is plugged in again, but missed what was written without it.
    let mut stale = vec![("active", 30, ".AAA"); members];
    stale[0] = ("clean", 20, "AAAA");
    assert_eq!(shown(Layout::Raid6, &stale), parts(&DRIVES[1..]));
    stale[0] = ("active", 29, "AAAA");
    assert_eq!(shown(Layout::Raid6, &stale), None, "mdadm takes it");
    // One more is not plugged in, and the one that missed everything must not take its place.
    stale[0] = ("clean", 20, "AAAA");
    assert_eq!(shown(Layout::Raid5, &stale[..members - 1]), parts(&[]));
    // The last one left, too, later than the first one, and both are back.
    stale[members - 1] = ("clean", 26, "A.AA");
    assert_eq!(shown(Layout::Raid5, &stale), parts(&DRIVES[1..members]));
    stale[members - 1] = ("active", 30, ".AAA");
    assert_eq!(shown(Layout::Raid5, &stale), parts(&DRIVES[1..]));
    // It is being filled, or was when too many others left.
    for lacking in ["active\nRecovery Offset : 2048 sectors", "active\n   Device Role : spare"] {
        stale[0] = (lacking, 30, "AAAA");
        assert_eq!(shown(Layout::Raid5, &stale), parts(&DRIVES[1..]));
    }
}
