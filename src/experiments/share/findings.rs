//! Findings of share: what the client gets, and what it would get with parts of the way left out.

use super::{
    super::common::Series,
    limit::{Limit, Part, Speeds, limit},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{
        Axis, Column, Curve, Figure, Findings, LoadKey, Metric, Point, Quantity, Scope, Style, Table,
    },
    plan::{Errand, Plan, ShareTest, Via},
    record::{Run, Shared},
    units::{Direction, count, rate, size},
};

/// What the columns say.
const LEGEND: &str = "'client': what the client gets. 'without drive': of a share in memory. 'without link': of a client on the server itself. 'drive alone': the server's \
    own programs, without a client. What is put counts until the server has it on the drive; what is got is not in the server's memory.";

/// One share.
struct Case<'a> {
    given: &'a str,
    act: &'a ShareTest,
    shared: &'a Shared,
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let cases: Vec<Case<'_>> = plan
        .shares()
        .filter_map(|(step, act)| {
            let at = step.targets().next()?;
            let shared = run.acts.get(&(step.id, at))?.shared.as_deref()?;
            Some(Case { given: &plan.targets[at].given, act, shared })
        })
        .collect();
    let several = cases.len() > 1;
    for case in &cases {
        let of = if several { format!("{}: ", case.given) } else { String::new() };
        findings
            .verdicts
            .extend(Errand::ALL.iter().filter_map(|errand| Some(of.clone() + &case.verdict(*errand)?)));
        findings.tables.push(case.table(if several { case.given } else { "" }));
        findings.figures.extend(case.figure());
        findings.estimates.extend(case.metrics());
        findings.context.push(case.context());
    }
    if !cases.is_empty() {
        findings.details.sentences.push(LEGEND.to_owned());
    }
}

impl Case<'_> {
    /// The mean speed over the runs, bytes per second.
    fn speed(&self, errand: Errand, via: Via) -> Option<Estimate> {
        let own = self.shared.loads.iter().filter(|load| (load.errand, load.via) == (errand, via));
        repeat::mean(&own.map(|load| load.bytes as f64 / load.seconds).collect::<Vec<_>>())
    }

    fn limit(&self, errand: Errand) -> Option<(Estimate, Limit)> {
        let whole = self.speed(errand, Via::Whole)?;
        let [drive, link, both] =
            [Via::WithoutDrive, Via::WithoutLink, Via::WithoutBoth].map(|via| self.speed(errand, via));
        let speeds = Speeds {
            whole: &whole,
            without_drive: drive.as_ref(),
            without_link: link.as_ref(),
            without_both: both.as_ref(),
        };
        let limit = limit(&speeds);
        Some((whole, limit))
    }

    fn verdict(&self, errand: Errand) -> Option<String> {
        let (whole, limit) = self.limit(errand)?;
        let (name, gets) = (self.act.name(errand), whole.text(rate));
        let without = |via| self.speed(errand, via).map_or("-".to_owned(), |speed| rate(speed.value));
        Some(match limit {
            Limit::Part(Part::Drive, _) => format!(
                "{name}: {gets}. The drive limits: {} with the share in memory.",
                without(Via::WithoutDrive)
            ),
            Limit::Part(Part::Link, _) => {
                format!("{name}: {gets}. The link limits: {} without it.", without(Via::WithoutLink))
            }
            Limit::Both(_) => format!(
                "{name}: {gets}. Drive and link limit alike: {} without the drive, {} without the link, {} without both.",
                without(Via::WithoutDrive),
                without(Via::WithoutLink),
                without(Via::WithoutBoth)
            ),
            Limit::Rest => format!(
                "{name}: {gets}. Neither the drive nor the link limits: without both it is {}. What is left are the protocol, the programs of both sides and the \
                 processor.",
                without(Via::WithoutBoth)
            ),
            Limit::Open => format!(
                "{name}: {gets}. What limits can't be told from these runs: more --runs, or a larger --size."
            ),
        })
    }

    fn table(&self, title: &str) -> Table {
        let row = |errand: Errand| {
            let speed = |via| self.speed(errand, via).map_or("-".to_owned(), |speed| speed.text(rate));
            [self.act.name(errand)].into_iter().chain(Via::ALL.map(speed)).collect()
        };
        Table {
            title: title.to_owned(),
            columns: Column::all([
                ("", false),
                ("client", true),
                ("without drive", true),
                ("without link", true),
                ("without both", true),
                ("drive alone", true),
            ]),
            rows: Errand::ALL.into_iter().map(row).collect(),
        }
    }

    /// From the drive alone to what the client gets.
    fn figure(&self) -> Option<Figure> {
        const WAY: [Via; 3] = [Via::Drive, Via::WithoutLink, Via::Whole];
        let curve = |errand: Errand| {
            let points = WAY.iter().enumerate();
            let points =
                points.filter_map(|(at, via)| Some(Point::of(at as f64, &self.speed(errand, *via)?)));
            Curve::new(self.act.name(errand), Style::Dots, points)
        };
        let curves: Vec<Curve> =
            Errand::ALL.into_iter().map(curve).filter(|c| !c.points.is_empty()).collect();
        let said = Errand::ALL.iter().filter_map(|errand| {
            let (drive, client) = (self.speed(*errand, Via::Drive)?, self.speed(*errand, Via::Whole)?);
            Some(format!("{} {} and {}", self.act.name(*errand), rate(drive.value), rate(client.value)))
        });
        let said: Vec<String> = said.collect();
        (!curves.is_empty()).then(|| Figure {
            title: "from the drive to the client".to_owned(),
            text: format!("Drive alone and client: {}.", said.join("; ")),
            n: format!("means of {}, 95 % intervals", count(u64::from(self.act.runs), "run")),
            x: Axis::named("", ["drive alone", "shared", "over the link"].map(str::to_owned)),
            y: Axis::speed(),
            curves,
            ..Figure::default()
        })
    }

    fn metrics(&self) -> Vec<Metric> {
        let scope = |via| match via {
            Via::Whole => Scope::Client,
            Via::WithoutDrive => Scope::WithoutDrive,
            Via::WithoutLink => Scope::WithoutLink,
            Via::WithoutBoth => Scope::WithoutBoth,
            Via::Drive => Scope::Alone,
        };
        let mut all = Vec::new();
        for errand in Errand::ALL {
            let direction = if errand.puts() { Direction::Write } else { Direction::Read };
            let load = LoadKey {
                name: self.act.name(errand),
                direction: Some(direction),
                cold: !errand.puts(),
                engine: "smbclient".to_owned(),
                ..LoadKey::default()
            };
            let metric = |via: Via| {
                let speed = self.speed(errand, via)?;
                Some(Metric::new(self.given, Quantity::Throughput, speed).of(&load).at(scope(via)))
            };
            all.extend(Via::ALL.into_iter().filter_map(metric));
        }
        all
    }

    fn context(&self) -> String {
        let link = match self.act.rate {
            Some(rate) => format!("a link of {} Mb/s on this machine", rate as f64 / 1e6),
            None => "a link without a limit on this machine".to_owned(),
        };
        let agreed = self.shared.negotiated.as_ref().map_or_else(String::new, |agreed| {
            let or_none =
                |text: &str| if text.is_empty() || text == "-" { "none".to_owned() } else { text.to_owned() };
            format!(
                ", {}, signing {}, encryption {}",
                agreed.dialect,
                or_none(&agreed.signing),
                or_none(&agreed.encryption)
            )
        });
        format!("{}{agreed}; smbclient over {link}; files of {}", self.shared.server, size(self.act.small))
    }
}
