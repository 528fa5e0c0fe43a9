//! The two lines that are redrawn during a run: the load, and the run so far. What doesn't fit is dropped, the least
//! important first.

use std::{collections::BTreeMap, time::Instant};

use unicode_width::UnicodeWidthStr;

use super::{
    output::{Redrawn, columns_now},
    progress::is_round,
};
use crate::{
    analyse::rounds::{self, Piece},
    plan::{Condition, FileWork, Files, Measure, Plan, Rule, Step, StepId},
    record::Event,
    report::Style,
    units::{self, Direction, Pattern, count, decimal_bytes, duration, percent, rate, thousands},
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
    pub stalls: usize,
}

pub(super) struct Load<'a> {
    /// Its label, and its drive if there are several.
    pub heading: &'a str,
    pub label: &'a str,
    pub load: &'a units::Load,
}

/// The run so far.
#[derive(Debug, Default)]
struct Totals {
    seconds: f64,
    /// The least and the most time that is left to the run, s.
    left: Option<(f64, f64)>,
    /// Bytes written.
    written: u64,
    written_at_most: u64,
    stalls: usize,
    /// Latency of the slowest operation, s.
    longest: Option<f64>,
}

pub(super) struct Live<'a> {
    plan: &'a Plan,
    style: Style,
    redrawn: Redrawn,
    began: Instant,
    /// The running step, and when it began.
    step: Option<(StepId, Instant)>,
    /// How long steps of each label took, s, and how many there were.
    took: BTreeMap<String, (f64, u32)>,
    /// The rounds of each load that were done, by target and label.
    rounds: BTreeMap<(u32, String), Vec<Piece>>,
    /// The running loads, by target.
    now: BTreeMap<usize, Now>,
    /// Sums over loads and acts that have ended; of all operations the longest.
    totals: Totals,
}

impl<'a> Live<'a> {
    pub fn new(plan: &'a Plan, style: Style, visible: bool) -> Self {
        let costs = plan.steps.iter().map(|step| (step.act.cost(), step.on.len() as u64));
        let written = costs.clone().map(|(cost, on)| cost.written.saturating_mul(on));
        let totals = Totals { written_at_most: written.fold(0, u64::saturating_add), ..Totals::default() };
        let (took, rounds, now) = Default::default();
        let (redrawn, began) = (Redrawn::new(visible), Instant::now());
        Self { plan, style, redrawn, began, step: None, took, rounds, now, totals }
    }

    /// Prints lines above.
    pub fn above(&self, print: impl FnOnce()) {
        self.redrawn.above(print);
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Step { step, .. } => {
                self.begin(*step);
            }
            Event::Window { window, .. } => {
                let longest = window.latency.max().map(|ns| ns as f64 / 1e9);
                self.totals.longest = self.totals.longest.into_iter().chain(longest).reduce(f64::max);
            }
            Event::Outcome { step, target, outcome, .. } => {
                if let Some(m) = self.plan.measure(*step).filter(|m| is_round(m)) {
                    let bytes = outcome.bytes_read + outcome.bytes_written;
                    let piece = Piece { bytes, seconds: outcome.seconds };
                    self.rounds.entry((*target, m.label.clone())).or_default().push(piece);
                }
                self.totals.written += outcome.bytes_written;
                if let Some(now) = self.now.get_mut(&(*target as usize)) {
                    now.bytes = 0;
                }
            }
            Event::Act { step, result, .. } => {
                let act = self.plan.step(*step).map(|step| &step.act);
                if act.and_then(|act| act.get::<Files>()).is_some_and(|files| files.work != FileWork::Read) {
                    self.totals.written += result.bytes;
                }
            }
            Event::End(_) => {
                self.fold();
                self.redrawn.end();
            }
            _ => {}
        }
    }

    /// A step begins, and the one before has ended.
    pub fn begin(&mut self, step: StepId) {
        self.fold();
        if let Some((before, began)) = self.step.replace((step, Instant::now())) {
            if let Some(before) = self.plan.step(before) {
                let (seconds, steps) = self.took.entry(before.act.label()).or_default();
                *seconds += began.elapsed().as_secs_f64();
                *steps += 1;
            }
        }
    }

    /// The least and the most time that is left, s; `None` if that can't be said. A step is expected to take as long as those of
    /// its label did, and before there was one, as long as it may. Rounds that only a wide interval needs are the difference.
    pub fn left(&self) -> Option<(f64, f64)> {
        let (mut least, mut most) = (0.0, 0.0);
        let mut to_come = self.plan.steps.iter();
        if let Some((id, began)) = self.step {
            let step = to_come.find(|step| step.id == id)?;
            let running = self.now.values().filter_map(|now| now.left).reduce(f64::max);
            let left =
                running.or_else(|| Some((self.expected(step)? - began.elapsed().as_secs_f64()).max(0.0)))?;
            (least, most) = (left, left);
        }
        for step in to_come {
            let seconds = self.expected(step)?;
            let wide = self.is_wide(step);
            least += if wide == Some(true) { seconds } else { 0.0 };
            most += if wide == Some(false) { 0.0 } else { seconds };
        }
        let limit =
            self.plan.limit.and_then(|_| Some(self.plan.seconds()? - self.began.elapsed().as_secs_f64()));
        let limit = limit.unwrap_or(f64::INFINITY).max(0.0);
        Some((least.min(limit), most.min(limit)))
    }

    fn expected(&self, step: &Step) -> Option<f64> {
        let took = self.took.get(&step.act.label()).map(|(seconds, steps)| seconds / f64::from(*steps));
        let planned = || match step.act.get::<Measure>().map(|m| &m.rule) {
            Some(Rule::Round { seconds, .. }) => Some(*seconds),
            _ => self.plan.most(step),
        };
        took.or_else(planned)
    }

    /// Whether a step is needed, as far as the rounds so far tell.
    fn is_wide(&self, step: &Step) -> Option<bool> {
        let (Some(Condition::Wide), Some(m)) = (step.needs, step.act.get::<Measure>()) else {
            return Some(true);
        };
        let Rule::Round { precision, .. } = m.rule else { return Some(true) };
        let of = |target: usize| self.rounds.get(&(target as u32, m.label.clone()));
        let each = step.targets().map(|target| {
            let rounds = of(target).filter(|pieces| pieces.len() >= rounds::LEAST)?;
            Some(rounds::is_wide(rounds, precision))
        });
        each.reduce(|one, other| if one == Some(true) { one } else { other }).flatten()
    }

    /// Adds up what has ended.
    fn fold(&mut self) {
        self.totals.stalls += self.now.values().map(|now| now.stalls).sum::<usize>();
        self.now.clear();
    }

    pub fn load(&mut self, target: usize, now: Now) {
        self.now.insert(target, now);
    }

    /// A step without loads.
    pub fn step(&self, what: &str) {
        let line = |width| cut(self.style.clean(what), width);
        self.show(line, &self.totals());
    }

    pub fn draw(&self, load: &Load<'_>) {
        let now: Vec<Now> = self.now.values().copied().collect();
        let totals = self.totals();
        let written = match load.load.direction {
            Direction::Read => 0.0,
            Direction::Write => 1.0,
            Direction::Mixed { read_percent } => 1.0 - f64::from(read_percent) / 100.0,
        };
        let bytes: u64 = now.iter().map(|now| now.bytes).sum();
        let totals = Totals {
            written: totals.written + (bytes as f64 * written) as u64,
            stalls: totals.stalls + now.iter().map(|now| now.stalls).sum::<usize>(),
            ..totals
        };
        self.show(|width| first(self.place(), load, &now, self.style, width), &totals);
    }

    fn totals(&self) -> Totals {
        Totals { seconds: self.began.elapsed().as_secs_f64(), left: self.left(), ..self.totals }
    }

    fn show(&self, line: impl Fn(usize) -> String, totals: &Totals) {
        // A terminal that is full to its last column may wrap.
        let width = columns_now().saturating_sub(1).max(1);
        self.redrawn.show([line(width), second(totals, self.style, width)]);
    }

    /// Which round, or which load of how many.
    fn place(&self) -> Option<String> {
        let (id, _) = self.step?;
        if let Some(m) = self.plan.measure(id).filter(|m| is_round(m)) {
            return Some(format!("round {}", m.repetition));
        }
        let loads = || self.plan.measures();
        Some(format!("{}/{}", loads().position(|(step, _)| step.id == id)? + 1, loads().count()))
    }
}

/// A part of a line.
struct Part {
    /// Parts of a low rank are more important; the first part of a line has rank 0.
    rank: u8,
    /// The separator from the part before.
    gap: &'static str,
    text: String,
}

impl Part {
    fn new(rank: u8, gap: &'static str, text: String) -> Self {
        Self { rank, gap, text }
    }
}

/// The parts that fit, in their order: as many ranks as possible. The first part is always there, cut where it must be.
fn fitted(parts: &[Part], width: usize) -> String {
    let line = |most: u8| {
        let shown = parts.iter().filter(|part| part.rank <= most);
        shown.flat_map(|part| [part.gap, part.text.as_str()]).collect::<String>()
    };
    let most = parts.iter().map(|part| part.rank).max().unwrap_or(0);
    let fits = (0..=most).map(line).take_while(|line| line.width() <= width).last();
    fits.unwrap_or_else(|| cut(line(0), width))
}

fn cut(mut line: String, width: usize) -> String {
    while line.width() > width {
        line.pop();
    }
    line
}

/// `[3/6] RND4K Q1 write  46 %  31 IOPS ±22 %  up to 18 s left`
fn first(place: Option<String>, load: &Load<'_>, now: &[Now], style: Style, width: usize) -> String {
    let several = now.len() > 1;
    let heading = match several {
        true => format!("{} on {} targets", load.label, now.len()),
        false => load.heading.to_owned(),
    };
    let place = place.map(|place| format!("[{place}] ")).unwrap_or_default();
    let heading = place + &heading;
    let speed: f64 = now.iter().map(|now| now.speed).sum();
    let speed = match load.load.pattern {
        Pattern::Random => format!("{} IOPS", thousands(speed / load.load.block as f64)),
        Pattern::Sequential => rate(speed),
    };
    let share = now.iter().map(|now| now.share).reduce(f64::min).unwrap_or(0.0);
    let left = now.iter().filter_map(|now| now.left).reduce(f64::max);
    // The speeds of several are added up, their intervals can't be.
    let interval = now.first().and_then(|now| now.interval).filter(|_| !several);
    let mut parts = vec![
        Part::new(0, "", style.clean(&heading)),
        Part::new(2, "  ", format!("{:>2.0} %", share * 100.0)),
        Part::new(1, "  ", speed),
    ];
    parts.extend(interval.map(|half| Part::new(4, " ", style.text(&format!("±{}", percent(half))))));
    let left = left.map(|left| format!("up to {} left", duration(left.ceil().max(1.0))));
    parts.extend(left.map(|left| Part::new(3, "  ", style.text(&left))));
    fitted(&parts, width)
}

/// `total 1:10, about 0:50 left · written 0.3 of ≤1.5 GB · 2 stalls, longest 2.6 s`
fn second(totals: &Totals, style: Style, width: usize) -> String {
    let mut parts = vec![Part::new(0, "", format!("total {}", clock(totals.seconds)))];
    parts.extend(totals.left.map(|left| Part::new(1, ", ", time_left(left))));
    if totals.written_at_most > 0 {
        let (so_far, most) = (decimal_bytes(totals.written), decimal_bytes(totals.written_at_most));
        parts.push(Part::new(4, " · ", format!("written {so_far} of ≤{most}")));
    }
    if totals.stalls > 0 {
        parts.push(Part::new(2, " · ", count(totals.stalls as u64, "stall")));
        let longest = totals.longest.map(|longest| format!("longest {}", duration(longest)));
        parts.extend(longest.map(|longest| Part::new(3, ", ", longest)));
    }
    let parts: Vec<Part> = parts
        .into_iter()
        .map(|part| Part {
            text: style.text(&part.text),
            gap: if style.unicode || part.gap != " · " { part.gap } else { " - " },
            ..part
        })
        .collect();
    fitted(&parts, width)
}

/// `about 0:50 left`, or `0:50 to 1:40 left` where rounds may be needed that are not due yet.
pub(super) fn time_left((least, most): (f64, f64)) -> String {
    match (clock(least), clock(most)) {
        (least, most) if least != most => format!("{least} to {most} left"),
        (_, most) => format!("about {most} left"),
    }
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
        units::{Caching, Ended, EngineInfo, Histogram, Outcome, Window},
    };

    fn lines(width: usize, style: Style, several: usize) -> String {
        let load = units::Load::new(Direction::Write, Pattern::Random, 4096, Caching::Direct, 1);
        let now = Now {
            bytes: 300_000_000,
            share: 0.46,
            speed: 31.0 * 4096.0,
            interval: Some(0.22),
            left: Some(18.0),
            stalls: 2,
        };
        let load = Load { heading: "RND4K Q1 write", label: "RND4K Q1 write", load: &load };
        let totals = Totals {
            seconds: 70.2,
            left: Some((49.8, 50.2)),
            written: 300_000_000,
            written_at_most: 1_500_000_000,
            stalls: 2,
            longest: Some(2.6),
        };
        let now = vec![now; several];
        format!(
            "{}\n{}\n",
            first(Some("3/6".to_owned()), &load, &now, style, width),
            second(&totals, style, width)
        )
    }

    #[test]
    fn parts_are_dropped_in_order_of_importance() {
        let ascii = Style { unicode: false, ..Style::PLAIN };
        let at = |width| lines(width, Style::PLAIN, 1);
        insta::assert_snapshot!(
            [at(99), at(79), at(59), at(49), at(39), lines(79, ascii, 1), lines(79, Style::PLAIN, 4)]
                .join("\n")
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let ascii = Style { unicode: false, ..Style::PLAIN };
        for width in 1..=120 {
            for text in [lines(width, Style::PLAIN, 1), lines(width, ascii, 2)] {
                assert!(
                    text.lines().count() <= 2 && text.lines().all(|l| l.width() <= width),
                    "{width}: {text}"
                );
            }
        }
    }

    #[test]
    fn what_is_left_follows_from_the_rounds_so_far() {
        let load = units::Load::new(Direction::Read, Pattern::Random, 4096, Caching::Direct, 1);
        let rule = Rule::Round { bytes: 1 << 20, seconds: 1.0, longest: 8.0, precision: 0.1 };
        let mut steps = Steps::default();
        for repetition in 1..=6 {
            let needs = (repetition > 4).then_some(Condition::Wide);
            steps.add_if(
                needs,
                &[0],
                Measure { repetition, ..Measure::new("load", load.clone(), rule.clone(), 1 << 20) },
            );
        }
        let plan = Plan { experiment: "baseline".to_owned(), steps: steps.into(), ..Plan::default() };
        let left = |bytes: [u64; 4]| {
            let mut live = Live::new(&plan, Style::PLAIN, false);
            assert_eq!(live.left(), Some((4.0, 6.0)), "planned");
            for (at, bytes_read) in (0..).zip(bytes) {
                live.begin(StepId(at));
                let outcome = Outcome { bytes_read, seconds: 1.0, ..Outcome::nothing(Ended::Finished) };
                live.event(&Event::Outcome { step: StepId(at), target: 0, zone: None, outcome, again: None });
            }
            // Each took 3 s.
            live.took.insert("load".to_owned(), (9.0, 3));
            let (least, most) = live.left().expect("known");
            (least.round(), most.round())
        };
        assert_eq!(left([100; 4]), (3.0, 3.0), "the running one");
        assert_eq!(left([100, 200, 300, 400]), (9.0, 9.0), "and those that a wide interval needs");
        assert_eq!(time_left((49.8, 50.2)), "about 0:50 left");
        assert_eq!(time_left((50.0, 100.0)), "0:50 to 1:40 left");
    }

    #[test]
    fn bytes_and_stalls_of_ended_loads_are_added_up() {
        let mut steps = Steps::default();
        steps.add(&[0, 1], ScratchFile { bytes: 1 << 20 });
        for direction in [Direction::Write, Direction::Read] {
            let load = units::Load::new(direction, Pattern::Sequential, 4096, Caching::Direct, 1);
            let rule = Rule::Fixed { bytes: 1000, seconds: Some(10.0) };
            steps.add(&[0, 1], Measure::new("load", load, rule, 1 << 20));
        }
        let plan = Plan { experiment: "baseline".to_owned(), steps: steps.into(), ..Plan::default() };
        let mut live = Live::new(&plan, Style::PLAIN, false);
        assert_eq!(live.totals.written_at_most, 2000);
        let left = live.left().expect("known");
        assert_eq!(left, (20.1, 20.1));
        let step = |step| Event::Step {
            step: StepId(step),
            engine: EngineInfo { name: String::new(), detail: None, modelled: false },
            at: String::new(),
            instead: None,
        };
        let now = Now { bytes: 900, share: 0.9, speed: 1.0, interval: None, left: None, stalls: 2 };
        assert_eq!(live.place(), None);
        live.event(&step(1));
        assert_eq!(live.place().as_deref(), Some("1/2"));
        for target in [0, 1] {
            live.load(target, now);
            let outcome = Outcome { bytes_written: 1000, ..Outcome::nothing(Ended::Finished) };
            live.event(&Event::Outcome {
                step: StepId(1),
                target: target as u32,
                zone: None,
                outcome,
                again: None,
            });
            assert_eq!(live.now[&target].bytes, 0, "they count once");
        }
        live.event(&step(2));
        assert_eq!(
            (live.place().as_deref(), live.totals.written, live.totals.stalls),
            (Some("2/2"), 2000, 4)
        );
        let latency = Histogram::of(&mut [1_000_000, 2_000_000_000]);
        let window = Window { latency, ..Window::default() };
        live.event(&Event::Window { step: StepId(2), target: 0, zone: None, window });
        let longest = live.totals.longest.expect("an operation");
        assert!((1.9..2.1).contains(&longest), "{longest}");
    }
}
