//! Time and memory of lists, history, comparisons, exports and the site of a store with 10,000 runs, or as many as the first
//! argument says.
//!
//! The runs are as many copies of one short baseline of a modelled drive, each under its own name and date and on one of
//! 40 drives. Each command runs in a separate process of this program, selected by an environment variable.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![allow(clippy::print_stderr, reason = "a process tells another how much memory it took")]

#[path = "../tests/it/support/modelled.rs"]
mod modelled;

use std::{
    error::Error,
    fs,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use drivebench::{
    analyse::Rules,
    cli,
    inventory::Inventory,
    record::{End, Event, How, Log, SCHEMA, Start, Store},
};
use drivebench_modelled::sim::{Board, Model, Zone};

/// Says that this process is to be drivebench.
const CHILD: &str = "RESULTS_CHILD";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if std::env::var_os(CHILD).is_some() {
        let code = cli::main();
        let status = fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        eprintln!("{}", peak.unwrap_or("0"));
        return Ok(code);
    }
    let runs = std::env::args().nth(1).map_or(Ok(10_000), |runs| runs.parse())?;
    let dir = std::env::temp_dir().join(format!("drivebench-results-{}", std::process::id()));
    let store = Store::at(dir.clone());
    let measured = fill(&store, runs).and_then(|runs| measure(&store, &runs));
    fs::remove_dir_all(&dir)?;
    measured?;
    Ok(ExitCode::SUCCESS)
}

/// Fills the store; the names of the runs.
fn fill(store: &Store, runs: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let stick = Model {
        capacity: 62_000_000_000,
        write: vec![Zone { from: 0, rate: 2e6 }],
        read: vec![Zone { from: 0, rate: 6.6e6 }],
        ..Model::default()
    };
    let target = modelled::target("4C53", stick.capacity, false);
    let plan = modelled::plan(&modelled::ask(vec![target], Rules::quick(), 4096))?;
    let board = Board { drives: vec![stick], buses: vec![], seed: 1 };
    let mut events = modelled::carry_out(&plan, &board)?;
    let windows = events.iter().filter(|event| matches!(event, Event::Window { .. })).count();
    println!("{runs} runs of {windows} windows each");
    (0..runs)
        .map(|n| {
            let at = format!("2026-{:02}-{:02}T10:00:00Z", n / 28 % 12 + 1, n % 28 + 1);
            let serial = format!("4C53{:04}", n % 40);
            let start = |run| Start {
                schema: SCHEMA,
                run,
                at: at.clone(),
                version: "0.1.0".to_owned(),
                command: vec!["drivebench".to_owned()],
                experiment: "baseline".to_owned(),
                targets: vec![format!("/mnt/a (Model {serial})")],
                host: Default::default(),
                inventory: Inventory::default(),
            };
            let (run, mut writer) = store.create(start)?;
            for event in &mut events {
                if let Event::Plan { plan } = event {
                    plan.targets[0].drives[0].serial = Some(serial.clone());
                }
                writer.append(event)?;
            }
            writer.append(&Event::End(End { how: How::Finished, at: at.clone() }))?;
            store.pack(&run)?;
            Ok(run)
        })
        .collect()
}

fn measure(store: &Store, runs: &[String]) -> Result<(), Box<dyn Error>> {
    // The second run of the same drive.
    let middle = runs.len() / 2;
    let (first, second) = (&runs[middle], runs.get(middle + 40).ok_or("81 runs or more")?);
    let site = tempfile::tempdir()?;
    let site = site.path().join("site");
    let site = site.to_str().ok_or("not UTF-8")?;
    let filtered = ["results", "list", "--drive", "4c530007", "--since", "2026-06-01"];
    println!("what                              seconds  most memory");
    let mut slowest: f64 = 0.0;
    for (what, counts, args) in [
        ("list, first time", false, &["results"][..]),
        ("list, with its index", true, &["results"]),
        ("list, filtered", true, &filtered),
        ("show one run", true, &["show", first]),
        ("advise", true, &["advise"]),
        ("history", true, &["history"]),
        ("compare two runs", true, &["results", "compare", first, second]),
        ("export all as CSV", false, &["results", "export"]),
        ("export the latest as metrics", false, &["results", "export", "--format", "openmetrics"]),
        ("site, first time", false, &["report", "--site", site]),
        ("site again", false, &["report", "--site", site]),
    ] {
        let (seconds, kib) = run(store, args)?;
        println!("{what:<33} {seconds:>7.3}  {:>6.1} MiB", kib / 1024.0);
        slowest = if counts { slowest.max(seconds) } else { slowest };
    }
    println!(
        "results: {slowest:.3} s at most among {} runs, but for the first list, exports and the site",
        runs.len()
    );
    Ok(())
}

/// Seconds and the most memory, KiB, that drivebench takes for this.
#[expect(clippy::disallowed_methods, reason = "the benchmark is drivebench's user")]
fn run(store: &Store, args: &[&str]) -> Result<(f64, f64), Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--store").arg(store.dir()).args(args).env(CHILD, "1").stdout(Stdio::null());
    let clock = Instant::now();
    let done = command.output()?;
    let seconds = clock.elapsed().as_secs_f64();
    let said = String::from_utf8(done.stderr)?;
    if !done.status.success() {
        return Err(format!("drivebench {}: {said}", args.join(" ")).into());
    }
    Ok((seconds, said.lines().last().unwrap_or_default().parse()?))
}
