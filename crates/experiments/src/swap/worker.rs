//! The program that uses memory: a process of its own, in a control group of its own.

use std::{
    io::{self, BufRead, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use rand::{Rng, RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::{
    process::{Signal, getppid, set_parent_process_death_signal},
    thread::disable_transparent_huge_pages,
};
use serde::{Deserialize, Serialize};

use super::group::set;
use crate::units::Histogram;

/// Memory is filled; the load begins with the next line.
pub const READY: &str = "ready";
/// Bytes of a page that is touched; larger pages are touched several times.
const PAGE: usize = 4096;
/// Pages of a request, and bytes that the processor goes through besides, so many times, which fit into any memory.
const REQUEST_PAGES: usize = 16;
const REQUEST_WORK: usize = 64 << 10;
const REQUEST_PASSES: usize = 4;

/// The order to the program, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The control group to be in.
    pub group: PathBuf,
    pub bytes: u64,
    /// How much of each page can't be compressed, percent.
    pub random: u8,
    pub seconds: f64,
    pub seed: u64,
}

/// The result, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    pub seconds: f64,
    pub operations: u64,
    pub latency: Histogram,
}

/// Carries out the order on its input, and ends with its parent.
pub fn work(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != parent {
        return Ok(());
    }
    // A page that is touched brings in itself, not its neighbours. Old kernels know no such pages.
    let _ = disable_transparent_huge_pages(true);
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    // 0 is the process that writes it.
    set(order.group.join("cgroup.procs"), "0")?;
    // If the whole machine runs short of memory, this is what the kernel ends.
    let _ = set("/proc/self/oom_score_adj", "1000");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(order.seed);
    let mut memory = vec![0_u8; order.bytes as usize];
    fill(&mut memory, order.random, &mut random);
    writeln!(output, "{READY}")?;
    output.flush()?;
    line.clear();
    // Without a next line, the parent is gone.
    if input.read_line(&mut line)? == 0 {
        return Ok(());
    }
    let answer = load(&mut memory, &order, &mut random);
    writeln!(output, "{}", serde_json::to_string(&answer)?)?;
    output.flush()
}

/// So much of each page is random, the rest is one byte.
fn fill(memory: &mut [u8], percent: u8, random: &mut impl RngCore) {
    let part = PAGE * usize::from(percent.clamp(1, 100)) / 100;
    for page in memory.chunks_mut(PAGE) {
        let part = part.min(page.len());
        random.fill_bytes(&mut page[..part]);
        page[part..].fill(0x5a);
    }
}

fn load(memory: &mut [u8], order: &Order, random: &mut impl Rng) -> Answer {
    let pages = memory.len() / PAGE;
    let work = vec![7_u8; REQUEST_WORK];
    let mut sum = 0_u64;
    let mut request = |memory: &mut [u8]| {
        for _ in 0..REQUEST_PAGES {
            touch(memory, random.random_range(0..pages) * PAGE);
        }
        for _ in 0..REQUEST_PASSES {
            sum = work.iter().fold(sum, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte));
            std::hint::black_box(sum);
        }
    };
    let mut latencies = Vec::new();
    let mut latency = Histogram::default();
    let begun = Instant::now();
    let limit = Duration::from_secs_f64(order.seconds);
    let (mut operations, mut before) = (0, Duration::ZERO);
    while before < limit {
        request(memory);
        let now = begun.elapsed();
        latencies.push((now - before).as_nanos() as u64);
        // So that they take little memory themselves.
        if latencies.len() == 4096 {
            latency.merge(&Histogram::of(&mut latencies));
            latencies.clear();
        }
        (operations, before) = (operations + 1, now);
    }
    latency.merge(&Histogram::of(&mut latencies));
    Answer { seconds: before.as_secs_f64(), operations, latency }
}

/// Reads and changes a byte that is not compressed.
fn touch(memory: &mut [u8], at: usize) {
    memory[at] = std::hint::black_box(memory[at]).wrapping_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_each_page_is_random() {
        let mut memory = vec![0; 10 * PAGE + 100];
        fill(&mut memory, 50, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        for page in memory.chunks_exact(PAGE) {
            assert!(page[PAGE / 2..].iter().all(|byte| *byte == 0x5a));
            assert!(page[..PAGE / 2].iter().filter(|byte| **byte == 0x5a).count() < 40);
        }
        assert_ne!(memory[..PAGE], memory[PAGE..2 * PAGE]);
    }

    #[test]
    fn requests_touch_memory_for_their_time() {
        let bytes = 8 << 20;
        let order = Order { group: PathBuf::new(), bytes, random: 50, seconds: 0.01, seed: 3 };
        let mut memory = vec![0; bytes as usize];
        let answer = load(&mut memory, &order, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        assert!(answer.operations > 0 && answer.latency.count() == answer.operations, "{answer:?}");
        assert!(answer.seconds >= 0.01 && memory.iter().any(|byte| *byte > 0));
    }
}
