//! Reads the health of drives when the command line asks for it.

use crate::{
    inventory::Inventory,
    sysroot::Sysroot,
    tools::{
        Output, Replay, Runner,
        smartctl::{self, ask},
    },
};

/// Path in an archive of smartctl's output for a drive.
pub(super) fn path_in_archive(drive: &str) -> String {
    format!("/drivebench/smartctl/{drive}.json")
}

/// Recorded answers of smartctl in a captured machine; `None` if there are none.
pub(super) fn captured(root: &Sysroot, inventory: &Inventory) -> Option<Replay> {
    let answers = inventory
        .drives
        .iter()
        .filter_map(|drive| Some((drive, root.long_text(&path_in_archive(&drive.name))?)));
    answers.fold(None, |replay: Option<Replay>, (drive, stdout)| {
        let output = Output { code: Some(0), stdout, stderr: String::new() };
        Some(replay.unwrap_or_default().answer(ask(&drive.node(), "auto", true).to_string(), output))
    })
}

/// Reads the health of all drives that have none in sysfs.
pub(super) fn fill(inventory: &mut Inventory, runner: &dyn Runner, wake: bool) {
    for drive in &mut inventory.drives {
        if drive.health.is_none() {
            drive.health = Some(smartctl::read(drive, runner, wake).1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::fixtures,
        tools::{Query, ToolError, smartctl::SMARTCTL},
        units::Health,
    };

    const SSD: &str = include_str!("../../tests/fixtures/smartctl/sata-ssd-7.0.json");

    fn says(text: &str) -> Output {
        Output {
            code: Some(2),
            stdout: format!(r#"{{"smartctl":{{"messages":[{{"string":"{text}"}}]}}}}"#),
            ..Output::default()
        }
    }

    fn ask_all(mut inventory: Inventory, runner: &dyn Runner) -> Vec<(String, Health)> {
        fill(&mut inventory, runner, false);
        inventory.drives.into_iter().map(|drive| (drive.name, drive.health.expect("an answer"))).collect()
    }

    #[test]
    fn an_unknown_bridge_is_tried_with_other_smartctl_types() {
        let ssd = Output { stdout: SSD.to_owned(), ..Output::default() };
        let runner = Replay::default()
            .answer(
                "smartctl --json=c -d auto -i -H -A -l devstat -l error -l selftest -n standby /dev/sda",
                says("Unknown USB bridge"),
            )
            .answer(
                "smartctl --json=c -d sat -i -H -A -l devstat -l error -l selftest -n standby /dev/sda",
                ssd,
            )
            .answer(
                "smartctl --json=c -d auto -i -H -A -l devstat -l error -l selftest -n standby /dev/sdb",
                says("Device is in STANDBY mode"),
            );
        let told = ask_all(fixtures::pi_4().inventory(), &runner);
        let of = |name: &str| &told.iter().find(|(drive, _)| drive == name).expect("the drive").1;
        assert_eq!(of("sda").wear, Some(0.02));
        assert!(of("sdb").unknown.as_ref().is_some_and(|why| why.starts_with("asleep")));
        assert_eq!(of("mmcblk0").unknown.as_deref(), Some("SD cards do not report it"));
    }

    #[test]
    fn a_missing_tool_or_right_is_reported() {
        struct Nothing;
        impl Runner for Nothing {
            fn ask(&self, _: &Query) -> Result<Output, ToolError> {
                Err(ToolError::Missing(SMARTCTL))
            }
            fn stream(
                &self,
                q: &Query,
                _: &dyn Fn() -> bool,
                _: &mut dyn FnMut(&str),
            ) -> Result<Output, ToolError> {
                self.ask(q)
            }
        }
        for (name, health) in ask_all(fixtures::pc().inventory(), &Nothing) {
            assert!(health.unknown.expect("a reason").contains("apt install smartmontools"), "{name}");
        }
        let denied = Replay::default().answer("smartctl", says("open failed: Permission denied"));
        let told = ask_all(fixtures::pc().inventory(), &denied);
        assert!(told[0].1.unknown.as_ref().is_some_and(|why| why.contains("needs root")));
    }
}
