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
    conditions::{Core, ProcessorWatch},
    engine::Cancel,
    inventory::machine,
    plan::{Errand, Part, Plan, Protection, ShareTest, Via},
    record::{Negotiated, PRIVATE, ShareLoad, Shared},
    sysroot::Sysroot,
    target::Target,
    tools::{
        Query, Runner, System, Talk,
        namespace::within,
        samba::{self, Mounted, is_mark},
    },
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
/// The client's directory on the drive of a target has the target's number and this.
const CLIENTS: usize = 100;
/// The directory in the client's memory for what it got.
const GOT: &str = "got";
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
    let needed = act.kept().saturating_add(2 * act.held()).saturating_add(RESERVE);
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
    let most = act.errands().map(|errand| act.set(errand).0).max().unwrap_or(0);
    let folder = |dir: &Path, at: usize| -> Result<Folder, RunError> {
        let failed = |source| RunError::Folder { dir: dir.to_owned(), source };
        let mut folder = Folder::create(dir, journal, at).map_err(failed)?;
        folder.will_have(most).map_err(RunError::Journal)?;
        Ok(folder)
    };
    let on_drive = folder(&target.path, at)?;
    let of_client = act.client_dir.as_deref().map(|dir| folder(dir, at + CLIENTS)).transpose()?;
    let paths = (on_drive.path(), of_client.as_ref().map(Folder::path));
    let mut site = Site::start(paths, act, tools)?;
    let mut shared = Shared { server: server(tools), ..Shared::default() };
    'runs: for run in 1..=act.runs {
        site.restart()?;
        for via in act.ways() {
            for errand in act.errands() {
                if cancel.is_set() {
                    break 'runs;
                }
                says(&format!("{}, {}, {run} of {}", act.name(errand), act.way(via), act.runs));
                match site.time((errand, via), run == 1, cancel) {
                    Ok((seconds, cores)) => {
                        let bytes = act.moved(errand);
                        shared.loads.push(ShareLoad { errand, via, run, bytes, seconds, cores });
                    }
                    // What was cut off is no failure.
                    Err(_) if cancel.is_set() => break 'runs,
                    Err(e) => return Err(e),
                }
            }
        }
        shared.negotiated = shared.negotiated.or_else(|| site.negotiated());
    }
    drop(site);
    for (folder, path) in [(Some(on_drive), Some(&target.path)), (of_client, act.client_dir.as_ref())] {
        let (Some(folder), Some(path)) = (folder, path) else { continue };
        let leftover = |source| RunError::Leftover { path: path.clone(), command: "rm -r", source };
        folder.remove().map_err(leftover)?;
    }
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
    /// On the server's drive, and on the client's.
    on_drive: PathBuf,
    of_client: Option<PathBuf>,
    server: Apart,
    client: Apart,
    serves: Option<Talk>,
}

impl<'a> Site<'a> {
    fn start(
        (on_drive, of_client): (PathBuf, Option<PathBuf>),
        act: &'a ShareTest,
        tools: &'a System,
    ) -> Result<Self, RunError> {
        let server = Apart::start(tools, &on_drive)?;
        let client = Apart::start(tools, of_client.as_deref().unwrap_or(&on_drive))?;
        join((&server, &format!("{SERVER}/30")), (&client, &format!("{CLIENT}/30")), act.rate, tools)?;
        let cannot = |e: io::Error| failed(&format!("files in memory: {e}"));
        let password = password()?;
        for dir in ["private", "lock", "state", "cache", "pid", "ncalrpc", "memory"] {
            make_dir(&server.file(dir)).map_err(cannot)?;
        }
        write(&server.file("conf"), &config(&server.room, &on_drive)).map_err(cannot)?;
        write(&client.file("login"), &format!("username=root\npassword={password}\n")).map_err(cannot)?;
        make_dir(&client.file(GOT)).map_err(cannot)?;
        for (seed, errand) in act.errands().filter(|errand| errand.puts()).enumerate() {
            let dir = client.file(set_name(errand));
            make_dir(&dir)
                .and_then(|()| errands::make(&dir, act.set(errand), seed as u64))
                .map_err(cannot)?;
        }
        let conf = server.room.join("conf");
        let mut asks =
            tools.talk(&within(server.pid, server.pid, &samba::add_user(&conf.to_string_lossy(), "root")))?;
        asks.say(&format!("{password}\n{password}\n")).map_err(cannot)?;
        let said = asks.end(BEGINS);
        if said.code != Some(0) {
            return Err(failed(&format!("pdbedit made no user: {}", said.complaint())));
        }
        Ok(Self { act, tools, on_drive, of_client, server, client, serves: None })
    }

    /// A server that has just started, and served once: the first transfers of some are slower.
    fn restart(&mut self) -> Result<(), RunError> {
        if let Some(mut serves) = self.serves.take() {
            serves.end(BEGINS);
        }
        let conf = self.server.room.join("conf");
        let serve = within(self.server.pid, self.server.pid, &samba::serve(&conf.to_string_lossy()));
        self.serves = Some(self.tools.talk(&serve)?);
        let since = Instant::now();
        while let Err(e) = succeeded(&self.mounted(Via::Whole, |m| m.client("ls")), self.tools) {
            if since.elapsed() > BEGINS {
                return Err(e);
            }
            thread::sleep(POLL);
        }
        for errand in [Errand::Put, Errand::Get] {
            self.time((errand, Via::WithoutAll), false, &Cancel::default())?;
        }
        Ok(())
    }

    /// A client, from where this way begins.
    fn mounted(&self, via: Via, client: impl Fn(&Mounted<'_>) -> Query) -> Query {
        let (network, address) = match via.has(Part::Link) {
            true => (self.client.pid, SERVER),
            false => (self.server.pid, "127.0.0.1"),
        };
        let share = if via.has(Part::Drive) { "drive" } else { "memory" };
        let protection = match self.act.protection.filter(|_| via.has(Part::Protection)) {
            Some(Protection::Signing) => "sign",
            Some(Protection::Encryption) => "encrypt",
            None => "off",
        };
        let login = self.client.room.join("login");
        let mounted =
            Mounted { share: format!("//{address}/{share}"), port: PORT, login: &login, protection };
        within(network, self.client.pid, &client(&mounted))
    }

    /// Where the files of the share are, as this program sees them.
    fn files(&self, via: Via) -> PathBuf {
        if via.has(Part::Drive) { self.on_drive.clone() } else { self.server.file("memory") }
    }

    /// Where the client's files are, as it sees them and as this program does.
    fn files_of_client(&self, name: &str, via: Via) -> [PathBuf; 2] {
        match self.of_client.as_ref().filter(|_| via.has(Part::ClientDrive)) {
            Some(dir) => [dir.clone(), dir.clone()],
            None => [self.client.room.join(name), self.client.file(name)],
        }
    }

    /// How long it takes, s, and how busy the processors are meanwhile. What has come is compared, in length or byte by byte.
    fn time(
        &self,
        (errand, via): (Errand, Via),
        read: bool,
        cancel: &Cancel,
    ) -> Result<(f64, Vec<Core>), RunError> {
        let on_drive = |e: io::Error| failed(&format!("{}: {e}", self.act.name(errand)));
        let (files, source) = (self.files(via), self.client.file(set_name(errand)));
        let count = self.act.set(errand).0;
        let most = self.act.errands().map(|errand| self.act.set(errand).0).max().unwrap_or(0);
        let has_drive = self.of_client.is_some() && via.has(Part::ClientDrive) && via != Via::Server;
        let name = if errand.puts() { set_name(errand) } else { GOT };
        let [seen, own] = self.files_of_client(name, via);
        let ready = || {
            if has_drive || !errand.puts() {
                errands::clear(&own, most)?;
            }
            match errand.puts() {
                true => {
                    errands::clear(&files, most)?;
                    if has_drive {
                        errands::put(&source, &own, count)?;
                        errands::cool(&own, count)?;
                    }
                    errands::sync(&files)
                }
                false => errands::cool(&files, count),
            }
        };
        ready().map_err(on_drive)?;
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let seconds = match (via, errand.puts()) {
            (Via::Server, true) => {
                errands::put(&source, &files, count).map_err(on_drive)?;
                since.elapsed().as_secs_f64()
            }
            (Via::Server, false) => {
                errands::get(&files, count).map_err(on_drive)?;
                since.elapsed().as_secs_f64()
            }
            _ => {
                let moving = self.clients((errand, via), &seen, cancel)?;
                let moved = Instant::now();
                if errand.puts() {
                    errands::sync(&files).map_err(on_drive)?;
                } else if has_drive {
                    errands::sync(&own).map_err(on_drive)?;
                }
                moving + moved.elapsed().as_secs_f64()
            }
        };
        let cores = watch.end(&root, since.elapsed().as_secs_f64()).cores;
        let came = match (via, errand.puts()) {
            (Via::Server, false) => return Ok((seconds, cores)),
            (_, true) => &files,
            (_, false) => &own,
        };
        match errands::differs(&source, came, count, read) {
            Ok(None) => Ok((seconds, cores)),
            Ok(Some(number)) => Err(failed(&format!(
                "WRONG DATA: file {number} of {} is not what it was before, {}",
                self.act.name(errand),
                self.act.way(via)
            ))),
            Err(e) => Err(on_drive(e)),
        }
    }

    /// From when the first client begins until the last one ends, s, without their connections.
    fn clients(&self, (errand, via): (Errand, Via), dir: &Path, cancel: &Cancel) -> Result<f64, RunError> {
        let dir = dir.display();
        let each = match (errand, errand.puts()) {
            (Errand::PutSmall, _) => vec![format!("lcd {dir}; prompt; mput *")],
            (Errand::GetSmall, _) => vec![format!("lcd {dir}; prompt; mget *")],
            (_, puts) => {
                let verb = if puts { "put" } else { "get" };
                (0..self.act.set(errand).0).map(|number| format!("lcd {dir}; {verb} {number}")).collect()
            }
        };
        let queries: Vec<Query> =
            each.iter().map(|commands| self.mounted(via, |m| m.client(commands))).collect();
        let tools = self.tools;
        let times = thread::scope(|scope| {
            let start = |query| scope.spawn(move || one_client(query, tools, cancel));
            let all: Vec<_> = queries.iter().map(start).collect();
            let ended = |client: thread::ScopedJoinHandle<'_, Result<[Instant; 2], RunError>>| {
                client.join().unwrap_or_else(|_| Err(failed("a client ended unexpectedly")))
            };
            all.into_iter().map(ended).collect::<Result<Vec<_>, _>>()
        })?;
        let begins = times.iter().map(|[begins, _]| *begins).min();
        let ends = times.iter().map(|[_, ends]| *ends).max();
        Ok(begins.zip(ends).map_or(0.0, |(begins, ends)| (ends - begins).as_secs_f64()))
    }

    /// What the server says of a connection.
    fn negotiated(&self) -> Option<Negotiated> {
        let conf = self.server.room.join("conf");
        let mut client = self.tools.talk(&self.mounted(Via::Whole, |m| m.client_that_stays())).ok()?;
        // It is connected once it answers.
        client.say("pwd\n").ok()?;
        while !is_mark(&client.hear(BEGINS).ok()?) {}
        let said = self.server.run(&samba::connections(&conf.to_string_lossy()), self.tools).ok();
        client.end(Duration::ZERO);
        let [dialect, signing, encryption] = samba::negotiated(&said?)?;
        Some(Negotiated { dialect, signing, encryption })
    }
}

/// When a client begins, once it is connected, and ends.
fn one_client(query: &Query, tools: &System, cancel: &Cancel) -> Result<[Instant; 2], RunError> {
    let (mut marks, mut said) = (Vec::new(), String::new());
    let output = tools.stream(query, &|| cancel.is_set(), &mut |line| match is_mark(line) {
        true => marks.push(Instant::now()),
        false => said.extend([line.trim(), " "]),
    })?;
    match (output.code, &marks[..]) {
        (Some(0), [begins, ends]) => Ok([*begins, *ends]),
        _ => {
            let said = [said.trim(), output.stderr.trim()].join(" ");
            Err(failed(&format!("'{query}' failed: {}", said.trim())))
        }
    }
}

/// The directory of the client with the files of an errand.
fn set_name(errand: Errand) -> &'static str {
    match errand {
        Errand::Put | Errand::Get => "large",
        Errand::PutSmall | Errand::GetSmall => "small",
        Errand::PutSeveral | Errand::GetSeveral => "several",
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
