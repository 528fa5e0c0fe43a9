//! Where to boot from. Boot times can't be measured yet; published ones are marked as such.

use super::{
    Answer, Evidence, Sure, Topic, commands, context::Context, evidence::Wanted, published, sentences::times,
};
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
    let drives = context.drives();
    let Some(now) = system.first() else {
        let says = if drives.is_empty() {
            "No drives found."
        } else {
            "Not known: the drive that the system runs from was not found."
        };
        return vec![Answer::new(Topic::Boot, Sure::Unknown, says)];
    };
    let pi = drives.iter().any(|d| starts_from(machine, d).is_some());
    let fit = |d: &&Drive| {
        let starts = starts_from(machine, d) != Some(false);
        starts && !context.failing(d) && !Context::rotates(d) && !system.contains(d)
    };
    let others: Vec<&Drive> = drives.into_iter().filter(fit).collect();
    let name = context.names(&system);
    let failing = system.iter().any(|d| context.failing(d));
    let rotates = Context::rotates(now);
    let likely = if pi { Sure::Published } else { Sure::Inferred };
    let (sure, says) = if failing {
        let says = format!(
            "Boot from another drive soon: {name} reports failing or unreadable sectors. Copy what is on it first."
        );
        (Sure::Inferred, says)
    } else if rotates {
        let to = others.first().map_or("flash".to_owned(), |d| context.name(d));
        (likely, format!("Boot from {to} rather than from {name}, a disk that has to spin up and seek."))
    } else if pi && now.bus.as_deref() == Some("mmc") {
        (likely, format!("Stay with {name}: flash on USB boots no faster, and the USB stays free for data."))
    } else if pi {
        (likely, format!("Stay with {name}: flash of any kind boots about as fast."))
    } else {
        (likely, format!("Stay with {name}: no reason against it is known."))
    };
    let wakes = context.wakes(now).filter(|_| rotates && !failing);
    let spin_up = wakes.map(|n| format!("Spin-up takes {}.", duration(n.estimate.value)));
    let published = (pi && !failing).then(|| published::BOOT.to_owned());
    let field = [&system[..1], &others[..]].concat();
    let (sentence, runs) = small_reads(context, &field).unzip();
    let undecided = runs.is_none() && !others.is_empty();
    // One other drive is enough to compare.
    let decide = || commands::baseline(context.inventory, &field[..2], &["--rw", "randread"]);
    let answer = Answer::new(Topic::Boot, sure, says)
        .because([spin_up, published, sentence, Some(NOT_HERE.to_owned())].into_iter().flatten())
        .rests_on(wakes.map(|n| n.from).into_iter().chain(runs.into_iter().flatten()))
        .decide(undecided.then(decide).flatten());
    vec![answer]
}

/// Small random reads, the main load of a boot: how other drives compare with the current boot drive.
fn small_reads<'a>(context: &Context<'a>, field: &[&'a Drive]) -> Option<(String, [&'a Evidence; 2])> {
    let speeds = context.speeds(field, Wanted::RANDOM_READ);
    let own = speeds.first().copied().flatten()?;
    let others = speeds.iter().zip(field).skip(1).filter_map(|(n, d)| Some(((*n)?, *d)));
    let (best, drive) = others.max_by(|a, b| a.0.estimate.value.total_cmp(&b.0.estimate.value))?;
    let ratio = compare::ratio(best.estimate, own.estimate)?;
    let (a, b) = (context.name(drive), context.name(field[0]));
    let (x, y) = (rate(best.estimate.value), rate(own.estimate.value));
    let sentence = if !ratio.different {
        format!("No difference found in random reads: {x} from {a}, {y} from {b}.")
    } else if ratio.estimate.value > 1.0 {
        let n = times(ratio.estimate.value);
        format!(
            "Random reads: {x} from {a}, {n} as fast as {b} with {y}: programs would start sooner from {a}."
        )
    } else {
        format!("Random reads: {y} from {b}, more than {x} from {a}.")
    };
    Some((sentence, [own.from, best.from]))
}
