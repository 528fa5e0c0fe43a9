//! Findings of accept.

use super::{
    act::{CoverPart, Pass},
    compared::{Slower, Speeds, slower},
    cover::{Bad, Covered, Damage, Failure, LISTED, PIECES, part},
    verdict::{Reason, Tested, Verdict},
};
use crate::{
    analyse::Estimate,
    check::Counter,
    common::Series,
    findings::{
        Axis, Column, Curve, Figure, Findings, Measures, Metric, Point, Quantity, Style, Table, Unit,
        fitness::{KeptData, Use},
    },
    plan::Plan,
    record::Run,
    stamped::BLOCK,
    units::{clean, count, decimal_bytes, distinct, listed, percent, rate},
};

const PASSES: [(Pass, &str); 2] = [(Pass::Write, "writes"), (Pass::Verify, "reads")];

/// The speed of one pass over a drive: of each piece of each part.
#[derive(Debug, Default)]
struct Course {
    speeds: Speeds,
    bytes: u64,
    seconds: f64,
}

impl Course {
    /// Adds the pieces of a part; a part without a result has no speeds.
    fn add(&mut self, covered: Option<&Covered>) {
        let pieces = covered.map_or(&[][..], |covered| &covered.pieces);
        for nth in 0..PIECES as usize {
            let piece = pieces.get(nth).filter(|piece| piece.bytes > 0 && piece.seconds > 0.0);
            self.speeds.push(piece.map(|piece| piece.bytes as f64 / piece.seconds));
            self.bytes = self.bytes.saturating_add(piece.map_or(0, |piece| piece.bytes));
            self.seconds += piece.map_or(0.0, |piece| piece.seconds);
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.bytes as f64 / self.seconds)
    }
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let mut drives: Vec<(Tested, [Course; 2])> =
        (0..plan.targets.len()).map(|at| tested(run, plan, at)).collect();
    for alike in alike(plan) {
        for (nth, (pass, _)) in PASSES.into_iter().enumerate() {
            let speeds: Vec<&Speeds> = alike.iter().map(|at| &drives[*at].1[nth].speeds).collect();
            let found = slower(pass, &speeds);
            for (at, slower) in alike.iter().zip(found) {
                drives[*at].0.slower.extend(slower);
            }
        }
    }
    let (mut rows, mut verdicts) = (Vec::new(), Vec::new());
    for (target, (tested, courses)) in plan.targets.iter().zip(&drives) {
        let verdict = Verdict::of(tested);
        // Rejected drives first.
        let severity = match verdict {
            Verdict::Reject(_) => 0,
            Verdict::Undecided => 1,
            Verdict::Accept => 2,
        };
        verdicts.push((severity, format!("{}: {}", target.given, sentence(&verdict, tested))));
        rows.push(row(&target.given, &verdict, tested, courses));
        findings.details.tables.extend(bad_blocks(&target.given, tested));
        if tested.is_whole() {
            let real = (tested.blocks.saturating_sub(tested.counts.all()) * BLOCK as u64) as f64;
            let exact = Estimate::between(real, [real, real], "all blocks");
            findings.estimates.push(Metric::new(&target.given, Quantity::RealSize, exact));
        }
        if let Some(kept) = loss(tested) {
            findings.judge(
                &target.given,
                Measures { kept: Some(kept), ..Measures::default() },
                &[Use::Safekeeping],
            );
        }
    }
    verdicts.sort_by_key(|(severity, _)| *severity);
    findings.verdicts.extend(verdicts.into_iter().map(|(_, sentence)| sentence));
    let mut columns = Column::all([
        ("drive", false),
        ("verdict", false),
        ("tested", true),
        ("writes", true),
        ("reads", true),
        ("bad blocks", true),
        ("hottest", true),
    ]);
    columns[0].head = true;
    columns[6].optional = true;
    findings.tables.push(Table { title: String::new(), columns, rows });
    let figures = PASSES.into_iter().enumerate().map(|(nth, (_, what))| {
        figure(what, plan, drives.iter().map(|(tested, courses)| (tested, &courses[nth])))
    });
    findings.figures.extend(figures.filter(|figure| !figure.curves.is_empty()));
}

/// Targets of the same vendor, model, size and speed of their link, where there are several.
fn alike(plan: &Plan) -> Vec<Vec<usize>> {
    let kind = |at: usize| {
        let drive = plan.targets[at].drives.first()?;
        Some((drive.vendor.as_deref(), drive.model.as_deref()?, drive.sectors, drive.link_mbps))
    };
    let all = || 0..plan.targets.len();
    let groups = distinct(all().filter_map(kind))
        .into_iter()
        .map(|one| all().filter(|at| kind(*at) == Some(one)).collect());
    groups.filter(|group: &Vec<usize>| group.len() > 1).collect()
}

/// What became of a drive, and the speed of both passes.
fn tested(run: &Run<Series>, plan: &Plan, at: usize) -> (Tested, [Course; 2]) {
    let mut tested = Tested {
        blocks: plan.targets[at].drives.first().map_or(0, |drive| drive.bytes() / BLOCK as u64),
        ..Tested::default()
    };
    let mut courses = <[Course; 2]>::default();
    for ((pass, _), course) in PASSES.into_iter().zip(&mut courses) {
        for (step, act) in plan.acts::<CoverPart>().filter(|(step, act)| act.pass == pass && step.is_on(at)) {
            let covered = run.acts.get(&(step.id, at)).and_then(|result| result.get::<Covered>());
            course.add(covered);
            tested.parts = act.parts;
            // Results after a failure don't count.
            let Some(covered) = covered.filter(|_| tested.failed.is_none()) else { continue };
            tested.counts.errors = tested.counts.errors.saturating_add(covered.counts.errors);
            tested.counts.wrong = tested.counts.wrong.saturating_add(covered.counts.wrong);
            tested.bad.extend(&covered.bad);
            for health in covered.before.iter().chain(&covered.health) {
                tested.before.get_or_insert_with(|| health.clone());
                tested.after = Some(health.clone());
                tested.hottest = tested.hottest.into_iter().chain(health.temperature).reduce(f64::max);
            }
            match (&covered.failed, pass) {
                (Some(failure), _) => tested.failed = Some((failure.clone(), pass, act.part)),
                (None, Pass::Write) => tested.written += 1,
                (None, Pass::Verify) => tested.verified += 1,
            }
        }
    }
    tested.bad.sort_by_key(|bad| bad.block);
    (tested, courses)
}

/// Data that a filled drive would lose.
fn loss(tested: &Tested) -> Option<KeptData> {
    let rose = |(counter, before, after)| match counter {
        Counter::Pending | Counter::Uncorrectable => after - before,
        _ => 0,
    };
    let sectors: u64 = tested.risen().into_iter().map(rose).fold(0, u64::saturating_add);
    let lost_bytes = (tested.counts.errors.saturating_mul(BLOCK as u64)).max(sectors.saturating_mul(512));
    let kept = KeptData { lost_bytes, wrong_reads: tested.counts.wrong };
    (kept != KeptData::default()).then_some(kept)
}

fn position(block: u64) -> String {
    decimal_bytes(block.saturating_mul(BLOCK as u64))
}

fn sentence(verdict: &Verdict, tested: &Tested) -> String {
    match verdict {
        Verdict::Accept => {
            format!("ACCEPT: all {} keep what was written.", position(tested.blocks))
        }
        Verdict::Reject(reasons) => {
            let is_open = !tested.is_whole() && !reasons.contains(&Reason::TooManyErrors);
            let open =
                if is_open { format!(" Not all was tested: {}", undecided(tested)) } else { String::new() };
            let reasons: Vec<String> = reasons.iter().map(|reason| self::reason(reason, tested)).collect();
            format!("REJECT: {}.{open}", reasons.join("; "))
        }
        Verdict::Undecided => format!("UNDECIDED: {}", undecided(tested)),
    }
}

fn undecided(tested: &Tested) -> String {
    let Tested { parts, written, verified, .. } = tested;
    match &tested.failed {
        Some((Failure::Gone, pass, part)) => format!(
            "the drive disappeared in part {} of {parts} of the {}. If nobody unplugged it, suspect the drive, its cable or its port.",
            part + 1,
            if *pass == Pass::Write { "writing" } else { "verification" }
        ),
        Some((Failure::Refused(why), ..)) => format!("the drive could not be used: {}.", clean(why)),
        _ => {
            let all = 2 * parts;
            format!("{} of {all} parts are not written or verified yet.", all - written - verified)
        }
    }
}

fn reason(reason: &Reason, tested: &Tested) -> String {
    let (counter, before, after) = match reason {
        Reason::Blocks => return blocks(tested),
        Reason::TooManyErrors => return "the test ended after too many errors".to_owned(),
        Reason::Slower => {
            let others = tested.slower.first().map_or(0, |slower| slower.alike.saturating_sub(1));
            let passes: Vec<String> = tested.slower.iter().map(slowness).collect();
            return format!("unlike {others} others of its model, it {}", listed(&passes));
        }
        Reason::Rose(Counter::Failing, ..) => return "SMART reports that the drive is failing".to_owned(),
        Reason::Rose(counter, before, after) => (counter, before, after),
    };
    let name = match counter {
        Counter::Reallocated => "reallocated sectors",
        Counter::Pending => "pending sectors",
        _ => "uncorrectable errors",
    };
    format!("{name} rose from {before} to {after}")
}

fn slowness(slower: &Slower) -> String {
    let what = if slower.pass == Pass::Write { "writes" } else { "reads" };
    let [from, to] = [slower.from, slower.to].map(percent);
    format!("{what} {} slower from {from} to {to} of the drive", percent(1.0 - slower.ratio.value))
}

/// The bad blocks in words, with the first and the last place and a block that holds what was written to another.
fn blocks(tested: &Tested) -> String {
    let kinds = [(tested.counts.errors, "errors"), (tested.counts.wrong, "other content")];
    let named =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} with {what}", count(*n, "block")));
    let named = named.collect::<Vec<_>>().join(", ");
    let place = match (tested.bad.first(), tested.bad.last()) {
        (Some(first), Some(last)) if position(first.block) != position(last.block) => {
            format!(" from {} to {}", position(first.block), position(last.block))
        }
        (Some(first), _) => format!(" at {}", position(first.block)),
        _ => String::new(),
    };
    let moved = tested.bad.iter().find_map(|bad| match bad.damage {
        Damage::Moved { of } => Some(format!(": block {} holds what was written to block {of}", bad.block)),
        _ => None,
    });
    format!("{named}{place}{}", moved.unwrap_or_default())
}

fn row(given: &str, verdict: &Verdict, tested: &Tested, courses: &[Course; 2]) -> Vec<String> {
    let verdict = match verdict {
        Verdict::Accept => "accept",
        Verdict::Reject(_) => "reject",
        Verdict::Undecided => "undecided",
    };
    let done = f64::from(tested.written + tested.verified) / f64::from(2 * tested.parts.max(1));
    let speed = |course: &Course| course.mean().map_or("-".to_owned(), rate);
    vec![
        crate::findings::short(given),
        verdict.to_owned(),
        format!("{:.0} %", done * 100.0),
        speed(&courses[0]),
        speed(&courses[1]),
        tested.counts.all().to_string(),
        tested.hottest.map_or("-".to_owned(), |celsius| format!("{celsius:.0} °C")),
    ]
}

/// The first bad blocks of a drive.
fn bad_blocks(given: &str, tested: &Tested) -> Option<Table> {
    let word = |damage: Damage| match damage {
        Damage::Unwritable => "can't be written".to_owned(),
        Damage::Unreadable => "can't be read".to_owned(),
        Damage::Changed => "holds other data".to_owned(),
        Damage::Moved { of } => format!("holds block {of}"),
    };
    let row = |bad: &Bad| {
        let byte = bad.block.saturating_mul(BLOCK as u64);
        vec![bad.block.to_string(), byte.to_string(), word(bad.damage)]
    };
    let rows: Vec<Vec<String>> = tested.bad.iter().take(LISTED).map(row).collect();
    let all = tested.counts.all();
    let more = match all > rows.len() as u64 {
        true => format!(", the first {} of {all}", rows.len()),
        false => String::new(),
    };
    (!rows.is_empty()).then(|| Table {
        title: format!("bad blocks of 4 KiB, {given}{more}"),
        columns: Column::all([("block", true), ("byte", true), ("what", false)]),
        rows,
    })
}

/// The speed over the position, a curve for each drive.
fn figure<'a>(what: &str, plan: &Plan, drives: impl Iterator<Item = (&'a Tested, &'a Course)>) -> Figure {
    let mut pieces = 0;
    let mut curves = Vec::new();
    let mut means = Vec::new();
    for (target, (tested, course)) in plan.targets.iter().zip(drives) {
        let all = course.speeds.len() as u64;
        let middle = |nth: u64| {
            let piece = part(&(0..tested.blocks), nth, all);
            ((piece.start + piece.end) / 2 * BLOCK as u64) as f64
        };
        let points =
            (0..).zip(&course.speeds).filter_map(|(nth, speed)| Some(Point::new(middle(nth), (*speed)?)));
        let curve = Curve::new(target.given.clone(), Style::Line, points);
        if !curve.points.is_empty() {
            pieces = pieces.max(curve.points.len());
            means.extend(course.mean().map(|mean| format!("{} {}", target.given, rate(mean))));
            curves.push(curve);
        }
    }
    Figure {
        title: format!("speed of {what} by position"),
        text: format!("Mean speed of {what}: {}.", means.join(", ")),
        load: format!("sequential {what}, 4 MiB, direct, depth 1"),
        n: format!("n = {pieces} places on each drive"),
        x: Axis::of("position", Unit::Bytes),
        y: Axis::speed(),
        curves,
        ..Figure::default()
    }
}
