//! `drivebench list`: the machine, its buses, bays and drives, what stands on them, and what is wrong.

use std::{path::Path, process::ExitCode};

use serde::Serialize;

use super::{
    Output, Usage,
    args::{List, ListFormat},
    bay, tree,
};
use crate::inventory::{Finding, Inventory, Sysroot};

/// Shows what is here.
pub(super) fn list(args: &List, output: &Output) -> anyhow::Result<ExitCode> {
    let live = args.sysroot == Path::new("/");
    if !args.sysroot.is_dir() {
        return Err(Usage(format!("{} is not a directory", args.sysroot.display())).into());
    }
    let inventory = if live { bay::here(output) } else { Inventory::read(&Sysroot::at(&args.sysroot)) };
    output.result(&match args.format {
        ListFormat::Text => tree::text(&inventory, output.style),
        ListFormat::Json => serde_json::to_string_pretty(&document(&inventory))? + "\n",
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The form of the JSON. It grows when a reader of the form before would misread it. docs/list.md describes it.
const SCHEMA: u32 = 1;

/// What other programs read.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    drivebench: &'static str,
    #[serde(flatten)]
    inventory: &'a Inventory,
    findings: Vec<Finding>,
}

fn document(inventory: &Inventory) -> Document<'_> {
    Document {
        schema: SCHEMA,
        drivebench: env!("CARGO_PKG_VERSION"),
        inventory,
        findings: inventory.findings(),
    }
}
