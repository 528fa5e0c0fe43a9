//! A server and its clients.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    net::TcpListener,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    super::{RunError, scratch_dir::Folder},
    apart::{Apart, OWN, failed, join},
    errands::{self, Differs, GOT, LARGE, SEVERAL, SMALL, Stop},
    plain::{self, Networks},
    remote::Remote,
    smb_conf::{Serves, smb_conf},
};
use crate::{
    conditions::{Core, ProcessorWatch},
    engine::Cancel,
    plan::{Errand, Part, Protection, ShareTest, Via},
    record::{Negotiated, PRIVATE},
    sysroot::Sysroot,
    tools::{
        Query, Runner, System, Talk,
        namespace::within,
        samba::{self, Mounted, is_mark},
    },
};

/// Addresses for documentation and tests: no network has them.
const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";
/// Of a server with a network of its own.
const PORT: u16 = 4450;
/// How long smbd may take to answer.
const BEGINS: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// How long a client may take to be connected, or to end.
const ANSWERS: Duration = Duration::from_secs(10);
/// How long a client may take at most: so long, and eight times what the link, or one of this rate, takes for the bytes.
const LEAST: Duration = Duration::from_secs(600);
const SLOW_LINK: u64 = 8_000_000;
/// The share in memory.
const MEMORY: &str = "memory";
/// Files of the server, and of a client, besides those that are moved.
const OTHERS: u64 = 10_000;
const OTHER_BYTES: u64 = 32 << 20;

/// They end in this order: who uses the server on another machine ends once that has ended.
pub(super) struct Site<'a> {
    act: &'a ShareTest,
    tools: &'a System,
    smbclient: PathBuf,
    serves: Option<Talk>,
    server: Apart,
    client: Apart,
    remote: Option<Remote>,
    /// The client on another machine has the files that it puts.
    is_equipped: bool,
    port: u16,
}

impl<'a> Site<'a> {
    pub fn start(
        (on_drive, of_client): (Option<&Folder>, Option<&Folder>),
        act: &'a ShareTest,
        tools: &'a System,
        cancel: &Cancel,
    ) -> Result<Self, RunError> {
        let (bytes, files) = (act.held() + OTHER_BYTES, act.most_files() + OTHERS);
        let password = random()?;
        let start = |at| Remote::start(at, &random()?, &password, tools, cancel);
        let remote = act.client.as_ref().map(start).transpose()?;
        let server = Apart::start(tools, on_drive, (bytes, files), remote.is_none())?;
        let client = Apart::start(tools, of_client, (bytes + act.kept(), 3 * files), true)?;
        let serves = match &remote {
            None => {
                let [its, other] = [SERVER, CLIENT].map(|address| format!("{address}/30"));
                join((&server, &its), (&client, &other), act.rate, tools)?;
                Serves { at: its, to: None, port: PORT }
            }
            Some(Remote { addresses: [ours, theirs], .. }) => {
                let free = TcpListener::bind((*ours, 0)).and_then(|listener| listener.local_addr());
                let port = free.map_err(|e| failed(&format!("no free port of {ours}: {e}")))?.port();
                Serves { at: ours.to_string(), to: Some(*theirs), port }
            }
        };
        let cannot = |e: io::Error| failed(&format!("files in memory: {e}"));
        for dir in ["private", "lock", "state", "cache", "pid", "ncalrpc", "winbindd", MEMORY] {
            fs::create_dir(server.file(dir)).map_err(cannot)?;
        }
        write(&server.file("conf"), &smb_conf(&server.room, (OWN, MEMORY), &serves)).map_err(cannot)?;
        write(&client.file("conf"), "[global]\n").map_err(cannot)?;
        write(&client.file("login"), &format!("username=root\npassword={password}\n")).map_err(cannot)?;
        fs::create_dir(client.file(GOT)).map_err(cannot)?;
        let stop = || cancel.is_set();
        for (seed, errand) in act.errands().filter(|errand| errand.puts()).enumerate() {
            let dir = client.file(set_name(errand));
            fs::create_dir(&dir)
                .and_then(|()| errands::make(&dir, act.set(errand), seed as u64, &stop))
                .map_err(cannot)?;
        }
        let conf = server.room.join("conf");
        let add = samba::add_user(&conf.to_string_lossy(), "root");
        let mut asks = tools.talk(&within(server.pid, server.pid, &add, tools)?)?;
        // If it has ended, it says why.
        let _ = asks.say(&format!("{password}\n{password}\n"));
        let said = asks.end(BEGINS);
        if said.code != Some(0) {
            return Err(failed(&format!("pdbedit made no user: {}", said.complaint())));
        }
        let smbclient = tools.find(samba::SMBCLIENT)?;
        let (is_equipped, port) = (remote.is_none(), serves.port);
        Ok(Self { act, tools, smbclient, serves: None, server, client, remote, is_equipped, port })
    }

    /// Gives a client on another machine the files that it puts later.
    fn equip(&self, cancel: &Cancel) -> Result<(), RunError> {
        for errand in self.act.errands().filter(|errand| errand.puts()) {
            let (dir, count) = (set_name(errand), self.act.set(errand).0);
            let (source, shared) = (self.client.file(dir), self.server.file(MEMORY));
            let cannot = |e: io::Error| failed(&format!("files for the client: {e}"));
            errands::put(&source, &shared, count, false, &|| cancel.is_set()).map_err(cannot)?;
            let via = Via::Without(Part::Drive);
            let commands = format!("lcd {dir}; prompt; mget *");
            let query = self.client(via, &commands, self.longest(errand))?;
            let said = self.tools.stream(&query, &|| cancel.is_set(), &mut |_| ())?;
            if said.code != Some(0) {
                return Err(failed(&format!("{} failed: {}", self.called(via, &query), said.complaint())));
            }
            errands::clear(&shared, count).map_err(cannot)?;
        }
        Ok(())
    }

    /// A server that has just started, and served once: its first transfers may be slower.
    pub fn restart(&mut self, cancel: &Cancel) -> Result<(), RunError> {
        if let Some(mut serves) = self.serves.take() {
            serves.end(BEGINS);
        }
        let conf = self.server.room.join("conf");
        let serve = samba::serve(&conf.to_string_lossy());
        let serve = within(self.server.pid, self.server.pid, &serve, self.tools)?;
        self.serves = Some(self.tools.talk(&serve)?);
        let since = Instant::now();
        let looks = self.client(Via::Whole, "ls", ANSWERS)?;
        loop {
            let said = self.tools.ask(&looks)?;
            if said.code == Some(0) {
                break;
            }
            let has_ended = self.serves.as_mut().is_some_and(Talk::has_ended);
            if has_ended {
                let log = fs::read_to_string(self.server.file("log")).unwrap_or_default();
                let last =
                    log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
                return Err(failed(&format!("smbd has ended: {}", last.trim())));
            }
            if cancel.is_set() || since.elapsed() > BEGINS {
                let called = self.called(Via::Whole, &looks);
                return Err(match self.remote.as_ref().map(|remote| remote.addresses[0]) {
                    Some(address) => failed(&format!(
                        "{called} does not reach the server, port {} of {address}; is there a firewall? {}",
                        self.port,
                        said.complaint()
                    )),
                    None => failed(&format!("{called} failed: {}", said.complaint())),
                });
            }
            thread::sleep(POLL);
        }
        if !self.is_equipped {
            self.equip(cancel)?;
            self.is_equipped = true;
        }
        for errand in [Errand::Put, Errand::Get] {
            self.time((errand, Via::Whole), false, cancel)?;
        }
        Ok(())
    }

    /// The client on another machine, if this way begins there.
    fn remote(&self, via: Via) -> Option<&Remote> {
        self.remote.as_ref().filter(|_| via.has(Part::Link))
    }

    /// A client, from where this way begins; it waits for commands if there are none.
    fn client(&self, via: Via, commands: &str, patience: Duration) -> Result<Query, RunError> {
        let share = if via.has(Part::Drive) { "drive" } else { MEMORY };
        let protection = match self.act.protection.filter(|_| via.has(Part::Protection)) {
            Some(Protection::Signing) => "sign",
            Some(Protection::Encryption) => "encrypt",
            None => "off",
        };
        let remote = self.remote(via);
        let address = match (remote, via.has(Part::Link)) {
            (Some(remote), _) => remote.addresses[0].to_string(),
            (None, true) => SERVER.to_owned(),
            (None, false) => "127.0.0.1".to_owned(),
        };
        // On another machine it begins in the directory with its files.
        let (program, room) = match remote {
            Some(_) => (Path::new(samba::SMBCLIENT.name), Path::new("")),
            None => (self.smbclient.as_path(), self.client.room.as_path()),
        };
        let [config, login] = ["conf", "login"].map(|name| room.join(name));
        let mounted = Mounted {
            program,
            config: &config,
            share: format!("//{address}/{share}"),
            port: self.port,
            login: &login,
            protection,
            patience,
        };
        let query = if commands.is_empty() { mounted.client_that_stays() } else { mounted.client(commands) };
        let network = if via.has(Part::Link) { self.client.pid } else { self.server.pid };
        match remote {
            Some(remote) => Ok(remote.in_dir(&query)),
            None => Ok(within(network, self.client.pid, &query, self.tools)?),
        }
    }

    /// What a client is called in messages.
    fn called(&self, via: Via, query: &Query) -> String {
        match (self.remote(via), &self.act.client) {
            (Some(_), Some(at)) => format!("smbclient on {}", at.host()),
            _ => format!("'{query}'"),
        }
    }

    /// Where the files of the share are, as this program sees them.
    fn files(&self, via: Via) -> PathBuf {
        self.server.file(if via.has(Part::Drive) { OWN } else { MEMORY })
    }

    /// How long it takes, s, and how busy the processors are meanwhile. What has come is compared, in length or byte by byte.
    pub fn time(
        &self,
        (errand, via): (Errand, Via),
        read: bool,
        cancel: &Cancel,
    ) -> Result<(f64, Vec<Core>), RunError> {
        let name = self.act.name(errand);
        let cannot = |e: io::Error| failed(&format!("{name}, {}: {e}", self.act.way(via)));
        let stop = || cancel.is_set();
        let (files, source) = (self.files(via), self.client.file(set_name(errand)));
        let (count, most) = (self.act.set(errand).0, self.act.most_files());
        let has_drive = self.act.client_dir.is_some() && via.has(Part::ClientDrive);
        let dir = match (has_drive, errand.puts()) {
            (true, _) => OWN,
            (false, true) => set_name(errand),
            (false, false) => GOT,
        };
        let own = self.client.file(dir);
        let ready = || {
            if has_drive || !errand.puts() {
                errands::clear(&own, most)?;
            }
            if !errand.puts() {
                errands::sync(&own)?;
                return errands::cool(&files, count);
            }
            errands::clear(&files, most)?;
            if has_drive {
                errands::put(&source, &own, count, false, &stop)?;
                errands::cool(&own, count)?;
            }
            errands::sync(&files)
        };
        ready().map_err(cannot)?;
        let remote = self.remote(via);
        if let Some(remote) = remote.filter(|_| !errand.puts()) {
            remote.clear(GOT, self.tools)?;
        }
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let at_once = errand.has_several_clients();
        let mut said = String::new();
        let seconds = match (via, errand.puts()) {
            (Via::Server, true) => {
                errands::put(&source, &files, count, at_once, &stop).map_err(cannot)?;
                since.elapsed().as_secs_f64()
            }
            (Via::Server, false) => {
                errands::get(&files, count, at_once, &stop).map_err(cannot)?;
                since.elapsed().as_secs_f64()
            }
            (_, puts) => {
                let there = match remote {
                    Some(_) => PathBuf::from(dir),
                    None => self.client.room.join(dir),
                };
                let moved = match via.has(Part::Protocol) {
                    true => self.clients((errand, via), &there, cancel)?,
                    false => self.plain(errand, (&files, &self.client.file(dir)), &stop).map_err(cannot)?,
                };
                said = moved.said;
                // What is put has come once it is on the drive, and so has what is got by a client with a drive.
                match (puts, has_drive) {
                    (true, _) => errands::sync(&files).map_err(cannot)?,
                    (false, true) => errands::sync(&own).map_err(cannot)?,
                    (false, false) => {}
                }
                let is_there = !puts && !has_drive;
                let ends = if is_there { moved.ends } else { Instant::now() };
                (ends - moved.begins).as_secs_f64()
            }
        };
        let cores = watch.end(&root, since.elapsed().as_secs_f64()).cores;
        let came = match (via, errand.puts()) {
            (Via::Server, false) => return Ok((seconds, cores)),
            (_, true) => &files,
            (_, false) => &own,
        };
        let way = self.act.way(via);
        let differs = match remote.filter(|_| !errand.puts()) {
            // Which file differs is not known from there.
            Some(remote) => {
                let differs = remote.differs([set_name(errand), GOT], read, self.tools)?;
                differs.map(|how| ("a file".to_owned(), how))
            }
            None => {
                let differs = errands::differs(&source, came, count, read, &stop).map_err(cannot)?;
                differs.map(|(number, how)| (format!("file {number}"), how))
            }
        };
        match differs {
            None => Ok((seconds, cores)),
            Some((_, Differs::Length)) => Err(failed(&format!("{name}, {way}: not all came: {said}"))),
            Some((file, Differs::Bytes)) => Err(RunError::WrongData(format!(
                "{name}, {way}: {file} has other bytes {}",
                if errand.puts() { "in the server's memory than were put" } else { "than were shared" }
            ))),
        }
    }

    fn clients(&self, (errand, via): (Errand, Via), dir: &Path, cancel: &Cancel) -> Result<Moved, RunError> {
        let verb = if errand.puts() { "put" } else { "get" };
        if errand.has_several_clients() {
            return self.several((errand, via), dir, cancel);
        }
        let commands = match errand {
            Errand::PutSmall | Errand::GetSmall => format!("lcd {}; prompt; m{verb} *", dir.display()),
            _ => format!("lcd {}; {verb} 0", dir.display()),
        };
        let query = self.client(via, &commands, self.longest(errand))?;
        let (mut marks, mut said) = (Vec::new(), String::new());
        let output = self.tools.stream(&query, &|| cancel.is_set(), &mut |line| match is_mark(line) {
            true => marks.push(Instant::now()),
            false => said.extend([line.trim(), " "]),
        })?;
        let said = said + output.stderr.trim();
        match (output.code, &marks[..]) {
            (Some(0), [begins, ends]) => Ok(Moved { begins: *begins, ends: *ends, said }),
            _ => Err(failed(&format!("{} failed: {said}", self.called(via, &query)))),
        }
    }

    /// Without the protocol, over the link.
    fn plain(&self, errand: Errand, (served, clients): (&Path, &Path), stop: Stop<'_>) -> io::Result<Moved> {
        let networks = Networks { server: self.server.pid, address: SERVER, client: self.client.pid };
        let files = self.act.set(errand).0;
        let connections = networks.connect(if errand.has_several_clients() { files } else { 1 })?;
        let (from, to) = if errand.puts() { (clients, served) } else { (served, clients) };
        let begins = Instant::now();
        plain::transfer(connections, errand.puts(), (from, to), files, stop)?;
        Ok(Moved { begins, ends: Instant::now(), said: String::new() })
    }

    /// All are connected before any begins.
    fn several(&self, (errand, via): (Errand, Via), dir: &Path, cancel: &Cancel) -> Result<Moved, RunError> {
        let verb = if errand.puts() { "put" } else { "get" };
        let query = self.client(via, "", self.longest(errand))?;
        let called = self.called(via, &query);
        let gone = |_| failed(&format!("{called} has ended, or does not answer"));
        let clients = 0..self.act.set(errand).0;
        let mut all: Vec<Talk> =
            clients.map(|_| self.connected(&query, &called)).collect::<Result<_, _>>()?;
        let begins = Instant::now();
        for (number, client) in all.iter_mut().enumerate() {
            let (there, here) = (number, dir.join(number.to_string()));
            let line = match errand.puts() {
                true => format!("{verb} {} {there}\n", here.display()),
                false => format!("{verb} {there} {}\n", here.display()),
            };
            client.say(&line).map_err(gone)?;
            client.says_no_more();
        }
        let (mut said, mut ends) = (String::new(), begins);
        for client in &mut all {
            while let Some(line) =
                client.next_line(&|| cancel.is_set() || begins.elapsed() > self.longest(errand))
            {
                said.extend([line.trim(), " "]);
            }
            ends = ends.max(Instant::now());
            let output = client.end(if cancel.is_set() { Duration::ZERO } else { ANSWERS });
            if output.code != Some(0) {
                let late = begins.elapsed() > self.longest(errand);
                let why = if late { "it took too long".to_owned() } else { output.complaint() };
                return Err(failed(&format!("{called} failed: {said}{why}")));
            }
        }
        Ok(Moved { begins, ends, said })
    }

    /// A client that waits for commands: it is connected once it answers.
    fn connected(&self, query: &Query, called: &str) -> Result<Talk, RunError> {
        let mut client = self.tools.talk(query)?;
        // If it has ended, it does not answer.
        let _ = client.say("pwd\n");
        loop {
            match client.hear(BEGINS) {
                Ok(line) if is_mark(&line) => return Ok(client),
                Ok(_) => {}
                Err(_) => {
                    let said = client.end(Duration::ZERO);
                    return Err(failed(&format!("{called} failed: {}", said.complaint())));
                }
            }
        }
    }

    /// How long a client may take.
    fn longest(&self, errand: Errand) -> Duration {
        let bits = self.act.moved(errand).saturating_mul(8).saturating_mul(8);
        LEAST + Duration::from_secs(bits / self.act.rate.unwrap_or(SLOW_LINK).min(SLOW_LINK))
    }

    /// What the server says of a connection.
    pub fn negotiated(&self) -> Option<Negotiated> {
        let conf = self.server.room.join("conf");
        let query = self.client(Via::Whole, "", ANSWERS).ok()?;
        let mut client = self.connected(&query, "").ok()?;
        let said = self.server.run(&samba::connections(&conf.to_string_lossy()), self.tools).ok();
        client.end(Duration::ZERO);
        let [dialect, signing, encryption] = samba::negotiated(&said?)?;
        Some(Negotiated { dialect, signing, encryption })
    }
}

/// The directory of the client with the files of an errand.
fn set_name(errand: Errand) -> &'static str {
    match errand {
        Errand::Put | Errand::Get => LARGE,
        Errand::PutSmall | Errand::GetSmall => SMALL,
        Errand::PutSeveral | Errand::GetSeveral => SEVERAL,
    }
}

/// What clients did.
struct Moved {
    begins: Instant,
    /// The last of them was done.
    ends: Instant,
    /// What they said.
    said: String,
}

/// For a password, which nobody is told, and which is gone with the server; and for a name.
fn random() -> Result<String, RunError> {
    let uuid = Sysroot::live().word("/proc/sys/kernel/random/uuid");
    uuid.ok_or_else(|| failed("the kernel gives no random number"))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?.write_all(text.as_bytes())
}
