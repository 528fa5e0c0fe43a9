//! What is found of a modelled pool in use of which a drive is pulled: all that its layout promises.

use crate::{
    plan::PullInUse,
    record::{Back, FilesFound, Moment, Operations, Probe, Pulled, ReadOnly, What},
};

/// Files that are read, and one of them that another program changes.
const FILES: u64 = 40;

fn operations(seconds: f64) -> Operations {
    Operations { seconds, reads: 50, read_bytes: 50 << 17, longest: 0.25, ..Operations::default() }
}

/// While the drive is away.
pub fn in_use(act: &PullInUse) -> Pulled {
    let probe = |what: &str, cold: bool| Probe { what: what.to_owned(), cold, error: None, seconds: 0.01 };
    let probes = [false, true].into_iter().flat_map(|cold| ["ls", "read"].map(|what| probe(what, cold)));
    let read = ReadOnly { files: FILES, bytes: act.bytes / 2, found: 1000, ..ReadOnly::default() };
    Pulled {
        name: "sdb".to_owned(),
        before: operations(act.seconds),
        away: operations(act.seconds),
        moments: vec![Moment { at: 0.1, what: What::DriveGone }, Moment { at: 0.3, what: What::ReadWorks }],
        probes: probes.collect(),
        files: FilesFound { whole: FILES, ..FilesFound::default() },
        missing: 1,
        read: Some(read),
        ..Pulled::default()
    }
}

/// After it came back.
pub fn back_in_use() -> Back {
    Back {
        name: "sdz".to_owned(),
        appeared: 1.0,
        healed: Some(3.0),
        commands: vec!["mdadm /dev/md127 --re-add /dev/sdz1".to_owned()],
        copied: Some(0.02),
        during: operations(3.0),
        files: FilesFound { whole: FILES - 1, changed: 1, ..FilesFound::default() },
        ..Back::default()
    }
}
