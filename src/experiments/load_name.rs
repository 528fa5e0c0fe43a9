//! Loads by fio's names.

/// Loads by fio's names (`rw=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadName {
    /// Sequential read.
    Read,
    /// Sequential write.
    Write,
    /// Random read.
    RandRead,
    /// Random write.
    RandWrite,
    /// Sequential mix.
    Rw,
    /// Random mix.
    RandRw,
}

impl LoadName {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::RandRead, Self::RandWrite, Self::Rw, Self::RandRw];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::Rw => "rw",
            Self::RandRw => "randrw",
        }
    }
}
