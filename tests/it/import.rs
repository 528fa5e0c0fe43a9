//! `drivebench import`: from real output of other tools to reports.

use std::{fs, path::Path};

use crate::support::cli::{Cli, Done, words};
use crate::support::modelled::{ask, carry_out, only, plan, target};
use drivebench::{
    analyse::Rules,
    experiments::LoadName,
    inventory::Inventory,
    record::{End, Event, How, Log, SCHEMA, Start, Store},
};
use drivebench_modelled::sim::{Board, Model, Zone};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/import");

/// Runs an import in the directory of the samples, so that their paths are the same everywhere.
fn import(cli: &Cli, args: &[&str]) -> Done {
    let mut command = cli.command(["import"].iter().chain(args));
    let output = command.current_dir(SAMPLES).output().expect("drivebench starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Done {
        code: output.status.code().expect("not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// The name of the saved run.
fn saved(done: &Done) -> String {
    assert_eq!(done.code, 0, "{}", done.err);
    done.err.split("Saved as ").nth(1).and_then(|t| t.split('.').next()).expect("a run's name").to_owned()
}

/// Text without the time of the import.
fn without_time(text: &str) -> String {
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let line = |l: &str| if l.starts_with("imported 2") { "imported NOW".to_owned() } else { l.to_owned() };
    text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn real_output_of_each_tool() {
    for (name, args) in [
        ("fio_3", &["fio-3.33-several.json"][..]),
        ("fio_3_repeated", &["fio-3.33-repeated.json"]),
        ("fio_3_client", &["fio-3.33-client.txt"]),
        ("fio_2", &["fio-2.2.10.json"]),
        ("fio_2_client", &["fio-2.6-client.json"]),
        ("dd_loop", &["dd-loop.txt", "--drive", "4C530001", "--board", "Pi Zero 2 W"]),
        ("dd_german", &["dd-de.txt"]),
        ("dd_german_with_rw_write", &["dd-de.txt", "--rw", "write", "--drive", "4C530001"]),
        ("dd_progress", &["dd-progress.txt"]),
        ("pibenchmarks", &["pibenchmarks-switch.txt"]),
        ("pibenchmarks_table", &["pibenchmarks-table.txt"]),
        ("pibenchmarks_that_failed", &["pibenchmarks-no-hdparm.txt"]),
    ] {
        let cli = Cli::new();
        let done = import(&cli, args);
        let run = saved(&done);
        insta::assert_snapshot!(name, without_time(&done.out));
        assert_eq!(cli.run(["show", &run]).out, done.out, "{name} shows the same");
    }
}

#[test]
fn an_import_in_all_formats_and_reports() {
    let cli = Cli::new();
    let run = saved(&import(&cli, &["fio-3.33-repeated.json", "--board", "Pi Zero 2 W", "--drive", "vda"]));
    let show = |format| cli.run(["show", &run, "--format", format]).out.replace(&run, "RUN");
    insta::assert_snapshot!(show("csv"));
    let json: serde_json::Value = serde_json::from_str(&show("json")).expect("JSON");
    assert_eq!(json["experiment"], "import");
    assert_eq!(json["estimates"][0]["name"], "write throughput");
    assert_eq!(json["estimates"][1]["estimate"]["high"], serde_json::Value::Null);
    assert!(show("markdown").contains("| write | 583 MB/s |"), "{}", show("markdown"));
    let directory = Cli::directory();
    let report = directory.path().join("report");
    let done = cli.run(["report", &run, "--out", report.to_str().expect("UTF-8")]);
    assert_eq!(done.code, 0, "{}", done.err);
    // In tables a unit stays with its number.
    let page = fs::read_to_string(report.join("report.html")).expect("a page").replace('\u{a0}', " ");
    assert!(page.contains("583 MB/s") && !page.contains("inf"), "{page}");
    for which in [&["--board", "zero 2"][..], &["--experiment", "import"], &["--drive", "vda"]] {
        let list = cli.run([&["results", "list"], which].concat());
        assert!(list.out.contains(&run), "{which:?}: {}", list.out);
    }
    assert_eq!(cli.run(["run", "import"]).code, 2, "it can't be run");
}

/// Saves a run of sequential 4 KiB writes on a modelled drive, marked as real.
fn measured(cli: &Cli) -> String {
    let ask =
        only(LoadName::Write, ask(vec![target("4C530001", 62_000_000_000, false)], Rules::quick(), 4096));
    let plan = plan(&ask).expect("plans");
    let model = Model {
        capacity: 62_000_000_000,
        write: vec![Zone { from: 0, rate: 9e6 }],
        read: vec![Zone { from: 0, rate: 20e6 }],
        ..Model::default()
    };
    let start = |run: String| Start {
        schema: SCHEMA,
        run,
        at: "2026-05-01T10:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        command: vec!["drivebench".to_owned()],
        experiment: plan.experiment.clone(),
        targets: vec![],
        host: Default::default(),
        inventory: Inventory::default(),
    };
    let (run, mut writer) = Store::at(cli.store()).create(start).expect("a record");
    for mut event in carry_out(&plan, &Board { drives: vec![model], buses: vec![], seed: 1 }).expect("runs") {
        if let Event::Step { engine, .. } = &mut event {
            engine.name = "psync".to_owned();
            engine.modelled = false;
        }
        writer.append(&event).expect("appends");
    }
    writer
        .append(&Event::End(End { how: How::Finished, at: "2026-05-01T10:01:00Z".to_owned() }))
        .expect("appends");
    run
}

#[test]
fn an_import_is_compared_with_a_measured_run() {
    let cli = Cli::new();
    let measured_run = measured(&cli);
    let iozone = saved(&import(&cli, &["pibenchmarks-switch.txt", "--drive", "4C530001"]));
    let fio = saved(&import(&cli, &["fio-2.2.10.json"]));
    let dd = saved(&import(&cli, &["dd-de.txt", "--rw", "write"]));
    let compared = |a: &str, b: &str| {
        let done = cli.run(["results", "compare", a, b]);
        assert_eq!(done.code, 0, "{}", done.err);
        let names = [(&measured_run, "OURS"), (&iozone, "IOZN"), (&fio, "FIO2"), (&dd, "DDDE")];
        names.iter().fold(without_time(&done.out), |text, (run, name)| text.replace(*run, name))
    };
    insta::assert_snapshot!(
        [compared(&measured_run, &iozone), compared(&measured_run, &fio), compared(&dd, &fio)].join("----\n")
    );
}

#[test]
fn the_command_that_shows_a_run_names_its_store() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let dir = place.path().join("my results").to_str().expect("UTF-8").to_owned();
    let file = "tests/fixtures/import/fio-2.2.10.json";
    let said = words(&cli.run(["import", file, "--store", &dir]).err.replace("\\\n", " "));
    assert!(said.contains(&format!(" --full --store '{dir}'")), "{said}");
    assert!(!cli.run(["import", file]).err.contains("--store"));
}

#[test]
fn the_same_content_is_imported_once() {
    let cli = Cli::new();
    let run = saved(&import(&cli, &["dd-loop.txt"]));
    let directory = Cli::directory();
    fs::copy(Path::new(SAMPLES).join("dd-loop.txt"), directory.path().join("other name")).expect("copies");
    let other = directory.path().join("other name");
    let done = cli.run([Path::new("import"), &other]);
    assert_eq!((done.code, done.out.as_str()), (2, ""));
    assert!(words(&done.err).contains(&format!("is identical to {run}")), "{}", done.err);
    assert_eq!(cli.run(["results", "rm", &run]).code, 0);
    assert_eq!(cli.run([Path::new("import"), &other]).code, 0);
}

#[test]
fn a_directory_imports_all_files_below_it() {
    let (cli, place) = (Cli::new(), Cli::directory());
    // Long, so that the table fits by leaving out what all files share.
    let directory = place.path().join("results of all drives of the small server in the cellar, in November");
    // As bench-fio writes them: a directory a device, block size and so on, with logs beside the JSON.
    let deep = directory.join("sda/4k");
    fs::create_dir_all(&deep).expect("directories");
    for (to, from) in
        [("randread-1-1.json", "fio-3.33-several.json"), ("randread-2-1.json", "fio-3.33-repeated.json")]
    {
        fs::copy(Path::new(SAMPLES).join(from), deep.join(to)).expect("copies");
    }
    let whole = fs::read(Path::new(SAMPLES).join("fio-2.2.10.json")).expect("reads");
    fs::write(deep.join("randread-3-1.json"), &whole[..1000]).expect("writes");
    fs::write(deep.join("randread-1-1_bw.1.log"), "500, 4915, 0, 4096\n1000, 5120, 0, 4096\n")
        .expect("writes");
    fs::write(deep.join("empty"), "").expect("writes");
    std::os::unix::fs::symlink("..", deep.join("loop")).expect("links");
    let done = cli.run(["import", directory.to_str().expect("UTF-8")]);
    assert_eq!(done.code, 0, "{}", done.err);
    let err = words(&done.err).replace(&*directory.to_string_lossy(), "DIR");
    let err = err.replace("Skipped:", "\nSkipped:").replace(" \n", "\n");
    insta::assert_snapshot!(err);
    assert_eq!(done.out.lines().count(), 3, "{}", done.out);
    assert_eq!(cli.run(["results"]).out.lines().count(), 3);
}

#[test]
fn bad_input_is_refused_and_nothing_is_saved() {
    let (cli, directory) = (Cli::new(), Cli::directory());
    let file = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, content).expect("writes");
        path.display().to_string()
    };
    let whole = fs::read(Path::new(SAMPLES).join("fio-3.33-several.json")).expect("reads");
    let good = Path::new(SAMPLES).join("dd-loop.txt").display().to_string();
    let big = file("big", b"");
    fs::File::options().write(true).open(&big).expect("opens").set_len(65 << 20).expect("grows");
    let empty_directory = directory.path().join("none");
    fs::create_dir(&empty_directory).expect("a directory");
    let damaged = String::from_utf8_lossy(&whole).replacen("\"runtime\": 88", "\"runtime\": \"soon\"", 1);
    let cases: Vec<Vec<String>> = vec![
        vec![],
        vec![file("missing", b"").replace("missing", "nowhere")],
        vec![file("empty", b"\n")],
        vec![file("letter", b"Dear all,\nthe disk is fast.\n")],
        vec![file("cut.json", &whole[..whole.len() / 2])],
        vec![file("damaged.json", damaged.as_bytes())],
        vec![big],
        vec!["/dev/null".to_owned()],
        vec![empty_directory.display().to_string()],
        // A good file is not saved either if another one is refused.
        vec![good.clone(), file("cut2.json", &whole[..900])],
        vec![good.clone(), "--drive".to_owned(), " ".to_owned()],
        vec![good, "--rw".to_owned(), "both".to_owned()],
    ];
    let mut messages = Vec::new();
    for args in &cases {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let done = cli.run([&["import"], &args[..]].concat());
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{args:?}: {}", done.err);
        let text = done.err.replace(&*directory.path().to_string_lossy(), "DIR").replace(SAMPLES, "SAMPLES");
        messages.push(words(&text));
    }
    insta::assert_snapshot!(messages.join("\n"));
    assert!(!cli.store().exists() || cli.run(["results"]).out.is_empty(), "something was saved");
}

#[test]
fn synced_writes_of_fio_are_known_as_such() {
    let (cli, directory) = (Cli::new(), Cli::directory());
    let text = fs::read_to_string(Path::new(SAMPLES).join("fio-3.33-repeated.json")).expect("reads");
    let synced = text.replace("\"direct\": \"1\"", "\"direct\": \"1\", \"sync\": \"dsync\"");
    assert!(synced != text);
    let sync_of = |text: &str| {
        let file = directory.path().join("fio.json");
        fs::write(&file, text).expect("writes");
        let run = saved(&cli.run([Path::new("import"), &file]));
        let json = cli.run(["show", &run, "--format", "json"]).out;
        let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        found["estimates"][0]["load"]["sync"].clone()
    };
    assert_eq!((sync_of(&text), sync_of(&synced)), (false.into(), true.into()));
}
