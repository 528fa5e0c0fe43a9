//! Where to keep data: on a large and fast drive without long stalls, with a copy elsewhere.

use super::{
    Answer, Sure, Topic, commands,
    context::{Context, Judged, LONG, Number, stall},
    evidence::{Evidence, Wanted},
    sentences::{speed, with_interval},
};
use crate::{
    analyse::{Estimate, compare},
    findings::fitness::Use,
    inventory::{Drive, Layer},
    units::{Pool, count, decimal_bytes, duration, listed},
};

/// Drives of one model differ by some sectors; from this ratio on one is larger.
const LARGER: f64 = 1.05;

const COPY: &str = "Keep a copy elsewhere.";

struct Candidate<'a> {
    drive: &'a Drive,
    speed: Number<'a>,
    worst: Option<(f64, &'a Evidence)>,
}

impl Candidate<'_> {
    fn steady(&self) -> bool {
        self.worst.is_none_or(|(seconds, _)| seconds < LONG)
    }
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let (mut arrays, system) = (context.arrays(), context.system());
    // Pools that can hold data come first, those of the system last.
    arrays.sort_by_key(|(_, pool, on)| (!pool.is_usable(), on.iter().any(|drive| system.contains(drive))));
    if !arrays.is_empty() {
        return arrays
            .into_iter()
            .map(|(layer, pool, drives)| array(context, layer, pool, &drives))
            .collect();
    }
    let drives = context.for_data();
    let answer = if drives.is_empty() { none(context) } else { among(context, &drives) };
    let drives = if drives.is_empty() { system } else { drives };
    let (why, runs) = context.unfit(&drives, Use::Safekeeping);
    vec![answer.because(why).rests_on(runs)]
}

fn array<'a>(context: &Context<'a>, layer: &'a Layer, pool: &Pool, drives: &[&Drive]) -> Answer {
    let (name, state) = (layer.shown(), pool.state_in_words(layer.work.as_ref()));
    if !pool.is_usable() {
        let says = format!("{name} can't be used for data now: {}, {state}.", pool.describe());
        return Answer::new(Topic::Data, Sure::Inferred, says);
    }
    let size = decimal_bytes(layer.sectors.saturating_mul(512));
    let size = if layer.sectors > 0 { format!(", {size}") } else { String::new() };
    let state = if pool.is_quiet() { String::new() } else { format!(", {state}") };
    let (layout, on) = (pool.layout_in_words(), context.names(drives));
    let lives = match pool.survives() {
        _ if super::layout::shares_a_drive(context, layer) => {
            " Several of its members are on one drive, and lost together.".to_owned()
        }
        _ if pool.has_no_copies() => " The failure of any drive loses all of it.".to_owned(),
        Some(0) => " It survives no drive failure.".to_owned(),
        Some(n) => format!(" It survives the loss of {}.", count(n, "drive")),
        None => String::new(),
    };
    let says = format!("{name} is available for data: {layout} of {on}{size}{state}.{lives}");
    let numbers: Vec<Number<'_>> =
        [Wanted::READ, Wanted::WRITE].iter().filter_map(|w| context.of_layer(layer, *w)).collect();
    let verb = |n: &Number<'_>| if n.from.has_load(Wanted::READ) { "reads" } else { "writes" };
    let each = |n: &Number<'_>| format!("{} {}", verb(n), speed(n.estimate));
    let speeds: Vec<String> = numbers.iter().map(each).collect();
    let (sure, speeds, decide) = match numbers.is_empty() {
        true => {
            let not = "Its speed is not measured.".to_owned();
            (Sure::Inferred, not, commands::on_pool(context.inventory, layer))
        }
        false => (Sure::Measured, format!("It {}.", listed(&speeds)), None),
    };
    let failing: Vec<&Drive> = drives.iter().copied().filter(|d| context.failing(d)).collect();
    let failing = (!failing.is_empty())
        .then(|| format!("Failing or unreadable sectors on {}: replace it.", context.names(&failing)));
    let copy = "Keep a copy elsewhere: a pool is not a backup.".to_owned();
    let judged = Judged::by(context.on_layer(layer), Use::Safekeeping);
    let (unfit, runs) = context.unfit(drives, Use::Safekeeping);
    let unfit: Vec<String> = judged.unfit(&name, Use::Safekeeping).into_iter().chain(unfit).collect();
    let says = [says].into_iter().chain(unfit).collect::<Vec<_>>().join(" ");
    Answer::new(Topic::Data, sure, says)
        .because(failing.into_iter().chain([speeds, copy]))
        .rests_on(numbers.iter().map(|n| n.from).chain(judged.runs).chain(runs))
        .decide(decide)
}

/// No drive besides the system's is fit.
fn none(context: &Context<'_>) -> Answer {
    let failing: Vec<&Drive> = context.drives().into_iter().filter(|d| context.failing(d)).collect();
    if !failing.is_empty() {
        let on = context.names(&failing);
        let says = format!("No drive is fit for data: copy what is on {on} while it can be read.");
        return Answer::new(Topic::Data, Sure::Inferred, says);
    }
    let system = context.system();
    if system.is_empty() {
        return Answer::new(Topic::Data, Sure::Unknown, "No writable drive was found for data.");
    }
    let on = context.names(&system);
    let says = format!("Data is on {on}, with the system. Add a second drive, or keep a backup elsewhere.");
    Answer::new(Topic::Data, Sure::Inferred, says)
}

fn among<'a>(context: &Context<'a>, drives: &[&'a Drive]) -> Answer {
    let kept = drives.iter().filter(|drive| !context.is_unfit(drive, Use::Safekeeping));
    let drives: Vec<&'a Drive> = kept.copied().collect();
    let writes = context.speeds(&drives, Wanted::WRITE);
    let written = writes.iter().flatten().count() > 0;
    let speeds = if written { writes } else { context.speeds(&drives, Wanted::READ) };
    let with = |(&drive, speed): (&&'a Drive, Option<Number<'a>>)| {
        let speed = speed?;
        Some(Candidate { drive, speed, worst: context.worst(drive, Wanted::WRITE).filter(|_| written) })
    };
    let known: Vec<Candidate<'_>> = drives.iter().zip(speeds).filter_map(with).collect();
    let unknown: Vec<&Drive> =
        drives.iter().copied().filter(|d| known.iter().all(|c| c.drive != *d)).collect();
    let mut why = Vec::new();
    let Some(best) = choose(&known) else { return unmeasured(context, &drives) };
    let answer = Answer::new(Topic::Data, Sure::Measured, chosen(context, best, written));
    let (files, of_files) = small_files(context, best.drive).unzip();
    why.extend(others(context, best, &known));
    why.extend(files);
    let unseen = best.worst.is_none();
    if unseen {
        why.push("Stalls of its writes are not measured.".to_owned());
    }
    if !unknown.is_empty() {
        let n = count(unknown.len() as u64, "drive");
        why.push(format!("{n} more not measured with this load."));
    }
    why.push(COPY.to_owned());
    let runs = known.iter().flat_map(|c| [Some(c.speed.from), c.worst.map(|w| w.1)]).flatten();
    let open: Vec<&Drive> = unknown.into_iter().chain(unseen.then_some(best.drive)).collect();
    answer.because(why).rests_on(runs.chain(of_files)).decide(commands::baseline(context.inventory, &open))
}

/// What a small file costs on the drive that was chosen, and the run that measured it.
fn small_files<'a>(context: &Context<'a>, best: &Drive) -> Option<(String, &'a Evidence)> {
    let mut all = context.on_drive(best).rev();
    let (cost, from) = all.find_map(|from| Some((from.cost_of_file()?, from)))?;
    let (name, cost) = (context.name(best), with_interval(cost, duration));
    Some((format!("Writing a small file to {name} takes {cost}; copy many as one archive."), from))
}

/// The fastest drive without long stalls, or the fastest of all if all have them; of equally fast ones the largest.
fn choose<'a, 'b>(known: &'b [Candidate<'a>]) -> Option<&'b Candidate<'a>> {
    let steady: Vec<&Candidate<'_>> = known.iter().filter(|c| c.steady()).collect();
    let field = if steady.is_empty() { known.iter().collect() } else { steady };
    let estimates: Vec<Estimate> = field.iter().map(|c| c.speed.estimate.clone()).collect();
    let mut order: Vec<usize> = (0..field.len()).collect();
    order.sort_by(|&a, &b| estimates[b].value.total_cmp(&estimates[a].value));
    let fastest = *order.first()?;
    let alike = order.into_iter().filter(|&i| !compare::differ(&estimates[fastest], &estimates[i]));
    let in_order = alike.map(|i| field[i]);
    // The fastest comes first; only a clearly larger one replaces it.
    let larger = |a: &Drive, b: &Drive| a.sectors as f64 > b.sectors as f64 * LARGER;
    in_order.reduce(|best, other| if larger(other.drive, best.drive) { other } else { best })
}

fn chosen(context: &Context<'_>, best: &Candidate<'_>, written: bool) -> String {
    let name = context.name(best.drive);
    let size = decimal_bytes(best.drive.bytes());
    let speed = speed(best.speed.estimate);
    let verb = if written { "writes" } else { "reads" };
    let worst =
        best.worst.map(|(seconds, _)| format!(", no large write took longer than {}", duration(seconds)));
    format!("Keep data on {name}: {size}, {verb} {speed}{}.", worst.unwrap_or_default())
}

/// Why not the larger or faster ones.
fn others(context: &Context<'_>, best: &Candidate<'_>, known: &[Candidate<'_>]) -> Vec<String> {
    let sentence = |other: &Candidate<'_>| {
        let stalls = other.worst.filter(|(seconds, _)| *seconds >= LONG);
        let is_larger = other.drive.sectors as f64 > best.drive.sectors as f64 * LARGER;
        let why = match stalls {
            Some((seconds, _)) => format!("stalls for up to {}", duration(seconds)),
            None if is_larger => "is larger".to_owned(),
            None => return None,
        };
        let (name, size) = (context.name(other.drive), decimal_bytes(other.drive.bytes()));
        Some(format!("{name} ({size}, {}) {why}.", speed(other.speed.estimate)))
    };
    known.iter().filter(|c| c.drive.name != best.drive.name).filter_map(sentence).collect()
}

fn unmeasured(context: &Context<'_>, drives: &[&Drive]) -> Answer {
    let Some(largest) = drives.iter().copied().reduce(|a, b| if b.sectors > a.sectors { b } else { a })
    else {
        return Answer::new(Topic::Data, Sure::Unknown, "No drive here is fit for data.");
    };
    let (name, size) = (context.name(largest), decimal_bytes(largest.bytes()));
    let what = if drives.len() == 1 { "the only drive" } else { "the largest drive" };
    let says = format!("Speed and stalls with large blocks are not measured; {name} is {what}, {size}.");
    let stalls = drives.iter().filter_map(|drive| {
        let (seconds, from) = stall(context.runs_of(drive))?;
        Some((format!("{} stalled for {} in another load.", context.name(drive), duration(seconds)), from))
    });
    let (stalls, runs): (Vec<_>, Vec<_>) = stalls.unzip();
    let says = [says].into_iter().chain(stalls).collect::<Vec<_>>().join(" ");
    let decide = commands::baseline(context.inventory, drives);
    Answer::new(Topic::Data, Sure::Unknown, says).because([COPY.to_owned()]).rests_on(runs).decide(decide)
}
