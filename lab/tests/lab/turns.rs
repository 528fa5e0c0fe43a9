//! How many machines there are at once: one for each processor, and more only while a processor is idle. With less time than that,
//! guests measure drives as slower than they are.

use std::{
    fs,
    sync::Mutex,
    thread::{self, available_parallelism},
    time::Duration,
};

/// Tests that have a machine.
static MACHINES: Mutex<usize> = Mutex::new(0);
/// Held by the one test that looks for an idle processor.
static NEXT: Mutex<()> = Mutex::new(());

thread_local! {
    static TURN: Turn = Turn::new();
}

/// Waits until this test may have a machine; it may until its thread ends.
pub fn take() {
    TURN.with(|_| ());
}

struct Turn;

impl Turn {
    fn new() -> Self {
        let _next = NEXT.lock();
        let processors = available_parallelism().map_or(1, usize::from);
        let mut is_idle = false;
        loop {
            if let Ok(mut machines) = MACHINES.lock() {
                if *machines < processors || is_idle {
                    *machines += 1;
                    return Self;
                }
            }
            // Half a processor, for a while.
            let before = idle();
            thread::sleep(Duration::from_secs(5));
            is_idle = idle() - before >= 2.5;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Ok(mut machines) = MACHINES.lock() {
            *machines -= 1;
        }
    }
}

/// For how long processors were idle, or waited for drives, in seconds.
fn idle() -> f64 {
    let all = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let words: Vec<f64> = all
        .lines()
        .next()
        .into_iter()
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.parse().ok())
        .collect();
    (words[3] + words[4]) / 100.0
}
