//! How a drive that was taken away is brought back after a kill.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    run::{Left, Undo, Undone},
    test_files::{HANG, within},
};

/// A file in sysfs and the text that takes a drive away or brings it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    pub file: PathBuf,
    pub text: &'static str,
}

impl Switch {
    /// A switch that brings drives back, as a journal names it; none if it is another file.
    fn of_journal(file: &Path) -> Option<Self> {
        let text = file.to_str()?;
        let plain = !text.contains("/../") && file.starts_with("/sys");
        let is = |folder: &str, name: &str| plain && text.starts_with(folder) && file.ends_with(name);
        if is("/sys/devices/", "authorized") {
            return Some(Self { file: file.to_owned(), text: "1" });
        }
        is("/sys/class/scsi_host/", "scan").then(|| Self { file: file.to_owned(), text: "- - -" })
    }

    /// Writes it. The kernel may answer only when it is done with the device, or never.
    pub fn set(&self) -> io::Result<()> {
        let this = self.clone();
        within(HANG, move || fs::write(&this.file, this.text))
            .unwrap_or_else(|| Err(io::Error::other("the kernel did not answer within two minutes")))
    }
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

    fn undo(&self, _: &Left) -> io::Result<Vec<Undone>> {
        // Its port may be empty by now.
        let Some(switch) = Switch::of_journal(&self.switch).filter(|switch| switch.file.exists()) else {
            return Ok(Vec::new());
        };
        switch.set().map_err(|e| io::Error::new(e.kind(), format!("a drive is still taken away: {e}")))?;
        Ok(Undone::gone(switch.file))
    }

    fn report(&self, path: &Path, ended: &str) -> String {
        // A host is told to look for its disks; whether this one answers is not known.
        let done = match path.ends_with("scan") {
            true => "Had the system look for the drive at",
            false => "Brought back the drive at",
        };
        format!(
            "{done} {}, taken away by {ended}. If it is of a pool, `drivebench list` says whether the pool lacks it, and some \
             seconds later the command that gives it back.",
            path.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_names_no_other_files() {
        let of = |file: &str| Switch::of_journal(Path::new(file)).map(|switch| switch.text);
        assert_eq!(of("/sys/devices/pci0000:00/usb1/1-1/1-1.2/authorized"), Some("1"));
        assert_eq!(of("/sys/class/scsi_host/host7/scan"), Some("- - -"));
        for other in [
            "/sys/devices/x/../../../etc/authorized",
            "/etc/authorized",
            "/sys/devices/x/delete",
            "authorized",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
