//! The description of a plan: for people, and as JSON with the changes of each step.

use serde_json::json;

use super::{BuildPool, Changes, Condition, Measure, MoveDrives, Plan, RebuildPool, Repetitions, Step};
use crate::{
    inventory::Drive,
    target::Kind,
    units::{clean, count, decimal_bytes, distinct, duration, rate},
};

/// The speed at which layouts are assumed to be filled, bytes per second: that of a fair USB 2.0 stick.
const FILL_RATE: f64 = 10e6;

impl Plan {
    /// The acts on each drive, their maximum cost and their changes. Lines that belong to the one
    /// above are indented.
    pub fn describe(&self) -> String {
        self.lines(true)
    }

    /// The same without the acts: what is measured, what that costs and changes, and what people must do.
    pub fn brief(&self) -> String {
        self.lines(false)
    }

    fn lines(&self, acts: bool) -> String {
        let repetitions = self.repetitions();
        let mut lines = Vec::new();
        let mut before: Vec<String> = Vec::new();
        // The list of erased single drives covers their pools, too.
        let erases_singles = self.builds().any(|(_, build)| build.drives.len() == 1);
        for (at, target) in self.targets.iter().enumerate() {
            let pool = self.build(at).filter(|build| build.drives.len() > 1);
            lines.push(match pool {
                Some(build) => {
                    let drives = count(build.drives.len() as u64, "drive");
                    let name = clean(&target.given).into_owned();
                    let more = name.strip_prefix(build.layout.name()).unwrap_or_default();
                    format!("{} of these {drives}{more}", build.layout)
                }
                None => clean(&target.describe()).into_owned(),
            });
            let steps = self.steps.iter().filter(|s| acts && s.is_on(at));
            let (rebuilt, others): (Vec<&Step>, Vec<&Step>) = steps.partition(|s| s.act.is::<RebuildPool>());
            let (built, loads): (Vec<&Step>, Vec<&Step>) =
                others.into_iter().partition(|s| s.act.is::<BuildPool>());
            let said = |steps: &[&Step]| -> Vec<String> {
                steps.iter().filter_map(|s| self.line(s, at, &repetitions)).collect()
            };
            lines.extend(said(&built));
            let loads = distinct(said(&loads));
            // The loads of pools repeat those of their drives.
            match pool.is_some() && !loads.is_empty() && loads.iter().all(|line| before.contains(line)) {
                true => lines.push("  the same loads".to_owned()),
                false => lines.extend(loads.clone()),
            }
            before.extend(if pool.is_none() { loads } else { Vec::new() });
            lines.extend(said(&rebuilt));
            let consents = self.steps.iter().filter(|s| s.is_on(at)).filter_map(|s| s.act.consent());
            let warnings = consents.flat_map(|consent| consent.warnings);
            lines.extend(warnings.map(|line| format!("  {}", clean(&line))));
            let cost = self.cost(at);
            let written = match cost.written {
                0 => "nothing written".to_owned(),
                bytes => format!("at most {} written", decimal_bytes(bytes)),
            };
            let time = match (cost.seconds, self.assumed_rate(Some(at))) {
                (Some(seconds), Some(speed)) => {
                    format!("about {} at an assumed {}", duration(seconds), rate(speed))
                }
                (Some(seconds), None) => format!("at most {}", duration(seconds)),
                (None, _) => "no time limit".to_owned(),
            };
            lines.push(format!("  {written} · {time}"));
            lines.extend(self.cut(at).map(|cut| format!("  {}", cut.describe())));
            if pool.is_none() || !erases_singles {
                lines.push(format!("  changes: {}", self.changes(at)));
            }
        }
        if self.targets.len() > 1 && self.arrangements().next().is_none() {
            let most = if self.assumed_rate(None).is_some() { "about" } else { "at most" };
            lines.extend(self.seconds().map(|seconds| format!("all targets: {most} {}", duration(seconds))));
        }
        lines.extend(self.builds().next().and(self.measures().next()).map(|_| {
            let known: f64 = self.steps.iter().filter_map(|step| self.most(step)).sum();
            let synced = self.builds().filter(|(_, build)| build.layout.is_redundant());
            let rebuilt = self.steps.iter().filter_map(|step| step.act.get::<RebuildPool>());
            let filled: u64 = synced.map(|(_, build)| build.most).chain(rebuilt.map(|act| act.most)).sum();
            format!(
                "all targets: at most {} for loads and files, and about {} to fill layouts at {}",
                duration(known),
                duration(filled as f64 / FILL_RATE),
                rate(FILL_RATE)
            )
        }));
        lines.extend(self.moves());
        lines.join("\n") + "\n"
    }

    /// The speed that the cost of the steps assumes, of those on one target or of all.
    fn assumed_rate(&self, at: Option<usize>) -> Option<f64> {
        let steps = self.steps.iter().filter(|step| at.is_none_or(|at| step.is_on(at)));
        steps.filter_map(|step| step.act.assumed_rate()).reduce(f64::min)
    }

    /// The plan as JSON, with the changes of each step.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = json!(self);
        for (at, step) in self.steps.iter().enumerate() {
            value["steps"][at]["changes"] = json!(step.act.changes());
        }
        value
    }

    /// The line of a step on one target. Its repetitions share the line.
    fn line(&self, step: &Step, at: usize, repetitions: &Repetitions) -> Option<String> {
        let label = step.act.label();
        let how = match step.act.get::<Measure>() {
            Some(_) if repetitions.get(&step.id)?.0 > 1 => return None,
            Some(m) => {
                let same = || self.measures().filter(|(s, o)| o.label == label && s.is_on(at));
                let if_wide = same().filter(|(s, _)| s.needs == Some(Condition::Wide)).count();
                m.describe_repeated(&same().map(|(_, o)| o).collect::<Vec<_>>(), if_wide)
            }
            None => match (repetitions.get(&step.id)?, step.act.describe()?) {
                ((1, 1), how) => how,
                ((1, times), how) => format!("{how}, {times} times"),
                _ => return None,
            },
        };
        Some(format!("  {label}: {how}"))
    }

    fn changes(&self, at: usize) -> String {
        let own: Vec<String> = self.targets[at].drives.iter().map(Drive::identity).collect();
        // A step on several targets erases the drives of all of them.
        let of_target = |changes| match changes {
            Changes::Erases(drives) if drives.iter().any(|drive| own.contains(drive)) => {
                Changes::Erases(drives.into_iter().filter(|drive| own.contains(drive)).collect())
            }
            changes => changes,
        };
        let all = self.steps.iter().filter(|s| s.is_on(at)).map(|s| of_target(s.act.changes()));
        match &distinct(all.filter(|changes| *changes != Changes::Nothing))[..] {
            [] => Changes::Nothing.describe(),
            all => all.iter().map(Changes::describe).collect::<Vec<_>>().join(" · "),
        }
    }

    fn moves(&self) -> Vec<String> {
        let arrangements: Vec<&MoveDrives> = self.arrangements().map(|(_, a)| a).collect();
        let Some(first) = arrangements.first() else { return Vec::new() };
        let changed = |pair: &[&MoveDrives]| {
            pair[0].bays.iter().zip(&pair[1].bays).filter(|(before, after)| before != after).count() as u64
        };
        let moved = arrangements.windows(2).map(changed).sum();
        let seconds: Option<f64> = (0..self.targets.len()).map(|at| self.cost(at).seconds).sum();
        let time = seconds.map_or(String::new(), |s| format!(" · at most {}, plus the moves", duration(s)));
        let head = format!(
            "{} in as many bays, {}, {}{time}",
            count(first.bays.len() as u64, "drive"),
            count(arrangements.len() as u64, "arrangement"),
            count(moved, "move")
        );
        let read = self.targets.iter().all(|t| t.kind == Kind::BlockDevice);
        let how = if read {
            "  reads whole devices, mounted or not; to measure writes too, name directories on the drives"
        } else {
            "  writes and reads files; after each move, mount the filesystem again, anywhere"
        };
        vec![head, how.to_owned()]
    }
}
