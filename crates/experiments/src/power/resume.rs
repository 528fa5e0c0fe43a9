//! The files of runs that wait for the check after a power cut.

use std::path::Path;

use super::{cut::power_dir, ledger_file::SavedLedger};
use crate::{
    run::{Kept, Leftover},
    units::shell_word,
};

/// Files of runs that wait for a power cut, or for the check after it.
pub fn waiting(store: &Path) -> Vec<Leftover> {
    let one = |(run, saved): (String, SavedLedger)| {
        let ledger = shell_word(&saved.path);
        let (name, dir) = (shell_word(&run), &saved.dir);
        let resume = format!("drivebench run power --resume {name} --store {}", shell_word(store));
        // Anyone who can write to the store can edit the ledger: no other directory is named to be removed.
        let own = dir.is_absolute() && dir.file_name() == Some(power_dir(&run).as_ref());
        let remedy = match own {
            true => format!("to discard it: rm -rf {} && rm {ledger}", shell_word(dir)),
            false => format!("it names no directory of the run, so check it: rm {ledger}"),
        };
        let why = format!("to check it: {resume}; if it was checked and lost data: drivebench show {name}");
        Leftover {
            path: if own { saved.dir } else { saved.path },
            ended: "a run that waits for the check after a power cut",
            outcome: Err(Kept { why, remedy }),
        }
    };
    SavedLedger::all(store).map(one).collect()
}
