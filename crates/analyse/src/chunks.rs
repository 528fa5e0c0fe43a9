//! Converts windows of several sizes to chunks of one size.

use super::{Cliff, cliff::Cut};
use crate::units::{MIB, Window};

/// The minimum time per MiB, s. Keeps logarithms and quotients finite.
const LEAST: f64 = 1e-12;

/// Chunks of one size, in the order of time, without gaps. The chunk size is that of the largest windows of the load;
/// smaller windows are merged. A remainder at the end counts in the totals only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunks {
    /// Seconds per MiB.
    pub x: Vec<f64>,
    pub bytes: Vec<u64>,
    /// Bytes in a chunk; 0 before the first window.
    pub chunk: u64,
    open: OpenChunk,
    pub total_bytes: u64,
    pub total_seconds: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct OpenChunk {
    bytes: u64,
    seconds: f64,
}

impl Chunks {
    pub fn push(&mut self, w: &Window) {
        self.total_bytes = self.total_bytes.saturating_add(w.bytes);
        self.total_seconds += w.seconds();
        if w.bytes >= self.chunk.saturating_mul(2).max(1) {
            self.grow(w.bytes);
        }
        self.add(OpenChunk { bytes: w.bytes, seconds: w.seconds() });
    }

    fn add(&mut self, part: OpenChunk) {
        self.open.bytes = self.open.bytes.saturating_add(part.bytes);
        self.open.seconds += part.seconds;
        if self.chunk > 0 && self.open.bytes >= self.chunk {
            let full = std::mem::take(&mut self.open);
            self.x.push((full.seconds / mib(full.bytes)).max(LEAST));
            self.bytes.push(full.bytes);
        }
    }

    /// Increases the chunk size, at least by 2, so that repeated growth stays cheap.
    fn grow(&mut self, chunk: u64) {
        let open = std::mem::take(&mut self.open);
        let old = std::mem::replace(self, Self { chunk, ..Self::default() });
        (self.total_bytes, self.total_seconds) = (old.total_bytes, old.total_seconds);
        for (x, &bytes) in old.x.iter().zip(&old.bytes) {
            self.add(OpenChunk { bytes, seconds: x * mib(bytes) });
        }
        self.add(open);
    }

    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Bytes in a chunk; 0 before the first window.
    pub fn chunk_mib(&self) -> f64 {
        mib(self.chunk)
    }

    /// The mean speed so far, bytes per second; `None` before anything was moved.
    pub fn rate(&self) -> Option<f64> {
        (self.total_bytes > 0 && self.total_seconds > 0.0)
            .then(|| self.total_bytes as f64 / self.total_seconds)
    }

    pub fn cliff(&self, cut: &Cut) -> Cliff {
        let (before, after) = (MIB as f64 / cut.before, MIB as f64 / cut.after);
        Cliff { at_bytes: self.bytes_before(cut.at), before, after }
    }

    pub fn bytes_before(&self, n: usize) -> u64 {
        self.bytes.iter().take(n).fold(0, |sum, &b| sum.saturating_add(b))
    }

    pub fn seconds_before(&self, n: usize) -> f64 {
        self.x.iter().zip(&self.bytes).take(n).map(|(x, &b)| x * mib(b)).sum()
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: u64, bytes: u64, ns: u64) -> Window {
        Window { from_ns: from, to_ns: from + ns, bytes, ops: 1, ..Window::default() }
    }

    #[test]
    fn small_windows_become_chunks_of_the_later_size() {
        let mut s = Chunks::default();
        let mut at = 0;
        for i in 0..80 {
            let (bytes, ns) = if i < 64 { (MIB, 1_000_000) } else { (16 * MIB, 17_000_000) };
            s.push(&window(at, bytes, ns));
            at += ns;
        }
        assert_eq!((s.len(), s.chunk), (4 + 16, 16 * MIB));
        assert!((s.x[0] - 0.001).abs() < 1e-12 && (s.x[19] - 0.017 / 16.0).abs() < 1e-12, "{:?}", s.x);
        assert!((s.seconds_before(20) - s.total_seconds).abs() < 1e-9);
        assert_eq!(s.bytes_before(20), s.total_bytes);
    }

    #[test]
    fn a_partial_end_counts_in_totals_only() {
        let mut s = Chunks::default();
        for (i, bytes) in [MIB, MIB, MIB / 2].into_iter().enumerate() {
            s.push(&window(i as u64 * 10, bytes, 10));
        }
        assert_eq!((s.len(), s.total_bytes), (2, 5 * MIB / 2));
    }

    #[test]
    fn empty_and_zero_length_windows_are_accepted() {
        let mut s = Chunks::default();
        s.push(&window(0, 0, 50_000_000));
        s.push(&window(50_000_000, MIB, 0));
        s.push(&window(50_000_000, MIB, 0));
        assert_eq!(s.x, [0.05, LEAST], "time without bytes belongs to the next chunk");
    }
}
