//! The options and the plan of boot.

use super::{
    super::{
        Declared, Opt, PlanError, Request,
        options::{parsed, within},
    },
    act::RecordBoot,
};
use crate::plan::{Plan, Steps};

const NOW: Opt<bool> = Opt::switch("now", "Record the current boot");

pub const TIMES: Opt<u32> =
    Opt::new("times", "N", |text| within(text, 1..=100), "Number of restarts; each boot is recorded")
        .conflicts(&["now", "stop"]);

pub const RESTART: Opt<String> =
    Opt::new("restart", "HOSTNAME", parsed, "Consent to restarts: the name of this machine")
        .requires("times");

pub const STOP: Opt<bool> = Opt::switch("stop", "End the restarts").conflicts(&["now"]);

pub(super) const OPTIONS: &[&dyn Declared] = &[&NOW, &TIMES, &RESTART, &STOP];

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    if !ask.values.get(&NOW) {
        let why =
            "choose what to measure: --now records the current boot, --times N restarts this machine N times";
        return Err(PlanError::Options(why.to_owned()));
    }
    let [target] = &ask.targets[..] else { return Err(PlanError::TooMany { experiment: "boot", most: 1 }) };
    let refuse = |why: &str| Err(PlanError::Unsuitable { path: target.path.clone(), why: why.to_owned() });
    if target.path.as_os_str() != "/" {
        return refuse("boot always measures the drive that / is on: leave the target out");
    }
    if target.drives.is_empty() {
        return refuse(
            "its drive is not known, so its boots can't be distinguished from those of other drives",
        );
    }
    let mut steps = Steps::default();
    steps.add(&[0], RecordBoot {});
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}
