//! Shares a directory with clients in network namespaces or on another machine, and times their transfers.

mod clients;
mod file_server;
mod files;
mod network;
mod nfs;
mod remote;
mod sandbox;
mod setup;
mod sftp;
mod smb;
mod transfers;

use std::{
    fs::File,
    io::Read,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs},
    path::Path,
};

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::{
    fs::{Mode, OFlags, open},
    process::geteuid,
};

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
    match act.protocol {
        Protocol::Smb => smb::is_recent(&tools)?,
        Protocol::Nfs => nfs::is_recent(root)?,
        Protocol::Sftp => {}
    }
    act.existing.as_ref().map_or(Ok(()), |existing| require_local_host(existing.host()))?;
    act.login.as_deref().map_or(Ok(String::new()), login)?;
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

/// Refuses a host of `--existing` that is another machine: the network to it would count as a cost of the share.
fn require_local_host(host: &str) -> Result<(), String> {
    let found = (host, 0)
        .to_socket_addrs()
        .map_err(|e| format!("--existing: {host} is not found ({e}): name localhost, or an address"))?;
    // Clients may use any of its addresses. That of IPv6 is in /etc/hosts where there is no IPv6, too.
    let is_own = |address: SocketAddr| {
        let ip = address.ip();
        let is_of_many = ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST);
        ip.is_loopback() || !is_of_many && TcpListener::bind(address).is_ok()
    };
    match found.into_iter().all(is_own) {
        true => Ok(()),
        false => Err(format!("--existing: {host} is not this machine: run it there, and name localhost")),
    }
}

/// Reads user and password for another server from a file.
fn login(path: &Path) -> Result<String, String> {
    const MOST: u64 = 4096;
    let read = || {
        let mut text = String::new();
        let file = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        File::from(file).take(MOST).read_to_string(&mut text).map(|_| text)
    };
    let text = read().map_err(|e| format!("--login {}: {e}", path.display()))?;
    // Without a password smbclient asks the terminal for one.
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    // What ends lines in Windows would be part of a password.
    let fits = text.len() < MOST as usize && !text.contains('\r');
    match fits && has("username=") && has("password=") {
        true => Ok(text),
        false => Err(format!(
            "--login {}: write username=NAME, and below it password=WORD, without spaces around = and without Windows line ends",
            path.display()
        )),
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
        let session =
            Self { setup: Some(setup), folder: Some(folder), has_no_network: false };
        Ok((session, shared))
    }

    /// Times all transfers over all routes: the result so far, and the error that ended it early. `says` receives the
    /// current step.
    pub fn repetition(
        &mut self,
        run: u32,
        cancel: &Cancel,
        says: &mut dyn FnMut(&str),
    ) -> (ShareResult, Result<(), RunError>) {
        let mut shared = ShareResult::default();
        let done = self.measure(run, &mut shared, cancel, says).map_err(|e| ended(e, cancel));
        (shared, done)
    }

    fn measure(
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
                    _ => setup
                        .time((kind, route), (run, run == 1), cancel)
                        .map_err(|e| hint_for_existing(&act, route, e))?,
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
        let Some(folder) = self.folder.take() else { return Ok(()) };
        let path = folder.path();
        folder.remove().map_err(|source| RunError::Leftover { path, command: "rm -r", source })
    }
}

/// The reason of an end: an error after Ctrl-C is the interruption, unless data was wrong.
fn ended(e: RunError, cancel: &Cancel) -> RunError {
    match e {
        e if !cancel.is_set() || matches!(e, RunError::WrongData(_)) => e,
        _ if cancel.is_asked() => RunError::Interrupted,
        _ => RunError::TimeUp,
    }
}

/// Adds hints to an error of the other server.
fn hint_for_existing(act: &ShareTest, route: Route, e: RunError) -> RunError {
    match (&act.existing, e) {
        (Some(at), RunError::Act(why)) if route == Route::Existing => failed(&format!(
            "{why}. Is {at} the directory that is measured, and may guests, or the user of --login, read it? If its server insists on signing: --protection sign"
        )),
        (_, e) => e,
    }
}

/// Orders the routes of a repetition so that a drift over time favours none: each second repetition has the order of the
/// one before backwards, and the next one another order.
fn order(act: &ShareTest, run: u32) -> Vec<Route> {
    let mut routes: Vec<Route> = act.routes().collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(run.div_ceil(2)));
    routes.shuffle(&mut random);
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

    #[test]
    fn a_login_has_user_and_password() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let read = |text: &str| {
            std::fs::write(file.path(), text).expect("writes");
            login(file.path())
        };
        let whole = "username=ann\npassword=\ndomain=HOME\n";
        assert_eq!(read(whole), Ok(whole.to_owned()));
        let spaced = "username = ann\npassword = secret\n";
        for lacks in ["", "username=ann\n", "password=secret\n", "username\npassword\n", spaced] {
            let why = read(lacks).expect_err("refused");
            assert!(why.contains("write username=NAME") && !why.contains("secret"), "{why}");
        }
        let why = read("username=ann\r\npassword=secret\r\n").expect_err("refused");
        assert!(why.contains("write username=NAME") && !why.contains("secret"), "{why}");
        assert_eq!(read("username=ann\npassword=a,b\n"), Ok("username=ann\npassword=a,b\n".to_owned()));
        login(Path::new("/dev/null")).expect_err("an empty file");
    }

    #[test]
    fn a_share_beside_ours_is_of_this_machine() {
        assert_eq!(require_local_host("127.0.0.1"), Ok(()));
        let far = require_local_host("192.0.2.77").expect_err("an address for documents only");
        assert!(far.contains("is not this machine"), "{far}");
        assert!(require_local_host("224.0.0.1").is_err() && require_local_host("255.255.255.255").is_err());
    }
}
