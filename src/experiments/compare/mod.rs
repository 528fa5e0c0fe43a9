//! Two results side by side, whatever experiment they come from: does one differ from the other?

mod differences;
mod sentences;

use std::collections::BTreeMap;

use self::{
    differences::unlike,
    sentences::{bounded, figure, sentence, short, shown, times},
};
use super::{Reading, imports, table_cells::column};
use crate::{
    analyse::compare::{across_runs, ratio},
    findings::{Findings, Named, Table},
    plan::{Measure, Plan, StepId},
    record::{Event, Imported, Start},
    target::{Kind, Target},
    units::EngineInfo,
};

/// A stored run, as far as comparing needs it.
#[derive(Debug)]
pub struct Side {
    start: Option<Start>,
    plan: Option<Plan>,
    imported: Option<Imported>,
    targets: Vec<Place>,
    /// What each step really did, and by which engine.
    done: BTreeMap<StepId, (Measure, EngineInfo)>,
    findings: Findings,
}

/// A target, as far as comparing needs it.
#[derive(Debug)]
struct Place {
    given: String,
    /// All names it goes by.
    names: Vec<String>,
    /// Identities of its drives; none where nobody knows them.
    drives: Vec<String>,
    kind: Option<Kind>,
    describe: String,
}

impl Place {
    fn of(target: &Target) -> Self {
        let serials = target.drives.iter().filter_map(|d| d.serial.clone());
        let drives: Vec<String> = target.drives.iter().map(|d| d.identity()).collect();
        let names = [target.given.clone(), target.path.display().to_string()];
        Self {
            given: target.given.clone(),
            names: names.into_iter().chain(serials).chain(drives.iter().cloned()).collect(),
            drives,
            kind: Some(target.kind),
            describe: target.describe(),
        }
    }

    fn told(imported: &Imported, given: String) -> Self {
        let describe = format!("told by {}, {}", imported.tool, given);
        Self { names: vec![given.clone()], given, drives: Vec::new(), kind: None, describe }
    }
}

/// Why two results can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Neither names a target, and nothing tells which belong together.
    #[error("{a} and {b} have no drive in common and more than one target: say which, as in {a}:{example}")]
    Which {
        /// The first run.
        a: String,
        /// The second run.
        b: String,
        /// A target of the first.
        example: String,
    },
    /// No such target.
    #[error("{run} has no target '{name}', but {}", known.join(", "))]
    NoTarget {
        /// The run.
        run: String,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// One run with one target.
    #[error("{run} has one target only: name another run to compare it with")]
    Alone {
        /// The run.
        run: String,
    },
    /// Neither has a number that the other has too.
    #[error("{a} and {b} have no number of the same name to compare")]
    NothingInCommon {
        /// The first result.
        a: String,
        /// The second result.
        b: String,
    },
}

impl Side {
    /// Reads a record to its end.
    pub fn read(reading: Reading, record: impl Iterator<Item = Event>) -> Self {
        let (mut start, mut plan, mut done, mut imported) = (None, None::<Plan>, BTreeMap::new(), None);
        let mut seen = record.inspect(|event| match event {
            Event::Start(s) => start = Some((**s).clone()),
            Event::Plan { plan: p } => plan = Some(p.clone()),
            Event::Imported(i) => imported = Some((**i).clone()),
            Event::Step { step, engine, instead, .. } => {
                let measure = instead.as_deref().or(plan.as_ref().and_then(|p| p.measure(*step)));
                done.extend(measure.map(|m| (*step, (m.clone(), engine.clone()))));
            }
            _ => {}
        });
        let findings = reading.findings(&mut seen);
        let planned = plan.iter().flat_map(|p| &p.targets).map(Place::of);
        let told =
            imported.iter().flat_map(|i| imports::targets(i).into_iter().map(|name| Place::told(i, name)));
        let targets = planned.chain(told).collect();
        Self { start, plan, imported, targets, done, findings }
    }

    fn run(&self) -> &str {
        &self.findings.run
    }

    fn targets(&self) -> &[Place] {
        &self.targets
    }

    /// When it was measured, as far as that is known.
    fn when(&self) -> Option<String> {
        match &self.imported {
            Some(imported) => Some(imported.measured.clone().unwrap_or_else(|| "when is unknown".to_owned())),
            None => self.start.as_ref().map(|s| s.at.clone()),
        }
    }

    /// The targets that a name stands for; all of them without one.
    fn named(&self, name: Option<&str>) -> Result<Vec<usize>, CompareError> {
        let all = 0..self.targets().len();
        let Some(name) = name else { return Ok(all.collect()) };
        let found: Vec<usize> =
            all.filter(|&at| self.targets()[at].names.iter().any(|n| n == name)).collect();
        if found.is_empty() {
            let known = self.targets().iter().map(|t| t.given.clone()).collect();
            return Err(CompareError::NoTarget { run: self.run().to_owned(), name: name.to_owned(), known });
        }
        Ok(found)
    }
}

/// Compares two results. A name chooses a target of a run; without one, targets on the same drive belong together,
/// else the only targets of both. Without a second run the first one's targets are compared with each other.
///
/// # Errors
/// Where nothing tells what to compare with what.
pub fn compare(a: (&Side, Option<&str>), b: Option<(&Side, Option<&str>)>) -> Result<Findings, CompareError> {
    let (first, second) = (a.0, b.map_or(a.0, |b| b.0));
    let mut findings = Findings {
        run: [first, second][..1 + usize::from(b.is_some())]
            .iter()
            .map(|s| s.run())
            .collect::<Vec<_>>()
            .join(" and "),
        experiment: "compare".to_owned(),
        question: "do they differ?".to_owned(),
        modelled: first.findings.modelled || second.findings.modelled,
        ..Findings::default()
    };
    let pairs = pairs(a, b)?;
    let several = pairs.len() > 1 && b.is_some();
    for pair in pairs {
        let on = several.then(|| first.targets()[pair.0].given.clone());
        one(&Pair { a: (first, pair.0), b: (second, pair.1) }, on, &mut findings)?;
    }
    findings.flags.dedup();
    Ok(findings)
}

/// Positions of the targets that belong together.
fn pairs(
    (a, of_a): (&Side, Option<&str>),
    b: Option<(&Side, Option<&str>)>,
) -> Result<Vec<(usize, usize)>, CompareError> {
    let left = a.named(of_a)?;
    let Some((b, of_b)) = b else {
        let others = (0..a.targets().len()).filter(|at| !left.contains(at) || of_a.is_none());
        let others: Vec<usize> = others.collect();
        let all = left.iter().flat_map(|&l| others.iter().map(move |&r| (l, r)));
        let pairs: Vec<_> = all.filter(|(l, r)| of_a.is_some() || l < r).collect();
        return if pairs.is_empty() {
            Err(CompareError::Alone { run: a.run().to_owned() })
        } else {
            Ok(pairs)
        };
    };
    let right = b.named(of_b)?;
    if let ([l], [r]) = (&left[..], &right[..]) {
        return Ok(vec![(*l, *r)]);
    }
    let all = left.iter().flat_map(|&l| right.iter().map(move |&r| (l, r)));
    let pairs: Vec<_> = all.filter(|&(l, r)| same_drives(&a.targets()[l], &b.targets()[r])).collect();
    if pairs.is_empty() {
        let example = a.targets().first().map(|t| t.given.clone()).unwrap_or_default();
        return Err(CompareError::Which { a: a.run().to_owned(), b: b.run().to_owned(), example });
    }
    Ok(pairs)
}

fn same_drives(a: &Place, b: &Place) -> bool {
    // Of what was imported only a name is known, by which someone else may know it.
    let named = |a: &Place, b: &Place| a.kind.is_none() && b.names.contains(&a.given);
    !a.drives.is_empty() && a.drives == b.drives || named(a, b) || named(b, a)
}

/// Two targets, each with its run.
struct Pair<'a> {
    a: (&'a Side, usize),
    b: (&'a Side, usize),
}

/// One target as a reader knows it: the run where there are two, the target within one.
fn name(pair: &Pair<'_>, (side, at): (&Side, usize)) -> String {
    if std::ptr::eq(pair.a.0, pair.b.0) { side.targets()[at].given.clone() } else { side.run().to_owned() }
}

/// Compares two targets; `on` names them where there are more such pairs.
fn one(pair: &Pair<'_>, on: Option<String>, findings: &mut Findings) -> Result<(), CompareError> {
    let (a, b) = (name(pair, pair.a), name(pair, pair.b));
    let (left, right) = (&pair.a.0.targets()[pair.a.1], &pair.b.0.targets()[pair.b.1]);
    let same = same_drives(left, right);
    for (name, (side, at)) in [(&a, pair.a), (&b, pair.b)] {
        let when = side.when().map(|at| format!("{at} · ")).unwrap_or_default();
        let kind = if side.findings.modelled { "virtual: a model, not a drive · " } else { "" };
        let line = format!("{name}: {kind}{when}{}", side.targets()[at].describe);
        if !findings.context.contains(&line) {
            findings.context.push(line);
        }
    }
    if !std::ptr::eq(pair.a.0, pair.b.0) {
        let unknown = !same && (left.kind.is_none() || right.kind.is_none());
        let drives = match (same, unknown) {
            (true, _) => "the same drive",
            (_, true) => "whether it is the same drive is not known",
            _ => "two drives",
        };
        findings.context.push(drives.to_owned());
    }
    findings.flags.extend(unlike(pair, (&a, &b)));

    let of = |(side, at): (&Side, usize)| {
        let given = side.targets()[at].given.clone();
        side.findings.estimates.iter().filter(move |n| n.target == given).cloned().collect::<Vec<_>>()
    };
    let others = of(pair.b);
    let mut rows = Vec::new();
    let mut said = Vec::new();
    let mut speeds = Vec::new();
    for n in of(pair.a) {
        let Some(other) = others.iter().find(|o| o.name == n.name && o.unit == n.unit) else { continue };
        // Throughputs hold already what runs differ by.
        let r = match n.unit.as_str() {
            "B/s" => ratio(&n.estimate, &other.estimate),
            _ => ratio(&across_runs(&n.estimate), &across_runs(&other.estimate)),
        };
        let Some(r) = r else { continue };
        let differs = match bounded(&r) {
            _ if r.different => "yes",
            true => "no",
            false => "not known",
        };
        rows.push(vec![n.name.clone(), shown(&n), shown(other), times(&r), differs.to_owned()]);
        if n.unit == "B/s" && !n.name.contains(", run ") {
            let on = on.iter().map(|on| format!("{on}: ")).collect::<String>();
            said.push(on + &sentence(&n, other, &r, (&a, &b)));
            speeds.push((n.clone(), other.clone()));
        }
        findings.estimates.push(Named::new(&format!("{a} / {b}"), n.name, "", r.estimate));
    }
    if rows.is_empty() {
        return Err(CompareError::NothingInCommon { a, b });
    }
    let columns = [("", false), (&short(&a), true), (&short(&b), true), ("ratio", false), ("differs", false)];
    let columns = columns.map(|(name, right)| column(name, right)).to_vec();
    findings.figures.extend(figure(&speeds, on.as_deref(), (&a, &b)));
    findings.tables.push(Table { title: on.unwrap_or_default(), columns, rows });
    findings.verdicts.extend(said);
    Ok(())
}
