//! Consent to what is erased: serials given with `--erase`, or typed at a terminal.

use std::{
    io::{self, BufRead, IsTerminal},
    path::Path,
};

use anyhow::anyhow;

use super::describe;
use crate::{
    cli::{
        errors::Usage,
        output::{self, Output},
    },
    danger::{consent, erasable, erase_option},
    inventory::{Drive, Inventory},
    plan::{Changes, Plan, Step},
    run::{self, BuildError},
    units::clean,
};

/// Shows the drives that a plan erases and takes the consent to each; returns their serials. Refuses, before anything is
/// changed, what can't be built. `own`: the pool of the store that they are of; they are claimed only once the plan has stopped it.
pub(in crate::cli) fn consent_to(
    plan: &Plan,
    erase: Vec<String>,
    own: Option<&str>,
    inventory: &Inventory,
    store: &Path,
    output: &Output,
) -> anyhow::Result<Vec<String>> {
    let (pools, _) = run::pools(store);
    let is_left = |name: &str| pools.iter().any(|pool| run::is_left(pool, name));
    // What a killed run left of this plan is removed first, when it is built again.
    let left: Vec<&str> =
        plan.builds().map(|(_, build)| build.name.as_str()).filter(|name| is_left(name)).collect();
    if left.is_empty() {
        for (at, build) in plan.builds() {
            run::can_build(build, &plan.targets[at].path, inventory).map_err(usage)?;
        }
    }
    let find = |identity: String| {
        inventory.drive(&identity).ok_or_else(|| Usage(format!("{} is not plugged in", clean(&identity))))
    };
    let is_erased = |identity: &String| !plan.accepts_missing_drives() || inventory.drive(identity).is_some();
    let drives = plan.erased().into_iter().filter(is_erased).map(find).collect::<Result<Vec<&Drive>, _>>()?;
    // A serial of a pool that is given once more is no mistake.
    if own.is_none() {
        known(&erase, &drives)?;
    }
    if drives.is_empty() {
        return Ok(erase);
    }
    // What stands on the drives of a pool is taken apart before they can be claimed.
    let is_free = own.is_none() && left.is_empty();
    if left.is_empty() {
        run::in_no_pool(&drives, inventory, store, own).map_err(usage)?;
    }
    if is_free {
        drives.iter().try_for_each(|drive| erasable(inventory, drive))?;
    }
    let puts_back = |step: &Step| matches!(step.act.changes(), Changes::PutsBack(_));
    let what = match plan.steps.iter().any(puts_back) {
        true => {
            "This overwrites blocks of these drives and puts them back. A drive that is bad or false may lose data"
        }
        false => "This erases",
    };
    output.lines(&format!("{what}:\n{}", describe(&drives)));
    let areas = plan
        .steps
        .iter()
        .filter(|step| matches!(step.act.changes(), Changes::Erases(_)) && !step.act.needs().finds_target);
    for at in areas.flat_map(Step::targets) {
        // A resumed run finds it under another name, perhaps.
        let area = plan.targets[at].find_again(inventory)?;
        output.lines(&format!("Overwritten: only {}.", area.path.display()));
    }
    let typed = match io::stdin().is_terminal() {
        true => typed(&drives, &erase, &mut io::stdin().lock(), &mut |text| output.note(text))?,
        false => Vec::new(),
    };
    let erase = [erase, typed].concat();
    all_named(&drives, &erase)?;
    if is_free {
        // Each is claimed again when it is changed.
        run::claim(&drives, &erase, store, None, false).map_err(usage)?;
    }
    for name in left {
        let removed = run::remove_for_run(name, &erase, store)
            .map_err(|e| anyhow!("what a killed run left of {name} can't be removed: {e}"))?;
        output.note(&format!("Removed {name}, left by a run that was killed:"));
        removed.commands.iter().for_each(|command| output.marked("  ", command));
    }
    Ok(erase)
}

fn usage(e: BuildError) -> Usage {
    Usage(e.to_string())
}

/// Refuses a serial that is of none of these drives: it may be mistyped.
fn known(erase: &[String], drives: &[&Drive]) -> Result<(), Usage> {
    let own: Vec<String> = drives.iter().map(|drive| consent(drive)).collect();
    let Some(unknown) = erase.iter().find(|serial| !own.contains(serial)) else { return Ok(()) };
    let left = own.iter().filter(|serial| !erase.contains(serial)).map(|serial| erase_option(serial));
    let left: Vec<String> = left.collect();
    let then = match left.is_empty() {
        true => "leave it out".to_owned(),
        false => format!("add {} instead if that may be lost", left.join(" ")),
    };
    let given = erase_option(unknown);
    Err(Usage(format!(
        "{given}: no drive of this command has that serial to itself. Nothing was changed: {then}"
    )))
}

/// Refuses drives that were not named.
fn all_named(drives: &[&Drive], erase: &[String]) -> Result<(), Usage> {
    let unnamed = drives.iter().map(|drive| consent(drive)).filter(|serial| !erase.contains(serial));
    let unnamed: Vec<String> = unnamed.map(|serial| erase_option(&serial)).collect();
    match unnamed.is_empty() {
        true => Ok(()),
        false => Err(Usage(format!("nothing was changed: add {}", unnamed.join(" ")))),
    }
}

/// The serials that are typed for drives that were not named with `--erase`.
fn typed(
    drives: &[&Drive],
    erase: &[String],
    input: &mut impl BufRead,
    note: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<String>> {
    let mut typed = Vec::new();
    for drive in drives.iter().filter(|drive| !erase.contains(&consent(drive))) {
        output::consent(&format!("erase {}", drive.label()), &consent(drive), input, note)?;
        typed.push(consent(drive));
    }
    Ok(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_of_no_drive_of_the_command_is_refused() {
        let drive = |serial: &str, bay: &str| Drive {
            serial: Some(serial.to_owned()),
            bay: Some(bay.to_owned()),
            ..Drive::default()
        };
        let drives = [drive("4C531", "1"), drive("4C532", "2"), drive("000000000000", "3")];
        let all: Vec<&Drive> = drives.iter().collect();
        let refused = |erase: &[&str]| {
            let erase: Vec<String> = erase.iter().map(|&serial| serial.to_owned()).collect();
            known(&erase, &all).err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(&["4C531", "000000000000+0@3"]), "");
        assert_eq!(
            refused(&["4C531", "4C541", "000000000000+0@3"]),
            "--erase 4C541: no drive of this command has that serial to itself. Nothing was changed: add --erase 4C532 \
             instead if that may be lost"
        );
        assert!(refused(&["000000000000"]).contains("has that serial to itself"));
        let all = ["4C531", "4C532", "000000000000+0@3", "-x"];
        assert!(refused(&all).starts_with("--erase=-x: ") && refused(&all).ends_with("leave it out"));
    }

    #[test]
    fn a_mistyped_serial_is_no_consent() {
        let drive = |serial: &str| Drive { serial: Some(serial.to_owned()), ..Drive::default() };
        let drives = [drive("4C530001010222107401"), drive("4C530001010222107402")];
        let all: Vec<&Drive> = drives.iter().collect();
        let asked = |erase: &[String], input: &str| {
            let mut notes = Vec::new();
            let typed = typed(&all, erase, &mut input.as_bytes(), &mut |text| notes.push(text.to_owned()));
            (typed.map_err(|e| e.to_string()), notes.len())
        };
        let serials: Vec<String> = drives.iter().map(consent).collect();
        let both = format!(" {} \n{}\n", serials[0], serials[1]);
        assert_eq!(asked(&[], &both), (Ok(serials.clone()), 2));
        assert_eq!(asked(&serials[..1], &format!("{}\n", serials[1])), (Ok(serials[1..].to_vec()), 1));
        let stopped = Err("stopped; nothing was changed".to_owned());
        let wrong =
            ["4C530001010222107411\n", "4c530001010222107401\n", "4C53000101022210740\n", "yes\n", "\n", ""];
        for mistyped in wrong {
            assert_eq!(asked(&[], mistyped), (stopped.clone(), 1), "{mistyped:?}");
        }
        assert_eq!(asked(&[], &format!("{}\n{}\n", serials[0], serials[0])), (stopped, 2), "the other one's");
    }
}
