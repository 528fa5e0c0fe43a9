//! Findings for a terminal.

use unicode_width::UnicodeWidthStr;

use super::Style;
use crate::findings::{Findings, Table};

/// Findings for a terminal: what was measured, tables, verdicts and flags; in `full` with reasons, conditions, and commands
/// to repeat them.
pub fn text(findings: &Findings, style: Style, full: bool) -> String {
    let lines = |all: &[String]| all.iter().map(|line| wrapped(line, "", style)).collect::<String>();
    let tables = |all: &[Table]| all.iter().map(|t| table(t, style)).collect::<Vec<_>>();
    let flags = findings.flags.iter().map(|flag| style.warn(&wrapped(flag, "! ", style))).collect();
    let mut blocks: Vec<String> = vec![lines(&findings.context)];
    blocks.extend(tables(&findings.tables));
    blocks.extend([lines(&findings.verdicts), flags]);
    if full {
        let commands: String = findings.reproduce.iter().map(|c| format!("  {}\n", style.clean(c))).collect();
        let repeat = if commands.is_empty() { commands } else { format!("To repeat:\n{commands}") };
        blocks.push(lines(&findings.details.sentences));
        blocks.extend(tables(&findings.details.tables));
        blocks.extend([lines(&findings.conditions), repeat]);
    }
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

/// A text in lines of the terminal's width, behind a mark; later lines are indented as far.
pub fn wrapped(text: &str, mark: &str, style: Style) -> String {
    let text = glued(&style.clean(text));
    let indent = " ".repeat(mark.len());
    let options = textwrap::Options::new(style.width).initial_indent(mark).subsequent_indent(&indent);
    let options = options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(&text, options).join("\n").replace(GLUE, " ") + "\n"
}

/// A space at which no line ends.
const GLUE: char = '\u{a0}';

/// Numbers stay on one line with their units.
pub(super) fn glued(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let unit = chars.peek().is_some_and(|next| next.is_alphabetic() || *next == '%');
        let glue = c == ' ' && unit && out.ends_with(|before: char| before.is_ascii_digit());
        out.push(if glue { GLUE } else { c });
    }
    out
}

/// A table, aligned, with two spaces between columns. One that is wider than the terminal is cut into several below each
/// other, each with the first column.
pub fn table(table: &Table, style: Style) -> String {
    let head: Vec<String> = table.columns.iter().map(|c| style.clean(&c.name)).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|r| r.iter().map(|cell| style.clean(cell)).collect()).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|i| rows.iter().chain([&head]).filter_map(|r| r.get(i)).map(|c| c.width()).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String], columns: &[usize]| {
        let padded = columns.iter().filter_map(|&at| Some((at, cells.get(at)?))).map(|(at, cell)| {
            let space = " ".repeat(widths[at] - cell.width());
            if table.columns[at].right { space + cell } else { cell.clone() + &space }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let title = Some(style.clean(&table.title)).filter(|title| !title.is_empty());
    let parts = parts(&widths, style.width).into_iter().map(|columns| {
        let head = style.strong(&line(&head, &columns));
        let lines = [head].into_iter().chain(rows.iter().map(|row| line(row, &columns)));
        lines.map(|line| line + "\n").collect::<String>()
    });
    title.map(|title| title + "\n").into_iter().chain([parts.collect::<Vec<_>>().join("\n")]).collect()
}

/// Which columns stand beside each other.
fn parts(widths: &[usize], most: usize) -> Vec<Vec<usize>> {
    let width = |columns: &[usize]| columns.iter().map(|&at| widths[at] + 2).sum::<usize>().saturating_sub(2);
    let mut parts: Vec<Vec<usize>> = vec![(0..widths.len().min(1)).collect()];
    for at in 1..widths.len() {
        let last = parts.len() - 1;
        parts[last].push(at);
        if parts[last].len() > 2 && width(&parts[last]) > most {
            parts[last].pop();
            parts.push(vec![0, at]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analyse::Estimate,
        findings::{
            At, Axis, Band, Column, Curve, Details, Figure, LoadKey, Mark, Metric, Next, Origin, Point,
            Quantity, Spent, Style as Drawn, Unit,
        },
        report::{Format, html, markdown, plot, render},
    };

    fn findings() -> Findings {
        let column = Column::new;
        let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let estimate = |high| Estimate {
            value: 1.93e6,
            low: 1.9e6,
            high,
            how: "batch means".to_owned(),
            converged: true,
        };
        let speed = |name: &str, high| {
            let load = LoadKey { name: name.to_owned(), ..LoadKey::default() };
            Metric::new("/mnt/a, b", Quantity::Throughput, estimate(high)).of(&load)
        };
        Findings {
            run: "r7k2".to_owned(),
            experiment: "baseline".to_owned(),
            question: "how fast is each drive?".to_owned(),
            modelled: false,
            context: vec!["Cruzer Blade 4C530001 in bay 1.1 (/mnt/a, ext4, 41 GB free)".to_owned()],
            tables: vec![Table {
                title: String::new(),
                columns: vec![column("", false), column("speed", false), column("stalls", true)],
                rows: vec![cells(["write", "1.93 MB/s ±1.8 %", "17"]), cells(["read", "6.62 MB/s ±1.1 %", "none"])],
            }],
            figures: vec![Figure {
                title: "write <speed> & time".to_owned(),
                load: "sequential write, 4 KiB".to_owned(),
                text: "1.93 MB/s, with 2 stalls.".to_owned(),
                n: "n = 3 windows".to_owned(),
                x: Axis { label: "time".to_owned(), unit: Unit::Seconds, ..Axis::default() },
                y: Axis { label: "speed".to_owned(), unit: Unit::BytesPerSecond, ..Axis::default() },
                curves: vec![
                    Curve {
                        name: "speed".to_owned(),
                        style: Drawn::Line,
                        points: [(0.0, 1.9e6), (1.0, 1.95e6), (2.0, 0.4e6)].map(|(x, y)| Point::new(x, y)).to_vec(),
                    },
                    Curve {
                        name: "stalls".to_owned(),
                        style: Drawn::Dots,
                        points: vec![Point { x: 2.0, y: 0.0, interval: Some((0.0, 1e5)) }],
                    },
                ],
                marks: vec![Mark { label: "1.93 MB/s".to_owned(), at: At::Y(1.93e6) }],
                bands: vec![Band { label: "used".to_owned(), from: 0.5, to: 2.0 }],
            }],
            verdicts: vec![
                "Writes stopped 17 times for about 440 ms, every 61 MiB or so: 1.4 % of the time, 451 ms at worst, which is what a client sees.".to_owned(),
            ],
            flags: vec!["The governor is 'powersave' | *measured* as found.".to_owned()],
            details: Details { sentences: vec!["No slow-down up to 1.07 GB.".to_owned()], tables: vec![] },
            conditions: vec!["suite mark".to_owned(), "engine psync · drivebench 0.1.0".to_owned()],
            reproduce: vec!["drivebench run baseline /mnt/a".to_owned()],
            next: vec![Next {
                command: "run cliff /mnt/a".to_owned(),
                question: "does it slow down later?".to_owned(),
            }],
            spent: Some(Spent { seconds: 41.0, read: 0, written: 460_000_000 }),
            estimates: vec![speed("write", 1.96e6), speed("read", f64::INFINITY)],
            evidence: vec![],
            origin: Origin { at: "2026-11-21T10:00:00Z".to_owned(), ..Origin::default() },
        }
    }

    #[test]
    fn pages_and_pictures() {
        let findings = Findings { modelled: true, ..findings() };
        insta::assert_snapshot!("html", html(&[findings.clone(), findings.clone()]));
        insta::assert_snapshot!("svg", plot::file(&findings.figures[0]));
        insta::assert_snapshot!("markdown_with_pictures", markdown(&findings, &["r7k2-1.svg".to_owned()]));
    }

    #[test]
    fn wide_tables_are_cut_between_columns() {
        assert_eq!(parts(&[10, 20, 6, 20, 6], 80), [[0, 1, 2, 3, 4].to_vec()]);
        assert_eq!(parts(&[10, 20, 6, 20, 6], 50), [[0, 1, 2].to_vec(), [0, 3, 4].to_vec()]);
        assert_eq!(parts(&[10, 90], 50), [[0, 1].to_vec()], "one column is never cut");
        assert_eq!(parts(&[], 50), [[0; 0].to_vec()]);
    }

    #[test]
    fn every_format() {
        for (name, format, style) in [
            ("text", Format::Text, Style::PLAIN),
            ("ascii", Format::Text, Style { unicode: false, ..Style::PLAIN }),
            ("colour", Format::Text, Style { color: true, ..Style::PLAIN }),
            ("markdown", Format::Markdown, Style::PLAIN),
            ("csv", Format::Csv, Style::PLAIN),
            ("json", Format::Json, Style::PLAIN),
        ] {
            insta::assert_snapshot!(name, render(&findings(), format, style, true));
        }
    }

    #[test]
    fn names_with_control_characters_stay_on_one_line_without_them() {
        let page = |name: &str| {
            let mut findings = findings();
            let fields =
                [&mut findings.context, &mut findings.verdicts, &mut findings.flags, &mut findings.reproduce];
            fields.into_iter().for_each(|field| field.push(name.to_owned()));
            findings.run = name.to_owned();
            findings.tables[0].title = name.to_owned();
            findings.tables[0].rows[0][0] = name.to_owned();
            findings.tables[0].columns[0].name = name.to_owned();
            findings.figures[0].title = name.to_owned();
            let coloured = Style { color: true, ..Style::PLAIN };
            [
                text(&findings, Style::PLAIN, true),
                coloured.printable(&text(&findings, coloured, true)).replace(['\u{1b}'], ""),
                markdown(&findings, &["a.svg".to_owned()]),
                html(&[findings.clone()]),
                plot::file(&findings.figures[0]),
            ]
        };
        let hostile = page("a\u{1b}]0;x\u{7}\n\u{9b}2Jb");
        for hostile in &hostile {
            assert!(!hostile.contains(|c: char| c.is_control() && c != '\n'), "{hostile:?}");
        }
        let lines = |pages: &[String]| pages[..3].iter().map(|page| page.lines().count()).sum::<usize>();
        assert_eq!(lines(&hostile), lines(&page("a?]0;x???2Jb")), "{hostile:?}");
        let mine = Style { color: true, ..Style::PLAIN }.printable("\u{1b}[1mx\u{1b}[0m\u{1b}[2J");
        assert_eq!(mine, "\u{1b}[1mx\u{1b}[0m?[2J");
    }

    #[test]
    fn json_reads_back() {
        let text = render(&findings(), Format::Json, Style::PLAIN, true);
        assert_eq!(serde_json::from_str::<Findings>(&text).expect("reads back"), findings());
    }

    #[test]
    fn ascii_has_a_spelling_for_everything_we_write() {
        let plain = Style { unicode: false, ..Style::PLAIN };
        assert_eq!(plain.text("±1.8 % · 3 µs — ≥ 4 × 48 °C… └─"), "+/-1.8 % - 3 us - >= 4 x 48 C... `-");
        assert_eq!(plain.text("Übergröße"), "?bergr??e");
    }
}
