//! Which layout: capacity and redundancy follow from sizes, speed from drives measured at once.

use std::collections::BTreeSet;

use super::{
    Answer, Sure, Topic, commands,
    context::{Context, Judged, Number},
    evidence::{Evidence, Wanted},
    limits::Flow,
    sentences::{the_drives, times},
};
use crate::{
    findings::fitness::Use,
    inventory::{Drive, Layer},
    units::{Layout, capital, decimal_bytes, listed, rate},
};

/// Below this gain raid0 is not worth twice the risk.
const PAYS: f64 = 1.3;
/// Four USB 2 sticks on a Zero 2 W, 4 KiB at depth 1, read and write.
const SMALL_LOADS: &str = "Loads of 4 KiB at depth 1 gain nothing from raid0 (published: four sticks 6.1 MB/s, one of them 6.4 MB/s).";
/// Sizes or speeds beyond this ratio waste space or speed.
const UNLIKE: f64 = 1.1;

/// Whether a drive holds several members of a pool, which are lost together.
pub(super) fn shares_a_drive(context: &Context<'_>, layer: &Layer) -> bool {
    let below = layer.members.iter().map(|name| context.inventory.drives_of_block(name));
    let below: Vec<Vec<&Drive>> = below.filter(|drives| !drives.is_empty()).collect();
    context.inventory.hardware(below.iter().flatten().copied()).len() < below.len()
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let arrays = context.arrays();
    let inventory = context.inventory;
    // Several drives of a virtual machine may be on one disk of its host.
    let real = |d: &&Drive| d.has_hardware() || inventory.machine.lab.is_some();
    let all = inventory.hardware(context.for_layout().into_iter().filter(real));
    let (why, runs) = context.unfit(&all, Use::Safekeeping);
    let mut drives = all;
    drives.retain(|drive| !context.is_unfit(drive, Use::Safekeeping));
    let says = match &drives[..] {
        _ if !arrays.is_empty() => {
            let names =
                arrays.iter().map(|(layer, pool, _)| format!("{}, {}", layer.shown(), pool.describe()));
            let names = listed(&names.collect::<Vec<_>>());
            format!("Built already: {names}. To change it, copy the data elsewhere first.")
        }
        [] => "No drives to build from: each carries the system or a part of a pool or volume, is virtual, or is not fit for it.".to_owned(),
        [one] => capital(&format!("{} alone: a layout needs two drives or more.", context.name(one))),
        several => {
            return vec![choose(context, several).because(why).rests_on(runs)];
        }
    };
    vec![Answer::new(Topic::Layout, Sure::Inferred, says).because(why).rests_on(runs)]
}

fn choose(context: &Context<'_>, all: &[&Drive]) -> Answer {
    let members = members(all);
    let n = members.len() as u64;
    let smallest = members.iter().map(|d| d.sectors).min().unwrap_or(0);
    let holds = |members: u64| decimal_bytes(smallest.saturating_mul(512).saturating_mul(members));
    let all_of = members.iter().fold(0u64, |sum, d| sum.saturating_add(d.sectors));
    let (of, used) = (decimal_bytes(all_of.saturating_mul(512)), smallest.saturating_mul(n));
    // What the smallest member leaves unused of the others.
    let idle = all_of.saturating_sub(used);
    let unused = decimal_bytes(idle.saturating_mul(512));
    if idle > used {
        let names = context.names(&members);
        let says =
            format!("No layout: the sizes of {names} differ too much, {unused} of {of} would be unused.");
        return Answer::new(Topic::Layout, Sure::Inferred, says);
    }
    let waste = if smallest as f64 * n as f64 * UNLIKE < all_of as f64 {
        format!("; {unused} would be unused")
    } else {
        String::new()
    };
    let (kind, data) = match n {
        2 => ("raid1", 1),
        3 => ("raid5", 2),
        n if n % 2 == 0 => ("raid10", n / 2),
        n => ("raid6", n - 2),
    };
    let (may, parity) = match kind {
        "raid6" => ("any two may fail", true),
        kind => ("one may fail", kind == "raid5"),
    };
    let who = match &members[..] {
        [_, _] => context.names(&members),
        _ => format!("the {n} drives of {} or more", holds(1)),
    };
    let pulled = of_members(context, &members).filter(|e| layout_of(e) == kind);
    let judged = Judged::by(pulled, Use::Safekeeping);
    if let Some(says) = judged.unfit(&format!("{kind} of {who}"), Use::Safekeeping) {
        return Answer::new(Topic::Layout, Sure::Measured, says).rests_on(judged.runs);
    }
    let says = format!(
        "{kind} of {who} for data that must not be lost: {} of {of} usable, {may}{waste}. Building it erases them.",
        holds(data)
    );
    let mut why = Vec::new();
    why.extend(parity.then(|| "Each write also writes parity, which costs speed.".to_owned()));
    why.extend(left_out(context, all, &members));
    let gains = Gain::all(context);
    let measured = !gains.is_empty();
    if measured {
        why.extend(sentences(&gains));
    } else {
        let who = the_drives(members.len());
        why.push(format!("Not known whether raid0 would help: {who} were not measured at once."));
    }
    let tested = of_members(context, &members).filter(|e| e.speed().is_some()).last();
    let build = "To build it: drivebench pool create.";
    why.push(match tested {
        Some(e) => format!("Layouts of these drives were measured: drivebench show {}. {build}", e.run),
        None => format!("Predicted, not measured. {build}"),
    });
    let decide = (!measured).then(|| commands::together(context.inventory, all)).flatten();
    Answer::new(Topic::Layout, Sure::Inferred, says)
        .because(why)
        .rests_on(gains.iter().map(|gain| gain.measured.from).chain(tested))
        .decide(decide)
}

/// The layout that a run built; `pull` also names the drive that it pulled.
fn layout_of(e: &Evidence) -> &str {
    e.target.split(',').next().unwrap_or_default()
}

/// Evidence of layouts of exactly these drives that a run built.
fn of_members<'a>(context: &Context<'a>, members: &[&Drive]) -> impl Iterator<Item = &'a Evidence> + use<'a> {
    let wanted: BTreeSet<String> = members.iter().map(|drive| drive.identity()).collect();
    context.all().filter(move |e| {
        let is_layout = Layout::of_name(layout_of(e)).is_some() && !e.at_once;
        is_layout && e.drives.iter().cloned().collect::<BTreeSet<String>>() == wanted
    })
}

/// The members: the group of drives of similar size with the largest capacity; all drives where no two are similar.
fn members<'a>(all: &[&'a Drive]) -> Vec<&'a Drive> {
    let alike = |smallest: &&'a Drive| {
        let fits = |d: &&&Drive| {
            d.sectors >= smallest.sectors && d.sectors as f64 <= smallest.sectors as f64 * UNLIKE
        };
        all.iter().filter(fits).copied().collect::<Vec<_>>()
    };
    let spare = |group: &Vec<&Drive>| {
        let smallest = group.iter().map(|d| d.sectors).min().unwrap_or(0);
        smallest.saturating_mul(group.len() as u64 - 1)
    };
    let groups = all.iter().map(alike).filter(|group| group.len() > 1);
    groups.max_by_key(spare).unwrap_or_else(|| all.to_vec())
}

/// Drives that are left out.
fn left_out(context: &Context<'_>, all: &[&Drive], members: &[&Drive]) -> Option<String> {
    let out: Vec<&Drive> = all.iter().copied().filter(|d| !members.contains(d)).collect();
    (!out.is_empty()).then(|| format!("Left out because of another size: {}.", context.names(&out)))
}

/// What raid0 would gain for reads or writes.
struct Gain<'a> {
    flow: Flow<'a>,
    /// What raid0 would move, in bytes per second.
    predicted: f64,
    /// How many times as much as one drive.
    ratio: f64,
    measured: Number<'a>,
}

impl<'a> Gain<'a> {
    /// Gains of reads and writes, where loads measured the drives at once.
    fn all(context: &Context<'a>) -> Vec<Self> {
        let mut gains = Vec::new();
        for (reads, wanted) in [(true, Wanted::READ), (false, Wanted::WRITE)] {
            let Some(measured) = context.at_once(wanted) else { continue };
            let Some(flow) = Flow::of(context, reads) else { continue };
            // The system drive is not a member.
            let free = context.for_layout();
            if !flow.drives.iter().all(|d| free.contains(d)) {
                continue;
            }
            let n = flow.drives.len() as f64;
            let Some(alone) = measured.from.sum_alone().filter(|_| n > 1.0) else { continue };
            let speeds = context.speeds(&flow.drives, wanted).into_iter().flatten();
            let speeds: Vec<f64> = speeds.map(|speed| speed.estimate.value).collect();
            let (low, high) = speeds.iter().fold((f64::INFINITY, 0.0f64), |(l, h), s| (l.min(*s), h.max(*s)));
            let mut predicted = measured.estimate.value;
            if speeds.len() as f64 == n && high > low * UNLIKE {
                // Every stripe waits for the slowest.
                predicted = predicted.min(n * low);
            }
            let ratio = predicted / (alone.value / n);
            gains.push(Self { flow, predicted, ratio, measured });
        }
        gains
    }
}

fn sentences(gains: &[Gain<'_>]) -> [String; 2] {
    let words =
        |g: &Gain<'_>| format!("{} {}, {} one drive", g.flow.verb(), rate(g.predicted), times(g.ratio));
    let each: Vec<String> = gains.iter().map(words).collect();
    let pays = gains.iter().any(|gain| gain.ratio >= PAYS);
    let helps = if pays { "helps for data with a copy elsewhere" } else { "hardly helps" };
    let first = format!("raid0 {helps}: it would {}; it survives no drive failure.", each.join(" and "));
    [first, SMALL_LOADS.to_owned()]
}
