//! How long lists of 10,000 runs take, without an index and with one.
//!
//! The runs are as many copies of one short baseline of a modelled drive, each under its own name and date.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::{fs, time::Instant};

use drivebench::{
    inventory::{Drive, Inventory, Target},
    plan::Plan,
    record::{End, Event, How, SCHEMA, Start, Store},
    units::{Ended, Outcome, Window},
};

const RUNS: usize = 10_000;
/// Windows of a run; a real one has some thousands.
const WINDOWS: u64 = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("drivebench-results-{}", std::process::id()));
    let store = Store::at(dir.clone());
    let measured = fill(&store).and_then(|name| measure(&store, &name));
    fs::remove_dir_all(&dir)?;
    let (first, again, shown, runs) = measured?;
    let peak = fs::read_to_string("/proc/self/status")?;
    let peak = peak.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned();
    println!("what                       seconds");
    println!("list, first time           {first:>7.3}");
    println!("list, with its index       {again:>7.3}");
    println!("read one record            {shown:>7.3}");
    println!("most memory, all together  {peak}");
    println!("results: {again:.3} s to list {runs} runs");
    Ok(())
}

fn fill(store: &Store) -> Result<String, Box<dyn std::error::Error>> {
    let mut last = String::new();
    for n in 0..RUNS {
        let drive = Drive {
            model: Some("Cruzer Blade".to_owned()),
            serial: Some(format!("4C53{:04}", n % 40)),
            sectors: 121_077_760,
            ..Drive::default()
        };
        let target = Target {
            given: "/mnt/a".to_owned(),
            path: "/mnt/a".into(),
            drives: vec![drive],
            direct_alignment: 512,
            ..Target::default()
        };
        let at = format!("2026-{:02}-{:02}T10:00:00Z", n / 28 % 12 + 1, n % 28 + 1);
        let start = |run| Start {
            schema: SCHEMA,
            run,
            at: at.clone(),
            version: "0.1.0".to_owned(),
            command: vec!["drivebench".to_owned()],
            experiment: "baseline".to_owned(),
            targets: vec![format!("/mnt/a (Cruzer Blade 4C53{:04})", n % 40)],
            inventory: Inventory::default(),
        };
        let (run, mut writer) = store.create(start)?;
        let plan = Plan {
            experiment: "baseline".to_owned(),
            protocol: None,
            engine: None,
            targets: vec![target],
            steps: vec![],
        };
        writer.append(&Event::Plan { plan })?;
        for i in 0..WINDOWS {
            let window =
                Window { from_ns: i * 1000, to_ns: (i + 1) * 1000, bytes: 4096, ops: 1, ..Window::default() };
            writer.append(&Event::Window { step: 0, target: 0, zone: None, window })?;
        }
        let outcome = Outcome { bytes_written: WINDOWS * 4096, ..Outcome::nothing(Ended::Finished) };
        writer.append(&Event::Outcome { step: 0, target: 0, zone: None, outcome, again: None })?;
        writer.append(&Event::End(End { how: How::Finished, at: at.clone() }))?;
        store.pack(&run)?;
        last = run;
    }
    Ok(last)
}

fn measure(store: &Store, name: &str) -> Result<(f64, f64, f64, usize), Box<dyn std::error::Error>> {
    let clock = Instant::now();
    store.list()?;
    let first = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let runs = store.list()?.0.len();
    let again = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    std::hint::black_box(store.open(name)?.count());
    Ok((first, again, clock.elapsed().as_secs_f64(), runs))
}
