//! Mounted filesystems and swap, from procfs.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use super::Mount;
use crate::sysroot::{Sysroot, printable};

/// The most mounts of a captured machine, which may be hostile: the time to match mounts with drives grows with their number.
const MOST: usize = 4096;

/// Mounted filesystems, paths of swap, and paths of the procfs files that could not be read completely.
pub(super) fn read(root: &Sysroot) -> (Vec<Mount>, Vec<String>, Vec<String>) {
    let mut unread = Vec::new();
    let (mounted, swapped) = ("/proc/self/mountinfo", "/proc/swaps");
    let mut text = |path: &str, understood: &dyn Fn(&str) -> usize| {
        let whole = root.whole_text(path).filter(|text| understood(text) == text.lines().count());
        whole.unwrap_or_else(|| {
            unread.push(path.to_owned());
            root.long_text(path).unwrap_or_default()
        })
    };
    let mut mounts = parse_mountinfo(&text(mounted, &|text| parse_mountinfo(text).len()));
    if root.is_live() {
        add_root(&mut mounts);
    }
    // The first line of swaps has headings.
    let mut swaps = parse_swaps(&text(swapped, &|text| parse_swaps(text).len() + 1));
    if !root.is_live() {
        mounts.truncate(MOST);
        swaps.truncate(MOST);
    }
    for mount in mounts.iter_mut().filter(|mount| mount.source.starts_with("/dev/")) {
        mount.space = root.space(&mount.path);
    }
    (mounts, swaps, unread)
}

/// The mounted filesystems as this process sees them now.
pub fn live_mounts() -> Vec<Mount> {
    let text = Sysroot::live().long_text("/proc/self/mountinfo").unwrap_or_default();
    let mut mounts = parse_mountinfo(&text);
    add_root(&mut mounts);
    mounts
}

/// Adds the mount of the root. In a chroot whose root is a directory of a mount, only the first process sees that mount.
fn add_root(mounts: &mut Vec<Mount>) {
    if mounts.iter().any(|mount| mount.path == "/") {
        return;
    }
    let text = Sysroot::live().long_text("/proc/1/mountinfo").unwrap_or_default();
    let number = fs::metadata("/").map_or(0, |root| root.dev());
    let device = (rustix::fs::major(number), rustix::fs::minor(number));
    let below = parse_mountinfo(&text).into_iter().find(|mount| mount.device == device);
    mounts.extend(below.map(|mount| Mount { path: "/".to_owned(), ..mount }));
}

/// Mount points of the system.
pub const SYSTEM_MOUNTS: [&str; 7] = ["/", "/boot", "/boot/firmware", "/boot/efi", "/home", "/usr", "/var"];

/// The mount of a path (absolute, without links): the deepest, and of those the last.
pub fn deepest<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let over = mounts.iter().filter(|mount| path.starts_with(&mount.path));
    over.max_by_key(|mount| Path::new(&mount.path).components().count())
}

/// Reads `/proc/self/mountinfo`; lines that can't be read are left out.
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`, see proc(5).
fn parse_line(line: &str) -> Option<Mount> {
    let (mount, superblock) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let device = parse_device(mount.next()?)?;
    let root = unescape(mount.next()?);
    let path = unescape(mount.next()?);
    let mut options: Vec<String> = mount.next()?.split(',').map(unescape).collect();
    let mut superblock = superblock.split(' ');
    let filesystem = unescape(superblock.next()?);
    let source = unescape(superblock.next()?);
    for option in superblock.next().unwrap_or_default().split(',').filter(|option| !option.is_empty()) {
        let option = unescape(option);
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount { path, root, source, filesystem, options, device, space: None })
}

/// `8:1` as (major, minor).
pub(super) fn parse_device(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The kernel writes space, tab, line end, backslash and `#` as `\040`, three octal digits.
fn unescape(text: &str) -> String {
    decode(text, b"\\", 3, 8)
}

/// Text in which each `prefix` with this number of digits is decoded to a byte.
pub(super) fn decode(text: &str, prefix: &[u8], digits: usize, radix: u8) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let add = |value: u8, digit: &u8| {
        value.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix.into())? as u8)
    };
    while let [first, tail @ ..] = rest {
        let escape = rest.strip_prefix(prefix).and_then(|rest| rest.split_at_checked(digits));
        let decoded = escape.and_then(|(code, tail)| Some((code.iter().try_fold(0, add)?, tail)));
        let (byte, tail) = decoded.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = tail;
    }
    printable(&bytes)
}

/// Reads `/proc/swaps`: the paths of partitions and files that are swapped to.
pub(super) fn parse_swaps(text: &str) -> Vec<String> {
    text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysroot::Archive;

    /// From a virtual machine with Linux 6.18, shortened, and a Raspberry Pi with Linux 6.6.
    const MOUNTINFO: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict,resuid=65534,resgid=65534
28 27 0:25 / /mnt/python ro,nosuid,nodev,relatime - tmpfs none ro,size=4k,mode=755
96 26 179:1 / /boot/firmware rw,relatime shared:47 - vfat /dev/mmcblk0p1 rw,fmask=0022,errors=remount-ro
112 26 8:1 /photos /mnt/a\\040b\\134c ro,relatime shared:60 master:2 - ext4 /dev/sda1 rw
31 23 0:28 / /sys/fs/cgroup
x 1 a:b / / rw - ext4 /dev/vda rw
";

    #[test]
    fn reads_mountinfo() {
        let mounts = parse_mountinfo(MOUNTINFO);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].device, (254, 0));
        assert_eq!((mounts[1].path.as_str(), mounts[1].source.as_str()), ("/", "/dev/vda"));
        assert_eq!(
            mounts[1].options,
            ["rw", "relatime", "discard", "resv_strict", "resuid=65534", "resgid=65534"]
        );
        assert!(mounts[2].read_only() && !mounts[3].read_only());
        assert_eq!((mounts[4].path.as_str(), mounts[4].root.as_str()), ("/mnt/a b\\c", "/photos"));
        assert!(mounts[4].read_only(), "the mount is read-only though the filesystem isn't");
    }

    #[test]
    fn escapes_never_hide_control_characters() {
        assert_eq!(unescape("a\\033[31m\\012\\9\\40"), "a[31m\n\\9\\40");
        assert_eq!(unescape("\\377"), "\u{fffd}");
    }

    #[test]
    fn reads_swaps() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /var/swap                               file\t\t524284\t\t0\t\t-2\n\
            /dev/sda2                               partition\t2097148\t0\t-3\n";
        assert_eq!(parse_swaps(text), ["/var/swap", "/dev/sda2"]);
        assert!(parse_swaps("").is_empty());
    }

    #[test]
    fn what_was_not_read_completely_is_named() {
        let unread = |mountinfo: Option<&str>, swaps: Option<&str>| {
            let mut archive = Archive::default();
            let files = [("/proc/self/mountinfo", mountinfo), ("/proc/swaps", swaps)];
            for (path, text) in files.into_iter().filter_map(|(path, text)| Some((path, text?))) {
                archive.add_file(path, text);
            }
            read(&Sysroot::archive(archive)).2
        };
        let (mounts, swaps) =
            ("27 1 254:0 / / rw - ext4 /dev/vda rw\n", "Filename Type\n/dev/sda2 partition\n");
        assert_eq!(unread(Some(mounts), Some(swaps)), [""; 0]);
        let long = mounts.repeat(1_000_000);
        for bad in
            [None, Some(""), Some("27 1 254:0 / / rw"), Some(mounts.trim()), Some(MOUNTINFO), Some(&long)]
        {
            assert_eq!(unread(bad, Some(swaps)), ["/proc/self/mountinfo"]);
        }
        for bad in [None, Some(""), Some(swaps.trim()), Some("Filename Type\n\n")] {
            assert_eq!(unread(Some(mounts), bad), ["/proc/swaps"], "{bad:?}");
        }
    }
}
