//! `drivebench capture`: this machine as an archive, for bug reports and for tests.

use std::{io, path::PathBuf, process::ExitCode, time::SystemTime};

use anyhow::anyhow;

use super::{args::Capture, errors::Usage, health, output::Output, stored};
use crate::{
    inventory::Inventory,
    record::{AtomicFile, PRIVATE},
    sysroot::{Archive, Sysroot},
    tools::{System, smartctl},
    units::{count, decimal_bytes, shell_word},
};

pub(super) fn capture(args: &Capture, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let name = args.file.display();
    let failed = |e: io::Error| match e.kind() {
        io::ErrorKind::AlreadyExists => Usage(format!("{name} already exists: choose another name")).into(),
        _ => anyhow!("{name} can't be written: {e}"),
    };
    // The archive contains serials.
    let file = AtomicFile::create(&args.file, PRIVATE).map_err(failed)?;
    let mut archive = archive(args.anonymise);
    if args.anonymise {
        archive = archive.anonymise(&stored::store(store)?.pseudonym_key()?);
    }
    archive.write(file.file()).map_err(failed)?;
    let bytes = decimal_bytes(file.file().metadata().map_err(failed)?.len());
    file.keep_new().map_err(failed)?;
    let files = count(archive.files() as u64, "file");
    let show = shell_word(&args.file);
    output.note(&format!("Wrote {name}, {bytes}: {files}. Show it with `drivebench list --sysroot {show}`."));
    output.note(if args.anonymise {
        "Serials, UUIDs, hardware addresses and the host name were replaced. Models, labels, mount points and the \
         kernel's command line were not: check the archive before you send it."
    } else {
        "It contains serials, UUIDs, hardware addresses and the host name; --anonymise replaces them."
    });
    if !rustix::process::geteuid().is_root() {
        output.note("Run it as root to include the health of the drives.");
    }
    Ok(ExitCode::SUCCESS)
}

fn archive(anonymise: bool) -> Archive {
    let root = Sysroot::live().recording();
    let inventory = Inventory::read(&root);
    let mut archive = Archive::from_recording(&root);
    let system = System::default();
    for drive in &inventory.drives {
        if let (Some(printed), _) = smartctl::read(drive, &system, false) {
            archive.add_file(&health::path_in_archive(&drive.name), printed);
        }
    }
    let about = serde_json::json!({
        "drivebench": env!("CARGO_PKG_VERSION"),
        "captured": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        "anonymised": anonymise,
    });
    archive.add_file("/drivebench/about.json", about.to_string() + "\n");
    archive
}
