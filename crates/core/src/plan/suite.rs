//! Suites: sets of loads. They are data files that users can add. A load with a size is followed exactly, as a published
//! procedure; the others end when their result is known well enough.

use std::path::Path;

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{FILL, FileSet};
use crate::units::{Caching, Content, Direction, Load, Pattern, parse_size, size};

/// The first is the default.
const SHIPPED: [(&str, &str); 9] = [
    ("mark", include_str!("../../../../suites/mark.toml")),
    ("cdm", include_str!("../../../../suites/cdm.toml")),
    ("posts", include_str!("../../../../suites/posts.toml")),
    ("nas", include_str!("../../../../suites/nas.toml")),
    ("db", include_str!("../../../../suites/db.toml")),
    ("pi-zero", include_str!("../../../../suites/pi-zero.toml")),
    ("fio-qd64", include_str!("../../../../suites/fio-qd64.toml")),
    ("dd-256k", include_str!("../../../../suites/dd-256k.toml")),
    ("dd-parallel", include_str!("../../../../suites/dd-parallel.toml")),
];

/// The maximum size of a suite file, bytes.
const MAX_FILE: u64 = 64 * 1024;
/// The maximum number of runs. It catches typing errors, which could take years to run.
const MAX_RUNS: u32 = 1000;

/// The maximum length of a label, bytes.
const MAX_LABEL: usize = 60;
/// The maximum number of files of a set.
const MAX_FILES: u64 = 1_000_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub name: String,
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub source: String,
    /// Repetitions of each load.
    #[serde(default = "once")]
    pub runs: u32,
    /// Run on all targets at once instead of one after the other.
    #[serde(default)]
    pub together: bool,
    /// The size of the file for loads without a size of their own.
    #[serde(default, deserialize_with = "some_bytes")]
    pub file: Option<u64>,
    /// Its loads, each repeated before the next begins.
    pub loads: Vec<SuiteLoad>,
    /// Files that are written and read after the loads.
    #[serde(default, deserialize_with = "file_sets")]
    pub files: Vec<FileSet>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "LoadForm")]
pub struct SuiteLoad {
    /// Without the direction: a read and a write may share it.
    pub label: String,
    pub load: Load,
    pub until: Until,
    /// Empty the page cache of the target first.
    pub cold: bool,
}

impl SuiteLoad {
    /// With its direction, such as `SEQ1M 4 streams write`.
    pub fn name(&self) -> String {
        let direction = match self.load.direction {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Mixed { .. } => "mixed",
        };
        if self.label == direction { self.label.clone() } else { format!("{} {direction}", self.label) }
    }
}

/// When a load of a suite ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After this many bytes, however long they take.
    Bytes(u64),
    /// When its speed is known to the requested precision.
    Rounds,
    /// When its sustained speed is known.
    Sustained,
}

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("no suite or file is named '{0}'; the suites are {known}", known = SHIPPED.map(|(n, _)| n).join(", "))]
    Unknown(String),
    #[error("suite file {0} can't be read: {1}")]
    Unreadable(String, std::io::Error),
    #[error("suite {0}: {1}")]
    Format(String, String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesForm {
    count: u64,
    #[serde(deserialize_with = "bytes")]
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadForm {
    label: Option<String>,
    /// fio's name of the direction and the pattern.
    rw: String,
    /// Percentage of reads in rw and randrw.
    rwmixread: Option<u8>,
    /// If it is missing, the load ends by itself.
    #[serde(default, deserialize_with = "some_bytes")]
    size: Option<u64>,
    #[serde(default)]
    sustained: bool,
    #[serde(deserialize_with = "bytes")]
    block: u64,
    depth: u32,
    #[serde(default = "once")]
    streams: u32,
    #[serde(default)]
    sync: bool,
    #[serde(default = "direct")]
    caching: Caching,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    cold: bool,
}

fn once() -> u32 {
    1
}

fn direct() -> Caching {
    Caching::Direct
}

/// A size such as `4KiB`.
fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    parse_size(&text).map_err(D::Error::custom)
}

fn some_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    bytes(from).map(Some)
}

fn file_sets<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FileSet>, D::Error> {
    let set = |FilesForm { count, size }| match count {
        1..=MAX_FILES if size > 0 => Ok(FileSet { files: count, size }),
        1..=MAX_FILES => Err(D::Error::custom("empty files")),
        _ => Err(D::Error::custom(format!("count = {count} is out of range: 1 to {MAX_FILES}"))),
    };
    Vec::deserialize(from)?.into_iter().map(set).collect()
}

impl Suite {
    /// The default.
    pub fn mark() -> Self {
        Self::find("mark").expect("is tested")
    }

    /// The suite of a file server's loads.
    pub fn nas() -> Self {
        Self::find("nas").expect("is tested")
    }

    /// The names of the built-in suites.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.into_iter().map(|(name, _)| name)
    }

    pub fn writes(&self) -> bool {
        !self.files.is_empty() || self.loads.iter().any(|l| l.load.writes())
    }

    /// The suite of this name, or in this file.
    pub fn find(name: &str) -> Result<Self, SuiteError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(n, _)| *n == name) {
            return Self::parse(name, text);
        }
        let path = Path::new(name);
        let unreadable = |e| SuiteError::Unreadable(name.to_owned(), e);
        match std::fs::metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(SuiteError::Unknown(name.to_owned())),
            Err(e) => Err(unreadable(e)),
            Ok(m) if !m.is_file() || m.len() > MAX_FILE => {
                Err(SuiteError::Format(name.to_owned(), "not a file of 64 KiB at most".to_owned()))
            }
            Ok(_) => Self::parse(name, &std::fs::read_to_string(path).map_err(unreadable)?),
        }
    }

    /// Reads a suite; `origin` names it in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Self, SuiteError> {
        Self::read(text).map_err(|what| SuiteError::Format(origin.to_owned(), what))
    }

    fn read(text: &str) -> Result<Self, String> {
        let at =
            |e: &toml::de::Error| 1 + text[..e.span().map_or(0, |span| span.start)].matches('\n').count();
        let suite: Self = toml::from_str(text).map_err(|e| format!("line {}: {}", at(&e), e.message()))?;
        if !(1..=MAX_RUNS).contains(&suite.runs) {
            return Err(format!("runs = {} is out of range: 1 to {MAX_RUNS}", suite.runs));
        }
        check_name(&suite.name)?;
        if suite.loads.is_empty() {
            return Err("no [[loads]]: nothing to measure".to_owned());
        }
        let mut labels: Vec<_> = suite.loads.iter().map(|l| (l.label.as_str(), l.load.writes())).collect();
        labels.sort_unstable();
        if let Some(twice) = labels.windows(2).find(|w| w[0] == w[1]) {
            return Err(format!("two loads are labelled '{}'", twice[0].0));
        }
        if !suite.files.is_empty() && suite.loads.iter().any(|l| matches!(l.until, Until::Bytes(_))) {
            return Err("[[files]] and a load with a size can't be combined".to_owned());
        }
        Ok(suite)
    }
}

/// Refuses text that can't be the name of a suite or load, because it is printed on plans, pages and terminals.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c == ' ' || c.is_alphanumeric() || c.is_ascii_punctuation();
    let fit = (1..=MAX_LABEL).contains(&name.len()) && name.chars().all(plain) && name.trim() == name;
    fit.then_some(()).ok_or_else(|| {
        format!("{name:?} is not a name: 1 to {MAX_LABEL} bytes of letters, digits, spaces between them and ASCII punctuation")
    })
}

impl TryFrom<LoadForm> for SuiteLoad {
    type Error = String;

    fn try_from(form: LoadForm) -> Result<Self, String> {
        let mixed = Direction::Mixed { read_percent: form.rwmixread.unwrap_or(50) };
        let (pattern, way) = match form.rw.strip_prefix("rand") {
            Some(way) => (Pattern::Random, way),
            None => (Pattern::Sequential, form.rw.as_str()),
        };
        let direction = match way {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "rw" => mixed,
            _ => return Err("rw is none of read, write, randread, randwrite, rw, randrw".to_owned()),
        };
        if form.rwmixread.is_some_and(|percent| percent > 100 || direction != mixed) {
            return Err("rwmixread is a percentage for rw and randrw only".to_owned());
        }
        let load = Load {
            depth: form.depth,
            content: form.content,
            streams: form.streams,
            sync: form.sync,
            ..Load::new(direction, pattern, form.block, form.caching, 1)
        };
        load.check().map_err(|e| e.to_string())?;
        let label = form.label.unwrap_or_else(|| load.short_name());
        check_name(&label)?;
        if label == FILL {
            return Err(format!("loads labelled '{FILL}' are not reported"));
        }
        let until = match form.size {
            Some(_) if form.sustained => return Err("it has a size, so it can't be sustained".to_owned()),
            Some(bytes) if bytes < load.block || bytes % load.block != 0 => {
                return Err(format!("its size is not a whole number of blocks of {}", size(load.block)));
            }
            Some(bytes) => Until::Bytes(bytes),
            None if load.caching != Caching::Direct => {
                return Err("through the page cache it needs a size".to_owned());
            }
            None if form.sustained => Until::Sustained,
            None => Until::Rounds,
        };
        Ok(Self { label, load, until, cold: form.cold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

    #[test]
    fn shipped_suites_match_the_posts() {
        let shape = |name: &str| {
            let p = Suite::find(name).expect(name);
            assert_eq!(p.name, name);
            let loads: Vec<_> =
                p.loads.iter().map(|l| (l.load.block, l.load.depth, l.load.caching, l.until)).collect();
            (p.runs, p.together, loads)
        };
        let bytes = |mib: u64| Until::Bytes(mib * MIB);
        assert_eq!(shape("pi-zero"), (3, false, vec![(4096, 1, Caching::Direct, bytes(1024)); 2]));
        assert_eq!(shape("posts"), (1, false, vec![(4096, 1, Caching::Direct, Until::Sustained); 2]));
        assert_eq!(shape("fio-qd64"), (4, false, vec![(4096, 64, Caching::Direct, bytes(4096)); 2]));
        assert_eq!(shape("dd-256k"), (1, false, vec![(256 << 10, 1, Caching::Buffered, bytes(128)); 2]));
        let parallel = vec![
            (128 << 10, 1, Caching::BufferedFsync, bytes(400)),
            (128 << 10, 1, Caching::Buffered, bytes(400)),
        ];
        assert_eq!(shape("dd-parallel"), (10, true, parallel));
    }

    #[test]
    fn shipped_suites_have_the_loads_that_people_know() {
        let names = |name: &str| {
            let suite = Suite::find(name).expect(name);
            assert!(
                suite.loads.iter().all(|l| l.until == Until::Rounds && l.load.caching == Caching::Direct)
            );
            let name =
                |l: &SuiteLoad| format!("{} {}", l.label, if l.load.writes() { "write" } else { "read" });
            suite.loads.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(Suite::mark().name, "mark");
        assert_eq!(
            names("mark"),
            "SEQ1M write, SEQ1M read, RND4K Q1 read, RND4K Q1 write, RND4K Q32 read, RND4K Q32 write"
        );
        assert_eq!(
            names("cdm"),
            "SEQ1M Q8T1 read, SEQ1M Q1T1 read, RND4K Q32T1 read, RND4K Q1T1 read, \
             SEQ1M Q8T1 write, SEQ1M Q1T1 write, RND4K Q32T1 write, RND4K Q1T1 write"
        );
        assert_eq!(names("nas"), "SEQ1M 4 streams write, SEQ1M 4 streams read, SEQ64K sync write");
        assert_eq!(Suite::find("nas").expect("nas").files, [FileSet { files: 1000, size: 16 << 10 }]);
        assert_eq!(names("db"), "RND4K Q1 sync write, RND16K Q1 sync write, RND16K Q1 read");
    }

    #[test]
    fn a_suite_needs_only_a_name_and_a_load_and_takes_the_words_of_rw() {
        for (word, direction, pattern) in [
            ("read", Direction::Read, Pattern::Sequential),
            ("randwrite", Direction::Write, Pattern::Random),
            ("rw", Direction::Mixed { read_percent: 70 }, Pattern::Sequential),
            ("randrw", Direction::Mixed { read_percent: 70 }, Pattern::Random),
        ] {
            let share = if matches!(direction, Direction::Mixed { .. }) { "rwmixread = 70\n" } else { "" };
            let text = format!("name = 'x'\n[[loads]]\nrw = '{word}'\n{share}block = '4k'\ndepth = 1\n");
            let suite = Suite::parse("x.toml", &text).expect(word);
            let load = &suite.loads[0].load;
            assert_eq!(
                (load.direction, load.pattern, suite.loads[0].until),
                (direction, pattern, Until::Rounds)
            );
        }
    }

    #[test]
    fn the_page_on_suite_files_has_all_fields() {
        let page = include_str!("../../../../docs/reference/suites.md");
        for text in ["", "[[loads]]\n", "[[files]]\n"] {
            let error =
                Suite::parse("x", &format!("{text}nothing = 1\n")).expect_err("an unknown field").to_string();
            let (_, fields) = error.split_once("expected ").expect("the fields");
            let fields: Vec<&str> = fields.split('`').skip(1).step_by(2).collect();
            assert!(fields.len() > 1, "{error}");
            for field in fields {
                assert!(
                    page.contains(&format!("`{field}`")) || page.contains(&format!("`[[{field}]]`")),
                    "{field}"
                );
            }
        }
    }

    const GOOD: &str = "name = 'x'\nabout = 'a'\nsource = 's'\nruns = 2\n[[loads]]\nlabel = 'w'\nrw = 'write'\nsize = '1M'\nblock = '4k'\ndepth = 1\ncaching = 'direct'\n";

    #[test]
    fn refusals_name_what_is_wrong() {
        assert!(Suite::parse("x.toml", GOOD).is_ok());
        let refused =
            |from: &str, to: &str| Suite::parse("x.toml", &GOOD.replace(from, to)).expect_err(to).to_string();
        let files = |of: &str| {
            let text = format!("{}[[files]]\n{of}\n", GOOD.replace("size = '1M'\n", ""));
            Suite::parse("x.toml", &text).expect_err(of).to_string()
        };
        insta::assert_snapshot!(
            [
                refused("depth = 1", "deep = 1"),
                refused("rw = 'write'", "rw = 'shred'"),
                refused("depth = 1", "rwmixread = 70\ndepth = 1"),
                refused("rw = 'write'", "rw = 'rw'\nrwmixread = 101"),
                refused("runs = 2", "runs = 0"),
                refused("'4k'", "'4kk'"),
                refused("'1M'", "'5000'"),
                refused("depth = 1", "depth = 1000"),
                refused("'4k'", "'32M'"),
                refused("[[loads]]", "[loads]"),
                refused("label = 'w'", "label = 'fill'"),
                refused("label = 'w'", "label = ''"),
                refused("label = 'w'", "label = ' w'"),
                refused("label = 'w'", "label = \"a\\n  changes: nothing\""),
                refused("label = 'w'", "label = \"a\\u202E\""),
                Suite::parse("x.toml", &format!("{GOOD}[[files]]\ncount = 9\nsize = '4k'\n"))
                    .expect_err("exact")
                    .to_string(),
                files("count = 0\nsize = '4k'"),
                files("count = 9\nsize = '0'"),
                files("count = 9\nsize = '4kk'"),
                refused("size = '1M'", "size = '1M'\nsustained = true"),
                refused(
                    "size = '1M'\nblock = '4k'\ndepth = 1\ncaching = 'direct'",
                    "block = '4k'\ndepth = 1\ncaching = 'buffered'"
                ),
                Suite::parse("x.toml", &format!("{GOOD}{}", &GOOD[GOOD.find("[[").expect("loads")..]))
                    .expect_err("twice")
                    .to_string(),
                Suite::find("pi-hero").expect_err("unknown").to_string(),
                Suite::find("/").expect_err("a directory").to_string(),
            ]
            .join("\n--\n")
        );
    }
}
