//! Findings as Markdown.

use super::{Style, head};
use crate::{
    findings::{Findings, Table},
    units::clean,
};

/// Findings as a Markdown page. `pictures` names the files of its figures, where there are any.
pub fn markdown(findings: &Findings, pictures: &[String]) -> String {
    let mut out = format!("# {}: {}\n", escape(&findings.experiment), escape(&findings.question));
    let list = |title: &str, items: &[String], mark: &str| {
        let lines: String = items.iter().map(|i| format!("{mark}{}\n", escape(i))).collect();
        if items.is_empty() { String::new() } else { format!("\n{title}{lines}") }
    };
    out += &list("", &head::lines(findings), "- ");
    if findings.modelled {
        out += "\n**Virtual: these figures come from modelled drives, not from real ones.**\n";
    }
    let (first, rest) = head::tables(&findings.tables);
    let tables = |all: &[Table]| all.iter().map(|t| format!("\n{}", table(t))).collect::<String>();
    out += &tables(first);
    out += &list("", &findings.verdicts, "- ");
    out += &list("## Flags\n\n", &findings.flags, "- ");
    if !pictures.is_empty() {
        head::readings(findings).iter().for_each(|reading| out += &format!("\n{}\n", escape(reading)));
    }
    for (figure, file) in findings.figures.iter().zip(pictures) {
        out += &format!("\n![{}. {}]({file})\n", escape(&figure.title), escape(&figure.text));
    }
    out += &tables(rest);
    out += &list("## Details\n\n", &findings.details.sentences, "- ");
    out += &tables(&findings.details.tables);
    out += &list("## Conditions\n\n", &findings.conditions, "- ");
    // Commands of advice were not run.
    let title = if findings.run.is_empty() { "" } else { "## How it was measured\n\n" };
    let loads = list(title, &head::loads(findings), "- ");
    out += &loads;
    if !findings.reproduce.is_empty() {
        let commands: Vec<String> = findings.reproduce.iter().map(|c| Style::PLAIN.clean(c)).collect();
        let title = if loads.is_empty() { title } else { "" };
        let commands = commands.join("\n");
        let fence = fence(&commands);
        out += &format!("\n{title}{fence}sh\n{commands}\n{fence}\n");
    }
    Style::PLAIN.printable(&out)
}

fn table(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| escape(c).replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let head: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
    let rule: Vec<&str> = table.columns.iter().map(|c| if c.right { "--:" } else { ":--" }).collect();
    let title =
        if table.title.is_empty() { String::new() } else { format!("**{}**\n\n", escape(&table.title)) };
    let rows: String = table.rows.iter().map(|r| row(r)).collect();
    format!("{title}{}| {} |\n{rows}", row(&head), rule.join(" | "))
}

/// A fence that no line of the text ends.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

/// Names of drives must not become markup.
/// Text in which the parts between backticks are code, and all other marks are characters.
fn escape(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // Adjacent backticks would begin another code span.
    if parts.len() % 2 == 0 || parts.iter().skip(1).rev().skip(1).any(|part| part.is_empty()) {
        return plain(text);
    }
    let part =
        |(i, part): (usize, &&str)| if i % 2 == 0 { plain(part) } else { format!("`{}`", clean(part)) };
    parts.iter().enumerate().map(part).collect()
}

fn plain(text: &str) -> String {
    let escaped = |(at, c): (usize, char)| {
        let markup = matches!(c, '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '&' | '~' | '$');
        // At the beginning of a line these begin a list.
        [(markup || at == 0 && matches!(c, '-' | '+')).then_some('\\'), Some(c)]
    };
    clean(text).char_indices().flat_map(escaped).flatten().collect()
}
