//! Shares a directory of ours with a client on a network of its own, and times what the client does.

mod apart;
mod errands;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::geteuid;

use self::apart::{Apart, failed, join, succeeded};
use super::{RunError, journal::Journal, scratch_dir::Folder};
use crate::{
    engine::Cancel,
    inventory::machine,
    plan::{Errand, Plan, ShareTest, Via},
    record::{Negotiated, PRIVATE, ShareLoad, Shared},
    sysroot::Sysroot,
    target::Target,
    tools::{Query, Runner, System, Talk, namespace::within, samba},
    units::decimal_bytes,
};

/// Addresses for documentation and tests: no network has them.
const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";
/// Of the server; nothing else is on its network.
const PORT: u16 = 4450;
/// How long smbd may take to answer.
const BEGINS: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// Memory that stays for others, bytes.
const RESERVE: u64 = 64 << 20;

/// Why nothing can be shared here, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ShareRefusal(String);

/// Refuses, before anything is changed, a plan whose shares can't be made here.
pub fn can_share(plan: &Plan) -> Result<(), ShareRefusal> {
    plan.shares().try_for_each(|(_, act)| possible(&Sysroot::live(), act))
}

fn possible(root: &Sysroot, act: &ShareTest) -> Result<(), ShareRefusal> {
    if !geteuid().is_root() {
        return Err(ShareRefusal("a network for tests needs root: run it with sudo".to_owned()));
    }
    let tools = System::default();
    for tool in [samba::SMBD, samba::PDBEDIT, samba::SMBCLIENT] {
        tools.find(tool).map_err(|e| ShareRefusal(e.to_string()))?;
    }
    // What the client puts and gets, and the share in memory.
    let needed = act.held().saturating_mul(3).saturating_add(RESERVE);
    match machine::memory(root, "MemAvailable") {
        Some(free) if free < needed => Err(ShareRefusal(format!(
            "{} of memory are free, and this needs {}: name less with --size",
            decimal_bytes(free),
            decimal_bytes(needed)
        ))),
        _ => Ok(()),
    }
}

/// All errands, as it is and with parts of the way left out. `says` receives what is done now.
pub(super) fn share_test(
    (at, target): (usize, &Target),
    act: &ShareTest,
    (journal, tools): (&Journal, &System),
    cancel: &Cancel,
    says: &mut dyn FnMut(&str),
) -> Result<Shared, RunError> {
    possible(&Sysroot::live(), act).map_err(|e| RunError::Share(e.to_string()))?;
    says("starting a server and a client");
    let mut folder = Folder::create(&target.path, journal, at)
        .map_err(|source| RunError::Folder { dir: target.path.clone(), source })?;
    folder.will_have(act.files + 1).map_err(RunError::Journal)?;
    let site = Site::start(&folder.path(), act, tools)?;
    let mut shared = Shared { server: server(tools), ..Shared::default() };
    'runs: for run in 1..=act.runs {
        for via in Via::ALL {
            for errand in Errand::ALL {
                if cancel.is_set() {
                    break 'runs;
                }
                says(&format!("{}, {}, {run} of {}", act.name(errand), via.words(), act.runs));
                let seconds = site.time(errand, via)?;
                if run == 1 {
                    site.verify(errand, via)?;
                }
                let bytes = act.moved(errand);
                shared.loads.push(ShareLoad { errand, via, run, bytes, seconds });
            }
        }
        shared.negotiated = shared.negotiated.or_else(|| site.negotiated());
    }
    drop(site);
    folder.remove().map_err(|source| RunError::Leftover {
        path: target.path.clone(),
        command: "rm -r",
        source,
    })?;
    if cancel.is_set() { Err(RunError::Interrupted) } else { Ok(shared) }
}

/// `Samba 4.17.12-Debian`.
fn server(tools: &System) -> String {
    let said = tools.ask(&samba::version()).map(|said| said.stdout).unwrap_or_default();
    let version = said.trim().trim_start_matches("Version ");
    format!("Samba {version}").trim_end().to_owned()
}

/// A server and a client.
struct Site<'a> {
    act: &'a ShareTest,
    tools: &'a System,
    /// On the drive.
    folder: PathBuf,
    server: Apart,
    client: Apart,
    _serves: Talk,
}

impl<'a> Site<'a> {
    fn start(folder: &Path, act: &'a ShareTest, tools: &'a System) -> Result<Self, RunError> {
        let server = Apart::start(tools, folder)?;
        let client = Apart::start(tools, folder)?;
        join((&server, &format!("{SERVER}/30")), (&client, &format!("{CLIENT}/30")), act.rate, tools)?;
        let cannot = |e: io::Error| failed(&format!("files in memory: {e}"));
        let password = password()?;
        for dir in ["private", "lock", "state", "cache", "pid", "ncalrpc", "memory"] {
            make_dir(&server.file(dir)).map_err(cannot)?;
        }
        write(&server.file("conf"), &config(&server.room, folder)).map_err(cannot)?;
        write(&client.file("login"), &format!("username=root\npassword={password}\n")).map_err(cannot)?;
        for dir in ["from", "to"] {
            make_dir(&client.file(dir)).map_err(cannot)?;
        }
        errands::make(&client.file("from"), act).map_err(cannot)?;
        let conf = server.room.join("conf");
        let conf = conf.to_string_lossy();
        let mut asks = tools.talk(&within(server.pid, server.pid, &samba::add_user(&conf, "root")))?;
        asks.say(&format!("{password}\n{password}\n")).map_err(cannot)?;
        let said = asks.end(BEGINS);
        if said.code != Some(0) {
            return Err(failed(&format!("pdbedit made no user: {}", said.complaint())));
        }
        let serves = tools.talk(&within(server.pid, server.pid, &samba::serve(&conf)))?;
        let site = Self { act, tools, folder: folder.to_owned(), server, client, _serves: serves };
        let since = Instant::now();
        while let Err(e) = succeeded(&site.client(Via::Whole, "exit"), tools) {
            if since.elapsed() > BEGINS {
                return Err(e);
            }
            thread::sleep(POLL);
        }
        Ok(site)
    }

    /// The client with these commands.
    fn client(&self, via: Via, commands: &str) -> Query {
        let (network, address) = match via.has_link() {
            true => (self.client.pid, SERVER),
            false => (self.server.pid, "127.0.0.1"),
        };
        let share = if via.has_drive() { "drive" } else { "memory" };
        let login = self.client.room.join("login");
        within(
            network,
            self.client.pid,
            &samba::client(&format!("//{address}/{share}"), PORT, &login, commands),
        )
    }

    /// Where the files of the share are, as this program sees them.
    fn files(&self, via: Via) -> PathBuf {
        if via.has_drive() { self.folder.clone() } else { self.server.file("memory") }
    }

    /// How long it takes, without the connection, s.
    fn time(&self, errand: Errand, via: Via) -> Result<f64, RunError> {
        let (files, names) = (self.files(via), errands::names(self.act, errand));
        let on_drive = |e: io::Error| failed(&format!("files in {}: {e}", self.folder.display()));
        if !errand.puts() {
            errands::cool(&files, &names).map_err(on_drive)?;
        }
        if via == Via::Drive {
            let begun = Instant::now();
            match errand.puts() {
                true => errands::put(&self.client.file("from"), &files, &names).map_err(on_drive)?,
                false => errands::get(&files, &names).map_err(on_drive)?,
            }
            return Ok(begun.elapsed().as_secs_f64());
        }
        let begun = Instant::now();
        succeeded(&self.client(via, "exit"), self.tools)?;
        let connected = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        succeeded(&self.client(via, &errands::commands(errand, &self.client.room)), self.tools)?;
        if errand.puts() {
            errands::sync(&files).map_err(on_drive)?;
        }
        // A connection may take longer once than another time.
        let seconds = begun.elapsed().as_secs_f64();
        Ok(if seconds > 2.0 * connected { seconds - connected } else { seconds })
    }

    /// That what was put or got is what was there.
    fn verify(&self, errand: Errand, via: Via) -> Result<(), RunError> {
        let names = errands::names(self.act, errand);
        let (from, to) = match errand.puts() {
            true => (self.client.file("from"), self.files(via)),
            false if via == Via::Drive => return Ok(()),
            false => (self.files(via), self.client.file("to")),
        };
        match errands::differs(&from, &to, &names) {
            Ok(None) => Ok(()),
            Ok(Some(name)) => Err(failed(&format!(
                "WRONG DATA: file {name} is not what it was before, {}, {}",
                self.act.name(errand),
                via.words()
            ))),
            Err(e) => Err(failed(&format!("files can't be compared: {e}"))),
        }
    }

    /// What the server says of a connection.
    fn negotiated(&self) -> Option<Negotiated> {
        let conf = self.server.room.join("conf");
        let mut client = self.tools.talk(&self.client_that_stays()).ok()?;
        // It is connected once it answers.
        client.say("pwd\n").ok()?;
        client.hear(BEGINS).ok()?;
        let said = self.server.run(&samba::connections(&conf.to_string_lossy()), self.tools).ok();
        client.end(Duration::ZERO);
        let [dialect, signing, encryption] = samba::negotiated(&said?)?;
        Some(Negotiated { dialect, signing, encryption })
    }

    fn client_that_stays(&self) -> Query {
        let login = self.client.room.join("login");
        within(
            self.client.pid,
            self.client.pid,
            &samba::client_that_stays(&format!("//{SERVER}/drive"), PORT, &login),
        )
    }
}

/// Nothing of a server that may run beside it is used.
fn config(room: &Path, drive: &Path) -> String {
    let (room, drive) = (room.display(), drive.display());
    format!(
        "[global]\n\
         server role = standalone server\n\
         bind interfaces only = yes\n\
         interfaces = {SERVER}/30 127.0.0.1/8\n\
         smb ports = {PORT}\n\
         private dir = {room}/private\n\
         lock directory = {room}/lock\n\
         state directory = {room}/state\n\
         cache directory = {room}/cache\n\
         pid directory = {room}/pid\n\
         ncalrpc dir = {room}/ncalrpc\n\
         log file = {room}/log\n\
         passdb backend = tdbsam:{room}/private/passdb.tdb\n\
         disable netbios = yes\n\
         disable spoolss = yes\n\
         load printers = no\n\
         map to guest = never\n\
         usershare max shares = 0\n\
         [drive]\n\
         path = {drive}\n\
         read only = no\n\
         valid users = root\n\
         [memory]\n\
         path = {room}/memory\n\
         read only = no\n\
         valid users = root\n"
    )
}

/// A random one, which nobody is told, and which is gone with the server.
fn password() -> Result<String, RunError> {
    let uuid = Sysroot::live().word("/proc/sys/kernel/random/uuid");
    uuid.ok_or_else(|| failed("the kernel gives no random number for a password"))
}

fn make_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?.write_all(text.as_bytes())
}
