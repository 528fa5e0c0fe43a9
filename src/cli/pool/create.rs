//! `drivebench pool create`: shows the plan, takes consent, builds.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{args::Create, consent_to, describe, drive, settled};
use crate::{
    cli::{
        errors::Usage,
        options::Options,
        output::Output,
        run::{Task, carry_out},
    },
    danger::erasable,
    experiments::pool_commands::{PoolChange, PoolCommand, summary},
    inventory::{Bus, Drive, Inventory},
    pool::{
        Build, Request,
        config::{FSTAB, Lines, mounts_on},
    },
    record::Store,
    run,
    sysroot::Sysroot,
    tools::{mount, systemctl},
    units::{Layout, hides, listed, shell_word},
};

pub(super) fn create(args: &Create, results: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let dir = args.mount.as_deref().map(mount_dir).transpose()?;
    let inventory = settled(output);
    let drives =
        args.drives.iter().map(|given| drive(given, &inventory)).collect::<anyhow::Result<Vec<_>>>()?;
    let request = Request {
        name: args.name.clone(),
        layout: args.layout,
        chunk: args.chunk,
        bitmap: args.bitmap == "internal",
        filesystem: args.fs,
        most: None,
        uuids: [run::uuid()?, run::uuid()?],
    };
    let build = request.plan(&inventory, &drives).map_err(Usage)?;
    let keep = match dir {
        Some(dir) if args.keep => lines(&build, dir, &drives)?,
        _ => Vec::new(),
    };
    let text = format!("Result: {}.\n{}", summary(&build), shared_links(&inventory, &drives));
    let change = PoolChange::Create { mount: dir.map(PathBuf::from), keep };
    let plan = PoolCommand { build, change }.plan(&drives);
    if args.plan {
        run::in_no_pool(&drives, &inventory, results.dir(), None).map_err(|e| Usage(e.to_string()))?;
        drives.iter().try_for_each(|drive| erasable(&inventory, drive))?;
        if let Err(e) = plan.require(&inventory, results.dir()) {
            output.warn(&format!("as things are, it is refused: {e}"));
        }
        let commands: String = plan.acts().map(|(_, command)| commands(command, &drives)).collect();
        output.result(&format!("This erases:\n{}{text}Commands:\n{commands}", describe(&drives)))?;
        return Ok(ExitCode::SUCCESS);
    }
    plan.require(&inventory, results.dir())?;
    output.lines(&text);
    let erase = consent_to(&plan, args.erase.clone(), None, &inventory, results.dir(), output)?;
    carry_out(&Options::default(), Task::new(plan, erase), inventory, results, output)
}

/// The commands that build the pool, and the lines that keep it.
fn commands(PoolCommand { build, change }: &PoolCommand, drives: &[&Drive]) -> String {
    let PoolChange::Create { mount, keep } = change else { return String::new() };
    let paths: Vec<String> = drives.iter().map(|drive| drive.node()).collect();
    let mut lines: Vec<String> =
        build.steps().into_iter().map(|step| build.change(step, &paths).to_string()).collect();
    let mount = mount
        .as_ref()
        .map(|dir| mount::mount(&build.path(), build.filesystem.name(), &dir.to_string_lossy()).to_string());
    lines.extend(mount);
    lines.extend(keep.iter().flat_map(|of| of.lines.iter().map(|line| format!("{}: {line}", of.file))));
    if !keep.is_empty() && run::exists("/run/systemd/system") {
        lines.push(systemctl::daemon_reload().to_string());
    }
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// The directory to mount on: empty, absolute, and written as it is into commands and files of the system.
fn mount_dir(dir: &Path) -> Result<&str, Usage> {
    let shown = shell_word(dir);
    let Some(text) = dir.to_str().filter(|text| !text.contains(hides)) else {
        return Err(Usage(format!(
            "--mount {shown}: choose a directory whose name is UTF-8, without line ends and other control characters"
        )));
    };
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) if dir.is_absolute() => Ok(text),
        Ok(true) => Err(Usage(format!("{text} is not an absolute path"))),
        Ok(false) => Err(Usage(format!("{text} is not empty"))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(Usage(format!("{text} does not exist. To make it: mkdir -p {shown}")))
        }
        Err(e) => Err(Usage(format!("{text}: {e}"))),
    }
}

/// The lines that bring the pool back after a reboot.
fn lines(build: &Build, dir: &str, drives: &[&Drive]) -> anyhow::Result<Vec<Lines>> {
    let root = Sysroot::live();
    if root.long_text(FSTAB).is_some_and(|text| mounts_on(&text, dir)) {
        return Err(Usage(format!(
            "{FSTAB} has a line for {dir} already: remove it, or choose another directory"
        ))
        .into());
    }
    let systemd = Path::new("/run/systemd/system").exists();
    let links: Vec<String> = if build.layout == Layout::Linear {
        if !systemd {
            let why = "--keep of a linear pool needs systemd: nothing on its drives names their order";
            return Err(Usage(why.to_owned()).into());
        }
        drives.iter().map(|drive| link(drive)).collect::<Result<_, _>>()?
    } else {
        Vec::new()
    };
    let unit = build.systemd_unit(&links).filter(|_| systemd);
    let fstab = build.fstab(dir, unit.is_some());
    let lines = [unit, build.mdadm_conf(), Some(fstab)];
    Ok(lines.into_iter().flatten().collect())
}

/// A name of the drive that doesn't depend on the order in which drives appear.
fn link(drive: &Drive) -> Result<String, Usage> {
    const BY_ID: &str = "/dev/disk/by-id";
    // Not a name that comes from what the drive holds now, and is gone with it.
    const OF_CONTENT: [&str; 3] = ["lvm-", "md-", "dm-"];
    let plain = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || ":_.+=-".contains(c))
            && !OF_CONTENT.iter().any(|prefix| name.starts_with(prefix))
    };
    let is = |path: &String| Path::new(path).canonicalize().is_ok_and(|to| to == Path::new(&drive.node()));
    let names = Sysroot::live().list(BY_ID).into_iter().filter(|name| plain(name));
    let found = names.map(|name| format!("{BY_ID}/{name}")).find(is);
    found.ok_or_else(|| {
        Usage(format!("{} has no name in {BY_ID}, so --keep can't find it at boot", drive.label()))
    })
}

/// A line for each link that two or more of the drives share: a hub, a bus or a controller.
fn shared_links(inventory: &Inventory, drives: &[&Drive]) -> String {
    let sentence = |(bus, group): (&Bus, Vec<usize>)| {
        let who: Vec<String> = group.into_iter().map(|at| drives[at].label()).collect();
        format!("{} share {}: they fail with it, and have its speed together.\n", listed(&who), bus.what())
    };
    inventory.shared_buses(drives).into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use super::*;
    use crate::inventory::fixtures;

    #[test]
    fn what_drives_share_is_said() {
        let pc = fixtures::pc().inventory();
        let said = |names: &[&str]| {
            let find = |name: &&str| pc.drives.iter().find(|drive| drive.name == *name).expect("a drive");
            shared_links(&pc, &names.iter().map(find).collect::<Vec<&Drive>>())
        };
        assert!(
            said(&["sda", "sdb"]).ends_with(" share SATA: they fail with it, and have its speed together.\n")
        );
        assert_eq!(said(&["sda", "nvme0n1"]), "", "nothing is shared");
    }

    #[test]
    fn a_directory_whose_name_can_t_be_written_down_is_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let refused = |name: &[u8]| {
            let dir = home.path().join(OsStr::from_bytes(name));
            fs::create_dir(&dir).expect("creates");
            mount_dir(&dir).err().map(|e| e.to_string()).unwrap_or_default()
        };
        for name in [&b"\xff"[..], b"a\nb", b"a\x1bb", "a\u{202e}b".as_bytes()] {
            let why = refused(name);
            assert!(why.contains("choose a directory whose name is UTF-8"), "{why}");
            assert!(!why.contains(hides), "{why:?}");
        }
        assert_eq!(refused("ü \\".as_bytes()), "");
        assert!(refused(b"a").is_empty() && mount_dir(home.path()).is_err(), "it is not empty");
        let missing = mount_dir(&home.path().join("b c")).expect_err("missing").to_string();
        assert!(missing.contains("To make it: mkdir -p '"), "{missing}");
    }
}
