//! A drive of a pool that is taken away, and brought back whatever happens.

use std::{io, path::Path, sync::mpsc::Receiver, thread};

use super::{HANG, POLL, unplug::Unplug};
use crate::{
    engine::Cancel,
    inventory::Drive,
    run::{
        journal::{Entry, Journal, UnpluggedDrive},
        pool::BuildError,
    },
};

#[derive(Debug)]
pub struct Gone {
    /// As it was before.
    pub drive: Drive,
    pub unplug: Unplug,
    /// Struck out once the drive is back.
    entry: Option<Entry>,
}

/// What the kernel says of a drive that it is told to let go.
pub type Answer = Option<Receiver<io::Result<()>>>;

impl Gone {
    /// It is in the journal before it is taken away.
    pub fn will(journal: &Journal, drive: &Drive, unplug: Unplug) -> Result<Self, BuildError> {
        let entry = match &unplug {
            Unplug::Software { back, .. } => {
                let undo = UnpluggedDrive { switch: back.file.clone() };
                Some(journal.will(undo).map_err(|e| BuildError::Array(e.to_string()))?)
            }
            Unplug::Hand => None,
        };
        Ok(Self { drive: drive.clone(), unplug, entry })
    }

    /// Takes it away, or has a person do so. `members` are the drives of its pool; as long as a person takes, `still` says whether
    /// the pool is complete but for this drive.
    pub fn leave(
        &self,
        members: &[Option<&Drive>],
        still: &dyn Fn() -> Result<(), BuildError>,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<Answer, BuildError> {
        match &self.unplug {
            Unplug::Software { away, .. } => away.set().map(Some).map_err(|e| self.stays(&e)),
            Unplug::Hand => by_hand(&self.drive, members, still, cancel, asks).map(|()| None),
        }
    }

    /// An error if the kernel did not let it go.
    pub fn has_left(&self, answer: Answer) -> Result<(), BuildError> {
        match answer.map(|answer| answer.recv_timeout(HANG)) {
            Some(Ok(Err(e))) => Err(self.stays(&e)),
            Some(Err(_)) if is_here(&self.drive) => {
                Err(self.stays(&io::Error::other("the kernel did not answer within two minutes")))
            }
            Some(Ok(Ok(())) | Err(_)) | None => Ok(()),
        }
    }

    /// Lets the kernel have the drive again; what it does with it is not waited for.
    pub fn restore(&mut self) -> io::Result<()> {
        if self.entry.is_some() {
            self.unplug.bring_back(HANG)?;
            // Where the journal can't be written, its entry stays: bringing back what is there changes nothing.
            let _ = self.entry.take().map(Entry::done);
        }
        Ok(())
    }

    fn stays(&self, e: &io::Error) -> BuildError {
        BuildError::Array(format!("{} was not taken away: {e}", self.drive.label()))
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        // Errors can't be reported from drop: the entry stays in the journal, and the next run brings the drive back.
        let _ = self.restore();
    }
}

pub fn interrupted() -> BuildError {
    BuildError::Array("interrupted before the drive was taken away".to_owned())
}

/// Has a person pull the drive, and waits until the kernel has noticed.
fn by_hand(
    drive: &Drive,
    members: &[Option<&Drive>],
    still: &dyn Fn() -> Result<(), BuildError>,
    cancel: &Cancel,
    asks: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    asks(&format!(
        "Pull {} {} NOW. Leave it out until you are asked to plug it in.",
        drive.model_and_serial(),
        place(drive)
    ));
    while is_here(drive) {
        if let Some(other) =
            members.iter().flatten().find(|other| other.name != drive.name && !is_here(other))
        {
            return Err(BuildError::Drives(format!(
                "{} is gone, and {} was to be pulled: plug it in again, and start again",
                other.label(),
                drive.label()
            )));
        }
        still()?;
        if cancel.is_set() {
            return Err(interrupted());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn is_here(drive: &Drive) -> bool {
    Path::new("/sys/block").join(&drive.name).exists()
}

/// Where a drive is, for a person who looks for it.
fn place(drive: &Drive) -> String {
    let bay = drive.bay_name.as_ref().or(drive.bay.as_ref());
    bay.map_or_else(|| drive.node(), |bay| format!("in bay {bay}"))
}
