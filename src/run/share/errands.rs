//! What the client and the server's own programs do with files. They are named by numbers.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Advice, fadvise, syncfs};

const PIECE: usize = 1 << 20;

/// Makes so many files of so many bytes, which can't be compressed.
pub fn make(dir: &Path, (files, bytes): (u64, u64), seed: u64) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut piece = vec![0; PIECE];
    for number in 0..files {
        let mut file = File::create_new(dir.join(number.to_string()))?;
        let mut left = bytes;
        while left > 0 {
            let length = left.min(PIECE as u64) as usize;
            random.fill_bytes(&mut piece[..length]);
            file.write_all(&piece[..length])?;
            left -= length as u64;
        }
    }
    Ok(())
}

/// Removes so many of them, as far as they are there.
pub fn clear(dir: &Path, files: u64) -> io::Result<()> {
    for number in 0..files {
        match fs::remove_file(dir.join(number.to_string())) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Writes them as the server's own programs do, until they are on the drive.
pub fn put(from: &Path, to: &Path, files: u64) -> io::Result<()> {
    for number in 0..files {
        let name = number.to_string();
        fs::copy(from.join(&name), to.join(&name))?;
    }
    sync(to)
}

/// Reads them as the server's own programs do.
pub fn get(from: &Path, files: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    for number in 0..files {
        let mut file = File::open(from.join(number.to_string()))?;
        while file.read(&mut piece)? > 0 {}
    }
    Ok(())
}

/// All that was written is on the drive.
pub fn sync(dir: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(dir)?)?)
}

/// They are no longer in memory.
pub fn cool(dir: &Path, files: u64) -> io::Result<()> {
    sync(dir)?;
    for number in 0..files {
        fadvise(File::open(dir.join(number.to_string()))?, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// The first file that is missing or has another length; of all bytes, if they are `read`, too.
pub fn differs(a: &Path, b: &Path, files: u64, read: bool) -> io::Result<Option<u64>> {
    for number in 0..files {
        let name = number.to_string();
        let mut first = File::open(a.join(&name))?;
        let mut second = match File::open(b.join(&name)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(number)),
            opened => opened?,
        };
        if first.metadata()?.len() != second.metadata()?.len() || read && !same(&mut first, &mut second)? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Whether two files of one length have the same bytes.
fn same(a: &mut File, b: &mut File) -> io::Result<bool> {
    let (mut of_a, mut of_b) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let length = a.read(&mut of_a)?;
        b.read_exact(&mut of_b[..length])?;
        if length == 0 || of_a[..length] != of_b[..length] {
            return Ok(length == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_copied_and_compared() {
        let [from, to] = ["from", "to"].map(|_| tempfile::tempdir().expect("a directory"));
        let (from, to) = (from.path(), to.path());
        for set in [(1, (3 << 20) + 5), (12, 100)] {
            make(from, set, 1).expect("makes");
            put(from, to, set.0).expect("copies");
            cool(to, set.0).and_then(|()| get(to, set.0)).expect("reads");
            assert_eq!(differs(from, to, set.0, true).expect("compares"), None);
            for dir in [from, to] {
                clear(dir, set.0).and_then(|()| clear(dir, set.0)).expect("removes");
            }
        }
        make(from, (12, 100), 1).and_then(|()| put(from, to, 12)).expect("makes");
        fs::write(to.join("7"), vec![0; 100]).expect("writes");
        let differs = |read| differs(from, to, 12, read).expect("compares");
        assert_eq!([differs(false), differs(true)], [None, Some(7)]);
        fs::write(to.join("5"), "").expect("writes");
        assert_eq!(differs(false), Some(5));
        fs::remove_file(to.join("3")).expect("removes");
        assert_eq!(differs(false), Some(3));
    }
}
