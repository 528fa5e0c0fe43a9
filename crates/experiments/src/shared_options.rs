//! Options that several experiments take. Each experiment names those it takes, and may give them another default.

use std::time::Duration;

use super::{
    LoadName, Opt,
    options::{choice, choices, parsed, within},
};
use crate::units::{Caching, parse_size};

const LOAD: &str = "Loads";
const EFFORT: &str = "Precision and cost";

pub const RW: Opt<Vec<LoadName>> =
    Opt::new("rw", "LIST", loads, "Loads as in fio [default: write,read; devices: read]").heading(LOAD);

pub const BS: Opt<u64> =
    Opt::new("bs", "SIZE", bytes, "Bytes per operation, 64 to 16M").heading(LOAD).default("4k");

pub const IODEPTH: Opt<u32> =
    Opt::new("iodepth", "N", parsed, "Operations in flight, 1 to 256").heading(LOAD).default("1");

pub const RWMIXREAD: Opt<u8> = Opt::new(
    "rwmixread",
    "N%",
    |text| within(text.trim_end_matches('%'), 0..=100),
    "Percentage of reads in rw and randrw",
)
.heading(LOAD)
.default("50");

const CACHINGS: [(&str, Caching); 3] = [
    ("direct", Caching::Direct),
    ("buffered", Caching::Buffered),
    ("buffered+fsync", Caching::BufferedFsync),
];

pub const CACHING: Opt<Caching> =
    Opt::new("caching", "HOW", |text| choice(text, &CACHINGS), "direct, buffered or buffered+fsync")
        .heading(LOAD)
        .choices(&["direct", "buffered", "buffered+fsync"])
        .default("direct");

pub const VERIFY: Opt<bool> = Opt::switch("verify", "Check every block that is read").heading(LOAD);

pub const SEED: Opt<u64> = Opt::new("seed", "N", parsed, "Seed of random offsets").heading(LOAD).default("1");

pub const ENGINE: Opt<String> =
    Opt::new("engine", "ENGINE", parsed, "psync, uring or fio [default: by depth]")
        .heading(LOAD)
        .choices(&["psync", "uring", "fio"]);

pub const SUITE: Opt<String> =
    Opt::new("suite", "NAME", parsed, "mark, cdm, nas, db, posts or a file [default: mark]")
        .heading(LOAD)
        .conflicts(&["rw", "bs", "iodepth", "rwmixread", "caching", "verify"]);

pub const QUICK: Opt<bool> = Opt::switch("quick", "±10 %, at most 1.5 GiB a load, 10 min a drive")
    .heading(EFFORT)
    .conflicts(&["thorough"]);

/// Most time on each target with `--quick` and `--thorough`, s; precision and bytes are those of the rules of these names.
pub const QUICK_SECONDS: f64 = 600.0;
pub const THOROUGH_SECONDS: f64 = 7200.0;

pub const THOROUGH: Opt<bool> =
    Opt::switch("thorough", "±3 % within a run, at most 48 GiB a load, 2 h a drive").heading(EFFORT);

pub const PRECISION: Opt<f64> =
    Opt::new("precision", "N%", precision, "Stop at this 95 % interval within a run")
        .heading(EFFORT)
        .default("5%");

pub const MAX_TIME: Opt<f64> =
    Opt::new("max-time", "TIME", seconds, "Time limit per target").heading(EFFORT).default("30m");

pub const MAX_BYTES: Opt<u64> = Opt::new("max-bytes", "SIZE", bytes, "Byte limit of each load per target")
    .heading(EFFORT)
    .default("3GiB");

/// Consent, for experiments that erase drives.
pub const ERASE: Opt<Vec<String>> =
    Opt::new("erase", "SERIAL", serials, "Serial of a drive to erase; repeat for each").many().also_resumed();

pub const ROUNDS: Opt<u32> = Opt::new(
    "rounds",
    "N",
    |text| within(text, 4..=1000),
    "Rounds of each load [default: 7; wide intervals: 14]",
)
.heading(EFFORT)
.conflicts(&["quick", "thorough", "precision"]);

/// Repetitions; how many are enough depends on the experiment.
pub const RUNS: Opt<u32> =
    Opt::new("runs", "N", |text| within(text, 1..=1000), "Repetitions").heading(EFFORT);

fn serials(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split(',').map(str::to_owned).collect())
}

fn loads(text: &str) -> Result<Vec<LoadName>, String> {
    choices(text, &LoadName::ALL.map(|load| (load.name(), load)))
}

pub fn bytes(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|e| e.to_string())
}

/// A length of time, s; a bare number is seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    let time = match text.trim().parse::<u32>() {
        Ok(seconds) => Duration::from_secs(u64::from(seconds)),
        Err(_) => humantime::parse_duration(text).map_err(|e| e.to_string())?,
    };
    let range = Duration::from_secs(1)..=Duration::from_secs(30 * 86400);
    if range.contains(&time) { Ok(time.as_secs_f64()) } else { Err("from 1 second to 30 days".to_owned()) }
}

/// A share from a percentage with or without its sign.
fn precision(text: &str) -> Result<f64, String> {
    let percent: f64 = parsed(text.trim().trim_end_matches('%').trim_end())?;
    if (1.5..=50.0).contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err("from 1.5 to 50 percent; 4 % for differences between runs is added".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Declared, REGISTER,
        analyse::Rules,
        plan::Suite,
        units::{MIB, size},
    };

    #[test]
    fn every_default_is_a_value_of_its_option() {
        for experiment in REGISTER {
            for option in experiment.options {
                let spec = option.spec();
                for text in spec.default.iter().chain(spec.choices) {
                    assert_eq!(option.check(text), Ok(()), "{}: --{} {text}", experiment.name, spec.name);
                }
            }
        }
    }

    #[test]
    fn suites_in_the_help_exist() {
        let (names, _) = SUITE.spec().help.split_once(" or ").expect("names, or a file");
        for name in names.split(", ") {
            assert_eq!(Suite::find(name).map(|suite| suite.name).expect("exists"), name);
        }
        assert!(names.starts_with(&Suite::mark().name));
    }

    #[test]
    fn the_help_of_levels_names_what_the_rules_do() {
        let standard = Rules::standard();
        assert_eq!(MAX_BYTES.spec().default.map(bytes), Some(Ok(standard.budget * MIB)));
        assert_eq!(PRECISION.spec().default.map(precision), Some(Ok(standard.precision)));
        for (option, rules, time) in
            [(QUICK, Rules::quick(), QUICK_SECONDS), (THOROUGH, Rules::thorough(), THOROUGH_SECONDS)]
        {
            let help = option.spec().help;
            let precision = format!("±{} %", (rules.precision * 100.0).round());
            let time =
                if time < 3600.0 { format!("{} min", time / 60.0) } else { format!("{} h", time / 3600.0) };
            for part in [precision, size(rules.budget * MIB), time] {
                assert!(help.contains(&part), "{help}: {part}");
            }
        }
    }
}
