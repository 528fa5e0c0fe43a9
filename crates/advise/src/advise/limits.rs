//! What limits: the network, a bus, or the drives.

use std::cmp::Ordering;

use super::{
    Answer, Sure, Topic, commands,
    context::{Context, Number},
    evidence::{Evidence, Wanted},
    network_link::{NetworkLink, called, narrowest, usable},
    sentences::{speed, the_drives},
    shared,
};
use crate::{
    findings::{Limiter, Metric, Quantity},
    inventory::{Drive, Inventory, Speed},
    units::{capital, distinct, percent, rate},
};

/// The most that the drives move in one direction.
pub(super) struct Flow<'a> {
    pub number: Number<'a>,
    pub reads: bool,
    /// `both drives together`, `Cruzer Blade`, `md0`.
    pub who: String,
    pub drives: Vec<&'a Drive>,
}

/// Without an interval two speeds differ from this ratio on.
const APART: f64 = 1.1;
/// From this share of the sum alone on, nothing shared limits the drives, as in `together`.
const REACHED: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The drives are faster than the limit.
    Network,
    /// The drives are slower.
    Drives,
    /// They differ by less than 10 %, or the interval of the drives does not decide.
    Even,
    /// The interval of what the network carried does not decide.
    Open,
}

impl<'a> Flow<'a> {
    /// Of several drives at once where that was measured here, else of an array, else of the fastest drive.
    pub fn of(context: &Context<'a>, reads: bool) -> Option<Self> {
        let wanted = if reads { Wanted::READ } else { Wanted::WRITE };
        let array = || {
            let each = context.arrays().into_iter();
            let each = each.filter_map(|(layer, _, drives)| {
                Some(Self {
                    number: context.of_layer(layer, wanted)?,
                    reads,
                    who: layer.name.clone(),
                    drives,
                })
            });
            each.max_by(|a, b| a.speed().total_cmp(&b.speed()))
        };
        let alone = || {
            let drives = context.for_data_or_all();
            let speeds = context.speeds(&drives, wanted).into_iter().zip(drives);
            let each = speeds.filter_map(|(number, drive)| {
                Some(Self { number: number?, reads, who: context.name(drive), drives: vec![drive] })
            });
            each.max_by(|a, b| a.speed().total_cmp(&b.speed()))
        };
        let at_once = context.at_once(wanted).map(|number| {
            let drives = distinct(number.from.drives.iter().filter_map(|id| context.drive(id)));
            Self { number, reads, who: format!("{} together", the_drives(drives.len())), drives }
        });
        at_once.or_else(array).or_else(alone)
    }

    /// Bytes per second.
    pub fn speed(&self) -> f64 {
        self.number.estimate.value
    }

    /// Whether the drives or the limit is slower; by the intervals where there are some.
    pub fn held(&self, passes: Speed) -> Held {
        let e = self.number.estimate;
        let (low, high) =
            if e.high.is_finite() { (e.low, e.high) } else { (e.value / APART, e.value * APART) };
        // What the network carried is about as much only if its whole interval is.
        let is_near = high.max(passes.high) / low.min(passes.low) <= APART;
        match (Speed { value: e.value, low, high }).beside(passes) {
            Some(Ordering::Greater) => Held::Network,
            Some(_) => Held::Drives,
            None if passes.low < passes.high && !is_near => Held::Open,
            None => Held::Even,
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
    pub fn sure(&self, context: &Context<'_>) -> Sure {
        let e = self.number.from;
        if e.at_once && context.moved(e) { Sure::Inferred } else { Sure::Measured }
    }
}

pub(super) fn flows<'a>(context: &Context<'a>) -> Vec<Flow<'a>> {
    [true, false].into_iter().filter_map(|reads| Flow::of(context, reads)).collect()
}

/// `both drives together read 25.7 MB/s and write 10.1 MB/s`.
pub(super) fn described(flows: &[&Flow<'_>]) -> String {
    let each = |f: &Flow<'_>| {
        let s = if f.number.from.at_once { "" } else { "s" };
        format!("{}{s} {}", f.verb(), speed(f.number.estimate))
    };
    match flows {
        [read, write] if read.who == write.who => format!("{} {} and {}", read.who, each(read), each(write)),
        several => several.iter().map(|f| format!("{} {}", f.who, each(f))).collect::<Vec<_>>().join(", "),
    }
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    if context.drives().is_empty() {
        return vec![Answer::new(Topic::Limits, Sure::Unknown, "No drives found.")];
    }
    let flows = flows(context);
    let clients = shared::clients(context);
    let answer = match (&flows[..], NetworkLink::of(context)) {
        // The way to it was measured as a whole only: what limits it, its run says.
        (flows, None) if clients.as_ref().is_some_and(|clients| clients.is_elsewhere) => {
            let all: Vec<&Flow<'_>> = flows.iter().collect();
            let drives = (!all.is_empty()).then(|| format!("Without a client {}.", described(&all)));
            Answer::new(Topic::Limits, Sure::Measured, "").because(drives).rests_on(runs(flows))
        }
        ([], link) => by_inventory(context, link.as_ref()),
        (flows, Some(link)) => over(context, flows, &link),
        (flows, None) => here(context, flows).because([wireless(context.inventory)]),
    };
    let Some(clients) = clients else { return vec![answer] };
    let mut answer = answer.because(clients.because).rests_on_run(Some(&clients.from.run));
    answer.says = format!("{} {}", answer.says, clients.said).trim_start().to_owned();
    vec![answer]
}

fn runs<'a>(flows: &'a [Flow<'a>]) -> impl Iterator<Item = &'a Evidence> {
    flows.iter().map(|f| f.number.from)
}

/// The worst of several: measured only if all are.
pub(super) fn sure(context: &Context<'_>, flows: &[Flow<'_>]) -> Sure {
    let measured = flows.iter().all(|f| f.sure(context) == Sure::Measured);
    if measured { Sure::Measured } else { Sure::Inferred }
}

/// Measured, with a network.
fn over(context: &Context<'_>, flows: &[Flow<'_>], link: &NetworkLink<'_>) -> Answer {
    let (network, kind) = (link.called(), link.kind());
    let all: Vec<&Flow<'_>> = flows.iter().collect();
    let clause = |held: Held| {
        let those = flows.iter().filter(|f| f.held(link.passes(f.reads)) == held);
        let those: Vec<&str> = those.map(|f| if f.reads { "reads" } else { "writes" }).collect();
        let loads = those.join(" and ");
        (!those.is_empty()).then(|| match held {
            Held::Network => format!("{network} limits {loads} of clients"),
            Held::Drives => format!("the drives limit {loads}"),
            Held::Even => format!("both limit {loads} about equally"),
            Held::Open => format!("whether {network} limits {loads} can't be told"),
        })
    };
    let clauses = [Held::Network, Held::Drives, Held::Even, Held::Open].into_iter().filter_map(clause);
    let clauses = clauses.collect::<Vec<_>>().join(", ");
    let limits = flows.iter().any(|f| f.held(link.passes(f.reads)) == Held::Network);
    let carrier = if limits { "it" } else { &network };
    let says = format!("{}: {carrier} carries {}, {}.", capital(&clauses), link.text(), described(&all));
    let speed = link.port.mbps.map(|mbps| format!(", {mbps} Mb/s")).unwrap_or_default();
    let source = format!("Source for {network} ({}{speed}): {}.", link.port.name, link.source());
    let shared = link.shared_with(context, &flows.iter().flat_map(|f| f.drives.clone()).collect::<Vec<_>>());
    let twice = shared.and_then(|bus| {
        let half = rate(usable(bus)? / 2.0);
        Some(format!(
            "{kind} is on {} with the drives: client data crosses it twice, {half} at most.",
            called(bus)
        ))
    });
    Answer::new(Topic::Limits, sure(context, flows), says)
        .because(locally(flows).into_iter().chain(twice).chain([source]))
        .rests_on(runs(flows))
        .rests_on_run(link.run())
        .decide(missing(context, flows))
}

/// Measured, without a known network.
fn here(context: &Context<'_>, flows: &[Flow<'_>]) -> Answer {
    let all: Vec<&Flow<'_>> = flows.iter().collect();
    let mut local = locally(flows);
    let says = if local.is_empty() {
        format!("{}. No other limit is known.", capital(&described(&all)))
    } else {
        format!("{} {}.", local.remove(0), capital(&described(&all)))
    };
    Answer::new(Topic::Limits, sure(context, flows), says)
        .because(local)
        .rests_on(runs(flows))
        .decide(missing(context, flows))
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
        if share >= REACHED {
            continue;
        }
        let (verb, part) = (f.verb(), percent(share));
        sentences.push(match f.bound() {
            None => format!("At once they {verb} {part} of their sum alone: no bus limits them much."),
            Some((Limiter::Processor, _)) => {
                format!("The processor limits them at once: {part} of their sum alone.")
            }
            Some((_, name)) => {
                let (bus, sum) = (capital(name), rate(alone.value));
                format!("{bus} limits them at once: {part} of the {sum} that they {verb} alone.")
            }
        });
    }
    sentences
}

/// What to measure where only single drives were measured.
fn missing(context: &Context<'_>, flows: &[Flow<'_>]) -> Option<String> {
    let drives = context.for_data();
    let known = flows.iter().any(|f| f.number.from.at_once) || drives.len() < 2;
    if known { None } else { commands::together(context.inventory, &drives) }
}

/// Not measured: the speed of the links.
fn by_inventory(context: &Context<'_>, link: Option<&NetworkLink<'_>>) -> Answer {
    let drives = context.for_data_or_all();
    let who = the_drives(drives.len());
    let bus = narrowest(context, &drives);
    let shares =
        if drives.len() > 1 { format!("that {who} share") } else { format!("of {}", context.names(&drives)) };
    let says = match (link, bus) {
        (link, Some((bus, passes))) if link.is_none_or(|link| passes < link.most()) => {
            format!("At most {}, the limit of {} {shares}.", rate(passes), called(bus))
        }
        (Some(link), _) if link.measured().is_some() => {
            format!("{} carried {} ({}).", capital(&link.called()), link.text(), link.source())
        }
        (Some(link), _) => {
            format!("Clients get at most {}, the limit of {}.", rate(link.most()), link.called())
        }
        (None, _) => {
            let says =
                format!("Not known: no limit of the links to {who} is known, and nothing is measured.");
            return Answer::new(Topic::Limits, Sure::Unknown, says)
                .decide(commands::together(context.inventory, &drives));
        }
    };
    let verb = if drives.len() > 1 { "reach" } else { "reaches" };
    let twice = link.and_then(|w| Some((w.kind(), w.shared_with(context, &drives)?)));
    let twice = twice.and_then(|(kind, bus)| {
        let half = rate(usable(bus)? / 2.0);
        Some(format!("{kind} is on {} with the drives, so clients get {half} of it.", called(bus)))
    });
    Answer::new(Topic::Limits, Sure::Inferred, says)
        .because(twice)
        .because([format!("Whether {who} {verb} that much is not measured.")])
        .rests_on_run(link.and_then(NetworkLink::run))
        .decide(commands::together(context.inventory, &drives))
}
