//! Content that follows from a seed, so that any byte can be checked without a copy of it.

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Length of a piece of content, bytes.
pub const PIECE: usize = 4096;

/// Identifies the content of one write to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub seed: u64,
    /// The number of the file.
    pub file: u64,
    /// The number of the write.
    pub write: u64,
}

impl Source {
    /// Fills `buffer` with what belongs at `offset`, which begins a piece.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) {
        for (piece, bytes) in (offset / PIECE as u64..).zip(buffer.chunks_mut(PIECE)) {
            self.random(piece).fill_bytes(bytes);
        }
    }

    /// The number of leading bytes that are as they should be.
    pub fn matching(&self, offset: u64, found: &[u8]) -> usize {
        let mut expected = [0; PIECE];
        for (at, (piece, bytes)) in (offset / PIECE as u64..).zip(found.chunks(PIECE)).enumerate() {
            let expected = &mut expected[..bytes.len()];
            self.random(piece).fill_bytes(expected);
            if let Some(differs) = bytes.iter().zip(expected.iter()).position(|(a, b)| a != b) {
                return at * PIECE + differs;
            }
        }
        found.len()
    }

    fn random(&self, piece: u64) -> Xoshiro256PlusPlus {
        // Each number is spread over all bits before the next is added.
        let spread = |state: u64, next: u64| {
            let mixed = (state ^ next).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ (mixed >> 29)
        };
        let state =
            [self.file, self.write, piece].into_iter().fold(spread(0x6462_7075_6c6c, self.seed), spread);
        Xoshiro256PlusPlus::seed_from_u64(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_known_anywhere_and_differs_between_files_writes_and_places() {
        let one = Source { seed: 1, file: 2, write: 3 };
        let mut all = vec![0; 5 * PIECE + 100];
        one.fill(0, &mut all);
        let mut tail = vec![0; PIECE + 100];
        one.fill(4 * PIECE as u64, &mut tail);
        assert_eq!(all[4 * PIECE..], tail[..]);
        assert_eq!(one.matching(0, &all), all.len());
        assert_eq!(one.matching(PIECE as u64, &all[PIECE..]), all.len() - PIECE);
        for other in [Source { seed: 2, ..one }, Source { file: 3, ..one }, Source { write: 4, ..one }] {
            assert!(other.matching(0, &all) < 8, "{other:?}");
        }
        assert!(one.matching(PIECE as u64, &all) < 8, "another place");
        for at in [0, 17, PIECE, 5 * PIECE + 99] {
            all[at] ^= 1;
            assert_eq!(one.matching(0, &all), at);
            all[at] ^= 1;
        }
    }
}
