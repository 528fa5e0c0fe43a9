use crate::{
    findings,
    groups::load,
    read,
    record::{Event, Half, ImportOptions, Imported, ImportedLoad},
    units::{Caching, Content, Direction, KIB, MIB, Pattern},
};

fn parse(text: &str) -> Imported {
    read(text.as_bytes(), &ImportOptions::default()).expect("a result")
}

fn only(text: &str) -> (ImportedLoad, Vec<String>) {
    let imported = parse(text);
    let [load] = &imported.loads[..] else { panic!("{imported:#?}") };
    (load.clone(), imported.notes)
}

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/import/", $name))
    };
}

/// A document of fio 3.40 with these options, and these figures of each direction: bytes, ms, IOPS.
fn document(options: &str, read: [u64; 3], write: [u64; 3]) -> String {
    let way = |[bytes, ms, iops]: [u64; 3]| {
        let bw = (bytes * 1000).checked_div(ms).unwrap_or_default();
        format!(r#"{{"io_bytes": {bytes}, "bw_bytes": {bw}, "iops": {iops}, "runtime": {ms}}}"#)
    };
    let (read, write) = (way(read), way(write));
    format!(
        r#"{{"fio version": "fio-3.40", "jobs": [{{"jobname": "j", "groupid": 0, "job options": {{{options}}}, "read": {read}, "write": {write}}}]}}"#
    )
}

const NOTHING: [u64; 3] = [0; 3];

fn has(notes: &[String], what: &str) -> bool {
    notes.iter().any(|note| note.contains(what))
}

/// The latency that this share of the operations stayed below.
fn microseconds(load: &ImportedLoad, share: f64) -> Option<f64> {
    load.latencies
        .iter()
        .find(|(of, _)| (of - share).abs() < 1e-9)
        .map(|(_, seconds)| (seconds * 1e6).round())
}

#[test]
fn of_reports_on_one_run_the_last_one_counts_once() {
    for text in [sample!("fio-3.33-status-interval.json"), sample!("fio-3.33-status-interval.txt")] {
        let (load, notes) = only(text);
        assert!(load.seconds.is_some_and(|s| (3.0..3.1).contains(&s)), "{load:?}");
        assert!(has(&notes, "only the last one counts"), "{notes:?}");
    }
    let report = |start: u64, bytes: u64, ms: u64| {
        let (at, elapsed) = (start + ms / 1000, ms / 1000);
        let text = document("", [bytes, ms, 100], NOTHING);
        let text = text.replacen("\"jobs\"", &format!("\"timestamp\": {at}, \"jobs\""), 1);
        text.replacen("\"groupid\"", &format!("\"elapsed\": {elapsed}, \"groupid\""), 1)
    };
    let series = |starts: [u64; 3]| {
        let [a, b, c] = starts;
        parse(&[report(a, 4 << 20, 1000), report(b, 8 << 20, 2000), report(c, 12 << 20, 3000)].join("\n"))
    };
    assert_eq!(series([7, 7, 7]).loads.iter().map(|l| l.bytes).collect::<Vec<_>>(), [Some(12 << 20)]);
    // Three runs of one job stay repetitions.
    let runs = series([7, 17, 27]);
    assert_eq!(runs.loads.len(), 3);
    assert!(runs.loads.iter().all(|l| l.same_as.is_some() && l.same_as == runs.loads[0].same_as));
    assert!(!has(&runs.notes, "last one"));
}

#[test]
fn reads_that_verify_are_no_half_of_a_mix() {
    let (load, notes) = only(sample!("fio-3.33-verify.json"));
    assert_eq!((load.direction, load.half), (Some(Direction::Write), None));
    assert!(has(&notes, "read back what it had written") && has(&notes, "verify=crc32c"), "{notes:?}");
    // Before fio 2.10 no options are reported: the times tell a mix from one after the other.
    let without = |read, write| parse(&document("", read, write).replace("\"job options\": {}, ", "")).loads;
    let (both, later) = ([4 << 20, 1000, 1024], [4 << 20, 2500, 409]);
    let halves: Vec<_> = without(both, both).iter().map(|l| l.half).collect();
    assert_eq!(halves, [None, Some(Half::Reads), Some(Half::Writes)]);
    let apart: Vec<_> = without(both, later).iter().map(|l| (l.direction, l.half)).collect();
    assert_eq!(apart, [(Some(Direction::Read), None), (Some(Direction::Write), None)]);
}

#[test]
fn a_synchronous_engine_has_one_operation_in_flight() {
    let depth = |options: &str| only(&document(options, [4 << 20, 1000, 1024], NOTHING));
    for engine in ["sync", "psync", "pvsync2", "mmap"] {
        let (load, notes) = depth(&format!(r#""ioengine": "{engine}", "iodepth": "32""#));
        assert_eq!(load.depth, Some(1), "{engine}");
        assert!(has(&notes, "iodepth=32"), "{notes:?}");
    }
    // The default engine is synchronous on Linux.
    assert_eq!(depth(r#""iodepth": "32""#).0.depth, Some(1));
    let (load, notes) = depth(r#""ioengine": "libaio", "iodepth": "32""#);
    assert_eq!((load.depth, notes), (Some(32), Vec::new()));
}

#[test]
fn what_else_decided_the_speed_is_noted_and_not_compared() {
    let with = |options: &str| parse(&document(options, NOTHING, [4 << 20, 1000, 1024]));
    let compared = |imported: Imported| {
        let notes = imported.notes.clone();
        let findings = findings(&mut std::iter::once(Event::Imported(Box::new(imported))));
        assert!(notes.iter().all(|note| findings.flags.contains(note)), "{:?}", findings.flags);
        assert_eq!(findings.tables[0].rows.len(), 1);
        !findings.estimates.is_empty()
    };
    let rw = r#""rw": "write""#;
    for (option, note) in [
        (r#""rate": "1m""#, "(rate=1m)"),
        (r#""rate_iops": "100""#, "(rate_iops=100)"),
        (r#""thinktime": "1000""#, "(thinktime=1000)"),
        (r#""ioengine": "null""#, "used the engine null"),
    ] {
        let imported = with(&format!("{rw}, {option}"));
        assert!(has(&imported.notes, note), "{:?}", imported.notes);
        assert!(!compared(imported), "{option}");
    }
    for (option, note) in [
        (r#""zero_buffers": """#, "(zero_buffers=)"),
        (r#""ioengine": "mmap", "direct": "1""#, "used mmap"),
        (r#""dedupe_percentage": "80""#, "dedupe_percentage=80"),
    ] {
        let imported = with(&format!("{rw}, {option}"));
        assert!(has(&imported.notes, note), "{:?}", imported.notes);
        assert!(compared(imported), "{option}");
    }
    assert_eq!(with(r#""rw": "write", "zero_buffers": "1""#).loads[0].content, Some(Content::Zeros));
    assert_eq!(
        with(r#""rw": "write", "ioengine": "mmap", "direct": "1""#).loads[0].caching,
        Some(Caching::Buffered)
    );
    let plain = with(r#""rw": "write", "rate": "0", "thinktime": "0", "verify": "0""#);
    assert_eq!((plain.notes.len(), plain.loads[0].limited, plain.loads[0].content), (0, false, None));
}

#[test]
fn operations_that_do_not_fit_the_speed_are_said() {
    let notes = |iops| only(&document("", [4 << 20, 1000, iops], NOTHING)).1;
    assert_eq!(notes(1024), Vec::<String>::new());
    assert!(
        has(&notes(512), "contradicts itself: 512 operations a second of 4 KiB are 2.10 MB/s"),
        "{:?}",
        notes(512)
    );
    // Copies that ended at different times: the speed is that of all bytes in the longest time, and so are the IOPS.
    let text = document(r#""numjobs": "2""#, [4 << 20, 1000, 1024], NOTHING);
    let copy = text.split_once("[{").and_then(|(_, rest)| rest.split_once("}]")).expect("a job").0;
    let slow =
        copy.replace("\"runtime\": 1000", "\"runtime\": 4000").replace("\"iops\": 1024", "\"iops\": 256");
    let slow = slow.replace("\"bw_bytes\": 4194304", "\"bw_bytes\": 1048576");
    let (load, notes) = only(&text.replace(copy, &format!("{copy}}}, {{{slow}")));
    assert_eq!((load.jobs, load.iops, load.speed), (Some(2), Some(512.0), (2 << 20) as f64));
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn normal_output_of_fio_2() {
    let imported = parse(sample!("fio-2.2.10.txt"));
    let [one, ten] = &imported.loads[..] else { panic!("{imported:#?}") };
    assert_eq!((imported.tool.as_str(), imported.drive.as_deref()), ("fio 2.2.10", Some("sdt")));
    assert_eq!((one.bytes, one.seconds, one.iops), (Some(1 << 30), Some(17.061), Some(15365.0)));
    assert!((one.speed / (61460.0 * 1024.0) - 1.0).abs() < 1e-3, "{}", one.speed);
    assert_eq!(load("", one).describe(), "random read, 4 KiB, depth 1");
    // Text doesn't say whether the page cache was used.
    assert_eq!((one.caching, one.sync, one.same_as), (None, None, None));
    assert_eq!(microseconds(one, 0.999), Some(940.0));
    assert_eq!((one.jobs, ten.jobs, ten.bytes), (Some(1), Some(10), Some(10 << 30)));
    // The two commands name a file of jobs, which is not here. Every line of fio's was used.
    assert_eq!(imported.skipped_lines, 2);

    let imported = parse(sample!("fio-2.0.15.txt"));
    let labels: Vec<String> = imported.loads.iter().map(ImportedLoad::label).collect();
    assert_eq!(labels, ["rw", "rw, reads", "rw, writes"]);
    assert_eq!(imported.loads[0].direction, Some(Direction::Mixed { read_percent: 50 }));
    assert_eq!((imported.loads[1].bytes, imported.loads[1].block), (Some(77_552 * 1024), Some(16 * KIB)));

    // Processes of one job ran at once; the two runs are of unknown options, so no repetitions.
    let imported = parse(sample!("fio-2.1.3.txt"));
    let [a, b] = &imported.loads[..] else { panic!("{imported:#?}") };
    assert_eq!((a.jobs, a.bytes, a.depth, a.seconds), (Some(2), Some(6 << 30), Some(1), Some(26.736)));
    assert_eq!((b.bytes, a.same_as, b.same_as), (Some(6 << 30), None, None));
    assert!(has(&imported.notes, "iodepth=4"), "{:?}", imported.notes);
}

#[test]
fn normal_output_of_fio_3_with_its_command() {
    let imported = parse(sample!("fio-3.1.txt"));
    let [write, read] = &imported.loads[..] else { panic!("{imported:#?}") };
    assert_eq!((imported.tool.as_str(), imported.drive.as_deref()), ("fio 3.1", Some("vdc")));
    // The command line has all options of the first job. That of the second defines two jobs.
    assert_eq!(load("", write).describe(), "random write, 4 KiB, direct, depth 1");
    assert_eq!((write.on.as_deref(), write.caching), (Some("iotest"), Some(Caching::Direct)));
    assert_eq!((write.bytes, write.seconds, write.iops), (Some(1 << 30), Some(160.642), Some(1631.0)));
    assert_eq!(microseconds(write, 0.99), Some(3458.0));
    // The terse line and the text are one run.
    assert_eq!(
        (read.caching, read.jobs, read.block, read.bytes),
        (None, Some(2), Some(4 * KIB), Some(2 << 30))
    );
    assert_eq!(imported.skipped_lines, 0);
    // A command over several lines, quoted in a mail.
    let text = "> $ fio --name=t --rw=read --bs=1M \\\n>    --direct=1 --ioengine=libaio --iodepth=8\n\
                > t: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=libaio, iodepth=8\n\
                > fio-3.28\n> t: (groupid=0, jobs=1): err= 0: pid=7: Wed Jan 22 23:36:47 2025\n\
                >   read: IOPS=1035, BW=1035MiB/s (1085MB/s)(10.1GiB/10001msec)\n";
    let (load, _) = only(text);
    assert_eq!((load.block, load.depth, load.caching), (Some(MIB), Some(8), Some(Caching::Direct)));
    assert_eq!((load.pattern, load.iops), (Some(Pattern::Sequential), Some(1035.0)));
}

#[test]
fn terse_output() {
    let imported = parse(sample!("fio-terse-3.txt"));
    let labels: Vec<_> = imported.loads.iter().map(|l| (l.tool.as_str(), l.label())).collect();
    assert_eq!(
        labels.iter().map(|(tool, label)| (*tool, label.as_str())).collect::<Vec<_>>(),
        [
            ("fio 2.0.15", "rw"),
            ("fio 2.0.15", "rw, reads"),
            ("fio 2.0.15", "rw, writes"),
            ("fio 3.32", "read")
        ]
    );
    let read = &imported.loads[3];
    assert_eq!((read.bytes, read.seconds, read.iops), (Some(132_160 * 1024), Some(10.005), Some(3302.0)));
    assert_eq!(microseconds(read, 0.99), Some(6455.0));
    assert_eq!((read.block, read.depth, read.caching), (None, None, None));
    // A line that ends early has no result.
    let cut = &sample!("fio-terse-3.txt")[..700];
    assert!(read_error(cut).contains("no result found"), "{}", read_error(cut));
}

fn read_error(text: &str) -> String {
    read(text.as_bytes(), &ImportOptions::default()).expect_err("no result").to_string()
}

#[test]
fn one_run_in_two_formats_counts_once() {
    let json = document(r#""rw": "read""#, [4 << 20, 1000, 1024], NOTHING);
    let text = "j: (g=0): rw=read, bs=4K-4K/4K-4K/4K-4K, ioengine=psync, iodepth=1\nfio-3.40\n\
                j: (groupid=0, jobs=1): err= 0: pid=7: Wed Jan 22 23:36:47 2025\n\
                   read: IOPS=1024, BW=4096KiB/s (4194kB/s)(4096KiB/1000msec)\n";
    assert_eq!(only(&format!("{json}\n{text}")).0.block, Some(4 * KIB));
    assert_eq!(parse(&format!("{json}\n{}", text.replace("1000msec", "1001msec"))).loads.len(), 2);
}
