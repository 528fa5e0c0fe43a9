//! The two lines that are redrawn during a run: the load, and the run so far. What doesn't fit is cut off.

use std::{collections::BTreeMap, time::Instant};

use unicode_width::UnicodeWidthStr;

use super::{
    output::{Redrawn, columns_now},
    progress::is_round,
};
use crate::{
    plan::{FileWork, Files, Plan, StepId},
    record::Event,
    report::Style,
    units::{self, Direction, Pattern, decimal_bytes, duration, percent, rate, thousands},
};

/// The state of a running load on one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Now {
    pub bytes: u64,
    /// The used share of its bytes or of its time, whichever is more.
    pub share: f64,
    /// Bytes per second.
    pub speed: f64,
    /// Half-width of the interval of the speed, as a share of the speed.
    pub interval: Option<f64>,
    /// The most time that is left to it, s; not known of a round.
    pub left: Option<f64>,
}

pub(super) struct Load<'a> {
    /// Its label, and its drive if there are several.
    pub heading: &'a str,
    pub label: &'a str,
    pub load: &'a units::Load,
}

pub(super) struct Live<'a> {
    plan: &'a Plan,
    style: Style,
    redrawn: Redrawn,
    began: Instant,
    step: Option<StepId>,
    /// The running loads, by target.
    now: BTreeMap<usize, Now>,
    /// Bytes written by loads and acts that have ended.
    written: u64,
    written_at_most: u64,
}

impl<'a> Live<'a> {
    pub fn new(plan: &'a Plan, style: Style, visible: bool) -> Self {
        let costs = plan.steps.iter().map(|step| (step.act.cost(), step.on.len() as u64));
        let written_at_most = costs.map(|(cost, on)| cost.written.saturating_mul(on));
        Self {
            plan,
            style,
            redrawn: Redrawn::new(visible),
            began: Instant::now(),
            step: None,
            now: BTreeMap::new(),
            written: 0,
            written_at_most: written_at_most.fold(0, u64::saturating_add),
        }
    }

    /// Prints lines above.
    pub fn above(&self, print: impl FnOnce()) {
        self.redrawn.above(print);
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Step { step, .. } => self.begin(*step),
            Event::Outcome { target, outcome, .. } => {
                self.written += outcome.bytes_written;
                if let Some(now) = self.now.get_mut(&(*target as usize)) {
                    now.bytes = 0;
                }
            }
            Event::Act { step, result, .. } => {
                let act = self.plan.step(*step).map(|step| &step.act);
                if act.and_then(|act| act.get::<Files>()).is_some_and(|files| files.work != FileWork::Read) {
                    self.written += result.bytes;
                }
            }
            Event::End(_) => self.redrawn.end(),
            _ => {}
        }
    }

    /// A step begins, and the one before has ended.
    pub fn begin(&mut self, step: StepId) {
        self.now.clear();
        self.step = Some(step);
    }

    pub fn load(&mut self, target: usize, now: Now) {
        self.now.insert(target, now);
    }

    /// A step without loads.
    pub fn step(&self, what: &str) {
        self.show(what, self.written);
    }

    pub fn draw(&self, load: &Load<'_>) {
        let now: Vec<Now> = self.now.values().copied().collect();
        let written = match load.load.direction {
            Direction::Read => 0.0,
            Direction::Write => 1.0,
            Direction::Mixed { read_percent } => 1.0 - f64::from(read_percent) / 100.0,
        };
        let bytes: u64 = now.iter().map(|now| now.bytes).sum();
        self.show(&first(self.place(), load, &now), self.written + (bytes as f64 * written) as u64);
    }

    fn show(&self, first: &str, written: u64) {
        // A terminal that is full to its last column may wrap.
        let width = columns_now().saturating_sub(1).max(1);
        let second = self.second(written);
        self.redrawn.show([first, &second].map(|line| cut(self.style.clean(line), width)));
    }

    /// `total 1:10 of ≤2:00 · written 0.3 GB of ≤1.5 GB`
    fn second(&self, written: u64) -> String {
        let most = self.plan.seconds().map(|most| format!(" of ≤{}", clock(most))).unwrap_or_default();
        let total = format!("total {}{most}", clock(self.began.elapsed().as_secs_f64()));
        match self.written_at_most {
            0 => total,
            most => format!("{total} · written {} of ≤{}", decimal_bytes(written), decimal_bytes(most)),
        }
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
}

fn cut(mut line: String, width: usize) -> String {
    while line.width() > width {
        line.pop();
    }
    line
}

/// `[3/6] RND4K Q1 write  46 %  31 IOPS ±22 %  up to 18 s left`
fn first(place: Option<String>, load: &Load<'_>, now: &[Now]) -> String {
    let several = now.len() > 1;
    let heading = match several {
        true => format!("{} on {} targets", load.label, now.len()),
        false => load.heading.to_owned(),
    };
    let place = place.map(|place| format!("[{place}] ")).unwrap_or_default();
    let speed: f64 = now.iter().map(|now| now.speed).sum();
    let speed = match load.load.pattern {
        Pattern::Random => format!("{} IOPS", thousands(speed / load.load.block as f64)),
        Pattern::Sequential => rate(speed),
    };
    let share = now.iter().map(|now| now.share).reduce(f64::min).unwrap_or(0.0);
    // The speeds of several are added up, their intervals can't be.
    let interval = now.first().and_then(|now| now.interval).filter(|_| !several);
    let interval = interval.map(|half| format!(" ±{}", percent(half))).unwrap_or_default();
    let left = now.iter().filter_map(|now| now.left).reduce(f64::max);
    let left =
        left.map(|left| format!("  up to {} left", duration(left.ceil().max(1.0)))).unwrap_or_default();
    format!("{place}{heading}  {:>2.0} %  {speed}{interval}{left}", share * 100.0)
}


/// `0:05`, `6:00`, `1:02:03`.
fn clock(seconds: f64) -> String {
    if seconds < 59.5 { format!("0:{seconds:02.0}") } else { duration(seconds.max(60.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Measure, Rule, ScratchFile, Steps},
        units::{Caching, Ended, EngineInfo, Outcome},
    };

    fn now(bytes: u64) -> Now {
        Now { bytes, share: 0.46, speed: 31.0 * 4096.0, interval: Some(0.22), left: Some(18.0) }
    }

    #[test]
    fn a_line_says_what_a_load_does() {
        let load = units::Load::new(Direction::Write, Pattern::Random, 4096, Caching::Direct, 1);
        let load = Load { heading: "write", label: "write", load: &load };
        let line = |several| first(Some("3/6".to_owned()), &load, &vec![now(0); several]);
        assert_eq!(line(1), "[3/6] write  46 %  31 IOPS ±22 %  up to 18 s left");
        assert_eq!(line(4), "[3/6] write on 4 targets  46 %  124 IOPS  up to 18 s left");
        assert_eq!(cut(line(1), 7), "[3/6] w");
    }


    #[test]
    fn bytes_of_ended_loads_are_added_up() {
        let mut steps = Steps::default();
        steps.add(&[0, 1], ScratchFile { bytes: 1 << 20 });
        for direction in [Direction::Write, Direction::Read] {
            let load = units::Load::new(direction, Pattern::Sequential, 4096, Caching::Direct, 1);
            let rule = Rule::Fixed { bytes: 1000, seconds: Some(10.0) };
            steps.add(&[0, 1], Measure::new("load", load, rule, 1 << 20));
        }
        let plan = Plan { experiment: "baseline".to_owned(), steps: steps.into(), ..Plan::default() };
        let mut live = Live::new(&plan, Style::PLAIN, false);
        assert_eq!(live.written_at_most, 2000);
        assert_eq!(live.place(), None);
        live.event(&Event::Step {
            step: StepId(1),
            engine: EngineInfo { name: String::new(), detail: None, modelled: false },
            at: String::new(),
            instead: None,
        });
        assert_eq!(live.place().as_deref(), Some("1/2"));
        for target in [0, 1] {
            live.load(target, now(900));
            let outcome = Outcome { bytes_written: 1000, ..Outcome::nothing(Ended::Finished) };
            let (step, target) = (StepId(1), target as u32);
            live.event(&Event::Outcome { step, target, zone: None, outcome, again: None });
            assert_eq!(live.now[&(target as usize)].bytes, 0, "they count once");
        }
        assert_eq!(live.second(live.written), "total 0:00 of ≤0:20 · written 2.00 kB of ≤2.00 kB");
    }
}
