//! Properties of rows in every format.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{
    analyse::Estimate,
    findings::{LoadKey, Origin, Quantity, Reference, Scope},
    units::{Caching, Pattern, Percentile, RunStatus},
};

fn findings(run: &str, at: &str, carriers: Vec<Carrier>, estimates: Vec<Metric>) -> Findings {
    Findings {
        run: run.to_owned(),
        experiment: "baseline".to_owned(),
        estimates,
        origin: Origin {
            at: at.to_owned(),
            version: "0.1.0".to_owned(),
            ended: RunStatus::Finished,
            carriers,
            ..Origin::default()
        },
        ..Findings::default()
    }
}

fn stick(target: &str, serial: &str) -> Carrier {
    Carrier {
        target: target.to_owned(),
        drives: vec![CarrierDrive {
            identity: format!("{serial}+8"),
            model: Some("Cruzer \"Blade\"".to_owned()),
            serial: Some(serial.to_owned()),
            bytes: Some(4096),
            bay: Some("1.3".to_owned()),
            bus: Some("usb".to_owned()),
            ..CarrierDrive::default()
        }],
        ..Carrier::default()
    }
}

/// A number of a load of this name.
fn metric(target: &str, name: &str, quantity: Quantity, value: f64) -> Metric {
    let how = "batch means".to_owned();
    let estimate =
        Estimate { value, low: value * 0.9, high: value * 1.1, how, converged: true, within: None };
    let load = LoadKey { name: name.to_owned(), ..LoadKey::default() };
    Metric::new(target, quantity, estimate).of(&load)
}

/// A quantity of each unit.
const QUANTITIES: [Quantity; 4] = [
    Quantity::Throughput,
    Quantity::LongestOperation,
    Quantity::Knee,
    Quantity::RelativeSpeed(Reference::Other),
];

fn written(format: RowFormat, all: &[Findings]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut into = export(format, &mut out).expect("begins");
    all.iter().flat_map(rows).for_each(|row| into.row(&row).expect("writes"));
    into.finish().expect("ends");
    out
}

fn metrics(all: &[Findings]) -> String {
    String::from_utf8(written(RowFormat::OpenMetrics, all)).expect("UTF-8")
}

fn values(all: &[Findings]) -> Vec<Vec<Value>> {
    all.iter().flat_map(rows).map(|row| row.values().map(|(_, value)| value).collect()).collect()
}

prop_compose! {
    fn any_metric()(
        target in "[ab]", name in "\\PC*", quantity in prop::sample::select(QUANTITIES.to_vec()),
        value in -1e300..1e300f64, open: bool, bytes in prop::option::of(any::<u64>()),
    ) -> Metric {
        let mut metric = metric(&target, &name, quantity, value);
        metric.bytes = bytes;
        if open { metric.estimate.high = f64::INFINITY; }
        metric
    }
}

prop_compose! {
    fn any_findings()(
        at in prop::sample::select(vec!["2026-11-21T10:00:00Z", "2026-05-01T10:00:00Z", "", "then"]),
        run in "r[a-z]{3}", serial in "[=+@-]?(?s).{0,6}", estimates in prop::collection::vec(any_metric(), 0..6),
    ) -> Findings {
        findings(&run, at, vec![stick("a", &serial)], estimates)
    }
}

#[test]
fn drives_whose_identities_look_the_same_are_one_series() {
    let estimate = || vec![metric("a", "throughput", Quantity::Throughput, 1.0)];
    let of = |run: &str, serial: &str| findings(run, "", vec![stick("a", serial)], estimate());
    let text = metrics(&[of("one", "\0"), of("two", "\u{200b}")]);
    assert_eq!(text.matches("bound=\"value\"").count(), 1, "{text}");
}

proptest! {
    #[test]
    fn every_format_reads_back_as_it_was(all in prop::collection::vec(any_findings(), 0..4)) {
        let want = values(&all);

        let text = written(RowFormat::Json, &all);
        let read: Vec<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(&text)?;
        prop_assert_eq!(read.len(), want.len());
        for (read, want) in read.iter().zip(&want) {
            prop_assert_eq!(read.len(), COLUMNS.len());
            for ((name, _), value) in COLUMNS.iter().zip(want) {
                prop_assert_eq!(&read[*name], value);
            }
        }

        let text = written(RowFormat::Csv, &all);
        let mut reader = csv::Reader::from_reader(&text[..]);
        let head: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        prop_assert_eq!(head, COLUMNS.map(|(name, _)| name.to_owned()));
        let read = reader.records().collect::<Result<Vec<_>, _>>()?;
        prop_assert_eq!(read.len(), want.len());
        for (read, want) in read.iter().zip(&want) {
            for (text, value) in read.iter().zip(want) {
                match value {
                    // No cell begins a formula.
                    Value::String(want) => {
                        prop_assert!(text == want || text == format!("'{want}"), "{text:?}: {want:?}");
                        prop_assert!(!text.trim_start().starts_with(['=', '+', '-', '@']), "{text:?}");
                    }
                    Value::Number(want) if want.is_u64() => prop_assert_eq!(text.parse().ok(), want.as_u64()),
                    Value::Number(want) => prop_assert_eq!(text.parse().ok(), want.as_f64()),
                    Value::Null => prop_assert_eq!(text, ""),
                    other => prop_assert_eq!(text, other.to_string()),
                }
            }
        }
    }

    #[test]
    fn metrics_are_well_formed_and_no_series_is_there_twice(all in prop::collection::vec(any_findings(), 0..5)) {
        let text = metrics(&all);
        let mut seen = BTreeSet::new();
        let (mut family, mut ended) = (String::new(), false);
        for line in text.split_terminator('\n') {
            prop_assert!(!ended, "nothing follows the end");
            ended = line == "# EOF";
            if let Some(said) = line.strip_prefix("# HELP ") {
                family = said.split(' ').next().unwrap_or_default().to_owned();
                prop_assert!(seen.insert(family.clone()), "{family} in two places");
            }
            if line.starts_with('#') { continue }
            let (name, rest) = line.split_once('{').ok_or_else(|| TestCaseError::fail(line.to_owned()))?;
            prop_assert_eq!(name, &family);
            let (labels, value) = unescaped(rest).ok_or_else(|| TestCaseError::fail(line.to_owned()))?;
            prop_assert!(value.parse::<f64>().is_ok(), "{}", value);
            prop_assert!(seen.insert(format!("{name} {labels:?}")), "{} twice", line);
        }
        prop_assert!(ended);
    }
}

/// Labels behind a brace, read by the format's rules, and the value behind them.
fn unescaped(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let (mut labels, mut rest) = (Vec::new(), text);
    loop {
        let (name, behind) = rest.split_once("=\"")?;
        let (mut value, mut chars) = (String::new(), behind.char_indices());
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    _ => return None,
                }),
                (_, c) => value.push(c),
            }
        };
        labels.push((name.to_owned(), value));
        rest = &behind[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some((labels, rest.strip_prefix("} ")?)),
        }
    }
}

#[test]
fn labels_are_escaped_and_read_back() {
    let odd = "a \"b\" \\ c\nd,e=\"f\"} 1";
    let text = metrics(&[findings(
        "r1",
        "2026-11-21T10:00:00Z",
        vec![],
        vec![metric(odd, "x", Quantity::WakeTime, 1.5)],
    )]);
    let line = text.lines().find(|l| l.starts_with("drivebench_time_seconds{")).expect("a series");
    assert!(line.contains(r#"target="a \"b\" \\ c?d,e=\"f\"} 1","#), "{line}");
    let (labels, value) = unescaped(line.split_once('{').expect("labels").1).expect("reads");
    assert_eq!((labels[3].1.as_str(), value), (odd.replace('\n', "?").as_str(), "1.5"));
}

#[test]
fn the_load_has_columns_of_its_own_and_labels() {
    let random = LoadKey {
        name: "RND4K Q32".to_owned(),
        direction: Some(Direction::Mixed { read_percent: 70 }),
        pattern: Some(Pattern::Random),
        block: Some(4096),
        depth: Some(32),
        caching: Some(Caching::Direct),
        sync: Some(true),
        missed: Some(63),
        engine: "uring".to_owned(),
        ..LoadKey::default()
    };
    let random = metric("/mnt/a", "", Quantity::Throughput, 1e6).of(&random);
    let small = metric("/mnt/a", "x", Quantity::Throughput, 1e6).at(Scope::Block(512));
    let mut all = [findings("r1", "2026-11-21T10:00:00Z", vec![], vec![random, small])];
    all[0].origin.suite = Some("mark".to_owned());
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&written(RowFormat::Json, &all)).expect("JSON");
    let of = |row: usize| LABELS.map(|name| rows[row][name].clone());
    assert_eq!(
        serde_json::json!(of(0)),
        serde_json::json!([
            "mark",
            "mixed",
            70,
            "random",
            4096,
            32,
            null,
            "direct",
            "each write",
            null,
            63,
            "uring"
        ])
    );
    assert_eq!(rows[1]["block"], 512);
    let text = metrics(&all);
    let labels = r#"suite="mark",direction="mixed",read_percent="70",pattern="random",block="4096",depth="32",caching="direct",sync="each write",missed_percent="63",engine="uring""#;
    assert!(text.contains(labels), "{text}");
}

#[test]
fn metrics_are_those_of_the_latest_finished_run() {
    let of = |run, at, value| {
        let estimates = vec![
            metric("/mnt/a", "write", Quantity::Throughput, value),
            metric("/mnt/a", "write", Quantity::Latency(Percentile::P99), value / 1e9),
            metric("/mnt/a", "write", Quantity::Knee, 4096.0),
            metric("/mnt/a", "write", Quantity::RelativeSpeed(Reference::Other), 1.0),
            metric("all", "write", Quantity::Throughput, value).at(Scope::Sum),
        ];
        findings(run, at, vec![stick("/mnt/a", "4C53")], estimates)
    };
    let mut running = of("r4", "2026-11-23T10:00:00Z", 9e6);
    running.origin.ended = RunStatus::Unfinished;
    let mut unbounded = of("r2", "2026-11-22T10:00:00Z", 2e6);
    unbounded.estimates[0].estimate.high = f64::INFINITY;
    let all =
        [of("r3", "2026-05-01T10:00:00Z", 3e6), of("r1", "2026-11-21T10:00:00Z", 1e6), unbounded, running];
    insta::assert_snapshot!(metrics(&all));
    assert_eq!(metrics(&[]), "# EOF\n");
}

#[test]
fn no_rows_are_a_complete_file() {
    assert_eq!(written(RowFormat::Json, &[]), b"[]\n");
    assert_eq!(written(RowFormat::Csv, &[]).iter().filter(|b| **b == b'\n').count(), 1);
}

#[test]
fn io_errors_are_passed_on() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let one = findings("r1", "", vec![], vec![metric("a", "x", Quantity::SyncCost, 1.0)]);
    for format in [RowFormat::Csv, RowFormat::Json, RowFormat::OpenMetrics] {
        let fill = || {
            let mut into = export(format, Full)?;
            rows(&one).try_for_each(|row| into.row(&row))?;
            into.finish()
        };
        assert_eq!(fill().expect_err("full").kind(), io::ErrorKind::BrokenPipe, "{format:?}");
    }
}

/// docs/reference/export.md names every column, in order.
#[test]
fn the_columns_are_documented() {
    let page = include_str!("../../../../docs/reference/export.md");
    let lines = page.lines().filter_map(|l| Some(l.strip_prefix("| `")?.split_once("` | ")?.0));
    let told: Vec<&str> = lines.filter(|name| !name.starts_with("drivebench_")).collect();
    assert_eq!(told, COLUMNS.map(|(name, _)| name));
}

#[test]
fn rules_and_dashboard_name_only_metrics_that_exist() {
    let files = [
        include_str!("../../../../contrib/prometheus/drivebench.rules.yml"),
        include_str!("../../../../contrib/prometheus/drivebench-dashboard.json"),
    ];
    let known = openmetrics::FAMILIES.iter().map(|(_, family)| family.0).chain([openmetrics::STARTED.0]);
    let known: BTreeSet<&str> = known.collect();
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let named = |text: &'static str| {
        let ends = |at: usize| text[at..].find(|c| !is_part(c)).map_or(text.len(), |length| at + length);
        text.match_indices("drivebench_").map(move |(at, _)| &text[at..ends(at)])
    };
    let named: BTreeSet<&str> = files.into_iter().flat_map(named).collect();
    assert!(named.len() >= 3 && named.is_subset(&known), "{named:?}");
}
