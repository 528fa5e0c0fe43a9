//! Findings of many clients on one share: each of them, all together, and what was full meanwhile.

use std::collections::BTreeMap;

use super::{
    super::common::Series,
    limit::Runs,
    many_clients::{Busy, ClientLoad, ClientResult, ManyClients},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Column, Findings, LoadKey, Metric, On, Quantity, Scope, Table},
    plan::Plan,
    record::Run,
    units::{Direction, RemoteDir, count, decimal_bytes, distinct, listed, percent, rate},
};

/// Share of the time, or of a link's speed, from which on a part is full.
const FULL: f64 = 0.9;

pub(super) fn results(findings: &mut Findings, run: &Run<Series>, plan: &Plan) {
    for (step, act) in plan.acts::<ManyClients>() {
        let result = |target| run.acts.get(&(step.id, target))?.get::<ClientResult>();
        let name = |at: &RemoteDir| {
            let same = act.clients.iter().filter(|other| other.host() == at.host()).count();
            if same == 1 { at.host().to_owned() } else { at.to_string() }
        };
        let names: Vec<String> = act.clients.iter().map(name).collect();
        let clients = step.targets().zip(&names);
        let clients = clients.filter_map(|(target, name)| Some(Client { name, result: result(target)? }));
        let all = All { act, clients: clients.collect() };
        if all.clients.iter().all(|client| client.result.loads.is_empty()) {
            continue;
        }
        findings.tables.push(all.table());
        for writes in [true, false] {
            findings.verdicts.extend(all.verdict(writes));
            findings.estimates.extend(all.metrics(writes));
        }
        findings.context.extend(distinct(all.clients.iter().map(|client| client.result.about.clone())));
    }
}

struct All<'a> {
    act: &'a ManyClients,
    clients: Vec<Client<'a>>,
}

struct Client<'a> {
    name: &'a str,
    result: &'a ClientResult,
}

fn typical(runs: &Runs) -> Option<Estimate> {
    repeat::typical(&runs.values().copied().collect::<Vec<_>>())
}

impl Client<'_> {
    /// None of a client that failed.
    fn loads(&self, writes: bool) -> impl Iterator<Item = &ClientLoad> + Clone {
        let loads = self.result.loads.iter().filter(|_| self.result.failed.is_none());
        loads.filter(move |load| load.writes == writes)
    }

    fn speeds(&self, writes: bool) -> Runs {
        self.loads(writes).map(|load| (load.round, load.speed())).collect()
    }
}

impl All<'_> {
    fn loads(&self, writes: bool) -> impl Iterator<Item = &ClientLoad> + Clone {
        self.clients.iter().flat_map(move |client| client.loads(writes))
    }

    /// Bytes of all clients in the time of the slowest one; none if one of them failed.
    fn sum(&self, writes: bool) -> Runs {
        let mut rounds: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
        for load in self.loads(writes) {
            let (bytes, seconds) = rounds.entry(load.round).or_default();
            (*bytes, *seconds) = (*bytes + load.bytes, seconds.max(load.seconds));
        }
        rounds.retain(|_, (bytes, _)| *bytes == self.act.bytes * self.act.clients.len() as u64);
        rounds.into_iter().map(|(round, (bytes, seconds))| (round, bytes as f64 / seconds)).collect()
    }

    /// The parts that were full.
    fn full(&self, writes: bool) -> Vec<String> {
        let own = |client: &Client<'_>| full(client.loads(writes).map(|load| &load.client), client.name);
        let each = self.clients.iter().map(own);
        let server = full(self.loads(writes).map(|load| &load.server), "the server");
        each.flatten().chain(server).collect()
    }

    /// `write 67.1 MB by each of 3 clients`.
    fn name(&self, writes: bool) -> String {
        let (verb, bytes) = (if writes { "write" } else { "read" }, decimal_bytes(self.act.bytes));
        format!("{verb} {bytes} by each of {}", count(self.act.clients.len() as u64, "client"))
    }

    fn verdict(&self, writes: bool) -> Option<String> {
        self.loads(writes).next()?;
        let failed = self.clients.iter().filter(|client| client.result.failed.is_some());
        let failed: Vec<&str> = failed.map(|client| client.name).collect();
        let sum = typical(&self.sum(writes)).map(|sum| format!("{} in sum", sum.text(rate)));
        let sum = sum.unwrap_or_else(|| format!("no sum, because {} failed", listed(&failed)));
        let limit = match &self.full(writes)[..] {
            [] => "What limits is undecided: nothing that was watched was full".to_owned(),
            full => format!("Full meanwhile: {}", listed(full)),
        };
        Some(format!("{}: {sum}. {limit}.", self.name(writes)))
    }

    fn table(&self) -> Table {
        let row = |name: &str, runs: [Runs; 2]| {
            let speeds = runs.map(|runs| typical(&runs).map_or("-".to_owned(), |speed| speed.text(rate)));
            [name.to_owned()].into_iter().chain(speeds).collect()
        };
        let both = [true, false];
        let each = self.clients.iter().map(|c| row(c.name, both.map(|writes| c.speeds(writes))));
        let rows = each.chain([row("sum", both.map(|writes| self.sum(writes)))]).collect();
        let columns = Column::all([("", false), ("write", true), ("read", true)]);
        Table { title: String::new(), columns, rows }
    }

    fn metrics(&self, writes: bool) -> Vec<Metric> {
        let load = LoadKey {
            name: self.name(writes),
            direction: Some(if writes { Direction::Write } else { Direction::Read }),
            block: Some(self.act.bytes),
            on: Some(On::Directory),
            engine: "fio on clients".to_owned(),
            cold: !writes,
            ..LoadKey::default()
        };
        let each = self.clients.iter().map(|client| (client.name, client.speeds(writes), Scope::Together));
        let speeds = each.chain([("all", self.sum(writes), Scope::Sum)]).filter_map(|(name, runs, scope)| {
            Some(Metric::new(name, Quantity::Throughput, typical(&runs)?).of(&load).at(scope))
        });
        speeds.collect()
    }
}

/// The parts of a machine that were full on average over these loads, such as `the link eth0 of a (94 %)`.
fn full<'a>(loads: impl Iterator<Item = &'a Busy> + Clone, name: &str) -> Vec<String> {
    let all = loads.clone().count() as f64;
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    loads.flatten().for_each(|(part, share)| *sums.entry(part).or_default() += share);
    let full = sums.into_iter().filter(|(_, sum)| *sum >= FULL * all);
    full.map(|(part, sum)| format!("{part} of {name} ({})", percent(sum / all))).collect()
}
