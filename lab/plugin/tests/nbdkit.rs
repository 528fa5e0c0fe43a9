//! Tests of the plugin in a real nbdkit, with QEMU's client.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    thread,
    time::{Duration, Instant},
};

use drivebench_lab::{
    Scenario,
    ledger::{self, Entry, Kind},
    oracle,
    process::{self, Daemon},
};

/// A drive that writes 20 MB/s and stalls for 30 ms every MB, and one with a false capacity that can't be read
/// at 8192.
const SCENARIO: &str = r#"
    title = "two fast sticks"
    [[bus]]
    name = "USB"
    rate = 35e6
    [[drive]]
    bay = "1.1"
    product = "Stick"
    serial = "A"
    sectors = 40961
    [drive.model]
    read = [{ from = 0, rate = 30e6 }]
    write = [{ from = 0, rate = 20e6 }]
    operation_seconds = 0.0005
    flush_seconds = 0.01
    stalls = [{ every = 1e6, seconds = 0.03 }]
    [[drive]]
    bay = "1.2"
    product = "Stick"
    serial = "A"
    sectors = 4096
    real_sectors = 2049
    [drive.model]
    read = [{ from = 0, rate = 100e6 }]
    write = [{ from = 0, rate = 100e6 }]
    faults = { unreadable = [{ offset = 8192, length = 1 }], corrupt = [{ offset = 65536, length = 1 }] }
"#;

struct Served {
    directory: tempfile::TempDir,
    scenario: Scenario,
    _nbdkit: Daemon,
}

impl Served {
    fn new() -> Self {
        process::find("nbdkit").expect("the server");
        process::find("qemu-io").expect("the client");
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("scenario.toml");
        fs::write(&file, SCENARIO).expect("its scenario");
        // Cargo puts what it built of this package beside this test.
        let plugin =
            std::env::current_exe().expect("this test").with_file_name("libdrivebench_lab_plugin.so");
        let socket = directory.path().join("nbd");
        let log = directory.path().join("log");
        let args = ["-f".into(), "-U".into(), socket.display().to_string(), plugin.display().to_string()];
        let parameters =
            [format!("scenario={}", file.display()), format!("directory={}", directory.path().display())];
        let mut nbdkit =
            Daemon::start("nbdkit", args.into_iter().chain(parameters), &log, false).expect("setpriv");
        while !socket.exists() {
            assert!(nbdkit.ended().is_none(), "{}", fs::read_to_string(&log).unwrap_or_default());
            thread::sleep(Duration::from_millis(5));
        }
        Self { directory, scenario: Scenario::read(&file).expect("a sound scenario"), _nbdkit: nbdkit }
    }

    fn uri(&self, bay: &str) -> String {
        format!("nbd+unix:///{bay}?socket={}/nbd", self.directory.path().display())
    }

    /// Runs commands of qemu-io; returns their output.
    fn io(&self, bay: &str, commands: &[&str]) -> String {
        let uri = self.uri(bay);
        let commands = commands.iter().flat_map(|c| ["-c", *c]);
        // qemu-io also fails if an operation fails, which tests read from its output, so its exit code is ignored.
        let args = ["-f", "raw"].into_iter().chain(commands).chain([uri.as_str()]);
        let script = ["-c", "qemu-io \"$@\" 2>&1 || true", "sh"];
        text(&process::run("sh", script.into_iter().chain(args)).expect("a shell"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

#[test]
fn a_stick_is_as_fast_as_its_model_and_never_faster() {
    let served = Served::new();
    let begin = Instant::now();
    let count = 1024;
    let bench = "bench -f raw -w -d 1 -s 4096 --pattern=7 --flush-interval=512 -c";
    let args: Vec<String> = bench.split(' ').map(str::to_owned).collect();
    process::run("qemu-img", args.into_iter().chain([count.to_string(), served.uri("1.1")])).unwrap();
    let took = begin.elapsed().as_secs_f64();

    let ledger = ledger::read(&served.path("1.1.ledger.csv")).unwrap();
    let runs = oracle::runs(&ledger, Kind::Write, 10.0);
    assert_eq!((runs.len(), runs[0].operations, runs[0].bytes), (1, count, 4 << 20));
    assert!(
        ledger.iter().filter(|e| e.kind == Kind::Flush && e.end_ns - e.start_ns == 10_000_000).count() >= 2
    );
    let board = served.scenario.board();
    let ideal = oracle::mean_seconds(&board.drives[0], Some(35e6), true, 0, 4096) * count as f64;
    // 4 or 5 stalls of 30 ms within 4.19 MB: the mean says 4.19.
    let stalls = runs[0].stalls.len() as f64 - 4.194_304;
    assert!((runs[0].busy_seconds - stalls * 0.03 - ideal).abs() < 1e-3, "{} {ideal}", runs[0].busy_seconds);
    assert!(stalls.abs() < 1.0 && runs[0].seconds() >= runs[0].busy_seconds);
    // Time before the first write may be counted with it.
    assert!(took > runs[0].busy_seconds - 0.05, "{took} s for {} s", runs[0].busy_seconds);
    let in_turn =
        |pair: &[Entry]| pair[0].answered_ns >= pair[0].end_ns && pair[1].start_ns >= pair[0].end_ns;
    assert!(ledger.windows(2).all(in_turn));

    let image = fs::read(served.path("1.1.img")).unwrap();
    assert_eq!(image.len(), 40961 * 512);
    assert!(image[..4 << 20].iter().all(|&byte| byte == 7) && zeros(&image[4 << 20..]));
    // The last sector is there, and nothing beyond it.
    let output = served.io("1.1", &["read -P 0 20971520 512", "read 20972032 512"]);
    assert!(output.contains("read 512/512 bytes at offset 20971520"), "{output}");
    assert_eq!(output.matches("Input/output error").count(), 1, "{output}");
}

#[test]
fn faults_are_exact_to_the_byte() {
    let served = Served::new();
    let output = served.io(
        "1.2",
        &[
            "write -P 5 0 2M",
            "read -P 5 4096 4096",
            "read -P 5 8192 512",
            "read -P 5 8704 4096",
            "read -P 5 65536 512",
            "read -P 5 66048 512",
            "read -P 5 1048576 512",
            "read -P 0 1049088 1048064",
        ],
    );
    let wrong: Vec<&str> = output.lines().filter(|l| l.contains("failed")).collect();
    assert_eq!(
        wrong,
        ["read failed: Input/output error", "Pattern verification failed at offset 65536, 512 bytes"],
        "{output}"
    );
    let ledger = ledger::read(&served.path("1.2.ledger.csv")).unwrap();
    let failed: Vec<(u64, Kind)> = ledger.iter().filter(|e| e.failed).map(|e| (e.offset, e.kind)).collect();
    assert_eq!(failed, [(8192, Kind::Read)]);
    assert!(served.io("1.7", &["length"]).contains("1.7"), "there is no such bay");
    assert!(!Path::new(&served.path("1.7.img")).exists());
}
