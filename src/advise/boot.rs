//! Where to boot from. Boot times can't be measured yet; published ones are marked as such.

use super::{Answer, Sure, Topic, commands, context::Context, evidence::Wanted, published, sentences::times};
use crate::{
    analyse::compare,
    inventory::{Drive, Machine},
    units::{duration, rate},
};

const NOT_HERE: &str = "This version can't measure boot times.";

/// Whether a board can boot from a drive, as far as known; `None` for machines other than a Raspberry Pi.
fn starts_from(machine: &Machine, drive: &Drive) -> Option<bool> {
    let bus = drive.bus.as_deref();
    let card = bus == Some("mmc");
    Some(match machine.soc.as_deref()? {
        "bcm2835" | "bcm2836" => card,
        "bcm2837" => card || bus == Some("usb"),
        "bcm2711" if machine.compatible.iter().any(|name| name.ends_with("4-compute-module")) => {
            card || matches!(bus, Some("usb" | "nvme"))
        }
        "bcm2711" => card || bus == Some("usb"),
        "bcm2712" => card || matches!(bus, Some("usb" | "nvme")),
        _ => return None,
    })
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let machine = &context.inventory.machine;
    let system = context.system();
    let pi = context.drives().iter().any(|d| starts_from(machine, d).is_some());
    let candidates: Vec<&Drive> = context
        .drives()
        .into_iter()
        .filter(|d| starts_from(machine, d) != Some(false) && !context.failing(d) && !Context::rotates(d))
        .collect();
    let Some(now) = system.first() else {
        let says = if context.drives().is_empty() {
            "No drives found."
        } else {
            "Not known: the drive that the system runs from was not found."
        };
        return vec![Answer::new(Topic::Boot, Sure::Unknown, says)];
    };
    let name = context.names(&system);
    let others: Vec<&Drive> =
        candidates.iter().copied().filter(|d| !system.iter().any(|s| s.name == d.name)).collect();
    let answer = if system.iter().any(|d| context.failing(d)) {
        let says = format!(
            "Boot from another drive soon: {name} reports failing or unreadable sectors. Copy what is on it first."
        );
        Answer::new(Topic::Boot, Sure::Inferred, says)
    } else if Context::rotates(now) {
        let to = others.first().map_or("flash".to_owned(), |d| context.name(d));
        let says = format!("Boot from {to} rather than from {name}, a disk that has to spin up and seek.");
        let sure = if pi { Sure::Published } else { Sure::Inferred };
        let wakes = context.wakes(now);
        let spin_up = wakes.map(|n| format!("Spin-up takes {}.", duration(n.estimate.value)));
        Answer::new(Topic::Boot, sure, says)
            .because(spin_up.into_iter().chain(published_for(pi)))
            .rests_on(wakes.map(|n| n.from))
    } else if pi && now.bus.as_deref() == Some("mmc") {
        let says =
            format!("Stay with {name}: flash on USB boots no faster, and the USB stays free for data.");
        Answer::new(Topic::Boot, Sure::Published, says).because(published_for(pi))
    } else if pi {
        let says = format!("Stay with {name}: flash of any kind boots about as fast.");
        Answer::new(Topic::Boot, Sure::Published, says).because(published_for(pi))
    } else {
        let says = format!("Stay with {name}: no reason against it is known.");
        Answer::new(Topic::Boot, Sure::Inferred, says)
    };
    let mut field = vec![*now];
    field.extend(others.iter().copied());
    let (sentences, runs) = small_reads(context, &field);
    let answer = answer.because(sentences).because([NOT_HERE.to_owned()]);
    let undecided = runs.is_empty() && !others.is_empty();
    // One other drive is enough to compare.
    let decide = || commands::baseline(context.inventory, &field[..2], &["--rw", "randread"]);
    vec![answer.rests_on(runs).decide(undecided.then(decide).flatten())]
}

fn published_for(pi: bool) -> Option<String> {
    pi.then(|| published::BOOT.to_owned())
}

/// Small random reads, the main load of a boot: how other drives compare with the current boot drive.
fn small_reads<'a>(context: &Context<'a>, field: &[&'a Drive]) -> (Vec<String>, Vec<&'a super::Evidence>) {
    let speeds = context.speeds(field, Wanted::RANDOM_READ);
    let Some(own) = speeds.first().copied().flatten() else { return (Vec::new(), Vec::new()) };
    let others = speeds.iter().zip(field).skip(1).filter_map(|(n, d)| Some(((*n)?, *d)));
    let Some((best, drive)) = others.max_by(|a, b| a.0.estimate.value.total_cmp(&b.0.estimate.value)) else {
        return (Vec::new(), Vec::new());
    };
    let Some(ratio) = compare::ratio(best.estimate, own.estimate) else { return (Vec::new(), Vec::new()) };
    let (a, b) = (context.name(drive), context.name(field[0]));
    let (x, y) = (rate(best.estimate.value), rate(own.estimate.value));
    let sentences = if !ratio.different {
        format!("No difference found in random reads: {x} from {a}, {y} from {b}.")
    } else if ratio.estimate.value > 1.0 {
        let n = times(ratio.estimate.value);
        format!(
            "Random reads: {x} from {a}, {n} as fast as {b} with {y}: programs would start sooner from {a}."
        )
    } else {
        format!("Random reads: {y} from {b}, more than {x} from {a}.")
    };
    (vec![sentences], vec![own.from, best.from])
}
