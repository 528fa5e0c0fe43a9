//! The estimates as CSV.

use crate::findings::Findings;

/// One row an estimate: run, target, name, value, low, high, unit, converged, how. An upper end without bound is empty.
pub fn csv(findings: &Findings) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let head =
        ["run", "target", "name", "value", "low", "high", "unit", "converged", "how"].map(str::to_owned);
    let rows = findings.estimates.iter().map(|n| {
        let e = &n.estimate;
        let number = |x: f64| if x.is_finite() { x.to_string() } else { String::new() };
        [
            findings.run.clone(),
            n.target.clone(),
            n.name.clone(),
            number(e.value),
            number(e.low),
            number(e.high),
            n.unit.clone(),
            e.converged.to_string(),
            e.how.clone(),
        ]
    });
    // Writing to memory can't fail.
    let written = [head].into_iter().chain(rows).try_for_each(|row| out.write_record(row));
    let bytes = written.ok().and_then(|()| out.into_inner().ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
