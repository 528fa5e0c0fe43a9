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

/// Where to swap, besides compressed memory.
enum Place<'a> {
    /// Nothing measured speaks against this drive.
    Drive(&'a Drive, &'a Evidence),
    /// Each drive is unfit.
    Nowhere,
    /// No drive is known to be fit.
    Unknown,
    NoDrive,
}

impl<'a> Place<'a> {
    fn of(context: &Context<'a>, drives: &[&'a Drive]) -> Self {
        let judged = drives.iter().filter_map(|drive| Some((*drive, context.fitness(drive, Use::Swap)?)));
        let judged: Vec<_> = judged.map(|(drive, (verdict, from))| (drive, verdict, from)).collect();
        let longest =
            |drive: &Drive| context.worst(drive, Wanted::RANDOM_WRITE).map_or(f64::INFINITY, |(s, _)| s);
        let fit = judged.iter().filter(|(_, verdict, _)| *verdict == Verdict::Fit);
        if let Some((drive, _, from)) = fit.min_by(|a, b| longest(a.0).total_cmp(&longest(b.0))) {
            return Self::Drive(drive, from);
        }
        match () {
            () if drives.is_empty() => Self::NoDrive,
            () if context.unfit(drives, Use::Swap).len() == drives.len() => Self::Nowhere,
            () => Self::Unknown,
        }
    }
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let drives: Vec<&Drive> =
        context.drives().into_iter().filter(|d| !d.read_only && !context.failing(d)).collect();
    let used = context.inventory.swap_drives();
    let memory = context.inventory.machine.memory.filter(|memory| *memory < SMALL);
    let zram = match context.inventory.swaps.iter().any(|swap| swap.starts_with(ZRAM)) {
        true => Some("zram is in use: keep it.".to_owned()),
        false => memory.map(|memory| {
            format!("zram first, with {} of memory: it compresses, and causes no wear.", size(memory))
        }),
    };
    let place = Place::of(context, &drives);
    let (sure, text) = match &place {
        Place::Drive(drive, _) => {
            let longest = context.worst(drive, Wanted::RANDOM_WRITE);
            let longest = longest.map(|(s, _)| format!(", no small random write took over {}", duration(s)));
            (Sure::Measured, format!("on {}{}.", context.name(drive), longest.unwrap_or_default()))
        }
        Place::Nowhere => (Sure::Measured, "on none of these drives: they are not fit for swap.".to_owned()),
        Place::Unknown => {
            let now = match used.is_empty() {
                true => String::new(),
                false => format!("; swap is now on {}", context.names(&used)),
            };
            let sure = if zram.is_some() { Sure::Published } else { Sure::Unknown };
            (sure, format!("which drive is fit for swap is not known{now}."))
        }
        Place::NoDrive => (Sure::Unknown, "no drive is fit for swap.".to_owned()),
    };
    let says = match (zram, &place) {
        (Some(zram), Place::NoDrive) => format!("{zram} {}", capital(&text)),
        (Some(zram), _) => format!("{zram} Then {text}"),
        (None, _) => capital(&text),
    };
    let chosen: Vec<&Drive> = match &place {
        Place::Drive(drive, _) => vec![drive],
        _ => Vec::new(),
    };
    let (unfit, mut runs): (Vec<_>, Vec<_>) = context.unfit(&drives, Use::Swap).into_iter().unzip();
    let (tested, of_tests): (Vec<_>, Vec<_>) = drives.iter().filter_map(|d| tested(context, d)).unzip();
    let wakes = chosen.first().and_then(|drive| context.wakes(drive));
    let asleep = wakes.map(|n| format!("From standby, spin-up takes {}.", duration(n.estimate.value)));
    let longest = chosen.first().and_then(|drive| context.worst(drive, Wanted::RANDOM_WRITE));
    runs.extend(of_tests.into_iter().chain(wakes.map(|n| n.from)).chain(longest.map(|(_, from)| from)));
    if let Place::Drive(_, from) = place {
        runs.push(from);
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
