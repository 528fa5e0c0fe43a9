//! How long members take for a phase: requests wait in queues, for processors, and for what drives share.

use std::collections::VecDeque;

use super::{
    Planned, Shared, Transfer,
    phases::{Part, Phase},
};

/// The stages of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A processor prepares it.
    Submit,
    Drive,
    /// A processor completes it.
    Complete,
}

/// A member with the requests that were sent to it.
#[derive(Debug, Clone)]
struct Member {
    /// The size and the end of each queued request, the one in work first.
    queue: VecDeque<(u64, u64)>,
    stage: Stage,
    /// Seconds left in its stage.
    left: f64,
    /// Whether nothing more is sent until its queue is empty.
    drains: bool,
    /// Number of completed requests, and bytes sent to the member.
    completed: u64,
    sent: u64,
}

/// A stalled request: the nth of a member.
#[derive(Debug, Clone, Copy)]
struct Stall {
    at: usize,
    nth: u64,
    seconds: f64,
}

struct Flow<'a> {
    pool: &'a Planned<'a>,
    transfer: Transfer,
    members: Vec<Member>,
    /// Members that need a processor, in order.
    waiting: VecDeque<usize>,
    /// Where the last completed request of each member ended.
    ends: &'a mut [u64],
    /// Share by which members with even numbers are faster and the others slower.
    lead: f64,
    stall: Option<Stall>,
}

/// Share by which the speeds of equal drives differ from moment to moment.
const LEAD: f64 = 0.01;

/// Seconds until all parts are done. They are sent one after the other, in requests; a full queue stops the sender. A drive
/// has one request at a time. Drives work at the same time, all slower where what they share is not enough; a processor
/// works for one drive at a time.
pub(super) fn seconds(pool: &Planned<'_>, phase: &Phase, ends: &mut [u64]) -> f64 {
    let drains = |part: &Part| pool.room(phase.transfer, part.at).1;
    if !phase.parts.iter().any(drains) {
        return seconds_with_stalls(pool, phase, ends, 0.0);
    }
    // Which of equal drives is first decides how long the next waits: in turn.
    [LEAD, -LEAD].map(|lead| seconds_with_stalls(pool, phase, ends, lead)).iter().sum::<f64>() / 2.0
}

/// Mean time of a phase whose members with even numbers are faster by `lead`, as a share, and the others slower. A stall delays
/// the phase if it is longer than the other members need. All such delays add up; two stalls at once delay it only once.
fn seconds_with_stalls(pool: &Planned<'_>, phase: &Phase, ends: &mut [u64], lead: f64) -> f64 {
    let stalls = |at: usize| pool.members[at].stalls[phase.transfer as usize];
    if (0..pool.members.len()).all(|at| stalls(at).per_byte == 0.0) {
        return seconds_of(pool, phase, ends, (lead, None)).0;
    }
    let before = ends.to_vec();
    let (even, sent) = seconds_of(pool, phase, ends, (lead, None));
    let (mut stalled, mut sum, mut none) = (0.0, 0.0, 1.0);
    for (at, (bytes, requests)) in sent.into_iter().enumerate() {
        let stalls = stalls(at);
        if requests == 0 || stalls.per_byte == 0.0 {
            continue;
        }
        let stall = Stall { at, nth: requests / 2, seconds: stalls.seconds };
        let (longer, _) = seconds_of(pool, phase, &mut before.clone(), (lead, Some(stall)));
        let often = bytes as f64 * stalls.per_byte / stalls.seconds;
        stalled += often * (longer - even);
        // Each stalls more than once only where the phase has many operations.
        let share = often.min(1.0);
        (sum, none) = (sum + share, none * (1.0 - share));
    }
    if sum == 0.0 { even } else { even + stalled * (1.0 - none) / sum }
}

/// The time with or without a stall, and the bytes and requests of each member.
fn seconds_of(
    pool: &Planned<'_>,
    phase: &Phase,
    ends: &mut [u64],
    (lead, stall): (f64, Option<Stall>),
) -> (f64, Vec<(u64, u64)>) {
    let mut requests = requests(pool, phase);
    let queue = VecDeque::new();
    let idle = Member { queue, stage: Stage::Submit, left: 0.0, drains: false, completed: 0, sent: 0 };
    let members = vec![idle; pool.members.len()];
    let waiting = VecDeque::new();
    let mut flow = Flow { pool, transfer: phase.transfer, members, waiting, ends, lead, stall };
    let mut seconds = pool.parity.seconds(pool.layout, phase.combined);
    let mut next = requests.next().map(|part| flow.choose(part));
    loop {
        while next.is_some_and(|part| flow.send(part)) {
            next = requests.next().map(|part| flow.choose(part));
        }
        let Some(step) = flow.advance() else { break };
        seconds += step;
    }
    (seconds, flow.members.iter().map(|member| (member.sent, member.completed)).collect())
}

fn requests<'a>(pool: &'a Planned<'_>, phase: &'a Phase) -> impl Iterator<Item = Part> + use<'a> {
    phase.parts.iter().flat_map(|part| {
        let most = pool.members[part.at].queue.request;
        (0..part.bytes.div_ceil(most)).map(move |nth| {
            let or = part.or.map(|(at, from)| (at, from + nth * most));
            Part { from: part.from + nth * most, or, bytes: most.min(part.bytes - nth * most), ..*part }
        })
    })
}

impl Flow<'_> {
    /// The copy that md's raid10 reads, chosen before it checks for a free place in the queue: the first idle one;
    /// otherwise the one with fewer requests on non-rotating drives, or the one that read nearest on others.
    fn choose(&self, part: Part) -> Part {
        let Some((at, from)) = part.or else { return part };
        let queued = |at: usize| self.members[at].queue.len();
        let rotates = |at: usize| self.pool.members[at].rotates;
        let far = |at: usize, from: u64| if queued(at) == 0 { 0 } else { self.ends[at].abs_diff(from) };
        let takes_other = match (rotates(part.at), rotates(at)) {
            (true, true) => far(at, from) < far(part.at, part.from),
            (false, false) => queued(at) < queued(part.at),
            (first_rotates, _) => first_rotates,
        };
        if takes_other { Part { at, from, ..part } } else { part }
    }

    /// Whether the queue of its member has a free place.
    fn send(&mut self, Part { at, from, bytes, .. }: Part) -> bool {
        let (room, drains) = self.pool.room(self.transfer, at);
        let member = &mut self.members[at];
        let is_full = member.queue.len() >= room;
        member.drains = !member.queue.is_empty() && (member.drains || is_full && drains);
        if is_full || member.drains {
            return false;
        }
        self.members[at].queue.push_back((bytes, from + bytes));
        self.members[at].sent += bytes;
        if self.members[at].queue.len() == 1 {
            self.enter(at, Stage::Submit);
        }
        true
    }

    /// Advances to the first completion of a stage; returns the seconds until then.
    fn advance(&mut self) -> Option<f64> {
        let on_processor = self.waiting.iter().take(self.pool.cores).map(|at| (*at, self.members[*at].left));
        let on_drive = self.on_drive().map(|(at, member)| (at, member.left * self.slower(at)));
        let working: Vec<(usize, f64)> = on_processor.chain(on_drive).collect();
        let step = working.iter().map(|(_, left)| *left).min_by(f64::total_cmp)?;
        for (at, left) in working {
            if left > step {
                self.members[at].left *= 1.0 - step / left;
            } else {
                self.leave(at);
            }
        }
        Some(step)
    }

    /// A member begins a stage of its first request. Half of a processor's work comes before the drive's, half after.
    fn enter(&mut self, at: usize, stage: Stage) {
        let (alone, processor) = self.costs(at);
        self.members[at].stage = stage;
        self.members[at].left = if stage == Stage::Drive { alone - processor } else { processor / 2.0 };
        if stage != Stage::Drive {
            self.waiting.push_back(at);
        }
    }

    /// A member is done with a stage of its first request.
    fn leave(&mut self, at: usize) {
        self.waiting.retain(|other| *other != at);
        match self.members[at].stage {
            Stage::Submit => self.enter(at, Stage::Drive),
            Stage::Drive => self.enter(at, Stage::Complete),
            Stage::Complete => {
                self.ends[at] = self.members[at].queue.pop_front().map_or(0, |(_, end)| end);
                self.members[at].completed += 1;
                if !self.members[at].queue.is_empty() {
                    self.enter(at, Stage::Submit);
                }
            }
        }
    }

    /// Seconds that a member alone needs for its first request, and the part of a processor.
    fn costs(&self, at: usize) -> (f64, f64) {
        let (bytes, _) = self.members[at].queue[0];
        let lead = if at % 2 == 0 { self.lead } else { -self.lead };
        let alone = self.pool.cost(self.transfer, at).seconds(bytes) * (1.0 - lead);
        let is_stalled = |stall: &Stall| (stall.at, stall.nth) == (at, self.members[at].completed);
        let alone = alone + self.stall.filter(is_stalled).map_or(0.0, |stall| stall.seconds);
        (alone, self.pool.processor_alone(self.transfer, at, bytes))
    }

    fn on_drive(&self) -> impl Iterator<Item = (usize, &Member)> {
        let is_on_drive =
            |(_, member): &(usize, &Member)| !member.queue.is_empty() && member.stage == Stage::Drive;
        self.members.iter().enumerate().filter(is_on_drive)
    }

    /// Slow-down of a drive because all drives together ask for more than a shared ceiling gives. An infinite rate takes no time
    /// and asks for nothing.
    fn slower(&self, at: usize) -> f64 {
        let asked = |(at, member): (usize, &Member)| {
            let (alone, processor) = self.costs(at);
            Some(member.queue[0].0 as f64 / (alone - processor)).filter(|asked| asked.is_finite())
        };
        let is_of = |shared: &&Shared| shared.transfer == self.transfer && shared.members.contains(&at);
        let shared = self.pool.shared.iter().filter(is_of).map(|shared| {
            let those = self.on_drive().filter(|(at, _)| shared.members.contains(at));
            those.filter_map(asked).sum::<f64>() / shared.rate
        });
        shared.fold(1.0, f64::max)
    }
}
