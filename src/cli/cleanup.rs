//! `drivebench cleanup`: removes what killed runs left.

use std::process::ExitCode;

use super::{Output, bay};
use crate::{
    experiments::waiting,
    record::Store,
    run::{Built, Leftover, pools, sweep, to_remove},
    units::clean,
};

pub(super) fn cleanup(store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let left = [sweep(store.dir()), waiting(store.dir())].concat();
    let mut lines: Vec<String> = left.iter().map(describe).collect();
    let (built, damaged) = pools(store.dir());
    lines.extend(pools_of_runs(built, output));
    lines.extend(
        damaged
            .iter()
            .map(|(path, why)| clean(&format!("{} can't be read: {why}", path.display())).into_owned()),
    );
    if lines.is_empty() {
        lines.push("Nothing to clean up.".to_owned());
    }
    output.result(&(lines.join("\n") + "\n"))?;
    let done = damaged.is_empty() && left.iter().all(|one| one.outcome.is_ok());
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Pools that runs built and did not remove. Removing them needs consent.
fn pools_of_runs(mut built: Vec<Built>, output: &Output) -> Vec<String> {
    built.retain(|pool| pool.is_of_run() && !pool.busy);
    if built.is_empty() {
        return Vec::new();
    }
    let inventory = bay::here(output);
    let line = |pool: &Built| {
        let name = &pool.build.name;
        format!(
            "The pool {name} of an interrupted run was not removed; to remove it: {}",
            to_remove(pool, &inventory)
        )
    };
    built.iter().map(line).collect()
}

pub(super) fn describe(left: &Leftover) -> String {
    let text = match &left.outcome {
        Ok(done) => done.clone(),
        Err(kept) => {
            let (path, ended) = (left.path.display(), left.ended);
            format!("{path}, left by {ended}, can't be removed ({}): {}", kept.why, kept.remedy)
        }
    };
    clean(&text).into_owned()
}
