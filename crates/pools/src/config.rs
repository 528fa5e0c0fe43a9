//! Lines in the system's configuration that bring a pool back after a reboot. Removing them leaves what others wrote.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Build;
use crate::{tools::dmsetup::Segment, units::Layout};

/// How long the system waits for a pool at boot, s: longer than the 30 s after which md starts an array without its
/// missing members.
const DEVICE_TIMEOUT: u32 = 90;
/// How long an array waits for its missing members at boot, s: as long as mdadm's own units.
const LAST_RESORT: u32 = 30;

pub const FSTAB: &str = "/etc/fstab";
/// The configuration of mdadm on Debian.
const MDADM_CONF: &str = "/etc/mdadm/mdadm.conf";

/// The directory of systemd's units.
const UNITS: &str = "/etc/systemd/system";

/// The unit of a pool.
fn unit(name: &str) -> String {
    format!("drivebench-pool-{name}.service")
}

/// Whether this is one of the files that may have lines of a pool.
pub fn has_lines(file: &Path, name: &str) -> bool {
    let unit = Path::new(UNITS).join(unit(name));
    [FSTAB, MDADM_CONF].map(Path::new).contains(&file) || file == unit
}

/// Lines of a pool, and the file that has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    pub file: String,
    pub lines: Vec<String>,
}

impl Build {
    /// The line of `/etc/fstab` that mounts the pool on `dir`. Without the pool the machine boots all the same. An array is
    /// found by the UUID of its filesystem. A linear pool is named by its mapping, because its first drive seems to have the
    /// same filesystem. With `has_unit`, the mount requires the pool's systemd unit.
    pub fn fstab(&self, dir: &str, has_unit: bool) -> Lines {
        let linear = self.layout == Layout::Linear;
        let source = if linear { self.path() } else { format!("UUID={}", self.uuids[1]) };
        let mut options = format!("defaults,nofail,x-systemd.device-timeout={DEVICE_TIMEOUT}s");
        if has_unit {
            options += &format!(",x-systemd.requires={}", unit(&self.name));
        }
        let check = if self.filesystem.is_checked_at_boot() { 2 } else { 0 };
        let line = format!("{source} {} {} {options} 0 {check}", escaped(dir), self.filesystem.name());
        Lines { file: FSTAB.to_owned(), lines: vec![line] }
    }

    /// The line that names an array. Without it, the array could be assembled under another name.
    pub fn mdadm_conf(&self) -> Option<Lines> {
        let (path, name, uuid) = (self.path(), &self.name, md_uuid(&self.uuids[0]));
        let line = format!("ARRAY {path} metadata=1.2 name=any:{name} UUID={uuid}");
        (self.layout != Layout::Linear).then(|| Lines { file: MDADM_CONF.to_owned(), lines: vec![line] })
    }

    /// The systemd unit that a pool needs at boot, if any. `links` are persistent names of the drives of a linear pool.
    pub fn systemd_unit(&self, links: &[String]) -> Option<Lines> {
        let lines = match self.layout {
            Layout::Linear => self.joining(links),
            layout if layout.is_redundant() => self.starting(),
            _ => return None,
        };
        let lines = lines.lines().map(str::to_owned).collect();
        Some(Lines { file: format!("{UNITS}/{}", unit(&self.name)), lines })
    }

    /// The unit that starts an array although members are missing. mdadm's own units do so only for arrays whose first members
    /// appear after the initramfs: one that was assembled in part there would wait forever. Its name in the kernel isn't known
    /// before, and mdadm's map of names may be lost with the initramfs.
    fn starting(&self) -> String {
        let (name, uuid) = (&self.name, md_uuid(&self.uuids[0]));
        let waits = "grep -q inactive /sys/block/$md/md/array_state";
        let ours = format!("mdadm --detail --export /dev/$md | grep -q MD_UUID={uuid}");
        let start = format!("{waits} && {ours} && mdadm --run /dev/$md");
        let script = format!("sleep {LAST_RESORT}; cd /sys/block; for md in md*; do {start}; done; true");
        format!(
            "[Unit]
Description=Start of pool {name} without missing drives
DefaultDependencies=no
Before=shutdown.target
Conflicts=shutdown.target

[Service]
ExecStart=/bin/sh -c '{}'",
            // systemd replaces variables, too.
            script.replace('$', "$$")
        )
    }

    /// The unit that joins the drives of a linear pool, before it is mounted: nothing on the drives names their order.
    fn joining(&self, links: &[String]) -> String {
        let devices: Vec<String> = links.iter().map(|link| device_unit(link)).collect();
        let devices = devices.join(" ");
        let sizes = self.members.iter().map(|member| member.sectors);
        let table = Segment::in_line(links.iter().map(String::as_str).zip(sizes));
        let table: Vec<String> = table.iter().map(Segment::line).collect();
        let concise = format!("{},{},,rw,{}", self.name, self.mapping_uuid(), table.join(","));
        let name = &self.name;
        format!(
            "[Unit]
Description=Linear pool {name}
DefaultDependencies=no
Requires={devices}
After={devices}
Before=umount.target
Conflicts=umount.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/dmsetup create --concise \"{concise}\"
ExecStop=/sbin/dmsetup remove --retry {name}"
        )
    }
}

/// Whether fstab mounts something on this directory.
pub fn mounts_on(fstab: &str, dir: &str) -> bool {
    let dir = escaped(dir.trim_end_matches('/'));
    let lines = fstab.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().nth(1)).any(|other| other.trim_end_matches('/') == dir)
}

/// The unit of systemd for a path in `/dev`, as `systemd-escape --path --suffix=device` names it.
fn device_unit(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b'/' => "-".to_owned(),
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => char::from(byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    path.trim_matches('/').bytes().map(escape).collect::<String>() + ".device"
}

/// A UUID as md writes it.
fn md_uuid(uuid: &str) -> String {
    let digits: Vec<char> = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    digits.chunks(8).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join(":")
}

/// A path without control characters in fstab: spaces end a field, and a backslash begins an escape.
fn escaped(path: &str) -> String {
    path.replace('\\', "\\134").replace(' ', "\\040")
}

/// The comments above and below the lines of a pool.
fn marks(name: &str) -> [String; 2] {
    ["begin", "end"].map(|mark| format!("# drivebench pool {name}: {mark}\n"))
}

impl Lines {
    /// The text of a file with the lines at its end; `None` if it has lines of this pool already.
    pub fn add(&self, name: &str, text: &str) -> Option<String> {
        let [begin, end] = marks(name);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        (!text.contains(&begin)).then(|| format!("{text}{gap}{begin}{lines}{end}"))
    }
}

/// A file with this text without the lines of a pool; `None` if it has none. The error is what is missing after them.
pub fn without(name: &str, text: &str) -> Result<Option<String>, String> {
    let [begin, end] = marks(name);
    let Some((head, lines)) = text.split_once(&begin) else { return Ok(None) };
    let (_, rest) = lines.split_once(&end).ok_or_else(|| end.trim_end().to_owned())?;
    Ok(Some(format!("{head}{rest}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_escaped_and_uuids_are_in_the_form_of_md() {
        assert_eq!(escaped("/srv/a b\\c"), "/srv/a\\040b\\134c");
        assert_eq!(md_uuid("053f7e0e-069f-b954-415c-8744bbe3e33b"), "053f7e0e:069fb954:415c8744:bbe3e33b");
    }

    /// As `systemd-escape --path --suffix=device` of systemd 252 named it.
    #[test]
    fn devices_have_the_units_of_systemd() {
        let path = "/dev/disk/by-id/usb-SanDisk_Cruzer_Blade_4C53-0:0";
        let unit = r"dev-disk-by\x2did-usb\x2dSanDisk_Cruzer_Blade_4C53\x2d0:0.device";
        assert_eq!(device_unit(path), unit);
    }

    #[test]
    fn a_directory_that_is_mounted_at_boot_is_found() {
        let fstab = "# /dev/sdb1 /srv/c ext4\nUUID=1 / ext4 defaults 0 1\n/dev/sda1\t/srv/a\\040b/ ext4 defaults 0 2\nshort";
        let found = ["/", "/srv/a b", "/srv/a", "/srv/c"].map(|dir| mounts_on(fstab, dir));
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn lines_added_later_by_others_stay() {
        let lines = Lines { file: FSTAB.to_owned(), lines: vec!["ours".to_owned()] };
        let text = lines.add("data", "a\nb").expect("adds") + "c\n";
        assert_eq!(without("data", &text), Ok(Some("a\nb\nc\n".to_owned())));
        let cut = text.replace("# drivebench pool data: end\n", "");
        assert_eq!(without("data", &cut), Err("# drivebench pool data: end".to_owned()));
        assert_eq!(lines.add("data", &text), None, "not twice");
        assert_eq!(without("other", &text), Ok(None));
    }

    #[test]
    fn only_files_of_the_system_have_lines() {
        let unit = "/etc/systemd/system/drivebench-pool-data.service";
        assert!([FSTAB, MDADM_CONF, unit].iter().all(|f| has_lines(Path::new(f), "data")));
        let others = [
            "/etc/shadow",
            "/tmp/fstab",
            "/etc/systemd/system/drivebench-pool-x.service",
            "/etc/../etc/fstab",
        ];
        assert!(!others.iter().any(|file| has_lines(Path::new(file), "data")));
    }

    proptest! {
        #[test]
        fn a_file_without_the_lines_is_as_before(
            text in "([a# ]{0,9}\n){0,5}",
            (pools, order) in (1usize..5).prop_flat_map(|n| (Just(n), Just((0..n).collect::<Vec<_>>()).prop_shuffle())),
        ) {
            let lines = Lines { file: FSTAB.to_owned(), lines: vec!["ours".to_owned(), "too".to_owned()] };
            let mut file = text.clone();
            for n in 0..pools {
                file = lines.add(&format!("p{n}"), &file).expect("it has none of this pool");
            }
            for n in order {
                file = without(&format!("p{n}"), &file).expect("is whole").expect("has lines");
            }
            prop_assert_eq!(file, text);
        }
    }
}
