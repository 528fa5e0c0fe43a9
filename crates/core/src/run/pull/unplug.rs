//! How a drive is taken away, and brought back.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::{inventory::Drive, plan::PullBy};

/// What is written where, in sysfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    pub file: PathBuf,
    pub text: &'static str,
}

/// How one drive is taken away, and brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unplug {
    Software {
        away: Switch,
        back: Switch,
    },
    /// By a person.
    Hand,
}

impl Unplug {
    /// The error says why this drive can't be taken away like this.
    pub fn of(drive: &Drive, by: PullBy) -> io::Result<Self> {
        let device = Path::new("/sys/block").join(&drive.name).canonicalize()?;
        Self::at(&device, by).ok_or_else(|| {
            let what = match by {
                PullBy::Usb => "it is on no USB port: try --by scsi or --by hand",
                PullBy::Scsi | PullBy::Hand => "it is no SCSI device: try --by hand",
            };
            io::Error::other(format!("{} can't be taken away by software: {what}", drive.label()))
        })
    }

    /// Lets the kernel have the drive again, and waits until it says that it has it.
    pub fn bring_back(&self, patience: Duration) -> io::Result<()> {
        let Self::Software { back, .. } = self else { return Ok(()) };
        match back.set()?.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(_) => Err(io::Error::other("the kernel does not answer")),
        }
    }

    /// By the directory of the block device in sysfs.
    fn at(device: &Path, by: PullBy) -> Option<Self> {
        let above = || device.ancestors().skip(1);
        match by {
            PullBy::Hand => Some(Self::Hand),
            PullBy::Usb => {
                let usb =
                    above().find(|dir| dir.join("authorized").is_file() && dir.join("devnum").is_file())?;
                let file = usb.join("authorized");
                Some(Self::Software {
                    away: Switch { file: file.clone(), text: "0" },
                    back: Switch { file, text: "1" },
                })
            }
            PullBy::Scsi => {
                let scsi =
                    above().find(|dir| dir.join("delete").exists() && dir.join("scsi_level").exists())?;
                let name = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned());
                let is_host = |name: &String| {
                    name.strip_prefix("host").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
                };
                let host = scsi.ancestors().filter_map(name).find(is_host)?;
                let scan = Path::new("/sys/class/scsi_host").join(host).join("scan");
                Some(Self::Software {
                    away: Switch { file: scsi.join("delete"), text: "1" },
                    back: Switch { file: scan, text: "- - -" },
                })
            }
        }
    }
}

impl Switch {
    /// A switch that brings drives back, as a journal names it; none if it is another file.
    pub fn of_journal(file: &Path) -> Option<Self> {
        let text = file.to_str()?;
        let plain = !text.contains("/../") && file.starts_with("/sys");
        let is = |folder: &str, name: &str| plain && text.starts_with(folder) && file.ends_with(name);
        if is("/sys/devices/", "authorized") {
            return Some(Self { file: file.to_owned(), text: "1" });
        }
        is("/sys/class/scsi_host/", "scan").then(|| Self { file: file.to_owned(), text: "- - -" })
    }

    /// Writes it. The kernel may answer only when it is done with the device, so a thread of its own waits for that.
    pub fn set(&self) -> io::Result<mpsc::Receiver<io::Result<()>>> {
        let (done, result) = mpsc::channel();
        let this = self.clone();
        thread::Builder::new().spawn(move || done.send(fs::write(&this.file, this.text)))?;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_files() {
        let dir = tempfile::tempdir().expect("a directory");
        let usb = dir.path().join("pci/usb1/1-1/1-1.2");
        let scsi = usb.join("1-1.2:1.0/host7/target7:0:0/7:0:0:0");
        let block = scsi.join("block/sdb");
        fs::create_dir_all(&block).expect("creates");
        for file in ["authorized", "devnum"] {
            fs::write(usb.join(file), "").expect("writes");
            // The hub has one, too: the nearest counts.
            fs::write(dir.path().join("pci/usb1/1-1").join(file), "").expect("writes");
        }
        assert_eq!(Unplug::at(&block, PullBy::Scsi), None);
        for file in ["delete", "scsi_level"] {
            fs::write(scsi.join(file), "").expect("writes");
        }
        let both = |away: (PathBuf, &'static str), back: (PathBuf, &'static str)| {
            let [away, back] = [away, back].map(|(file, text)| Switch { file, text });
            Some(Unplug::Software { away, back })
        };
        let authorized = usb.join("authorized");
        assert_eq!(Unplug::at(&block, PullBy::Usb), both((authorized.clone(), "0"), (authorized, "1")));
        let scan = PathBuf::from("/sys/class/scsi_host/host7/scan");
        assert_eq!(Unplug::at(&block, PullBy::Scsi), both((scsi.join("delete"), "1"), (scan, "- - -")));
        let disk = dir.path().join("pci/ata1/host0/block/sda");
        fs::create_dir_all(&disk).expect("creates");
        assert_eq!(Unplug::at(&disk, PullBy::Usb), None);
        assert_eq!(Unplug::at(&disk, PullBy::Hand), Some(Unplug::Hand));
    }

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
