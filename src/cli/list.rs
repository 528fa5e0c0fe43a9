//! `drivebench list`: the machine, its buses, bays and drives, their contents, and problems.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde::Serialize;

use super::{
    args::{List, ListFormat, Machine},
    errors::Usage,
    health,
    output::Output,
    pool, stored, tree,
};
use crate::{
    inventory::{Finding, Inventory},
    report::json,
    sysroot::{Archive, ArchiveError, Sysroot},
    tools::System,
};

pub(super) fn list(args: &List, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let inventory = inventory(&args.machine, store, output)?;
    output.result(&match args.format {
        ListFormat::Text => tree::text(&inventory, output.style),
        ListFormat::Json => json(&document(&inventory)),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The inventory of this machine, with the health of its drives if requested, or of a captured one.
pub(super) fn inventory(
    args: &Machine,
    store: &Option<PathBuf>,
    output: &Output,
) -> anyhow::Result<Inventory> {
    if args.sysroot != Path::new("/") {
        let root = sysroot(&args.sysroot)?;
        let mut inventory = Inventory::read(&root);
        if let Some(answers) = health::captured(&root, &inventory) {
            health::fill(&mut inventory, &answers, true);
        }
        return Ok(inventory);
    }
    // Without a home there is no store, and so no pool of drivebench.
    let own = stored::store(store).ok();
    let mut inventory = pool::here(own.as_ref().map(|store| store.dir()), output);
    if args.health {
        health::fill(&mut inventory, &System::default(), args.wake);
        let written = stored::store(store)?.written()?;
        for drive in &mut inventory.drives {
            drive.drivebench_wrote = Some(written.get(&drive.identity()).copied().unwrap_or(0));
        }
    }
    Ok(inventory)
}

fn sysroot(path: &Path) -> Result<Sysroot, Usage> {
    let refuse = |why: String| Usage(format!("{} {why}", path.display()));
    let about = fs::metadata(path).map_err(|e| refuse(format!("can't be read: {e}")))?;
    let root = if about.is_dir() {
        Sysroot::at(path)
    } else if about.is_file() {
        let archive = File::open(path).map_err(ArchiveError::from).and_then(Archive::read);
        Sysroot::archive(archive.map_err(|e| refuse(format!("can't be read: {e}")))?)
    } else {
        // Opening a FIFO would block.
        return Err(refuse("is neither a directory nor an archive".to_owned()));
    };
    // For any other directory, "no drives" would be false.
    if root.real("/sys").or_else(|| root.real("/proc")).or_else(|| root.real("/drivebench")).is_none() {
        return Err(refuse("holds no captured machine: it has no sys directory".to_owned()));
    }
    Ok(root)
}

/// The schema of the JSON, which rises with incompatible changes. docs/reference/list.md describes it.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    drivebench: &'static str,
    #[serde(flatten)]
    inventory: &'a Inventory,
    findings: Vec<Finding>,
}

fn document(inventory: &Inventory) -> Document<'_> {
    let findings = inventory.findings();
    Document { schema: SCHEMA, drivebench: env!("CARGO_PKG_VERSION"), inventory, findings }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{inventory::fixtures, sysroot::Space, units::Health};

    const DOCS: &str = include_str!("../../docs/reference/list.md");

    /// All keys as paths: `drives[].queue.depth`.
    fn keys(json: &serde_json::Value, at: &str, found: &mut BTreeSet<String>) {
        match json {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    keys(value, &path, found);
                    found.insert(path);
                }
            }
            serde_json::Value::Array(list) => {
                list.iter().for_each(|value| keys(value, &format!("{at}[]"), found))
            }
            _ => {}
        }
    }

    fn every_key() -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let filling = || fixtures::pools::mounted_array("rebuild", "raid5", 3, "acd");
        for tree in fixtures::ALL.iter().map(|(_, tree)| tree()).chain([filling()]) {
            let mut inventory = tree.inventory();
            inventory.drives.iter_mut().for_each(|drive| drive.health = Some(Health::default()));
            inventory.mounts.iter_mut().for_each(|mount| mount.space = Some(Space::default()));
            keys(&serde_json::to_value(document(&inventory)).expect("JSON"), "", &mut found);
        }
        found
    }

    #[test]
    fn docs_list_every_json_key_and_no_other() {
        let rows =
            DOCS.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(key, _)| key);
        let schema =
            DOCS.split("## JSON").nth(1).expect("a chapter").split("\n## ").next().unwrap_or_default();
        let documented: BTreeSet<String> =
            rows.filter(|key| schema.contains(&format!("| `{key}` |"))).map(str::to_owned).collect();
        let told = every_key();
        let missing: Vec<_> = told.difference(&documented).collect();
        let gone: Vec<_> = documented.difference(&told).collect();
        assert!(
            missing.is_empty() && gone.is_empty(),
            "not in docs/reference/list.md: {missing:#?}; gone: {gone:#?}"
        );
    }

    #[test]
    fn every_finding_is_documented() {
        for (_, tree) in fixtures::ALL {
            for finding in tree().inventory().findings() {
                let code = serde_json::to_value(finding.code).expect("JSON");
                assert!(DOCS.contains(&format!("| `{}` |", code.as_str().expect("text"))), "{code}");
            }
        }
    }

    #[test]
    fn the_form_of_the_json() {
        insta::assert_snapshot!(
            serde_json::to_string_pretty(&document(&fixtures::pi_3().inventory())).expect("JSON")
        );
    }
}
