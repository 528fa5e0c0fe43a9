use std::{fs::File, sync::Arc};

use super::*;
use crate::{testing, tools::Replay, units::Caching};

/// The output of fio 3.33 for `--rw=randrw --rwmixread=70 --bs=4k --size=64M --io_size=96M --status-interval=250ms`.
const MIXED: &str = include_str!("../../../../tests/fixtures/fio/mixed-3.33.txt");

fn version(text: &str) -> Replay {
    Replay::default()
        .answer("fio --version", Output { code: Some(0), stdout: text.into(), stderr: String::new() })
}

fn mixed() -> Job {
    let mut job = testing::job(4096, 96 << 20);
    job.load.direction = Direction::Mixed { read_percent: 70 };
    job.extent.length = 64 << 20;
    job
}

fn scratch() -> (Arc<File>, Vec<FileTarget>) {
    let file = Arc::new(tempfile::tempfile().expect("a file"));
    file.set_len(64 << 20).expect("resizes");
    (file.clone(), vec![FileTarget::new(file, "scratch")])
}

/// Runs a job on recorded output of fio.
fn replay(job: Job, output: Output) -> (Vec<Window>, Result<Outcome, EngineError>) {
    let (_file, targets) = scratch();
    let runner = version("fio-3.33\n").answer("fio --output-format=json+", output);
    let mut engine = Fio::new(Box::new(runner), targets).expect("fio");
    let mut windows = Vec::new();
    let outcome = engine.run(&[job], &Cancel::default(), &mut |_, window| {
        windows.push(window.clone());
        Flow::Continue
    });
    (windows, outcome.map(|mut all| all.remove(0)))
}

#[test]
fn parses_the_output_of_fio() {
    let output = Output { code: Some(0), stdout: MIXED.into(), stderr: String::new() };
    let (windows, outcome) = replay(mixed(), output);
    let outcome = outcome.expect("runs");
    assert_eq!(outcome.ended, Ended::Finished);
    assert_eq!((outcome.bytes_read, outcome.bytes_written, outcome.ops), (70_664_192, 29_999_104, 24_576));
    assert_eq!(outcome.seconds, 0.386);
    let spans: Vec<(u64, u64, u64)> = windows.iter().map(|w| (w.from_ns, w.to_ns, w.ops)).collect();
    assert_eq!(spans, [(0, 147_000_000, 10_755), (147_000_000, 386_000_000, 13_821)]);
    assert_eq!(windows.iter().map(|w| w.bytes).sum::<u64>(), 96 << 20);
    let reads: u64 = windows.iter().flat_map(|w| &w.reads).map(Histogram::count).sum();
    assert_eq!(reads, 17_252);
}

#[test]
fn truncated_output_is_a_failure() {
    let cut = MIXED.rfind("\n{\n").expect("documents");
    let cut = MIXED[..cut].rfind("\n{\n").expect("documents");
    let said = "fio: terminated by accident".to_owned();
    let output = Output { code: None, stdout: MIXED[..cut].into(), stderr: said.clone() };
    let (_, outcome) = replay(mixed(), output);
    let expected = Ended::Failed { what: "fio".into(), offset: 0, errno: None, message: said };
    assert_eq!(outcome.expect("runs").ended, expected);
}

#[test]
fn an_option_that_fio_rejects_is_an_error() {
    let said = "fio: unrecognized option '--lat_percentiles=1'\n".to_owned();
    let output = Output { code: Some(1), stdout: String::new(), stderr: said };
    let error = replay(mixed(), output).1.expect_err("refused").to_string();
    assert_eq!(error, "running fio: fio: unrecognized option '--lat_percentiles=1'");
    let garbled = Output { code: Some(0), stdout: "{\n  \"jobs\" : 7\n}\n".into(), stderr: String::new() };
    assert!(
        replay(mixed(), garbled)
            .1
            .expect_err("refused")
            .to_string()
            .starts_with("reading what fio-3.33 prints")
    );
}

#[test]
fn old_and_strange_versions_are_refused() {
    for text in ["fio-2.21\n", "flexible", ""] {
        let error = Fio::new(Box::new(version(text)), Vec::new()).err().expect("refused").to_string();
        assert!(error.contains("fio 3 or newer"), "{error}");
    }
    let missing = Fio::new(Box::new(Replay::default()), Vec::new()).err().expect("refused");
    assert!(matches!(missing, EngineError::Unavailable { engine: "fio", .. }));
}

#[test]
fn errors_have_their_offset() {
    let lines = [
        "fio: io_u error on file /proc/7/fd/3: Input/output error: write offset=5251072, buflen=4096",
        "crc32c: verify failed at file /proc/7/fd/3 offset 1048576, length 4096 (requested block: offset=1048576, length=4096)",
    ];
    let found = |line: &str, path: &str| failure(std::iter::once(line), path);
    assert_eq!(
        found(lines[0], "/proc/7/fd/3"),
        Some(("write".into(), 5_251_072, "Input/output error".into()))
    );
    assert_eq!(
        found(lines[1], "/proc/7/fd/3"),
        Some(("verify".into(), 1 << 20, "crc32c: verify failed".into()))
    );
    assert_eq!(found(lines[0], "/proc/7/fd/4"), None);
}

#[test]
fn files_that_are_too_short_are_refused() {
    let (file, targets) = scratch();
    let engine = Fio::new(Box::new(version("fio-3.38")), targets).expect("fio");
    let mut job = mixed();
    job.extent.length = 65 << 20;
    assert!(engine.check(&job).expect_err("refused").to_string().contains("ends early"));
    job.load.direction = Direction::Write;
    job.load.caching = Caching::Direct;
    engine.check(&job).expect("fits");
    assert_eq!(file.metadata().expect("metadata").len(), 65 << 20);
    let line = engine.command(&[job.clone()]).to_string();
    assert!(
        !line.contains("--readonly")
            && line.contains(&format!("--filename=/proc/{}/fd/", std::process::id()))
    );
    job.load.direction = Direction::Read;
    assert!(engine.command(&[job]).to_string().contains("--readonly"));
}
