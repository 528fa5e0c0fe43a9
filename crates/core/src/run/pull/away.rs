//! Takes a drive of a pool away while files are used, and finds out what is left.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use super::{
    HANG, POLL,
    files::{make_area, path},
    gone::{Gone, interrupted},
    ledger::Ledger,
    load::{Load, SAMPLE, sample, sum},
    probes::probes,
    site::{Away, Site, THIRDS, cool, its_drive, known, look},
    unplug::Unplug,
    watch::{self, Watch},
};
use crate::{
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::Pull,
    record::Pulled,
    run::pool::{BuildError, Built},
    sysroot::Sysroot,
    tools::filefrag,
};

/// Uses files, takes the drive away, uses them again, and checks what is left. `asks` receives what a person has to do.
pub fn pull(
    site: &Site<'_>,
    act: &Pull,
    cancel: &Cancel,
    asks: &mut dyn FnMut(&str),
) -> Result<(Pulled, Away), BuildError> {
    let inventory = Inventory::read(&Sysroot::live());
    let (_, built) = known(site)?;
    let drive = its_drive(&built, &inventory, (act.member, &act.drive))?;
    let unplug = unplug_of(&inventory, drive, act)?;
    let on_drive = placement(site, act, &built);
    let mut ledger = Ledger { seed: act.tree.seed, writes: Vec::new() };
    make_area(site.dir, &mut ledger).map_err(files_failed)?;
    let ledger = Arc::new(Mutex::new(ledger));
    let root = Sysroot::live();
    let bitmap = built.build.layout.is_redundant().then_some(built.build.bitmap);
    let mut pulled =
        Pulled { name: drive.name.clone(), settings: settings(drive, &root, bitmap), ..Pulled::default() };

    let begun = Instant::now();
    let load = Load::start(site.dir, act.tree, &ledger, act.most / THIRDS, None).map_err(files_failed)?;
    let seconds = Duration::from_secs_f64(act.seconds);
    while begun.elapsed() < seconds && !cancel.is_set() {
        thread::sleep(POLL);
    }
    if cancel.is_set() {
        return Err(interrupted());
    }
    let gone = Gone::will(site.journal, drive, unplug)?;
    let away = Away { act: act.clone(), gone, ledger: Arc::clone(&ledger), on_drive };
    let mut watch = Watch::new(&built.build, &inventory, act.member as usize, &drive.name);
    let log_from = watch::kernel_now();
    load.allow(act.most / THIRDS);
    let answer = away.gone.leave(&built.build.drives(&inventory), &|| Ok(()), cancel, asks)?;
    let zero = Instant::now();
    while zero.elapsed() < seconds && !cancel.is_set() {
        watch.look(zero);
        thread::sleep(POLL);
    }
    let end = Instant::now();
    let (ops, hanging) = load.end(HANG);
    away.gone.has_left(answer)?;
    watch.look(zero);
    (pulled.before, pulled.away) = (sum(&ops, &[], begun, zero), sum(&ops, &hanging, zero, end));
    pulled.sample = sample(&ops, zero, SAMPLE);
    pulled.probes = probes(site.dir, false);
    cool(site.dir);
    pulled.probes.extend(probes(site.dir, true));
    (pulled.files, pulled.ledger) = look(site.dir, &away);
    pulled.kernel = watch::messages(site.runner, log_from, &drive.name);
    pulled.moments = watch.moments(&ops, &pulled.kernel, zero);
    let health = built.build.health(&root, &Inventory::read(&root));
    (pulled.state, pulled.missing) = (health.state, health.missing);
    Ok((pulled, away))
}

/// How the drive is to be taken away, if nothing else goes with it.
pub(super) fn unplug_of(inventory: &Inventory, drive: &Drive, act: &Pull) -> Result<Unplug, BuildError> {
    let unplug = Unplug::of(drive, act.by).map_err(|e| BuildError::Drives(e.to_string()))?;
    carries_nothing_else(inventory, drive, &unplug).map(|()| unplug)
}

fn files_failed(e: io::Error) -> BuildError {
    BuildError::Array(format!("files can't be used on the pool: {e}"))
}

/// Refuses a drive whose USB device carries something else, which would go with it.
pub(super) fn carries_nothing_else(
    inventory: &Inventory,
    drive: &Drive,
    unplug: &Unplug,
) -> Result<(), BuildError> {
    // A hand pulls one thing.
    let Unplug::Software { away, .. } = unplug else { return Ok(()) };
    let device = away.file.parent().unwrap_or(Path::new("/")).to_owned();
    let below = |class: &str, name: &str| {
        let path = Path::new("/sys/class").join(class).join(name).canonicalize();
        path.is_ok_and(|path| path.starts_with(&device))
    };
    let other = inventory.drives.iter().find(|other| other.name != drive.name && below("block", &other.name));
    if let Some(other) = other {
        return Err(BuildError::Drives(format!("{} would go with {}", other.label(), drive.label())));
    }
    let networks = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let name = networks
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| below("net", name));
    match name {
        Some(name) => {
            Err(BuildError::Drives(format!("the network port {name} would go with {}", drive.label())))
        }
        None => Ok(()),
    }
}

/// Which files of the tree have a part on the drive; none where that is not known.
fn placement(site: &Site<'_>, act: &Pull, built: &Built) -> Option<Vec<bool>> {
    const AT_ONCE: usize = 64;
    built.build.members_of(0, 1)?;
    let paths: Vec<String> =
        (0..act.tree.files()).map(|number| path(site.dir, number).to_string_lossy().into_owned()).collect();
    let mut on = Vec::new();
    for some in paths.chunks(AT_ONCE) {
        let said = site.runner.ask(&filefrag::parts(some)).ok().filter(|said| said.code == Some(0))?;
        let found = filefrag::read(&said.stdout);
        let is_on = |(from, length): &(u64, u64)| {
            built.build.members_of(*from, *length).is_some_and(|on| on.contains(&(act.member as usize)))
        };
        on.extend(found.iter().map(|(_, parts)| parts.iter().any(is_on)));
    }
    (on.len() == paths.len()).then_some(on)
}

/// What decides how long I/O waits for a drive, and how much is copied to it when it is back.
pub(super) fn settings(drive: &Drive, root: &Sysroot, bitmap: Option<bool>) -> Vec<(String, String)> {
    let device = format!("/sys/block/{}/device", drive.name);
    let word = |name: &str, file: String| Some((name.to_owned(), root.word(&file)?));
    let driver = Path::new("/sys/block").join(&drive.name).canonicalize().ok().and_then(|path| {
        let bound = path.ancestors().filter_map(|dir| fs::read_link(dir.join("driver")).ok());
        let mut names = bound.filter_map(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
        names.find(|name| matches!(name.as_str(), "uas" | "usb-storage" | "ahci" | "nvme"))
    });
    let mut all: Vec<(String, String)> = [
        driver.map(|driver| ("driver".to_owned(), driver)),
        word("SCSI timeout", format!("{device}/timeout")).map(|(name, value)| (name, format!("{value} s"))),
        word("kernel", "/proc/sys/kernel/osrelease".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.extend(bitmap.map(|has| ("bitmap".to_owned(), if has { "internal" } else { "none" }.to_owned())));
    all.extend(
        failfast(drive, root).map(|is| ("failfast".to_owned(), if is { "yes" } else { "no" }.to_owned())),
    );
    all
}

/// Whether md gives up on the drive at the first error, without the kernel's retries; none if it is in no array.
fn failfast(drive: &Drive, root: &Sysroot) -> Option<bool> {
    let is_its = |member: &String| {
        let rest = member.strip_prefix("dev-").and_then(|member| member.strip_prefix(drive.name.as_str()));
        rest.is_some_and(|rest| rest.chars().all(|c| c == 'p' || c.is_ascii_digit()))
    };
    let state = |md: String| {
        let dir = format!("/sys/block/{md}/md");
        let member = root.list(&dir).into_iter().find(is_its)?;
        root.word(&format!("{dir}/{member}/state"))
    };
    Some(root.list("/sys/block").into_iter().find_map(state)?.contains("failfast"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysroot::Archive;

    #[test]
    fn an_array_says_whether_it_gives_up_at_the_first_error() {
        let mut archive = Archive::default();
        for (member, state) in
            [("sda1", "in_sync"), ("sdaa1", "in_sync,failfast"), ("nvme0n1p2", "in_sync,failfast")]
        {
            archive.add_file(&format!("/sys/block/md127/md/dev-{member}/state"), format!("{state}\n"));
        }
        archive.add_file("/sys/block/sdb/size", "1\n");
        let root = Sysroot::archive(archive);
        let of = |name: &str| failfast(&Drive { name: name.to_owned(), ..Drive::default() }, &root);
        assert_eq!(["sda", "sdaa", "nvme0n1", "sdb"].map(of), [Some(false), Some(true), Some(true), None]);
    }
}
