//! Findings of share: what clients get, and what they would get with parts of the way left out.

use std::slice;

use super::{
    super::common::Series,
    limit::{ALIKE, APART, Gain, Limit, Runs, limit, times},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{
        Axis, Column, Curve, Figure, Findings, LoadKey, Metric, On, Point, Quantity, Scope, Style, Table,
    },
    inventory::{Drive, Inventory},
    plan::Plan,
    record::{Run, suspended},
    share::{Errand, Part, Protocol, ShareLoad, ShareTest, Shared, Via},
    target::Target,
    units::{Direction, Pattern, capital, count, listed, percent, rate},
};

/// What the rows of the table say.
fn legend(act: &ShareTest, has_network: bool) -> String {
    let protocol = act.protocol.name();
    let sync = match act.protocol {
        Protocol::Nfs => {
            " 'without the export's sync': the server says that files are stored before they are on the drive."
        }
        Protocol::Smb | Protocol::Sftp => "",
    };
    let yours = match &act.existing {
        Some(_) => " 'your share': the same files from the other server, by clients on this machine itself.",
        None => "",
    };
    let network = match has_network {
        true => {
            " 'the network alone': bytes that iperf3 moves between both machines, without files; of several clients as many streams."
        }
        false => "",
    };
    format!(
        "'client': what clients get. 'without the drive': of a share in memory. 'without the link' or 'without the network': of clients on the server itself. 'without all of these': still with {protocol}.{sync}{yours}{network} 'the drive alone': the server's own programs, without a client. What is put counts until the server has it on the drive; what is got is not in the server's memory before."
    )
}

/// A core that is busy for this share of the time may be what limits.
const BUSY: f64 = 0.9;

/// One share.
struct Case<'a> {
    given: &'a str,
    act: &'a ShareTest,
    shared: Shared,
    /// That the drive shares a bus with the network port.
    bus: Option<String>,
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let cases: Vec<Case<'_>> = plan
        .acts::<ShareTest>()
        .filter_map(|(step, act)| {
            let at = step.targets().next()?;
            let results = plan.steps.iter().filter_map(|step| run.acts.get(&(step.id, at))?.get::<Shared>());
            let shared = results.fold(Shared::default(), Shared::and);
            let target = &plan.targets[at];
            let bus = run.start.as_ref().and_then(|start| bus(&start.inventory, target, &shared));
            (!shared.loads.is_empty()).then_some(Case { given: &target.given, act, shared, bus })
        })
        .collect();
    let several = cases.len() > 1;
    for case in &cases {
        let of = if several { format!("{}: ", case.given) } else { String::new() };
        let verdict =
            |errand| Some(of.clone() + &case.verdict(errand)? + &case.yours(errand).unwrap_or_default());
        findings.verdicts.extend(case.act.errands().filter_map(verdict));
        findings.tables.push(case.table(if several { case.given } else { "" }));
        findings.figures.extend(case.figure());
        findings.estimates.extend(case.metrics());
        findings.context.push(case.context());
        findings.flags.extend(case.suspended());
    }
    if let Some(case) = cases.first() {
        findings.details.sentences.push(legend(case.act, cases.iter().any(Case::has_network)));
    }
}

fn bus(inventory: &Inventory, target: &Target, shared: &Shared) -> Option<String> {
    let port = inventory.ports.iter().find(|port| Some(&port.name) == shared.network_port.as_ref())?;
    let bus = port.bus_with(inventory, &target.drives)?;
    let is_below = |drive: &Drive| port.bus_with(inventory, [drive]).is_some_and(|own| own.id == bus.id);
    // USB 3 has lanes of its own for each direction.
    let is_crossed_twice = bus.mbps.is_some_and(|mbps| mbps < 5000.0) && target.drives.iter().all(is_below);
    is_crossed_twice.then(|| {
        let drives = if target.drives.len() == 1 { "drive" } else { "drives" };
        let (port, bus) = (&port.name, bus.what());
        format!(" The {drives} and {port} are on the {bus} bus: what this client moves crosses it twice.")
    })
}

impl Case<'_> {
    fn speeds(&self, errand: Errand, via: Via) -> Runs {
        self.shared.undisturbed(errand, via).map(|load| (load.run, load.speed())).collect()
    }

    fn speed(&self, errand: Errand, via: Via) -> Option<Estimate> {
        repeat::typical(&self.speeds(errand, via).into_values().collect::<Vec<_>>())
    }

    fn limit(&self, errand: Errand) -> Limit {
        let speeds = |via| self.speeds(errand, via);
        let without = self.parts(errand).map(|part| (part, speeds(Via::Without(part)))).collect::<Vec<_>>();
        let all = self.act.ways().any(|via| via == Via::WithoutAll).then(|| speeds(Via::WithoutAll));
        limit(&speeds(Via::Whole), &without, all.as_ref())
    }

    fn parts(&self, errand: Errand) -> impl Iterator<Item = Part> {
        self.act.parts().filter(move |part| self.act.goes(errand, Via::Without(*part)))
    }

    fn verdict(&self, errand: Errand) -> Option<String> {
        let name = self.act.name(errand);
        let Some(whole) = self.speed(errand, Via::Whole) else {
            let is_stopped =
                |load: &ShareLoad| (load.errand, load.via) == (errand, Via::Whole) && load.suspended_ns > 0;
            let stopped = self.shared.loads.iter().any(is_stopped);
            return stopped.then(|| format!("{name}: no result, as drivebench did not run meanwhile."));
        };
        let whole = whole.text(rate);
        let said = |via| self.speed(errand, via).map_or("-".to_owned(), |speed| rate(speed.value));
        let alone = match self.speed(errand, Via::Server) {
            Some(alone) => format!(", the drive alone {}", rate(alone.value)),
            None => String::new(),
        };
        let gets = format!("{name}: {whole}{alone}.");
        let without = |gain: &Gain| {
            let Gain { part, estimate } = gain;
            let (times, least) = (factor(estimate.value), factor(estimate.low));
            let speed = said(Via::Without(*part));
            let part = match (part, &self.act.client) {
                // That is a client on this machine.
                (Part::Link, Some(_)) => "the network and the client's machine",
                (part, _) => self.act.part(*part),
            };
            format!("{speed} without {part}, {times} times as much (at least {least})")
        };
        let names = |parts: &mut dyn Iterator<Item = Part>| -> Vec<String> {
            parts.map(|part| self.act.part(part).to_owned()).collect()
        };
        // Without the drive nothing waits for it.
        let kept = names(&mut self.act.parts().filter(|part| *part != Part::Sync));
        let all = match &kept[..] {
            [one] => format!("{} without {one}", said(Via::Without(Part::Drive))),
            several => format!("{} without {}", said(Via::WithoutAll), listed(several)),
        };
        let protocol = self.act.protocol.name();
        let parts = listed(&names(&mut self.parts(errand)));
        let limit = self.limit(errand);
        let is_link = matches!(&limit, Limit::Part(gain) if gain.part == Part::Link);
        let at_bus = match &limit {
            Limit::Part(gain) => crosses(slice::from_ref(gain)),
            Limit::Alike(gains) | Limit::Open(gains) => crosses(gains),
            Limit::Together => true,
            Limit::Rest => false,
        };
        let bus = self.bus.as_deref().filter(|_| at_bus).unwrap_or_default();
        let network = self.speed(errand, Via::Network).filter(|_| !is_link);
        let network = network
            .map(|carries| format!(" The network alone carries {}.", carries.text(rate)))
            .unwrap_or_default();
        let verdict = match limit {
            Limit::Part(gain) => {
                let next = if kept.len() > 1 { format!("; {all}") } else { String::new() };
                let more = match gain.part {
                    Part::Sync => {
                        ". Without the export's sync a power cut loses files that clients believe to be stored".to_owned()
                    }
                    Part::Link => self.carried(errand).unwrap_or_default(),
                    _ => String::new(),
                };
                let limits = match (gain.part, &self.act.client) {
                    (Part::Link, Some(_)) => "The network or the client's machine".to_owned(),
                    (part, _) => capital(self.act.part(part)),
                };
                format!("{gets} {limits} limits: {}{next}{more}.", without(&gain))
            }
            Limit::Alike(gains) => {
                let each: Vec<String> = gains.iter().map(without).collect();
                format!("{gets} No single part limits: {}.", each.join("; "))
            }
            Limit::Together => {
                format!(
                    "{gets} Leaving out one of {parts} gains less than 5 %, but it is {all}: no single part limits."
                )
            }
            Limit::Rest => {
                let busy = self.busiest(errand);
                format!(
                    "{gets} Leaving out {parts} gains less than 5 %: {all}. What is left: {protocol}, the programs and the processors{busy}."
                )
            }
            Limit::Open(sure) => {
                let larger = if errand.is_small() { "more --files" } else { "a larger --size" };
                let each: Vec<String> = sure.iter().map(|gain| capital(&without(gain))).collect();
                let (each, what) = match &each[..] {
                    [] => (String::new(), "What limits"),
                    each => (format!(" {}.", each.join("; ")), "Which part limits most"),
                };
                format!("{gets}{each} {what} can't be told from these runs: more --runs, or {larger}.")
            }
        };
        Some(verdict + &network + bus)
    }

    /// What the network alone carries, beside what clients get through it.
    fn carried(&self, errand: Errand) -> Option<String> {
        let carries = self.speed(errand, Via::Network)?;
        // As wide as the intervals of gains.
        let intervals = 2 * self.parts(errand).count();
        let times = times(&self.speeds(errand, Via::Network), &self.speeds(errand, Via::Whole), intervals)?;
        // A lower bound is rounded down.
        let used = |high: f64| percent((100.0 / high).floor().min(100.0) / 100.0);
        let carries = format!("; the network alone carries {}", carries.text(rate));
        Some(match (times.low, times.high) {
            (_, high) if high <= 1.0 / ALIKE => {
                format!("{carries}, which is less than clients got: iperf3 does not tell what limits here")
            }
            (low, high) if low > 1.0 / ALIKE && high <= APART => {
                format!("{carries}, of which clients use at least {}", used(high))
            }
            (low, _) if low >= APART => format!(
                "{carries}, {} times as much as clients get (at least {}): the network is not the only limit",
                factor(times.value),
                factor(low)
            ),
            _ => carries,
        })
    }

    /// Beside the other server of the same directory, from which files were got without the link.
    fn yours(&self, errand: Errand) -> Option<String> {
        let (own, without) = match self.act.has_link() {
            true => (Via::Without(Part::Link), " without the link"),
            false => (Via::Whole, ""),
        };
        let (yours, ours) = (self.speed(errand, Via::Existing)?, self.speed(errand, own)?);
        let gets = self.act.errands().filter(|errand| self.act.goes(*errand, Via::Existing)).count();
        let times = times(&self.speeds(errand, own), &self.speeds(errand, Via::Existing), gets)?;
        let differs = match (times.low, times.high) {
            (low, _) if low >= ALIKE => format!(
                ", {} times as much (at least {}): look at the settings of yours",
                factor(times.value),
                factor(low)
            ),
            (_, high) if high <= 1.0 / ALIKE => ", which is less".to_owned(),
            (low, high) if low > 1.0 / ALIKE && high < ALIKE => ", which differs by less than 5 %".to_owned(),
            _ => ". Which of both is faster can't be told from these runs".to_owned(),
        };
        Some(format!(
            " Your share{without}: {}; drivebench's: {}{differs}.",
            yours.text(rate),
            ours.text(rate)
        ))
    }

    /// How busy the busiest core was, and whether one file is faster than many.
    fn busiest(&self, errand: Errand) -> String {
        let loads = self.shared.undisturbed(errand, Via::Whole);
        let most = loads.filter_map(|load| load.cores.iter().map(|core| core.busy).reduce(f64::max));
        let busy = repeat::middle(&most.collect::<Vec<_>>()).map(|e| e.value).filter(|busy| *busy >= BUSY);
        let busy = busy.map_or_else(String::new, |busy| format!("; one core was busy for {}", percent(busy)));
        let one = match errand {
            Errand::PutSmall => self.speed(Errand::Put, Via::Whole),
            Errand::GetSmall => self.speed(Errand::Get, Via::Whole),
            _ => None,
        };
        let one = one.map_or_else(String::new, |one| format!("; one large file: {}", rate(one.value)));
        busy + &one
    }

    /// What took longer because this program did not run.
    fn suspended(&self) -> Vec<String> {
        let all = self.act.errands().flat_map(|errand| self.act.ways().map(move |via| (errand, via)));
        let of = |(errand, via)| {
            let own = self.shared.loads.iter().filter(|load| (load.errand, load.via) == (errand, via));
            let seconds = own.map(|load| load.suspended_ns as f64 / 1e9).sum();
            let what = || format!("{}, {}", self.act.name(errand), self.act.way(via));
            (seconds > 0.0).then(|| suspended(&what(), seconds).text)
        };
        all.filter_map(of).collect()
    }

    fn has_network(&self) -> bool {
        self.shared.loads.iter().any(|load| load.via == Via::Network)
    }

    fn table(&self, title: &str) -> Table {
        let name = |via: Via| match via {
            Via::Whole => "client".to_owned(),
            via => self.act.way(via),
        };
        let row = |via: Via| {
            let speed = |errand| self.speed(errand, via).map_or("-".to_owned(), |speed| speed.text(rate));
            [name(via)].into_iter().chain(self.act.errands().map(speed)).collect()
        };
        let columns = self.act.errands().map(|errand| Column::new(&self.act.short_name(errand), true));
        Table {
            title: title.to_owned(),
            columns: [Column::new("", false)].into_iter().chain(columns).collect(),
            rows: self.act.ways().filter(|via| *via != Via::Network || self.has_network()).map(row).collect(),
        }
    }

    /// From the drive alone to what the client gets.
    fn figure(&self) -> Option<Figure> {
        let over = if self.act.client.is_some() { "over the network" } else { "over the link" };
        let link = self.act.has_link().then_some([(Via::Without(Part::Link), "shared"), (Via::Whole, over)]);
        let shared = link.map_or_else(|| vec![(Via::Whole, "shared")], |both| both.to_vec());
        let way: Vec<(Via, &str)> = [(Via::Server, "drive alone")].into_iter().chain(shared).collect();
        let curve = |errand: Errand| {
            let points = way.iter().enumerate();
            let points =
                points.filter_map(|(at, (via, _))| Some(Point::of(at as f64, &self.speed(errand, *via)?)));
            Curve::new(self.act.name(errand), Style::Dots, points)
        };
        let curves: Vec<Curve> = self.act.errands().map(curve).filter(|c| !c.points.is_empty()).collect();
        let said = self.act.errands().filter_map(|errand| {
            let (drive, client) = (self.speed(errand, Via::Server)?, self.speed(errand, Via::Whole)?);
            Some(format!("{} {} and {}", self.act.name(errand), rate(drive.value), rate(client.value)))
        });
        let said: Vec<String> = said.collect();
        (!curves.is_empty()).then(|| Figure {
            title: "from the drive to the client".to_owned(),
            text: format!("Drive alone and client: {}.", said.join("; ")),
            n: format!("geometric means of {}, 95 % intervals", count(u64::from(self.act.runs), "run")),
            x: Axis::named("", way.iter().map(|(_, name)| (*name).to_owned())),
            y: Axis::speed(),
            curves,
            ..Figure::default()
        })
    }

    fn metrics(&self) -> Vec<Metric> {
        let scope = |via| match via {
            Via::Whole => Scope::Client,
            Via::Without(Part::Drive) => Scope::WithoutDrive,
            Via::Without(Part::Link) if self.act.client.is_some() => Scope::WithoutNetwork,
            Via::Without(Part::Link) => Scope::WithoutLink,
            Via::Without(Part::Protection) => Scope::WithoutProtection,
            Via::Without(Part::Sync) => Scope::WithoutSync,
            Via::Without(Part::ClientDrive) => Scope::WithoutClientDrive,
            Via::WithoutAll => Scope::WithoutAll,
            Via::Existing => Scope::Existing,
            Via::Network => Scope::Network,
            Via::Server => Scope::Alone,
        };
        let mut all = Vec::new();
        for errand in self.act.errands() {
            let direction = if errand.puts() { Direction::Write } else { Direction::Read };
            let (files, bytes) = self.act.set(errand);
            let random = errand == Errand::ReadRandom;
            let clients = if errand.has_several_clients() { files } else { 1 };
            let load = LoadKey {
                name: self.act.name(errand),
                direction: Some(direction),
                pattern: random.then_some(Pattern::Random),
                block: Some(if random { self.act.blocks().1 } else { bytes }),
                jobs: u32::try_from(clients).ok(),
                on: Some(On::Directory),
                cold: !errand.puts(),
                engine: self.setup(),
                ..LoadKey::default()
            };
            let metric = |via: Via| {
                let speed = self.speed(errand, via)?;
                let mut load = load.clone();
                if via == Via::Network {
                    // For some seconds, whatever the files are.
                    load = LoadKey { engine: "iperf3 on another machine".to_owned(), block: None, ..load };
                }
                Some(Metric::new(self.given, Quantity::Throughput, speed).of(&load).at(scope(via)))
            };
            all.extend(self.act.ways().filter_map(metric));
        }
        all
    }

    /// What another run must have in common, to be compared: `smbclient over 100 Mb/s, signing`.
    fn setup(&self) -> String {
        let link = match (&self.act.client, self.act.rate) {
            (Some(_), _) => " on another machine".to_owned(),
            (None, rate) => rate.map(|rate| format!(" over {} Mb/s", rate as f64 / 1e6)).unwrap_or_default(),
        };
        let parts = self.act.parts();
        let parts = parts.filter(|part| !matches!(part, Part::Drive | Part::Sync | Part::Link));
        parts.fold(format!("{}{link}", self.act.client_name()), |setup, part| {
            setup + ", " + self.act.part(part)
        })
    }

    fn context(&self) -> String {
        let agreed = self.shared.negotiated.as_ref().map_or_else(String::new, |agreed| {
            format!(", {}, signing {}, encryption {}", agreed.dialect, agreed.signing, agreed.encryption)
        });
        let here = if self.act.client.is_some() { "" } else { "; server and clients on this machine" };
        let yours = self.act.existing.as_ref().map_or_else(String::new, |at| format!("; your share: {at}"));
        let most =
            self.act.rate.map_or_else(String::new, |bits| format!(" (at most {})", rate(bits as f64 / 8.0)));
        let to_the_end = if self.has_network() { " to the end" } else { "" };
        let no_network = self.shared.no_network.as_ref().map_or_else(String::new, |why| {
            format!("; the network alone was not measured{to_the_end}: {why}")
        });
        format!("{}{agreed}; {}{most}{here}{yours}{no_network}", self.shared.server, self.setup())
    }
}

/// Without one of these, the bus of drive and network carries less.
fn crosses(gains: &[Gain]) -> bool {
    gains.iter().any(|gain| matches!(gain.part, Part::Drive | Part::Link))
}

/// With two or three digits.
fn factor(times: f64) -> String {
    match times {
        ..2.0 => format!("{times:.2}"),
        ..20.0 => format!("{times:.1}"),
        _ => format!("{times:.0}"),
    }
}
