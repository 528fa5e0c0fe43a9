//! Which upgrades would help and which would not; this follows from the limits.

use super::{
    Answer, Sure, Topic, commands,
    context::Context,
    evidence::{Evidence, Wanted},
    limits::{Flow, Held, described, flows, sure},
    network_link::{NetworkLink, called, narrowest},
    sentences::times,
    shared,
};
use crate::{
    findings::Metric,
    inventory::{Drive, Speed},
    units::{capital, rate},
};

/// A smaller gain is not worth an upgrade.
const FELT: f64 = 1.1;

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let flows = flows(context);
    let link = NetworkLink::of(context);
    let mut all = vec![faster(context, &flows, link.as_ref())];
    all.extend(link.as_ref().and_then(|link| network(&flows, link)));
    all.extend(slow_bay(context));
    all
}

/// The speed that no drives could exceed here: that of the network, as `link` is called and carries, or of the slowest shared bus.
fn cap(context: &Context<'_>, drives: &[&Drive], link: Option<(Speed, String)>) -> Option<(Speed, String)> {
    let bus = narrowest(context, drives).map(|(bus, passes)| (Speed::exact(passes), called(bus)));
    let slower = |first: (Speed, String), other: (Speed, String)| {
        if other.0.value < first.0.value { other } else { first }
    };
    link.into_iter().chain(bus).reduce(slower)
}

/// Whether a faster drive would help.
fn faster(context: &Context<'_>, flows: &[Flow<'_>], link: Option<&NetworkLink<'_>>) -> Answer {
    let drives = context.for_data_or_all();
    if flows.is_empty() {
        let says = "Not known whether a faster drive would help: large blocks are not measured.";
        return Answer::new(Topic::Money, Sure::Unknown, says)
            .decide(commands::together(context.inventory, &drives));
    }
    let client = shared::clients(context).filter(|clients| clients.is_elsewhere && link.is_none());
    if let Some((clients, drive)) = client.as_ref().and_then(|c| Some((c, c.without_drive.as_ref()?))) {
        let says = format!("With the share in memory, that client put and got {drive}: no drive gains more.");
        return Answer::new(Topic::Money, Sure::Measured, says).rests_on([clients.from]);
    }
    let judged: Vec<Judged<'_>> = flows.iter().filter_map(|f| Judged::of(context, f, link)).collect();
    let runs = flows.iter().map(|f| f.number.from);
    let unseen = link.is_none().then(|| "What clients get through the network is not known.".to_owned());
    if judged.is_empty() {
        let says = "Not known whether a faster drive would help: no network and no other limit was found.";
        let now = format!("{}.", capital(&described(flows)));
        let why = [Some(now), unseen].into_iter().flatten();
        return Answer::new(Topic::Money, Sure::Unknown, says).because(why).rests_on(runs);
    }
    // Without a network nothing is known that asks for more.
    let may = if link.is_some() { "would" } else { "may" };
    let sentence = |j: &Judged<'_>| {
        let (verb, carries) = (j.flow.verb(), format!("{} carries {}", j.what, j.most.text()));
        match j.held {
            Held::Network => format!("A faster drive would not help {verb}s: {carries}."),
            Held::Drives => {
                let gain = times(j.most.value / j.flow.speed());
                format!("A faster drive {may} help {verb}s, up to {gain} as fast: {carries}.")
            }
            Held::Open => format!("Whether a faster drive would help {verb}s is not clear: {carries}."),
        }
    };
    let says: Vec<String> = judged.iter().map(sentence).collect();
    // A gain is a prediction.
    let is_felt = judged.iter().any(|j| j.held == Held::Drives);
    let sure = if is_felt { Sure::Inferred } else { sure(context, flows) };
    Answer::new(Topic::Money, sure, says.join(" "))
        .because(unseen)
        .rests_on(runs)
        .rests_on_run(link.and_then(NetworkLink::run))
}

/// One direction, and its limit besides the drives.
struct Judged<'a> {
    flow: &'a Flow<'a>,
    /// The most that the limit carries.
    most: Speed,
    what: String,
    /// A faster drive would be noticed where the drives limit, by the intervals and by [`FELT`].
    held: Held,
}

impl<'a> Judged<'a> {
    fn of(context: &Context<'_>, flow: &'a Flow<'a>, link: Option<&NetworkLink<'_>>) -> Option<Self> {
        let link = link.map(|link| (link.passes(flow.reads), link.called.clone()));
        let is_narrow = link.as_ref().is_some_and(|(passes, _)| passes.value <= flow.speed());
        let (most, what, held) = match flow.bound() {
            // A limit that was measured here comes before published figures.
            Some((_, name)) if !is_narrow => (Speed::exact(flow.speed()), name.to_owned(), Held::Network),
            _ => {
                let (most, what) = cap(context, &flow.drives, link)?;
                let held = match flow.held(most) {
                    Held::Open if most.low < most.high => Held::Open,
                    Held::Drives | Held::Open if most.value / flow.speed() >= FELT => Held::Drives,
                    _ => Held::Network,
                };
                (most, what, held)
            }
        };
        Some(Self { flow, most, what, held })
    }
}

/// Where the network holds back what the drives move.
fn network(flows: &[Flow<'_>], link: &NetworkLink<'_>) -> Option<Answer> {
    let held: Vec<&Flow<'_>> =
        flows.iter().filter(|f| f.held(link.passes(f.reads)) == Held::Network).collect();
    let fastest = held.iter().max_by(|a, b| a.speed().total_cmp(&b.speed()))?;
    let passes = link.passes(fastest.reads).text();
    let says = format!(
        "A faster network would help clients: the drives {} {}, {} carries {passes}.",
        fastest.verb(),
        rate(fastest.speed()),
        link.called
    );
    let runs = held.iter().map(|f| f.number.from);
    Some(Answer::new(Topic::Money, Sure::Inferred, says).rests_on(runs).rests_on_run(link.run()))
}

/// A bay in which all drives are slower, by the run of `bays` whose load fits best, and of those the newest.
fn slow_bay(context: &Context<'_>) -> Option<Answer> {
    let fits = |e: &Evidence| e.has_load(Wanted::READ) || e.has_load(Wanted::WRITE);
    let runs = context.all().filter(|e| e.of_bays && !context.other_board(e));
    let run = runs.max_by_key(|e| (fits(e), &e.at))?;
    let slow = |m: &&Metric| m.estimate.high < 1.0 && m.estimate.value * FELT <= 1.0;
    let slow = run.numbers.iter().filter(slow);
    let bay = slow.min_by(|a, b| a.estimate.value.total_cmp(&b.estimate.value))?;
    let says = format!(
        "No cost: leave {} empty, where every drive is slower: {:.2} times as fast as in other bays.",
        bay.target, bay.estimate.value
    );
    let why = "Or try another cable or hub there, or use it for the least important drive.".to_owned();
    Some(Answer::new(Topic::Money, Sure::Measured, says).because([why]).rests_on([run]))
}
