//! Where to swap: by the longest stall, because every program waits for it.

use super::{
    Answer, Evidence, Sure, Topic, commands,
    context::{Context, LONG},
    evidence::Wanted,
};
use crate::{
    findings::Quantity,
    inventory::Drive,
    tools::swap::ZRAM,
    units::{capital, duration, listed, size},
};

/// Below this memory, compressed memory (zram) comes first, bytes.
const SMALL: u64 = 1_200_000_000;

/// A drive and its longest write, s.
struct Worst<'a> {
    drive: &'a Drive,
    seconds: f64,
    from: &'a Evidence,
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let memory = context.inventory.machine.memory;
    let small = memory.filter(|memory| *memory < SMALL);
    let zram = context.inventory.swaps.iter().any(|swap| swap.starts_with(ZRAM));
    let drives: Vec<&Drive> =
        context.drives().into_iter().filter(|d| !d.read_only && !context.failing(d)).collect();
    let mut worst = worst(context, &drives);
    worst.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let used = context.inventory.swap_drives();
    let first = match (small, zram) {
        (_, true) => "zram is in use: keep it. ".to_owned(),
        (Some(memory), false) => {
            let memory = size(memory);
            format!("zram first, with {memory} of memory: it swaps to compressed memory and causes no wear. ")
        }
        (None, false) => String::new(),
    };
    let rest = if first.is_empty() { "" } else { "Then " };
    let join = |text: String| if rest.is_empty() { capital(&text) } else { format!("{first}{rest}{text}") };
    let unmeasured: Vec<&Drive> =
        drives.iter().copied().filter(|d| worst.iter().all(|w| w.drive != *d)).collect();
    let runs: Vec<&Evidence> = worst.iter().map(|w| w.from).collect();
    let answer = match &worst[..] {
        [] if drives.is_empty() => {
            Answer::new(Topic::Swap, Sure::Unknown, format!("{first}No drive is fit for swap."))
        }
        [] => {
            let place = (!used.is_empty()).then(|| format!("; swap is now on {}", context.names(&used)));
            let place = place.unwrap_or_default();
            let says = join(format!("the drive with the shortest stalls is not known{place}."));
            // The drives besides the system's, where there are any.
            let free = context.for_data();
            let which = if free.is_empty() { &drives } else { &free };
            Answer::new(Topic::Swap, if first.is_empty() { Sure::Unknown } else { Sure::Published }, says)
                .decide(commands::writes(context.inventory, which))
        }
        [best, others @ ..] if best.seconds < LONG => {
            let (name, longest) = (context.name(best.drive), duration(best.seconds));
            let says = format!("{name}, with no small random write at depth 1 over {longest}.");
            let says = if rest.is_empty() { format!("On {says}") } else { format!("{first}Then {says}") };
            let wakes = context.wakes(best.drive);
            let asleep =
                wakes.map(|n| format!("From standby, spin-up takes {}.", duration(n.estimate.value)));
            // Swap is read, too.
            let (stalled, of): (Vec<_>, Vec<_>) =
                context.other_stalls(&[best.drive], Wanted::RANDOM_WRITE).into_iter().unzip();
            Answer::new(Topic::Swap, Sure::Measured, says)
                .because(stalled.into_iter().chain(asleep).chain(stops(context, others)))
                .rests_on(runs.into_iter().chain(wakes.map(|n| n.from)).chain(of))
        }
        all => {
            let says = join("none of the drives that were measured: they stall for too long.".to_owned());
            Answer::new(Topic::Swap, Sure::Measured, says).because(stops(context, all)).rests_on(runs)
        }
    };
    let (tested, of_tests): (Vec<_>, Vec<_>) = drives.iter().filter_map(|d| tested(context, d)).unzip();
    let measured = !worst.is_empty();
    let bad = |d: &&Drive| worst.iter().any(|w| w.drive == *d && w.seconds >= LONG);
    let stay: Vec<&Drive> = used.iter().copied().filter(bad).collect();
    let move_it = (!stay.is_empty()).then(|| format!("Swap is now on {}: move it.", context.names(&stay)));
    let wear = drives.iter().any(|d| !Context::rotates(d));
    let wear = wear.then(|| "Swap wears flash.".to_owned());
    let mut why: Vec<String> = move_it.into_iter().chain(tested).collect();
    let mut other = of_tests;
    if !measured && !drives.is_empty() {
        why.push("Small random writes, one at a time, as swap makes them, are not measured.".to_owned());
        let (sentences, from): (Vec<_>, Vec<_>) =
            context.other_stalls(&drives, Wanted::RANDOM_WRITE).into_iter().unzip();
        why.extend(sentences);
        other.extend(from);
    }
    let decide = answer.decide.clone().or_else(|| commands::writes(context.inventory, &unmeasured));
    vec![answer.because(why.into_iter().chain(wear)).rests_on(other).decide(decide)]
}

/// What `run swap` found of a drive last.
fn tested<'a>(context: &Context<'a>, drive: &Drive) -> Option<(String, &'a Evidence)> {
    let (from, used) = context.of(drive).rev().find_map(|e| {
        let used = e.numbers.iter().find(|m| m.quantity == Quantity::MemoryUsed)?;
        Some((e, &used.estimate))
    })?;
    let least = if used.is_bounded() { "" } else { "at least " };
    let times = format!("{least}{:.2} times", used.value);
    Some((format!("With swap on {}, a program could use {times} its memory.", context.name(drive)), from))
}

/// The longest small random write of each drive, where it was measured under the load that most drives share.
fn worst<'a>(context: &Context<'a>, drives: &[&'a Drive]) -> Vec<Worst<'a>> {
    let all = context.fitting(drives, Wanted::RANDOM_WRITE, |e| e.worst().is_some()).into_iter().zip(drives);
    let each = all.filter_map(|(newest, &drive)| {
        newest?;
        let (seconds, from) = context.worst(drive, Wanted::RANDOM_WRITE)?;
        Some(Worst { drive, seconds, from })
    });
    each.collect()
}

fn stops(context: &Context<'_>, all: &[Worst<'_>]) -> Option<String> {
    let long = all.iter().filter(|w| w.seconds >= LONG);
    let stalls: Vec<String> =
        long.map(|w| format!("{} ({})", context.name(w.drive), duration(w.seconds))).collect();
    (!stalls.is_empty()).then(|| format!("Not for swap because of long stalls: {}.", listed(&stalls)))
}
