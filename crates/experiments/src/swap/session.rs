//! A swap area on one medium while loads use it, and one such load.

use std::{
    io,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use super::{
    act::{MakeSwapArea, SwapLoadResult, SwapMedium, UseSwap},
    area::{Area, is_used},
    group::{Group, POLL},
    watch::{Watch, Zswap},
    worker::{Answer, Order, READY},
};
use crate::{
    engine::Cancel,
    run::{Held, Journal, Lock, RunError},
    sysroot::Sysroot,
    target::Target,
    tools::{Runner, System, Talk, swap},
};

/// How long memory may take to be filled.
const FILLS: Duration = Duration::from_secs(1800);

/// A swap area, and what watches the machine while it is used.
#[derive(Debug)]
pub struct Session {
    /// None once it is removed.
    area: Option<Area>,
    made: MakeSwapArea,
    watch: Watch,
    journal: Journal,
    /// As much was written as was allowed: later loads are skipped.
    pub is_over: bool,
    _zswap: Option<Zswap>,
    /// The areas of two runs would be filled in turn.
    _only: Lock,
}

impl Session {
    /// Makes the area. The last part of `machine` holds the serials of drives that may be erased.
    pub fn begin(
        (at, target): (usize, &Target),
        act: &MakeSwapArea,
        (journal, tools, erase): (&Journal, &System, &[String]),
        cancel: &Cancel,
    ) -> Result<Self, RunError> {
        let root = Sysroot::live();
        let only = Lock::of_machine("swap").map_err(|e| RunError::Act(e.to_string()))?;
        let zswap = (act.medium == SwapMedium::Zswap).then(|| Zswap::turn_on(journal)).transpose()?;
        let area = match &act.medium {
            SwapMedium::Zram { algorithm } => Area::zram(algorithm.as_deref(), act.area, (journal, tools))?,
            SwapMedium::Device { .. } => Area::device(target, act.area, erase, (journal, tools))?,
            SwapMedium::File | SwapMedium::Zswap => Area::file(&target.path, at, act.area, journal, cancel)?,
        };
        // Each copy that an array writes counts.
        let drives = target.drives.iter().map(|drive| drive.name.clone()).collect();
        let zram = || area.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let media = if act.medium.is_zram() { zram().into_iter().collect() } else { drives };
        Ok(Self {
            watch: Watch::new(root, media, act.most, area.path()),
            area: Some(area),
            made: act.clone(),
            journal: journal.clone(),
            is_over: false,
            _zswap: zswap,
            _only: only,
        })
    }

    /// Bytes written to the drive so far; 0 where that is not known, and for zram.
    pub fn bytes_written(&self) -> u64 {
        if self.made.medium.is_zram() { 0 } else { self.watch.written().unwrap_or(0) }
    }

    /// Has the program fill its memory, then use it. `RunError::Act` says why the medium can't be measured any further.
    pub fn load(
        &mut self,
        act: &UseSwap,
        tools: &System,
        cancel: &Cancel,
    ) -> Result<SwapLoadResult, RunError> {
        let failed = |what: &str, e: io::Error| RunError::Act(format!("{what}: {e}"));
        let behind_zswap = self.made.medium == SwapMedium::Zswap;
        let group = Group::make(&self.journal, act.memory, self.made.area, behind_zswap)
            .map_err(|e| failed("no control group could be made", e))?;
        let order = Order {
            group: group.dir().to_owned(),
            bytes: act.memory * u64::from(act.percent) / 100,
            random: act.random,
            seconds: act.seconds,
            seed: act.seed.wrapping_add(u64::from(act.run)),
        };
        self.watch.begin_load();
        let mut talk = tools.talk(&swap::worker())?;
        let order = serde_json::to_string(&order).unwrap_or_default() + "\n";
        talk.say(&order).map_err(|e| failed("the program did not start", e))?;
        let line = self.hear(&mut talk, FILLS, &group, cancel)?;
        if line != READY {
            return Err(RunError::Act(format!("the test program reported: {line}")));
        }
        let before = self.watch.written();
        talk.say("\n").map_err(|e| failed("the program ended", e))?;
        // Its last operation may take long.
        let line = self.hear(&mut talk, Duration::from_secs_f64(act.seconds) + FILLS, &group, cancel)?;
        let written = self.watch.written().zip(before).map(|(now, before)| now.saturating_sub(before));
        if self.watch.is_full(self.made.area) {
            return Err(RunError::Act(
                "the swap area was full, so that other areas were used, too".to_owned(),
            ));
        }
        talk.end(Duration::from_secs(5));
        let answer: Answer =
            serde_json::from_str(&line).map_err(|e| RunError::Act(format!("the program's answer: {e}")))?;
        group.remove().map_err(|e| failed("the control group stays", e))?;
        let Answer { seconds, operations, latency } = answer;
        Ok(SwapLoadResult { seconds, operations, latency, written, ended: None, is_enough: false })
    }

    /// The program's next line, unless it has to be ended.
    fn hear(
        &mut self,
        talk: &mut Talk,
        limit: Duration,
        group: &Group,
        cancel: &Cancel,
    ) -> Result<String, RunError> {
        let until = Instant::now() + limit;
        loop {
            match talk.hear(POLL) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::Act(match group.was_killed() {
                        true => "the test program needed more than memory and swap together".to_owned(),
                        false => {
                            let said = talk.end(Duration::ZERO).complaint();
                            format!("the test program was ended: {said}")
                        }
                    }));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let mut ended = match () {
                () if cancel.is_asked() => Some(RunError::Interrupted),
                () if cancel.is_set() => Some(RunError::TimeUp),
                () if Instant::now() > until => Some(RunError::Act("it took too long".to_owned())),
                () => self.watch.look(group).map(RunError::Act),
            };
            if ended.is_none() && self.watch.is_enough() {
                self.is_over = true;
                ended = Some(RunError::Act(self.watch.enough()));
            }
            if let Some(ended) = ended {
                talk.end(Duration::ZERO);
                return Err(ended);
            }
        }
    }
}

impl Held for Session {
    fn release(&mut self, runner: &dyn Runner) -> Result<(), RunError> {
        let Some(area) = self.area.take() else { return Ok(()) };
        let path = area.path();
        area.remove(runner).map_err(|e| {
            RunError::Act(match is_used(&path) {
                Ok(false) => format!("its swap area is not removed completely: {e}"),
                _ => format!(
                    "its swap area {} may still be in use ({e}): leave the drive connected, end some programs, then run `drivebench cleanup`",
                    path.display()
                ),
            })
        })
    }
}
