//! What still works on a pool, each tried once.

use std::{
    io::{self, Write as _},
    path::Path,
    time::Instant,
};

use super::{
    HANG,
    files::{append, list, touch},
    site::within,
};
use crate::{record::Probe, units::duration};

/// `ls`, `touch`, a write, `fsync`; `cold` after the page cache was emptied.
pub fn probes(dir: &Path, cold: bool) -> Vec<Probe> {
    let touched = dir.join(if cold { "touched-cold" } else { "touched" });
    let [list_in, to_touch, to_write, to_sync] = [dir.to_owned(), touched.clone(), touched.clone(), touched];
    vec![
        probe("ls", cold, move || list(&list_in)),
        probe("touch", cold, move || touch(&to_touch)),
        probe("write", cold, move || append(&to_write)?.write_all(&[7; 4096])),
        probe("fsync", cold, move || append(&to_sync)?.sync_all()),
    ]
}

/// Tries something that may hang.
pub fn probe(what: &str, cold: bool, work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Probe {
    let since = Instant::now();
    let error = match within(HANG, work) {
        Some(Ok(())) => None,
        Some(Err(e)) => Some(e.to_string()),
        None => Some(format!("hangs for more than {}", duration(HANG.as_secs_f64()))),
    };
    Probe { what: what.to_owned(), cold, error, seconds: since.elapsed().as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_healthy_directory_all_works_and_on_none_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let errors = |dir: &Path| probes(dir, true).into_iter().map(|probe| probe.error).collect::<Vec<_>>();
        assert_eq!(errors(dir.path()), vec![None; 4]);
        assert_eq!(std::fs::read(dir.path().join("touched-cold")).expect("reads").len(), 4096);
        assert!(errors(&dir.path().join("gone")).iter().all(|error| error.is_some()));
    }
}
