//! Consent to take a drive of a pool in use away: its serial, named with `--pull` or typed at a terminal.

use std::{
    io::{self, BufRead, IsTerminal},
    path::Path,
};

use super::{errors::Usage, output::Output};
use crate::{
    experiments::{Experiment, PULL_DRIVE, Values, pool_in_use},
    inventory::Inventory,
    plan::Plan,
    run,
    target::Target,
    units::shell_word,
};

/// What was typed, with the drive that a person names at the terminal where the command names none.
pub(super) fn named(
    experiment: &Experiment,
    values: &Values,
    targets: &[Target],
    output: &Output,
) -> anyhow::Result<Values> {
    let takes = experiment.options.iter().any(|option| option.spec().name == PULL_DRIVE.name());
    let mut values = values.clone();
    let [target] = targets else { return Ok(values) };
    if !takes || values.is_typed(PULL_DRIVE.name()) || !io::stdin().is_terminal() {
        return Ok(values);
    }
    if let Some(pool) = pool_in_use(target) {
        output.note(&format!("{} is on a pool in use, {}:", target.path.display(), pool.describe()));
        target.drives.iter().for_each(|drive| output.note(&format!("  {}", drive.label())));
        output.note("Which drive is to be pulled? Type its serial; to stop, type nothing:");
        values.set(PULL_DRIVE.name(), &line(&mut io::stdin().lock())?);
    }
    Ok(values)
}

/// Takes the consent to the drives that a plan takes away of pools in use. Refuses what the pool or the machine would not survive.
pub(super) fn consent_to(
    plan: &Plan,
    named: Option<String>,
    inventory: &Inventory,
    store: &Path,
    output: &Output,
) -> anyhow::Result<()> {
    run::can_pull(plan, inventory, store).and_then(|()| run::ready_to_pull(plan)).map_err(usage)?;
    for (_, act) in plan.pulls_in_use() {
        match &named {
            Some(serial) if *serial == act.serial => continue,
            Some(other) => {
                let text = format!("--pull {}: the run takes {} away", shell_word(other), act.label);
                return Err(Usage(text).into());
            }
            None if io::stdin().is_terminal() => {}
            None => {
                let text = format!("to take {} away, add --pull {}", act.label, shell_word(&act.serial));
                return Err(Usage(text).into());
            }
        }
        act.warnings().iter().for_each(|line| output.note(line));
        output.note(&format!("To take it away, type {}; to stop, type nothing:", act.serial));
        if line(&mut io::stdin().lock())? != act.serial {
            return Err(stopped());
        }
    }
    Ok(())
}

/// Refuses what can't be planned for the drives as they are; also what is only shown.
pub(super) fn check(plan: &Plan, inventory: &Inventory, store: &Path) -> anyhow::Result<()> {
    run::can_pull(plan, inventory, store).map_err(usage)
}

fn usage(e: run::BuildError) -> anyhow::Error {
    Usage(e.to_string()).into()
}

fn stopped() -> anyhow::Error {
    Usage("stopped; nothing was changed".to_owned()).into()
}

/// What a person types; nothing is a refusal.
fn line(input: &mut impl BufRead) -> anyhow::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    match line.trim() {
        "" => Err(stopped()),
        word => Ok(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_types_nothing_stops() {
        let typed = |text: &str| line(&mut text.as_bytes()).map_err(|e| e.to_string());
        assert_eq!(typed(" 4C53 \n"), Ok("4C53".to_owned()));
        for nothing in ["", "\n", "  \n"] {
            assert_eq!(typed(nothing), Err("stopped; nothing was changed".to_owned()));
        }
    }
}
