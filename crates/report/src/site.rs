//! Pages of a whole store: the first one with every drive, and one for each drive. They need no network and no script.

use maud::{Markup, PreEscaped, html};

use super::{
    html::{article, bar, page},
    plot,
    text::glued,
};
use crate::{
    analyse::Estimate,
    findings::{Figure, Findings},
    units::{count, distinct, rate},
};

/// What only the first page has.
pub const SITE: &str = "<!-- the first page of a site of drivebench -->";

/// A drive, as all pages know it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drive {
    /// The file name of its page.
    pub page: String,
    /// Model and serial.
    pub name: String,
    pub machine: String,
    /// What calls for attention, in sentences.
    pub alarms: Vec<String>,
    /// The newest sequential speeds, bytes per second.
    pub read: Option<f64>,
    pub write: Option<f64>,
    /// The speed of one load over all runs, as a sparkline with its name.
    pub trend: Option<(String, String)>,
    /// When the newest run was, in words.
    pub newest: String,
}

/// A run of a drive: its cells after the name, and the file name of its page where it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub name: String,
    pub page: Option<String>,
    pub cells: Vec<String>,
}

/// Drives in one load, the fastest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The load, and the experiment with its suite.
    pub title: String,
    /// The position of each drive among all, and its speed.
    pub rows: Vec<(usize, Estimate)>,
}

/// The name of the page with all drives side by side.
pub const SIDE_BY_SIDE: &str = "side-by-side.html";

/// The first page: what to look at, then all drives by machine, with bars on one scale.
///
/// `unreadable`: the records that are left out, and why. `checked`: whether any drive was checked.
pub fn index(drives: &[Drive], unreadable: &[String], checked: bool, runs: usize, now: &str) -> String {
    let mut machines = distinct(drives.iter().map(|drive| drive.machine.clone()));
    machines.sort_by_key(|machine| (machine.is_empty(), machine.clone()));
    let alarmed = || drives.iter().filter(|drive| !drive.alarms.is_empty());
    let most = drives.iter().flat_map(|drive| [drive.read, drive.write]).flatten().fold(0.0, f64::max);
    let sum = [(drives.len(), "drive"), (machines.len(), "machine"), (runs, "run")];
    let sum = sum.map(|(n, what)| count(n as u64, what)).join(" · ");
    page(
        "Drives",
        html! {
            (PreEscaped(SITE))
            h1 { "Drives" }
            p.head.soft { (sum) " · " (now) " · " a href=(SIDE_BY_SIDE) { "Side by side" } }
            @if alarmed().next().is_some() {
                h2 { "Look at first" }
                ul { @for drive in alarmed() { li.answer { (link(drive)) ": " (glued(&drive.alarms.join("; "))) } } }
            } @else if checked {
                p.answer { "The last checks and tests found nothing to look at." }
            } @else {
                p.answer { "No drive was checked yet: " code { "drivebench check" } " finds what became slower or sick." }
            }
            @for why in unreadable { p { "Left out: " (glued(why)) "." } }
            @for machine in &machines {
                h2 { @if machine.is_empty() { "Machine not known" } @else { (machine) } }
                @let own = drives.iter().filter(|drive| drive.machine == *machine);
                (table(machine, &["drive", "read", "write", "over time", "newest run"], html! {
                    @for drive in own {
                        tr {
                            td { (link(drive)) }
                            td { (speed(drive.read, most)) }
                            td { (speed(drive.write, most)) }
                            td { @if let Some((load, line)) = &drive.trend { (line) div.soft { (load) } } }
                            td { (drive.newest) }
                        }
                    }
                }))
            }
        },
    )
}

/// The page of one drive: what to look at, its speeds over time with their changes in sentences, its runs.
pub fn drive(drive: &Drive, changes: &[String], figures: &[Figure], heads: &[&str], runs: &[Run]) -> String {
    page(
        &drive.name,
        html! {
            p.head.soft { a href="index.html" { "All drives" } " · " a href=(SIDE_BY_SIDE) { "Side by side" } @if !drive.machine.is_empty() { " · " (drive.machine) } }
            h1 { (drive.name) }
            @for alarm in &drive.alarms { p.answer.note { (glued(alarm)) } }
            @for change in changes { p.answer { (glued(change)) } }
            @if !figures.is_empty() {
                div.figures {
                    @for (i, figure) in figures.iter().enumerate() {
                        figure { (plot::svg(figure, &format!("f{i}"))) figcaption.soft { (glued(&figure.text)) } }
                    }
                }
            }
            (table("runs", heads, html! {
                @for run in runs {
                    tr {
                        td { @if let Some(page) = &run.page { a href=(page) { (run.name) } } @else { (run.name) } }
                        @for cell in &run.cells { td { (glued(cell)) } }
                    }
                }
            }))
        },
    )
}

/// The page of a run.
pub fn run(findings: &Findings) -> String {
    page(
        &findings.question,
        html! { p.head.soft { a href="index.html" { "All drives" } } (article(findings)) },
    )
}

/// All drives side by side: a table for each load, with bars on one scale.
pub fn side_by_side(drives: &[Drive], rankings: &[Ranking]) -> String {
    page(
        "Drives side by side",
        html! {
            p.head.soft { a href="index.html" { "All drives" } }
            h1 { "Drives side by side" }
            @if rankings.is_empty() {
                p.answer { "No two drives were measured in the same way." }
            } @else {
                p {
                    (glued("Each speed is of the newest run; the pale part of its bar is the 95 % interval. Whether two differ, "))
                    code { "drivebench results compare" } " decides."
                }
            }
            @for ranking in rankings { h2 { (ranking.title) } (ranked(drives, ranking)) }
        },
    )
}

fn ranked(drives: &[Drive], Ranking { title, rows }: &Ranking) -> Markup {
    let most = rows.iter().map(|(_, speed)| speed.value).fold(0.0, f64::max);
    let end = |speed: &Estimate| speed.high.clamp(speed.value, 1.5 * most);
    let scale = 100.0 / rows.iter().map(|(_, speed)| end(speed)).fold(0.0, f64::max);
    table(
        title,
        &["drive", "speed"],
        html! {
            @for (drive, speed) in rows {
                tr {
                    td { (link(&drives[*drive])) }
                    td { (glued(&speed.text(rate))) (bar(&[speed.low * scale, end(speed) * scale])) }
                }
            }
        },
    )
}

/// A table of these rows; `label` is for those who can't see it.
fn table(label: &str, heads: &[&str], rows: Markup) -> Markup {
    html! {
        div.wide.site tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { (rows) }
            }
        }
    }
}

fn link(drive: &Drive) -> Markup {
    html! { a href=(drive.page) { (drive.name) } }
}

fn speed(speed: Option<f64>, most: f64) -> Markup {
    html! { @if let Some(speed) = speed { (rate(speed)) (bar(&[100.0 * speed / most])) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drives() -> [Drive; 2] {
        let sick = Drive {
            page: "drive-2.html".to_owned(),
            name: "<script>alert(1)</script>".to_owned(),
            machine: "Raspberry Pi 4".to_owned(),
            alarms: vec!["slower than its reference (SEQ1M)".to_owned()],
            read: Some(25e6),
            ..Drive::default()
        };
        let fine = Drive {
            page: "drive-1.html".to_owned(),
            name: "Ultra".to_owned(),
            read: Some(100e6),
            ..sick.clone()
        };
        [Drive { alarms: Vec::new(), ..fine }, sick]
    }

    #[test]
    fn the_first_page_begins_with_what_to_look_at_and_has_one_scale() {
        let page = index(&drives(), &[], true, 3, "29 Nov 2026");
        let first = page.find("drive-2.html").expect("the drive with an alarm");
        assert!(first < page.find("drive-1.html").expect("the other"));
        assert!(page.contains("width=\"25.0\"") && page.contains("width=\"100.0\""), "{page}");
        assert!(page.contains("2 drives · 1 machine · 3 runs"));
    }

    #[test]
    fn bars_of_a_load_are_on_one_scale() {
        let rows = [(1, 50e6), (0, 25e6)];
        let row = |(drive, speed)| (drive, Estimate::between(speed, [0.8 * speed, 2.0 * speed], ""));
        let title = "SEQ1M read (baseline mark)".to_owned();
        let page = side_by_side(&drives(), &[Ranking { title, rows: rows.map(row).to_vec() }]);
        let widths =
            page.split("width=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        // The scale ends at one and a half times the highest speed.
        assert_eq!(widths.collect::<Vec<_>>(), [53.3, 100.0, 26.7, 66.7], "{page}");
    }

    #[test]
    fn names_stay_text_and_nothing_is_loaded() {
        let [_, sick] = drives();
        let run = Run { name: "r1".to_owned(), page: None, cells: vec!["<img src=x>".to_owned()] };
        let unreadable = ["<script>.jsonl: <img src=x>".to_owned()];
        for page in
            [index(&drives(), &unreadable, false, 0, ""), super::drive(&sick, &[], &[], &["run"], &[run])]
        {
            assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
            assert!(!page.contains("<img") && !page.contains("http:") && !page.contains("https:"), "{page}");
        }
    }
}
