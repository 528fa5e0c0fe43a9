//! `drivebench pool scrub`: compares the copies or the parity of a pool.

use std::process::ExitCode;

use super::{bay, find};
use crate::{
    cli::{
        errors::Usage,
        options::Options,
        output::Output,
        run::{Task, carry_out},
    },
    experiments::pool_commands::{PoolChange, PoolCommand},
    inventory::Drive,
    record::Store,
    sysroot::Sysroot,
};

pub(super) fn scrub(name: &str, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let built = find(store, name)?;
    let layout = built.build.layout;
    if !layout.is_redundant() {
        return Err(Usage(format!("{name} is {layout}: it has no copies and no parity to compare")).into());
    }
    let inventory = bay::here(output);
    let before = built.build.health(&Sysroot::live(), &inventory);
    let why = match before.missing {
        _ if before.work.is_some() => "is being filled or compared; try again when that is done",
        0 => "",
        _ => "lacks members, so there is nothing to compare",
    };
    if !why.is_empty() {
        return Err(Usage(format!("{name} {why}: drivebench pool status {name}")).into());
    }
    let drives: Vec<&Drive> = built.build.drives(&inventory).into_iter().flatten().collect();
    let plan = PoolCommand { build: built.build.clone(), change: PoolChange::Scrub }.plan(&drives);
    let task = Task::new(plan, Vec::new());
    carry_out(&Options::default(), task, inventory, store, output)
}
