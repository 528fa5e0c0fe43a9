//! `pool status` beside mdadm's own view, `/proc/mdstat`, `lsblk` and `dmsetup`.

use std::collections::BTreeMap;

use drivebench::units::decimal_bytes;

use super::{Done, sh};
use crate::Machine;

/// Looks until two statuses are the same: the kernel may complete a resync meanwhile.
const LOOKS: u32 = 10;

/// Prints `pool status`, then what the others say, each after a line `== NAME`.
const LOOK: &str = r#"
drivebench pool status "$0"
md=$(ls /sys/block | grep '^md')
echo "== export"; [ -z "$md" ] || mdadm --detail --export /dev/$md
echo "== detail"; [ -z "$md" ] || mdadm --detail /dev/$md
echo "== mdstat"; cat /proc/mdstat
echo "== lsblk"; lsblk --raw --noheadings --output NAME,MAJ:MIN,PKNAME,TYPE,SIZE,MOUNTPOINT --bytes
echo "== table"; dmsetup table "$0" 2>/dev/null
echo "== examine"
for part in $(drivebench pool status "$0" | sed -n 's/^  .*: \(\/dev\/[^,]*\), .*/\1/p'); do
    echo "@ $part"; mdadm --examine $part 2>/dev/null
done
echo "== again"; drivebench pool status "$0"
"#;

/// mdadm, `/proc/mdstat`, `lsblk` and `dmsetup` say the same of the pool as `pool status`: its state, layout, size, members
/// in their order, which are missing, and where it is mounted. The machine has no other array.
pub fn agree(machine: &Machine, name: &str) -> Done {
    let script = format!("sh -c '{}' {name}", LOOK.replace('\'', r"'\''"));
    for _ in 0..LOOKS {
        let text = sh(machine, &script)?;
        let look = Look::of(&text);
        if Shown::of(look.part("again")) != Shown::of(look.part("status")) {
            continue;
        }
        let differences = look.differences();
        return match differences.is_empty() {
            true => Ok(()),
            false => Err(machine.wrong("pool status differs", format!("{}\n{text}", differences.join("; ")))),
        };
    }
    Err(machine.wrong("pool status", "it changes all the time"))
}

/// What was printed, by section.
struct Look<'a>(BTreeMap<&'a str, &'a str>);

/// What `pool status` says.
#[derive(Debug, PartialEq)]
struct Shown<'a> {
    layout: &'a str,
    size: &'a str,
    state: &'a str,
    missing: usize,
    /// What the kernel does with it: `resync`, `recovery`, `check`.
    work: Option<&'static str>,
    mounted: Option<&'a str>,
    /// The path of each member, if it is plugged in, and its state.
    members: Vec<(Option<&'a str>, &'a str)>,
    /// A replacement is under way.
    replacing: bool,
}

impl<'a> Shown<'a> {
    fn of(status: &'a str) -> Self {
        let mut lines = status.lines();
        let mut words =
            lines.next().and_then(|line| line.split_once(": ")).map_or("", |line| line.1).split(", ");
        let [layout, size, state] = std::array::from_fn(|_| words.next().unwrap_or_default());
        let state = state.split([':', ';']).next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let after = |what: &str| rest.iter().find_map(|word| word.strip_suffix(what));
        let missing = after(" missing").and_then(|count| count.split(' ').next()?.parse().ok()).unwrap_or(0);
        let works = [("resync", "resync"), ("filling a drive", "recovery"), ("check", "check")];
        let work = works.iter().find(|(word, _)| rest.iter().any(|said| said.starts_with(word)));
        let mounted = rest.iter().find_map(|word| word.strip_prefix("mounted on "));
        let (replacing, members): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.contains(": replaces "));
        let members = members.into_iter().map(|line| {
            let said = line.rsplit_once(": ").map_or("", |line| line.1);
            said.split_once(", ").map_or((None, said), |(path, state)| (Some(path), state))
        });
        Self {
            layout,
            size,
            state,
            missing,
            work: work.map(|(_, kernel)| *kernel),
            mounted,
            members: members.collect(),
            replacing: !replacing.is_empty(),
        }
    }
}

/// A row of `mdadm --detail`: the number of the member, its state and path.
struct Row<'a> {
    at: Option<usize>,
    state: String,
    path: Option<&'a str>,
}

impl<'a> Look<'a> {
    fn of(text: &'a str) -> Self {
        let mut parts = BTreeMap::new();
        for (at, part) in text.split("\n== ").enumerate() {
            let (name, rest) =
                if at == 0 { ("status", part) } else { part.split_once('\n').unwrap_or((part, "")) };
            parts.insert(name, rest);
        }
        Self(parts)
    }

    fn part(&self, name: &str) -> &'a str {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// The value of a line `KEY=value` or `Key : value`.
    fn value(&self, part: &str, key: &str) -> &'a str {
        let of = |line: &'a str| {
            let (found, value) = line.split_once('=').or_else(|| line.split_once(" : "))?;
            (found.trim() == key).then_some(value.trim())
        };
        self.part(part).lines().find_map(of).unwrap_or_default()
    }

    fn rows(&self) -> Vec<Row<'a>> {
        let rows = self.part("detail").lines().skip_while(|line| !line.contains("RaidDevice State")).skip(1);
        let row = |line: &'a str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.get(3)?.parse().ok();
            let path = words.last().copied().filter(|word| word.starts_with("/dev/"));
            let state =
                words[4..].iter().filter(|word| !word.starts_with("/dev/")).copied().collect::<Vec<_>>();
            Some(Row { at, state: state.join(" "), path })
        };
        rows.filter_map(row).collect()
    }

    /// The rows of `lsblk`: name, number, parent, kind, bytes and mount point.
    fn blocks(&self) -> Vec<Vec<&'a str>> {
        self.part("lsblk")
            .lines()
            .map(|line| line.split(' ').collect())
            .filter(|row: &Vec<_>| row.len() > 4)
            .collect()
    }

    /// Each difference in words; none if all agree.
    fn differences(&self) -> Vec<String> {
        let shown = Shown::of(self.part("status"));
        let mut all = Differences(Vec::new());
        let known =
            ["active", "degraded", "broken", "not active", "read only", "suspended", "assembled in part"];
        all.unless(known.contains(&shown.state), || format!("the state is '{}'", shown.state));
        all.unless(!shown.members.is_empty(), || "no members are shown".to_owned());
        let on_members = |kind: &str| {
            let names = shown
                .members
                .iter()
                .filter_map(|(path, _)| path.map(|path| path.trim_start_matches("/dev/")));
            let names: Vec<&str> = names.collect();
            let blocks = self.blocks();
            blocks.into_iter().filter(|row| names.contains(&row[2]) && row[3] == kind).collect::<Vec<_>>()
        };
        // Of a mapping, lsblk shows the first word of its UUID.
        let kind = if shown.layout == "linear" { "drivebench" } else { shown.layout };
        let above = on_members(kind);
        if shown.state == "not active" {
            all.unless(above.is_empty(), || format!("lsblk has {above:?}"));
            let none = self.part("detail").is_empty() && self.part("table").is_empty();
            all.unless(none, || "mdadm or dmsetup have it".to_owned());
            return all.0;
        }
        if shown.layout == "linear" {
            self.table(&shown, &mut all);
        } else {
            self.array(&shown, &mut all);
        }
        if shown.state == "assembled in part" {
            return all.0;
        }
        let used = shown.members.iter().filter(|(_, state)| *state == "in use").count();
        all.unless(above.len() >= used, || format!("lsblk has {above:?}"));
        for row in above {
            let (bytes, mount) = (row[4].parse().unwrap_or(0), row.get(5).copied().unwrap_or_default());
            all.unless(decimal_bytes(bytes) == shown.size, || format!("lsblk has {bytes} bytes"));
            all.unless(mount == shown.mounted.unwrap_or_default(), || {
                format!("lsblk has '{mount}' as mount point")
            });
        }
        all.0
    }

    /// mdadm and mdstat.
    fn array(&self, shown: &Shown<'_>, all: &mut Differences) {
        let (level, devices) = (self.value("export", "MD_LEVEL"), self.value("export", "MD_DEVICES"));
        let count = shown.members.len();
        all.unless(level == shown.layout, || format!("mdadm: level {level}"));
        all.unless(devices == count.to_string(), || format!("mdadm: {devices} devices"));
        let state = self.value("detail", "State");
        let words: Vec<&str> = state.split(", ").map(str::trim).collect();
        if shown.state != "assembled in part" {
            let degraded = words.contains(&"degraded");
            all.unless(degraded == (shown.state == "degraded"), || format!("mdadm: {state}"));
            let broken = words.iter().any(|word| ["FAILED", "broken"].contains(word));
            all.unless(broken == (shown.state == "broken"), || format!("mdadm: {state}"));
        }
        let rows = self.rows();
        let removed = rows.iter().filter(|row| row.state == "removed").count();
        if shown.state != "broken" {
            all.unless(removed == shown.missing, || format!("mdadm: {removed} removed"));
        }
        let active = rows.iter().filter(|row| row.state.starts_with("active sync")).count();
        let used = shown.members.iter().filter(|(_, state)| *state == "in use").count();
        if shown.state != "broken" && !shown.replacing {
            all.unless(active == used, || format!("mdadm: {active} active"));
        }
        for (at, (path, state)) in shown.members.iter().enumerate() {
            let Some(path) = path else { continue };
            let row = rows.iter().find(|row| row.path == Some(path));
            let found = row.map_or("", |row| row.state.as_str());
            let is = match *state {
                "in use" => found.starts_with("active sync"),
                "being filled" => found.contains("rebuilding"),
                "failed" => found.starts_with("faulty"),
                "spare" => found == "spare",
                _ => found.is_empty(),
            };
            all.unless(is, || format!("mdadm: {path} is '{found}'"));
            let place = row.and_then(|row| row.at);
            if matches!(*state, "in use" | "being filled") {
                all.unless(place == Some(at), || format!("mdadm: {path} is number {place:?}"));
            }
            if *state == "in use" {
                self.examined(path, at, shown, all);
            }
        }
        self.mdstat(shown, all);
    }

    fn examined(&self, path: &str, at: usize, shown: &Shown<'_>, all: &mut Differences) {
        let parts = self.part("examine").split("@ ");
        let text = parts.filter_map(|part| part.split_once('\n')).find(|(of, _)| *of == path);
        let one = Look([("one", text.map_or("", |text| text.1))].into());
        let value = |key: &str| one.value("one", key);
        let (role, level, uuid) = (value("Device Role"), value("Raid Level"), value("Array UUID"));
        all.unless(role == format!("Active device {at}"), || format!("examine of {path}: {role}"));
        all.unless(level == shown.layout, || format!("examine of {path}: {level}"));
        all.unless(uuid == self.value("export", "MD_UUID") && !uuid.is_empty(), || {
            format!("examine of {path}: {uuid}")
        });
    }

    fn mdstat(&self, shown: &Shown<'_>, all: &mut Differences) {
        let text = self.part("mdstat");
        let line = text.lines().find(|line| line.starts_with("md")).unwrap_or_default();
        let words: Vec<&str> = line.split(' ').collect();
        let inactive = words.get(2) == Some(&"inactive");
        all.unless(inactive == (shown.state == "assembled in part"), || format!("mdstat: {line}"));
        all.unless(inactive || words.contains(&shown.layout), || format!("mdstat: {line}"));
        let read_only = words.contains(&"(read-only)");
        all.unless(read_only == (shown.state == "read only"), || format!("mdstat: {line}"));
        let number = |of: &str| shown.members.iter().filter(|(_, state)| *state == of).count();
        // The kernel keeps one that was pulled as failed until mdadm removes it.
        let failed = number("failed")..=number("failed") + number("not plugged in");
        all.unless(failed.contains(&line.matches("(F)").count()) || shown.replacing, || {
            format!("mdstat: {line}")
        });
        for (path, state) in &shown.members {
            let has = path.is_some_and(|path| {
                words.iter().any(|word| word.starts_with(&format!("{}[", path.trim_start_matches("/dev/"))))
            });
            let should = matches!(*state, "in use" | "being filled" | "failed" | "spare");
            all.unless(has == should, || format!("mdstat: {line}, {path:?} is {state}"));
        }
        // Layouts without copies have no such list.
        if let Some(list) = text.split("] [").skip(1).find(|list| list.starts_with(['U', '_'])) {
            let list = list.split(']').next().unwrap_or_default();
            let expected: String =
                shown.members.iter().map(|(_, state)| if *state == "in use" { 'U' } else { '_' }).collect();
            all.unless(list == expected || shown.state == "broken", || {
                format!("mdstat: [{list}], not [{expected}]")
            });
        }
        for work in ["resync", "recovery", "check"] {
            let does = text.contains(&format!("{work} =")) || text.contains(&format!("{work}="));
            all.unless(does == (shown.work == Some(work)), || format!("mdstat: {work} is {does}"));
        }
    }

    /// The table of a linear pool.
    fn table(&self, shown: &Shown<'_>, all: &mut Differences) {
        let table = self.part("table");
        let blocks = self.blocks();
        let mut end = 0;
        all.unless(table.lines().count() == shown.members.len(), || format!("dmsetup: {table}"));
        for (line, (path, state)) in table.lines().zip(&shown.members) {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |i: usize| words.get(i).and_then(|word| word.parse::<u64>().ok());
            let placed = number(0) == Some(end) && words.get(2) == Some(&"linear") && number(4) == Some(0);
            all.unless(placed, || format!("dmsetup: {line}"));
            let row = path.and_then(|path| blocks.iter().find(|row| path == format!("/dev/{}", row[0])));
            let same = row.is_some_and(|row| {
                words.get(3) == Some(&row[1]) && number(1).map(|n| n * 512) == row[4].parse().ok()
            });
            let here = blocks.iter().any(|row| words.get(3) == Some(&row[1]));
            all.unless(here != (*state == "not plugged in"), || {
                format!("dmsetup: {line}, {path:?} is {state}")
            });
            all.unless(same == (*state == "in use"), || format!("dmsetup: {line}, {path:?} is {state}"));
            end += number(1).unwrap_or(0);
        }
        all.unless(decimal_bytes(end * 512) == shown.size, || format!("dmsetup: {end} sectors"));
    }
}

struct Differences(Vec<String>);

impl Differences {
    fn unless(&mut self, so: bool, why: impl FnOnce() -> String) {
        if !so {
            self.0.push(why());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each change of what was captured is a difference.
    #[test]
    fn a_status_that_differs_is_found() {
        let linear = include_str!("fixtures/linear.txt");
        assert_eq!(Look::of(linear).differences(), Vec::<String>::new());
        for (from, to) in [
            (", active", ", not active"),
            (", 614 MB", ", 613 MB"),
            ("mounted on /mnt/pool", "mounted on /mnt/other"),
            ("bay 1.2: /dev/sdb, in use", "bay 1.2: not plugged in"),
            ("linear 8:16 0", "linear 8:32 0"),
            ("800001 400002", "800000 400002"),
        ] {
            assert!(linear.contains(from), "{from}");
            let changed = linear.replacen(from, to, 1);
            assert!(!Look::of(&changed).differences().is_empty(), "{from}: {to}");
        }
    }
}
