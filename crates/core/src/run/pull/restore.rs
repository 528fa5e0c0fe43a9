//! A record that a drive lost, from a ledger on another machine.

use std::io;

use super::{
    noted::{Kept, Place},
    power::PowerError,
};
use crate::{
    engine::Cancel,
    plan::PowerCut,
    record::{Event, ReadError, Store, StoreError, is_name},
    units::RemoteDir,
};

/// Writes the start and the plan of a run into the store again, from its ledger on another machine, if its record was lost or damaged
/// with the drive.
pub fn restore_record(store: &Store, run: &str, at: &RemoteDir) -> Result<(), PowerError> {
    match store.unfinished(run) {
        Err(StoreError::NoSuchRun { .. }) if is_name(run) => {}
        Err(StoreError::Damaged { .. } | StoreError::Read(ReadError::NotARecord { .. })) => {}
        Ok(record) if record.plan.is_none() => {}
        _ => return Ok(()),
    }
    let place = Place { store: store.dir(), run, elsewhere: Some(at) };
    let failed = |source| PowerError::Ledger { at: place.to_string(), source };
    let Some(kept) = Kept::read(place, 0, &Cancel::default()).map_err(failed)? else { return Ok(()) };
    // Whoever can write to the other machine can edit it: it may only check what a run of power wrote.
    match &kept.record[..] {
        [Event::Start(start), Event::Plan { plan }]
            if start.run == run
                && start.experiment == plan.experiment
                && plan.experiment == "power"
                && plan.check().is_ok()
                && plan.steps.len() == 1
                && plan.ledger() == Some(at)
                && plan.steps.iter().all(|step| step.act.is::<PowerCut>()) =>
        {
            store.restore(run, &kept.record).map_err(|e| failed(io::Error::other(e)))
        }
        _ => Err(failed(io::Error::other("it does not begin with the record of this run"))),
    }
}
