//! Targets of loads: files that the caller opened.

use std::{
    fs::File,
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, FileTypeExt},
    },
    path::PathBuf,
    sync::Arc,
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl, ftruncate, ioctl_blksszget},
    io::Errno,
};

use crate::units::{Caching, Content, size};

use super::{
    EngineError, Job,
    buffers::{ALIGN, Aligned},
    verify::LastWrites,
};

/// An open file, with or without a name, or a block device for reading.
#[derive(Debug, Clone)]
pub struct FileTarget {
    /// Open for reading, or for reading and writing. Engines set or clear its `O_DIRECT` for each load.
    pub file: Arc<File>,
    pub name: String,
    /// A path by which other programs can open it while this process has it open.
    pub path_for_programs: PathBuf,
    pub(super) writes: Arc<LastWrites>,
}

impl FileTarget {
    /// A target that other programs open through `/proc`.
    pub fn new(file: Arc<File>, name: impl Into<String>) -> Self {
        let path_for_programs =
            PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        Self { file, name: name.into(), path_for_programs, writes: Arc::default() }
    }

    fn error(&self, what: &str, source: impl Into<io::Error>) -> EngineError {
        EngineError::System { what: format!("{what} {}", self.name), source: source.into() }
    }

    /// Refuses a job that doesn't fit this target, and sets or clears `O_DIRECT`.
    pub(super) fn prepare(&self, job: &Job) -> Result<(), EngineError> {
        job.load.check()?;
        let refuse = |why: String| Err(EngineError::Job(why));
        let end = job.extent.offset.checked_add(job.extent.length);
        if end.is_none_or(|end| end > i64::MAX as u64) {
            return refuse(format!("an extent beyond the end of any file was given for {}", self.name));
        }
        if job.extent.length < job.load.block {
            let (extent, block) = (size(job.extent.length), size(job.load.block));
            return refuse(format!("an extent of {extent} on {} holds no block of {block}", self.name));
        }
        if job.load.verify && job.load.content == Content::Zeros && job.load.writes() {
            return refuse("verify needs random content: blocks of zeros have no stamps".to_owned());
        }
        let flags = fcntl_getfl(&self.file).map_err(|e| self.error("reading the flags of", e))?;
        if job.load.writes() && flags & OFlags::RWMODE == OFlags::RDONLY {
            return refuse(format!("{} is open for reading only", self.name));
        }
        let direct = job.load.caching == Caching::Direct;
        if flags.contains(OFlags::DIRECT) != direct {
            let wanted = if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
            fcntl_setfl(&self.file, wanted).map_err(|e| match e {
                Errno::INVAL | Errno::OPNOTSUPP if direct => EngineError::NoDirect(self.name.clone()),
                e => self.error("switching O_DIRECT on", e),
            })?;
        }
        if !direct {
            return Ok(());
        }
        let unit = self.direct_unit(job)?;
        for (what, bytes) in [("blocks", job.load.block), ("offsets", job.extent.offset)] {
            if bytes % unit != 0 {
                let (name, unit, bytes) = (&self.name, size(unit), size(bytes));
                return refuse(format!(
                    "{name} takes direct {what} in multiples of {unit}, not {bytes}; use buffered I/O, or another size"
                ));
            }
        }
        Ok(())
    }

    /// The smallest unit of direct I/O, bytes; by trying, as some filesystems accept the flag and refuse the transfer.
    fn direct_unit(&self, job: &Job) -> Result<u64, EngineError> {
        // A block device reports its block size. Trying would wake a disk in standby.
        let is_device = self.file.metadata().is_ok_and(|about| about.file_type().is_block_device());
        if let (true, Ok(unit)) = (is_device, ioctl_blksszget(&self.file)) {
            return Ok(u64::from(unit));
        }
        for unit in [512, ALIGN as u64] {
            match self.try_direct(job, unit) {
                Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::INVAL | Errno::OPNOTSUPP)) => {}
                // Other errors come from the drive, and the load will report them.
                _ => return Ok(unit),
            }
        }
        Err(EngineError::NoDirect(self.name.clone()))
    }

    fn try_direct(&self, job: &Job, unit: u64) -> io::Result<()> {
        // Aligned to the unit, but not to a larger one.
        let mut memory = Aligned::new(2 * unit as usize);
        let piece = &mut memory[unit as usize..];
        let offset = job.extent.offset / unit * unit;
        if self.file.read_at(piece, offset)? > 0 || !job.load.writes() {
            return Ok(());
        }
        // The file is empty, so a read tests nothing: write where the load will write, then truncate.
        let about = self.file.metadata()?;
        self.file.write_at(piece, offset)?;
        if !about.file_type().is_block_device() {
            ftruncate(&self.file, about.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{testing::job, units::Extent};

    #[test]
    fn refuses_jobs_that_do_not_fit() {
        let file = tempfile::tempfile_in("/var/tmp").expect("a file");
        let target = FileTarget::new(Arc::new(file), "scratch");
        let says = |job: &Job| target.prepare(job).expect_err("refused").to_string();

        let mut small = job(4096, 4096);
        small.extent.length = 4095;
        assert_eq!(says(&small), "an extent of 4 KiB on scratch holds no block of 4 KiB");
        let mut far = job(4096, 4096);
        far.extent = Extent { offset: u64::MAX - 4096, length: 8192 };
        assert!(says(&far).contains("beyond the end"));
        let mut zeros = job(4096, 4096);
        (zeros.load.verify, zeros.load.content) = (true, Content::Zeros);
        assert!(says(&zeros).contains("stamps"));

        let mut odd = job(1000, 4000);
        odd.load.caching = Caching::Direct;
        assert!(says(&odd).starts_with("scratch takes direct blocks in multiples of 512 B, not 1000 B"));
        let mut crooked = job(4096, 4096);
        crooked.load.caching = Caching::Direct;
        crooked.extent.offset = 100;
        assert!(says(&crooked).starts_with("scratch takes direct offsets in multiples of 512 B, not 100 B"));
    }

    #[test]
    fn sets_direct_io_per_load_and_truncates_the_probe() {
        let file = Arc::new(tempfile::tempfile_in("/var/tmp").expect("a file"));
        let target = FileTarget::new(file.clone(), "scratch");
        for caching in [Caching::Direct, Caching::Buffered, Caching::Direct] {
            let mut job = job(4096, 4096);
            job.load.caching = caching;
            target.prepare(&job).expect("fits");
            let flags = fcntl_getfl(&file).expect("flags");
            assert_eq!(flags.contains(OFlags::DIRECT), caching == Caching::Direct);
            assert_eq!(file.metadata().expect("metadata").len(), 0);
        }
    }

    #[test]
    fn refuses_to_write_a_file_open_for_reading() {
        let file = Arc::new(File::open("/proc/self/exe").expect("opens"));
        let said =
            FileTarget::new(file, "scratch").prepare(&job(4096, 4096)).expect_err("refused").to_string();
        assert_eq!(said, "scratch is open for reading only");
    }
}
