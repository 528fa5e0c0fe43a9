//! Two results side by side, whatever experiment they come from: does one differ from the other?

use std::collections::BTreeMap;

use super::{
    Reading,
    cells::{column, value},
    imports,
};
use crate::{
    analyse::compare::{More, Ratio, across_runs, ratio, to_tell_apart},
    findings::{Axis, Curve, Figure, Findings, Named, Origin, Point, Style, Table},
    inventory::{Kind, Target},
    plan::{Measure, Plan},
    record::{Event, Imported, Start, Told},
    units::{Content, EngineInfo, count, decimal_bytes, duration, rate},
};

/// A stored run, as far as comparing needs it.
#[derive(Debug)]
pub struct Side {
    start: Option<Start>,
    plan: Option<Plan>,
    imported: Option<Imported>,
    targets: Vec<Place>,
    /// What each step really did, and by which engine.
    done: BTreeMap<usize, (Measure, EngineInfo)>,
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
                let planned = plan.iter().flat_map(Plan::measures).find(|(at, _)| at == step);
                let measure = instead.as_deref().or(planned.map(|(_, m)| m));
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
        context: Vec::new(),
        tables: Vec::new(),
        figures: Vec::new(),
        verdicts: Vec::new(),
        flags: Vec::new(),
        reproduce: Vec::new(),
        estimates: Vec::new(),
        origin: Origin::default(),
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

/// Both speeds of every load, side by side.
fn figure(speeds: &[(Named, Named)], on: Option<&str>, (a, b): (&str, &str)) -> Option<Figure> {
    let curve = |(x, y): &(Named, Named)| {
        Curve::new(&x.name, Style::Dots, [Point::of(0.0, &x.estimate), Point::of(1.0, &y.estimate)])
    };
    let said =
        |(x, y): &(Named, Named)| format!("{}: {} and {}", x.name, value(&x.estimate), value(&y.estimate));
    let on = on.map(|on| format!(", {on}")).unwrap_or_default();
    (!speeds.is_empty()).then(|| Figure {
        title: format!("speeds of {a} and {b}{on}"),
        text: speeds.iter().map(said).collect::<Vec<_>>().join("; ") + ".",
        n: format!("n = {}, 95 % intervals", count(2 * speeds.len() as u64, "speed")),
        x: Axis::named("", [a, b].map(str::to_owned)),
        y: Axis::speed(),
        curves: speeds.iter().map(curve).collect(),
        ..Figure::default()
    })
}

/// Columns for a name above numbers.
const HEAD: usize = 11;

fn short(name: &str) -> String {
    let length = name.chars().count();
    if length <= HEAD {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length + 1 - HEAD).collect::<String>())
    }
}

fn shown(n: &Named) -> String {
    match n.unit.as_str() {
        "B/s" => rate(n.estimate.value),
        "s" => duration(n.estimate.value),
        "B" => decimal_bytes(n.estimate.value as u64),
        _ => format!("{:.3}", n.estimate.value),
    }
}

/// Whether both ends of the interval are known.
fn bounded(r: &Ratio) -> bool {
    r.estimate.low > 0.0 && r.estimate.high.is_finite()
}

/// A ratio with its interval, as far as it has one.
fn times(r: &Ratio) -> String {
    let e = &r.estimate;
    match (e.low > 0.0, e.high.is_finite()) {
        (true, true) => format!("{:.2} ({:.2}–{:.2})", e.value, e.low, e.high),
        (true, false) => format!("{:.2} (at least {:.2})", e.value, e.low),
        (false, true) => format!("{:.2} (at most {:.2})", e.value, e.high),
        (false, false) => format!("{:.2} (no interval)", e.value),
    }
}

fn sentence(a: &Named, b: &Named, r: &Ratio, names: (&str, &str)) -> String {
    let e = &r.estimate;
    let (first, second) = names;
    let what = &a.name;
    if !bounded(r) {
        return format!(
            "{what}: {first} is {:.2} times {second}, but one of them has no interval, so nothing says whether \
             that is chance. Repeat it.",
            e.value
        );
    }
    let interval = format!("95 %: {:.3} to {:.3}", e.low, e.high);
    if r.different {
        return format!("{what}: {first} is {:.3} times {second} ({interval}).", e.value);
    }
    let more = match (to_tell_apart(&a.estimate, &b.estimate), a.bytes.zip(b.bytes)) {
        (Some(More::Bytes(times)), Some((x, y))) => {
            let bytes = |n: u64| decimal_bytes(((times - 1.0).max(0.0) * n as f64) as u64);
            format!(
                " Were it as it looks, it would take about {} more of {first} and {} of {second} to be sure.",
                bytes(x),
                bytes(y)
            )
        }
        (Some(More::Bytes(times)), None) => {
            format!(" Were it as it looks, it would take about {times:.1} times as many runs of each to be sure.")
        }
        _ => " So small a difference no number of bytes decides: runs of one drive differ as much. Repeat both.".to_owned(),
    };
    format!("{what}: no real difference ({first} is {:.3} times {second}, {interval}).{more}", e.value)
}

/// What else differs, so that the comparison isn't of like with like.
fn unlike(pair: &Pair<'_>, (a, b): (&str, &str)) -> Vec<String> {
    let mut said = Vec::new();
    let lab = |s: &Side| s.start.as_ref().and_then(|s| s.inventory.machine.lab.clone());
    match (pair.a.0, pair.b.0) {
        (x, y) if x.findings.modelled != y.findings.modelled => {
            let (model, real) = if x.findings.modelled { (a, b) } else { (b, a) };
            said.push(format!(
                "Not like with like: {model} is virtual, a model's figures; {real} is of a real drive. The ratio \
                 tells how well the model fits, nothing of the drive."
            ));
        }
        (x, y) if lab(x) != lab(y) => {
            said.push(format!("Not like with like: {a} and {b} are from different machines of the lab."));
        }
        _ => {}
    }
    let (left, right) = (loads(pair.a), loads(pair.b));
    for (label, load) in &left {
        let counts = |n: &Named| n.name.starts_with(label.as_str());
        let counts = pair.a.0.findings.estimates.iter().any(counts);
        let Some(other) = right.get(label).filter(|_| counts) else { continue };
        if load.differs(other) {
            let (x, y) = (load.told.describe(), other.told.describe());
            said.push(format!("Not like with like: '{label}' is {x} in {a}, but {y} in {b}."));
        }
        for (run, load) in [(a, load), (b, other)] {
            let unknown = load.told.unknown();
            if !unknown.is_empty() {
                said.push(format!("Of '{label}' in {run} is not known {}.", unknown.join(", nor ")));
            }
        }
        if load.told.tool != other.told.tool && load.modelled == other.modelled {
            let (x, y) = (&load.told.tool, &other.told.tool);
            said.push(format!("Not like with like: '{label}' was moved by {x} in {a}, by {y} in {b}."));
        }
    }
    let experiment = |s: &Side| {
        let protocol = s.plan.as_ref().and_then(|p| p.protocol.clone());
        protocol
            .map_or(s.findings.experiment.clone(), |p| format!("{} by protocol {p}", s.findings.experiment))
    };
    let (x, y) = (experiment(pair.a.0), experiment(pair.b.0));
    if x != y {
        said.push(format!("{a} is a run of {x}, {b} of {y}: they may not measure alike."));
    }
    let target = |(side, at): (&'_ Side, usize)| side.targets()[at].kind;
    if target(pair.a).zip(target(pair.b)).is_some_and(|(x, y)| x != y) {
        said.push("Not like with like: one worked in a file, the other on the bare device.".to_owned());
    }
    said
}

/// A load on a target, measured or told.
struct Asked {
    told: Told,
    /// What was written, where that is known.
    content: Option<Content>,
    modelled: bool,
}

impl Asked {
    fn of(measure: &Measure, engine: &EngineInfo) -> Self {
        let load = &measure.load;
        let told = Told {
            tool: engine.name.clone(),
            direction: Some(load.direction),
            pattern: Some(load.pattern),
            block: Some(load.block),
            depth: Some(load.depth),
            jobs: Some(1),
            caching: Some(load.caching),
            ..Told::default()
        };
        Self { told, content: Some(load.content), modelled: engine.modelled }
    }

    /// Whether what is known of both isn't the same.
    fn differs(&self, other: &Self) -> bool {
        fn unlike<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }
        let (a, b) = (&self.told, &other.told);
        unlike(a.direction, b.direction)
            || unlike(a.pattern, b.pattern)
            || unlike(a.block, b.block)
            || unlike(a.depth, b.depth)
            || unlike(a.jobs, b.jobs)
            || unlike(a.caching, b.caching)
            || unlike(self.content, other.content)
    }
}

/// Each load on this target by its label.
fn loads((side, at): (&Side, usize)) -> BTreeMap<String, Asked> {
    let of = side.done.values().filter(|(m, _)| m.targets.contains(&at));
    let measured = of.map(|(m, engine)| (m.label.clone(), Asked::of(m, engine)));
    let groups = side.imported.iter().flat_map(imports::groups);
    let here = groups.filter(|g| side.targets().get(at).is_some_and(|place| place.given == g.target));
    let told = here.filter_map(|g| {
        let told = (*g.loads.first()?).clone();
        Some((g.name, Asked { told, content: None, modelled: false }))
    });
    measured.chain(told).collect()
}
