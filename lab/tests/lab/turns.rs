//! How many machines there are at once: one for each processor, and more only while a processor is idle. With less time than that,
//! guests measure drives as slower than they are.

use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, available_parallelism},
    time::Duration,
};

/// Tests that have a machine.
static MACHINES: AtomicUsize = AtomicUsize::new(0);
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
        while MACHINES.load(SeqCst) >= processors && !is_idle {
            // Half a processor was idle for 5 s.
            let before = idle();
            thread::sleep(Duration::from_secs(5));
            is_idle = idle() - before >= 2.5;
        }
        MACHINES.fetch_add(1, SeqCst);
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        MACHINES.fetch_sub(1, SeqCst);
    }
}

/// For how long processors were idle, or waited for drives, in seconds: proc_stat(5).
fn idle() -> f64 {
    let all = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let ticks = all.split_whitespace().skip(4).take(2).map(|word| word.parse::<f64>().expect("ticks"));
    ticks.sum::<f64>() / 100.0
}
