//! Loads by fio's names (`rw=`).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadName {
    Read,
    Write,
    RandRead,
    RandWrite,
    Rw,
    RandRw,
}

impl LoadName {
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::RandRead, Self::RandWrite, Self::Rw, Self::RandRw];

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
