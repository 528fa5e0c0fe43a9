//! What limits: the network, a bus, or the drives.

use super::{
    Answer, Sure, Topic, commands,
    context::{Context, Number},
    evidence::{Evidence, Wanted},
    network_link::{NetworkLink, cap},
    sentences::{speed, the_drives},
    shared,
};
use crate::{
    findings::{Limiter, Metric, Quantity},
    inventory::Drive,
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

const NO_NETWORK: &str = "The network is not known: no port with a known speed is connected.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The drives are faster than the limit.
    Network,
    /// The drives are slower.
    Drives,
    /// About equal, or the intervals do not decide.
    Open,
}

impl<'a> Flow<'a> {
    /// The flow of several drives at once if that was measured here, otherwise of an array, otherwise of the fastest drive.
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
    pub fn held(&self, passes: f64) -> Held {
        let e = self.number.estimate;
        let (low, high) =
            if e.high.is_finite() { (e.low, e.high) } else { (e.value / APART, e.value * APART) };
        match () {
            () if low > passes => Held::Network,
            () if high < passes => Held::Drives,
            () => Held::Open,
        }
    }

    /// The limit besides the drives, and its name, where a run at once found one.
    pub fn bound(&self) -> Option<(Limiter, &'a str)> {
        let limit = |m: &'a Metric| match m.quantity {
            Quantity::Ceiling(by) if by != Limiter::Drives => Some((by, m.target.as_str())),
            _ => None,
        };
        self.number.from.numbers.iter().find_map(limit)
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
pub(super) fn described<'a>(flows: impl IntoIterator<Item = &'a Flow<'a>>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut last = None;
    for f in flows {
        let s = if f.number.from.at_once { "" } else { "s" };
        let speed = format!("{}{s} {}", f.verb(), speed(f.number.estimate));
        match parts.last_mut().filter(|_| last == Some(&f.who)) {
            Some(read) => *read += &format!(" and {speed}"),
            None => parts.push(format!("{} {speed}", f.who)),
        }
        last = Some(&f.who);
    }
    parts.join(", ")
}

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let flows = flows(context);
    let clients = shared::clients(context);
    let link = NetworkLink::of(context);
    let mut answer = match (&flows[..], &link) {
        // The way to it was measured as a whole only: what limits it, its run says.
        (flows, None) if clients.as_ref().is_some_and(|clients| clients.is_elsewhere) => {
            let drives = (!flows.is_empty()).then(|| format!("Without a client {}.", described(flows)));
            Answer::new(Topic::Limits, Sure::Measured, "").because(drives).rests_on(runs(flows))
        }
        ([], link) => by_inventory(context, link.as_ref()),
        (flows, Some(link)) => with_network(context, flows, link),
        (flows, None) => without_network(context, flows),
    };
    if link.is_none() && clients.as_ref().is_none_or(|clients| !clients.is_elsewhere) {
        answer.says = format!("{} {NO_NETWORK}", answer.says);
    }
    let Some(clients) = clients else { return vec![answer] };
    let mut answer = answer.rests_on_run(Some(&clients.from.run));
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
fn with_network(context: &Context<'_>, flows: &[Flow<'_>], link: &NetworkLink<'_>) -> Answer {
    let network = &link.called;
    let clause = |held: Held| {
        let those = flows.iter().filter(|f| f.held(link.passes(f.reads)) == held);
        let those: Vec<&str> = those.map(|f| if f.reads { "reads" } else { "writes" }).collect();
        let loads = those.join(" and ");
        (!those.is_empty()).then(|| match held {
            Held::Network => format!("{network} limits {loads} of clients"),
            Held::Drives => format!("the drives limit {loads}"),
            Held::Open => format!("whether {network} limits {loads} is not clear"),
        })
    };
    let clauses = [Held::Network, Held::Drives, Held::Open].into_iter().filter_map(clause);
    let clauses = capital(&clauses.collect::<Vec<_>>().join(", "));
    let says = format!("{clauses}: {network} carries {}, {}.", link.text, described(flows));
    let speed = link.port.mbps.map(|mbps| format!(", {mbps} Mb/s")).unwrap_or_default();
    let source = format!("Source for {network} ({}{speed}): {}.", link.port.name, link.source);
    let drives: Vec<&Drive> = flows.iter().flat_map(|f| f.drives.clone()).collect();
    let twice = link.crosses_twice(context, &drives);
    Answer::new(Topic::Limits, sure(context, flows), says)
        .because(locally(flows).into_iter().chain(twice).chain([source]))
        .rests_on(runs(flows))
        .rests_on_run(link.run())
        .decide(missing(context, flows))
}

/// Measured, without a known network.
fn without_network(context: &Context<'_>, flows: &[Flow<'_>]) -> Answer {
    let speeds = format!("{}.", capital(&described(flows)));
    let says = locally(flows).into_iter().chain([speeds]).collect::<Vec<_>>().join(" ");
    Answer::new(Topic::Limits, sure(context, flows), says)
        .rests_on(runs(flows))
        .decide(missing(context, flows))
}

/// Limits within the machine, where drives ran at once.
fn locally(flows: &[Flow<'_>]) -> Vec<String> {
    let sentence = |f: &Flow<'_>| {
        let alone = f.number.from.sum_alone().filter(|_| f.number.from.at_once)?;
        let (verb, part, sum) = (f.verb(), percent(f.speed() / alone.value), rate(alone.value));
        let limit = match f.bound() {
            None => return Some(format!("At once they {verb} {part} of the {sum} that they {verb} alone.")),
            Some((Limiter::Processor, _)) => "The processor".to_owned(),
            Some((_, name)) => capital(name),
        };
        Some(format!("{limit} limits them at once: {part} of the {sum} that they {verb} alone."))
    };
    flows.iter().filter_map(sentence).collect()
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
    let decide = commands::together(context.inventory, &drives);
    let network = link.map(|link| (link.most(), link.called.clone()));
    let Some((most, what)) = cap(context, &drives, network) else {
        let says = format!("Not known: the link limits of {who} are unknown, and nothing is measured.");
        return Answer::new(Topic::Limits, Sure::Unknown, says).decide(decide);
    };
    let says = format!("At most {}, the limit of {what}.", rate(most));
    Answer::new(Topic::Limits, Sure::Inferred, says)
        .because(link.and_then(|link| link.crosses_twice(context, &drives)))
        .because([format!("The speed of {who} is not measured.")])
        .rests_on_run(link.and_then(NetworkLink::run))
        .decide(decide)
}
