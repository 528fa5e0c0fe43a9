//! Shares a directory of ours with clients on a network of their own, and times what they do.

mod apart;
mod errands;
mod site;

use std::path::Path;

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::{fs::statvfs, process::geteuid};

use self::{apart::failed, site::Site};
use super::{RunError, journal::Journal, scratch_dir::Folder};
use crate::{
    engine::Cancel,
    inventory::machine,
    plan::{Plan, ShareTest, Via},
    record::{ShareLoad, Shared},
    sysroot::Sysroot,
    target::Target,
    tools::{Runner, System, Tool, namespace, samba},
    units::decimal_bytes,
};

/// The client's directory on the drive of a target has the target's number and this.
const CLIENTS: usize = 100;
/// Memory that stays for others, bytes.
const RESERVE: u64 = 64 << 20;
/// The first version of Samba whose client takes `--client-protection`.
const OLDEST: (u32, u32) = (4, 15);

/// Why nothing can be shared here, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ShareRefusal(String);

/// Refuses, before anything is changed, a plan whose shares can't be made here.
pub fn can_share(plan: &Plan) -> Result<(), ShareRefusal> {
    plan.shares().try_for_each(|(step, act)| {
        let mut paths = step.targets().map(|at| plan.targets[at].path.as_path());
        paths.try_for_each(|path| possible(&Sysroot::live(), path, act))
    })
}

fn possible(root: &Sysroot, path: &Path, act: &ShareTest) -> Result<(), ShareRefusal> {
    let refuse = |why: String| Err(ShareRefusal(why));
    if !geteuid().is_root() {
        return refuse("a network for tests needs root: run it with sudo".to_owned());
    }
    let tools = System::default();
    let link: &[Tool] = if act.rate.is_some() { &[namespace::TC] } else { &[] };
    for tool in namespace::TOOLS.iter().chain(&samba::TOOLS).chain(link) {
        tools.find(*tool).map_err(|e| ShareRefusal(e.to_string()))?;
    }
    let version = tools.ask(&samba::version()).map(|said| said.stdout).unwrap_or_default();
    if samba::numbers(&version).is_none_or(|version| version < OLDEST) {
        return refuse(format!("Samba 4.15 or later is needed, not '{}'", version.trim()));
    }
    if let Some(dir) = &act.client_dir {
        of_client(dir, path, act.held()).map_err(ShareRefusal)?;
    }
    // What the client puts and gets, and the share in memory.
    let needed = act.kept().saturating_add(2 * act.held()).saturating_add(RESERVE);
    match machine::memory(root, "MemAvailable") {
        Some(free) if free < needed => refuse(format!(
            "{} of memory are free, and this needs {}: name less with --size",
            decimal_bytes(free),
            decimal_bytes(needed)
        )),
        _ => Ok(()),
    }
}

/// Refuses a directory of the client that has no room, or is on the filesystem that is shared.
fn of_client(dir: &Path, shared: &Path, needed: u64) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let dev = |path: &Path| path.metadata().map(|about| about.dev());
    let cannot = |e: std::io::Error| format!("--client-dir {}: {e}", dir.display());
    if dev(dir).map_err(cannot)? == dev(shared).map_err(cannot)? {
        return Err(format!(
            "--client-dir {} is on the filesystem that is shared: name a directory on another drive",
            dir.display()
        ));
    }
    let space = statvfs(dir).map_err(|e| cannot(e.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    match free < needed {
        true => Err(format!(
            "--client-dir {} has {} free, and this needs {}: name less with --size",
            dir.display(),
            decimal_bytes(free),
            decimal_bytes(needed)
        )),
        false => Ok(()),
    }
}

/// All errands, as it is and with parts of the way left out: what was measured, and why it ended early, if it did. `says` receives what
/// is done now.
pub(super) fn share_test(
    (at, target): (usize, &Target),
    act: &ShareTest,
    (journal, tools): (&Journal, &System),
    cancel: &Cancel,
    says: &mut dyn FnMut(&str),
) -> (Shared, Result<(), RunError>) {
    let mut shared = Shared { server: server(tools), ..Shared::default() };
    let mut folders = Vec::new();
    let done = (|| {
        possible(&Sysroot::live(), &target.path, act).map_err(|e| failed(&e.to_string()))?;
        says("starting a server and a client");
        for (dir, at) in [(Some(&target.path), at), (act.client_dir.as_ref(), at + CLIENTS)] {
            let Some(dir) = dir else { continue };
            let failed = |source| RunError::Folder { dir: dir.clone(), source };
            let mut folder = Folder::create(dir, journal, at).map_err(failed)?;
            folder.will_have(act.most_files()).map_err(RunError::Journal)?;
            folders.push((folder, dir));
        }
        let [on_drive, of_client] = [0, 1].map(|i| folders.get(i).map(|(folder, _)| folder));
        let mut site = Site::start((on_drive, of_client), act, tools, cancel)?;
        measure(&mut site, act, &mut shared, cancel, says)
    })();
    let mut removed = Ok(());
    for (folder, path) in folders {
        let leftover = |source| RunError::Leftover { path: path.clone(), command: "rm -r", source };
        removed = removed.and(folder.remove().map_err(leftover));
    }
    let done = match done {
        // What failed because it was stopped is no failure; wrong data is one.
        Err(e) if cancel.is_set() && !matches!(e, RunError::WrongData(_)) => Err(RunError::Interrupted),
        done => done,
    };
    (shared, done.and(removed))
}

fn measure(
    site: &mut Site<'_>,
    act: &ShareTest,
    shared: &mut Shared,
    cancel: &Cancel,
    says: &mut dyn FnMut(&str),
) -> Result<(), RunError> {
    let mut ways: Vec<Via> = act.ways().collect();
    // The order changes from one repetition to the next, so that a drive that slows down does not seem to be faster without a part.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for run in 1..=act.runs {
        site.restart(cancel)?;
        ways.shuffle(&mut random);
        for via in &ways {
            for errand in act.errands() {
                if cancel.is_set() {
                    return Err(RunError::Interrupted);
                }
                says(&format!("{}, {}, {run} of {}", act.name(errand), act.way(*via), act.runs));
                let (seconds, cores) = site.time((errand, *via), run == 1, cancel)?;
                let bytes = act.moved(errand);
                shared.loads.push(ShareLoad { errand, via: *via, run, bytes, seconds, cores });
            }
        }
        if shared.negotiated.is_none() {
            shared.negotiated = site.negotiated();
        }
    }
    Ok(())
}

/// `Samba 4.17.12-Debian`.
fn server(tools: &System) -> String {
    let said = tools.ask(&samba::version()).map(|said| said.stdout).unwrap_or_default();
    let version = said.trim().trim_start_matches("Version ");
    format!("Samba {version}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_the_client_must_be_on_another_filesystem_and_have_room() {
        let [here, there] = ["here", "there"].map(|_| tempfile::tempdir().expect("a directory"));
        let same = of_client(there.path(), here.path(), 1).expect_err("the same filesystem");
        assert!(same.contains("is on the filesystem that is shared"), "{same}");
        let memory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
        assert_eq!(of_client(memory.path(), here.path(), 1), Ok(()));
        let full = of_client(memory.path(), here.path(), 1 << 60).expect_err("too small");
        assert!(full.contains("free, and this needs 1152"), "{full}");
        let missing = of_client(Path::new("/nowhere"), here.path(), 1).expect_err("missing");
        assert!(missing.contains("/nowhere"), "{missing}");
    }
}
