//! Consent to what a plan does besides erasing drives: a word that an option names, or that is typed at a terminal.

use std::io::{self, BufRead, IsTerminal};

use super::{errors::Usage, output::Output};
use crate::{experiments::Values, plan::Plan, units::shell_word};

/// Takes the consents that the acts of a plan ask for.
pub(super) fn ask(plan: &Plan, values: &Values, output: &Output) -> anyhow::Result<()> {
    for consent in plan.steps.iter().filter_map(|step| step.act.consent()) {
        let option = format!("--{} {}", consent.option, shell_word(&consent.word));
        match values.text(consent.option) {
            Some(words) if words.split(',').chain([words]).any(|word| word == consent.word) => continue,
            None if io::stdin().is_terminal() => {}
            _ => return Err(Usage(format!("to {}, add {option}", consent.act)).into()),
        }
        consent.warnings.iter().for_each(|line| output.note(line));
        output.note(&format!("To {}, type {}; to stop, type nothing:", consent.act, consent.word));
        let mut typed = String::new();
        io::stdin().lock().read_line(&mut typed)?;
        if typed.trim() != consent.word {
            return Err(Usage("stopped; nothing was changed".to_owned()).into());
        }
    }
    Ok(())
}
