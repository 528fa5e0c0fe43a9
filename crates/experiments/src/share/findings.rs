//! Findings of share: what clients get, and what they would get with parts of the route left out.

use std::collections::BTreeMap;

use super::{
    super::common::Series,
    limit::{ALIKE, Limit, Runs, limit, times},
    many_clients::{Busy, ClientLoad, ClientResult, ManyClients},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Column, Findings, LoadKey, Metric, On, Quantity, Scope, Table},
    plan::Plan,
    record::{Run, suspended},
    share::{Part, Route, ShareResult, ShareTest, TransferKind},
    units::{Direction, RemoteDir, capital, count, decimal_bytes, distinct, listed, multiple, percent, rate},
};

/// Share of the time, or of a link's speed, from which on a core or another part is full.
const FULL: f64 = 0.9;
/// A part with a larger share was busy most of the time.
const MOSTLY: f64 = 0.5;

/// The result on one target.
struct Case<'a> {
    given: &'a str,
    act: &'a ShareTest,
    shared: ShareResult,
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let cases: Vec<Case<'_>> = plan
        .acts::<ShareTest>()
        .filter_map(|(step, act)| {
            let at = step.targets().next()?;
            let shared = ShareResult::on_target(run, plan, at);
            let given = &plan.targets[at].given;
            (!shared.loads.is_empty()).then_some(Case { given, act, shared })
        })
        .collect();
    many_clients(findings, run, plan);
    let several = cases.len() > 1;
    for case in &cases {
        let name = |text| if several { format!("{}: {text}", case.given) } else { text };
        for kind in case.act.kinds() {
            findings.verdicts.extend(case.verdict(kind).map(name));
        }
        findings.tables.push(case.table(if several { case.given } else { "" }));
        findings.estimates.extend(case.metrics());
        findings.context.push(case.context());
        findings.flags.extend(case.suspended());
    }
}

impl Case<'_> {
    fn speeds(&self, kind: TransferKind, route: Route) -> Runs {
        self.shared.undisturbed(kind, route).map(|load| (load.run, load.speed())).collect()
    }

    fn speed(&self, kind: TransferKind, route: Route) -> Option<Estimate> {
        typical(&self.speeds(kind, route))
    }

    fn limit(&self, kind: TransferKind) -> Limit {
        let speeds = |route| self.speeds(kind, route);
        let without = self.parts(kind).map(|part| (part, speeds(Route::Without(part)))).collect::<Vec<_>>();
        let all =
            self.act.routes().any(|route| route == Route::WithoutAll).then(|| speeds(Route::WithoutAll));
        limit(&speeds(Route::Whole), &without, all.as_ref())
    }

    fn parts(&self, kind: TransferKind) -> impl Iterator<Item = Part> {
        self.act.parts().filter(move |part| self.act.applies(kind, Route::Without(*part)))
    }

    fn verdict(&self, kind: TransferKind) -> Option<String> {
        let name = self.act.name(kind);
        let whole = self.speed(kind, Route::Whole)?;
        let alone = self.speed(kind, Route::Server);
        let alone = alone.map(|alone| format!(", the drive alone {}", rate(alone.value))).unwrap_or_default();
        let limit = self.limit(kind);
        Some(format!("{name}: {}{alone}. {}.", whole.text(rate), self.limit_words(kind, &limit)))
    }

    fn limit_words(&self, kind: TransferKind, limit: &Limit) -> String {
        match limit {
            Limit::Part(part, gain) => {
                let warning = match part {
                    Part::Sync => "; a power cut then loses files that clients believe to be stored",
                    _ => "",
                };
                let name = capital(self.whole_part(*part));
                let speed = self.speed(kind, Route::Without(*part)).map_or("-".to_owned(), |e| rate(e.value));
                let (times, least) = (multiple(gain.value), multiple(gain.low));
                format!(
                    "{name} limits: {speed} without it, {times} times as much (at least {least}){warning}"
                )
            }
            Limit::Several => "No single part limits".to_owned(),
            Limit::Rest => format!(
                "{}, the programs or the processors limit{}",
                self.act.protocol.name(),
                self.busiest(kind)
            ),
            Limit::Open => {
                let larger = if kind.is_small() { "more --files" } else { "a larger --size" };
                format!("Which part limits most is not clear: use more --runs, or {larger}")
            }
        }
    }

    /// A part whose absence is measured; without the network clients are on this machine.
    fn whole_part(&self, part: Part) -> &'static str {
        match (part, &self.act.client) {
            (Part::Link, Some(_)) => "the network or the client's machine",
            (part, _) => self.act.part(part),
        }
    }

    /// How busy the busiest core was, where that may be what limits.
    fn busiest(&self, kind: TransferKind) -> String {
        let loads = self.shared.undisturbed(kind, Route::Whole);
        let most = loads.filter_map(|load| load.cores.iter().map(|core| core.busy).reduce(f64::max));
        let busy = repeat::middle(&most.collect::<Vec<_>>()).map(|e| e.value).filter(|busy| *busy >= FULL);
        busy.map_or_else(String::new, |busy| format!("; one core was busy for {}", percent(busy)))
    }

    /// A flag for transfers during which drivebench was suspended.
    fn suspended(&self) -> Option<String> {
        let seconds = self.shared.loads.iter().map(|load| load.suspended_ns as f64 / 1e9).sum();
        (seconds > 0.0).then(|| suspended("transfers", seconds).text)
    }

    fn table(&self, title: &str) -> Table {
        let name = |route: Route| match route {
            Route::Whole => "client".to_owned(),
            route => self.act.route_name(route),
        };
        let row = |route: Route| {
            let speeds: Vec<_> = self.act.kinds().map(|kind| self.speed(kind, route)).collect();
            let is_measured = speeds.iter().any(Option::is_some);
            let texts =
                speeds.iter().map(|speed| speed.as_ref().map_or("-".to_owned(), |speed| speed.text(rate)));
            is_measured.then(|| [name(route)].into_iter().chain(texts).collect())
        };
        let columns = self.act.kinds().map(|kind| Column::new(&self.act.name(kind), true));
        Table {
            title: title.to_owned(),
            columns: [Column::new("", false)].into_iter().chain(columns).collect(),
            rows: self.act.routes().filter_map(row).collect(),
        }
    }

    fn metrics(&self) -> Vec<Metric> {
        let scope = |route| match route {
            Route::Whole => Scope::Client,
            Route::Without(Part::Drive) => Scope::WithoutDrive,
            Route::Without(Part::Link) if self.act.client.is_some() => Scope::WithoutNetwork,
            Route::Without(Part::Link) => Scope::WithoutLink,
            Route::Without(Part::Protection) => Scope::WithoutProtection,
            Route::Without(Part::Sync) => Scope::WithoutSync,
            Route::WithoutAll => Scope::WithoutAll,
            Route::Network => Scope::Network,
            Route::Server => Scope::Alone,
        };
        let mut all = Vec::new();
        for kind in self.act.kinds() {
            let direction = if kind.puts() { Direction::Write } else { Direction::Read };
            let (files, bytes) = self.act.set(kind);
            let clients = if kind.has_several_clients() { files } else { 1 };
            let load = LoadKey {
                name: self.act.name(kind),
                direction: Some(direction),
                block: Some(bytes),
                jobs: u32::try_from(clients).ok(),
                on: Some(On::Directory),
                cold: !kind.puts(),
                engine: self.setup(),
                ..LoadKey::default()
            };
            let metric = |route: Route| {
                let speed = self.speed(kind, route)?;
                let mut load = load.clone();
                if route == Route::Network {
                    // iperf3 runs for some seconds, independent of file sizes.
                    load = LoadKey { engine: "iperf3 on another machine".to_owned(), block: None, ..load };
                }
                Some(Metric::new(self.given, Quantity::Throughput, speed).of(&load).at(scope(route)))
            };
            all.extend(self.act.routes().filter_map(metric));
        }
        all
    }

    /// The setup that another run must share to be comparable: `SMB over 100 Mb/s, signing`.
    fn setup(&self) -> String {
        let link = match (&self.act.client, self.act.rate) {
            (Some(_), _) => " on another machine".to_owned(),
            (None, rate) => rate.map(|rate| format!(" over {} Mb/s", rate as f64 / 1e6)).unwrap_or_default(),
        };
        let parts = self.act.parts();
        let parts = parts.filter(|part| !matches!(part, Part::Drive | Part::Sync | Part::Link));
        parts.fold(format!("{}{link}", self.act.protocol.name()), |setup, part| {
            setup + ", " + self.act.part(part)
        })
    }

    fn context(&self) -> String {
        let here = if self.act.client.is_some() { "" } else { "; server and clients on this machine" };
        let most =
            self.act.rate.map_or_else(String::new, |bits| format!(" (at most {})", rate(bits as f64 / 8.0)));
        let no_network = self
            .shared
            .no_network
            .as_ref()
            .map_or_else(String::new, |why| format!("; the network alone was not measured: {why}"));
        format!("{}; {}{most}{here}{no_network}", self.shared.server, self.setup())
    }
}

fn many_clients(findings: &mut Findings, run: &Run<Series>, plan: &Plan) {
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

/// A part of a machine, such as `the link eth0 of a`, and how busy it was: at least, and at most.
type BusyPart = (String, [f64; 2]);

/// The fastest and the slowest client, and how many times as fast the one is.
type Fairness<'a> = (&'a str, &'a str, Estimate);

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
            (*bytes, *seconds) = (bytes.saturating_add(load.bytes), seconds.max(load.seconds));
        }
        rounds.retain(|_, (bytes, _)| *bytes == self.act.bytes * self.act.clients.len() as u64);
        rounds.into_iter().map(|(round, (bytes, seconds))| (round, bytes as f64 / seconds)).collect()
    }

    fn fairness(&self, writes: bool) -> Option<Fairness<'_>> {
        let speeds = |client: &Client<'_>| client.speeds(writes);
        let each = self.clients.iter().filter_map(|client| Some((client, typical(&speeds(client))?.value)));
        let mut each: Vec<_> = each.collect();
        each.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [(slowest, _), .., (fastest, _)] = each[..] else { return None };
        // The two were chosen among all pairs.
        let ratio = times(&speeds(fastest), &speeds(slowest), each.len() * (each.len() - 1) / 2)?;
        Some((fastest.name, slowest.name, ratio))
    }

    fn parts(&self, writes: bool) -> Vec<BusyPart> {
        let own = |client: &Client<'_>| busy(client.loads(writes).map(|load| &load.client), client.name);
        let server = busy(self.loads(writes).map(|load| &load.server), "the server");
        self.clients.iter().flat_map(own).chain(server).collect()
    }

    fn cause(&self, writes: bool) -> Cause {
        let parts = self.parts(writes);
        let from =
            |end: usize| parts.iter().filter(|(_, shares)| shares[end] >= FULL).cloned().collect::<Vec<_>>();
        let (full, perhaps) = (from(0), from(1));
        let busier = |a: BusyPart, b: BusyPart| if b.1[0] > a.1[0] { b } else { a };
        match parts.into_iter().reduce(busier) {
            _ if !full.is_empty() => Cause::Full(full),
            _ if !perhaps.is_empty() => Cause::Perhaps(perhaps),
            Some((part, [least, _])) if least > MOSTLY => Cause::Mostly(part, least),
            _ if self.loads(writes).any(|load| !load.server.is_empty()) => Cause::Protocol,
            _ => Cause::Unwatched,
        }
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
        let fairness = match self.fairness(writes) {
            None => String::new(),
            Some((fastest, slowest, ratio)) if ratio.low >= ALIKE => {
                let ratio = ratio.with_ends(|times| format!("{times:.2}"));
                format!(" {fastest} is {ratio} times as fast as {slowest}.")
            }
            Some((.., ratio)) if ratio.high <= ALIKE => {
                format!(" No client is more than {} slower.", percent(ALIKE - 1.0))
            }
            Some(_) => " Whether a client is slower is not clear: use more --runs.".to_owned(),
        };
        let limit = self.cause(writes).words();
        Some(format!("{}: {sum}.{fairness} {limit}.", self.name(writes)))
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
            ..LoadKey::default()
        };
        let metric = |target: &str, quantity, estimate, scope| {
            Metric::new(target, quantity, estimate).of(&load).at(scope)
        };
        let each = self.clients.iter().map(|client| (client.name, client.speeds(writes), Scope::Together));
        let speeds = each.chain([("all", self.sum(writes), Scope::Sum)]).filter_map(|(name, runs, scope)| {
            Some(metric(name, Quantity::Throughput, typical(&runs)?, scope))
        });
        let fairness = self.fairness(writes).map(|(fastest, slowest, ratio)| {
            let ratio_of = Quantity::Ratio(Box::new(Quantity::Throughput));
            metric(&format!("{fastest} beside {slowest}"), ratio_of, ratio, Scope::Together)
        });
        speeds.chain(fairness).collect()
    }
}

/// What held the clients up.
enum Cause {
    /// These parts were full.
    Full(Vec<BusyPart>),
    /// These may have been.
    Perhaps(Vec<BusyPart>),
    /// The busiest part, and its share: nothing was full.
    Mostly(String, f64),
    /// Nothing was busy for half of the time.
    Protocol,
    /// The same of the clients, and the server is not known.
    Unwatched,
}

impl Cause {
    fn words(self) -> String {
        let least = |(part, [least, _]): BusyPart| format!("{part} ({})", percent(least));
        let both =
            |(part, [least, most]): BusyPart| format!("{part} ({} to {})", percent(least), percent(most));
        let all = |parts: Vec<BusyPart>, words: &dyn Fn(BusyPart) -> String| {
            listed(&parts.into_iter().map(words).collect::<Vec<_>>())
        };
        let why = match self {
            Self::Full(parts) => return format!("Full meanwhile: {}", all(parts, &least)),
            Self::Perhaps(parts) => format!("perhaps {}", all(parts, &both)),
            Self::Mostly(part, share) => format!("mostly {part} ({})", percent(share)),
            Self::Protocol => "nothing was full; perhaps the protocol waits for answers".to_owned(),
            Self::Unwatched => "no client with a result was full, and the server was not watched".to_owned(),
        };
        format!("What limits is undecided: {why}")
    }
}

/// How busy each part of a machine was in the median of these loads: at least, and at most.
fn busy<'a>(loads: impl Iterator<Item = &'a Busy> + Clone, name: &str) -> Vec<BusyPart> {
    let all = loads.clone().count();
    let mut parts: BTreeMap<&str, Vec<[f64; 2]>> = BTreeMap::new();
    loads.flatten().for_each(|(part, shares)| parts.entry(part).or_default().push(*shares));
    let busy = parts.into_iter().map(|(part, mut shares)| {
        shares.resize(all, [0.0; 2]);
        let median = |end: usize| {
            let ends: Vec<f64> = shares.iter().map(|share| share[end]).collect();
            repeat::middle(&ends).map_or(0.0, |middle| middle.value)
        };
        (format!("{part} of {name}"), [median(0), median(1)])
    });
    busy.collect()
}
