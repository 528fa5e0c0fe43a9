//! `drivebench check --for USE`: whether directories are fit for a use, as an exit code.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::ValueEnum;

use super::super::{
    errors::{self, USAGE, Usage},
    options::{Options, Run},
    output::Output,
    run::run,
};
use crate::{
    experiments::{BASELINE, Values},
    findings::{
        Findings,
        fitness::{Use, Verdict, sentence},
    },
};

/// Exit codes. One unfit directory among several is enough; wrong use is 2, as everywhere.
const FIT: u8 = 0;
const UNFIT: u8 = 1;
pub const UNDECIDED: u8 = 3;

/// What directories are checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    Media,
    #[value(alias = "timemachine")]
    Backups,
    System,
    Swap,
    #[value(alias = "etcd")]
    Databases,
}

impl Gate {
    fn purpose(self) -> Use {
        match self {
            Self::Media => Use::Media,
            Self::Backups => Use::Backups,
            Self::System => Use::System,
            Self::Swap => Use::Swap,
            Self::Databases => Use::Databases,
        }
    }
}

/// Measures what the use depends on, as `run baseline` does, and judges each directory.
pub(super) fn gate(
    gate: Gate,
    targets: &[String],
    store: &Option<PathBuf>,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    if targets.is_empty() || !targets.iter().all(|target| Path::new(target).is_dir()) {
        return Err(
            Usage("--for measures with files of its own: name a directory on the drive".to_owned()).into()
        );
    }
    let mut values = Values::default();
    values.set("suite", if gate == Gate::Databases { "db" } else { "mark" });
    let options =
        Options { targets: targets.to_vec(), judged: Some(gate.purpose()), wait: true, ..Options::default() };
    run(&Run { experiment: &BASELINE, values, options }, store, output).or_else(|e| {
        if errors::code(&e) == USAGE {
            return Err(e);
        }
        // No space, for instance: 1 would say that the drive is not fit.
        output.error(&e, None);
        Ok(ExitCode::from(UNDECIDED))
    })
}

/// What a run says of a use: a sentence for each target, and the exit code.
pub fn judged(findings: &Findings, purpose: Use) -> (Vec<String>, u8) {
    let own = || findings.fitness.iter().filter(|fitness| fitness.purpose == purpose);
    let sentences = own().map(|one| format!("{}: {}", one.target, sentence([one].into_iter()))).collect();
    let unfit = own().any(|one| matches!(one.verdict, Verdict::Unfit(..)));
    let decided = own().all(|one| one.verdict.is_decided()) && own().next().is_some();
    let code = match (unfit, decided) {
        (true, _) => UNFIT,
        (false, true) => FIT,
        (false, false) => UNDECIDED,
    };
    (sentences, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Fitness, fitness::Need};

    #[test]
    fn one_unfit_target_decides_and_nothing_measured_decides_nothing() {
        let open = Verdict::Undecided(Need::RandomWrites, None);
        let code = |verdicts: &[Verdict]| {
            let fitness = |(purpose, verdict)| Fitness { target: "/srv".to_owned(), purpose, verdict };
            let others = [(Use::Media, Verdict::Unfit(Need::Reads, 1e6))];
            let own = verdicts.iter().map(|verdict| (Use::Swap, *verdict));
            let all = own.chain(others).map(fitness).collect();
            judged(&Findings { fitness: all, ..Findings::default() }, Use::Swap).1
        };
        assert_eq!(code(&[Verdict::Fit]), FIT);
        assert_eq!(code(&[Verdict::Fit, open]), UNDECIDED);
        assert_eq!(code(&[Verdict::Fit, open, Verdict::Unfit(Need::Stops, 0.7)]), UNFIT);
        assert_eq!(code(&[]), UNDECIDED);
    }
}
