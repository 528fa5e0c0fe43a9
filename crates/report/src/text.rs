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

/// Numbers stay on one line with their units and `±`.
pub(super) fn glued(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or_default();
        let unit = next.is_alphabetic() || next == '%';
        let number = out.ends_with(|before: char| before.is_ascii_digit());
        let glue = c == ' ' && (unit && number || next == '±');
        out.push(if glue { GLUE } else { c });
    }
    out
}

/// A table, aligned, with two spaces between columns. One that is wider than the terminal is cut into several below each
/// other, each with the columns that name its rows.
pub fn table(table: &Table, style: Style) -> String {
    let head: Vec<String> = table.columns.iter().map(|c| style.clean(&c.name)).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|r| r.iter().map(|cell| style.clean(cell)).collect()).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|i| rows.iter().chain([&head]).filter_map(|r| r.get(i)).map(|c| c.width()).max().unwrap_or(0))
        .collect();
    let heads = table.columns.iter().take_while(|column| column.head).count().max(1);
    let part = |columns: Vec<usize>| {
        let widths = narrowed(columns.iter().map(|&at| widths[at]).collect(), heads, style.width);
        let line = |cells: &Vec<String>| {
            let cell = |(&at, &width): (&usize, &usize)| {
                let padded = |text: String| {
                    let space = " ".repeat(width.saturating_sub(text.width()));
                    if table.columns[at].right { space + &text } else { text + &space }
                };
                let lines = folded(cells.get(at).map_or("", String::as_str), width);
                (lines.into_iter().map(padded).collect::<Vec<_>>(), " ".repeat(width))
            };
            let cells: Vec<(Vec<String>, String)> = columns.iter().zip(&widths).map(cell).collect();
            let lines = (0..cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0)).map(|n| {
                let line: Vec<&str> =
                    cells.iter().map(|(lines, blank)| lines.get(n).unwrap_or(blank).as_str()).collect();
                line.join("  ").trim_end().to_owned()
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        let lines = [style.strong(&line(&head))].into_iter().chain(rows.iter().map(line));
        lines.map(|line| line + "\n").collect::<String>()
    };
    let title = Some(style.clean(&table.title)).filter(|title| !title.is_empty());
    let parts = chosen(table, &widths, heads, style.width).into_iter().map(part).collect::<Vec<_>>();
    title.map(|title| title + "\n").into_iter().chain([parts.join("\n")]).collect()
}

/// Names are not folded to less.
const NAME: usize = 12;

/// The columns of each part: one part without optional columns, where that fits.
fn chosen(table: &Table, widths: &[usize], heads: usize, most: usize) -> Vec<Vec<usize>> {
    let all = parts(widths, heads, most);
    let needed: Vec<usize> = (0..widths.len()).filter(|&at| !table.columns[at].optional).collect();
    let short = parts(&needed.iter().map(|&at| widths[at]).collect::<Vec<_>>(), heads, most);
    if all.len() > 1 && short.len() == 1 { vec![needed] } else { all }
}

/// Which columns stand beside each other.
fn parts(widths: &[usize], heads: usize, most: usize) -> Vec<Vec<usize>> {
    // Names in two lines are better than a second table.
    let spared = widths.get(heads - 1).map_or(0, |name| name.saturating_sub(NAME.max(name * 3 / 4)));
    if total(widths.iter().copied()) <= most + spared {
        return vec![(0..widths.len()).collect()];
    }
    let mut parts: Vec<Vec<usize>> = vec![(0..heads.min(widths.len())).collect()];
    for at in heads..widths.len() {
        let last = parts.len() - 1;
        parts[last].push(at);
        let width = total(parts[last].iter().map(|&at| widths[at]));
        if parts[last].len() > heads + 1 && width > most {
            parts[last].pop();
            parts.push((0..heads).chain([at]).collect());
        }
    }
    parts
}

/// The width of columns beside each other.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + 2).sum::<usize>().saturating_sub(2)
}

/// The columns as narrow as they must be to fit: the last of the names first, so that numbers stay on one line.
fn narrowed(mut widths: Vec<usize>, heads: usize, most: usize) -> Vec<usize> {
    while total(widths.iter().copied()) > most {
        let name = widths.get(heads - 1).filter(|width| **width > NAME).map(|_| heads - 1);
        let widest = || (0..widths.len()).filter(|&at| widths[at] > 1).max_by_key(|&at| widths[at]);
        let Some(at) = name.or_else(widest) else { break };
        widths[at] -= 1;
    }
    widths
}

/// A cell in lines of this width.
fn folded(cell: &str, width: usize) -> Vec<String> {
    if cell.width() <= width {
        return vec![cell.to_owned()];
    }
    let options = textwrap::Options::new(width).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(&glued(cell), options).iter().map(|line| line.replace(GLUE, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Format,
        analyse::Estimate,
        findings::{
            At, Axis, Band, Column, Curve, Details, Figure, LoadKey, Mark, Metric, Next, Origin, Point,
            Quantity, Spent, Style as Drawn, Unit,
        },
        html, markdown, plot, render,
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
            within: None,
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
                reading: "A dot is a stall.".to_owned(),
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
            fitness: Vec::new(),
            measures: Vec::new(),
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
            cut: vec![],
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
        assert_eq!(parts(&[10, 20, 6, 20, 6], 1, 80), [[0, 1, 2, 3, 4].to_vec()]);
        assert_eq!(parts(&[10, 20, 6, 20, 6], 1, 50), [[0, 1, 2].to_vec(), [0, 3, 4].to_vec()]);
        let named_by_two = [[0, 1, 2].to_vec(), [0, 1, 3].to_vec(), [0, 1, 4].to_vec()];
        assert_eq!(parts(&[10, 20, 16, 20, 16], 2, 50), named_by_two);
        assert_eq!(parts(&[32, 10, 20], 1, 58), [[0, 1, 2].to_vec()], "names are folded");
        assert_eq!(parts(&[32, 10, 20], 1, 57), [[0, 1].to_vec(), [0, 2].to_vec()]);
        assert_eq!(parts(&[10, 90], 1, 50), [[0, 1].to_vec()], "one column is never cut");
        assert_eq!(parts(&[], 1, 50), [[0; 0].to_vec()]);
    }

    #[test]
    fn optional_columns_give_way_to_one_table() {
        let mut columns = Column::all([("", false), ("READ", false), ("IOPS", true), ("WRITE", false)]);
        columns[2].optional = true;
        let row = ["RND4K Q1", "62.0 MB/s (45.7–96.4)", "15,135", "57.7 MB/s ±7.7 %"].map(str::to_owned);
        let table = Table { title: String::new(), columns, rows: vec![row.to_vec()] };
        let at = |width| super::table(&table, Style { width, ..Style::PLAIN });
        assert!(at(80).contains("15,135"), "{}", at(80));
        assert!(
            at(50).contains("57.7") && !at(50).contains("15,135") && at(50).lines().count() == 2,
            "{}",
            at(50)
        );
        assert!(at(40).contains("15,135"), "two tables show all: {}", at(40));
    }

    #[test]
    fn cells_wider_than_the_terminal_are_folded() {
        let row = ["RND4K Q32 write latency 99.99th", "1.00 MB/s (no interval)"].map(str::to_owned);
        let columns = Column::all([("", false), ("ratio", true)]);
        let wide = Table { title: String::new(), columns, rows: vec![row.to_vec()] };
        let narrow = super::table(&wide, Style { width: 40, ..Style::PLAIN });
        assert_eq!(
            narrow.lines().collect::<Vec<_>>(),
            [
                "                                   ratio",
                "RND4K Q32 write  1.00 MB/s (no interval)",
                "latency 99.99th"
            ]
        );
        assert!((1..100).all(|width| {
            let table = super::table(&wide, Style { width, ..Style::PLAIN });
            width < 4 || table.lines().all(|line| line.width() <= width)
        }));
    }

    #[test]
    fn every_format() {
        for (name, format, style) in [
            ("text", Format::Text, Style::PLAIN),
            ("ascii", Format::Text, Style { unicode: false, ..Style::PLAIN }),
            ("colour", Format::Text, Style { color: true, ..Style::PLAIN }),
            ("markdown", Format::Markdown, Style::PLAIN),
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
