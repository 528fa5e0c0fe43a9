//! The files of a run that waits for the check after a power cut, and how the run is resumed.

use std::path::Path;

use super::{
    PowerCut,
    cut::power_dir,
    ledger_file::{LedgerPlace, SavedLedger},
    options,
};
use crate::{
    Values,
    engine::Cancel,
    plan::Plan,
    record::{Event, ReadError, Store, StoreError, is_name},
    run::{Kept, Leftover},
    units::{RemoteDir, shell_word},
};

/// Files of runs that wait for a power cut, or for the check after it.
pub fn waiting(store: &Path) -> Vec<Leftover> {
    let one = |(run, saved): (String, SavedLedger)| {
        let ledger = shell_word(&saved.path);
        let (name, dir) = (shell_word(&run), &saved.dir);
        let resume = format!("drivebench run power --resume {name} --store {}", shell_word(store));
        // Anyone who can write to the store can edit the ledger: no other directory is named to be removed.
        let own = dir.is_absolute() && dir.file_name() == Some(power_dir(&run).as_ref());
        let there = saved.remove_by_hand.as_ref().map(|rm| format!("{rm} && ")).unwrap_or_default();
        let remedy = match own {
            true => format!("to discard it: rm -rf {} && {there}rm {ledger}", shell_word(dir)),
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

/// With the ledger on another machine: writes the start and the plan of a run into the store again, if its record was lost or damaged with
/// the drive. Refuses another ledger than the run's.
pub fn before_resume(store: &Store, run: &str, values: &Values) -> Result<(), String> {
    let Some(at) = values.typed(&options::LEDGER) else { return Ok(()) };
    match store.unfinished(run) {
        Err(StoreError::NoSuchRun { .. }) if is_name(run) => restore(store, run, &at),
        Err(StoreError::Damaged { .. } | StoreError::Read(ReadError::NotARecord { .. })) => {
            restore(store, run, &at)
        }
        Ok(record) => match record.plan.as_ref().map(ledger) {
            None => restore(store, run, &at),
            Some(is) if is == Some(&at) => Ok(()),
            Some(is) => {
                let is = is.map_or_else(|| "the store".to_owned(), ToString::to_string);
                Err(format!("the ledger of {run} is in {is}: resume it without --ledger"))
            }
        },
        // Said when it is opened to be continued.
        Err(_) => Ok(()),
    }
}

/// Where the ledger of a plan is, if it is on another machine.
fn ledger(plan: &Plan) -> Option<&RemoteDir> {
    plan.acts::<PowerCut>().find_map(|(_, cut)| cut.ledger.as_ref())
}

fn restore(store: &Store, run: &str, at: &RemoteDir) -> Result<(), String> {
    let place = LedgerPlace { store: store.dir(), run, remote: Some(at) };
    let failed = |why: String| format!("the ledger in {place} can't be written or read: {why}");
    let saved = SavedLedger::read(place, 0, &Cancel::default()).map_err(|e| failed(e.to_string()))?;
    let Some(saved) = saved else { return Ok(()) };
    // Whoever can write to the other machine can edit it: it may only check what a run of power wrote.
    match &saved.record[..] {
        [Event::Start(start), Event::Plan { plan }]
            if start.run == run
                && start.experiment == plan.experiment
                && plan.experiment == "power"
                && plan.check().is_ok()
                && plan.steps.len() == 1
                && ledger(plan) == Some(at)
                && plan.steps.iter().all(|step| step.act.is::<PowerCut>()) =>
        {
            store.restore(run, &saved.record).map_err(|e| failed(e.to_string()))
        }
        _ => Err(failed("it does not begin with the record of this run".to_owned())),
    }
}
