//! Rows as metrics, in the text that OpenMetrics and Prometheus' older format have in common: for files that
//! node_exporter's textfile collector reads.
//!
//! That collector refuses timestamps, and reads `# UNIT` and `# EOF`, which OpenMetrics requires, as comments. Both
//! require each series once and those of one name together, so all of them are held until the end.
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>, <https://github.com/prometheus/node_exporter#textfile-collector>

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::SystemTime,
};

use super::{Export, LABELS, Row, text};
use crate::{
    findings::Unit,
    units::{RunStatus, clean},
};

/// The estimates of the latest finished run of each drive and experiment.
pub struct OpenMetrics<W> {
    out: W,
    /// By the labels of a drive, or where none is known of the target; and of the experiment.
    latest: BTreeMap<String, Latest>,
}

#[derive(Default)]
struct Latest {
    /// Start and name of the run; names decide if two began at the same time.
    at: (String, String),
    series: BTreeMap<Unit, BTreeMap<String, [f64; 3]>>,
}

/// A metric: its name, its unit, and what it is.
type Family = (&'static str, &'static str, &'static str);

/// The metric of all numbers with this unit.
pub(super) const FAMILIES: [(Unit, Family); 4] = [
    (
        Unit::BytesPerSecond,
        ("drivebench_throughput_bytes_per_second", "bytes_per_second", "Measured throughput."),
    ),
    (Unit::Seconds, ("drivebench_time_seconds", "seconds", "Measured latency or time.")),
    (Unit::Bytes, ("drivebench_size_bytes", "bytes", "Measured size, such as that of a fast region.")),
    (Unit::None, ("drivebench_ratio", "ratio", "Measured ratio or share.")),
];

pub(super) const STARTED: Family = (
    "drivebench_run_started_timestamp_seconds",
    "seconds",
    "Start of the run that the drive's other metrics come from.",
);

impl<W> OpenMetrics<W> {
    pub fn new(out: W) -> Self {
        Self { out, latest: BTreeMap::new() }
    }
}

impl<W: Write> Export for OpenMetrics<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let (origin, metric) = (&row.findings.origin, row.metric);
        if origin.ended != RunStatus::Finished {
            return Ok(());
        }
        let drive = row.of_drives(|drive| Some(&drive.identity));
        let drive = drive.as_deref();
        let model = row.of_drives(|drive| drive.model.as_ref());
        let model = model.as_deref().unwrap_or_default();
        let experiment = row.findings.experiment.as_str();
        let is_virtual = if row.findings.modelled { "true" } else { "false" };
        let common = [("drive", drive.unwrap_or_default()), ("model", model), ("experiment", experiment)];
        // Without a known drive the target is used.
        let instead = drive.is_none().then_some(("target", metric.target.as_str()));
        let subject = common.into_iter().chain(instead).chain([("virtual", is_virtual)]);
        let at = (origin.at.clone(), row.findings.run.clone());
        let latest = self.latest.entry(labels(subject)).or_default();
        if latest.at > at {
            return Ok(());
        }
        if latest.at < at {
            *latest = Latest { at, ..Latest::default() };
        }
        let name = metric.label();
        let own = [("target", metric.target.as_str()), ("name", &name), ("virtual", is_virtual)];
        let load = row.values().filter(|(name, value)| LABELS.contains(name) && !value.is_null());
        let load: Vec<_> = load.map(|(name, value)| (name, text(&value))).collect();
        let load = load.iter().map(|(name, text)| (*name, text.as_str()));
        let e = &metric.estimate;
        let series = latest.series.entry(metric.quantity.unit()).or_default();
        // The first of two estimates with the same labels is kept.
        series.entry(labels(common.into_iter().chain(own).chain(load))).or_insert([e.value, e.low, e.high]);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut out = self.out;
        for (unit, family) in FAMILIES {
            let series = self.latest.values().filter_map(|latest| latest.series.get(&unit)).flatten();
            let bounds = series.flat_map(|(labels, bounds)| {
                let named = ["value", "low", "high"].into_iter().zip(bounds);
                named.map(move |(bound, x)| (format!("{labels},bound=\"{bound}\""), *x))
            });
            write(&mut out, family, bounds)?;
        }
        let started = |(labels, latest): (&String, &Latest)| Some((labels.clone(), seconds(&latest.at.0)?));
        write(&mut out, STARTED, self.latest.iter().filter_map(started))?;
        out.write_all(b"# EOF\n")?;
        out.flush()
    }
}

/// Writes the values of a metric, each with its labels, after the metric's head.
fn write(
    out: &mut impl Write,
    (name, unit, help): Family,
    values: impl Iterator<Item = (String, f64)>,
) -> io::Result<()> {
    for (i, (labels, x)) in values.enumerate() {
        if i == 0 {
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n# UNIT {name} {unit}")?;
        }
        writeln!(out, "{name}{{{labels}}} {}", number(x))?;
    }
    Ok(())
}

fn labels<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let escape = |text: &str| text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
    all.map(|(name, value)| format!("{name}=\"{}\"", escape(&clean(value)))).collect::<Vec<_>>().join(",")
}

fn number(x: f64) -> String {
    match x {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        x => x.to_string(),
    }
}

/// Seconds since 1970 of an RFC 3339 text, to the millisecond.
fn seconds(text: &str) -> Option<f64> {
    let since = humantime::parse_rfc3339(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(since.as_millis() as f64 / 1000.0)
}
