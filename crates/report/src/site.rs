//! Pages of a whole store: the first one with every drive, and one for each drive. They need no network and no script.

use maud::{Markup, PreEscaped, html};

use super::{html::page, plot, text::glued};
use crate::{
    findings::Figure,
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

/// The first page: what to look at, then all drives by machine, with bars on one scale.
///
/// `checked`: whether any drive was checked.
pub fn index(drives: &[Drive], checked: bool, runs: usize, now: &str) -> String {
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
            p.head.soft { (sum) " · " (now) }
            @if alarmed().next().is_some() {
                h2 { "Look at first" }
                ul { @for drive in alarmed() { li.answer { (link(drive)) ": " (glued(&drive.alarms.join("; "))) } } }
            } @else if checked {
                p.answer { "The last checks and tests found nothing to look at." }
            } @else {
                p.answer { "No drive was checked yet: " code { "drivebench check" } " finds what became slower or sick." }
            }
            @for machine in &machines {
                h2 { @if machine.is_empty() { "Machine not known" } @else { (machine) } }
                @let own = drives.iter().filter(|drive| drive.machine == *machine);
                (table(machine, &["drive", "read", "write", "newest run"], html! {
                    @for drive in own {
                        tr {
                            td { (link(drive)) }
                            td { (speed(drive.read, most)) }
                            td { (speed(drive.write, most)) }
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
            p.head.soft { a href="index.html" { "All drives" } @if !drive.machine.is_empty() { " · " (drive.machine) } }
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
    html! {
        @if let Some(speed) = speed {
            (rate(speed))
            svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
                rect width=(format!("{:.1}", 100.0 * speed / most)) height="4" {}
            }
        }
    }
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
        let page = index(&drives(), true, 3, "29 Nov 2026");
        let first = page.find("drive-2.html").expect("the drive with an alarm");
        assert!(first < page.find("drive-1.html").expect("the other"));
        assert!(page.contains("width=\"25.0\"") && page.contains("width=\"100.0\""), "{page}");
        assert!(page.contains("2 drives · 1 machine · 3 runs"));
    }

    #[test]
    fn names_stay_text_and_nothing_is_loaded() {
        let [_, sick] = drives();
        let run = Run { name: "r1".to_owned(), page: None, cells: vec!["<img src=x>".to_owned()] };
        for page in [index(&drives(), false, 0, ""), super::drive(&sick, &[], &[], &["run"], &[run])] {
            assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
            assert!(!page.contains("<img") && !page.contains("http:") && !page.contains("https:"), "{page}");
        }
    }
}
