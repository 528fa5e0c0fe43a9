//! Makes a swap area on one medium, and has a program of ours use more memory than it may have.

mod area;
mod group;
mod kernel;
mod leftover;
mod watch;
mod worker;

use std::{
    io,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use rustix::process::geteuid;

use self::{
    area::{Area, is_used},
    group::Group,
    watch::{Counters, Watch},
    worker::{Answer, Order, READY},
};
use super::{RunError, journal::Journal, lock::Lock};
use crate::{
    engine::Cancel,
    plan::{SwapMedium, SwapTest, SwapWork},
    record::{SwapLoad, Swapped},
    sysroot::Sysroot,
    target::Target,
    tools::{System, Talk, swap},
};

pub use watch::ZSWAP;
pub use worker::work;

pub(super) use leftover::undo;

/// How often what goes on is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How long memory may take to be filled.
const FILLS: Duration = Duration::from_secs(1800);

/// Refuses, before anything is changed, a swap test that can't be done here.
pub(crate) fn possible(root: &Sysroot, act: &SwapTest) -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("making a swap area needs root: run it with sudo".to_owned());
    }
    group::place(root).map_err(|e| e.to_string())?;
    if root.number::<u32>("/proc/sys/vm/swappiness") == Some(0) {
        let why = "vm.swappiness is 0, and then the kernel swaps no program of a control group: sysctl vm.swappiness=60, until this is done";
        return Err(why.to_owned());
    }
    if area::highest_priority().map_err(|e| e.to_string())? >= Some(i32::from(area::PRIORITY)) {
        let why = "the kernel swaps to another area of the highest priority, so that both would be filled in turn: /proc/swaps names it. If another run of swap is under way, wait for its end; of one that was killed, `drivebench cleanup` removes it; else swapoff it";
        return Err(why.to_owned());
    }
    watch::has_room(root, act)
}

/// All loads with one swap area; `erase` as in [`Claims::of`](crate::danger::Claims::of). `says` receives what is done now.
pub(super) fn swap_test(
    (at, target): (usize, &Target),
    act: &SwapTest,
    (journal, tools): (&Journal, &System),
    erase: &[String],
    cancel: &Cancel,
    says: &mut dyn FnMut(&str),
) -> Result<Swapped, RunError> {
    let root = Sysroot::live();
    // Until all of it is undone: the areas of two runs would be filled in turn.
    let _only = Lock::of_machine("swap").map_err(|e| RunError::Act(e.to_string()))?;
    possible(&root, act).map_err(RunError::Act)?;
    let behind_zswap = act.medium == SwapMedium::Zswap;
    let _zswap = behind_zswap.then(|| watch::Zswap::on(journal)).transpose()?;
    says("making the swap area");
    let begun = Instant::now();
    let drives = drives(target, act);
    let written_before = watch::written(&root, &drives);
    let area = match &act.medium {
        SwapMedium::Zram { algorithm } => Area::zram(algorithm.as_deref(), act.area, (journal, tools))?,
        SwapMedium::Device { .. } => Area::device(target, act.area, erase, (journal, tools))?,
        SwapMedium::File | SwapMedium::Zswap => Area::file(&target.path, at, act.area, journal, cancel)?,
    };
    let mut swapped = Swapped { made: begun.elapsed().as_secs_f64(), ..Swapped::default() };
    swapped.settings = watch::settings(&root, &area.path());
    // Of zram, what it holds.
    let device = || area.path().file_name().map(|name| name.to_string_lossy().into_owned());
    let media = if act.medium.is_zram() { device().into_iter().collect() } else { drives.clone() };
    let mut watch = Watch::new(root.clone(), media, act.most, area.path());
    let mut failed = None;
    'runs: for run in 1..=act.runs {
        for work in &act.works {
            says(&format!(
                "{} with {} % of its memory, {run} of {}",
                work.what.words(),
                work.percent,
                act.runs
            ));
            match one(act, (*work, run), (journal, tools), cancel, &mut watch) {
                Ok(load) => swapped.loads.push(load),
                Err(Ended::Because(why)) => {
                    swapped.ended = Some(why);
                    break 'runs;
                }
                Err(Ended::Enough(why)) => {
                    (swapped.ended, swapped.enough) = (Some(why), true);
                    break 'runs;
                }
                Err(Ended::Error(e)) => {
                    failed = Some(e);
                    break 'runs;
                }
            }
        }
    }
    swapped.settings.extend(watch.found());
    // After the program has ended, little is left in it. What was measured counts, whatever becomes of the area.
    let path = area.path();
    if let Err(e) = area.remove(tools) {
        // Whatever was enough before, this is a failure.
        swapped.enough = false;
        let why = match is_used(&path) {
            Ok(false) => format!("its swap area is not removed completely: {e}"),
            _ => format!(
                "its swap area {} may still be in use ({e}): leave the drive connected, end some programs, then run `drivebench cleanup`",
                path.display()
            ),
        };
        failed = failed.map(|first| RunError::Act(format!("{first}; {why}")));
        swapped.ended = Some(why);
    }
    if let Some(e) = failed {
        return Err(e);
    }
    let written = watch::written(&root, &drives);
    swapped.written = written.zip(written_before).map(|(now, before)| now.saturating_sub(before));
    Ok(swapped)
}

/// The drives that are written to: of an array, each copy counts.
fn drives(target: &Target, act: &SwapTest) -> Vec<String> {
    let all = target.drives.iter().filter(|_| !act.medium.is_zram());
    all.map(|drive| drive.name.clone()).collect()
}

/// Why a load has no result.
enum Ended {
    /// The medium's other loads have none, either.
    Because(String),
    /// The same, as was asked for.
    Enough(String),
    Error(RunError),
}

impl From<RunError> for Ended {
    fn from(e: RunError) -> Self {
        Self::Error(e)
    }
}

fn one(
    act: &SwapTest,
    (work, run): (SwapWork, u32),
    (journal, tools): (&Journal, &System),
    cancel: &Cancel,
    watch: &mut Watch,
) -> Result<SwapLoad, Ended> {
    let failed = |what: &str, e: io::Error| RunError::Act(format!("{what}: {e}"));
    let group = Group::make(journal, act.memory, act.area, act.medium == SwapMedium::Zswap)
        .map_err(|e| failed("no control group could be made", e))?;
    let order = Order {
        group: group.dir().to_owned(),
        what: work.what,
        bytes: act.memory * u64::from(work.percent) / 100,
        random: act.random,
        seconds: act.seconds,
        seed: act.seed.wrapping_add(u64::from(run)),
    };
    watch.begins();
    let mut talk = tools.talk(&swap::worker()).map_err(RunError::from)?;
    let order = serde_json::to_string(&order).unwrap_or_default() + "\n";
    talk.say(&order).map_err(|e| failed("the program did not start", e))?;
    let line = hear(&mut talk, FILLS, &group, watch, cancel)?;
    if line != READY {
        return Err(RunError::Act(format!("the program that uses memory said: {line}")).into());
    }
    let before = Counters::read(watch, &group);
    talk.say("\n").map_err(|e| failed("the program ended", e))?;
    // Its last operation may take long.
    let line = hear(&mut talk, Duration::from_secs_f64(act.seconds) + FILLS, &group, watch, cancel)?;
    let after = Counters::read(watch, &group);
    // As long as it has its own pages there.
    watch.others(&group);
    if watch.is_full(act.area) {
        return Err(Ended::Because("the swap area was full, so that other areas were used, too".to_owned()));
    }
    talk.end(Duration::from_secs(5));
    let answer: Answer =
        serde_json::from_str(&line).map_err(|e| RunError::Act(format!("the program's answer: {e}")))?;
    group.remove().map_err(|e| failed("the control group stays", e))?;
    let Answer { seconds, operations, latency, processor } = answer;
    let since = after.since(&before);
    Ok(SwapLoad {
        work,
        run,
        seconds,
        operations,
        latency,
        processor,
        stalled: since.stalled,
        swapped_in: since.swapped_in,
        swapped_out: since.swapped_out,
        written: since.written,
    })
}

/// The program's next line, unless it has to be ended.
fn hear(
    talk: &mut Talk,
    limit: Duration,
    group: &Group,
    watch: &mut Watch,
    cancel: &Cancel,
) -> Result<String, Ended> {
    let until = Instant::now() + limit;
    loop {
        match talk.hear(POLL) {
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Disconnected) if group.was_killed() => {
                return Err(Ended::Because(
                    "the program needed more than memory and swap together".to_owned(),
                ));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let said = talk.end(Duration::ZERO).complaint();
                return Err(Ended::Because(format!("the program that uses memory was ended: {said}")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let why = match () {
            () if cancel.is_set() => Some(Ended::Error(RunError::Interrupted)),
            () if Instant::now() > until => Some(Ended::Because("it took too long".to_owned())),
            () if watch.is_enough() => Some(Ended::Enough(watch.enough())),
            () => watch.look(group).map(Ended::Because),
        };
        if let Some(why) = why {
            talk.end(Duration::ZERO);
            return Err(why);
        }
    }
}
