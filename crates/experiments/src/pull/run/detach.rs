//! Takes a drive away, by sysfs or by hand, and brings it back even after an error.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    engine::Cancel,
    inventory::{Drive, Inventory},
    pull::PullBy,
    run::{BuildError, Entry, Journal, Left, Undo},
    sysroot::Sysroot,
    test_files::{HANG, POLL, within},
    tools::{Runner, udevadm},
};

/// Time limit for a drive to reappear.
const APPEARS: Duration = Duration::from_secs(120);
/// The same if the user plugs it in.
const FOUND_BY_HAND: Duration = Duration::from_secs(3600);
/// The time between two looks for it.
const LOOK: Duration = Duration::from_millis(100);

/// How one drive is taken away and brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unplug {
    /// Its USB device is de-authorised, by this file in sysfs.
    Usb(PathBuf),
    /// By a person.
    Hand,
}

impl Unplug {
    /// The error says why this drive can't be taken away like this: it is not connected so, or something else would go with it.
    pub fn find(inventory: &Inventory, drive: &Drive, by: PullBy) -> Result<Self, BuildError> {
        if by == PullBy::Hand {
            return Ok(Self::Hand);
        }
        let refused = |why: String| {
            BuildError::Drives(format!("{} can't be taken away by software: {why}", drive.label()))
        };
        let device =
            Path::new("/sys/block").join(&drive.name).canonicalize().map_err(|e| refused(e.to_string()))?;
        let switch =
            switch_of(&device).ok_or_else(|| refused("it is not on USB; use --by hand".to_owned()))?;
        // A hand pulls one thing.
        let is_below = |other: &&Drive| {
            let path = Path::new("/sys/class/block").join(&other.name).canonicalize();
            path.is_ok_and(|path| switch.parent().is_some_and(|usb| path.starts_with(usb)))
        };
        let mut others = inventory.drives.iter().filter(|other| other.name != drive.name);
        match others.find(is_below) {
            Some(other) => Err(refused(format!("{} would be disconnected with it", other.label()))),
            None => Ok(Self::Usb(switch)),
        }
    }
}

/// The file that de-authorises the nearest USB device above the directory of a block device in sysfs.
fn switch_of(device: &Path) -> Option<PathBuf> {
    let is_usb = |dir: &&Path| ["authorized", "devnum"].iter().all(|file| dir.join(file).is_file());
    Some(device.ancestors().skip(1).find(is_usb)?.join("authorized"))
}

/// A drive that is away, or about to be. However this ends, it is brought back.
#[derive(Debug)]
pub struct DetachedDrive {
    /// As it was before.
    pub drive: Drive,
    unplug: Unplug,
    /// Struck out once the drive is back.
    entry: Option<Entry>,
}

impl DetachedDrive {
    /// Notes in the journal how the drive is brought back.
    pub fn announce(journal: &Journal, drive: &Drive, unplug: &Unplug) -> Result<Self, BuildError> {
        let entry = match unplug {
            Unplug::Usb(switch) => {
                let undo = UnpluggedDrive { switch: switch.clone() };
                Some(journal.will(undo).map_err(|e| BuildError::Array(e.to_string()))?)
            }
            Unplug::Hand => None,
        };
        Ok(Self { drive: drive.clone(), unplug: unplug.clone(), entry })
    }

    pub fn is_by_hand(&self) -> bool {
        self.unplug == Unplug::Hand
    }

    /// Takes it away, or has a person do so; returns since when it is. `check` refuses to wait any longer for a person.
    pub fn take_away(
        &self,
        check: &dyn Fn() -> Result<(), BuildError>,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<Instant, BuildError> {
        let drive = &self.drive;
        if let Unplug::Usb(switch) = &self.unplug {
            let begun = Instant::now();
            return match authorize(switch, false) {
                Err(e) if is_plugged_in(drive) => {
                    Err(BuildError::Array(format!("{} was not taken away: {e}", drive.label())))
                }
                _ => Ok(begun),
            };
        }
        let bay = drive.bay_name.as_ref().or(drive.bay.as_ref());
        let place = bay.map_or_else(|| drive.node(), |bay| format!("in bay {bay}"));
        asks(&format!(
            "Pull {} {place} NOW. Leave it out until you are asked to plug it in.",
            drive.model_and_serial()
        ));
        while is_plugged_in(drive) {
            check()?;
            if cancel.is_set() {
                return Err(interrupted());
            }
            thread::sleep(POLL);
        }
        Ok(Instant::now())
    }

    /// Plugs the drive in again, or has a person do so unless `cancel` is set; returns the drive as the kernel has it now.
    pub fn bring_back(
        &mut self,
        runner: &dyn Runner,
        cancel: &Cancel,
        asks: &mut dyn FnMut(&str),
    ) -> Result<Drive, BuildError> {
        let by_hand = self.is_by_hand();
        if by_hand && !cancel.is_set() {
            // Without a serial of its own it is known by its bay.
            let bay = if self.drive.unique_serial().is_some() { "any bay" } else { "the same bay" };
            asks(&format!("Plug {} in again, into {bay}.", self.drive.model_and_serial()));
        }
        self.switch_on()?;
        // After Ctrl-C a drive that sysfs brings back is still waited for; one that the user should plug in is not.
        let drive = match by_hand {
            true => self.appears(FOUND_BY_HAND, cancel)?,
            false => self.appears(APPEARS, &Cancel::default())?,
        };
        // Without udev, nothing handles the drive.
        let _ = runner.ask(&udevadm::settle());
        Ok(drive)
    }

    /// Lets the kernel have the drive again, once.
    fn switch_on(&mut self) -> Result<(), BuildError> {
        let (Unplug::Usb(switch), Some(_)) = (&self.unplug, &self.entry) else { return Ok(()) };
        authorize(switch, true)
            .map_err(|e| BuildError::Drives(format!("{} can't be brought back: {e}", self.drive.label())))?;
        // Where the journal can't be written, its entry stays: bringing back what is there changes nothing.
        let _ = self.entry.take().map(Entry::done);
        Ok(())
    }

    /// Waits until the kernel has the drive, and its partitions, which it reads later.
    fn appears(&self, patience: Duration, cancel: &Cancel) -> Result<Drive, BuildError> {
        let (identity, until) = (self.drive.identity(), Instant::now() + patience);
        loop {
            let is_late = Instant::now() > until || cancel.is_set();
            match Inventory::read(&Sysroot::live()).drive(&identity) {
                Some(now) if is_late || now.partitions.len() >= self.drive.partitions.len() => {
                    return Ok(now.clone());
                }
                None if is_late => {
                    return Err(BuildError::Drives(format!(
                        "{} did not come back, or not with its serial",
                        self.drive.label()
                    )));
                }
                _ => thread::sleep(LOOK),
            }
        }
    }
}

impl Drop for DetachedDrive {
    fn drop(&mut self) {
        // After an error. Where that fails, too, the entry stays in the journal, and the next run brings the drive back. A pool is
        // removed with all its drives, so it is waited for.
        if self.entry.is_some() && self.switch_on().is_ok() {
            let _ = self.appears(APPEARS, &Cancel::default());
        }
    }
}

pub fn interrupted() -> BuildError {
    BuildError::Array("interrupted before the drive was taken away".to_owned())
}

pub(super) fn is_plugged_in(drive: &Drive) -> bool {
    Path::new("/sys/block").join(&drive.name).exists()
}

/// Takes a USB device away, or brings it back, by its file `authorized` in sysfs. The kernel may answer only when it is done with the
/// device, or never.
pub fn authorize(switch: &Path, is_there: bool) -> io::Result<()> {
    let switch = switch.to_owned();
    within(HANG, move || fs::write(&switch, if is_there { "1" } else { "0" }))
        .unwrap_or_else(|| Err(io::Error::other("the kernel did not answer within two minutes")))
}

/// Whether a journal may name this file.
fn is_switch(file: &Path) -> bool {
    let text = file.to_str().unwrap_or_default();
    text.starts_with("/sys/devices/") && !text.contains("/../") && file.ends_with("authorized")
}

/// A drive was taken away; writing to this file in sysfs brings it back.
#[derive(Debug, Serialize, Deserialize)]
pub struct UnpluggedDrive {
    pub switch: PathBuf,
}

crate::kind!("pull.unplugged", UnpluggedDrive as Undo);

impl Undo for UnpluggedDrive {
    fn path(&self) -> PathBuf {
        self.switch.clone()
    }

    fn is_in_kernel(&self) -> bool {
        true
    }

    fn undo(&self, _: &Left) -> io::Result<bool> {
        // Its port may be empty by now.
        if !is_switch(&self.switch) || !self.switch.exists() {
            return Ok(false);
        }
        authorize(&self.switch, true)
            .map_err(|e| io::Error::new(e.kind(), format!("a drive is still taken away: {e}")))?;
        Ok(true)
    }

    fn report(&self, ended: &str) -> String {
        format!(
            "Brought back the drive at {}, taken away by {ended}. If it is of a pool, `drivebench list` says whether the pool lacks it, \
             and some seconds later the command that gives it back.",
            self.switch.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_usb_device_is_switched_off() {
        let dir = tempfile::tempdir().expect("a directory");
        let usb = dir.path().join("pci/usb1/1-1/1-1.2");
        let block = usb.join("1-1.2:1.0/host7/target7:0:0/7:0:0:0/block/sdb");
        fs::create_dir_all(&block).expect("creates");
        for file in ["authorized", "devnum"] {
            fs::write(usb.join(file), "").expect("writes");
            // The hub has one, too: the nearest counts.
            fs::write(dir.path().join("pci/usb1/1-1").join(file), "").expect("writes");
        }
        assert_eq!(switch_of(&block), Some(usb.join("authorized")));
        assert_eq!(switch_of(&dir.path().join("pci/ata1/host0/block/sda")), None);
    }

    #[test]
    fn a_journal_names_no_other_files() {
        let is = |file: &str| is_switch(Path::new(file));
        assert!(is("/sys/devices/pci0000:00/usb1/1-1/1-1.2/authorized"));
        let others = [
            "/sys/devices/x/../../../etc/authorized",
            "/etc/authorized",
            "/sys/devices/x/delete",
            "authorized",
        ];
        assert!(!others.into_iter().any(is));
    }
}
