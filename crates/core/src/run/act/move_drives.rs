//! Moving drives by hand: shows which drives to move, and detects when they were moved.

use std::{io, path::Path};

use serde::Serialize;

use super::{Execution, RunError};
use crate::{
    danger::{self, Why},
    inventory::{Inventory, Mount},
    plan::{MoveDrives, Plan, StepId},
    record::ActResult,
    target::{NotFound, Target},
};

/// How often the bays are checked, s.
const GLANCE: f64 = 0.25;

/// The manual work left before the plan continues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// The number of the arrangement, from 1.
    pub number: u32,
    /// Drives that are not in their bays.
    pub moves: Vec<Move>,
    /// Other conditions waited for, as sentences without the full stop.
    pub waits: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Position of the target in the plan.
    pub target: usize,
    /// The drive, for messages.
    pub drive: String,
    pub identity: String,
    pub from: Option<String>,
    /// The bay to move it to, as shown to people.
    pub to: String,
    /// The same bay with its bus.
    pub to_bay: String,
    /// Mount points of its filesystems, which must be unmounted first.
    pub mounted: Vec<String>,
}

impl Move {
    pub fn describe(&self) -> String {
        let Self { drive, to, .. } = self;
        let unmount = match &self.mounted[..] {
            [] => String::new(),
            mounted => format!("umount {}, then ", mounted.join(" ")),
        };
        match &self.from {
            Some(from) => format!("{unmount}take {drive} out of bay {from} and put it into bay {to}"),
            None => format!("put {drive} into bay {to}"),
        }
    }
}

/// Checks that the drives of a plan may be moved: the drives of the system and of the store may not, nor those in use.
pub fn movable(plan: &Plan, inventory: &Inventory, store: &Path) -> Result<(), RunError> {
    if plan.arrangements().count() < 2 {
        return Ok(());
    }
    let kept = store.ancestors().find(|dir| dir.is_dir()).and_then(Path::to_str);
    let kept =
        kept.and_then(|dir| Target::resolve(inventory, dir).ok()).map(|t| t.drives).unwrap_or_default();
    for drive in plan.targets.iter().flat_map(|t| &t.drives) {
        let why = match danger::check(inventory, drive, &[danger::consent(drive)]) {
            _ if kept.iter().any(|kept| kept.identity() == drive.identity()) => {
                format!(
                    "results are stored on it, in {}: choose another directory with --store DIR",
                    store.display()
                )
            }
            // It is unmounted before each move.
            Err(Why::Mounted(_)) if drive.holders.is_empty() => continue,
            Ok(()) | Err(Why::ReadOnly) => continue,
            Err(why) => why.to_string(),
        };
        return Err(RunError::Act(format!("{} can't be moved: {why}", drive.label())));
    }
    Ok(())
}

/// Waits until all drives are in their bays, and updates the plan's targets; returns false if cancelled. With `step`, which
/// moves the drives, files are closed first, and the step is recorded.
pub(in crate::run) fn settle(
    run: &mut Execution<'_, '_>,
    arrange: &MoveDrives,
    step: Option<StepId>,
) -> io::Result<bool> {
    let since = run.ctx.world.seconds();
    let mut shown = None;
    let mut seen: Option<Vec<Target>> = None;
    if step.is_some() {
        close(run)?;
    }
    loop {
        let inventory = run.ctx.world.inventory();
        let (wanted, targets) = look(run.planned, &run.plan, arrange, &inventory, &|was| {
            run.ctx.world.find(was, &inventory, false)
        });
        // After a move, two equal readings are needed: drives appear before they are ready.
        let calm = shown.is_none() || seen.as_ref() == Some(&targets);
        if wanted.moves.is_empty() && wanted.waits.is_empty() && calm {
            if targets.iter().zip(&run.plan.targets).any(|(now, was)| now.path != was.path) && step.is_none()
            {
                close(run)?;
            }
            run.plan.targets = targets;
            break;
        }
        seen = Some(targets);
        if run.ctx.cancel.is_set() {
            return Ok(false);
        }
        if shown.as_ref() != Some(&wanted) {
            run.ctx.watcher.arrange(&wanted);
            shown = Some(wanted);
        }
        run.ctx.world.wait(GLANCE, run.ctx.cancel);
    }
    if let Some(step) = step {
        let seconds = run.ctx.world.seconds() - since;
        run.emit_act(step, None, ActResult { seconds, ..ActResult::default() })?;
        run.ctx.log.sync()?;
    }
    Ok(true)
}

/// Closes all files. Files that can't be removed are noted in the record.
fn close(run: &mut Execution<'_, '_>) -> io::Result<()> {
    run.readable.clear();
    for at in 0..run.plan.targets.len() {
        if let Err(e) = run.ctx.world.close(at) {
            run.note(format!("{e}."))?;
        }
    }
    Ok(())
}

/// The manual work left, and the targets whose drives are in place.
fn look(
    planned: &Plan,
    plan: &Plan,
    arrange: &MoveDrives,
    inventory: &Inventory,
    find: &dyn Fn(&Target) -> Result<Target, NotFound>,
) -> (Wanted, Vec<Target>) {
    let mut wanted = Wanted { number: arrange.number, ..Wanted::default() };
    let mut targets = Vec::new();
    for (target, (was, bay)) in plan.targets.iter().zip(&arrange.bays).enumerate() {
        let Some(drive) = was.drives.first() else { continue };
        let now = inventory.drive(&drive.identity());
        if now.is_some_and(|d| d.full_bay() == *bay) {
            match find(was) {
                Ok(now) => targets.push(now),
                // It disappeared between two checks.
                Err(NotFound::Drive(_)) => {}
                Err(e) => wanted.waits.push(e.to_string()),
            }
            continue;
        }
        let on = |m: &&Mount| now.is_some_and(|d| inventory.drives_of(m).iter().any(|o| o.name == d.name));
        wanted.moves.push(Move {
            target,
            drive: drive.model_and_serial(),
            identity: drive.identity(),
            from: now.map(|d| match (planned.bay_name(&d.full_bay()), &d.bay) {
                (full, Some(bay)) if full == d.full_bay() => bay.clone(),
                (name, _) => name,
            }),
            to: planned.bay_name(bay),
            to_bay: bay.clone(),
            mounted: inventory.mounts.iter().filter(on).map(|m| m.path.clone()).collect(),
        });
    }
    (wanted, targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{inventory::fixtures, plan::Steps, target::Kind};

    /// A plan that swaps two sticks of the Pi; the first is mounted.
    fn plan(inventory: &Inventory) -> Plan {
        let target = |name: &str| Target {
            given: format!("/dev/{name}"),
            kind: Kind::BlockDevice,
            path: format!("/dev/{name}").into(),
            drives: inventory.drives.iter().filter(|d| d.name == name).cloned().collect(),
            direct_alignment: 512,
            ..Target::default()
        };
        let targets = vec![target("sda"), target("sdc")];
        let mut bays: Vec<String> = targets.iter().map(|t| t.drives[0].full_bay()).collect();
        let mut steps = Steps::default();
        steps.add(&[0, 1], MoveDrives { number: 1, bays: bays.clone() });
        bays.reverse();
        steps.add(&[0, 1], MoveDrives { number: 2, bays });
        Plan { experiment: "bays".to_owned(), targets, steps: steps.into(), ..Plan::default() }
    }

    fn second(plan: &Plan) -> &MoveDrives {
        plan.arrangements().nth(1).expect("two").1
    }

    #[test]
    fn moves_are_listed_until_done() {
        let mut inventory = fixtures::pi_zero().inventory();
        let plan = plan(&inventory);
        let said = |inventory: &Inventory| {
            let (wanted, _) = look(&plan, &plan, second(&plan), inventory, &|was| was.relocate(inventory));
            let moves: Vec<String> = wanted.moves.iter().map(Move::describe).collect();
            moves.join("\n")
        };
        let mut all = vec![said(&inventory)];
        let at = |inventory: &Inventory, name: &str| {
            inventory.drives.iter().position(|d| d.name == name).expect("there")
        };
        let mut taken = inventory.drives.remove(at(&inventory, "sda"));
        all.push(said(&inventory));
        let other = at(&inventory, "sdc");
        let free = std::mem::replace(&mut inventory.drives[other].bay, taken.bay.clone());
        all.push(said(&inventory));
        // The drive is back with another device name, first in a third bay.
        (taken.name, taken.bay) = ("sdq".to_owned(), Some("1.9".to_owned()));
        inventory.drives.push(taken);
        all.push(said(&inventory));
        let last = at(&inventory, "sdq");
        inventory.drives[last].bay = free;
        let wanted = look(&plan, &plan, second(&plan), &inventory, &|was| was.relocate(&inventory)).0;
        assert_eq!(wanted.moves, []);
        insta::assert_snapshot!(all.join("\n--\n"));
    }

    #[test]
    fn system_and_store_drives_may_not_be_moved() {
        let mut inventory = fixtures::pi_zero().inventory();
        inventory.unread.clear();
        let plan = plan(&inventory);
        let store = Path::new("/nowhere/store");
        assert!(movable(&plan, &inventory, store).is_ok());
        let refused = |inventory: &Inventory, plan: &Plan| {
            movable(plan, inventory, store).expect_err("refused").to_string()
        };
        inventory.swaps.push("/mnt/a/swapfile".to_owned());
        let swap = refused(&inventory, &plan);
        assert_eq!(
            swap,
            "Cruzer Blade 4C530001 in bay 1.1 can't be moved: it is used as swap: swapoff /mnt/a/swapfile"
        );
        let mount = inventory.mounts.iter_mut().find(|m| m.path == "/mnt/a").expect("mounted");
        mount.path = "/var".to_owned();
        assert!(refused(&inventory, &plan).ends_with("can't be moved: /var is on it"));
        let mut held = plan.clone();
        held.targets.remove(0);
        let other = inventory.drives.iter_mut().find(|d| d.name == "sdc").expect("there");
        other.holders = vec!["md0".to_owned()];
        assert!(refused(&inventory, &held).ends_with("it is part of md0"));
        held.steps.truncate(1);
        assert!(movable(&held, &inventory, store).is_ok(), "no drive is moved");
    }
}
