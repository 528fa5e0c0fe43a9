//! Finds and reads the files to import.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use super::{ImportError, MAX_FILE, read};
use crate::record::{ImportOptions, Imported};

const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub struct Found {
    /// Imported files, in the order of their names.
    pub imported: Vec<Imported>,
    /// Files below a directory without a result, each with the reason.
    pub refused: Vec<ImportError>,
}

/// Reads files, and all files below directories. Links inside directories are not followed.
pub fn files(paths: &[PathBuf], options: &ImportOptions) -> Result<Found, ImportError> {
    let mut found = Found::default();
    for path in paths {
        let unreadable = |source| ImportError::Unreadable { path: path.clone(), source };
        let meta = fs::metadata(path).map_err(unreadable)?;
        if meta.is_file() {
            found.imported.push(one(path, options)?);
        } else if meta.is_dir() {
            for file in below(path)? {
                one(&file, options).map_or_else(|e| found.refused.push(e), |one| found.imported.push(one));
            }
        } else {
            return Err(ImportError::NoFile { path: path.clone() });
        }
    }
    Ok(found)
}

fn below(top: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let mut files = Vec::new();
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        let unreadable = |source| ImportError::Unreadable { path: directory.clone(), source };
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
            if files.len() + directories.len() > MOST {
                return Err(ImportError::TooMany { path: top.to_owned(), most: MOST });
            }
        }
    }
    files.sort();
    Ok(files)
}

fn one(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let mut content = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > MAX_FILE {
        return Err(ImportError::TooLarge { path: path.to_owned() });
    }
    let imported =
        read(&content, options).map_err(|why| ImportError::Content { path: path.to_owned(), why })?;
    Ok(Imported { file: path.display().to_string(), ..imported })
}
