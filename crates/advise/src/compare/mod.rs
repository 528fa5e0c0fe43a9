//! Compares two results of any experiment.

mod differences;
mod peers;
mod pools;

use self::differences::{alike, unlike, unlike_loads};
pub use self::peers::Peers;
use crate::{
    analyse::{
        Estimate,
        compare::{Difference, Ratio, Spread, across_runs, ratio, ratio_of_runs},
    },
    findings::{Carrier, Column, Findings, Metric, Quantity, Scope, Table, Unit},
    units::{distinct, listed, multiple, shortened},
};

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// No target was named, and the runs have no drive in common.
    #[error("{a} and {b} have no drive in common and more than one target: name one, as in {a}:{example}")]
    Which { a: String, b: String, example: String },
    #[error("{run} has no target '{name}', but {}", known.join(", "))]
    NoTarget { run: String, name: String, known: Vec<String> },
    #[error("{run} would be compared with itself: name another run, or another target of it")]
    Itself { run: String },
    #[error("{a} and {b} have no load in common: there is nothing to compare")]
    NothingInCommon { a: String, b: String },
    #[error(
        "one drive is compared with others of its model: name a target of {run} that is one of a known model"
    )]
    OneDrive { run: String },
    /// How each of their loads differs.
    #[error("the loads of {a} and {b} differ: {}", loads.join("; "))]
    Unlike { a: String, b: String, loads: Vec<String> },
}

/// The targets of a run that a name stands for, by their positions; all of them without one.
fn named(run: &Findings, name: Option<&str>) -> Result<Vec<usize>, CompareError> {
    let targets = &run.origin.carriers;
    let Some(name) = name else { return Ok((0..targets.len()).collect()) };
    let found: Vec<usize> =
        (0..targets.len()).filter(|&at| targets[at].names.iter().any(|n| n == name)).collect();
    if found.is_empty() {
        let known = targets.iter().map(|t| t.target.clone()).collect();
        return Err(CompareError::NoTarget { run: run.run.clone(), name: name.to_owned(), known });
    }
    Ok(found)
}

/// Compares two results. A name chooses a target of a run; without one, targets on the same drive belong together,
/// else the only targets of both. Without a second run the first one's targets are compared with each other. Unlike
/// loads are left out unless `forced`; an error if no others remain. Of `others`, runs of these drives show how much runs
/// differ.
pub fn compare<'a>(
    a: (&'a Findings, Option<&str>),
    b: Option<(&'a Findings, Option<&str>)>,
    others: &'a [Findings],
    forced: bool,
) -> Result<Findings, CompareError> {
    let (first, second) = (a.0, b.map_or(a.0, |b| b.0));
    let mut findings = Findings {
        run: if b.is_some() { format!("{} and {}", first.run, second.run) } else { first.run.clone() },
        experiment: "compare".to_owned(),
        question: "do they differ?".to_owned(),
        modelled: first.modelled || second.modelled,
        ..Findings::default()
    };
    let pairs = pairs(a, b)?;
    let several = pairs.len() > 1 && b.is_some();
    let mut failed = Vec::new();
    for pair in pairs {
        let on = several.then(|| {
            let (a, b) = (&first.origin.carriers[pair.0].target, &second.origin.carriers[pair.1].target);
            if a == b { a.clone() } else { format!("{a} and {b}") }
        });
        let side = |run: &'a Findings, at: usize| Side { run, target: &run.origin.carriers[at] };
        let pair = Pair { a: side(first, pair.0), b: side(second, pair.1), others };
        failed.extend(one(&pair, on, forced, &mut findings).err());
    }
    if findings.tables.is_empty() {
        return failed.into_iter().next().map_or(Ok(findings), Err);
    }
    findings.flags.extend(failed.iter().map(|e| format!("Not compared: {e}.")));
    let runs = distinct([first, second].map(|run| &run.run));
    let flags = distinct(first.flags.iter().chain(&second.flags));
    findings.flags.extend(flags.into_iter().map(|flag| {
        let has =
            |name: &&&String| [first, second].iter().any(|f| f.run == ***name && f.flags.contains(flag));
        let of: Vec<&str> = runs.iter().filter(has).map(|name| name.as_str()).collect();
        format!("{}: {flag}", of.join(" and "))
    }));
    findings.flags = distinct(findings.flags);
    Ok(findings)
}

/// Positions of the targets that belong together.
fn pairs(
    (a, of_a): (&Findings, Option<&str>),
    b: Option<(&Findings, Option<&str>)>,
) -> Result<Vec<(usize, usize)>, CompareError> {
    let left = named(a, of_a)?;
    let (b, of_b) = b.unwrap_or((a, None));
    let right = named(b, of_b)?;
    let all = || left.iter().flat_map(|&l| right.iter().map(move |&r| (l, r)));
    if std::ptr::eq(a, b) || a.run == b.run && !a.run.is_empty() {
        // Each pair once, also where both sides name both.
        let again = |l: usize, r: usize| l > r && left.contains(&r) && right.contains(&l);
        let pairs: Vec<_> = all().filter(|&(l, r)| l != r && !again(l, r)).collect();
        return if pairs.is_empty() { Err(CompareError::Itself { run: a.run.clone() }) } else { Ok(pairs) };
    }
    if let ([l], [r]) = (&left[..], &right[..]) {
        return Ok(vec![(*l, *r)]);
    }
    let pairs: Vec<_> =
        all().filter(|&(l, r)| same_place(&a.origin.carriers[l], &b.origin.carriers[r])).collect();
    // Several targets in one place belong together by their names, where both have them.
    let is_named = |&(l, r): &(usize, usize)| a.origin.carriers[l].target == b.origin.carriers[r].target;
    let other = |&(l, r): &(usize, usize)| pairs.iter().any(|p| is_named(p) && (p.0 == l || p.1 == r));
    let pairs: Vec<_> = pairs.iter().copied().filter(|pair| is_named(pair) || !other(pair)).collect();
    if pairs.is_empty() {
        let example = a.origin.carriers.first().map(|t| t.target.clone()).unwrap_or_default();
        return Err(CompareError::Which { a: a.run.clone(), b: b.run.clone(), example });
    }
    Ok(pairs)
}

fn same_drives(a: &Carrier, b: &Carrier) -> bool {
    // An imported result has only a name, which may be that of a target.
    let named = |a: &Carrier, b: &Carrier| a.on.is_none() && b.names.contains(&a.target);
    let known = a.on.is_some() && b.on.is_some() && !a.drives.is_empty();
    known && drives_of(a) == drives_of(b) || named(a, b) || named(b, a)
}

/// The identities of its drives. The members of a pool have no order that lasts.
fn drives_of(carrier: &Carrier) -> Vec<&str> {
    let mut drives: Vec<&str> = carrier.identities().collect();
    if carrier.pool.is_some() {
        drives.sort_unstable();
    }
    drives
}

/// On the same drives, and the same way to them: a filesystem in a file of another one is none of the drive's own.
fn same_place(a: &Carrier, b: &Carrier) -> bool {
    same_drives(a, b) && !differ_in_layers(a, b) && !pools::are_unlike(a, b)
}

/// Whether the layers differ; an import has none.
fn differ_in_layers(a: &Carrier, b: &Carrier) -> bool {
    let known = a.on.is_some() && b.on.is_some();
    known && (a.indirect != b.indirect || !a.kinds_of_layers().eq(b.kinds_of_layers()))
}

fn name_of(metric: &Metric) -> Option<&str> {
    metric.load.as_ref().map(|load| load.name.as_str())
}

#[derive(Clone, Copy)]
struct Side<'a> {
    run: &'a Findings,
    target: &'a Carrier,
}

struct Pair<'a> {
    a: Side<'a>,
    b: Side<'a>,
    others: &'a [Findings],
}

impl<'a> Pair<'a> {
    /// How much other runs of these drives differ by this number.
    fn spread(&self, of: &Metric) -> Option<Spread> {
        let of_drive = |side: Side<'_>| -> Vec<f64> {
            let carriers =
                self.others.iter().flat_map(|run| run.origin.carriers.iter().map(move |c| (run, c)));
            let same = carriers.filter(|(_, carrier)| same_place(carrier, side.target));
            let numbers =
                same.flat_map(|(run, c)| run.estimates.iter().filter(move |m| m.target == c.target));
            let like = numbers.filter(|m| of.is_like(m) && m.load == of.load && m.estimate.value > 0.0);
            like.map(|m| m.estimate.value).collect()
        };
        let groups = match same_place(self.a.target, self.b.target) {
            true => vec![of_drive(self.a)],
            false => vec![of_drive(self.a), of_drive(self.b)],
        };
        Spread::of(&groups)
    }

    fn of_one_run(&self) -> bool {
        std::ptr::eq(self.a.run, self.b.run) || self.a.run.run == self.b.run.run && !self.a.run.run.is_empty()
    }

    /// The name of a side: the run if there are two, else the target.
    fn name(&self, side: Side<'_>) -> String {
        if self.of_one_run() { side.target.target.clone() } else { side.run.run.clone() }
    }

    /// The numbers that both have: of the same load by name or by its properties, else of loads that share their name only.
    fn metrics(&self) -> Vec<(&'a Metric, &'a Metric)> {
        let of = |side: Side<'a>| side.run.estimates.iter().filter(move |m| m.target == side.target.target);
        let other = |m: &'a Metric| {
            let like = || of(self.b).filter(|other| m.is_like(other));
            let named = || like().filter(|other| name_of(m) == name_of(other));
            // Of loads that are called otherwise in this run.
            let free =
                |other: &&Metric| !of(self.a).any(|m| m.is_like(other) && name_of(m) == name_of(other));
            let is = |other: &&Metric| m.load.as_ref().zip(other.load.as_ref()).is_some_and(|(a, b)| a.is(b));
            let by_name = named().find(|other| alike(m, other));
            by_name.or_else(|| like().filter(free).find(is)).or_else(|| named().next())
        };
        of(self.a).filter_map(|m| Some((m, other(m)?))).collect()
    }
}

/// Each run of a number that was repeated.
fn runs(side: Side<'_>, of: &Metric) -> Vec<f64> {
    let is = |m: &&Metric| {
        let same =
            (&m.quantity, m.scope, &m.load, &m.target) == (&of.quantity, of.scope, &of.load, &of.target);
        same && m.repetition.is_some() && of.repetition.is_none() && m.estimate.value > 0.0
    };
    side.run.estimates.iter().filter(is).map(|m| m.estimate.value).collect()
}

/// Whether a sentence says how a number differs: speeds and times of a whole load that was measured.
fn is_said(m: &Metric) -> bool {
    let time = matches!(
        m.quantity,
        Quantity::FilesTime { .. } | Quantity::CostPerFile(_) | Quantity::WakeTime | Quantity::ReadTime
    );
    let speed = m.quantity.unit() == Unit::BytesPerSecond;
    (speed || time) && m.repetition.is_none() && m.scope != Scope::Predicted
}

/// Compares two targets; `on` names them where there are more such pairs.
fn one(
    pair: &Pair<'_>,
    on: Option<String>,
    forced: bool,
    findings: &mut Findings,
) -> Result<(), CompareError> {
    let (a, b) = (pair.name(pair.a), pair.name(pair.b));
    let (left, right) = (pair.a.target, pair.b.target);
    for (name, side) in [(&a, pair.a), (&b, pair.b)] {
        let at = &side.run.origin.at;
        let when = if at.is_empty() { "time unknown" } else { at };
        let kind = if side.run.modelled { "virtual: a model, not a drive · " } else { "" };
        let line = format!("{name}: {kind}{when} · {}", side.target.describe);
        if !findings.context.contains(&line) {
            findings.context.push(line);
        }
    }
    if !pair.of_one_run() {
        let [host, other] = [pair.a, pair.b].map(|side| side.run.origin.host_name.as_ref());
        let drives = || match (same_drives(left, right), left.on.is_none() || right.on.is_none()) {
            (true, _) if differ_in_layers(left, right) => "the same drive, through other layers".to_owned(),
            (true, _) if host.zip(other).is_some_and(|(host, other)| host != other) => {
                "one serial on two machines: the drive was moved, or there are two".to_owned()
            }
            (true, _) => "the same drive".to_owned(),
            (_, true) => "whether it is the same drive is not known".to_owned(),
            _ => "two drives".to_owned(),
        };
        findings.context.push(pools::side_by_side((&a, left), (&b, right)).unwrap_or_else(drives));
    }
    let (mut both, other): (Vec<_>, Vec<_>) = pair.metrics().into_iter().partition(|(x, y)| alike(x, y));
    let different = unlike_loads(&other, (&a, &b));
    if forced {
        both = pair.metrics();
        let say = |load| format!("Different loads: {load}. Their ratio does not compare drives.");
        findings.verdicts.extend(different.into_iter().map(say));
    } else if both.is_empty() && !other.is_empty() {
        return Err(CompareError::Unlike { a, b, loads: different });
    } else {
        findings.flags.extend(different.into_iter().map(|load| format!("Not compared: {load}.")));
    }
    findings.flags.extend(unlike(pair, &both, (&a, &b)));

    let busy = [(&a, left), (&b, right)].into_iter().filter(|(_, target)| target.other_io);
    let busy = distinct(busy.map(|(run, _)| run.clone()));
    let columns = [("", false), (&short(&a), true), (&short(&b), true), ("ratio", false), ("differs", false)];
    let table = |title: &str| Table {
        title: [on.as_deref().unwrap_or_default(), title].join(" ").trim().to_owned(),
        columns: Column::all(columns),
        rows: Vec::new(),
    };
    let (mut main, mut latencies) = (table(""), table("latency of one operation"));
    // Whether each was judged.
    let mut undecided: Vec<(bool, &Metric, Estimate)> = Vec::new();
    let of = on.iter().map(|on| format!("{on}: ")).collect::<String>();
    let mut sentences = Vec::new();
    for (n, other) in both {
        let unit = n.quantity.unit();
        let of_runs = ratio_of_runs(&runs(pair.a, n), &runs(pair.b, other));
        let of_one = || {
            let spread = pair.spread(n);
            ratio(&across_runs(&n.estimate, spread), &across_runs(&other.estimate, spread))
        };
        let Some(r) = of_runs.or_else(of_one) else { continue };
        let difference = Difference::of(&r.estimate);
        let differs = match difference {
            Difference::Found => "yes",
            Difference::NotFound => "not found",
            Difference::TooWide | Difference::Unknown => "not known",
        };
        let is_latency = matches!(n.quantity, Quantity::Latency(_));
        // A percentile that is not resolved is shown as it is in its own report.
        let shown = |m: &Metric| match is_latency && !m.estimate.high.is_finite() {
            true => format!("at least {}", unit.write(m.estimate.low)),
            false => unit.write(m.estimate.value),
        };
        let times = if is_latency { bound(&r) } else { times(&r) };
        let table = if is_latency { &mut latencies } else { &mut main };
        table.rows.push(vec![n.row(), shown(n), shown(other), times, differs.to_owned()]);
        if is_said(n) {
            match difference {
                Difference::Found => sentences.push(format!("{of}{}", differ(n, &r, (&a, &b), &busy))),
                other => undecided.push((other == Difference::NotFound, n, r.estimate.clone())),
            }
        }
        let (target, quantity) = (format!("{a} / {b}"), Quantity::Ratio(Box::new(n.quantity.clone())));
        findings.estimates.push(Metric { target, quantity, estimate: r.estimate, bytes: None, ..n.clone() });
    }
    if main.rows.is_empty() {
        std::mem::swap(&mut main, &mut latencies);
    }
    if main.rows.is_empty() {
        return Err(CompareError::NothingInCommon { a, b });
    }
    findings.tables.push(main);
    findings.details.tables.extend(Some(latencies).filter(|table| !table.rows.is_empty()));
    findings.verdicts.extend(sentences);
    for is_judged in [true, false] {
        let same = undecided.iter().filter(|(judged, ..)| *judged == is_judged);
        let same: Vec<_> = same.map(|(_, metric, ratio)| (*metric, ratio.clone())).collect();
        findings.verdicts.extend(open(is_judged, &same).map(|text| format!("{of}{text}")));
    }
    Ok(())
}

/// Columns for a name above numbers.
const HEAD: usize = 11;

fn short(name: &str) -> String {
    shortened(name, HEAD)
}

fn times(r: &Ratio) -> String {
    let e = &r.estimate;
    // An end that is rounded to 1 would contradict what is said of the difference.
    let is_near = [e.low, e.high].iter().any(|end| (end - 1.0).abs() < 0.005);
    let value = multiple(e.value);
    match (e.low > 0.0, e.high.is_finite()) {
        (true, true) if is_near => format!("{:.3} ({})", e.value, e.range(|x| format!("{x:.3}"))),
        (true, true) => format!("{value} ({})", e.range(multiple)),
        (true, false) => format!("{value} (at least {})", multiple(e.low)),
        (false, true) => format!("{value} (at most {})", multiple(e.high)),
        (false, false) => format!("{value} (no interval)"),
    }
}

/// A ratio of percentiles: where one of them is only known to be at least so much, what that leaves of the ratio.
fn bound(r: &Ratio) -> String {
    let e = &r.estimate;
    match (e.low > 0.0, e.high.is_finite()) {
        (true, true) => times(r),
        (true, false) => format!("at least {}", multiple(e.low)),
        (false, true) => format!("at most {}", multiple(e.high)),
        (false, false) => "not known".to_owned(),
    }
}

/// Numbers that are named; of more, only how many.
const NAMED: usize = 3;

/// Those that are named, and how many more there are.
fn some(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(NAMED);
    texts.truncate(NAMED);
    texts.extend((more > 0).then(|| format!("{more} more")));
    listed(&texts)
}

/// One sentence for all ratios that show no difference, or for all that can't be judged.
fn open(is_judged: bool, of: &[(&Metric, Estimate)]) -> Option<String> {
    let (what, advice) = match is_judged {
        true => ("No difference found", "Repeat both to see smaller differences."),
        false => ("Too few or too noisy to judge", "Repeat both when nothing else runs."),
    };
    let one = |(metric, ratio): &(&Metric, Estimate)| match ratio.is_bounded() {
        true => format!("{} ({})", metric.row(), ratio.range(multiple)),
        false => format!("{} ({} times)", metric.row(), multiple(ratio.value)),
    };
    (!of.is_empty()).then(|| format!("{what}: {}. {advice}", some(of.iter().map(one).collect())))
}

/// What a ratio says; `busy` are the runs during which other programs used the drive. Only the slower one's can be the cause.
fn differ(a: &Metric, r: &Ratio, (first, second): (&str, &str), busy: &[String]) -> String {
    let e = &r.estimate;
    let is_time = a.quantity.unit() == Unit::Seconds;
    // The larger one first.
    let (larger, smaller, ratio) = if e.value >= 1.0 {
        (first, second, e.clone())
    } else {
        (second, first, Estimate { value: 1.0 / e.value, low: 1.0 / e.high, high: 1.0 / e.low, ..e.clone() })
    };
    let times = times(&Ratio { estimate: ratio, ..r.clone() });
    let slower = if is_time { larger } else { smaller };
    let why = match busy.iter().any(|run| run == slower) {
        false => String::new(),
        true => format!(" Other programs used the drive during {slower}: repeat it when idle."),
    };
    let (verb, like) = if is_time { ("takes", "long") } else { ("is", "fast") };
    format!("{}: {larger} {verb} {times} times as {like} as {smaller}.{why}", a.row())
}

#[cfg(test)]
mod tests;
