//! Directories as `bench/kills` looks at them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::Error;

pub fn names(dir: &Path) -> Result<Vec<String>, Error> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let names = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// All files below a directory, by their path in it.
pub fn tree(dir: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Error> {
    let mut found = BTreeMap::new();
    for name in names(dir)? {
        let path = dir.join(&name);
        if path.is_dir() {
            // Empty ones, too.
            found.insert(PathBuf::from(&name), Vec::new());
            found
                .extend(tree(&path)?.into_iter().map(|(inner, bytes)| (Path::new(&name).join(inner), bytes)));
        } else {
            found.insert(PathBuf::from(name), fs::read(path)?);
        }
    }
    Ok(found)
}

pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for name in names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() { copy(&from, &to)? } else { fs::copy(from, to).map(drop)? }
    }
    Ok(())
}

pub fn empty(dir: &Path) -> Result<(), Error> {
    for path in names(dir)?.into_iter().map(|name| dir.join(name)) {
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}
