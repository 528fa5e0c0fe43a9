//! How a drive that was taken away is brought back after a kill.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    run::{Left, Undo},
    test_files::{HANG, within},
};

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
