//! Findings of a watch.

use crate::{
    analyse::Estimate,
    findings::{Column, Findings, Metric, Origin, Quantity, Scope, Table},
    record::{Between, End, Event, Run, Watched},
    units::{RunStatus, Service, duration},
};

/// The name of the experiment in its records.
pub const EXPERIMENT: &str = "watch-boot";

/// The findings of the record of a watch.
pub fn findings(record: &mut dyn Iterator<Item = Event>) -> Findings {
    let run = Run::of(record);
    let mut findings = Findings {
        run: run.start.as_ref().map(|s| s.run.clone()).unwrap_or_default(),
        experiment: EXPERIMENT.to_owned(),
        question: "when does it answer after a restart?".to_owned(),
        ..Findings::default()
    };
    let Some(watched) = &run.watched else {
        findings.flags.push("The record ends before the result of the watch.".to_owned());
        return findings;
    };
    let ended = End::status(run.end.as_ref());
    if let Some(start) = &run.start {
        let (at, version) = (start.at.clone(), start.version.clone());
        findings.conditions = vec![format!("drivebench {version} · {at}")];
        findings.reproduce = vec![start.command.join(" ")];
        findings.origin = Origin { at, version, ended, ..Origin::default() };
    }
    let by = if watched.by_ping { "by ping and TCP" } else { "by TCP only: this user may not ping" };
    findings.context = vec![format!("{} ({}), {by}", watched.host, watched.address)];
    let references = references(watched);
    findings.verdicts = verdict(watched, &references).into_iter().collect();
    if ended == RunStatus::Interrupted {
        findings.flags.push("Interrupted: the watch ended early.".to_owned());
    }
    findings.tables = vec![table(watched, &references)];
    findings.estimates = references.iter().flat_map(|since| since.metrics(watched)).collect();
    findings
}

/// A time from which answers are counted.
struct Reference {
    /// `None` for the start of the watch, which says nothing about the machine.
    scope: Option<Scope>,
    words: &'static str,
    from: Between,
}

/// The order, if a person gave its time, and the last answer; if neither is known, the start of the watch.
fn references(watched: &Watched) -> Vec<Reference> {
    let since = |scope, words, from| Reference { scope, words, from };
    let order = watched.ordered.map(|at| Between { after: at, at });
    let order = order.map(|from| since(Some(Scope::SinceOrder), "since the order", from));
    let stop = watched.stopped;
    let stop = stop.map(|from| since(Some(Scope::SinceStop), "since it stopped answering", from));
    let known: Vec<Reference> = order.into_iter().chain(stop).collect();
    match known.is_empty() {
        true => vec![since(None, "since the watch began", Between::default())],
        false => known,
    }
}

impl Reference {
    /// Seconds from the reference time to `then`, between the attempts before and after.
    fn until(&self, then: Between) -> Estimate {
        let ends = [then.after - self.from.at, then.at - self.from.after].map(|s: f64| s.max(0.0));
        Estimate::between((ends[0] + ends[1]) / 2.0, ends, "between two attempts")
    }

    fn metrics<'a>(&'a self, watched: &'a Watched) -> impl Iterator<Item = Metric> + 'a {
        watched.answers.iter().filter_map(move |answer| {
            let quantity = Quantity::AnswerTime(answer.service);
            Some(Metric::new(&watched.host, quantity, self.until(answer.when)).at(self.scope?))
        })
    }
}

/// The part of the result that is not in the table.
fn verdict(watched: &Watched, references: &[Reference]) -> Option<String> {
    let host = &watched.host;
    match (watched.answer(Service::Network), watched.stopped) {
        (None, Some(_)) => Some(format!("{host} stopped answering and did not answer again.")),
        (None, None) => Some(format!("{host} was not seen to restart.")),
        _ if references.iter().all(|since| since.scope.is_none()) => Some(format!(
            "{host} did not answer at first: press Enter when it is switched on, so that times have a start."
        )),
        _ => None,
    }
}

fn table(watched: &Watched, references: &[Reference]) -> Table {
    let mut columns = vec![Column::new("answers", false)];
    columns.extend(references.iter().map(|since| Column::new(since.words, true)));
    let row = |service: &Service| {
        let when = watched.answer(*service);
        let cells = references.iter().map(|since| match when {
            Some(when) => since.until(when).range(duration),
            None => "no answer".to_owned(),
        });
        std::iter::once(service.name().to_owned()).chain(cells).collect()
    };
    Table { title: String::new(), columns, rows: watched.services.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        record::Answer,
        report::{Format, Style, render},
    };

    fn text(watched: Watched) -> String {
        let found = findings(&mut std::iter::once(Event::Watched(Box::new(watched))));
        render(&found, Format::Text, Style::PLAIN, false)
    }

    #[test]
    fn answers_are_counted_from_the_order_and_from_the_stop() {
        let answer = |service, after, at| Answer { service, when: Between { after, at } };
        let whole = Watched {
            host: "nas".to_owned(),
            address: "192.168.1.7".to_owned(),
            by_ping: true,
            ordered: Some(5.0),
            stopped: Some(Between { after: 9.9, at: 10.1 }),
            answers: vec![
                answer(Service::Network, 32.4, 32.7),
                answer(Service::Http, 36.0, 36.2),
                answer(Service::Ssh, 37.1, 37.3),
            ],
            services: vec![Service::Network, Service::Ssh, Service::Http],
            ended: 37.3,
        };
        let off =
            Watched { stopped: None, ordered: None, answers: whole.answers[..1].to_vec(), ..whole.clone() };
        let never = Watched { answers: Vec::new(), by_ping: false, ..whole.clone() };
        let up = Watched { stopped: None, ..never.clone() };
        insta::assert_snapshot!([whole, off, never, up].map(text).join("----\n"));
    }
}
