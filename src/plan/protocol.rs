//! Protocols: predefined loads that reproduce a published procedure exactly. They are data files that users can add.

use std::path::Path;

use serde::Deserialize;

use super::FILL;
use crate::units::{Caching, Content, Direction, Load, LoadError, Pattern, SizeError, parse_size};

const SHIPPED: [(&str, &str); 4] = [
    ("pi-zero", include_str!("../../protocols/pi-zero.toml")),
    ("fio-qd64", include_str!("../../protocols/fio-qd64.toml")),
    ("dd-256k", include_str!("../../protocols/dd-256k.toml")),
    ("dd-parallel", include_str!("../../protocols/dd-parallel.toml")),
];

/// The maximum size of a protocol file, bytes.
const MAX_FILE: u64 = 64 * 1024;
/// The maximum number of runs. It catches typing errors, which could take years to run.
const MAX_RUNS: u32 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    pub name: String,
    pub about: String,
    pub source: String,
    /// Repetitions of each load.
    pub runs: u32,
    /// Run on all targets at once instead of one after the other.
    pub together: bool,
    /// Its loads, each repeated before the next begins.
    pub loads: Vec<ProtocolLoad>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolLoad {
    pub label: String,
    pub load: Load,
    /// Bytes per run.
    pub bytes: u64,
    /// Empty the page cache of the target first.
    pub cold: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    #[error("no protocol or file is named '{0}'; the protocols are {known}", known = SHIPPED.map(|(n, _)| n).join(", "))]
    Unknown(String),
    #[error("protocol file {0} can't be read: {1}")]
    Unreadable(String, std::io::Error),
    #[error("protocol {0}: {1}")]
    Format(String, String),
    #[error("protocol {0}, load '{1}': {2}")]
    Size(String, String, SizeError),
    #[error("protocol {0}, load '{1}': {2}")]
    Load(String, String, LoadError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    name: String,
    about: String,
    source: String,
    runs: u32,
    #[serde(default)]
    together: bool,
    loads: Vec<LoadForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadForm {
    label: String,
    rw: Rw,
    size: String,
    block: String,
    depth: u32,
    #[serde(with = "CachingForm")]
    caching: Caching,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    cold: bool,
}

/// fio's names of directions and patterns.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Rw {
    Read,
    Write,
    RandRead,
    RandWrite,
}

#[derive(Deserialize)]
#[serde(remote = "Caching", rename_all = "lowercase")]
enum CachingForm {
    Direct,
    Buffered,
    #[serde(rename = "buffered+fsync")]
    BufferedFsync,
}

impl Protocol {
    /// The protocol of this name, or in this file.
    pub fn find(name: &str) -> Result<Self, ProtocolError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(n, _)| *n == name) {
            return Self::parse(name, text);
        }
        let path = Path::new(name);
        let unreadable = |e| ProtocolError::Unreadable(name.to_owned(), e);
        match std::fs::metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Err(ProtocolError::Unknown(name.to_owned()))
            }
            Err(e) => Err(unreadable(e)),
            Ok(m) if !m.is_file() => Err(ProtocolError::Format(name.to_owned(), "not a file".to_owned())),
            Ok(m) if m.len() > MAX_FILE => {
                Err(ProtocolError::Format(name.to_owned(), "larger than 64 KiB: not a protocol".to_owned()))
            }
            Ok(_) => Self::parse(name, &std::fs::read_to_string(path).map_err(unreadable)?),
        }
    }

    /// Reads a protocol; `origin` names it in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ProtocolError> {
        let format = |what: String| ProtocolError::Format(origin.to_owned(), what);
        let at =
            |e: &toml::de::Error| 1 + text[..e.span().map_or(0, |span| span.start)].matches('\n').count();
        let form: FileForm =
            toml::from_str(text).map_err(|e| format(format!("line {}: {}", at(&e), e.message())))?;
        if !(1..=MAX_RUNS).contains(&form.runs) {
            return Err(format(format!("runs = {} is out of range: 1 to {MAX_RUNS}", form.runs)));
        }
        if form.loads.is_empty() {
            return Err(format("no [[loads]]: nothing to measure".to_owned()));
        }
        let loads = form.loads.into_iter().map(|l| load(origin, l)).collect::<Result<Vec<_>, _>>()?;
        let mut labels: Vec<_> = loads.iter().map(|l| l.label.as_str()).collect();
        labels.sort_unstable();
        if let Some(twice) = labels.windows(2).find(|w| w[0] == w[1]) {
            return Err(format(format!("two loads are labelled '{}'", twice[0])));
        }
        if labels.contains(&FILL) {
            return Err(format(format!("no load may be labelled '{FILL}': such loads are not reported")));
        }
        Ok(Self {
            name: form.name,
            about: form.about,
            source: form.source,
            runs: form.runs,
            together: form.together,
            loads,
        })
    }
}

fn load(origin: &str, form: LoadForm) -> Result<ProtocolLoad, ProtocolError> {
    let (origin, label) = (origin.to_owned(), form.label);
    let bytes =
        |text: &str| parse_size(text).map_err(|e| ProtocolError::Size(origin.clone(), label.clone(), e));
    let (direction, pattern) = match form.rw {
        Rw::Read => (Direction::Read, Pattern::Sequential),
        Rw::Write => (Direction::Write, Pattern::Sequential),
        Rw::RandRead => (Direction::Read, Pattern::Random),
        Rw::RandWrite => (Direction::Write, Pattern::Random),
    };
    let load = Load::new(direction, pattern, bytes(&form.block)?, form.caching, 1);
    let load = Load { depth: form.depth, content: form.content, ..load };
    load.check().map_err(|e| ProtocolError::Load(origin.clone(), label.clone(), e))?;
    let bytes = bytes(&form.size)?;
    if bytes < load.block || bytes % load.block != 0 {
        let what =
            format!("load '{label}': size {} is not a whole number of blocks of {}", form.size, form.block);
        return Err(ProtocolError::Format(origin, what));
    }
    Ok(ProtocolLoad { label, load, bytes, cold: form.cold })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

    #[test]
    fn shipped_protocols_match_the_posts() {
        let shape = |name: &str| {
            let p = Protocol::find(name).expect(name);
            assert_eq!(p.name, name);
            let loads: Vec<_> =
                p.loads.iter().map(|l| (l.load.block, l.load.depth, l.load.caching, l.bytes / MIB)).collect();
            (p.runs, p.together, loads)
        };
        assert_eq!(shape("pi-zero"), (3, false, vec![(4096, 1, Caching::Direct, 1024); 2]));
        assert_eq!(shape("fio-qd64"), (4, false, vec![(4096, 64, Caching::Direct, 4096); 2]));
        assert_eq!(shape("dd-256k"), (1, false, vec![(256 << 10, 1, Caching::Buffered, 128); 2]));
        let parallel =
            vec![(128 << 10, 1, Caching::BufferedFsync, 400), (128 << 10, 1, Caching::Buffered, 400)];
        assert_eq!(shape("dd-parallel"), (10, true, parallel));
    }

    const GOOD: &str = "name = 'x'\nabout = 'a'\nsource = 's'\nruns = 2\n[[loads]]\nlabel = 'w'\nrw = 'write'\nsize = '1M'\nblock = '4k'\ndepth = 1\ncaching = 'direct'\n";

    #[test]
    fn refusals_name_what_is_wrong() {
        assert!(Protocol::parse("x.toml", GOOD).is_ok());
        let refused = |from: &str, to: &str| {
            Protocol::parse("x.toml", &GOOD.replace(from, to)).expect_err(to).to_string()
        };
        insta::assert_snapshot!(
            [
                refused("depth = 1", "deep = 1"),
                refused("rw = 'write'", "rw = 'shred'"),
                refused("runs = 2", "runs = 0"),
                refused("'4k'", "'4kk'"),
                refused("'1M'", "'5000'"),
                refused("depth = 1", "depth = 1000"),
                refused("'4k'", "'32M'"),
                refused("[[loads]]", "[loads]"),
                refused("label = 'w'", "label = 'fill'"),
                Protocol::parse("x.toml", &format!("{GOOD}{}", &GOOD[GOOD.find("[[").expect("loads")..]))
                    .expect_err("twice")
                    .to_string(),
                Protocol::find("pi-hero").expect_err("unknown").to_string(),
                Protocol::find("/").expect_err("a directory").to_string(),
            ]
            .join("\n--\n")
        );
    }
}
