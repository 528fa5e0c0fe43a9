//! Findings as one HTML page without network or scripts.

use std::collections::HashMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Style, colours, head, plot, text::glued};
use crate::{
    findings::{Findings, Quantity, Table},
    units::{capital, rate},
};

/// Light and dark, wide and narrow, screen and paper.
const STYLE: &str = "\
:root{color-scheme:light dark}\
*{box-sizing:border-box}\
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\
main{max-width:72rem;margin:auto;padding:1rem}\
h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1.5rem 0 .3rem}\
p,li{max-width:48rem;overflow-wrap:anywhere}\
.head{margin:0 0 1rem}.head p{margin:0}.soft,footer{color:var(--soft);font-size:.9rem}\
.answer{font-size:1.1rem}.note{background:var(--note);padding:.5rem .8rem;border-left:4px solid var(--warn)}\
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1.5rem 1rem;margin:1.5rem 0}\
figure{margin:0;break-inside:avoid}svg{width:100%;height:auto;display:block}\
.bar{width:8em;height:.4rem;fill:var(--bar)}.site table{width:100%}a{color:inherit}\
.wide{overflow-x:auto;margin:1rem 0}@media(max-width:74rem){.wide{background:linear-gradient(to right,var(--paper) 50%,transparent) left/4rem 100% local,\
linear-gradient(to left,var(--paper) 50%,transparent) right/4rem 100% local,\
linear-gradient(to right,var(--edge),transparent) left/1rem 100% scroll,\
linear-gradient(to left,var(--edge),transparent) right/1rem 100% scroll;background-repeat:no-repeat}}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.95rem}\
caption{text-align:left;font-weight:600;padding:.3rem 0}th,td{padding:.25rem .9rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}\
.n{text-align:right}th:last-child,td:last-child{padding-right:0}\
@media(max-width:32rem){table{font-size:.8rem}th,td{padding-right:.4rem;white-space:normal;vertical-align:top}}\
pre{background:var(--code);padding:.7rem;font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}\
pre code{display:block;padding-left:2ch;text-indent:-2ch}article+article{border-top:2px solid var(--line);margin-top:3rem}\
@media print{main{max-width:none;padding:0}.wide{overflow:visible;background:none}}";

/// Stands at the head of each page, which is recognised by it.
pub const MARK: &str = r#"<meta name="generator" content="drivebench">"#;

pub fn html(all: &[Findings]) -> String {
    let title = if let [one] = all { &one.question } else { "Measurements of drives" };
    page(
        title,
        html! {
            @if let [one] = all {
                (article(one))
            } @else {
                h1 { (title) }
                @for (i, one) in all.iter().enumerate() {
                    article { h2 { (capital(&one.question)) } (body(one, i, false)) }
                }
            }
        },
    )
}

/// A run on a page of its own.
pub(super) fn article(run: &Findings) -> Markup {
    html! { article { h1 { (capital(&run.question)) } (body(run, 0, true)) } }
}

/// A page with this content.
pub(super) fn page(title: &str, content: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                (PreEscaped(MARK))
                title { (capital(title)) }
                style { (PreEscaped(colours::page())) (PreEscaped(STYLE)) (PreEscaped(plot::style())) }
            }
            body {
                main {
                    (content)
                    footer { p { "Written by drivebench from its records. MB/s means 10⁶ bytes per second." } }
                }
            }
        }
    };
    Style::PLAIN.printable(&page.into_string())
}

fn body(findings: &Findings, nth: usize, alone: bool) -> Markup {
    // Heading levels must not skip one.
    let heading = |text| html! { @if alone { h2 { (text) } } @else { h3 { (text) } } };
    let (first, rest) = head::tables(&findings.tables);
    html! {
        div.head.soft { @for line in head::lines(findings) { p { (glued(&line)) } } }
        @if findings.modelled {
            p.note { "Virtual: these figures come from modelled drives, not from real ones." }
        }
        @for one in first { (table(one, &speeds(one, findings))) }
        @for verdict in &findings.verdicts { p.answer { (prose(verdict)) } }
        @if !findings.flags.is_empty() {
            (heading("Flags"))
            ul { @for flag in &findings.flags { li { (prose(flag)) } } }
        }
        @for reading in head::readings(findings) { p.soft { (glued(reading)) } }
        @if !findings.figures.is_empty() {
            div.figures {
                @for (i, figure) in findings.figures.iter().enumerate() {
                    figure {
                        (plot::svg(figure, &format!("f{nth}-{i}")))
                        // The text is in the drawing for screen readers, and here for everyone.
                        figcaption.soft { (glued(&figure.text)) }
                    }
                }
            }
        }
        @for one in rest { (table(one, &HashMap::new())) }
        @if !findings.details.sentences.is_empty() {
            (heading("Details"))
            ul { @for line in &findings.details.sentences { li { (prose(line)) } } }
        }
        @for one in &findings.details.tables { (table(one, &HashMap::new())) }
        @if !findings.conditions.is_empty() {
            (heading("Conditions"))
            ul { @for line in &findings.conditions { li { (glued(line)) } } }
        }
        @let loads = head::loads(findings);
        @if !loads.is_empty() || !findings.reproduce.is_empty() {
            (heading("How it was measured"))
            @if !loads.is_empty() { ul { @for line in &loads { li { (glued(line)) } } } }
            @if !findings.reproduce.is_empty() {
                pre { @for line in &findings.reproduce { code { (Style::PLAIN.clean(line)) } } }
            }
        }
    }
}

/// Text in which the parts between backticks are code.
fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without a second one is a character.
    if parts.len() % 2 == 0 {
        return html! { (glued(text)) };
    }
    html! { @for (i, part) in parts.iter().enumerate() { @if i % 2 == 0 { (glued(part)) } @else { code { (part) } } } }
}

/// The speeds in the cells of a table, as percentages of the fastest.
fn speeds(table: &Table, findings: &Findings) -> HashMap<String, f64> {
    let all = findings.estimates.iter().filter(|metric| metric.quantity == Quantity::Throughput);
    let all = all.map(|metric| (metric.estimate.text(rate), metric.estimate.value));
    let shown: Vec<_> =
        all.filter(|(text, _)| table.rows.iter().flatten().any(|cell| cell == text)).collect();
    let most = shown.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    shown.into_iter().map(|(text, value)| (text, 100.0 * value / most)).collect()
}

/// A bar to these percentages of its cell; what goes beyond the first is pale.
pub(super) fn bar(ends: &[f64]) -> Markup {
    html! {
        svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            @for (nth, end) in ends.iter().enumerate() {
                rect width=(format!("{end:.1}")) height="4" fill-opacity=[(nth > 0).then_some(".35")] {}
            }
        }
    }
}

/// A table with a bar below each of these speeds, given as percentages.
fn table(table: &Table, speeds: &HashMap<String, f64>) -> Markup {
    let class = |i: usize| table.columns.get(i).filter(|c| c.right).map(|_| "n");
    html! {
        div.wide tabindex="0" role="region" aria-label=(if table.title.is_empty() { "figures" } else { &table.title }) {
            table {
                @if !table.title.is_empty() { caption { (table.title) } }
                thead { tr { @for (i, c) in table.columns.iter().enumerate() { th scope="col" class=[class(i)] { (c.name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                td class=[class(i)] { (glued(cell)) @if let Some(end) = speeds.get(cell) { (bar(&[*end])) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::markdown, *};
    use crate::{
        analyse::Estimate,
        findings::{Column, Details, Figure, LoadKey, Metric, Origin, Quantity},
        units::Direction,
    };

    fn table(title: &str, rows: usize) -> Table {
        Table {
            title: title.to_owned(),
            columns: Column::all([("cell", false)]),
            rows: vec![vec!["cell".to_owned()]; rows],
        }
    }

    fn findings() -> Findings {
        let load =
            LoadKey { name: "loadname".to_owned(), direction: Some(Direction::Read), ..LoadKey::default() };
        let speed = Metric::new("/mnt/a", Quantity::Throughput, Estimate::unbounded(1e6, "")).of(&load);
        let words = |text: &str| vec![text.to_owned()];
        Findings {
            question: "question".to_owned(),
            experiment: "experiment".to_owned(),
            run: "r7k2".to_owned(),
            context: words("drive"),
            conditions: words("condition"),
            details: Details { sentences: words("detail"), tables: Vec::new() },
            tables: vec![table("Short", 2), table("Long", 40)],
            figures: vec![Figure { title: "picture".to_owned(), ..Figure::default() }],
            verdicts: words("sentence"),
            flags: words("flagged"),
            reproduce: words("command"),
            estimates: vec![speed.clone(), speed],
            origin: Origin { board: Some("machine".to_owned()), ..Origin::default() },
            ..Findings::default()
        }
    }

    #[test]
    fn pages_open_with_what_a_reader_came_for() {
        let order = [
            "uestion",
            "machine",
            "drive",
            "Short",
            "sentence",
            "flagged",
            "picture",
            "Long",
            "detail",
            "condition",
            "loadname",
            "command",
        ];
        let page = html(&[findings()]);
        let body = page.split_once("<h1>").expect("a title").1;
        for (name, text) in [("html", body), ("markdown", &markdown(&findings(), &["a.svg".to_owned()]))] {
            let at =
                order.map(|word| text.find(word).unwrap_or_else(|| panic!("{name} has no {word}: {text}")));
            assert!(at.is_sorted(), "{name}: {order:?} are at {at:?}");
            assert_eq!(text.matches("loadname").count(), 1, "{name} names each load once");
        }
    }

    #[test]
    fn the_first_table_stands_above_the_sentences_however_long() {
        let findings = Findings { tables: vec![table("Long", 40)], ..findings() };
        let page = html(&[findings]);
        assert!(page.find("Long") < page.find("sentence"), "{page}");
        assert!(html(&[Findings::default()]).contains("</main>"));
    }
}
