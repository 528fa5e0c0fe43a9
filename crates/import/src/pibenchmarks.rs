//! Output of PiBenchmarks (TheRemote/PiBenchmarks, Storage.sh): hdparm, dd, fio, iozone, and a table at the end.
//!
//! The lines of the tools are more precise than the table, which is used only where they are missing.

use super::{
    dd::Command,
    note,
    number::{decimal, leading, whole},
    sane,
};
use crate::{
    record::{Imported, ImportedLoad},
    units::{Caching, Direction, KIB, MIB, Pattern, count},
};

#[derive(Debug, Default)]
pub(super) struct Page {
    recognised: bool,
    in_dd: bool,
    /// iozone's last command: whether with direct I/O (-I), and the columns that its tests fill.
    iozone: Option<(bool, Vec<usize>)>,
    /// Rows of the table, each with whether its unit is doubtful.
    table: Vec<(ImportedLoad, bool)>,
    lines: u64,
}

/// iozone's first columns.
const IOZONE: [(&str, Direction, Pattern); 6] = [
    ("write", Direction::Write, Pattern::Sequential),
    ("rewrite", Direction::Write, Pattern::Sequential),
    ("read", Direction::Read, Pattern::Sequential),
    ("reread", Direction::Read, Pattern::Sequential),
    ("random read", Direction::Read, Pattern::Random),
    ("random write", Direction::Write, Pattern::Random),
];

/// Columns that each of iozone's tests (-i) fills; all others stay blank.
const IOZONE_TESTS: [&[usize]; 8] = [&[0, 1], &[2, 3], &[4, 5], &[6], &[7], &[8], &[9, 10], &[11, 12]];

/// The columns that a command of iozone fills. Without -i it runs all tests.
fn iozone_columns(words: &[&str]) -> Vec<usize> {
    let test = |(at, word): (usize, &&str)| match word.strip_prefix("-i")? {
        "" => words.get(at + 1)?.parse().ok(),
        number => number.parse::<usize>().ok(),
    };
    let tests: Vec<usize> = words.iter().enumerate().filter_map(test).collect();
    let ran = |test: &usize| tests.is_empty() || tests.contains(test);
    (0..IOZONE_TESTS.len()).filter(ran).flat_map(|test| IOZONE_TESTS[test]).copied().collect()
}

impl Page {
    /// The command of the following dd lines, if known.
    pub(super) fn section(&self) -> Option<Command> {
        (self.recognised && self.in_dd).then(Command::of_pibenchmarks).flatten()
    }

    /// Reads a line of the page; false for other lines.
    pub(super) fn line(&mut self, line: &str, found: &mut Imported) -> bool {
        self.lines += 1;
        let text = line.trim();
        self.heading(text, found)
            || self.hdparm(text, found)
            || self.fio(text, found)
            || self.iozone(text, found)
            || self.row(text)
    }

    fn heading(&mut self, text: &str, found: &mut Imported) -> bool {
        let field = |name: &str| {
            let rest = text.split_once(&format!("{name}: "))?.1;
            let value = rest.split(" - ").next().unwrap_or_default().trim();
            (!value.is_empty() && !value.ends_with(':')).then(|| value.to_owned())
        };
        let starts = |headings: &[&str]| headings.iter().any(|heading| text.starts_with(heading));
        if let Some(test) = text.strip_prefix("Running ").and_then(|t| t.strip_suffix(" ...")) {
            let ours = ["HDParm tests", "dd tests", "fio write test", "fio read test", "iozone test"]
                .contains(&test);
            self.recognised |= ours;
            self.in_dd = test == "dd tests";
            ours
        } else if text.starts_with("Board information: ") {
            self.recognised = true;
            found.board = field("Model").or(found.board.take());
            true
        } else if text.contains(" has been detected as /") && self.recognised {
            true
        } else if starts(&["Drive information: ", "MicroSD information: ", "MMC Type: "]) && self.recognised {
            let name: Vec<String> = [field("Manufacturer"), field("Model")].into_iter().flatten().collect();
            if !name.is_empty() {
                found.drive = Some(name.join(" "));
            }
            true
        } else if let Some(command) = text.strip_prefix("Command line used: ") {
            let words: Vec<&str> = command.split_whitespace().collect();
            self.iozone = Some((words.contains(&"-I"), iozone_columns(&words)));
            true
        } else {
            // Repeats earlier results; some versions print wrong units here.
            let repeats = ["HDParm: ", "DD Write Speed: ", "RandRead: ", "Score: "];
            starts(&repeats) && self.recognised || text.starts_with("Run began: ")
        }
    }

    /// `Timing O_DIRECT disk reads: 1318 MB in  3.00 seconds = 439.28 MB/sec`; hdparm's MB are MiB.
    fn hdparm(&mut self, text: &str, found: &mut Imported) -> bool {
        let Some((what, rest)) = text.strip_prefix("Timing ").and_then(|t| t.split_once(':')) else {
            return false;
        };
        let numbers = || {
            let (amount, rest) = leading(rest.trim_start())?;
            let (unit, rest) = rest.trim_start().split_once(" in ")?;
            let (seconds, rest) = leading(rest.trim_start())?;
            let rest = rest.trim_start().strip_prefix("seconds")?.trim_start().strip_prefix('=')?;
            let (rate, per) = leading(rest.trim_start())?;
            let factor = |unit: &str| match unit {
                "MB" => Some(MIB as f64),
                "kB" => Some(KIB as f64),
                _ => None,
            };
            let speed = rate * factor(per.trim_start().strip_suffix("/sec")?)?;
            let bytes = amount * factor(unit)?;
            let fits = seconds > 0.0 && sane(speed) && (bytes / seconds / speed - 1.0).abs() < 0.2;
            fits.then_some((bytes, seconds, speed))
        };
        let Some((bytes, seconds, speed)) = numbers() else { return false };
        let cached = what.contains("cached reads");
        if !cached && !what.contains("disk reads") {
            return false;
        }
        let direct = what.contains("O_DIRECT");
        found.loads.push(ImportedLoad {
            name: Some(if cached { "cached reads" } else { "disk reads" }.to_owned()),
            caching: Some(if direct { Caching::Direct } else { Caching::Buffered }),
            bytes: Some(bytes as u64),
            seconds: Some(seconds),
            ..self.load("hdparm", Direction::Read, Pattern::Sequential, speed)
        });
        true
    }

    /// `FIO results - 4k RandWrite: 2684 IOPS (10736 KB/s) - 4k RandRead: 7543 IOPS (30173 KB/s)`
    fn fio(&mut self, text: &str, found: &mut Imported) -> bool {
        let Some(results) = text.strip_prefix("FIO results - ") else { return false };
        self.recognised = true;
        let mut taken = false;
        for part in results.split(" - ") {
            let direction = match part.split_once(':').map(|(name, _)| name) {
                Some("4k RandWrite") => Direction::Write,
                Some("4k RandRead") => Direction::Read,
                _ => continue,
            };
            if let Some(result) = part.split_once(": ").and_then(|(_, value)| iops(value)) {
                taken = true;
                found.loads.push(self.fio_load(direction, result));
            }
        }
        taken
    }

    /// A load with one job at depth 1.
    fn load(&self, tool: &str, direction: Direction, pattern: Pattern, speed: f64) -> ImportedLoad {
        ImportedLoad {
            tool: tool.to_owned(),
            direction: Some(direction),
            pattern: Some(pattern),
            depth: Some(1),
            jobs: Some(1),
            speed,
            line: self.lines,
            ..ImportedLoad::default()
        }
    }

    /// A fio load with the options of PiBenchmarks' script.
    fn fio_load(&self, direction: Direction, (iops, speed): (f64, f64)) -> ImportedLoad {
        ImportedLoad {
            block: Some(4 * KIB),
            depth: Some(64),
            caching: Some(Caching::Direct),
            iops: Some(iops),
            ..self.load("fio", direction, Pattern::Random, speed)
        }
    }

    /// `81920  4  8433  8082  21524  21344  21376  8068`: KiB, KiB a record, then KiB/s of each test.
    fn iozone(&mut self, text: &str, found: &mut Imported) -> bool {
        let Some((direct, columns)) = &self.iozone else { return false };
        let numbers: Option<Vec<u64>> = text.split_whitespace().map(whole).collect();
        let Some([total, record @ (1..), rates @ ..]) = numbers.as_deref() else { return false };
        if rates.len() != columns.len() {
            if !rates.is_empty() {
                let (has, fills) = (count(rates.len() as u64, "speed"), columns.len());
                let what = format!(
                    "Line {} was skipped: it has {has}, but the tests of iozone's command fill",
                    self.lines
                );
                note(found, format!("{what} {fills} columns, so which are blank is unknown."));
            }
            return false;
        }
        let cells = columns.iter().zip(rates).filter_map(|(column, rate)| Some((IOZONE.get(*column)?, rate)));
        for (&(name, direction, pattern), rate) in cells.filter(|(_, rate)| **rate > 0) {
            let speed = *rate as f64 * KIB as f64;
            let (Some(bytes), Some(block), true) =
                (total.checked_mul(KIB), record.checked_mul(KIB), sane(speed))
            else {
                return false;
            };
            found.loads.push(ImportedLoad {
                name: Some(name.to_owned()),
                block: Some(block),
                caching: direct.then_some(Caching::Direct),
                bytes: Some(bytes),
                ..self.load("iozone", direction, pattern, speed)
            });
        }
        true
    }

    /// A row of the table: `DD   Disk Write   418 MB/s`.
    fn row(&mut self, text: &str) -> bool {
        let cells: Vec<&str> = text.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        let [tool, test, result] = cells[..] else { return false };
        let speed = |factor: f64, unit: &str| {
            let speed = decimal(result.strip_suffix(unit)?.trim_end())? * factor;
            (sane(speed) && speed > 0.0).then_some(speed)
        };
        let (read, write, ordered) = (Direction::Read, Direction::Write, Pattern::Sequential);
        let mut doubtful = false;
        let load = match (tool, test) {
            ("HDParm", "Disk Read" | "Cached Disk Read") => {
                let exact = speed(MIB as f64, "MB/sec").or_else(|| speed(KIB as f64, "kB/sec"));
                doubtful = exact.is_none();
                let name = if test == "Disk Read" { "disk reads" } else { "cached reads" };
                exact.or_else(|| speed(MIB as f64, "MB/s")).map(|speed| ImportedLoad {
                    name: Some(name.to_owned()),
                    ..self.load("hdparm", read, ordered, speed)
                })
            }
            ("DD", "Disk Write") => speed(1e6, "MB/s").map(|speed| ImportedLoad {
                block: Some(4 * KIB),
                caching: Some(Caching::BufferedFsync),
                ..self.load("dd", write, ordered, speed)
            }),
            ("FIO", "4k random read" | "4k random write") => {
                let direction = if test.ends_with("read") { read } else { write };
                iops(result).map(|result| self.fio_load(direction, result))
            }
            ("IOZone", "4k read" | "4k write" | "4k random read" | "4k random write") => {
                let name = test.trim_start_matches("4k ");
                let (direction, pattern) =
                    IOZONE.iter().find(|(n, ..)| *n == name).map_or((read, ordered), |(_, d, p)| (*d, *p));
                speed(KIB as f64, "KB/s").map(|speed| ImportedLoad {
                    name: Some(name.to_owned()),
                    block: Some(4 * KIB),
                    caching: Some(Caching::Direct),
                    ..self.load("iozone", direction, pattern, speed)
                })
            }
            _ => None,
        };
        let Some(load) = load else { return false };
        self.recognised = true;
        self.table.push((load, doubtful));
        true
    }

    /// Adds the rows of the table that no tool's line covers.
    pub(super) fn finish(self, found: &mut Imported) {
        for (row, doubtful) in self.table {
            let same = |l: &ImportedLoad| {
                (&l.tool, l.direction, l.pattern) == (&row.tool, row.direction, row.pattern)
                    && (l.name == row.name || l.tool != "hdparm" && l.tool != "iozone")
            };
            if found.loads.iter().any(same) {
                continue;
            }
            if doubtful {
                let what = "The hdparm speed is from the table, where some versions of PiBenchmarks print MB/s for kB/s.";
                note(found, what.to_owned());
            }
            found.loads.push(row);
        }
        if self.recognised {
            found.tool = "PiBenchmarks".to_owned();
        }
    }
}

/// `2684 IOPS (10736 KB/s)`, where KB are KiB: IOPS and bytes per second.
fn iops(text: &str) -> Option<(f64, f64)> {
    let (iops, rest) = leading(text.trim())?;
    let kib = rest.trim_start().strip_prefix("IOPS (")?.strip_suffix(')')?.strip_suffix("KB/s")?;
    let speed = decimal(kib.trim_end())? * KIB as f64;
    (sane(speed) && speed > 0.0).then_some((iops, speed))
}
