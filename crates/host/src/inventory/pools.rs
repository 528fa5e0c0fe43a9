//! Pools, whichever program built them: arrays, mappings, volumes and filesystems over several drives, and their state.

use super::{
    Drive, Inventory, Layer,
    blocks::{btrfs_missing, read_udev, zfs_state},
};
use crate::{
    sysroot::Sysroot,
    units::{Action, KIB, Layout, MemberState, Pool, PoolState, Work},
};

/// Start of the UUID of a mapping that drivebench made.
const OURS: &str = "drivebench-";
/// Share of the work after which the kernel's rate is good enough to compute the time left.
const BEGUN: f64 = 0.02;
/// Layers on one device, or on several that are not a pool: paths to one disk, a drive and its cache.
const NO_POOLS: [&str; 5] = ["crypt", "multipath", "bcache", "loop", "partition"];

/// Adds what is known of pools to their layers.
pub(super) fn fill(root: &Sysroot, inventory: &mut Inventory) {
    let found: Vec<_> = inventory.layers.iter().map(|layer| read(root, inventory, layer)).collect();
    for (layer, (pool, work, states)) in inventory.layers.iter_mut().zip(found) {
        (layer.pool, layer.work, layer.states) = (pool, work, states);
    }
}

type PoolParts = (Option<Pool>, Option<Work>, Vec<MemberState>);

fn read(root: &Sysroot, inventory: &Inventory, layer: &Layer) -> PoolParts {
    let nothing = (None, None, Vec::new());
    if NO_POOLS.contains(&layer.kind.as_str()) {
        return nothing;
    }
    let dir = format!("/sys/block/{}", layer.name);
    let md = format!("{dir}/md");
    let is_array = !root.list(&md).is_empty();
    let is_filesystem = layer.device == (0, 0);
    if !is_array && !is_filesystem && layer.members.len() < 2 {
        return nothing;
    }
    let states: Vec<MemberState> =
        layer.members.iter().map(|member| state(root, inventory, layer, member, is_array)).collect();
    // Spares are not members.
    let present: Vec<&String> = layer
        .members
        .iter()
        .zip(&states)
        .filter(|(_, state)| matches!(state, MemberState::InSync | MemberState::Filling))
        .map(|(member, _)| member)
        .collect();
    let on: Vec<&Drive> = present.iter().flat_map(|member| inventory.drives_of_block(member)).collect();
    let drives = inventory.hardware(on).len();
    if !is_array && !is_filesystem && drives < 2 {
        return nothing;
    }
    let shared = present.len().saturating_sub(drives) as u64;
    let pool = if is_array { array(root, layer, &states) } else { joined(root, layer, &states) };
    let work = work(root, &md);
    let drives = pool.members.saturating_sub(shared);
    (Some(Pool { drives, action: work.map(|work| work.action), ..pool }), work, states)
}

/// An array of md.
fn array(root: &Sysroot, layer: &Layer, states: &[MemberState]) -> Pool {
    let dir = format!("/sys/block/{}", layer.name);
    let word = |file: &str| root.word(&format!("{dir}/md/{file}"));
    let number = |file: &str| root.number::<u64>(&format!("{dir}/md/{file}"));
    let count = |wanted: MemberState| states.iter().filter(|state| **state == wanted).count() as u64;
    let members = number("raid_disks").unwrap_or(layer.members.len() as u64);
    let layout = Layout::of_name(&layer.kind);
    // Arrays without copies or parity don't count what is missing.
    let degraded = match layout {
        Some(layout) if !layout.is_redundant() => members.saturating_sub(count(MemberState::InSync)),
        _ => number("degraded").unwrap_or(0),
    };
    let lost = match layout {
        // A raid10 without two members may be broken or not; its array_state tells. md doesn't report that the last copy of a
        // raid1 is gone.
        Some(Layout::Raid1 | Layout::Raid10) => count(MemberState::InSync) == 0 && !states.is_empty(),
        None => false,
        Some(layout) => degraded > layout.survives(usize::try_from(members).unwrap_or(0)) as u64,
    };
    let state = match word("array_state").as_deref() {
        Some("clear" | "inactive") => PoolState::Inactive,
        Some("broken") if !lost && degraded == 0 && layout.is_some_and(Layout::is_redundant) => {
            PoolState::TakesNoWrites
        }
        Some("broken") => PoolState::Broken,
        _ if lost => PoolState::Broken,
        _ if states.contains(&MemberState::FailedJournal) => PoolState::TakesNoWrites,
        Some("suspended") => PoolState::Suspended,
        Some("readonly") => PoolState::ReadOnly,
        _ => PoolState::Active,
    };
    let (_, udev) = read_udev(root, &dir);
    // The metadata has `host:name`.
    let name_in_metadata = || Some(udev.get("MD_NAME")?.rsplit(':').next()?.to_owned());
    Pool {
        name: udev.get("MD_DEVNAME").cloned().or_else(name_in_metadata).filter(|name| !name.is_empty()),
        kind: layer.kind.clone(),
        layout: (layer.kind != "md").then(|| layer.kind.clone()),
        state,
        members,
        degraded,
        missing: degraded.saturating_sub(count(MemberState::Filling)),
        chunk: number("chunk_size").filter(|bytes| *bytes > 0),
        bitmap: word("bitmap/location").map(|place| place != "none"),
        // `external:/md127/0`, with a hyphen while it is read-only.
        container: word("metadata_version").and_then(|version| {
            let inside = version.strip_prefix("external:")?.strip_prefix(['/', '-'])?;
            Some(inside.split('/').next()?.to_owned())
        }),
        ..Pool::default()
    }
}

/// A mapping, a logical volume, or a filesystem on several drives.
fn joined(root: &Sysroot, layer: &Layer, states: &[MemberState]) -> Pool {
    let dm = format!("/sys/block/{}/dm", layer.name);
    let ours = root.word(&format!("{dm}/uuid")).is_some_and(|uuid| uuid.starts_with(OURS));
    let away = states.iter().filter(|state| **state == MemberState::Absent).count() as u64;
    let (layout, missing) = match layer.kind.as_str() {
        "btrfs" => (btrfs_profile(root, &layer.name), btrfs_missing(root, &layer.name)),
        // Mappings of other programs have tables that only root may read.
        _ => (ours.then(|| Layout::Linear.name().to_owned()), away),
    };
    let zfs = layer.alias.as_deref().filter(|_| layer.kind == "zfs").and_then(|pool| zfs_state(root, pool));
    let state = match root.number::<u8>(&format!("{dm}/suspended")) {
        _ if zfs.as_deref() == Some("SUSPENDED") => PoolState::Suspended,
        _ if zfs.as_deref().is_some_and(|state| !matches!(state, "ONLINE" | "DEGRADED")) => PoolState::Broken,
        _ if ours && missing > 0 => PoolState::Broken,
        Some(1) => PoolState::Suspended,
        _ => PoolState::Active,
    };
    Pool {
        name: layer.alias.clone().or_else(|| layer.content.label.clone()),
        kind: layer.kind.clone(),
        layout,
        state,
        members: layer.members.len() as u64 + if layer.kind == "btrfs" { missing } else { 0 },
        // Only zpool knows how many members lack their data.
        degraded: missing.max(u64::from(zfs.as_deref() == Some("DEGRADED"))),
        missing,
        ours,
        ..Pool::default()
    }
}

fn state(root: &Sysroot, inventory: &Inventory, layer: &Layer, member: &str, is_array: bool) -> MemberState {
    match inventory.blocks().any(|block| block.name() == member) {
        false => MemberState::Absent,
        // A capture may lack the state of a member that the kernel lists.
        true if is_array => match in_array(&layer.name, member, root) {
            MemberState::Unused => MemberState::InSync,
            state => state,
        },
        true => MemberState::InSync,
    }
}

/// The state of the block device `member` in the array `device`.
pub fn in_array(device: &str, member: &str, root: &Sysroot) -> MemberState {
    let dir = format!("/sys/block/{device}/md/dev-{member}");
    let Some(state) = root.word(&format!("{dir}/state")) else { return MemberState::Unused };
    let has_flag = |flag: &str| state.split(',').any(|word| word == flag);
    let has_slot = root.number::<u64>(&format!("{dir}/slot")).is_some();
    match () {
        // A member in sync is `faulty` while its bad blocks are being recorded.
        () if has_flag("in_sync") => MemberState::InSync,
        () if has_flag("faulty") && has_flag("journal") => MemberState::FailedJournal,
        () if has_flag("faulty") => MemberState::Failed,
        () if has_flag("journal") => MemberState::Journal,
        () if has_slot => MemberState::Filling,
        () => MemberState::Spare,
    }
}

/// Background work of the kernel on the array whose files are in the directory `md`.
pub fn work(root: &Sysroot, md: &str) -> Option<Work> {
    let waiting = |action| Work { action, done: None, rate: None, left: None };
    let word = |file: &str| root.word(&format!("{md}/{file}"));
    let action = match word("sync_action")?.as_str() {
        "resync" => Action::Resync,
        "recover" => Action::Recover,
        "check" => Action::Check,
        "repair" => Action::Repair,
        "reshape" => Action::Reshape,
        "frozen" => return Some(waiting(Action::Frozen)),
        // The file has the sector at which a resync will begin, or `none` if copies and parity are equal.
        _ if root.number::<u64>(&format!("{md}/resync_start")).is_some() => {
            return Some(waiting(Action::Pending));
        }
        _ => return None,
    };
    let progress = word("sync_completed").and_then(|text| {
        let (done, all) = text.split_once(" / ")?;
        let (done, all) = (done.parse::<u64>().ok()?, all.parse::<u64>().ok().filter(|all| *all > 0)?);
        Some((done.min(all) as f64, all as f64))
    });
    let rate = root.number::<u64>(&format!("{md}/sync_speed")).filter(|rate| *rate > 0);
    let rate = rate.map(|rate| rate.saturating_mul(KIB) as f64);
    // The kernel's rate is far too low at first.
    let begun = progress.filter(|(done, all)| *done >= BEGUN * all);
    let left = begun.zip(rate).map(|((done, all), rate)| (all - done) * 512.0 / rate);
    Some(Work { action, done: progress.map(|(done, all)| done / all), rate, left })
}

/// The profile of its data; none while it is being converted from one to another.
fn btrfs_profile(root: &Sysroot, uuid: &str) -> Option<String> {
    let dir = format!("/sys/fs/btrfs/{uuid}/allocation/data");
    // A profile is a directory with numbers of its own, between files.
    let is_profile = |name: &String| root.number::<u64>(&format!("{dir}/{name}/total_bytes")).is_some();
    let profiles: Vec<String> = root.list(&dir).into_iter().filter(is_profile).collect();
    let [one] = &profiles[..] else { return None };
    Some(one.clone())
}

impl Inventory {
    /// The drives below the block device of this name.
    pub fn drives_of_block(&self, name: &str) -> Vec<&Drive> {
        self.stack_of(self.blocks().find(|block| block.name() == name)).drives
    }

    /// Layers that join several drives.
    pub fn pools(&self) -> impl Iterator<Item = (&Layer, &Pool)> {
        self.layers.iter().filter_map(|layer| Some((layer, layer.pool.as_ref()?)))
    }

    /// The pools that have the drive or a partition of it as a member.
    pub fn pools_of(&self, drive: &Drive) -> impl Iterator<Item = (&Layer, &Pool)> {
        let is_on_drive = |name: &String| {
            *name == drive.name || drive.partitions.iter().any(|partition| partition.name == *name)
        };
        self.pools().filter(move |(layer, _)| layer.members.iter().any(is_on_drive))
    }
}

impl Drive {
    /// Whether a pool, a volume group or a part of a cluster is on it, active or not.
    pub fn is_pool_member(&self) -> bool {
        let contents = self.partitions.iter().map(|part| &part.content).chain([&self.content]);
        let mut kinds = contents.filter_map(|content| content.filesystem.as_deref());
        !self.holders.is_empty()
            || kinds
                .any(|kind| kind.ends_with("_member") || ["ceph_bluestore", "bcache", "drbd"].contains(&kind))
    }
}

impl Layer {
    /// `data (md127)`, or the kernel's name alone; for btrfs its label.
    pub fn shown(&self) -> String {
        let name = self.pool.as_ref().and_then(|pool| pool.name.as_ref()).or(self.alias.as_ref());
        match name {
            Some(name) if self.device == (0, 0) => name.clone(),
            Some(name) => format!("{name} ({})", self.name),
            None => self.name.clone(),
        }
    }
}
