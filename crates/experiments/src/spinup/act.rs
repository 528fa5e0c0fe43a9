//! Sends a drive to standby: by command, or by waiting for its own timer.

use serde::{Deserialize, Serialize};

use crate::{
    conditions::Snapshot,
    inventory::Drive,
    plan::{Act, Changes, Cost, Step},
    record::{ActResult, Observation},
    run::{DriveInStandby, Execution, Journal, RunError, Troubles},
    target::Target,
    tools::{
        Output, Runner,
        hdparm::{self, accepted, denied, parse_power, power},
    },
    units::{Power, duration},
};

/// Sends a disk to standby: by command or, if it refuses, by waiting for its own timer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Standby {
    /// The drive's node.
    pub device: String,
    /// The maximum wait for its own timer, s.
    pub patience: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StandbyResult {
    /// The state that it reported last.
    pub power: Power,
    /// Bytes that other programs moved on it, which keep it awake.
    pub others: u64,
}

/// How long a disk may take to stop rotating after it accepted the command, s.
pub(super) const SETTLE: f64 = 10.0;

/// The first wait for a drive's own timer, s. Each wait is twice the last one, because some drives restart their timer
/// when their power state is read.
const FIRST: f64 = 5.0;

crate::kind!("standby", StandbyResult as Observation);

impl Observation for StandbyResult {}

crate::kind!("standby", Standby as Act);

impl Act for Standby {
    fn label(&self) -> String {
        "standby".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(SETTLE + self.patience)
    }

    fn changes(&self) -> Changes {
        Changes::DriveState("the drive goes to standby")
    }

    fn describe(&self) -> Option<String> {
        let patience = duration(self.patience);
        Some(format!("hdparm -y; if refused, up to {patience} for its own timer"))
    }

    fn prepares(&self) -> bool {
        true
    }

    /// Also records other I/O on the drives.
    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        let ctx = &mut *run.ctx;
        ctx.watcher.begins(step);
        let store = ctx.store.to_str().and_then(|path| Target::resolve(ctx.inventory, path).ok());
        for target in step.targets() {
            let drives = &run.plan.targets[target].drives;
            // The plan has the kernel's name of it from before a reboot.
            let device = drives.first().map_or_else(|| self.device.clone(), Drive::node);
            let same = |name: &str| drives.iter().any(|drive| drive.name == name);
            if store.iter().flat_map(|store| &store.drives).any(|drive| same(&drive.name)) {
                return Err(RunError::Act(format!(
                    "the results are stored on {device}, and writing them would wake it: store them on another drive with --store DIR"
                )));
            }
            let world = &*run.ctx.world;
            let since = world.seconds();
            let before = Snapshot::take(world.sysroot(), drives);
            let power = send(&device, self.patience, world.journal(), world.runner(), &mut |seconds| {
                world.wait(seconds, &run.cancel);
                !run.cancel.is_set()
            })?;
            let after = Snapshot::take(world.sysroot(), drives);
            let moved = drives.iter().filter_map(|drive| before.between(&after, &drive.name));
            let others = moved.map(|did| did.read + did.written).sum();
            let seconds = world.seconds() - since;
            let cut_short = run.cancel.is_set();
            let observed = Some(StandbyResult { power, others }.into());
            run.emit_act(
                step.id,
                Some(target),
                ActResult { seconds, cut_short, observed, ..ActResult::default() },
            )?;
        }
        Ok(Troubles::new())
    }
}

/// Sends the drive at `device` to standby; if it refuses, waits up to `patience` s for its own timer. `rest` waits and
/// returns whether to continue. The journal entry is written first. Returns the power state that it reported last.
fn send(
    device: &str,
    patience: f64,
    journal: &Journal,
    runner: &dyn Runner,
    rest: &mut dyn FnMut(f64) -> bool,
) -> Result<Power, RunError> {
    let allowed = |output: Output| match denied(&output) {
        true => Err(RunError::Act(format!(
            "sending {device} to standby and reading its power state needs root, even if you may read it: run it with sudo"
        ))),
        false => Ok(output),
    };
    let ask = || -> Result<Power, RunError> { Ok(parse_power(&allowed(runner.ask(&power(device))?)?)) };
    // It has just been read, so it is awake. If it reports standby now, its reports are ignored.
    let believed = ask()? == Power::Awake;
    let entry = journal.will(DriveInStandby { device: device.into() }).map_err(RunError::Journal)?;
    let output = hdparm::standby(device).run(&entry, runner);
    // The next access wakes it, so there is nothing to undo.
    entry.done().map_err(RunError::Journal)?;
    if accepted(&allowed(output?)?) {
        let go_on = rest(SETTLE);
        let now = if believed { ask()? } else { Power::Unknown };
        // A drive that accepts the command but reports no power state counts as asleep; the next read verifies it.
        if now != Power::Awake || !go_on {
            return Ok(now);
        }
    }
    if !believed {
        rest(patience);
        return Ok(Power::Unknown);
    }
    let (mut gap, mut left) = (FIRST, patience);
    loop {
        if left < 3.0 * gap {
            gap = left;
        }
        let go_on = rest(gap);
        left -= gap;
        let now = ask()?;
        if now == Power::Standby || left <= 0.0 || !go_on {
            return Ok(now);
        }
        gap *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::tools::{Query, ToolError};

    /// A modelled drive behind hdparm, in virtual time.
    #[derive(Default)]
    struct Disk {
        now: Cell<f64>,
        idle_since: Cell<f64>,
        /// Its own timer, s.
        timer: f64,
        /// It accepts the standby command.
        obeys: bool,
        asleep: Cell<bool>,
        /// Reading the power state restarts its timer.
        touchy: bool,
        /// A constant report, whatever its state.
        always: Option<&'static str>,
    }

    impl Disk {
        fn sleep(&self, patience: f64) -> (Power, f64) {
            let store = tempfile::tempdir().expect("a store");
            let journal = Journal::open(store.path(), "rabc");
            let power = send("/dev/sda", patience, &journal, self, &mut |seconds| {
                self.now.set(self.now.get() + seconds);
                true
            });
            (power.expect("hdparm answers"), self.now.get())
        }
    }

    impl Runner for Disk {
        fn ask(&self, query: &Query) -> Result<Output, ToolError> {
            let line = query.to_string();
            let mut output = Output { code: Some(0), ..Output::default() };
            if line.contains("-y") {
                output.stdout = "
/dev/sda:
 issuing standby command
"
                .to_owned();
                if self.obeys {
                    self.asleep.set(true);
                } else {
                    output.stderr = "SG_IO: bad/missing sense data, sb[]:  70 00 05 00".to_owned();
                }
                return Ok(output);
            }
            if self.timer > 0.0 && self.now.get() - self.idle_since.get() >= self.timer {
                self.asleep.set(true);
            } else if self.touchy {
                self.idle_since.set(self.now.get());
            }
            let state = self.always.unwrap_or(if self.asleep.get() { "standby" } else { "active/idle" });
            output.stdout = format!(
                "
/dev/sda:
 drive state is:  {state}
"
            );
            Ok(output)
        }

        fn stream(
            &self,
            query: &Query,
            _: &dyn Fn() -> bool,
            _: &mut dyn FnMut(&str),
        ) -> Result<Output, ToolError> {
            self.ask(query)
        }
    }

    #[test]
    fn after_the_standby_command_the_disk_gets_time_to_stop() {
        let slept = Disk { obeys: true, ..Disk::default() }.sleep(180.0);
        assert_eq!(slept, (Power::Standby, SETTLE));
    }

    #[test]
    fn if_the_command_is_refused_its_own_timer_is_awaited() {
        let slept = Disk { timer: 12.0, ..Disk::default() }.sleep(180.0);
        assert_eq!(slept, (Power::Standby, 15.0));
        let slept = Disk { timer: 12.0, touchy: true, ..Disk::default() }.sleep(180.0);
        assert_eq!(slept, (Power::Standby, 35.0), "checked less and less often");
        let slept = Disk { timer: 600.0, ..Disk::default() }.sleep(180.0);
        assert_eq!(slept, (Power::Awake, 180.0), "the time limit ends it");
    }

    #[test]
    fn a_bridge_that_always_reports_the_same_state_is_ignored() {
        let bridge = || Disk { timer: 12.0, always: Some("standby"), ..Disk::default() };
        let slept = bridge().sleep(20.0);
        assert_eq!(slept, (Power::Unknown, 20.0));
        let slept = Disk { obeys: true, ..bridge() }.sleep(20.0);
        assert_eq!(slept, (Power::Unknown, SETTLE));
    }

    #[test]
    fn standby_needs_root() {
        let output =
            Output { code: Some(13), stderr: "/dev/sda: Permission denied".to_owned(), ..Output::default() };
        let runner = crate::tools::Replay::default().answer("hdparm", output);
        let store = tempfile::tempdir().expect("a store");
        let journal = Journal::open(store.path(), "rabc");
        let error = send("/dev/sda", 1.0, &journal, &runner, &mut |_| true).expect_err("denied");
        assert!(error.to_string().contains("needs root"), "{error}");
    }
}
