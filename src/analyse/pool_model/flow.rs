//! How long members take for a phase: requests wait in queues, for processors, and for what drives share.

use std::collections::VecDeque;

use super::{
    Planned,
    phases::{Part, Phase},
};

/// What becomes of a request.
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
    /// Their bytes, the one in work first.
    queue: VecDeque<u64>,
    stage: Stage,
    /// Seconds that are left of its stage.
    left: f64,
}

/// Seconds until all parts are done. They are sent one after the other, in requests; a full queue stops the sender. A drive
/// has one request at a time. Drives work at the same time, all slower where what they share is not enough; a processor
/// works for one drive at a time.
pub(super) fn seconds(pool: &Planned<'_>, phase: &Phase) -> f64 {
    let mut requests = phase.parts.iter().flat_map(|part| {
        let most = pool.members[part.at].queue.request;
        (0..part.bytes.div_ceil(most))
            .map(move |nth| Part { bytes: most.min(part.bytes - nth * most), ..*part })
    });
    let mut members =
        vec![Member { queue: VecDeque::new(), stage: Stage::Submit, left: 0.0 }; pool.members.len()];
    // Members that need a processor, in order.
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let (mut seconds, mut next) = (0.0, requests.next());
    loop {
        while let Some(part) = next {
            let other = part.or.filter(|or| members[*or].queue.len() < members[part.at].queue.len());
            let at = other.unwrap_or(part.at);
            if members[at].queue.len() >= pool.members[at].queue.depth {
                break;
            }
            members[at].queue.push_back(part.bytes);
            if members[at].queue.len() == 1 {
                enter(pool, phase, &mut members, &mut waiting, at, Stage::Submit);
            }
            next = requests.next();
        }
        let slower = slower(pool, phase, &members);
        let on_processor = waiting.iter().take(pool.cores).copied();
        let on_drive = (0..members.len())
            .filter(|at| !members[*at].queue.is_empty() && members[*at].stage == Stage::Drive);
        let working: Vec<(usize, f64)> = on_processor
            .map(|at| (at, members[at].left))
            .chain(on_drive.map(|at| (at, members[at].left * slower)))
            .collect();
        // The one that is done first.
        let Some(step) = working.iter().map(|(_, left)| *left).min_by(f64::total_cmp) else { break };
        for (at, left) in working {
            if left > step {
                members[at].left *= 1.0 - step / left;
                continue;
            }
            waiting.retain(|other| *other != at);
            let stage = match members[at].stage {
                Stage::Submit => Stage::Drive,
                Stage::Drive => Stage::Complete,
                Stage::Complete => {
                    members[at].queue.pop_front();
                    if members[at].queue.is_empty() {
                        continue;
                    }
                    Stage::Submit
                }
            };
            enter(pool, phase, &mut members, &mut waiting, at, stage);
        }
        seconds += step;
    }
    seconds
}

/// A member begins a stage of its first request. Half of a processor's work comes before the drive's, half after.
fn enter(
    pool: &Planned<'_>,
    phase: &Phase,
    members: &mut [Member],
    waiting: &mut VecDeque<usize>,
    at: usize,
    stage: Stage,
) {
    let (alone, processor) = costs(pool, phase, at, members[at].queue[0]);
    members[at].stage = stage;
    members[at].left = if stage == Stage::Drive { alone - processor } else { processor / 2.0 };
    if stage != Stage::Drive {
        waiting.push_back(at);
    }
}

/// Seconds that a request takes a member alone, and what of it a processor does.
fn costs(pool: &Planned<'_>, phase: &Phase, at: usize, bytes: u64) -> (f64, f64) {
    let alone = pool.cost(phase.transfer, at).seconds(bytes);
    (alone, pool.members[at].processor[phase.transfer as usize].seconds(bytes).min(alone))
}

/// How many times as long drives take, because they ask for more than what they share gives. What an endless interval gives
/// takes no time, and asks for nothing.
fn slower(pool: &Planned<'_>, phase: &Phase, members: &[Member]) -> f64 {
    let Some(rate) = pool.shared[phase.transfer as usize] else { return 1.0 };
    let works = |(_, member): &(usize, &Member)| !member.queue.is_empty() && member.stage == Stage::Drive;
    let asked = members.iter().enumerate().filter(works).map(|(at, member)| {
        let (alone, processor) = costs(pool, phase, at, member.queue[0]);
        member.queue[0] as f64 / (alone - processor)
    });
    (asked.filter(|asked| asked.is_finite()).sum::<f64>() / rate).max(1.0)
}
