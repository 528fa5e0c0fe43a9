//! Findings as one HTML page without network or scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Style, colours, plot, text::glued};
use crate::{
    findings::{Findings, Table},
    units::capital,
};

/// Light and dark, wide and narrow, screen and paper.
const STYLE: &str = "\
:root{color-scheme:light dark}\
*{box-sizing:border-box}\
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\
main{max-width:72rem;margin:auto;padding:1rem}\
h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1.5rem 0 .3rem}\
p,li{max-width:48rem;overflow-wrap:anywhere}\
.soft,footer{color:var(--soft);font-size:.9rem}\
.answer{font-size:1.1rem}.note{background:var(--note);padding:.5rem .8rem;border-left:4px solid var(--warn)}\
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem}\
figure{margin:0;break-inside:avoid}svg{width:100%;height:auto;display:block}\
.wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.95rem}\
caption{text-align:left;font-weight:600;padding:.3rem 0}th,td{padding:.25rem .9rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}\
.n{text-align:right}pre{background:var(--code);padding:.7rem;overflow-x:auto;font-size:.85rem}article+article{border-top:2px solid var(--line);margin-top:3rem}\
@media print{main{max-width:none;padding:0}pre{white-space:pre-wrap}.wide{overflow:visible}}";

pub fn html(all: &[Findings]) -> String {
    let title = if let [one] = all { &one.question } else { "Measurements of drives" };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="drivebench";
                title { (capital(title)) }
                style { (PreEscaped(colours::page())) (PreEscaped(STYLE)) (PreEscaped(plot::style())) }
            }
            body {
                main {
                    @if let [one] = all {
                        article { h1 { (capital(&one.question)) } (body(one, 0, true)) }
                    } @else {
                        h1 { (title) }
                        @for (i, one) in all.iter().enumerate() {
                            article { h2 { (capital(&one.question)) } (body(one, i, false)) }
                        }
                    }
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
    html! {
        p.soft { (findings.experiment) " · " (findings.run) }
        @if findings.modelled {
            p.note { "Virtual: these figures come from modelled drives, not from real ones." }
        }
        @for verdict in &findings.verdicts { p.answer { (glued(verdict)) } }
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
        @for one in &findings.tables { (table(one)) }
        @if !findings.flags.is_empty() {
            (heading("Flags"))
            ul { @for flag in &findings.flags { li { (glued(flag)) } } }
        }
        @if !findings.details.sentences.is_empty() {
            (heading("Details"))
            ul { @for line in &findings.details.sentences { li { (glued(line)) } } }
        }
        @for one in &findings.details.tables { (table(one)) }
        (heading("How it was measured"))
        ul { @for line in findings.context.iter().chain(&findings.conditions) { li { (glued(line)) } } }
        @if !findings.reproduce.is_empty() {
            p { "To repeat:" }
            pre tabindex="0" { code { @for line in &findings.reproduce { (Style::PLAIN.clean(line)) "\n" } } }
        }
    }
}

fn table(table: &Table) -> Markup {
    let class = |i: usize| table.columns.get(i).filter(|c| c.right).map(|_| "n");
    html! {
        div.wide tabindex="0" role="region" aria-label=(if table.title.is_empty() { "figures" } else { &table.title }) {
            table {
                @if !table.title.is_empty() { caption { (capital(&table.title)) } }
                thead { tr { @for (i, c) in table.columns.iter().enumerate() { th scope="col" class=[class(i)] { (c.name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for (i, cell) in row.iter().enumerate() { td class=[class(i)] { (cell) } } }
                    }
                }
            }
        }
    }
}
