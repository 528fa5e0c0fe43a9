//! How md divides an operation: members, bytes and order.

use std::collections::{HashMap, VecDeque};

use super::{Planned, Transfer};
use crate::units::{KIB, Layout};

/// The parts of one phase of an operation, in the order in which md sends them. Phases follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phase {
    pub transfer: Transfer,
    pub parts: Vec<Part>,
    /// Bytes from which parity is computed before the phase.
    pub combined: u64,
}

/// Bytes for one member, or for one of two members between which md chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub at: usize,
    /// Offset on the member, if there is a second one.
    pub from: u64,
    /// The second member, and the offset there.
    pub or: Option<(usize, u64)>,
    pub bytes: u64,
}

impl Phase {
    /// All bytes go to one member.
    pub(super) fn of_one(transfer: Transfer, at: usize, bytes: u64) -> Self {
        Self { transfer, parts: vec![Part::new(at, bytes)], combined: 0 }
    }
}

impl Part {
    fn new(at: usize, bytes: u64) -> Self {
        Self { at, from: 0, or: None, bytes }
    }
}

/// md handles parity in rows of one page.
pub(super) const ROW: u64 = 4 * KIB;
/// Rows that md keeps in memory: its `stripe_cache_size`.
const ROWS: usize = 256;
/// A bit for each member.
type Bits = u128;
/// The rows whose content md still has, with their members.
#[derive(Debug, Default)]
pub(super) struct RowCache {
    known: HashMap<(u64, u64), Bits>,
    order: VecDeque<(u64, u64)>,
}

impl RowCache {
    fn known(&self, row: (u64, u64)) -> Bits {
        self.known.get(&row).copied().unwrap_or(0)
    }

    fn learn(&mut self, row: (u64, u64), members: Bits) {
        let known = self.known.entry(row).or_insert_with(|| {
            self.order.push_back(row);
            0
        });
        *known |= members;
        if self.order.len() > ROWS {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

impl Planned<'_> {
    pub(super) fn phases(
        &self,
        transfer: Transfer,
        offset: u64,
        bytes: u64,
        cache: &mut RowCache,
    ) -> Vec<Phase> {
        let parts = match (self.layout, transfer) {
            // raid1 reads from the first idle member, and stays on it for sequential reads.
            (Layout::Single | Layout::Linear, _) | (Layout::Raid1, Transfer::Read) => {
                return vec![Phase::of_one(transfer, 0, bytes)];
            }
            (Layout::Raid5 | Layout::Raid6, Transfer::Write) => {
                return self.parity_writes(offset, bytes, cache);
            }
            (Layout::Raid10, Transfer::Read) => {
                let each = |(chunk, within, bytes)| {
                    let [(at, from), other] = self.copies(chunk).map(|(at, from)| (at, from + within));
                    Part { at, from, or: Some(other), bytes }
                };
                self.sent(offset, bytes).into_iter().map(each).collect()
            }
            _ => {
                let each =
                    |(chunk, _, bytes)| self.holders(chunk).into_iter().map(move |at| Part::new(at, bytes));
                self.sent(offset, bytes).into_iter().flat_map(each).collect()
            }
        };
        vec![Phase { transfer, parts, combined: 0 }]
    }

    /// Chunk, offset in it and bytes of each piece, in the order in which md sends them. md splits an operation by the largest request
    /// that all members accept, and then by chunks. raid0 sends the part in the second chunk first, raid10 sends it last.
    fn sent(&self, offset: u64, bytes: u64) -> Vec<(u64, u64, u64)> {
        let most = self.members.iter().map(|member| member.queue.request).min().unwrap_or(u64::MAX);
        let most = if self.layout == Layout::Raid0 { most.min(self.chunk) } else { most };
        let (end, mut at, mut sent, mut last) = (offset + bytes, offset, Vec::new(), Vec::new());
        while at < end {
            let length = most.min(end - at);
            let mut parts = self.pieces(at, length);
            match self.layout {
                Layout::Raid0 => parts.reverse(),
                Layout::Raid10 => last.extend(parts.split_off(1)),
                _ => {}
            }
            sent.extend(parts);
            at += length;
        }
        sent.into_iter().chain(last).collect()
    }

    /// The parts of a range in chunks: the number of the chunk, where in it, and how long.
    fn pieces(&self, offset: u64, bytes: u64) -> Vec<(u64, u64, u64)> {
        let chunk = if self.layout.is_striped() { self.chunk } else { u64::MAX };
        let (mut at, end) = (offset, offset + bytes);
        let mut pieces = Vec::new();
        while at < end {
            let within = at % chunk;
            let length = (chunk - within).min(end - at);
            pieces.push((at / chunk, within, length));
            at += length;
        }
        pieces
    }

    /// The members with the two copies of a chunk in raid10, and where it begins on them: md's near layout, its default.
    fn copies(&self, chunk: u64) -> [(usize, u64); 2] {
        let n = self.members.len() as u64;
        [2 * chunk, 2 * chunk + 1].map(|copy| ((copy % n) as usize, copy / n * self.chunk))
    }

    /// The members that have a chunk of data.
    fn holders(&self, chunk: u64) -> Vec<usize> {
        let n = self.members.len() as u64;
        match self.layout {
            Layout::Raid1 => (0..n as usize).collect(),
            Layout::Raid10 => self.copies(chunk).map(|(at, _)| at).to_vec(),
            Layout::Raid5 | Layout::Raid6 => {
                let data = self.layout.data_members(n as usize) as u64;
                vec![self.data_member(chunk / data, chunk % data)]
            }
            _ => vec![(chunk % n) as usize],
        }
    }

    /// The members with parity in a stripe: left-symmetric, md's default.
    fn parity_members(&self, stripe: u64) -> Vec<usize> {
        let n = self.members.len();
        let first = n - 1 - (stripe % n as u64) as usize;
        (0..n - self.layout.data_members(n)).map(|k| (first + k) % n).collect()
    }

    fn data_member(&self, stripe: u64, position: u64) -> usize {
        let parity = self.parity_members(stripe);
        (parity[0] + parity.len() + position as usize) % self.members.len()
    }

    /// The phases of a write with parity. For each row of a stripe, md reads either the old data and parity or the rest of the
    /// data, whichever takes fewer members, except what it has in memory, and then writes. Full rows go to one
    /// member after the other, the last one first.
    fn parity_writes(&self, offset: u64, bytes: u64, cache: &mut RowCache) -> Vec<Phase> {
        let n = self.members.len();
        let data = self.layout.data_members(n) as u64;
        let (mut read, mut written, mut parts, mut combined) = (vec![0; n], vec![0; n], Vec::new(), 0);
        let pieces = self.pieces(offset, bytes);
        let mut stripes: Vec<u64> = pieces.iter().map(|(chunk, ..)| chunk / data).collect();
        stripes.dedup();
        for stripe in stripes {
            let of: Vec<_> = pieces.iter().filter(|(chunk, ..)| chunk / data == stripe).collect();
            let parity = self.parity_members(stripe);
            let parity_bits = bits(&parity);
            let mut whole = vec![0; n];
            let ends = of.iter().map(|(_, from, length)| (from / ROW, (from + length).div_ceil(ROW)));
            let (first, end) = ends.fold((u64::MAX, 0), |(a, b), (from, to)| (a.min(from), b.max(to)));
            for row in first..end {
                let holds = |(_, from, length): &&&(u64, u64, u64)| {
                    from / ROW <= row && row < (from + length).div_ceil(ROW)
                };
                let touched: Vec<usize> = of
                    .iter()
                    .filter(holds)
                    .map(|(chunk, ..)| self.data_member(stripe, chunk % data))
                    .collect();
                if touched.is_empty() {
                    continue;
                }
                let is_whole = touched.len() as u64 == data;
                let touched = bits(&touched);
                let all = Bits::MAX >> (Bits::BITS as usize - n);
                let (targets, known) = (touched | parity_bits, cache.known((stripe, row)));
                let [rewrite, rebuild] = [targets & !known, all & !targets & !known];
                let is_rewritten = rewrite.count_ones() < rebuild.count_ones();
                let sources = if is_rewritten { rewrite } else { rebuild };
                // The old data is removed from the old parity, or all data is combined.
                combined += ROW * if is_rewritten { 2 * u64::from(touched.count_ones()) } else { data };
                for at in 0..n {
                    read[at] += if sources >> at & 1 == 1 { ROW } else { 0 };
                    let written = if is_whole { &mut whole } else { &mut written };
                    written[at] += if targets >> at & 1 == 1 { ROW } else { 0 };
                }
                cache.learn((stripe, row), targets | sources);
            }
            let whole = whole.into_iter().enumerate().filter(|(_, bytes)| *bytes > 0).rev();
            parts.extend(whole.map(|(at, bytes)| Part::new(at, bytes)));
        }
        parts.extend(self.in_turn(&written));
        let read = Phase { transfer: Transfer::Read, parts: self.in_turn(&read), combined: 0 };
        let written = Phase { transfer: Transfer::Write, parts, combined };
        [read, written].into_iter().filter(|phase| !phase.parts.is_empty()).collect()
    }

    /// Other rows go to all members before the next one does: a request of each in turn.
    fn in_turn(&self, bytes: &[u64]) -> Vec<Part> {
        let mut left = bytes.to_vec();
        let mut parts = Vec::new();
        while left.iter().any(|left| *left > 0) {
            for (at, left) in left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                let part = self.members[at].queue.request.min(*left);
                parts.push(Part::new(at, part));
                *left -= part;
            }
        }
        parts
    }
}

fn bits(members: &[usize]) -> Bits {
    members.iter().fold(0, |bits, at| bits | 1 << at)
}
