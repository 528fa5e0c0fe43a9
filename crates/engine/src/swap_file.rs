//! Swap areas in files that are open. mkswap, swapon and swapoff take a name, which others may give to something else meanwhile.
#![allow(unsafe_code)]

use std::{
    ffi::CString,
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
};

use rustix::param::page_size;

use super::again_if_interrupted;

/// Of the kernel: the priority is one that was asked for.
const PREFER: i32 = 0x8000;

/// Makes a file of so many bytes, which has no holes, a swap area.
pub fn make(file: &File, bytes: u64, label: &str) -> io::Result<()> {
    let header = header(page_size(), bytes, label)?;
    file.write_all_at(&header, 0)?;
    file.sync_all()
}

/// The first page: the kernel's `union swap_header`.
fn header(page: usize, bytes: u64, label: &str) -> io::Result<Vec<u8>> {
    /// Before it, boot loaders may have something.
    const AT: usize = 1024;
    const LABEL: usize = 16;
    const MAGIC: &[u8] = b"SWAPSPACE2";
    let last = (bytes / page as u64).checked_sub(1).and_then(|last| u32::try_from(last).ok());
    let last = last.filter(|last| *last > 0).ok_or(io::ErrorKind::InvalidInput)?;
    let mut header = vec![0; page];
    // Version, last page, number of bad pages, UUID, label.
    header[AT..AT + 4].copy_from_slice(&1_u32.to_ne_bytes());
    header[AT + 4..AT + 8].copy_from_slice(&last.to_ne_bytes());
    let label = &label.as_bytes()[..label.len().min(LABEL)];
    header[AT + 28..AT + 28 + label.len()].copy_from_slice(label);
    header[page - MAGIC.len()..].copy_from_slice(MAGIC);
    Ok(header)
}

/// The kernel swaps to it, before all areas with a lower priority.
pub fn on(file: &File, priority: u16) -> io::Result<()> {
    let flags = PREFER | i32::from(priority & 0x7fff);
    // SAFETY: the name is a string that ends with 0, and the file is open.
    called(file, |name| unsafe { libc::swapon(name.as_ptr(), flags) })
}

/// The kernel reads back what is in it, and swaps to it no more. `InvalidInput` if it did not.
pub fn off(file: &File) -> io::Result<()> {
    // SAFETY: as above.
    called(file, |name| unsafe { libc::swapoff(name.as_ptr()) })
}

fn called(file: &File, call: impl Fn(&CString) -> i32) -> io::Result<()> {
    let name = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    again_if_interrupted(|| call(&name))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn blkid_knows_what_is_made() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(1 << 20).expect("grows");
        make(file.as_file(), 1 << 20, "drivebench").expect("makes");
        let said = Command::new("/sbin/blkid").args(["-p", "-o", "export"]).arg(file.path()).output();
        let said = String::from_utf8(said.expect("blkid runs").stdout).expect("UTF-8");
        for line in ["LABEL=drivebench", "VERSION=1", "TYPE=swap"] {
            assert!(said.lines().any(|said| said == line), "{said}");
        }
        let not_used = off(file.as_file()).expect_err("it is not used");
        assert!(
            matches!(not_used.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied),
            "{not_used}"
        );
    }

    #[test]
    fn the_last_page_follows_from_the_bytes() {
        let header = header(4096, 64 << 20, "a label that is too long").expect("fits");
        assert_eq!(header[1028..1032], (16 * 1024 - 1_u32).to_ne_bytes());
        assert_eq!((&header[1052..1068], header.len()), (&b"a label that is "[..], 4096));
        assert!(super::header(4096, 4096, "").is_err() && super::header(4096, 0, "").is_err());
    }
}
