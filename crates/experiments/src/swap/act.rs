//! Make a swap area, and have a program use more memory than it may have.

use std::{ops::RangeInclusive, path::Path};

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::{area, group, session::Session, watch};
use crate::{
    inventory::Inventory,
    plan::{Act, Changes, Cost, Needs, Step, Uncounted},
    record::{ActResult, Event, Observation},
    run::{Execution, RunError, Troubles},
    sysroot::Sysroot,
    target::Target,
    units::{Histogram, decimal_bytes, duration},
};

/// Makes a swap area, which the loads after it use. It is removed before another one is made, and when the run ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MakeSwapArea {
    pub medium: SwapMedium,
    /// Size of the area in bytes.
    pub area: u64,
    /// Memory that the program may have, in bytes.
    pub memory: u64,
    /// The most that all loads together write to the medium, in bytes.
    pub most: u64,
}

/// A program uses more memory than it may have: each request changes some random pages and does some processor work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UseSwap {
    /// Memory that it uses, in percent of what it may have.
    pub percent: u32,
    /// Which repetition it is, from 1.
    pub run: u32,
    /// Memory that the program may have, in bytes.
    pub memory: u64,
    /// Incompressible share of each page, in percent.
    pub random: u8,
    /// Duration in seconds, after the memory is filled.
    pub seconds: f64,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapMedium {
    /// A file on the target.
    File,
    /// A file on the target, with zswap before it.
    Zswap,
    /// The target itself, a whole drive or a partition, which is erased; the identity of the drive.
    Device { drive: String },
    /// Compressed memory; `None` for the kernel's algorithm.
    Zram { algorithm: Option<String> },
}

impl SwapMedium {
    /// It is in memory, and writes to no drive.
    pub fn is_zram(&self) -> bool {
        matches!(self, Self::Zram { .. })
    }

    /// It is in a file on a filesystem.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File | Self::Zswap)
    }
}

/// Memory that a program may have, in bytes.
const MEMORY: RangeInclusive<u64> = 1 << 20..=1 << 40;
/// The swap area and other programs' memory are not counted as bytes that the run moved.
fn needs() -> Needs {
    Needs { uncounted: Uncounted::All, ..Needs::default() }
}

crate::kind!("swap.area", MakeSwapArea as Act);

impl Act for MakeSwapArea {
    fn label(&self) -> String {
        "swap area".to_owned()
    }

    fn cost(&self) -> Cost {
        let made = self.space();
        let written = if self.medium.is_zram() { 0 } else { made.saturating_add(self.most) };
        Cost { written, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        match &self.medium {
            SwapMedium::Device { drive } => Changes::Erases(vec![drive.clone()]),
            _ => Changes::DriveState("the kernel swaps to a temporary area, which is removed afterwards"),
        }
    }

    fn describe(&self) -> Option<String> {
        let on = match &self.medium {
            SwapMedium::File => "in a file",
            SwapMedium::Zswap => "in a file behind zswap",
            SwapMedium::Device { .. } => "on the device itself, which is erased",
            SwapMedium::Zram { .. } => "in compressed memory",
        };
        let [area, memory] = [self.area, self.memory].map(decimal_bytes);
        Some(format!("{area} {on}, for a program limited to {memory} of memory"))
    }

    fn check(&self) -> Result<(), String> {
        let fits = MEMORY.contains(&self.memory) && MEMORY.contains(&self.area);
        if fits { Ok(()) } else { Err("swaps with impossible sizes".to_owned()) }
    }

    fn space(&self) -> u64 {
        if self.medium.is_file() { self.area } else { 0 }
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn sets_up(&self) -> bool {
        true
    }

    fn require(&self, _: &Target, _: &Inventory, _: &Path) -> Result<(), String> {
        let root = Sysroot::live();
        if !geteuid().is_root() {
            return Err("making a swap area needs root: run it with sudo".to_owned());
        }
        group::place(&root).map_err(|e| e.to_string())?;
        if root.number::<u32>("/proc/sys/vm/swappiness") == Some(0) {
            let why = "vm.swappiness is 0, so the kernel swaps no program in a control group: set it with sysctl vm.swappiness=60 for this test";
            return Err(why.to_owned());
        }
        if area::highest_priority().map_err(|e| e.to_string())? >= Some(i32::from(area::PRIORITY)) {
            let why = "another swap area has the highest priority, so both would be filled in turn: see /proc/swaps. Wait if another run of swap is active; `drivebench cleanup` removes the area of a killed run; otherwise swapoff it";
            return Err(why.to_owned());
        }
        watch::has_room(&root, self)
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            // The kernel would fill two areas in turn.
            run.held.release::<Session>(run.ctx.world.runner())?;
            if let Some(tools) = run.ctx.world.system() {
                let (on, world) = (&run.plan.targets[target], &run.ctx.world);
                self.require(on, run.ctx.inventory, run.ctx.store).map_err(RunError::Act)?;
                let machine = (world.journal(), tools, world.erasable());
                let session = Session::begin((target, on), self, machine, &run.cancel)?;
                run.held.put(target, session);
            }
            run.account(target, 0, self.space());
            let seconds = run.ctx.world.seconds() - since;
            let result = ActResult { seconds, bytes: self.space(), ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
        }
        Ok(Troubles::new())
    }
}

crate::kind!("swap.use", UseSwap as Act);

impl Act for UseSwap {
    fn label(&self) -> String {
        format!("requests {} %", self.percent)
    }

    fn cost(&self) -> Cost {
        // Filling memory takes as long as the medium needs.
        Cost::default()
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        let used = decimal_bytes(self.memory * u64::from(self.percent) / 100);
        Some(format!("uses {used}, {} % incompressible, for {}", self.random, duration(self.seconds)))
    }

    fn check(&self) -> Result<(), String> {
        let fits = MEMORY.contains(&self.memory)
            && (1..=1000).contains(&self.percent)
            && (0.0..=1e6).contains(&self.seconds);
        if fits { Ok(()) } else { Err("swaps with impossible sizes or times".to_owned()) }
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        needs()
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let mut troubles = Troubles::new();
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let session = run.held.get::<Session>(target);
            let mut bytes = 0;
            let result = match (run.ctx.world.system(), session) {
                (None, _) => {
                    SwapLoadResult { seconds: self.seconds, operations: 1, ..SwapLoadResult::default() }
                }
                (Some(_), None) => return Err(RunError::Act("there is no swap area".to_owned())),
                (Some(_), Some(session)) if session.is_over => {
                    run.ctx.emit(Event::Skipped { step: step.id })?;
                    continue;
                }
                (Some(tools), Some(session)) => {
                    let before = session.bytes_written();
                    let loaded = session.load(self, tools, &run.cancel);
                    bytes = session.bytes_written().saturating_sub(before);
                    match loaded {
                        // The medium can't be measured any further.
                        Err(RunError::Act(why)) => SwapLoadResult {
                            ended: Some(why),
                            is_enough: session.is_over,
                            ..SwapLoadResult::default()
                        },
                        loaded => loaded?,
                    }
                }
            };
            run.account(target, 0, bytes);
            let seconds = run.ctx.world.seconds() - since;
            if let Some(why) = &result.ended {
                let text = format!("the swap test was ended: {why}");
                match result.is_enough {
                    true => run.note(text + ".")?,
                    false => troubles.push((target, text)),
                }
            }
            let result = ActResult { seconds, bytes, observed: Some(result.into()), ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
        }
        Ok(troubles)
    }
}

/// One load, after its memory was filled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapLoadResult {
    pub seconds: f64,
    pub operations: u64,
    pub latency: Histogram,
    /// Bytes written to the drive, or held by zram more than before; None where that is not known.
    pub written: Option<u64>,
    /// Why the load was ended before its time; then the rest is zero.
    pub ended: Option<String>,
    /// It was ended because as much was written as was allowed.
    pub is_enough: bool,
}

crate::kind!("swap.load", SwapLoadResult as Observation);

impl Observation for SwapLoadResult {
    fn fits(&self) -> bool {
        self.seconds > 0.0 || self.ended.is_some()
    }
}
