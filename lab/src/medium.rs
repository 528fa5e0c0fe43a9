//! What a modelled drive holds, and how it loses or falsifies that.

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::{self, Write},
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use drivebench_modelled::sim::Faults;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::scenario::SECTOR;

/// In the directory of the drives: a byte for each time that the power was switched off, and one for each time that it was
/// switched on again.
const POWER: &str = "power";

/// The content of a drive.
#[derive(Debug)]
pub struct Medium {
    file: File,
    size: u64,
    /// Real capacity, bytes.
    real: u64,
    faults: Faults,
    power: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Xoshiro256PlusPlus,
    /// Writes that only its memory has, in their order, and their bytes.
    unsaved: VecDeque<(u64, Vec<u8>)>,
    unsaved_bytes: u64,
    /// Of the changes that it noticed.
    power: Power,
}

/// How often the power of the drives was switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power(u64);

impl Power {
    fn is_on(self) -> bool {
        self.0 % 2 == 0
    }
}

/// Switches the power of the drives of a directory off, or on again. What was not yet written then is lost, and nothing is
/// written meanwhile.
pub fn switch_power(directory: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(directory.join(POWER))?.write_all(b"x")
}

impl Medium {
    /// Opens or makes the file of a drive, sparse, of `size` bytes, of which `real` are stored. `seed` decides which operations
    /// have a fault.
    pub fn open(image: &Path, [size, real]: [u64; 2], faults: Faults, seed: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(image)?;
        if file.metadata()?.len() < size {
            file.set_len(size)?;
        }
        let power = image.with_file_name(POWER);
        let state = State {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            unsaved: VecDeque::new(),
            unsaved_bytes: 0,
            power: count(&power),
        };
        Ok(Self { file, size, real, faults, power, state: Mutex::new(state) })
    }

    /// Its size, bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads what the drive claims to hold.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        for (range, place) in self.pieces(buffer.len(), offset) {
            let piece = &mut buffer[range];
            let (real, lost) = piece.split_at_mut(self.stored_bytes(piece.len(), place));
            self.file.read_exact_at(real, place)?;
            lost.fill(0);
        }
        let mut state = self.state();
        for (at, bytes) in &state.unsaved {
            // Either may begin first, and end first.
            let [begin, end] = [offset.max(*at), (offset + buffer.len() as u64).min(at + bytes.len() as u64)];
            if begin < end {
                let range = |from: u64| (begin - from) as usize..(end - from) as usize;
                buffer[range(offset)].copy_from_slice(&bytes[range(*at)]);
            }
        }
        for extent in &self.faults.corrupt {
            let end = (extent.offset + extent.length).min(offset + buffer.len() as u64);
            let mut at = extent.offset;
            // The first byte of the extent in each sector, independent of how the read was split.
            while at < end {
                if let Some(byte) = at.checked_sub(offset).and_then(|i| buffer.get_mut(i as usize)) {
                    *byte ^= 0xff;
                }
                at = (at / SECTOR + 1) * SECTOR;
            }
        }
        if !buffer.is_empty() && state.happens(self.faults.flips) {
            let at = state.random.random_range(0..buffer.len());
            buffer[at] ^= 1 << state.random.random_range(0..8);
        }
        Ok(())
    }

    /// The state of the power at the start of an operation.
    pub fn power(&self) -> Power {
        count(&self.power)
    }

    /// Writes, as far as its faults let it, if the power was on all the time since the operation began.
    pub fn write(&self, bytes: &[u8], offset: u64, power: Power) -> io::Result<()> {
        let mut state = self.state();
        let is_powered = power.is_on() && state.power == power;
        if !is_powered || state.happens(self.faults.drops) {
            return Ok(());
        }
        let Some(most) = self.faults.volatile else { return self.store(bytes, offset) };
        state.unsaved_bytes += bytes.len() as u64;
        state.unsaved.push_back((offset, bytes.to_vec()));
        while state.unsaved_bytes > most {
            let Some((at, bytes)) = state.unsaved.pop_front() else { break };
            state.unsaved_bytes -= bytes.len() as u64;
            self.store(&bytes, at)?;
        }
        Ok(())
    }

    fn store(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        for (range, place) in self.pieces(bytes.len(), offset) {
            let piece = &bytes[range];
            self.file.write_all_at(&piece[..self.stored_bytes(piece.len(), place)], place)?;
        }
        Ok(())
    }

    /// The parts of an operation that are consecutive on the medium: their range in its buffer, and their place.
    fn pieces(&self, length: usize, offset: u64) -> Vec<(Range<usize>, u64)> {
        let wraps = self.faults.wraps.unwrap_or(u64::MAX);
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < length {
            let place = (offset + done as u64) % wraps;
            let end = length.min(done + usize::try_from(wraps - place).unwrap_or(usize::MAX - done));
            pieces.push((done..end, place));
            done = end;
        }
        pieces
    }

    /// The state, without what a power cut has lost.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let power = self.power();
        if power != state.power {
            (state.power, state.unsaved_bytes) = (power, 0);
            state.unsaved.clear();
        }
        state
    }

    /// How many of `length` bytes at `offset` are within the real capacity.
    fn stored_bytes(&self, length: usize, offset: u64) -> usize {
        (self.real.saturating_sub(offset)).min(length as u64) as usize
    }
}

impl State {
    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.random_bool(share.min(1.0))
    }
}

fn count(power: &Path) -> Power {
    Power(power.metadata().map(|about| about.len()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use drivebench::units::Extent;

    use super::*;

    fn medium(directory: &tempfile::TempDir, real: u64, faults: Faults) -> Medium {
        Medium::open(&directory.path().join("1.img"), [8192, real], faults, 1).unwrap()
    }

    fn all(medium: &Medium) -> Vec<u8> {
        let mut all = vec![1; 8192];
        medium.read(&mut all, 0).unwrap();
        all
    }

    #[test]
    fn faults_do_not_depend_on_how_reads_are_split() {
        let directory = tempfile::tempdir().unwrap();
        let corrupt = vec![Extent { offset: 1000, length: 100 }];
        let medium = medium(&directory, 5000, Faults { corrupt, ..Faults::default() });
        medium.write(&[7; 8192], 0, medium.power()).unwrap();
        let all = all(&medium);
        let wrong: Vec<usize> = (0..8192).filter(|&i| all[i] != 7).collect();
        assert_eq!(wrong[..2], [1000, 1024]);
        assert_eq!(wrong[2..], (5000..8192).collect::<Vec<_>>());
        assert!(all[5000..].iter().all(|&byte| byte == 0));
        for sector in 0..16 {
            let mut one = [1; 512];
            medium.read(&mut one, sector * 512).unwrap();
            assert_eq!(one, all[sector as usize * 512..][..512], "sector {sector}");
        }
        assert_eq!(medium.file.metadata().unwrap().len(), 8192);
    }

    #[test]
    fn addresses_wrap_around() {
        let directory = tempfile::tempdir().unwrap();
        let medium = medium(&directory, 8192, Faults { wraps: Some(3000), ..Faults::default() });
        medium.write(&[7; 1000], 5500, medium.power()).unwrap();
        let all = all(&medium);
        let written: Vec<usize> = (0..3000).filter(|&i| all[i] == 7).collect();
        assert_eq!(written, (0..500).chain(2500..3000).collect::<Vec<_>>());
        assert_eq!((&all[3000..6000], &all[6000..]), (&all[..3000], &all[..2192]));
    }

    #[test]
    fn a_power_cut_takes_the_last_writes_of_a_volatile_drive() {
        let directory = tempfile::tempdir().unwrap();
        let medium = medium(&directory, 8192, Faults { volatile: Some(1024), ..Faults::default() });
        for (value, offset) in [(1, 0), (2, 512), (3, 256), (4, 4096)] {
            medium.write(&[value; 512], offset, medium.power()).unwrap();
        }
        let holds = |at: usize| all(&medium)[at];
        assert_eq!([0, 255, 256, 767, 768, 1023, 4096].map(holds), [1, 1, 3, 3, 2, 2, 4]);
        let before = medium.power();
        switch_power(directory.path()).unwrap();
        medium.write(&[6; 512], 0, medium.power()).unwrap();
        switch_power(directory.path()).unwrap();
        medium.write(&[6; 512], 0, before).unwrap();
        // The last kilobyte of writes is gone, the others are there.
        assert_eq!([0, 255, 256, 767, 768, 1023, 4096].map(holds), [1, 1, 1, 2, 2, 2, 0]);
        medium.write(&[5; 512], 0, medium.power()).unwrap();
        assert_eq!([0, 512].map(holds), [5, 2], "it goes on");
    }

    #[test]
    fn shares_of_writes_are_lost_and_of_reads_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let drops = medium(&directory, 8192, Faults { drops: 0.25, ..Faults::default() });
        let kept = (0..1000_u32).filter(|n| {
            let value = (n % 250) as u8 + 1;
            drops.write(&[value; 512], 0, drops.power()).unwrap();
            all(&drops)[0] == value
        });
        let kept = kept.count();
        assert!((700..800).contains(&kept), "{kept}");
        drop(drops);
        let flips = medium(&directory, 8192, Faults { flips: 0.25, ..Faults::default() });
        flips.write(&[0; 8192], 0, flips.power()).unwrap();
        let ones = |bytes: &[u8]| bytes.iter().map(|byte| byte.count_ones()).sum::<u32>();
        let wrong: Vec<u32> = (0..1000).map(|_| ones(&all(&flips))).collect();
        assert!(wrong.iter().all(|ones| *ones <= 1));
        let wrong = wrong.iter().sum::<u32>();
        assert!((200..300).contains(&wrong), "{wrong}");
    }
}
