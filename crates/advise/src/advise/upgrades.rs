//! Which upgrades would help and which would not; this follows from the limits.

use super::{
    Answer, Sure, Topic, commands,
    context::Context,
    evidence::{Evidence, Wanted},
    limits::{Flow, Held, described, flows, sure},
    network_link::{NetworkLink, called, narrowest, usable},
    sentences::times,
    shared,
};
use crate::{
    findings::Metric,
    inventory::{BusKind, Ceiling, Code, Drive, Speed},
    units::{capital, distinct, rate},
};

/// A smaller gain is not worth an upgrade.
const FELT: f64 = 1.1;

pub(super) fn answers(context: &Context<'_>) -> Vec<Answer> {
    let flows = flows(context);
    let link = NetworkLink::of(context);
    let mut all = vec![faster(context, &flows, link.as_ref())];
    all.extend(link.as_ref().and_then(|link| network(context, &flows, link)));
    all.extend(ports(context));
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
        let link = link.map(|link| (Speed::exact(link.most()), link.called.clone()));
        let more = cap(context, &drives, link).map(|(most, what)| {
            format!("More than {} would not help: {what} carries no more.", rate(most.value))
        });
        let says = "Not known whether a faster drive would help: large blocks are not measured.";
        return Answer::new(Topic::Money, Sure::Unknown, says)
            .because(more)
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
    let those = |gain: Gain| judged.iter().filter(|j| j.gain == gain).collect::<Vec<_>>();
    let verbs = |those: &[&Judged<'_>]| {
        those.iter().map(|j| format!("{}s", j.flow.verb())).collect::<Vec<_>>().join(" and ")
    };
    let passes = |those: &[&Judged<'_>]| distinct(those.iter().map(|j| j.passes())).join("; ");
    let (felt, nothing, open) = (those(Gain::Felt), those(Gain::Nothing), those(Gain::Open));
    let mut says: Vec<String> = Vec::new();
    if !nothing.is_empty() {
        says.push(format!("A faster drive would not help {}: {}.", verbs(&nothing), passes(&nothing)));
    }
    if !felt.is_empty() {
        let subject = if says.is_empty() { "A faster drive" } else { "It" };
        let gains = felt.iter().map(|j| format!("{}s, {}", j.flow.verb(), j.gain_words()));
        says.push(format!("{subject} {may} help {}.", gains.collect::<Vec<_>>().join(", and ")));
    }
    if !open.is_empty() {
        let (open, carries) = (verbs(&open), passes(&open));
        says.push(format!("Whether a faster drive would help {open} is not clear: {carries}."));
    }
    let held = described(nothing.iter().map(|j| j.flow));
    let held = (!held.is_empty()).then(|| format!("{}.", capital(&held)));
    // A gain is a prediction.
    let sure = if felt.is_empty() { sure(context, flows) } else { Sure::Inferred };
    Answer::new(Topic::Money, sure, says.join(" "))
        .because(held.into_iter().chain(unseen))
        .rests_on(runs)
        .rests_on_run(link.and_then(NetworkLink::run))
}

/// Whether a faster drive would be noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gain {
    Felt,
    Nothing,
    /// About equal, or the intervals do not decide.
    Open,
}

/// One direction, and its limit besides the drives.
struct Judged<'a> {
    flow: &'a Flow<'a>,
    /// The most that the limit carries.
    most: Speed,
    what: String,
    gain: Gain,
}

impl<'a> Judged<'a> {
    fn of(context: &Context<'_>, flow: &'a Flow<'a>, link: Option<&NetworkLink<'_>>) -> Option<Self> {
        let link = link.map(|link| (link.passes(flow.reads), link.called.clone()));
        let is_narrow = link.as_ref().is_some_and(|(passes, _)| passes.value <= flow.speed());
        let (most, what, gain) = match flow.bound() {
            // A limit that was measured here comes before published figures.
            Some((_, name)) if !is_narrow => (Speed::exact(flow.speed()), name.to_owned(), Gain::Nothing),
            _ => {
                let (most, what) = cap(context, &flow.drives, link)?;
                let gain = match flow.held(most) {
                    Held::Open if most.low < most.high => Gain::Open,
                    Held::Drives | Held::Open if most.value / flow.speed() >= FELT => Gain::Felt,
                    _ => Gain::Nothing,
                };
                (most, what, gain)
            }
        };
        Some(Self { flow, most, what, gain })
    }

    /// `Ethernet carries 11.8 MB/s`.
    fn passes(&self) -> String {
        format!("{} carries {}", self.what, self.most.text())
    }

    /// `up to 1.2 times as fast (11.8 MB/s through Ethernet instead of 10.1 MB/s)`.
    fn gain_words(&self) -> String {
        let now = self.flow.speed();
        format!(
            "up to {} as fast ({} through {} instead of {})",
            times(self.most.value / now),
            rate(self.most.value),
            self.what,
            rate(now)
        )
    }
}

/// Whether a faster network would help.
fn network(context: &Context<'_>, flows: &[Flow<'_>], link: &NetworkLink<'_>) -> Option<Answer> {
    let held: Vec<&Flow<'_>> =
        flows.iter().filter(|f| f.held(link.passes(f.reads)) == Held::Network).collect();
    let fastest = held.iter().max_by(|a, b| a.speed().total_cmp(&b.speed()))?;
    let (best, passes) = (fastest.speed(), link.passes(fastest.reads));
    let runs: Vec<_> = held.iter().map(|f| f.number.from).collect();
    let typical = link.port.ceiling.as_ref().map(Ceiling::usable);
    if let Some((carried, typical)) = link.measured.zip(typical) {
        // Another port would carry no more of it.
        if passes.high * FELT < typical {
            let says = format!(
                "Look at the rest of the way to {}, not at {}: that port carries about {}, and the way {}.",
                carried.host,
                link.port.name,
                rate(typical),
                passes.text()
            );
            let answer = Answer::new(Topic::Money, Sure::Inferred, says).rests_on(runs);
            return Some(answer.rests_on_run(link.run()));
        }
    }
    if link.port.mbps != Some(100.0) {
        return None;
    }
    if matches!(link.port.driver.as_deref(), Some("bcmgenet" | "macb" | "r8169" | "e1000e" | "igb")) {
        let says = format!(
            "Check the cable first: {} runs at 100 Mb/s and supports 1000 Mb/s; with four good pairs and a gigabit switch clients get up to {}.",
            link.port.name,
            rate(best.min(117.5e6))
        );
        return Some(Answer::new(Topic::Money, Sure::Inferred, says).rests_on(runs));
    }
    let usb2 = context.inventory.buses.iter().find(|b| b.kind == BusKind::Usb && b.mbps == Some(480.0))?;
    let most = best.min(usable(usb2)? / 2.0);
    let helps = if most > passes.value * FELT { "help a little" } else { "not help" };
    let says = format!(
        "A gigabit adapter on USB would {helps}: clients get at most {} instead of {}, since every byte then crosses the USB2 bus twice.",
        rate(most),
        rate(passes.value)
    );
    Some(Answer::new(Topic::Money, Sure::Inferred, says).rests_on(runs))
}

/// Drives that another port would make faster.
fn ports(context: &Context<'_>) -> Option<Answer> {
    let slow = context.inventory.findings().into_iter().filter(|f| f.code == Code::Usb3OnUsb2);
    let find = |name: String| context.inventory.drives.iter().find(|d| d.name == name);
    let slow: Vec<&Drive> = slow.flat_map(|f| f.drives).filter_map(find).collect();
    let says = format!(
        "No cost: put {} in a USB 3 port, with a USB 3 cable; the link now runs at 480 Mb/s.",
        context.names(&slow)
    );
    (!slow.is_empty()).then(|| Answer::new(Topic::Money, Sure::Inferred, says))
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
