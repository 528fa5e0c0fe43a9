//! How long the kernel takes to make the members of a pool agree, and to fill a new one.

use super::{Planned, Shared, Transfer};
use crate::units::{Layout, MIB};

/// Shares of a member's bytes that are read and written.
type Shares = Vec<[f64; 2]>;

impl Planned<'_> {
    /// Duration of the first sync over `bytes` of each member, s; `None` where nothing is copied.
    pub fn first_sync_seconds(&self, bytes: u64) -> Option<f64> {
        let n = self.members.len();
        let shares = |of: &dyn Fn(usize) -> [f64; 2]| (0..n).map(of).collect::<Shares>();
        let shares = match self.layout {
            Layout::Single | Layout::Linear | Layout::Raid0 => return None,
            // The first one is copied to the others.
            Layout::Raid1 => shares(&|at| if at == 0 { [1.0, 0.0] } else { [0.0, 1.0] }),
            // md writes the last member, from the others.
            Layout::Raid5 => shares(&|at| if at == n - 1 { [0.0, 1.0] } else { [1.0, 0.0] }),
            // md reads both copies, compares them, and writes the second one where they differ, which is almost everywhere on used
            // drives. With an odd number of members each has as many first copies as second ones.
            Layout::Raid10 if n % 2 == 0 => shares(&|at| [1.0, (at % 2) as f64]),
            Layout::Raid10 => shares(&|_| [1.0, 0.5]),
            // md reads all members and writes parity where it differs: two members in each stripe, in turn.
            Layout::Raid6 => shares(&|_| [1.0, 2.0 / n as f64]),
        };
        Some(bytes as f64 * self.seconds_of(&shares, false))
    }

    /// Duration of a rebuild, s, for the member that takes longest.
    pub fn longest_rebuild_seconds(&self, bytes: u64) -> Option<f64> {
        (0..self.members.len()).filter_map(|new| self.rebuild_seconds(new, bytes)).reduce(f64::max)
    }

    /// Duration of the rebuild of this member, s.
    pub fn rebuild_seconds(&self, new: usize, bytes: u64) -> Option<f64> {
        if !self.layout.is_redundant() {
            return None;
        }
        let n = self.members.len();
        let read = |at: usize| match self.layout {
            Layout::Raid1 => f64::from(at == usize::from(new == 0)),
            Layout::Raid10 if n % 2 == 0 => f64::from(at == new ^ 1),
            // Half of it is on either side.
            Layout::Raid10 => {
                if at == (new + 1) % n || (at + 1) % n == new {
                    0.5
                } else {
                    0.0
                }
            }
            _ => 1.0,
        };
        let share = |at: usize| if at == new { [0.0, 1.0] } else { [read(at), 0.0] };
        // On raid6, md checks the existing parity before it computes what is missing, once all has been read.
        let checks = self.layout == Layout::Raid6;
        Some(bytes as f64 * self.seconds_of(&(0..n).map(share).collect(), checks))
    }

    /// Seconds per byte of a member. Members work in parallel; reads and writes of one member alternate. With `checks`,
    /// nothing is written before all parallel reads have ended.
    fn seconds_of(&self, shares: &Shares, checks: bool) -> f64 {
        let both = [Transfer::Read, Transfer::Write];
        // Reads and writes alternate on a bus, too: USB 2 and others transfer in one direction at a time.
        let bus = |members: &[usize]| -> f64 {
            let one = |transfer: &Transfer| {
                let rates = self.shared.iter().filter(|s| s.transfer == *transfer && s.members == members);
                rates.map(|shared| moved(shares, shared) / shared.rate).fold(0.0, f64::max)
            };
            both.iter().map(one).sum()
        };
        let member =
            |at: usize| both.iter().map(|transfer| self.share_alone(shares, *transfer, at)).sum::<f64>();
        let members = (0..shares.len()).map(member);
        let parts = members.chain(self.shared.iter().map(|shared| bus(&shared.members))).fold(0.0, f64::max);
        let even = match self.layout.has_parity() {
            // One md thread reads as much as fits in its memory, then writes it.
            true => {
                let all = |transfer: &Transfer| checks && *transfer == Transfer::Read;
                parts.max(both.iter().map(|way| self.sending(shares, *way, all(way))).sum())
            }
            false => parts,
        };
        // Members are filled in step, so that all wait for the one that stalls.
        let stalled = |at: usize| -> f64 {
            both.iter().map(|way| shares[at][*way as usize] * self.stalls(*way, at).per_byte).sum()
        };
        even + (0..shares.len()).map(stalled).sum::<f64>()
    }

    /// Seconds of a member alone for its share of each byte.
    fn share_alone(&self, shares: &Shares, transfer: Transfer, at: usize) -> f64 {
        const BLOCK: u64 = MIB;
        match shares[at][transfer as usize] {
            0.0 => 0.0,
            share => share * self.alone(transfer, at, BLOCK) / BLOCK as f64,
        }
    }

    /// Seconds per byte in which an md thread is blocked by a full queue of a member, or
    /// until `all` has moved.
    fn sending(&self, shares: &Shares, transfer: Transfer, all: bool) -> f64 {
        /// Bytes of a member in the stripes that md handles at once: 256 pages.
        const WINDOW: u64 = MIB;
        // md doesn't wait for what fits into the queue.
        let waited = |at: usize| {
            if all {
                return 1.0;
            }
            let queue = &self.members[at].queue;
            let queued = (queue.depth[transfer as usize] as u64).saturating_mul(queue.request);
            1.0 - queued.min(WINDOW) as f64 / WINDOW as f64
        };
        let members = (0..shares.len()).map(|at| self.share_alone(shares, transfer, at) * waited(at));
        let buses = self.shared.iter().filter(|shared| shared.transfer == transfer).map(|shared| {
            let waited = shared.members.iter().map(|at| waited(*at)).fold(0.0, f64::max);
            moved(shares, shared) / shared.rate * waited
        });
        members.chain(buses).fold(0.0, f64::max)
    }
}

/// Bytes over a bus for each byte of a member.
fn moved(shares: &Shares, shared: &Shared) -> f64 {
    shared.members.iter().map(|at| shares[*at][shared.transfer as usize]).sum()
}
