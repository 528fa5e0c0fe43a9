//! Where to boot from: by boots that were recorded, else by small random reads. Published times are marked as such.

use super::{
    Answer, Evidence, Sure, Topic, commands,
    context::{Context, Number},
    evidence::Wanted,
    sentences::{speed, times},
};
use crate::{
    analyse::{
        Estimate,
        compare::{self, Difference, Ratio},
    },
    findings::{
        BootPart, Quantity, Scope,
        fitness::{Use, Verdict},
    },
    inventory::{Drive, Machine},
    units::{capital, duration, signed_duration},
};

/// Below this gain another boot drive is not worth the move.
const WORTH: f64 = 1.3;

/// Seconds that a Raspberry Pi 4 took to boot by systemd-analyze, five boots each, 2024.
const PUBLISHED: &str = "Published for a Raspberry Pi 4: SD cards boot in 17.5 to 18.0 s, an SSD on USB in 18.9 s, sticks in 19.9 to 22.2 s, a disk in 92.3 s.";

/// Whether a board can boot from a drive, as far as known; `None` for machines other than a Raspberry Pi.
fn starts_from(machine: &Machine, drive: &Drive) -> Option<bool> {
    let bus = drive.bus.as_deref();
    let card = bus == Some("mmc");
    Some(match machine.soc.as_deref()? {
        "bcm2835" | "bcm2836" => card,
        "bcm2837" => card || bus == Some("usb"),
        // Of the Pi 4, the compute module has NVMe.
        "bcm2711" | "bcm2712" => card || matches!(bus, Some("usb" | "nvme")),
        _ => return None,
    })
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let machine = &context.inventory.machine;
    let system = context.system();
    let drives = context.drives();
    let Some(now) = system.first() else {
        let says = "Not known: the drive of the running system was not found.";
        return vec![Answer::new(Topic::Boot, Sure::Unknown, says)];
    };
    let pi = drives.iter().any(|d| starts_from(machine, d).is_some());
    let fit = |d: &&Drive| {
        let starts = starts_from(machine, d) != Some(false);
        let own = system.iter().any(|own| context.inventory.are_one(own, d));
        let unfit = context.is_unfit(d, Use::System);
        starts && !context.failing(d) && !Context::rotates(d) && !own && !unfit
    };
    let others: Vec<&Drive> = drives.into_iter().filter(fit).collect();
    let name = context.names(&system);
    let failing = system.iter().any(|d| context.failing(d));
    let rotates = Context::rotates(now);
    let likely = if pi { Sure::Published } else { Sure::Inferred };
    let field = [&system[..1], &others[..]].concat();
    let reads = Reads::of(context, &field);
    let recorded = Boots::of(context, now);
    let (unfit, unfit_by) = context.unfit(&system[..1], Use::System);
    let is_fit =
        |d: &&&Drive| context.fitness(d, Use::System).is_some_and(|judged| judged.verdict == Verdict::Fit);
    let better = others.iter().find(is_fit);
    let (sure, says) = if failing {
        let says = format!(
            "Boot from another drive soon: {name} reports failing or unreadable sectors. Copy what is on it first."
        );
        (Sure::Inferred, says)
    } else if let Some(boots) = recorded.as_ref().filter(|boots| unfit.is_empty() || boots.is_gain()) {
        let measured = boots.best.1.high.is_finite() && !boots.from.flagged;
        let sure = if measured { Sure::Measured } else { Sure::Inferred };
        (sure, boots.says(&name))
    } else if !unfit.is_empty() {
        let says = match better {
            Some(to) => {
                let to = context.name(to);
                format!("Boot from {to} rather than from {name}, which is not fit for a system.")
            }
            None => {
                capital(&format!("{name} is not fit for a system, and no other drive here is known to be."))
            }
        };
        (Sure::Measured, says)
    } else if rotates {
        let to = others.first().map_or("flash".to_owned(), |d| context.name(d));
        (likely, format!("Boot from {to} rather than from {name}, a disk that has to spin up and seek."))
    } else if let Some(reads) = &reads {
        (Sure::Inferred, reads.says(context))
    } else {
        (likely, format!("Stay with {name}: no reason against it is known."))
    };
    let published = (pi && !failing && recorded.is_none()).then(|| PUBLISHED.to_owned());
    let sentence = reads.as_ref().map(|reads| reads.sentence(context));
    let medians = recorded.as_ref().map(|boots| boots.sentence(&name));
    let is_open = match unfit.is_empty() {
        true => reads.is_none() && recorded.is_none(),
        false => better.is_none(),
    };
    let undecided = is_open && !others.is_empty();
    // One other drive is enough to compare.
    let decide = || commands::baseline(context.inventory, &field[..2]);
    let runs = reads.iter().flat_map(|reads| [reads.own.from, reads.best.from]);
    let runs = recorded.iter().map(|boots| boots.from).chain(runs);
    let answer = Answer::new(Topic::Boot, sure, says)
        .because(sentence.into_iter().chain(unfit))
        .because(published.into_iter().chain(medians))
        .rests_on(runs.chain(unfit_by))
        .decide(undecided.then(decide).flatten());
    vec![if failing { answer.problem() } else { answer }]
}

/// Boots of this machine from several drives, as the newest run has them that compares some.
struct Boots<'a> {
    /// The median boot from the drive of the system, s.
    here: &'a Estimate,
    /// The best other drive, and how much longer its boots take than those from here, s: the shortest, if possible among
    /// those that show a gain.
    best: (&'a str, &'a Estimate),
    from: &'a Evidence,
}

impl<'a> Boots<'a> {
    fn of(context: &Context<'a>, now: &Drive) -> Option<Self> {
        let whole = &Quantity::BootTime(BootPart::Whole);
        context.on_drive(now).rev().find_map(|from| {
            let all = |scope| from.numbers.iter().filter(move |m| m.quantity == *whole && m.scope == scope);
            // That of the run itself is the first.
            let here = &all(Scope::OverBoots).next()?.estimate;
            let open = |longer: &Estimate| longer.high >= 0.0;
            let best = all(Scope::BesideThis)
                .map(|m| (&*m.target, &m.estimate))
                .min_by(|(_, a), (_, b)| open(a).cmp(&open(b)).then(a.value.total_cmp(&b.value)))?;
            Some(Self { here, best, from })
        })
    }

    /// The boots from the other drive are shorter, by the interval of the difference.
    fn is_gain(&self) -> bool {
        self.best.1.high < 0.0
    }

    fn says(&self, name: &str) -> String {
        let (label, longer) = self.best;
        if self.is_gain() {
            let (gain, whole) = (duration(-longer.value), duration(self.here.value));
            return format!("Boot from {label}: it saved {gain} of {whole}.");
        }
        format!("Stay with {name}: no recorded boot shows that another drive is faster.")
    }

    /// The medians behind it.
    fn sentence(&self, name: &str) -> String {
        let (label, longer) = self.best;
        let (here, there) = (duration(self.here.value), duration(self.here.value + longer.value));
        let unlike = match self.from.flagged {
            true => format!(" Not only the drives differ: drivebench show {}.", self.from.run),
            false => String::new(),
        };
        let difference = match longer.high.is_finite() {
            true => longer.with_ends(signed_duration),
            false => "no interval: one of them has one boot".to_owned(),
        };
        format!("Boots: {here} from {name}, {there} from {label} (difference {difference}).{unlike}")
    }
}

/// Small random reads, the main load of a boot: the fastest other drive against the current boot drive.
struct Reads<'a> {
    own: Number<'a>,
    best: Number<'a>,
    /// The current boot drive, and the fastest other one.
    drives: [&'a Drive; 2],
    /// The speed of the other as a multiple of the current one's.
    ratio: Ratio,
}

impl<'a> Reads<'a> {
    fn of(context: &Context<'a>, field: &[&'a Drive]) -> Option<Self> {
        let speeds = context.speeds(field, Wanted::RANDOM_READ);
        let own = speeds.first().copied().flatten()?;
        let others = speeds.iter().zip(field).skip(1).filter_map(|(n, d)| Some(((*n)?, *d)));
        let (best, drive) = others.max_by(|a, b| a.0.estimate.value.total_cmp(&b.0.estimate.value))?;
        let ratio = compare::ratio(best.estimate, own.estimate)?;
        Some(Self { own, best, drives: [field[0], drive], ratio })
    }

    fn says(&self, context: &Context<'_>) -> String {
        let [own, best] = self.drives.map(|drive| context.name(drive));
        let ratio = &self.ratio.estimate;
        if Difference::of(ratio) == Difference::Found && ratio.value >= WORTH {
            let ratio = times(ratio.value);
            return format!(
                "Programs would start sooner from {best}: it reads small blocks at random {ratio} as fast as {own}."
            );
        }
        format!("Stay with {own}: no other drive is known to read small blocks at random much faster.")
    }

    fn sentence(&self, context: &Context<'_>) -> String {
        let [own, best] = self.drives.map(|drive| context.name(drive));
        let (x, y) = (speed(self.best.estimate), speed(self.own.estimate));
        format!("Random reads: {x} from {best}, {y} from {own}.")
    }
}
