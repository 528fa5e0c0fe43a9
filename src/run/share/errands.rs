//! What the client and the server's own programs do with files. They are named by numbers: the large one is 0.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Advice, fadvise, syncfs};

use crate::plan::{Errand, ShareTest};

const PIECE: usize = 1 << 20;

/// The names of the files of an errand.
pub fn names(act: &ShareTest, errand: Errand) -> Vec<String> {
    let range = if errand.is_small() { 1..=act.files } else { 0..=0 };
    range.map(|number| number.to_string()).collect()
}

/// What a person would type into smbclient.
pub fn commands(errand: Errand, room: &Path) -> String {
    let room = room.display();
    match errand {
        Errand::Put => format!("lcd {room}/from; put 0"),
        Errand::Get => format!("lcd {room}/to; get 0"),
        Errand::PutSmall => format!("lcd {room}/from; prompt; mput 1* 2* 3* 4* 5* 6* 7* 8* 9*"),
        Errand::GetSmall => format!("lcd {room}/to; prompt; mget 1* 2* 3* 4* 5* 6* 7* 8* 9*"),
    }
}

/// Makes the files of all errands, which can't be compressed.
pub fn make(dir: &Path, act: &ShareTest) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for errand in [Errand::Put, Errand::PutSmall] {
        let bytes = if errand.is_small() { act.small } else { act.bytes };
        for name in names(act, errand) {
            write(&dir.join(name), bytes, &mut |piece| random.fill_bytes(piece))?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: u64, fill: &mut dyn FnMut(&mut [u8])) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(PIECE as u64) as usize;
        fill(&mut piece[..length]);
        file.write_all(&piece[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// Writes them as the server's own programs do, until they are on the drive.
pub fn put(from: &Path, to: &Path, names: &[String]) -> io::Result<()> {
    for name in names {
        fs::copy(from.join(name), to.join(name))?;
    }
    sync(to)
}

/// Reads them as the server's own programs do.
pub fn get(from: &Path, names: &[String]) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    for name in names {
        let mut file = File::open(from.join(name))?;
        while file.read(&mut piece)? > 0 {}
    }
    Ok(())
}

/// All that was written is on the drive.
pub fn sync(dir: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(dir)?)?)
}

/// They are no longer in memory.
pub fn cool(dir: &Path, names: &[String]) -> io::Result<()> {
    sync(dir)?;
    for name in names {
        fadvise(File::open(dir.join(name))?, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// The first file that differs.
pub fn differs(a: &Path, b: &Path, names: &[String]) -> io::Result<Option<String>> {
    for name in names {
        let (mut a, mut b) = (File::open(a.join(name))?, File::open(b.join(name))?);
        let (mut of_a, mut of_b) = (vec![0; PIECE], vec![0; PIECE]);
        if a.metadata()?.len() != b.metadata()?.len() {
            return Ok(Some(name.clone()));
        }
        loop {
            let length = a.read(&mut of_a)?;
            if length == 0 {
                break;
            }
            b.read_exact(&mut of_b[..length])?;
            if of_a[..length] != of_b[..length] {
                return Ok(Some(name.clone()));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_copied_and_compared() {
        let act = ShareTest { rate: None, bytes: (3 << 20) + 5, files: 12, small: 100, runs: 1 };
        let [from, to] = ["from", "to"].map(|_| tempfile::tempdir().expect("a directory"));
        make(from.path(), &act).expect("makes");
        for errand in [Errand::Put, Errand::PutSmall] {
            let names = names(&act, errand);
            put(from.path(), to.path(), &names).expect("copies");
            cool(to.path(), &names).and_then(|()| get(to.path(), &names)).expect("reads");
            assert_eq!(differs(from.path(), to.path(), &names).expect("compares"), None);
        }
        assert_eq!(names(&act, Errand::GetSmall).len(), 12);
        fs::write(to.path().join("7"), vec![0; 100]).expect("writes");
        let small = names(&act, Errand::GetSmall);
        assert_eq!(differs(from.path(), to.path(), &small).expect("compares"), Some("7".to_owned()));
    }
}
