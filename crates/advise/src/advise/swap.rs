//! Where to swap: on the drive that is fit for it and whose writes stop for the shortest time.

use super::{Answer, Evidence, Sure, Topic, commands, context::Context, evidence::Wanted};
use crate::{
    findings::{
        Quantity,
        fitness::{Use, Verdict},
    },
    inventory::Drive,
    tools::swap::ZRAM,
    units::{capital, duration, size},
};

/// Memory in bytes below which compressed memory (zram) comes first.
const SMALL: u64 = 1_200_000_000;

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let drives: Vec<&Drive> =
        context.drives().into_iter().filter(|d| !d.read_only && !context.failing(d)).collect();
    let memory = context.inventory.machine.memory.filter(|memory| *memory < SMALL);
    let zram = match context.inventory.swaps.iter().any(|swap| swap.starts_with(ZRAM)) {
        true => Some("zram is in use: keep it.".to_owned()),
        false => memory.map(|memory| {
            format!("zram first, with {} of memory: it compresses, and causes no wear.", size(memory))
        }),
    };
    // Of the drives that are fit, the one whose longest write is the shortest.
    let longest = |drive: &Drive| context.worst(drive, Wanted::RANDOM_WRITE);
    let fit = drives.iter().filter_map(|drive| match context.fitness(drive, Use::Swap)? {
        (Verdict::Fit, from) => Some((*drive, longest(drive), from)),
        _ => None,
    });
    let seconds = |longest: &Option<(f64, &Evidence)>| longest.map_or(f64::INFINITY, |(s, _)| s);
    let chosen = fit.min_by(|a, b| seconds(&a.1).total_cmp(&seconds(&b.1)));
    let (unfit, mut runs): (Vec<_>, Vec<_>) = context.unfit(&drives, Use::Swap).into_iter().unzip();
    let (tested, of_tests): (Vec<_>, Vec<_>) = drives.iter().filter_map(|d| tested(context, d)).unzip();
    let wakes = chosen.and_then(|(drive, ..)| context.wakes(drive));
    let asleep = wakes.map(|n| format!("From standby, spin-up takes {}.", duration(n.estimate.value)));
    let (sure, text) = match chosen {
        Some((drive, longest, _)) => {
            let longest = longest.map(|(s, _)| format!(", no small random write took over {}", duration(s)));
            (Sure::Measured, format!("on {}{}.", context.name(drive), longest.unwrap_or_default()))
        }
        None if drives.is_empty() => (Sure::Inferred, "on no drive: none can be written safely.".to_owned()),
        None if unfit.len() == drives.len() => {
            (Sure::Measured, "on none of these drives: they are not fit for swap.".to_owned())
        }
        None => {
            let sure = if zram.is_some() { Sure::Published } else { Sure::Unknown };
            (sure, "which drive is fit for swap is not known.".to_owned())
        }
    };
    let says = match zram {
        Some(zram) => format!("{zram} Then {text}"),
        None => capital(&text),
    };
    runs.extend(of_tests.into_iter().chain(wakes.map(|n| n.from)));
    if let Some((_, longest, from)) = chosen {
        runs.extend(longest.map(|(_, from)| from).into_iter().chain([from]));
    }
    let wear = drives.iter().any(|d| !Context::rotates(d)).then(|| "Swap wears flash.".to_owned());
    // The drives besides the system's, where there are any.
    let is_open =
        |d: &&Drive| !matches!(context.fitness(d, Use::Swap), Some((Verdict::Fit | Verdict::Unfit(..), _)));
    let free = context.for_data();
    let open = if free.is_empty() { &drives } else { &free };
    let open: Vec<&Drive> = open.iter().copied().filter(is_open).collect();
    let why = unfit.into_iter().chain(tested).chain(asleep).chain(wear);
    vec![
        Answer::new(Topic::Swap, sure, says)
            .because(why)
            .rests_on(runs)
            .decide(commands::writes(context.inventory, &open)),
    ]
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
