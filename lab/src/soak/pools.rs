//! Kills and power cuts at random moments while pools are built, repaired and removed.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{
        self, LAYOUTS, agree, clean, commands, done, faults, lost, named, path, prepare, require, round_trip,
        serial, sh, status, unclean, whole,
    },
    scenario::Filesystem,
};

/// Drives of pools, the one that replaces another, one that no pool has, and the one with the store.
const MEMBERS: [usize; 4] = [0, 1, 2, 3];
const SPARE: usize = 4;
const BYSTANDER: usize = 5;
/// Commands that are followed until a pool works or is gone.
const COMMANDS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Create,
    Replace,
    Destroy,
}

impl Operation {
    /// The longest delay before a kill at first. If a command ends earlier, another one within its time is chosen.
    fn longest(self) -> Duration {
        Duration::from_secs(match self {
            Self::Create => 8,
            Self::Replace => 5,
            Self::Destroy => 2,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// `kill -9` of drivebench; the program that it runs goes on.
    Alone,
    /// `kill -9` of drivebench and what it runs.
    Group,
    PowerCut,
}

/// One interruption. The number gives all of it.
#[derive(Debug, Clone, Copy)]
struct Moment {
    layout: &'static str,
    operation: Operation,
    how: How,
}

impl Moment {
    fn of(number: u64, cut: bool, random: &mut impl Rng) -> Self {
        let layout = LAYOUTS[(number % 6) as usize];
        let all = [Operation::Create, Operation::Replace, Operation::Destroy];
        let operation = match all[(number / 6 % 3) as usize] {
            Operation::Replace if matches!(layout, "linear" | "raid0") => Operation::Create,
            other => other,
        };
        let how = match (cut, random.random()) {
            (true, _) => How::PowerCut,
            (_, true) => How::Alone,
            _ => How::Group,
        };
        Self { layout, operation, how }
    }

    fn drives(&self) -> &'static [usize] {
        match self.layout {
            "raid5" => &MEMBERS[..3],
            "raid6" | "raid10" => &MEMBERS,
            _ => &MEMBERS[..2],
        }
    }
}

/// The sticks of the scenario, smaller and faster, with a spare one, a bystander, and one with the store.
pub(super) fn with_store(mut scenario: Scenario) -> Scenario {
    let first = scenario.drives[0].clone();
    for at in scenario.drives.len()..7 {
        let mut drive = first.clone();
        drive.bay = (at + 1).to_string();
        drive.serial = format!("4C53000101022210740{}", at + 1);
        scenario.drives.push(drive);
    }
    for (at, drive) in scenario.drives.iter_mut().enumerate() {
        drive.sectors = 150_000 + at as u64;
        drive.model.operation_seconds = 0.1e-3;
    }
    scenario.drives[6].filesystem = Some(Filesystem { label: "store".to_owned() });
    scenario
}

/// The store and the system's configuration are on a drive, so that a power cut leaves them.
pub(super) fn settle(machine: &Machine) -> Result<(), MachineError> {
    prepare(machine)?;
    let script = "[ -d /mnt/store/etc ] || { mkdir -p /etc/mdadm /etc/systemd/system /mnt/store/store; \
                  echo 'proc /proc proc defaults 0 0' >/etc/fstab; cp -a /etc /mnt/store/etc; sync; }; \
                  mount --bind /mnt/store/etc /etc; mkdir -p /root/.local/share/drivebench; \
                  mount --bind /mnt/store/store /root/.local/share/drivebench; \
                  mkdir -p /run/systemd/system; udevadm settle";
    sh(machine, script).map(drop)
}

/// `times` layouts in turn, from the number `seed` on, are built, used and removed, with a member failed, pulled and replaced.
/// At each step the kernel and mdadm say the same as `pool status`.
pub fn layouts(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let scenario = with_store(scenario.clone());
    let mut campaign = Campaign::new(options, &scenario);
    for number in seed..seed + u64::from(times) {
        let layout = LAYOUTS[(number % 6) as usize];
        let result = campaign.layout(layout).map(|()| "pool status, mdadm and the kernel agree".to_owned());
        campaign.note(&format!("--seed {number}: {layout}"), result);
    }
    campaign.summary
}

/// `times` machines whose drives, faster and without filesystems, are joined: the mapping and its seams.
pub fn joined(options: &Options, mut scenario: Scenario, times: u32) -> Summary {
    // A filesystem over all of them takes hours at the post's speeds.
    scenario = scenario.faster(20.0);
    scenario.drives.iter_mut().for_each(|drive| drive.filesystem = None);
    rounds(times, 1, |_, _| pools::joined(&Machine::start(&scenario, options)?).map(|()| None))
}

/// `times` kills and as many power cuts, from the number `seed` on, while pools are created, repaired and destroyed. What
/// `pool status` shows afterwards is followed until the pool works or is gone.
pub fn pools(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let scenario = with_store(scenario.clone());
    let mut campaign = Campaign::new(options, &scenario);
    for number in seed..seed + u64::from(times) {
        for cut in [false, true] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(number * 2 + u64::from(cut));
            let moment = Moment::of(number, cut, &mut random);
            let result = campaign.interrupt(moment, &mut random);
            let what = format!("{:?} during {:?} of {}", moment.how, moment.operation, moment.layout);
            campaign.note(&format!("--seed {number}: {what}"), result);
        }
    }
    let found = campaign.found.iter().map(|(what, n)| format!("{n} x {what}"));
    campaign.summary.lines = found.collect();
    campaign.summary
}

struct Campaign<'a> {
    options: &'a Options,
    scenario: &'a Scenario,
    /// A new one is started after a failure.
    machine: Option<Machine>,
    /// How often each course of states was found.
    found: BTreeMap<String, u32>,
    summary: Summary,
}

impl<'a> Campaign<'a> {
    fn new(options: &'a Options, scenario: &'a Scenario) -> Self {
        Self { options, scenario, machine: None, found: BTreeMap::new(), summary: Summary::default() }
    }

    /// Prints a round. After a failure, the next round has a new machine.
    #[allow(clippy::print_stdout, reason = "a campaign takes hours")]
    fn note(&mut self, what: &str, result: Result<String, MachineError>) {
        self.summary.rounds += 1;
        match result {
            Ok(text) => println!("{what}: {text}"),
            Err(e) => {
                println!("{what}: FAILED: {e}");
                self.machine = None;
                self.summary.failures.push((self.summary.rounds, format!("{what}: {e}")));
            }
        }
    }

    fn take(&mut self) -> Result<Machine, MachineError> {
        if let Some(machine) = self.machine.take() {
            return Ok(machine);
        }
        let machine = Machine::start(self.scenario, self.options)?;
        settle(&machine)?;
        let bystander = path(&machine, BYSTANDER)?;
        sh(&machine, &format!("mkfs.ext4 -q -F -L bystander {bystander}; udevadm settle; sync"))?;
        Ok(machine)
    }

    fn layout(&mut self, layout: &str) -> Result<(), MachineError> {
        let mut machine = self.take()?;
        round_trip(&machine, layout, &MEMBERS)?;
        match layout {
            "linear" | "raid0" => lost(&mut machine, layout, &MEMBERS)?,
            _ => faults(&mut machine, layout, &MEMBERS, SPARE)?,
        }
        match layout {
            // A power cut takes the store with it.
            "raid5" | "raid6" => unclean(&mut machine, layout, &MEMBERS),
            _ => {
                self.machine = Some(machine);
                Ok(())
            }
        }
    }

    /// Interrupts an operation, and follows the commands that are shown. Returns what was found, in words.
    fn interrupt(&mut self, moment: Moment, random: &mut impl Rng) -> Result<String, MachineError> {
        let mut machine = self.take()?;
        let bystander = machine.content(BYSTANDER, u64::MAX)?;
        let etc = "find /etc/fstab* /etc/mdadm* /etc/systemd/system -type f | sort | xargs sha256sum";
        let before = sh(&machine, etc)?;
        let mut most = moment.operation.longest();
        let (moved, drives, file) = loop {
            let (command, drives, file) = begin(&machine, moment)?;
            let delay = Duration::from_millis(random.random_range(0..most.as_millis().max(2) as u64));
            match cut_off(&mut machine, &command, moment.how, delay)? {
                None => break (delay, drives, file),
                Some(took) => most = took.min(delay),
            }
            remove(&machine, moment)?;
        };
        if moment.how == How::PowerCut {
            settle(&machine)?;
        }
        let contents = drives.iter().map(|(_, content)| content.as_slice()).collect::<Vec<_>>();
        let found = recover(&machine, moment, &contents, file.as_deref())?;
        sh(&machine, "sync")?;
        require(&machine, machine.content(BYSTANDER, u64::MAX)? == bystander, "bystander", "it was changed")?;
        remove(&machine, moment)?;
        require(&machine, sh(&machine, etc)? == before, "/etc", "it differs")?;
        let by = if moment.how == How::PowerCut { "power cut" } else { "kill" };
        *self.found.entry(format!("{by} during {:?}: {found}", moment.operation)).or_default() += 1;
        self.machine = Some(machine);
        Ok(format!("after {:.3} s: {found}", moved.as_secs_f64()))
    }
}

/// Drives that held something else, and what they hold now.
type Contents = Vec<(usize, Vec<u8>)>;

/// Prepares drives and a pool, and returns the command that is to be interrupted, the drives before it, and the checksum of
/// the file in the pool.
fn begin(machine: &Machine, moment: Moment) -> Result<(String, Contents, Option<String>), MachineError> {
    let drives = moment.drives();
    let (bays, erase) = named(machine, drives);
    let mut script = String::new();
    for &i in drives.iter().chain([&SPARE]) {
        let _ = write!(script, "mkswap -L old{i} {} >/dev/null; ", path(machine, i)?);
    }
    sh(machine, &(script + "udevadm settle; sync"))?;
    let create =
        format!("create --layout {} --chunk 64k --mount /mnt/pool --keep {bays} {erase}", moment.layout);
    let (_, other) = named(machine, &[SPARE]);
    let mut file = None;
    if moment.operation != Operation::Create {
        done(machine, &create)?;
        let written = "head -c 3000000 /dev/urandom >/mnt/pool/file; sync; sha256sum </mnt/pool/file; \
                       mdadm --wait /dev/md/pool 2>/dev/null; true";
        file = Some(sh(machine, written)?);
    }
    let args = match moment.operation {
        Operation::Create => create,
        Operation::Replace => {
            format!("replace {} {} {other}", serial(machine, drives[0]), serial(machine, SPARE))
        }
        Operation::Destroy => format!("destroy pool {erase}"),
    };
    let all = drives.iter().chain([&SPARE]).map(|i| Ok((*i, machine.content(*i, u64::MAX)?)));
    Ok((args, all.collect::<Result<_, MachineError>>()?, file))
}

/// Runs `drivebench pool`, and interrupts it after this time. If it had ended before, returns how long it took.
fn cut_off(
    machine: &mut Machine,
    args: &str,
    how: How,
    delay: Duration,
) -> Result<Option<Duration>, MachineError> {
    let script = format!(
        "rm -f /work/ended; drivebench pool {args} >/work/said 2>&1 & echo $! >/work/pid; echo begun; \
         wait $!; code=$?; [ $code = 137 ] || echo $code >/work/ended"
    );
    let start = Instant::now();
    let running = machine.begin(&["sh", "-c", &script])?;
    running.await_words(super::LIMIT).map_err(|e| machine.wrong(args, e))?;
    std::thread::sleep(delay);
    let ended = |machine: &Machine| {
        let code = sh(machine, "cat /work/ended /work/said 2>/dev/null; true")?;
        let exit = sh(machine, "cat /work/ended 2>/dev/null; true")?;
        require(machine, exit.is_empty() || exit.trim() == "0", args, code)?;
        Ok::<_, MachineError>((!exit.is_empty()).then(|| start.elapsed()))
    };
    if let Some(took) = ended(machine)? {
        return Ok(Some(took));
    }
    match how {
        How::Alone => sh(machine, "kill -9 $(cat /work/pid); true").map(drop)?,
        How::Group => running.signal(9).map_err(|e| machine.wrong(args, e))?,
        How::PowerCut => machine.cut_power()?,
    }
    if how == How::PowerCut {
        return Ok(None);
    }
    running.wait(super::LIMIT).map_err(|e| machine.wrong(args, e))?;
    ended(machine)
}

/// Follows what `pool status` shows until the pool works or its drives are clean. Returns the states.
fn recover(
    machine: &Machine,
    moment: Moment,
    before: &[&[u8]],
    file: Option<&str>,
) -> Result<String, MachineError> {
    let mut states = Vec::new();
    for _ in 0..COMMANDS {
        let text = status(machine)?;
        if text.starts_with("No pools were built") {
            states.push("no pool");
            untouched_or_clean(machine, moment, before)?;
            return Ok(states.join(", then "));
        }
        let all = commands(&text);
        // What goes on is done once it is started.
        let next = all.iter().min_by_key(|(purpose, _)| *purpose == "to go on: ");
        let Some((purpose, command)) = next else {
            states.push("complete");
            works(machine, moment, &text, file)?;
            return Ok(states.join(", then "));
        };
        states.push(match *purpose {
            "to remove it: " if text.contains("removed in part") => "removed in part",
            "to remove it: " => "built in part",
            "to go on: " => "replaced in part",
            _ => "not active",
        });
        obey(machine, command, &text)?;
    }
    Err(machine.wrong("the commands shown lead to no end", states.join(", then ")))
}

/// Runs a command as it is printed. What the killed process has begun may go on for a while.
fn obey(machine: &Machine, command: &str, text: &str) -> Result<(), MachineError> {
    let until = Instant::now() + super::LIMIT;
    loop {
        let output = machine.run(&["sh", "-c", command], super::LIMIT)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let errors = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        if output.code == 0 {
            return Ok(());
        }
        let goes_on = errors.contains("has it open") || errors.contains("Wait for its end");
        if !goes_on || Instant::now() > until {
            return Err(machine.wrong(command, format!("exit code {}: {errors}\n{text}", output.code)));
        }
    }
}

/// Without a pool, each drive is as before, or nothing is found on it.
fn untouched_or_clean(machine: &Machine, moment: Moment, before: &[&[u8]]) -> Result<(), MachineError> {
    for (&i, before) in moment.drives().iter().zip(before) {
        let found = sh(machine, &format!("udevadm settle; wipefs --noheadings {}; sync", path(machine, i)?))?;
        // A pool is not what was there before a destroy.
        let same = moment.operation == Operation::Create && machine.content(i, u64::MAX)? == *before;
        require(machine, same || found.is_empty(), "a drive without a pool", found)?;
    }
    Ok(())
}

/// A pool that is shown as complete is: mdadm and the kernel agree, and files are there.
fn works(machine: &Machine, moment: Moment, text: &str, file: Option<&str>) -> Result<(), MachineError> {
    let path = if moment.layout == "linear" { "/dev/mapper/pool" } else { "/dev/md/pool" };
    agree(machine, "pool")?;
    let usable = format!(
        "grep -q ' /mnt/pool ' /proc/mounts || mount {path} /mnt/pool && mdadm --wait {path} 2>/dev/null; \
         echo more >/mnt/pool/more && sync && echo 3 >/proc/sys/vm/drop_caches && \
         {{ [ ! -e /mnt/pool/file ] || sha256sum </mnt/pool/file; }}"
    );
    let now = sh(machine, &usable)?;
    require(machine, now == file.unwrap_or_default(), "the file in the pool", format!("{now}\n{text}"))?;
    whole(machine, "a pool that was complete")
}

/// Removes what is left, so that the next round begins with nothing.
fn remove(machine: &Machine, moment: Moment) -> Result<(), MachineError> {
    let drives = [moment.drives(), &[SPARE]].concat();
    let text = status(machine)?;
    if !text.starts_with("No pools") {
        // A serial of no drive of the pool is refused.
        let of_pool: Vec<usize> =
            drives.iter().copied().filter(|i| text.contains(serial(machine, *i))).collect();
        let (_, erase) = named(machine, &of_pool);
        done(machine, &format!("destroy pool {erase}"))?;
    }
    let paths = drives.iter().map(|i| path(machine, *i)).collect::<Result<Vec<_>, _>>()?;
    // The one that was replaced keeps its part; one that was not reached keeps what it had.
    sh(
        machine,
        &format!(
            "for d in {}; do wipefs -qa ${{d}}1 2>/dev/null; wipefs -qa $d; done; udevadm settle",
            paths.join(" ")
        ),
    )?;
    clean(machine, &drives, moment.layout)
}
