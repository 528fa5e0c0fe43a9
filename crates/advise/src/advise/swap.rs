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
    // Of the drives that are fit, those that were tested with swap come first, and then those whose longest wait is the shortest.
    let fit = drives.iter().filter_map(|drive| {
        let judged = context.fitness(drive, Use::Swap).filter(|judged| judged.verdict == Verdict::Fit)?;
        Some((*drive, Wait::of(context, drive), judged.runs))
    });
    let order = |wait: &Option<Wait<'_>>| {
        wait.as_ref().map_or((true, f64::INFINITY), |wait| (!wait.is_tested, wait.seconds))
    };
    let chosen = fit.min_by(|a, b| {
        let (a, b) = (order(&a.1), order(&b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let (unfit, mut runs) = context.unfit(&drives, Use::Swap);
    let (tested, of_tests): (Vec<_>, Vec<_>) = drives.iter().filter_map(|d| tested(context, d)).unzip();
    let woken = chosen.as_ref().and_then(|(drive, ..)| {
        let mut all = context.on_drive(drive).rev();
        all.find_map(|from| Some((from.wake_time()?, from)))
    });
    let asleep = woken.map(|(wakes, _)| format!("From standby, spin-up takes {}.", duration(wakes.value)));
    runs.extend(of_tests.into_iter().chain(woken.map(|(_, from)| from)));
    let (sure, text) = match &chosen {
        Some((drive, wait, _)) => {
            let wait = wait.as_ref().map(Wait::words).unwrap_or_default();
            (Sure::Measured, format!("on {}{wait}.", context.name(drive)))
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
    if let Some((_, wait, judged_by)) = chosen {
        runs.extend(wait.map(|wait| wait.from).into_iter().chain(judged_by));
    }
    let wear = drives.iter().any(|d| !Context::rotates(d)).then(|| "Swap wears flash.".to_owned());
    // The drives besides the system's, where there are any.
    let is_open = |d: &&Drive| {
        let verdict = context.fitness(d, Use::Swap).map(|judged| judged.verdict);
        verdict.is_none_or(|verdict| matches!(verdict, Verdict::Undecided(..)))
    };
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

/// The longest wait that is known of a drive.
struct Wait<'a> {
    seconds: f64,
    /// It is that of a program with swap on the drive, and not that of a small random write.
    is_tested: bool,
    from: &'a Evidence,
}

impl<'a> Wait<'a> {
    fn of(context: &Context<'a>, drive: &Drive) -> Option<Self> {
        let test = context.on_drive(drive).rev().find_map(|from| {
            let seconds = from.measures.as_ref()?.swap?.longest_wait?;
            Some(Self { seconds, is_tested: true, from })
        });
        let write = || {
            let (seconds, from) = context.worst(drive, Wanted::RANDOM_WRITE)?;
            Some(Self { seconds, is_tested: false, from })
        };
        test.or_else(write)
    }

    fn words(&self) -> String {
        let seconds = duration(self.seconds);
        match self.is_tested {
            true => format!(", the longest wait of a program with swap on it was {seconds}"),
            false => format!(", no small random write took over {seconds}"),
        }
    }
}

/// What `run swap` found of a drive last.
fn tested<'a>(context: &Context<'a>, drive: &Drive) -> Option<(String, &'a Evidence)> {
    let (from, used) = context.on_drive(drive).rev().find_map(|e| {
        let used = e.numbers.iter().find(|m| m.quantity == Quantity::MemoryUsed)?;
        Some((e, &used.estimate))
    })?;
    let least = if used.is_bounded() { "" } else { "at least " };
    let times = format!("{least}{:.2} times", used.value);
    Some((format!("With swap on {}, a program could use {times} its memory.", context.name(drive)), from))
}
