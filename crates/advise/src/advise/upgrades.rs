//! Which upgrades would help and which would not; this follows from the limits.

use super::{
    Answer, Sure, Topic, commands,
    context::Context,
    evidence::{Evidence, Wanted},
    limits::{Flow, Held, described, flows, sure},
    network_link::{NetworkLink, cap, usable},
    sentences::times,
    shared,
};
use crate::{
    findings::Metric,
    inventory::{BusKind, Ceiling, Code},
    units::{capital, rate},
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

/// Whether a faster drive would help.
fn faster(context: &Context<'_>, flows: &[Flow<'_>], link: Option<&NetworkLink<'_>>) -> Answer {
    if flows.is_empty() {
        let says = "Not known whether a faster drive would help: large blocks are not measured.";
        let drives = context.for_data_or_all();
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
    let may = if link.is_some() { "would help" } else { "may help" };
    let mut said: Vec<(&str, String, String)> = Vec::new();
    for j in &judged {
        let (helps, gain) = match j.gains {
            true => (may, format!(", up to {} as fast", times(j.most / j.flow.speed()))),
            false => ("would not help", String::new()),
        };
        let limit = format!("{gain}: {} carries {}.", j.what, rate(j.most));
        match said.iter_mut().find(|(other, _, same)| *other == helps && *same == limit) {
            Some((_, loads, _)) => *loads += &format!(" and {}s", j.flow.verb()),
            None => said.push((helps, format!("{}s", j.flow.verb()), limit)),
        }
    }
    let sentence =
        |(helps, loads, limit): &(&str, String, String)| format!("A faster drive {helps} {loads}{limit}");
    let says: Vec<String> = said.iter().map(sentence).collect();
    // A gain is a prediction.
    let sure = if judged.iter().any(|j| j.gains) { Sure::Inferred } else { sure(context, flows) };
    Answer::new(Topic::Money, sure, says.join(" "))
        .because(unseen)
        .rests_on(runs)
        .rests_on_run(link.and_then(NetworkLink::run))
}

/// One direction, and its limit besides the drives.
struct Judged<'a> {
    flow: &'a Flow<'a>,
    /// The most that the limit carries.
    most: f64,
    what: String,
    /// A faster drive would be noticed.
    gains: bool,
}

impl<'a> Judged<'a> {
    fn of(context: &Context<'_>, flow: &'a Flow<'a>, link: Option<&NetworkLink<'_>>) -> Option<Self> {
        let link = link.map(|link| (link.passes(flow.reads), link.called.clone()));
        let is_narrow = link.as_ref().is_some_and(|(passes, _)| *passes <= flow.speed());
        // A limit that was measured here comes before published figures.
        if let Some((_, name)) = flow.bound().filter(|_| !is_narrow) {
            return Some(Self { flow, most: flow.speed(), what: name.to_owned(), gains: false });
        }
        let (most, what) = cap(context, &flow.drives, link)?;
        let gains = flow.held(most) != Held::Network && most / flow.speed() >= FELT;
        Some(Self { flow, most, what, gains })
    }
}

/// Whether a faster network would help.
fn network(context: &Context<'_>, flows: &[Flow<'_>], link: &NetworkLink<'_>) -> Option<Answer> {
    let held: Vec<&Flow<'_>> =
        flows.iter().filter(|f| f.held(link.passes(f.reads)) == Held::Network).collect();
    let fastest = held.iter().max_by(|a, b| a.speed().total_cmp(&b.speed()))?;
    let (best, passes) = (fastest.speed(), link.passes(fastest.reads));
    let runs: Vec<_> = held.iter().map(|f| f.number.from).collect();
    // Where the way to a client carries less than the port, another port would carry no more of it.
    let is_narrow = |port: &Ceiling| link.measured.is_some() && passes * FELT < port.usable();
    if link.port.mbps != Some(100.0) || link.port.ceiling.as_ref().is_some_and(is_narrow) {
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
    let helps = if most > passes * FELT { "help a little" } else { "not help" };
    let says = format!(
        "A gigabit adapter on USB would {helps}: clients get at most {} instead of {}, since every byte then crosses the USB2 bus twice.",
        rate(most),
        rate(passes)
    );
    Some(Answer::new(Topic::Money, Sure::Inferred, says).rests_on(runs))
}

/// Drives that another port would make faster.
fn ports(context: &Context<'_>) -> Vec<Answer> {
    let slow = context.inventory.findings().into_iter().filter(|f| f.code == Code::Usb3OnUsb2);
    let says = slow.map(|f| format!("No cost: {} {}", f.what, f.advice));
    says.map(|says| Answer::new(Topic::Money, Sure::Inferred, says)).collect()
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
