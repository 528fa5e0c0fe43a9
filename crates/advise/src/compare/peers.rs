//! Where a run stands among packed runs on other drives of the same model: is this drive normal?

use std::collections::{BTreeMap, BTreeSet};

use super::{CompareError, differ_in_layers, differences::alike, is_said, name_of, named, short};
use crate::{
    analyse::{Standing, compare::across_runs},
    findings::{Carrier, CarrierDrive, Column, Findings, Metric, Quantity, Table, Unit},
    inventory::without_bay,
    units::{RunStatus, capital, count, percent, shortened},
};

type Condition = fn(&Findings, &Carrier, &Metric) -> Option<String>;

/// What may be the cause of a difference; what usually matters most comes first.
const CONDITIONS: [(&str, Condition); 5] = [
    ("port speed", |_, on, _| Some(format!("{} Mb/s", on.drives[0].link_mbps?))),
    ("board", |run, _, _| run.origin.board.clone()),
    ("filesystem", |_, on, _| on.filesystem.clone()),
    // Of `6.12.34+rpt-rpi-v8`, the first two numbers.
    ("kernel", |run, _, _| {
        Some(run.origin.kernel.as_ref()?.splitn(3, '.').take(2).collect::<Vec<_>>().join("."))
    }),
    ("engine", |_, _, metric| Some(metric.load.as_ref()?.engine.clone())),
];

/// Another drive, as its newest pack has it.
struct Peer {
    at: String,
    machine: String,
    /// Its number for each of the run's.
    values: Vec<Option<f64>>,
    conditions: Vec<Option<String>>,
}

/// A target of a run that is a single drive, and the others of its model.
pub struct Peers<'a> {
    run: &'a Findings,
    on: &'a Carrier,
    metrics: Vec<&'a Metric>,
    /// The names that its drive may have in packs.
    names: Vec<&'a str>,
    others: BTreeMap<String, Peer>,
}

/// The drive of a target that is a single drive of a known model.
fn drive(on: &Carrier) -> Option<&CarrierDrive> {
    let [drive] = &on.drives[..] else { return None };
    (drive.model.is_some() && on.pool.is_none() && !on.indirect).then_some(drive)
}

/// The same model, and 10 % more or less of its size.
fn is_of_model(a: &CarrierDrive, b: &CarrierDrive) -> bool {
    let bytes = |drive: &CarrierDrive| drive.bytes.unwrap_or_default() as f64;
    (&a.vendor, &a.model) == (&b.vendor, &b.model) && (bytes(a) - bytes(b)).abs() <= 0.1 * bytes(a)
}

/// The end of a text that a pack has, which may be of any length.
fn kept(text: &str) -> String {
    shortened(text, 80)
}

fn conditions(run: &Findings, on: &Carrier, metric: &Metric) -> Vec<Option<String>> {
    CONDITIONS.iter().map(|(_, get)| get(run, on, metric).map(|text| kept(&text))).collect()
}

impl<'a> Peers<'a> {
    /// `packed` is the same run with the names that its drives have in packs.
    pub fn of(run: &'a Findings, name: Option<&str>, packed: &'a Findings) -> Result<Self, CompareError> {
        let metrics = |on: &Carrier| -> Vec<&Metric> {
            run.estimates.iter().filter(|m| m.target == on.target && is_said(m)).collect()
        };
        let mut targets = named(run, name)?;
        targets.retain(|at| {
            let on = &run.origin.carriers[*at];
            drive(on).is_some() && !metrics(on).is_empty()
        });
        let [at] = targets[..] else { return Err(CompareError::OneDrive { run: run.run.clone() }) };
        let on = &run.origin.carriers[at];
        let names = [Some(on), packed.origin.carriers.get(at)].into_iter().flatten();
        let names = names.flat_map(Carrier::identities).collect();
        Ok(Self { run, on, metrics: metrics(on), names, others: BTreeMap::new() })
    }

    /// Counts the drives of a pack that are others of the model, and says whether there are any.
    pub fn add(&mut self, pack: &Findings) -> bool {
        let kind = |run: &Findings| (run.experiment.clone(), run.origin.suite.clone(), run.modelled);
        let finished = kind(pack) == kind(self.run) && pack.origin.ended == RunStatus::Finished;
        let mut counted = false;
        for on in pack.origin.carriers.iter().filter(|_| finished) {
            let is_peer = drive(on).is_some_and(|drive| is_of_model(&self.on.drives[0], drive));
            let number = |own: &&Metric| {
                let is_same =
                    |m: &&Metric| m.target == on.target && own.is_like(m) && name_of(own) == name_of(m);
                pack.estimates.iter().filter(is_same).find(|m| alike(own, m) && m.estimate.value > 0.0)
            };
            let numbers: Vec<Option<&Metric>> = self.metrics.iter().map(number).collect();
            let Some(first) = numbers.iter().flatten().next().filter(|_| is_peer) else { continue };
            let identity = on.drives[0].identity.as_str();
            if differ_in_layers(self.on, on) || self.names.contains(&identity) {
                continue;
            }
            counted = true;
            let (at, machine) =
                (kept(&pack.origin.at), kept(pack.origin.machine_id.as_deref().unwrap_or_default()));
            // A bay is unique on its machine only.
            let of_machine = if without_bay(identity) == identity { "" } else { machine.as_str() };
            let key = format!("{of_machine} {}", kept(identity));
            if self.others.get(&key).is_none_or(|known| known.at < at) {
                let values = numbers.iter().map(|number| Some(number.as_ref()?.estimate.value)).collect();
                let conditions = conditions(pack, on, first);
                self.others.insert(key, Peer { at, machine, values, conditions });
            }
        }
        counted
    }

    /// Names the conditions that differ, and returns the first that differs for most of the others.
    fn differences(&self, flags: &mut Vec<String>) -> Option<&'static str> {
        let own = conditions(self.run, self.on, self.metrics[0]);
        let mut most = None;
        for (at, (name, _)) in CONDITIONS.iter().enumerate() {
            let Some(here) = &own[at] else { continue };
            let mut times: BTreeMap<&String, usize> = BTreeMap::new();
            let there = self.others.values().filter_map(|peer| peer.conditions[at].as_ref());
            there.filter(|there| *there != here).for_each(|there| *times.entry(there).or_default() += 1);
            let (all, differ) = (self.others.len(), times.values().sum::<usize>());
            if let Some((usual, _)) = times.into_iter().max_by_key(|(_, n)| *n) {
                let name = capital(name);
                flags.push(format!("{name}: {here}; {differ} of {all} others had another, mostly {usual}."));
            }
            most = most.or((2 * differ > all).then_some(*name));
        }
        most
    }

    /// Where the run stands among those that were added.
    pub fn findings(&self) -> Findings {
        let run = self.run;
        let machines: BTreeSet<&str> = self.others.values().map(|peer| peer.machine.as_str()).collect();
        let machines = machines.iter().filter(|machine| !machine.is_empty()).count() as u64;
        let others = count(self.others.len() as u64, "other drive");
        let on =
            if machines == 0 { String::new() } else { format!(", on {}", count(machines, "known machine")) };
        let mut findings = Findings {
            run: run.run.clone(),
            experiment: "compare".to_owned(),
            question: "is it normal for its model?".to_owned(),
            modelled: run.modelled,
            context: vec![
                format!("{}: {} · {}", run.run, run.origin.at, self.on.describe),
                format!("{others} of the model{on}"),
            ],
            flags: run.flags.clone(),
            ..Findings::default()
        };
        let why = self.differences(&mut findings.flags).map(|most| format!(" Most others differ in {most}."));
        let why = why.unwrap_or_default();
        let own = short(&run.run);
        let columns = [("", false), (&own, true), ("place", true), ("slower", true), ("middle half", false)];
        let mut rows = Vec::new();
        let mut standings = Vec::new();
        for (at, own) in self.metrics.iter().enumerate() {
            let others: Vec<f64> = self.others.values().filter_map(|peer| peer.values[at]).collect();
            let unit = own.quantity.unit();
            let estimate = across_runs(&own.estimate, None);
            let Some(stands) = Standing::of(&estimate, &others, unit == Unit::Seconds) else { continue };
            let place = format!("{} of {}", stands.place, others.len() + 1);
            let (value, middle) = (unit.write(own.estimate.value), stands.middle.range(|x| unit.write(x)));
            let said = format!("{} {value}, {place}; middle half {middle}", own.row());
            let slower = format!("{} ({})", percent(stands.slower.value), stands.slower.range(percent));
            rows.push(vec![own.row(), value, place, slower, middle]);
            let (quantity, estimate) = (Quantity::SlowerPeers, stands.slower.clone());
            findings.estimates.push(Metric { quantity, estimate, bytes: None, ..(*own).clone() });
            standings.push((!stands.far_out, stands.slower, said));
        }
        standings.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.value.total_cmp(&b.1.value)));
        // By chance, a quarter of the numbers of a normal drive are.
        let slow = standings.iter().filter(|(_, slower, _)| slower.high < 0.25).count();
        let numbers = count(standings.len() as u64, "number");
        findings.verdicts.push(match standings.first() {
            None => format!("Not known: percentiles need {} other drives of the model.", Standing::LEAST),
            Some((false, _, said)) => format!("Slow for its model: {said}.{why}"),
            Some((.., said)) => format!(
                "It has {slow} of {numbers} in the slowest quarter of its model; the lowest is {said}.{why}"
            ),
        });
        let table = Table { title: String::new(), columns: Column::all(columns), rows };
        findings.tables.extend(Some(table).filter(|table| !table.rows.is_empty()));
        findings
    }
}
