//! Progress of a run: two lines that are redrawn, plain lines, or events for a program.

use std::{
    collections::BTreeMap,
    io,
    time::{Duration, Instant},
};

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::output::{Output, Redrawn, columns_now};
use crate::{
    analyse::Estimate,
    plan::{Files, Measure, Plan, Repetitions, Rule, Step, StepId},
    record::Event,
    run::{Move, Progress, Wanted, Watcher},
    units::{Ended, Pattern, clean_json, decimal_bytes, duration, percent, rate, thousands},
};

/// If more loads than this have the same label, only failed ones are listed individually.
const EACH: usize = 20;

pub struct Show<'a> {
    output: &'a Output,
    plan: &'a Plan,
    repetitions: Repetitions,
    how: Way,
    began: Instant,
    shown: Instant,
    /// The load and the run so far, in a terminal.
    redrawn: Redrawn,
    step: Option<StepId>,
    /// The running loads, by target.
    now: BTreeMap<usize, Now>,
    /// The latest estimate of each running load, by target. The last one equals the report's.
    estimates: BTreeMap<usize, Estimate>,
    /// The round that was said last.
    round: u32,
    /// Why events are dropped; the measurement continues.
    unread: Option<io::Error>,
}

#[derive(Clone, Copy)]
enum Way {
    Live,
    Plain,
    Events,
}

/// The state of a running load on one target.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Now {
    /// The used share of its bytes or of its time, whichever is more.
    share: f64,
    /// Bytes per second.
    speed: f64,
    /// Half-width of the interval of the speed, as a share of the speed.
    interval: Option<f64>,
}

impl<'a> Show<'a> {
    pub fn new(output: &'a Output, plan: &'a Plan, events: bool) -> Self {
        let how = match output.live {
            _ if events => Way::Events,
            true => Way::Live,
            false => Way::Plain,
        };
        Self {
            output,
            plan,
            repetitions: plan.repetitions(),
            how,
            began: Instant::now(),
            shown: Instant::now(),
            redrawn: Redrawn::new(matches!(how, Way::Live)),
            step: None,
            now: BTreeMap::new(),
            estimates: BTreeMap::new(),
            round: 0,
            unread: None,
        }
    }

    /// Whether it is time to show progress again.
    fn is_due(&mut self, every: Duration) -> bool {
        let is_due = self.shown.elapsed() >= every;
        if is_due {
            self.shown = Instant::now();
        }
        is_due
    }

    pub fn line(&mut self, value: &serde_json::Value) {
        if self.unread.is_none() {
            self.unread = self.output.result(&(clean_json(&value.to_string()) + "\n")).err();
        }
    }

    /// A step begins, and the one before has ended.
    fn begin(&mut self, step: StepId) {
        self.now.clear();
        self.step = Some(step);
    }

    /// Shows what is done now, above `total 1:10 of ≤2:00`. What doesn't fit is cut off.
    fn show(&self, first: &str) {
        // A terminal that is full to its last column may wrap.
        let width = columns_now().saturating_sub(1).max(1);
        let most = self.plan.seconds().map(|most| format!(" of ≤{}", clock(most))).unwrap_or_default();
        let total = format!("total {}{most}", clock(self.began.elapsed().as_secs_f64()));
        self.redrawn.show([first, &total].map(|line| cut(self.output.aside.clean(line), width)));
    }

    /// Which round, or which load of how many.
    fn place(&self) -> Option<String> {
        let id = self.step?;
        if let Some(m) = self.plan.measure(id).filter(|m| is_round(m)) {
            return Some(format!("round {}", m.repetition));
        }
        let loads = || self.plan.measures();
        Some(format!("{}/{}", loads().position(|(step, _)| step.id == id)? + 1, loads().count()))
    }

    /// Why the events are incomplete. Whoever closes the pipe wants no more.
    pub fn incomplete(&self) -> Option<&io::Error> {
        self.unread.as_ref().filter(|e| e.kind() != io::ErrorKind::BrokenPipe)
    }

    /// The label of the load, and the drive if there are several.
    fn heading(&self, target: usize, label: &str) -> String {
        if self.plan.targets.len() > 1 {
            format!("{} {label}", self.plan.targets[target].given)
        } else {
            label.to_owned()
        }
    }
}

impl Watcher for Show<'_> {
    fn event(&mut self, event: &Event) {
        if let Way::Events = self.how {
            if !matches!(event, Event::Window { .. }) {
                if let Ok(value) = serde_json::to_value(event) {
                    self.line(&value);
                }
            }
            return;
        }
        match event {
            Event::End(_) => self.redrawn.end(),
            Event::Outcome { step, target, zone: None, outcome, .. } => {
                let Some(m) = self.plan.measure(*step) else { return };
                let alike = || self.plan.measures().filter(|(_, other)| other.label == m.label);
                let how = match &outcome.ended {
                    Ended::Finished | Ended::Stopped if alike().count() > EACH || is_round(m) => return,
                    Ended::Finished | Ended::Stopped => "done",
                    Ended::Cancelled => "stopped",
                    Ended::Failed { .. } => "failed",
                };
                let repeated = alike().any(|(_, other)| other.repetition > 1);
                let run = if repeated { format!(" run {}", m.repetition) } else { String::new() };
                let bytes = outcome.bytes_read + outcome.bytes_written;
                let moved = decimal_bytes(bytes);
                let whole = bytes as f64 / outcome.seconds;
                let estimate = self.estimates.remove(&(*target as usize));
                let speed = match estimate {
                    // Until the fsync, its speed was that of memory.
                    _ if m.load.lacks_fsync(Some(&outcome.ended)) => ", not brought to the drive".to_owned(),
                    Some(estimate) => format!(": {}", estimate.text(rate)),
                    None if whole.is_finite() => format!(": {}", rate(whole)),
                    None => String::new(),
                };
                let heading = self.heading(*target as usize, &m.label);
                let seconds = duration(outcome.seconds);
                let line = format!("  {heading}{run}: {how}, {moved} in {seconds}{speed}");
                self.redrawn.above(|| self.output.note(&line));
            }
            Event::Step { step, .. } => {
                self.begin(*step);
                let round = self.plan.measure(*step).filter(|m| is_round(m) && m.repetition > self.round);
                if let (Way::Plain, Some(m)) = (self.how, round) {
                    self.round = m.repetition;
                    self.output.note(&format!("  round {}", m.repetition));
                }
            }
            Event::Note { text, .. } => self.redrawn.above(|| self.output.warn(text)),
            _ => {}
        }
    }

    fn begins(&mut self, step: &Step) {
        self.begin(step.id);
        let label = step.act.label();
        for target in step.targets() {
            let heading = self.heading(target, &label);
            let line = format!("  {heading}: {}", step.act.describe().unwrap_or_default());
            match self.how {
                Way::Live => self.show(line.trim_start()),
                // There are dozens of file sets, and each takes little time.
                Way::Plain if step.act.is::<Files>() => {}
                Way::Plain => self.output.note(&line),
                Way::Events => self.line(&json!({
                    "event": "begin",
                    "target": target,
                    "label": label,
                    "repetition": self.repetitions.get(&step.id).map_or(1, |(nth, _)| *nth),
                })),
            }
        }
    }

    fn arrange(&mut self, wanted: &Wanted) {
        if let Way::Events = self.how {
            let mut value = json!(wanted);
            value["event"] = json!("wanted");
            return self.line(&value);
        }
        let all = self.plan.arrangements().count();
        self.redrawn.above(|| {
            self.output.note(&format!("  Arrangement {} of {all}:", wanted.number));
            for one in wanted.moves.iter().map(Move::describe).chain(wanted.waits.iter().cloned()) {
                self.output.marked("    - ", &one);
            }
            self.output.note(
                "  The run continues when all drives are in place. Ctrl-C stops it; --resume continues it later.",
            );
        });
    }

    fn asks(&mut self, text: &str) {
        match self.how {
            Way::Events => self.line(&json!({ "event": "asks", "text": text })),
            _ => self.redrawn.above(|| text.lines().for_each(|line| self.output.note(line))),
        }
    }

    fn runs(&mut self, command: &str) {
        match self.how {
            Way::Events => self.line(&json!({ "event": "runs", "command": command })),
            _ => self.redrawn.above(|| self.output.marked("  ", command)),
        }
    }

    fn waits(&mut self, text: &str) {
        match self.how {
            Way::Events => self.line(&json!({ "event": "waits", "text": text })),
            Way::Live => self.show(text),
            Way::Plain => self.output.note(&format!("  {text}")),
        }
    }

    fn progress(&mut self, p: &Progress<'_>) {
        if let Some(estimate) = &p.estimate {
            self.estimates.insert(p.target, estimate.clone());
        }
        let how = self.how;
        match how {
            Way::Live => {
                let (bytes, seconds) = budget(p.measure);
                let now = Now {
                    share: (p.bytes as f64 / bytes as f64).max(p.seconds / seconds).clamp(0.0, 1.0),
                    speed: p.estimate.as_ref().map_or(p.bytes as f64 / p.seconds, |e| e.value),
                    interval: p.estimate.as_ref().map(Estimate::half_width).filter(|half| half.is_finite()),
                };
                self.now.insert(p.target, now);
                if self.is_due(Duration::from_millis(200)) {
                    let heading = self.heading(p.target, &p.measure.label);
                    let now: Vec<Now> = self.now.values().copied().collect();
                    self.show(&first(self.place(), &heading, p.measure, &now));
                }
            }
            Way::Events if self.is_due(Duration::from_secs(1)) => self.line(&json!({
                "event": "progress",
                "target": p.target,
                "label": p.measure.label,
                "repetition": p.measure.repetition,
                "bytes": p.bytes,
                "seconds": p.seconds,
                "bytes_per_second": p.speed,
                "estimate": p.estimate,
                "cliffs": p.cliffs,
            })),
            Way::Events | Way::Plain => {}
        }
    }
}

fn cut(mut line: String, width: usize) -> String {
    while line.width() > width {
        line.pop();
    }
    line
}

/// `[3/6] RND4K Q1 write  46 %  31 IOPS ±22 %`
fn first(place: Option<String>, heading: &str, Measure { label, load, .. }: &Measure, now: &[Now]) -> String {
    let several = now.len() > 1;
    let heading = if several { format!("{label} on {} targets", now.len()) } else { heading.to_owned() };
    let place = place.map(|place| format!("[{place}] ")).unwrap_or_default();
    let speed: f64 = now.iter().map(|now| now.speed).sum();
    let speed = match load.pattern {
        Pattern::Random => format!("{} IOPS", thousands(speed / load.block as f64)),
        Pattern::Sequential => rate(speed),
    };
    let share = now.iter().map(|now| now.share).reduce(f64::min).unwrap_or(0.0);
    // The speeds of several are added up, their intervals can't be.
    let interval = now.first().and_then(|now| now.interval).filter(|_| !several);
    let interval = interval.map(|half| format!(" ±{}", percent(half))).unwrap_or_default();
    format!("{place}{heading}  {:>2.0} %  {speed}{interval}", share * 100.0)
}

/// `0:05`, `6:00`, `1:02:03`.
fn clock(seconds: f64) -> String {
    if seconds < 59.5 { format!("0:{seconds:02.0}") } else { duration(seconds.max(60.0)) }
}

fn is_round(m: &Measure) -> bool {
    matches!(m.rule, Rule::Round { .. })
}

/// The maximum bytes and seconds of a measurement on one target.
fn budget(m: &Measure) -> (u64, f64) {
    let (bytes, most) = m.rule.limits();
    // Few rounds take longer than their usual time.
    let seconds = if let Rule::Round { seconds, .. } = m.rule { Some(seconds) } else { most };
    (bytes.unwrap_or(m.reach / 2).max(1), seconds.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Caching, Direction, Load};

    #[test]
    fn a_line_says_what_a_load_does() {
        let now = Now { share: 0.46, speed: 31.0 * 4096.0, interval: Some(0.22) };
        let load = Load::new(Direction::Write, Pattern::Random, 4096, Caching::Direct, 1);
        let load = Measure::new("write", load, Rule::Fixed { bytes: 1000, seconds: Some(10.0) }, 1 << 20);
        let line = |several| first(Some("3/6".to_owned()), "write", &load, &vec![now; several]);
        assert_eq!(line(1), "[3/6] write  46 %  31 IOPS ±22 %");
        assert_eq!(line(4), "[3/6] write on 4 targets  46 %  124 IOPS");
        assert_eq!(cut(line(1), 7), "[3/6] w");
    }
}
