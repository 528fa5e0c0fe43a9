//! What limits: the network, a bus, or the drives.

use super::{
    Answer, Sure, Topic, commands,
    context::{Ground, Number},
    evidence::{Evidence, Wanted},
    network_link::{Wire, called, narrowest, usable},
    sentences::the_drives,
};
use crate::{
    findings::{Limiter, Metric, Quantity},
    inventory::{Drive, Inventory},
    units::{capital, percent, rate},
};

/// The most that the drives move in one direction.
pub(super) struct Flow<'a> {
    pub number: Number<'a>,
    pub reads: bool,
    /// `both drives together`, `Cruzer Blade`, `md0`.
    pub who: String,
    /// The drives it is of.
    pub drives: Vec<&'a Drive>,
}

/// Without an interval two speeds differ from this ratio on.
const APART: f64 = 1.1;
/// From this share of the sum alone on, nothing shared limits the drives, as in `together`.
const REACHED: f64 = 0.95;

/// A speed compared with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The drives are faster than the limit.
    Wire,
    /// The drives are slower.
    Drives,
    /// The interval does not decide.
    Even,
}

impl<'a> Flow<'a> {
    /// Of several drives at once where that was measured here, else of an array, else of the fastest drive.
    pub fn of(ground: &Ground<'a>, reads: bool) -> Option<Self> {
        let wanted = if reads { Wanted::READ } else { Wanted::WRITE };
        let array = || {
            let each = ground.arrays().into_iter();
            let each = each.filter_map(|(layer, drives)| {
                Some(Self { number: ground.of_layer(layer, wanted)?, reads, who: layer.name.clone(), drives })
            });
            each.max_by(|a, b| a.speed().total_cmp(&b.speed()))
        };
        let alone = || {
            let mut drives = ground.for_data();
            if drives.is_empty() {
                drives = ground.drives();
            }
            let speeds = ground.speeds(&drives, wanted).into_iter().zip(drives);
            let each = speeds.filter_map(|(number, drive)| {
                Some(Self { number: number?, reads, who: ground.name(drive), drives: vec![drive] })
            });
            each.max_by(|a, b| a.speed().total_cmp(&b.speed()))
        };
        let at_once = ground.at_once(wanted).map(|number| {
            let mut drives: Vec<&Drive> = Vec::new();
            for drive in number.from.drives.iter().filter_map(|id| ground.drive(id)) {
                if !drives.iter().any(|known| known.name == drive.name) {
                    drives.push(drive);
                }
            }
            Self { number, reads, who: format!("{} together", the_drives(drives.len())), drives }
        });
        at_once.or_else(array).or_else(alone)
    }

    /// Bytes per second.
    pub fn speed(&self) -> f64 {
        self.number.estimate.value
    }

    /// Whether the drives or the limit (bytes per second) is slower; by the interval where there is one.
    pub fn held(&self, passes: f64) -> Held {
        let e = self.number.estimate;
        let (low, high) =
            if e.high.is_finite() { (e.low, e.high) } else { (e.value / APART, e.value * APART) };
        match () {
            () if low > passes => Held::Wire,
            () if high < passes => Held::Drives,
            () => Held::Even,
        }
    }

    /// The limit besides the drives, and its name, where a run at once found one.
    pub fn bound(&self) -> Option<(Limiter, &'a str)> {
        let from = self.number.from;
        let alone = from.sum_alone().filter(|_| from.at_once)?;
        let limit = |m: &'a Metric| match m.quantity {
            Quantity::Ceiling(by) if by != Limiter::Drives => Some((by, m.target.as_str())),
            _ => None,
        };
        from.numbers.iter().find_map(limit).filter(|_| self.speed() / alone.value < REACHED)
    }

    pub fn verb(&self) -> &'static str {
        if self.reads { "read" } else { "write" }
    }

    /// Measured, unless a run at once had drives on another bus.
    pub fn sure(&self, ground: &Ground<'_>) -> Sure {
        let e = self.number.from;
        if e.at_once && ground.moved(e) { Sure::Inferred } else { Sure::Measured }
    }
}

/// Both directions, as far as they are known.
pub(super) fn flows<'a>(ground: &Ground<'a>) -> Vec<Flow<'a>> {
    [true, false].into_iter().filter_map(|reads| Flow::of(ground, reads)).collect()
}

/// `both drives together read 25.7 MB/s and write 10.1 MB/s`.
pub(super) fn told(flows: &[&Flow<'_>]) -> String {
    let each = |f: &Flow<'_>| {
        let s = if f.drives.len() == 1 || !f.number.from.at_once { "s" } else { "" };
        format!("{}{s} {}", f.verb(), rate(f.speed()))
    };
    match flows {
        [read, write] if read.who == write.who => format!("{} {} and {}", read.who, each(read), each(write)),
        several => several.iter().map(|f| format!("{} {}", f.who, each(f))).collect::<Vec<_>>().join(", "),
    }
}

pub(super) fn answers(ground: &Ground<'_>) -> Vec<Answer> {
    if ground.drives().is_empty() {
        return vec![Answer::new(Topic::Limits, Sure::Unknown, "No drives found.")];
    }
    let flows = flows(ground);
    let answer = match (&flows[..], Wire::of(ground)) {
        ([], wire) => by_inventory(ground, wire.as_ref()),
        (flows, Some(wire)) => over(ground, flows, &wire),
        (flows, None) => here(ground, flows),
    };
    vec![answer]
}

fn runs<'a>(flows: &'a [Flow<'a>]) -> impl Iterator<Item = &'a Evidence> {
    flows.iter().map(|f| f.number.from)
}

/// The worst of several: measured only if all are.
pub(super) fn sure(ground: &Ground<'_>, flows: &[Flow<'_>]) -> Sure {
    let measured = flows.iter().all(|f| f.sure(ground) == Sure::Measured);
    if measured { Sure::Measured } else { Sure::Inferred }
}

/// Measured, with a network.
fn over(ground: &Ground<'_>, flows: &[Flow<'_>], wire: &Wire<'_>) -> Answer {
    let passes = rate(wire.passes);
    let kind = wire.kind();
    let by = |held| flows.iter().filter(|f| f.held(wire.passes) == held).collect::<Vec<_>>();
    let (below, above, even) = (by(Held::Wire), by(Held::Drives), by(Held::Even));
    let what = |f: &Flow<'_>| if f.reads { "reads" } else { "writes" };
    let says = match (&below[..], &above[..]) {
        ([], []) => {
            format!("{kind} and the drives limit about equally: {kind} carries {passes}, {}.", told(&even))
        }
        (limited, []) => {
            format!("{kind} limits what clients get: it carries {passes}, {}.", told(limited))
        }
        ([], free) => format!("The drives limit, not {kind}: {}, {kind} carries {passes}.", told(free)),
        ([limited, ..], [free, ..]) => format!(
            "{kind} limits what clients {}: it carries {passes}, {}. The drives limit {}: {}.",
            limited.verb(),
            told(&below),
            what(free),
            told(&above)
        ),
    };
    let source = format!("Source for {kind} ({}): {}.", port(wire), wire.source);
    let shared = wire.shared_with(ground, &flows.iter().flat_map(|f| f.drives.clone()).collect::<Vec<_>>());
    let twice = shared.and_then(|bus| {
        let half = rate(usable(bus)? / 2.0);
        Some(format!(
            "{kind} is on {} with the drives: client data crosses it twice, {half} at most.",
            called(bus)
        ))
    });
    Answer::new(Topic::Limits, sure(ground, flows), says)
        .because(locally(flows).into_iter().chain(twice).chain([source]))
        .rests_on(runs(flows))
        .decide(missing(ground, flows))
}

fn port(wire: &Wire<'_>) -> String {
    let speed = wire.port.mbps.map(|mbps| format!(", {mbps} Mb/s")).unwrap_or_default();
    format!("{}{speed}", wire.port.name)
}

/// Measured, without a known network.
fn here(ground: &Ground<'_>, flows: &[Flow<'_>]) -> Answer {
    let all: Vec<&Flow<'_>> = flows.iter().collect();
    let mut local = locally(flows);
    let says = if local.is_empty() {
        format!("The drives limit, as far as is known: {}.", told(&all))
    } else {
        format!("{} {}.", local.remove(0), capital(&told(&all)))
    };
    Answer::new(Topic::Limits, sure(ground, flows), says)
        .because(local)
        .because([wireless(ground.inventory)])
        .rests_on(runs(flows))
        .decide(missing(ground, flows))
}

fn wireless(inventory: &Inventory) -> String {
    match inventory.ports.iter().find(|p| p.connected == Some(true)) {
        Some(port) => format!("The speed of {} is not known, and so neither is what clients get.", port.name),
        None => "No network port is connected: what clients get is not known.".to_owned(),
    }
}

/// Limits within the machine, where drives ran at once.
fn locally(flows: &[Flow<'_>]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for f in flows.iter().filter(|f| f.number.from.at_once) {
        let Some(alone) = f.number.from.sum_alone() else { continue };
        let share = f.speed() / alone.value;
        let what = match f.bound() {
            _ if share >= REACHED => continue,
            None => {
                format!(
                    "At once they {} {} of their sum alone: no bus limits them much.",
                    f.verb(),
                    percent(share)
                )
            }
            Some((Limiter::Processor, _)) => {
                format!("The processor limits them at once: {} of their sum alone.", percent(share))
            }
            Some((_, name)) => format!(
                "{} limits them at once: {} of the {} that they {} alone.",
                capital(name),
                percent(share),
                rate(alone.value),
                f.verb()
            ),
        };
        sentences.push(what);
    }
    sentences
}

/// What to measure where only single drives were measured.
fn missing(ground: &Ground<'_>, flows: &[Flow<'_>]) -> Option<String> {
    let drives = ground.for_data();
    let known = flows.iter().any(|f| f.number.from.at_once) || drives.len() < 2;
    if known { None } else { commands::together(ground.inventory, &drives) }
}

/// Not measured: the speed of the links.
fn by_inventory(ground: &Ground<'_>, wire: Option<&Wire<'_>>) -> Answer {
    let mut drives = ground.for_data();
    if drives.is_empty() {
        drives = ground.drives();
    }
    let who = the_drives(drives.len());
    let bus = narrowest(ground, &drives);
    let shares =
        if drives.len() > 1 { format!("that {who} share") } else { format!("of {}", ground.names(&drives)) };
    let says = match (wire, bus) {
        (Some(wire), Some((bus, passes))) if passes < wire.passes => {
            format!("At most {}, the limit of {} {shares}.", rate(passes), called(bus))
        }
        (Some(wire), _) => {
            let kind = wire.kind();
            format!("Clients get at most {}, the limit of {kind}.", rate(wire.passes))
        }
        (None, Some((bus, passes))) => {
            format!("At most {}, the limit of {} {shares}.", rate(passes), called(bus))
        }
        (None, None) => {
            let says =
                format!("Not known: no limit of the links to {who} is known, and nothing is measured.");
            return Answer::new(Topic::Limits, Sure::Unknown, says)
                .decide(commands::together(ground.inventory, &drives));
        }
    };
    let verb = if drives.len() > 1 { "reach" } else { "reaches" };
    let twice = wire.and_then(|w| Some((w.kind(), w.shared_with(ground, &drives)?)));
    let twice = twice.and_then(|(kind, bus)| {
        let half = rate(usable(bus)? / 2.0);
        Some(format!("{kind} is on {} with the drives, so clients get {half} of it.", called(bus)))
    });
    Answer::new(Topic::Limits, Sure::Inferred, says)
        .because(twice)
        .because([format!("Whether {who} {verb} that much is not measured.")])
        .decide(commands::together(ground.inventory, &drives))
}
