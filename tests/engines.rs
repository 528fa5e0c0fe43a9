//! The conformance suite: what every engine that moves real bytes must do.

use std::{os::unix::fs::FileExt, sync::Arc};

use drivebench::{
    engine::{Cancel, Ended, Engine, FileTarget, Flow, Job, Outcome, Psync},
    units::{Caching, Content, Direction, Extent, Load, Pattern, Window},
};

fn load(direction: Direction, block: u64) -> Load {
    Load {
        direction,
        pattern: Pattern::Sequential,
        block,
        depth: 1,
        caching: Caching::Direct,
        content: Content::Random,
        seed: 7,
        verify: false,
    }
}

fn run(engine: &mut dyn Engine, jobs: &[Job]) -> (Vec<Outcome>, Vec<Vec<Window>>) {
    let mut windows = vec![Vec::new(); jobs.len()];
    let outcomes = engine
        .run(jobs, &Cancel::default(), &mut |job, window| {
            windows[job].push(window.clone());
            Flow::Continue
        })
        .expect("runs");
    (outcomes, windows)
}

#[test]
fn smoke() {
    let file = Arc::new(tempfile::tempfile_in("/var/tmp").expect("a file"));
    let mut engine = Psync::new(vec![FileTarget::new(file.clone(), "scratch")]);
    for depth in [1, 16] {
        for direction in [Direction::Write, Direction::Read, Direction::Mixed { read_percent: 50 }] {
            let load = Load { depth, ..load(direction, 4096) };
            let extent = Extent { offset: 4096, length: 8 << 20 };
            let job = Job { target: 0, load, extent, bytes: 20 << 20, window: 1 << 20 };
            let (outcomes, windows) = run(&mut engine, &[job]);
            println!("{outcomes:?} {}", windows[0].len());
            assert_eq!(outcomes[0].ended, Ended::Finished);
            assert_eq!(outcomes[0].ops, 20 << 8);
        }
    }
    let mut bytes = vec![0; 4096];
    file.read_exact_at(&mut bytes, 4096).expect("reads");
}
