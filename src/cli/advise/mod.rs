//! `drivebench advise`: answers from the inventory and earlier results.

mod gather;
mod layout;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode};

use serde::Serialize;

use super::{
    args::{Advise, ListFormat},
    list,
    output::Output,
    stored,
};
use crate::{
    advise::{Answer, advise},
    experiments::learn_networks,
    record::StoreError,
    report::json,
};
use gather::Gathered;

/// Answers from the inventory and the store. Nothing is measured, written to a drive, or sent.
pub(super) fn answer(args: &Advise, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let mut inventory = list::inventory(&args.machine, store, output)?;
    let (gathered, dir) = match stored::store(store) {
        Ok(store) => {
            learn_networks(&store, &mut inventory)?;
            (gather::gather(&store, &inventory)?, Some(store))
        }
        // Without a home there are no results, but the inventory still gives answers.
        Err(e) if matches!(e.downcast_ref(), Some(StoreError::NoHome)) => (Gathered::default(), None),
        Err(e) => return Err(e),
    };
    let command = |line: &str| match &dir {
        Some(dir) => stored::command(dir, line),
        None => format!("drivebench {line}"),
    };
    let mut answers = advise(&inventory, &gathered.evidence);
    with_commands(&mut answers, command);
    output.result(&match args.format {
        ListFormat::Text => {
            layout::text(&inventory, &gathered, &answers, args.full, &command("advise --full"), output.style)
        }
        ListFormat::Json => json(&document(&gathered, &answers)),
    })?;
    for e in &gathered.unreadable {
        output.note(&format!("Left out: {e}."));
    }
    Ok(ExitCode::SUCCESS)
}

/// The answers with commands as they must be typed.
fn with_commands(answers: &mut [Answer], command: impl Fn(&str) -> String) {
    answers.iter_mut().filter_map(|answer| answer.decide.as_mut()).for_each(|line| *line = command(line));
}

/// The version of the JSON, which rises with incompatible changes. docs/reference/advise.md describes it.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    drivebench: &'static str,
    #[serde(flatten)]
    gathered: &'a Gathered,
    answers: &'a [Answer],
}

fn document<'a>(gathered: &'a Gathered, answers: &'a [Answer]) -> Document<'a> {
    Document { schema: SCHEMA, drivebench: env!("CARGO_PKG_VERSION"), gathered, answers }
}
