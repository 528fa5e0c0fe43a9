//! A running machine.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::setpriority_process;
use serde_json::json;
use thiserror::Error;

use crate::{
    agent::{Agent, AgentError, Greeting, Output, Running},
    disk,
    ledger::{self, Entry},
    medium::switch_power,
    process::{self, Daemon},
    qemu::{self, Link},
    qmp::Qmp,
    scenario::{Guest, Machine as Kind, SECTOR, Scenario},
    state::State,
};

/// Nice value of a machine and its drives.
const PRIORITY: i32 = -15;

/// The time limit for the start of a program on the host.
const READY: Duration = Duration::from_secs(30);

/// The time limit for the start or the end of a guest. On an idle host it starts in about 10 s, with systemd in 20 s.
const BOOT: Duration = Duration::from_secs(300);

/// The default store of drivebench in a guest.
pub(crate) const STORE: &str = "/root/.local/share/drivebench";

/// The time limit for a short command in the guest.
const ERRAND: Duration = Duration::from_secs(120);

/// An error of a machine.
#[derive(Debug, Error)]
#[error("{what}: {why}{console}")]
pub struct MachineError {
    what: String,
    why: Box<dyn std::error::Error + Send + Sync>,
    /// The last lines of its console.
    console: String,
}

/// Options for starting a machine.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The files that `lab/vm build` made; by default, where it puts them.
    pub kit: Option<PathBuf>,
    /// Connect the console to the terminal, with a shell.
    pub terminal: bool,
    /// The directory that keeps the drives' content and ledgers after the machine ends.
    pub keep: Option<PathBuf>,
    /// A network with another machine.
    pub link: Option<Link>,
}

/// A running machine. It ends when this is dropped, or when the thread that started it ends.
#[derive(Debug)]
pub struct Machine {
    scenario: Scenario,
    /// The directory of what it boots.
    guest: PathBuf,
    options: Options,
    /// The bay of each USB drive.
    bays: Vec<Option<String>>,
    /// Where the drives' content and ledgers are.
    drives: PathBuf,
    agent: Agent,
    qmp: Qmp,
    qemu: Daemon,
    // Dropped in this order: machine, drives, directory.
    _nbdkit: Daemon,
    state: State,
}

impl Machine {
    /// Starts a machine, and waits until its drives are present and their filesystems are mounted.
    pub fn start(scenario: &Scenario, options: &Options) -> Result<Self, MachineError> {
        // Drives are modelled in real time, so other programs of the host must not delay them. Only root may.
        let _ = setpriority_process(None, PRIORITY);
        let kit = options.kit.clone().unwrap_or_else(default_kit);
        let (guest, last) = match (scenario.machine, scenario.guest) {
            (Kind::Q35, Guest::Lab) => ("q35", "initrd"),
            (Kind::Q35, Guest::Systemd) => ("systemd", "programs.ext4"),
            (Kind::Raspi3b, _) => ("raspi3b", "initrd"),
        };
        let guest = kit.join(guest);
        let plugin = kit.join("plugin.so");
        for needed in [&guest.join(last), &plugin] {
            if !needed.exists() {
                let why = format!(
                    "{} isn't there; `lab/vm build {}` makes it",
                    needed.display(),
                    guest.file_name().unwrap_or_default().to_string_lossy()
                );
                return Err(MachineError::new(
                    "the lab is not built",
                    io::Error::new(io::ErrorKind::NotFound, why),
                ));
            }
        }
        let state = State::new().map_err(|e| MachineError::new("no directory for the machine", e))?;
        let drives = options.keep.clone().unwrap_or_else(|| state.path().to_owned());
        make_drives(scenario, &drives).map_err(|e| MachineError::new("the drives could not be made", e))?;
        if scenario.guest == Guest::Systemd {
            let made = disk::make(&guest, &root(scenario, &drives, &state));
            made.map_err(|e| MachineError::new("no disk for the guest", e))?;
        }
        let nbdkit = serve(scenario, &plugin, (&drives, &state), options.link.as_ref())?;
        let Power { agent, qmp, qemu, greeting } = power_on(scenario, &guest, options, (&drives, &state))?;
        // All connections are made, but those of later boots. Without sockets, a crash leaves none behind.
        if scenario.guest == Guest::Lab {
            fs::remove_file(state.file("nbd")).map_err(|e| MachineError::new("QEMU did not start", e))?;
        }
        let bays = scenario.drives.iter().map(|d| d.attach.usb().then(|| d.bay.clone())).collect();
        let mut machine = Self {
            scenario: scenario.clone(),
            guest,
            options: options.clone(),
            bays,
            drives,
            agent,
            qmp,
            qemu,
            _nbdkit: nbdkit,
            state,
        };
        machine.boot(greeting)?;
        Ok(machine)
    }

    /// Plugs in the drives of a machine that was powered on, and waits for its guest.
    fn boot(&mut self, greeting: Greeting) -> Result<(), MachineError> {
        for i in 0..self.bays.len() {
            if let Some(bay) = self.bays[i].clone() {
                self.plug(i, &bay)?;
            }
        }
        self.monitor("cont")?;
        greeting.wait(BOOT).map_err(|e| self.wrong("the guest did not start", e))?;
        self.mount()
    }

    /// Its scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Starts a command in `/work` of the guest.
    pub fn begin(&self, argv: &[&str]) -> Result<Running, MachineError> {
        self.agent.start(argv, "/work").map_err(|e| self.wrong(&argv.join(" "), e))
    }

    /// Runs a command in `/work` of the guest to its end.
    pub fn run(&self, argv: &[&str], limit: Duration) -> Result<Output, MachineError> {
        self.begin(argv)?.wait(limit).map_err(|e| self.wrong(&argv.join(" "), e))
    }

    /// Runs a command that must succeed; returns its standard output.
    pub fn ask(&self, argv: &[&str]) -> Result<String, MachineError> {
        let output =
            self.begin(argv).and_then(|running| self.succeeded(&argv.join(" "), running.wait(ERRAND)))?;
        Ok(output.text())
    }

    /// The output of a command that must succeed; `what` describes it in errors.
    fn succeeded(&self, what: &str, output: Result<Output, AgentError>) -> Result<Output, MachineError> {
        match output.map_err(|e| self.wrong(what, e))? {
            output @ Output { code: 0, .. } => Ok(output),
            Output { code, stderr, .. } => {
                let why = String::from_utf8_lossy(&stderr).trim().to_owned();
                Err(self.wrong(what, format!("exit code {code}: {why}")))
            }
        }
    }

    /// Copies a file into the guest with its execute permission.
    pub fn put(&self, file: &Path, path: &str) -> Result<(), MachineError> {
        use std::os::unix::fs::PermissionsExt;
        let what = format!("{} could not be copied into the machine", file.display());
        let file = File::open(file).map_err(|e| self.wrong(&what, e))?;
        let mode = file.metadata().map_err(|e| self.wrong(&what, e))?.permissions().mode() & 0o777;
        let script = format!("cat >\"$0\" && chmod {mode:o} \"$0\"");
        let running = self.begin(&["sh", "-c", &script, path])?;
        self.succeeded(&what, running.feed(file).and_then(|()| running.wait(ERRAND))).map(drop)
    }

    /// Copies all files below a directory of the guest to a directory on the host.
    pub fn get(&self, path: &str, directory: &Path) -> Result<(), MachineError> {
        let what = format!("{path} could not be copied out of the machine");
        let tar = self.begin(&["tar", "-c", "-C", path, "."])?;
        let archive = self.succeeded(&what, tar.wait(ERRAND))?;
        let packed = self.state.file("out.tar");
        let unpack = || {
            fs::create_dir_all(directory)?;
            fs::write(&packed, &archive.stdout)?;
            process::run("tar", [Path::new("-xf"), &packed, Path::new("-C"), directory])
        };
        unpack().map(drop).map_err(|e| self.wrong(&what, e))
    }

    /// Plugs drive `i` of the scenario into a USB bay.
    pub fn plug(&mut self, i: usize, bay: &str) -> Result<(), MachineError> {
        let drive = &self.scenario.drives[i];
        let what = format!("drive {} could not be plugged into bay {bay}", drive.serial);
        let [transport, disk] = qemu::usb_devices(self.scenario.machine, i, drive, bay);
        let attach =
            json!({ "path": format!("/machine/peripheral/u{i}"), "property": "attached", "value": true });
        let steps = [("device_add", transport), ("device_add", disk), ("qom-set", attach)];
        let done =
            steps.into_iter().try_for_each(|(command, args)| self.qmp.execute(command, args).map(drop));
        done.map_err(|e| self.wrong(&what, e))?;
        self.bays[i] = Some(bay.to_owned());
        Ok(())
    }

    /// Pulls drive `i` out of its USB bay, even during I/O.
    pub fn pull(&mut self, i: usize) -> Result<(), MachineError> {
        let what = format!("drive {} could not be pulled", self.scenario.drives[i].serial);
        let id = format!("u{i}");
        let done = self
            .qmp
            .execute("device_del", json!({ "id": id }))
            .and_then(|_| self.qmp.await_event("DEVICE_DELETED", &id));
        done.map_err(|e| self.wrong(&what, e))?;
        self.bays[i] = None;
        Ok(())
    }

    /// Limits the bay of drive `i` to this rate, bytes per second; without a rate, removes the limit.
    pub fn limit(&mut self, i: usize, rate: Option<u64>) -> Result<(), MachineError> {
        let rate = rate.unwrap_or(0);
        let limits = json!({
            "id": format!("s{i}"), "bps": rate, "bps_rd": 0, "bps_wr": 0, "iops": 0, "iops_rd": 0, "iops_wr": 0,
        });
        let done = self.qmp.execute("block_set_io_throttle", limits);
        done.map(drop).map_err(|e| self.wrong("a bay could not be limited", e))
    }

    /// Where drive `i` is plugged in.
    pub fn bay(&self, i: usize) -> Option<&str> {
        self.bays[i].as_deref()
    }

    /// Reboots a guest with systemd, which stops all services and unmounts everything. The drives in `absent` are unplugged
    /// while the machine is off.
    pub fn reboot(&mut self, absent: &[usize]) -> Result<(), MachineError> {
        if self.scenario.guest != Guest::Systemd {
            return Err(self.wrong("reboot", "the guest has no systemd"));
        }
        self.restart_without(Some(&["systemctl", "reboot"]), absent).map(drop)
    }

    /// A command that restarts the guest; returns when it had ended.
    pub fn restarts(&mut self, argv: &[&str]) -> Result<Instant, MachineError> {
        self.restart_without(Some(argv), &[])
    }

    /// Waits until a guest that restarts by itself has done so.
    pub fn restarts_itself(&mut self) -> Result<(), MachineError> {
        self.restart_without(None, &[]).map(drop)
    }

    fn restart_without(&mut self, argv: Option<&[&str]>, absent: &[usize]) -> Result<Instant, MachineError> {
        // The connection ends before or after its answer.
        let _running = argv.map(|argv| self.begin(argv)).transpose()?;
        let start = Instant::now();
        while self.qemu.ended().is_none() {
            if start.elapsed() > BOOT {
                return Err(self.wrong("reboot", AgentError::Late(BOOT)));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = Instant::now();
        for &i in absent {
            self.bays[i] = None;
        }
        self.power_on_again().map(|()| ended)
    }

    fn power_on_again(&mut self) -> Result<(), MachineError> {
        self.qemu.end();
        let power = power_on(&self.scenario, &self.guest, &self.options, (&self.drives, &self.state))?;
        (self.agent, self.qmp, self.qemu) = (power.agent, power.qmp, power.qemu);
        self.boot(power.greeting)
    }

    /// Cuts the power and starts again with the drives as they are. The guest's memory is lost.
    pub fn cut_power(&mut self) -> Result<(), MachineError> {
        self.cut_power_without(&[])
    }

    /// The same; the drives in `absent` are unplugged while the machine is off.
    pub fn cut_power_without(&mut self, absent: &[usize]) -> Result<(), MachineError> {
        // First the drives, since a machine that is stopped waits for them.
        self.switch_drives()?;
        if self.scenario.guest == Guest::Systemd {
            absent.iter().for_each(|i| self.bays[*i] = None);
            self.qemu.end();
            self.switch_drives()?;
            return self.power_on_again();
        }
        let greeting = self.agent.expect_hello();
        self.monitor("stop")?;
        absent.iter().try_for_each(|i| self.pull(*i))?;
        self.monitor("system_reset")?;
        self.switch_drives()?;
        self.monitor("cont")?;
        greeting.wait(BOOT).map_err(|e| self.wrong("the guest did not start again", e))?;
        self.mount()
    }

    fn switch_drives(&self) -> Result<(), MachineError> {
        switch_power(&self.drives).map_err(|e| self.wrong("the power of the drives can't be switched", e))
    }

    /// What its console has printed since it was powered on is in this file.
    pub fn console(&self) -> PathBuf {
        self.state.file("console")
    }

    /// The ledger of drive `i` so far.
    pub fn ledger(&self, i: usize) -> Result<Vec<Entry>, MachineError> {
        let path = self.drives.join(format!("{}.ledger.csv", self.scenario.drives[i].bay));
        ledger::read(&path).map_err(|e| self.wrong("the ledger can't be read", e))
    }

    /// What is stored on drive `i`, up to this many bytes from its start. What the guest has not written yet isn't there.
    pub fn content(&self, i: usize, most: u64) -> Result<Vec<u8>, MachineError> {
        self.stored(i, 0, most)
    }

    /// What is stored on drive `i`, up to this many bytes from an offset.
    pub fn stored(&self, i: usize, offset: u64, most: u64) -> Result<Vec<u8>, MachineError> {
        let path = self.drives.join(format!("{}.img", self.scenario.drives[i].bay));
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(offset))?;
            file.take(most).read_to_end(&mut bytes)
        });
        read.map_err(|e| self.wrong("a drive's content can't be read", e))?;
        Ok(bytes)
    }

    /// Waits until the guest ends by itself.
    pub fn wait(&mut self) -> io::Result<()> {
        self.qemu.wait().map(drop)
    }

    fn mount(&self) -> Result<(), MachineError> {
        let drives = self.scenario.drives.iter().zip(&self.bays);
        let present: Vec<_> =
            drives.filter(|(d, bay)| !d.attach.usb() || bay.is_some()).map(|(d, _)| d).collect();
        let labels = present.iter().filter_map(|d| d.filesystem.as_ref());
        let labels: Vec<&str> = labels.map(|f| f.label.as_str()).collect();
        let count = present.len().to_string();
        let argv = [&["lab-settle", count.as_str()], labels.as_slice()].concat();
        self.ask(&argv).map(drop)
    }

    fn monitor(&mut self, command: &str) -> Result<(), MachineError> {
        let done = self.qmp.execute(command, json!({}));
        done.map(drop).map_err(|e| self.wrong(command, e))
    }

    /// An error of this machine, with its console.
    pub fn wrong(
        &self,
        what: &str,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> MachineError {
        let console = fs::read(self.console()).unwrap_or_default();
        let console = String::from_utf8_lossy(&console).into_owned();
        let lines: Vec<&str> = console.lines().collect();
        let last = &lines[lines.len().saturating_sub(30)..];
        let console = last.iter().map(|line| format!("\n  console: {line}")).collect();
        MachineError { what: format!("{}: {what}", self.scenario.name), why: why.into(), console }
    }
}

impl MachineError {
    /// An error without a machine.
    pub fn new(what: &str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { what: what.to_owned(), why: why.into(), console: String::new() }
    }
}

/// Copies the records of the machine's store to the directory in `DRIVEBENCH_LAB_RECORDS`, for later inspection.
impl Drop for Machine {
    #[allow(clippy::print_stderr, reason = "a drop can't return errors")]
    fn drop(&mut self) {
        let Some(directory) = std::env::var_os("DRIVEBENCH_LAB_RECORDS") else { return };
        if let Err(e) = self.get(STORE, Path::new(&directory)) {
            eprintln!("lab: no records kept: {e}");
        }
    }
}

/// Where `lab/vm build` puts the files of machines.
pub fn default_kit() -> PathBuf {
    std::env::var_os("DRIVEBENCH_LAB_KIT")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/lab"), PathBuf::from)
}

/// Creates sparse files of the right size with their filesystems. Existing files are kept.
fn make_drives(scenario: &Scenario, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for drive in &scenario.drives {
        let path = directory.join(format!("{}.img", drive.bay));
        let file = match File::create_new(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(e) => return Err(e),
        };
        file.set_len(drive.sectors * SECTOR)?;
        if let Some(filesystem) = &drive.filesystem {
            // The kernel must have no work left in the background.
            let args = ["-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0", "-L"];
            let path = path.display().to_string();
            process::run("mke2fs", args.into_iter().chain([filesystem.label.as_str(), &path]))?;
        }
    }
    Ok(())
}

/// A machine that was powered on. It waits for `cont`.
struct Power {
    agent: Agent,
    qmp: Qmp,
    qemu: Daemon,
    greeting: Greeting,
}

/// The disk that a guest with systemd boots from.
fn root(scenario: &Scenario, drives: &Path, state: &State) -> PathBuf {
    match scenario.root.and_then(|root| scenario.drives.get(root)) {
        Some(drive) => drives.join(format!("{}.img", drive.bay)),
        None => state.file(disk::ROOT),
    }
}

fn power_on(
    scenario: &Scenario,
    guest: &Path,
    options: &Options,
    (drives, state): (&Path, &State),
) -> Result<Power, MachineError> {
    let greets = |e| MachineError::new("QEMU did not start", e);
    if scenario.guest == Guest::Systemd {
        disk::load(guest, &root(scenario, drives, state), state.path()).map_err(greets)?;
    }
    let (terminal, link) = (options.terminal, options.link.as_ref());
    let files = qemu::Files { guest, state: state.path(), terminal, link };
    let log = state.file("qemu.log");
    let arguments = qemu::arguments(scenario, &files);
    let mut qemu =
        Daemon::start(qemu::program(scenario.machine), arguments, &log, terminal).map_err(greets)?;
    let qmp = connect(&state.file("qmp"), &mut qemu, &log).map_err(greets)?;
    let stream = connect(&state.file("agent"), &mut qemu, &log).map_err(greets)?;
    let qmp = Qmp::new(qmp).map_err(|e| {
        let said = fs::read_to_string(&log).unwrap_or_default();
        MachineError::new("QEMU did not start", format!("{e}; its output: {}", said.trim()))
    })?;
    for socket in ["qmp", "agent"] {
        fs::remove_file(state.file(socket)).map_err(greets)?;
    }
    let (agent, greeting) = Agent::new(stream).map_err(|e| MachineError::new("no way to the guest", e))?;
    Ok(Power { agent, qmp, qemu, greeting })
}

fn serve(
    scenario: &Scenario,
    plugin: &Path,
    (drives, state): (&Path, &State),
    link: Option<&Link>,
) -> Result<Daemon, MachineError> {
    let served = |e| MachineError::new("nbdkit did not start", e);
    let text =
        toml::to_string(scenario).map_err(|e| MachineError::new("the scenario could not be written", e))?;
    let (file, socket, log) = (state.file("scenario.toml"), state.file("nbd"), state.file("nbdkit.log"));
    fs::write(&file, text).map_err(served)?;
    let args = [
        "-f".to_owned(),
        "-U".to_owned(),
        socket.display().to_string(),
        plugin.display().to_string(),
        format!("scenario={}", file.display()),
        format!("directory={}", drives.display()),
    ];
    let network = match (&scenario.network, link) {
        (Some(_), Some(link)) if !link.listens => {
            let (card, network) = (state.file(qemu::CARD), link.socket.display());
            vec![format!("card={}", card.display()), format!("network={network}")]
        }
        (None, _) => Vec::new(),
        _ => {
            let why =
                "its network card is on a bus, and there is no machine that it joins: leave out network";
            return Err(served(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
    };
    let args = args.into_iter().chain(network);
    let mut nbdkit = Daemon::start("nbdkit", args, &log, false).map_err(served)?;
    connect(&socket, &mut nbdkit, &log).map_err(served)?;
    Ok(nbdkit)
}

/// Connects to a socket as soon as its program is ready.
fn connect(socket: &Path, daemon: &mut Daemon, log: &Path) -> io::Result<UnixStream> {
    let start = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(_) if daemon.ended().is_some() => {
                let why = fs::read_to_string(log).unwrap_or_default();
                return Err(io::Error::other(why.trim().to_owned()));
            }
            Err(e) if start.elapsed() > READY => return Err(e),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
