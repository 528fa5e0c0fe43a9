//! The conformance suite: what every engine that moves real bytes must do.

use std::sync::Arc;

use drivebench::{
    engine::{Cancel, Ended, Engine, FileTarget, Flow, Job, Outcome, Psync, Uring},
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
    let targets = vec![FileTarget::new(file.clone(), "scratch")];
    let engines: [Box<dyn Engine>; 2] =
        [Box::new(Psync::new(targets.clone())), Box::new(Uring::new(targets).expect("uring"))];
    for mut engine in engines {
        for depth in [1, 16] {
            for direction in [Direction::Write, Direction::Read, Direction::Mixed { read_percent: 50 }] {
                for verify in [false, true] {
                    let load = Load { depth, verify, ..load(direction, 4096) };
                    let extent = Extent { offset: 4096, length: 8 << 20 };
                    let job = Job { target: 0, load, extent, bytes: 20 << 20, window: 1 << 20 };
                    if verify {
                        let mut write = job.clone();
                        write.load.direction = Direction::Write;
                        run(engine.as_mut(), &[write]);
                    }
                    let (outcomes, windows) = run(engine.as_mut(), &[job]);
                    println!("{outcomes:?} {}", windows[0].len());
                    assert_eq!(outcomes[0].ended, Ended::Finished);
                    assert_eq!(outcomes[0].ops, 20 << 8);
                }
            }
        }
    }
}
