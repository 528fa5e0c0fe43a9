//! dd's summary lines, in any language: GNU, busybox, toybox, macOS and the BSDs.
//!
//! The speed is computed from bytes and seconds. The rounded speed in the line is used to detect damaged lines.

use super::{
    note,
    number::{decimal, leading, unit, whole},
    sane,
};
use crate::{
    record::{Imported, ImportedLoad},
    units::{Caching, Direction, KIB, MIB, Pattern},
};

/// Units of seconds that are accepted without checking the rate.
const SECONDS: [&str; 5] = ["s", "sec", "secs", "second", "seconds"];

/// State of the run that the next summary line ends.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Whole and partial blocks read and written.
    records: Vec<(u64, u64)>,
    command: Option<Command>,
    /// Index of a load that was reported before the end of its run.
    unfinished: Option<usize>,
    /// The same of a load without counts of records, as the last line of `status=progress` has none.
    without_records: Option<usize>,
    /// Index of the last load.
    last: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Command {
    direction: Option<Direction>,
    on: Option<String>,
    block: Option<u64>,
    caching: Option<Caching>,
    /// It has shell variables: each run of a loop can move other amounts.
    is_varied: bool,
}

impl Log {
    /// Reads a line of dd; false for other lines. `known`: the command, if known from elsewhere.
    pub(super) fn line(
        &mut self,
        line: &str,
        number: u64,
        known: Option<Command>,
        found: &mut Imported,
    ) -> bool {
        if let Some(command) = command(line) {
            // The `time` of zsh names the command after its output.
            if is_timed(line) {
                let load = self.last.take().and_then(|last| found.loads.get_mut(last));
                if let Some(load) = load.filter(|load| load.direction.is_none()) {
                    (load.on, load.direction, load.caching) =
                        (command.on, command.direction, command.caching);
                    load.block = load.block.or(command.block);
                }
                return true;
            }
            *self = Self { command: Some(command), ..Self::default() };
            return true;
        }
        if let Some(records) = records(line) {
            self.records.push(records);
            return true;
        }
        let Some(summary) = summary(line) else { return false };
        let records = std::mem::take(&mut self.records);
        let (bytes, seconds) = match summary {
            Summary::Ran(bytes, seconds) => (bytes, seconds),
            Summary::Contradiction => {
                let why = "its bytes, time and speed contradict each other";
                note(found, format!("Line {number} was skipped: {why}."));
                return false;
            }
        };
        let whole_blocks = match records[..] {
            [.., (n @ 1.., 0), (written, 0)] if n == written && bytes % n == 0 => Some(bytes / n),
            _ => None,
        };
        // On a signal dd prints the progress of its run, and again at the end.
        let progress = self.without_records.take().filter(|_| !records.is_empty());
        // The last progress has all bytes, but not the time of a sync at the end.
        let most = if progress.is_some() { bytes } else { bytes - 1 };
        let of_same = self.last.filter(|_| self.command.as_ref().is_some_and(|command| !command.is_varied));
        if let Some(before) = self.unfinished.take().or(progress).or(of_same) {
            if found.loads.get(before).is_some_and(|l| l.bytes <= Some(most) && l.seconds < Some(seconds)) {
                found.loads.remove(before);
                found.skipped_lines += 1;
            }
        }
        if matches!(records[..], [.., read, written] if read != written) {
            self.unfinished = Some(found.loads.len());
        }
        if records.is_empty() {
            self.without_records = Some(found.loads.len());
        }
        self.last = Some(found.loads.len());
        // Another block size belongs to another command.
        let same_block =
            |c: &&Command| whole_blocks.is_none() || c.block.is_none() || c.block == whole_blocks;
        let command = self.command.as_ref().filter(same_block).cloned().or(known).unwrap_or_default();
        found.loads.push(ImportedLoad {
            tool: "dd".to_owned(),
            on: command.on,
            direction: command.direction,
            pattern: Some(Pattern::Sequential),
            block: whole_blocks.or(command.block).filter(|_| !matches!(records[..], [.., (0, 1..), _])),
            depth: Some(1),
            jobs: Some(1),
            caching: command.caching,
            bytes: Some(bytes),
            seconds: Some(seconds),
            speed: bytes as f64 / seconds,
            line: number,
            ..ImportedLoad::default()
        });
        true
    }
}

/// `4000+0 records in`, in any language.
fn records(line: &str) -> Option<(u64, u64)> {
    if line.len() > 120 {
        return None;
    }
    let (before, after) = line.split_once('+')?;
    let start = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let end = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let word = end.trim_start().starts_with(char::is_alphabetic) || start.ends_with(char::is_alphabetic);
    let (full, partial) = (&before[start.len()..], &after[..after.len() - end.len()]);
    Some((whole(full)?, whole(partial)?)).filter(|_| word)
}

#[derive(Debug, PartialEq)]
enum Summary {
    /// Bytes and seconds.
    Ran(u64, f64),
    Contradiction,
}

/// `16384000 bytes (16 MB, 16 MiB) copied, 0.0334089 s, 490 MB/s`, and its forms in other systems and languages, of which some begin
/// with the word for copied.
fn summary(line: &str) -> Option<Summary> {
    let line = line.trim().trim_start_matches(char::is_alphabetic).trim_start();
    if line.len() > 400 || !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = line.find(|c: char| !c.is_ascii_digit())?;
    let after = line[digits..].trim_start();
    if !after.starts_with(|c: char| c.is_alphabetic() || c == '(' || c == '（') {
        return None;
    }
    let (seconds, speeds) = bsd(after).or_else(|| gnu(after))?;
    let Some(bytes) = whole(&line[..digits]) else { return Some(Summary::Contradiction) };
    if bytes == 0 || seconds <= 0.0 {
        return None;
    }
    let speed = bytes as f64 / seconds;
    // dd prints the speed with two digits or more.
    let near = |printed: f64| (printed / speed - 1.0).abs() <= 0.1;
    let fits = sane(speed) && (speeds.is_empty() || speeds.into_iter().any(near));
    Some(if fits { Summary::Ran(bytes, seconds) } else { Summary::Contradiction })
}

/// `bytes transferred in 0.012345 secs (1327177805 bytes/sec)`
fn bsd(text: &str) -> Option<(f64, Vec<f64>)> {
    let (seconds, rest) = leading(text.strip_prefix("bytes transferred in ")?)?;
    let rate = rest.trim_start().strip_prefix("secs (")?.strip_suffix(" bytes/sec)")?;
    Some((seconds, vec![decimal(rate)?]))
}

/// Seconds, and possible values of the speed: none if its unit is in another alphabet.
fn gnu(text: &str) -> Option<(f64, Vec<f64>)> {
    // Chinese and Japanese commas.
    let text = text.replace(['，', '、'], ",");
    let (rest, per) = text.trim_end().rsplit_once('/')?;
    if per.is_empty() || per.chars().count() > 3 || !per.chars().all(char::is_alphabetic) {
        return None;
    }
    let (rest, name) = word_at_end(rest);
    let (rest, rate) = number_at_end(rest)?;
    let rest = rest.trim_end().strip_suffix(',')?;
    let (rest, word) = word_at_end(rest);
    let (_, seconds) = number_at_end(rest)?;
    let speeds: Vec<f64> =
        [1000.0, 1024.0].iter().filter_map(|kilo| Some(rate * unit(name, *kilo)?)).collect();
    let is_seconds = SECONDS.contains(&word) || !speeds.is_empty() && !word.is_empty();
    is_seconds.then_some((seconds, speeds))
}

fn word_at_end(text: &str) -> (&str, &str) {
    let rest = text.trim_end_matches(char::is_alphabetic);
    (rest, &text[rest.len()..])
}

fn number_at_end(text: &str) -> Option<(&str, f64)> {
    let text = text.trim_end();
    let part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '+' | '-');
    let number = text[text.trim_end_matches(part).len()..].trim_start_matches([',', '.']);
    Some((&text[..text.len() - number.len()], decimal(number)?))
}

/// The line of zsh's `time`: `dd if=a of=b  0.00s user 0.61s system 11% cpu 5.130 total`.
fn is_timed(line: &str) -> bool {
    let mut words = line.split_whitespace().rev();
    words.next() == Some("total") && [" user ", " system ", " cpu "].iter().all(|word| line.contains(word))
}

/// A dd command line, also after a prompt, `sudo`, `time` or `+`.
fn command(line: &str) -> Option<Command> {
    let words: Vec<&str> = line.split_whitespace().take(64).collect();
    let is_dd = |w: &&str| matches!(w.trim_start_matches(['(', '`', '$']), "dd" | "/bin/dd" | "/usr/bin/dd");
    let at = words.iter().position(is_dd)?;
    let mut options = Vec::new();
    for word in &words[at + 1..] {
        let bare = word.trim_end_matches([';', ')', '`']);
        let Some((name, value)) = bare.split_once('=') else { break };
        options.push((name, value.trim_matches(['"', '\''])));
        if bare.len() < word.len() {
            break;
        }
    }
    let option = |name: &str| options.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let (from, to) = (option("if"), option("of"));
    if from.is_none() && to.is_none() {
        return None;
    }
    // Which of several made a result, what a shell did with its output, and what follows on the next line, isn't known.
    let is_one = words.iter().filter(|word| is_dd(word)).count() == 1;
    if !is_one || line.trim_end().ends_with('\\') || to.is_none() && line.contains(['|', '>']) {
        return Some(Command { is_varied: true, ..Command::default() });
    }
    let source = from.is_some_and(|f| matches!(f, "/dev/zero" | "/dev/urandom" | "/dev/random"));
    let sink = to.is_none_or(|t| t == "/dev/null");
    let (direction, on) = match (source, sink) {
        (true, false) => (Some(Direction::Write), to),
        (false, true) => (Some(Direction::Read), from),
        // From one drive to another, or from /dev/zero to /dev/null.
        _ => (None, None),
    };
    let has = |name: &str, value: &str| option(name).is_some_and(|all| all.split(',').any(|v| v == value));
    let flags = if direction == Some(Direction::Read) { "iflag" } else { "oflag" };
    let caching = match () {
        () if has(flags, "direct") => Some(Caching::Direct),
        () if has(flags, "sync") || has(flags, "dsync") => None,
        () if has("conv", "fsync") || has("conv", "fdatasync") => Some(Caching::BufferedFsync),
        () => Some(Caching::Buffered),
    };
    let block = match (option("bs"), option("ibs"), option("obs")) {
        (Some(bs), None, None) => size(bs),
        (None, None, None) => Some(512),
        _ => None,
    };
    let is_varied = options.iter().any(|(_, value)| value.contains('$'));
    // Shell variables are not expanded.
    let on = on.filter(|on| !on.contains('$')).map(str::to_owned);
    Some(Command { direction, on, block, caching: caching.filter(|_| direction.is_some()), is_varied })
}

/// A size as dd takes it: `4k`, `1M`, `64KB`.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match &text[digits..] {
        "" | "c" => 1,
        "w" => 2,
        "b" => 512,
        "kB" | "KB" => 1000,
        "k" | "K" | "KiB" => KIB,
        "MB" => 1_000_000,
        "M" | "m" | "MiB" => MIB,
        "GB" => 1_000_000_000,
        "G" | "g" | "GiB" => 1024 * MIB,
        _ => return None,
    };
    whole(&text[..digits])?.checked_mul(factor).filter(|b| *b > 0)
}

impl Command {
    /// The command that PiBenchmarks runs.
    pub(super) fn of_pibenchmarks() -> Option<Self> {
        command("dd if=/dev/zero of=test bs=4k conv=fsync")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_lines_of_all_systems_and_languages() {
        let ran = |bytes, seconds| Some(Summary::Ran(bytes, seconds));
        for (line, expected) in [
            ("16384000 bytes (16 MB, 16 MiB) copied, 0.0334089 s, 490 MB/s", ran(16384000, 0.0334089)),
            ("16384000 Bytes (16 MB, 16 MiB) kopiert, 0,0302075 s, 542 MB/s", ran(16384000, 0.0302075)),
            ("16384000 octets (16 MB, 16 MiB) copiés, 0,0384254 s, 426 MB/s", ran(16384000, 0.0384254)),
            ("335544320 bytes (336 MB) copied, 16,4534 s, 20,4 MB/s", ran(335544320, 16.4534)),
            ("1 byte copied, 6.1361e-05 s, 16.3 kB/s", ran(1, 6.1361e-5)),
            ("15728640 bytes (15.0MB) copied, 0.029 seconds, 517.2MB/s", ran(15728640, 0.029)),
            ("15728640 bytes (15 M) copied, 0.029 s, 517 M/s", ran(15728640, 0.029)),
            ("16384000 bytes transferred in 0.012345 secs (1327176995 bytes/sec)", ran(16384000, 0.012345)),
            ("16384000字节（16 MB，16 MiB）已复制，0.0334089 s，490 MB/s", ran(16384000, 0.0334089)),
            (
                "скопійовано 3145728000 байтів (3.1 GB, 2.9 GiB), 0.252672 s, 12.4 GB/s",
                ran(3145728000, 0.252672),
            ),
            ("16384000 байт (16 MB, 16 MiB) скопирован, 0,0334089 s, 490 MB/s", ran(16384000, 0.0334089)),
            ("0 bytes copied, 2.1692e-05 s, 0.0 kB/s", None),
            // Minutes contradict the speed.
            ("16384000 bytes copied, 0.0334089 min, 8.2 MB/s", Some(Summary::Contradiction)),
            ("16384000 bytes (16 MB, 16 MiB) copied, 0.334089 s, 490 MB/s", Some(Summary::Contradiction)),
            ("99999999999999999999 bytes copied, 1 s, 1 MB/s", Some(Summary::Contradiction)),
            ("3 drives were copied", None),
            ("4000+0 records out", None),
            ("", None),
        ] {
            assert_eq!(summary(line), expected, "{line}");
        }
    }

    #[test]
    fn what_a_line_of_shell_did_is_unknown_where_it_is_not_one_dd() {
        for line in [
            "$ dd if=/dev/zero of=/mnt/x bs=1M && dd if=/mnt/x of=/dev/null bs=1M",
            "dd if=/dev/sda bs=1M | dd of=/dev/sdb",
            "dd if=/dev/sda bs=1M > /mnt/x",
            "dd if=/dev/sda bs=1M \\",
        ] {
            let unknown = Command { is_varied: true, ..Command::default() };
            assert_eq!(command(line), Some(unknown), "{line}");
        }
        let write = command("dd if=/dev/zero of=/mnt/x bs=1M 2>&1 | tail -1").expect("a command");
        assert_eq!((write.direction, write.block), (Some(Direction::Write), Some(MIB)));
    }

    #[test]
    fn runs_of_a_loop_are_kept_and_progress_is_not() {
        let loads = |command: &str, summaries: &[(u64, u64)]| {
            let (mut log, mut found) = (Log::default(), Imported::default());
            assert!(log.line(command, 1, None, &mut found));
            for (bytes, seconds) in summaries {
                log.line("4+0 records in", 2, None, &mut found);
                log.line("4+0 records out", 3, None, &mut found);
                let summary = format!("{bytes} bytes copied, {seconds} s, {} B/s", bytes / seconds);
                assert!(log.line(&summary, 4, None, &mut found));
            }
            found.loads.len()
        };
        let command = "for i in 1 2 3; do dd if=/dev/zero of=x bs=1M count=100; done";
        assert_eq!(loads(command, &[(4000, 1), (4000, 2), (4000, 3)]), 3, "slower each time");
        assert_eq!(loads("dd if=/dev/zero of=x", &[(4000, 1), (8000, 2), (9000, 3)]), 1, "by a signal");
        assert_eq!(loads("dd if=/dev/zero of=x count=$n", &[(4000, 1), (8000, 2)]), 2, "other amounts");
    }

    #[test]
    fn records_and_commands() {
        assert_eq!(records("4000+0 Datensätze ein"), Some((4000, 0)));
        assert_eq!(records("记录了81920+1 的读入"), Some((81920, 1)));
        assert_eq!(records("1+1 = 2"), None);
        assert_eq!(records("a+b"), None);
        let write = command("pi@pi:~ $ sudo dd if=/dev/zero of=/mnt/a/x bs=1M count=64 oflag=direct; sync");
        let write = write.expect("a command");
        assert_eq!((write.direction, write.on.as_deref()), (Some(Direction::Write), Some("/mnt/a/x")));
        assert_eq!((write.block, write.caching), (Some(MIB), Some(Caching::Direct)));
        let read = command("for i in 1 2 3; do dd if=/mnt/a/x of=/dev/null bs=4k; done").expect("a command");
        assert_eq!(
            (read.direction, read.block, read.caching),
            (Some(Direction::Read), Some(4096), Some(Caching::Buffered))
        );
        let copy = command("dd if=/dev/sda of=/dev/sdb").expect("a command");
        assert_eq!((copy.direction, copy.on, copy.caching), (None, None, None));
        assert_eq!(command("we used dd to copy"), None);
    }
}
