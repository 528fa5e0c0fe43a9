//! Findings of pool commands: the result, and the commands that were run.

use super::{
    super::common::{self, Series},
    Outcome, PoolChange, PoolCommand,
};
use crate::{
    findings::{Column, Findings, Table},
    plan::Plan,
    pool::Build,
    record::{Event, Run},
    units::{clean, count, decimal_bytes, listed, size},
};

/// The findings of a record; the same record always gives the same findings.
pub fn findings(record: &mut dyn Iterator<Item = Event>) -> Findings {
    let found = common::findings(common::read(record), results);
    // Nothing was measured.
    Findings { context: Vec::new(), spent: None, reproduce: Vec::new(), ..found }
}

fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    findings.experiment.clone_from(&plan.experiment);
    for (step, command) in plan.acts::<PoolCommand>() {
        let Some(result) = run.acts.get(&(step.id, 0)) else { continue };
        findings.verdicts.extend(result.get().map(|outcome| verdict(command, outcome)));
        let title = "The commands that were run".to_owned();
        let rows = result.commands.iter().map(|command| vec![command.clone()]).collect();
        findings.details.tables.push(Table { title, columns: Column::all([("command", false)]), rows });
    }
}

/// The result for the pool, and what to do.
fn verdict(command: &PoolCommand, outcome: &Outcome) -> String {
    let (build, name) = (&command.build, &command.build.name);
    match (&command.change, outcome.differ.unwrap_or(0)) {
        (PoolChange::Replace { replacement, .. }, _) => {
            let new = &replacement.member;
            let old = build.members.get(replacement.at).filter(|old| old.identity != new.identity);
            let rest = old.map(|old| {
                format!(
                    " {} keeps its part of it: wipefs --all its partition before it has another use.",
                    clean(&old.label)
                )
            });
            format!("{} is now a drive of {name}.{}", new.label, rest.unwrap_or_default())
        }
        (PoolChange::Scrub, 0) => format!("{name}: all copies and parity agree."),
        // md counts pieces of up to 64 KiB.
        (PoolChange::Scrub, differ) => format!(
            "{name}: at most {} differ between its drives. Which copy is right is not known: compare with a backup.",
            size(differ)
        ),
        (PoolChange::Destroy { erases, absent }, _) => {
            let absent = match absent.is_empty() {
                true => String::new(),
                false => format!(" Not plugged in, so not erased: {}.", listed(absent)),
            };
            let erased = count(erases.len() as u64, "drive");
            format!("{name} is removed; {erased} erased.{absent}")
        }
        (PoolChange::Create { .. }, _) => {
            let once = match build.layout.is_redundant() {
                true => format!(" after its first sync (drivebench pool status {name})"),
                false => String::new(),
            };
            format!("{} is built: {}{once}.", build.path(), summary(build))
        }
    }
}

/// Layout, name, capacity and redundancy of a pool.
pub fn summary(build: &Build) -> String {
    let members = build.members.len();
    let survives = match build.layout.survives(members) {
        0 => "if one drive fails, the pool is lost".to_owned(),
        n => format!("survives the failure of any {}", count(n as u64, "drive")),
    };
    let holds = decimal_bytes(build.capacity.saturating_mul(512));
    let (layout, name, drives) = (build.layout, &build.name, count(members as u64, "drive"));
    format!("{layout} {name} of {drives}, {holds} for {}; {survives}", build.filesystem.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Drive, Inventory},
        pool::testing::request,
        run::Replacement,
        units::Layout,
    };

    fn drives() -> [Drive; 2] {
        ["A", "B"].map(|serial| Drive {
            name: format!("sd{}", serial.to_lowercase()),
            serial: Some(serial.to_owned()),
            sectors: 400_000,
            logical_block: 512,
            ..Drive::default()
        })
    }

    fn command(change: PoolChange) -> PoolCommand {
        let build = request(Layout::Raid1).plan(&Inventory::default(), &drives().each_ref());
        PoolCommand { build: build.expect("fits"), change }
    }

    #[test]
    fn a_plan_names_what_it_erases_and_is_recorded_under_its_name() {
        let drives = drives();
        let identities: Vec<String> = drives.iter().map(Drive::identity).collect();
        let planned = |change| {
            let plan = command(change).plan(&drives.each_ref());
            plan.check().expect("a plan");
            let json = serde_json::to_string(&plan).expect("JSON");
            assert_eq!(serde_json::from_str::<Plan>(&json).expect("a plan"), plan);
            assert!(super::super::is_pool_command(&plan.experiment) && plan.measures_nothing());
            (plan.experiment.clone(), plan.erased())
        };
        let all = |name: &str, erased: &[String]| (name.to_owned(), erased.to_vec());
        let create = planned(PoolChange::Create { mount: None, keep: Vec::new() });
        assert_eq!(create, all("pool-create", &identities));
        assert_eq!(planned(PoolChange::Scrub), all("pool-scrub", &[]));
        let erases = identities[..1].to_vec();
        let destroy = planned(PoolChange::Destroy { erases, absent: Vec::new() });
        assert_eq!(destroy, all("pool-destroy", &identities[..1]));
    }

    #[test]
    fn what_became_of_a_pool_is_said() {
        let destroy = |absent: &[&str]| PoolChange::Destroy {
            erases: vec!["A".to_owned()],
            absent: absent.iter().map(|label| (*label).to_owned()).collect(),
        };
        let create = command(PoolChange::Create { mount: None, keep: Vec::new() });
        let replaced = |at: usize| {
            let replacement = Replacement { at, member: create.build.members[1].clone() };
            let replace = command(PoolChange::Replace { replacement, erases: Vec::new() });
            verdict(&replace, &Outcome::default())
        };
        let compared = |differ| verdict(&command(PoolChange::Scrub), &Outcome { differ: Some(differ) });
        insta::assert_snapshot!(
            [
                verdict(&create, &Outcome::default()),
                replaced(0),
                replaced(1),
                compared(0),
                compared(65_536),
                verdict(&command(destroy(&[])), &Outcome::default()),
                verdict(&command(destroy(&["drive sdb B"])), &Outcome::default()),
            ]
            .join("\n")
        );
    }
}
