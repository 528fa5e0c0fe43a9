//! Speed over time, reduced to the points of a plot.

use crate::units::Window;

/// At most twice this many points are kept.
const POINTS: usize = 256;

/// A part of a load; times in s since the load's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub from: f64,
    pub to: f64,
    /// Bytes moved before it.
    pub before: u64,
    pub bytes: u64,
}

/// Speed over time and over bytes, in constant memory.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    stretches: Vec<Stretch>,
    /// How often pairs of stretches were joined: each but the last has 2 to the power of this many windows.
    joined: u32,
    /// Windows in the last stretch.
    last: usize,
}

impl Stretch {
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / (self.to - self.from)
    }

    fn and(self, later: Self) -> Self {
        Self { to: later.to, bytes: self.bytes + later.bytes, ..self }
    }
}

impl Timeline {
    pub fn push(&mut self, window: &Window) {
        let before = self.stretches.last().map_or(0, |s| s.before + s.bytes);
        let (from, to) = (window.from_ns as f64 / 1e9, window.to_ns as f64 / 1e9);
        let next = Stretch { from, to, before, bytes: window.bytes };
        match self.stretches.last_mut() {
            Some(last) if self.last < 1 << self.joined => {
                *last = last.and(next);
                self.last += 1;
            }
            _ => {
                self.stretches.push(next);
                self.last = 1;
            }
        }
        if self.stretches.len() == 2 * POINTS && self.last == 1 << self.joined {
            self.stretches = self.stretches.chunks(2).map(|pair| pair[0].and(pair[pair.len() - 1])).collect();
            self.joined += 1;
            self.last = 1 << self.joined;
        }
    }

    pub fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(|s| s.to > s.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_windows_fits_and_none_is_lost() {
        for n in [0, 1, 2, 255, 512, 513, 1025, 100_003] {
            let mut timeline = Timeline::default();
            for i in 0..n {
                let (from_ns, to_ns) = (i * 1_000_000, (i + 1) * 1_000_000);
                timeline.push(&Window { from_ns, to_ns, bytes: i, ..Window::default() });
            }
            let all: Vec<&Stretch> = timeline.stretches().collect();
            assert!(all.len() < 2 * POINTS + 1, "{n}: {}", all.len());
            assert_eq!(all.iter().map(|s| s.bytes).sum::<u64>(), (0..n).sum::<u64>(), "{n}");
            assert!(
                all.windows(2).all(
                    |pair| pair[0].to == pair[1].from && pair[0].before + pair[0].bytes == pair[1].before
                ),
                "{n}"
            );
            assert!(n < 1 || all.last().is_some_and(|s| (s.to - n as f64 / 1e3).abs() < 1e-9), "{n}");
        }
    }
}
