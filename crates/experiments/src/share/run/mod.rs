//! Shares a directory with clients in network namespaces or on another machine, and times their transfers.

mod file_server;
mod files;
mod many_clients;
mod nfs;
mod remote;
mod sandbox;
mod setup;
mod sftp;
mod smb;
mod transfers;

use rustix::process::geteuid;

pub(super) use self::many_clients::with_clients;
use self::{sandbox::failed, setup::Setup};
use crate::{
    engine::Cancel,
    inventory::machine,
    run::{Folder, Held, Journal, RunError},
    share::{Protocol, Route, ShareResult, ShareTest},
    sysroot::Sysroot,
    target::Target,
    tools::{self, Runner, System, Tool, namespace, openssh, samba, ssh},
    units::decimal_bytes,
};

/// Memory that stays free for other programs, in bytes.
const RESERVE: u64 = 64 << 20;
/// Most characters of the reason why the network alone was not measured.
const WORDS: usize = 400;

/// Refuses a test that cannot run on this machine, before anything is changed.
pub(super) fn check_prerequisites(root: &Sysroot, act: &ShareTest) -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("run share makes networks of its own, which needs root: run it with sudo".to_owned());
    }
    let tools = System::default();
    let link: &[Tool] = if act.rate.is_some() { &[namespace::TC] } else { &[] };
    let other: &[Tool] = if act.client.is_some() { &[ssh::SSH] } else { &[] };
    let served: &[Tool] = match act.protocol {
        Protocol::Smb => &samba::TOOLS,
        Protocol::Nfs => &tools::nfs::TOOLS,
        Protocol::Sftp => &openssh::TOOLS,
    };
    for tool in namespace::TOOLS.iter().chain(served).chain(link).chain(other) {
        tools.find(*tool).map_err(|e| e.to_string())?;
    }
    // Memory for the client's files and for the share on tmpfs.
    let needed = act.kept().saturating_add(2 * act.held()).saturating_add(RESERVE);
    match machine::memory(root, "MemAvailable") {
        Some(free) if free < needed => Err(format!(
            "{} of memory are free, and this needs {}: lower --size",
            decimal_bytes(free),
            decimal_bytes(needed)
        )),
        _ => Ok(()),
    }
}

/// A server, its clients and their directories, from the first repetition to the last.
pub(super) struct Session {
    /// Server and clients, which end before their directories are removed.
    setup: Option<Setup>,
    folder: Option<Folder>,
    /// Whether the network alone can't be measured.
    has_no_network: bool,
}

impl Session {
    /// Starts a server and a client; returns what is known of them.
    pub fn start(
        (at, target): (usize, &Target),
        act: &ShareTest,
        journal: &Journal,
        cancel: &Cancel,
    ) -> Result<(Self, ShareResult), RunError> {
        let dir = &target.path;
        let failed = |source| RunError::Folder { dir: dir.clone(), source };
        let mut folder = Folder::create(dir, journal, at).map_err(failed)?;
        folder.will_have(act.most_files()).map_err(RunError::Journal)?;
        let setup = Setup::start(&folder, act, cancel).map_err(|e| ended(e, cancel))?;
        let server = server(act.protocol, &setup.tools);
        let shared = ShareResult { server, network_port: setup.network_port(), ..ShareResult::default() };
        let session = Self { setup: Some(setup), folder: Some(folder), has_no_network: false };
        Ok((session, shared))
    }

    /// Times all transfers over all routes, and adds them to the result. `says` receives the current step.
    pub fn repetition(
        &mut self,
        run: u32,
        shared: &mut ShareResult,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> Result<(), RunError> {
        let Some(setup) = &mut self.setup else { return Err(failed("the server has ended")) };
        let act = setup.act.clone();
        setup.restart(cancel)?;
        for route in order(&act, run) {
            for kind in act.kinds().filter(|kind| act.applies(*kind, route)) {
                if cancel.is_set() {
                    return Err(RunError::Interrupted);
                }
                if route == Route::Network && self.has_no_network {
                    continue;
                }
                says(&format!("{}, {}, {run} of {}", act.name(kind), act.route_name(route), act.runs));
                let load = match route {
                    Route::Network => match setup.carried((kind, run), cancel) {
                        Err(_) if cancel.is_set() => return Err(RunError::Interrupted),
                        Err(why) => {
                            // The text comes from another machine, so its length is limited.
                            shared.no_network = Some(why.chars().take(WORDS).collect());
                            self.has_no_network = true;
                            continue;
                        }
                        Ok(load) => load,
                    },
                    _ => setup.time((kind, route), (run, run == 1), cancel)?,
                };
                shared.loads.push(load);
            }
        }
        Ok(())
    }
}

impl Held for Session {
    fn release(&mut self, _: &dyn Runner) -> Result<(), RunError> {
        self.setup = None;
        let Some(mut folder) = self.folder.take() else { return Ok(()) };
        let path = folder.path();
        folder.remove().map_err(|source| RunError::Leftover { path, command: "rm -r", source })
    }
}

/// The reason of an end: an error after Ctrl-C is the interruption, unless data was wrong.
pub(super) fn ended(e: RunError, cancel: &Cancel) -> RunError {
    match e {
        e if !cancel.is_set() || matches!(e, RunError::WrongData(_)) => e,
        _ if cancel.is_asked() => RunError::Interrupted,
        _ => RunError::TimeUp,
    }
}

/// Orders the routes of a repetition so that a drift over time favours none: each second repetition has the order of the
/// one before backwards, and the next one another order.
fn order(act: &ShareTest, run: u32) -> Vec<Route> {
    let mut routes: Vec<Route> = act.routes().collect();
    let first = run.div_ceil(2) as usize % routes.len();
    routes.rotate_left(first);
    if run % 2 == 0 {
        routes.reverse();
    }
    routes
}

/// Name and version of the server, such as `Samba 4.17.12-Debian`, `OpenSSH 9.2p1`, or `nfsd of Linux 6.12.9`.
fn server(protocol: Protocol, tools: &System) -> String {
    let ask = |query| tools.ask(&query).unwrap_or_default();
    match protocol {
        Protocol::Smb => {
            let said = ask(samba::version()).stdout;
            format!("Samba {}", said.trim().trim_start_matches("Version ")).trim_end().to_owned()
        }
        Protocol::Nfs => format!(
            "nfsd of Linux {}",
            Sysroot::live().word("/proc/sys/kernel/osrelease").unwrap_or_default()
        ),
        Protocol::Sftp => openssh::name(&ask(openssh::version())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::Protection;

    #[test]
    fn each_way_is_as_often_before_another_as_after_it() {
        let many =
            ShareTest { rate: Some(1_000_000), protection: Some(Protection::Signing), ..ShareTest::least() };
        for act in [ShareTest::least(), many] {
            let orders: Vec<Vec<Route>> = (1..=6).map(|run| order(&act, run)).collect();
            assert!(orders[0] != orders[2] || orders[2] != orders[4], "the order is not always the same");
            let at = |order: &[Route], route: Route| order.iter().position(|other| *other == route);
            for (nth, a) in act.routes().enumerate() {
                for b in act.routes().skip(nth + 1) {
                    let before = orders.iter().filter(|order| at(order, a) < at(order, b)).count();
                    assert_eq!(before, 3, "{a:?} and {b:?}");
                }
            }
        }
    }
}
