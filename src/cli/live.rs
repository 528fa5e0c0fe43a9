//! The two lines that are redrawn during a run: the load, and the run so far. What doesn't fit is cut off.

use std::{collections::BTreeMap, time::Instant};

use unicode_width::UnicodeWidthStr;

use super::{
    output::{Redrawn, columns_now},
    progress::is_round,
};
use crate::{
    plan::{Measure, Plan, StepId},
    record::Event,
    report::Style,
    units::{Pattern, duration, percent, rate, thousands},
};

/// The state of a running load on one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Now {
    /// The used share of its bytes or of its time, whichever is more.
    pub share: f64,
    /// Bytes per second.
    pub speed: f64,
    /// Half-width of the interval of the speed, as a share of the speed.
    pub interval: Option<f64>,
    /// The most time that is left to it, s; not known of a round.
    pub left: Option<f64>,
}

pub(super) struct Live<'a> {
    plan: &'a Plan,
    style: Style,
    redrawn: Redrawn,
    began: Instant,
    step: Option<StepId>,
    /// The running loads, by target.
    now: BTreeMap<usize, Now>,
}

impl<'a> Live<'a> {
    pub fn new(plan: &'a Plan, style: Style, visible: bool) -> Self {
        let (redrawn, began) = (Redrawn::new(visible), Instant::now());
        Self { plan, style, redrawn, began, step: None, now: BTreeMap::new() }
    }

    /// Prints lines above.
    pub fn above(&self, print: impl FnOnce()) {
        self.redrawn.above(print);
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Step { step, .. } => self.begin(*step),
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

    /// Shows a load; `heading` is its label, and its drive if there are several.
    pub fn draw(&self, heading: &str, load: &Measure) {
        let now: Vec<Now> = self.now.values().copied().collect();
        self.show(&first(self.place(), heading, load, &now));
    }

    /// Shows what is done now, above `total 1:10 of ≤2:00`.
    pub fn show(&self, first: &str) {
        // A terminal that is full to its last column may wrap.
        let width = columns_now().saturating_sub(1).max(1);
        let most = self.plan.seconds().map(|most| format!(" of ≤{}", clock(most))).unwrap_or_default();
        let total = format!("total {}{most}", clock(self.began.elapsed().as_secs_f64()));
        self.redrawn.show([first, &total].map(|line| cut(self.style.clean(line), width)));
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
        plan::{Rule, ScratchFile, Steps},
        units::{Caching, Direction, EngineInfo, Load},
    };

    fn measure(direction: Direction) -> Measure {
        let load = Load::new(direction, Pattern::Random, 4096, Caching::Direct, 1);
        Measure::new("write", load, Rule::Fixed { bytes: 1000, seconds: Some(10.0) }, 1 << 20)
    }

    #[test]
    fn a_line_says_what_a_load_does() {
        let now = Now { share: 0.46, speed: 31.0 * 4096.0, interval: Some(0.22), left: Some(18.0) };
        let load = measure(Direction::Write);
        let line = |several| first(Some("3/6".to_owned()), "write", &load, &vec![now; several]);
        assert_eq!(line(1), "[3/6] write  46 %  31 IOPS ±22 %  up to 18 s left");
        assert_eq!(line(4), "[3/6] write on 4 targets  46 %  124 IOPS  up to 18 s left");
        assert_eq!(cut(line(1), 7), "[3/6] w");
    }

    #[test]
    fn loads_are_counted() {
        let mut steps = Steps::default();
        steps.add(&[0, 1], ScratchFile { bytes: 1 << 20 });
        for direction in [Direction::Write, Direction::Read] {
            steps.add(&[0, 1], measure(direction));
        }
        let plan = Plan { experiment: "baseline".to_owned(), steps: steps.into(), ..Plan::default() };
        let mut live = Live::new(&plan, Style::PLAIN, false);
        assert_eq!(live.place(), None);
        live.event(&Event::Step {
            step: StepId(1),
            engine: EngineInfo { name: String::new(), detail: None, modelled: false },
            at: String::new(),
            instead: None,
        });
        assert_eq!(live.place().as_deref(), Some("1/2"));
    }
}
