//! How this machine started: systemd's times, what was read from the drive of the root, and earlier boots in the store.

use std::collections::BTreeSet;

use super::{
    super::PlanError,
    result::{Boot, Boots, RootReads},
};
use crate::{
    conditions::Snapshot,
    inventory::Drive,
    record::{Run, Store},
    run::host,
    sysroot::Sysroot,
    target::Target,
    tools::{
        Runner, System, ToolError,
        systemctl::{self, Manager, parse_manager},
    },
    units::distinct,
};

/// The longest plausible time of firmware or boot loader, s.
const LONGEST: f64 = 86_400.0;
/// Runs of the store that are searched for earlier boots, at most.
const EARLIER: usize = 200;

/// Why a boot can't be recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum BootError {
    #[error(
        "systemd reports no times of this boot ({0}): only a system that systemd started can be measured"
    )]
    NoSystemd(String),
    #[error("systemd runs in a container here, which does not boot from a drive")]
    Container,
    #[error(
        "the system is still starting ({state}): wait with `systemctl is-system-running --wait`, then run this again"
    )]
    Starting { state: String },
    #[error(
        "after a soft reboot systemd has no times of a full boot: restart the machine with `systemctl reboot`"
    )]
    SoftReboot,
    #[error("/proc/sys/kernel/random/boot_id can't be read, so boots could not be distinguished")]
    NoBootId,
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// systemd's own properties once startup has finished, with the start of userspace and the finish.
pub(super) fn finished(runner: &dyn Runner) -> Result<(Manager, f64, f64), BootError> {
    let output = runner.ask(&systemctl::manager())?;
    let manager = parse_manager(&output).ok_or_else(|| BootError::NoSystemd(output.complaint()))?;
    match (manager.userspace, manager.finish) {
        _ if manager.soft_reboots > 0 => Err(BootError::SoftReboot),
        _ if !manager.of_machine => Err(BootError::Container),
        (Some(userspace), Some(finish)) if finish >= userspace => Ok((manager, userspace, finish)),
        _ => Err(BootError::Starting { state: manager.state }),
    }
}

/// The current boot, without its run.
pub(super) fn read(root: &Sysroot, runner: &dyn Runner, target: &Target) -> Result<Boot, BootError> {
    let host = host(root);
    let boot_id = host.boot_id.ok_or(BootError::NoBootId)?;
    let (manager, userspace, finish) = finished(runner)?;
    let counters = Snapshot::take(root, &target.drives);
    let reads = counters.drives.iter().fold(RootReads::default(), |sum, drive| RootReads {
        bytes: sum.bytes.saturating_add(drive.read),
        seconds: sum.seconds + drive.reading,
        until: sum.until,
    });
    let all = counters.drives.len() == target.drives.len() && !counters.drives.is_empty();
    Ok(Boot {
        boot_id,
        machine_id: host.machine_id,
        // Some have none, and say 0.
        board_serial: root
            .word("/proc/device-tree/serial-number")
            .filter(|serial| serial.chars().any(|c| c.is_ascii_alphanumeric() && c != '0')),
        root: target.drives.iter().map(Drive::identity).collect::<Vec<_>>().join(" "),
        label: target.drives.iter().map(Drive::model_and_serial).collect::<Vec<_>>().join(" + "),
        systemd: manager.version,
        link: distinct(target.drives.iter().map(link)).join(" + "),
        // Both count back from the start of the kernel. Some firmware reports nonsense.
        firmware: manager
            .firmware
            .map(|begun| (begun - manager.loader.unwrap_or(0.0)).max(0.0))
            .filter(|seconds| *seconds < LONGEST),
        loader: manager.loader.filter(|seconds| *seconds < LONGEST),
        initrd: manager.initrd.filter(|at| *at <= userspace),
        userspace,
        finish,
        // Every boot reads: zero means that the kernel does not count.
        reads: counters.uptime.filter(|_| all && reads.bytes > 0).map(|until| RootReads { until, ..reads }),
        ..Boot::default()
    })
}

/// The link, such as `usb 480 Mb/s`: a drive in a slower port counts as another medium.
fn link(drive: &Drive) -> String {
    let speed = drive.link_mbps.map(|speed| format!("{speed:.0} Mb/s"));
    drive.bus.iter().cloned().chain(speed).collect::<Vec<_>>().join(" ")
}

/// Whether a run of an experiment has recorded this boot. Which of them is the newest is not known: a clock may have been wrong.
pub fn is_recorded(store: &Store, experiment: &str, boot_id: &str) -> bool {
    let (runs, _) = store.list().unwrap_or_default();
    let same = runs.iter().rev().filter(|run| run.experiment == experiment);
    same.flat_map(|run| boots(store, &run.run)).any(|boots| boots.this.boot_id == boot_id)
}

/// The boots in the record of a run; none if it can't be read.
fn boots(store: &Store, run: &str) -> impl Iterator<Item = Boots> {
    let record = store.open(run).ok().into_iter();
    record.flat_map(|record| Run::of(record).acts.into_values().filter_map(|act| act.get::<Boots>().cloned()))
}

/// Refuses a system that systemd did not start.
pub fn has_systemd() -> Result<(), PlanError> {
    match finished(&System::default()) {
        Err(BootError::Starting { .. } | BootError::SoftReboot) | Ok(_) => Ok(()),
        Err(e) => Err(PlanError::Options(e.to_string())),
    }
}

/// The ID of the current boot.
pub fn boot_id(root: &Sysroot) -> Result<String, PlanError> {
    host(root).boot_id.ok_or_else(|| PlanError::Options(BootError::NoBootId.to_string()))
}

/// Boots of the same machine that the newest runs of an experiment have recorded, oldest first; of each the first record.
pub(super) fn earlier(store: &Store, experiment: &str, this: &Boot) -> Vec<Boot> {
    // What can't be read is compared with nothing.
    let (runs, _) = store.list().unwrap_or_default();
    let same: Vec<_> =
        runs.iter().filter(|run| run.experiment == experiment && run.run != this.run).collect();
    let boots = same[same.len().saturating_sub(EARLIER)..].iter().flat_map(|run| boots(store, &run.run));
    let mut seen = BTreeSet::from([this.boot_id.clone()]);
    boots
        .map(|boots| boots.this)
        .filter(|boot| boot.is_same_machine(this) && seen.insert(boot.boot_id.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::act::RecordBoot, *};
    use crate::{
        inventory::fixtures::{self, Tree},
        plan::{Plan, StepId, Steps},
        record::{ActResult, Event, Log, SCHEMA, Start},
        tools::{Output, Replay},
    };

    const MANAGER: &str = include_str!("../../../../tests/fixtures/systemctl/manager-252.txt");

    /// What the manager of a machine says; that of a user, which was captured, has no such time.
    fn of_machine() -> String {
        MANAGER.replace("SecurityStartTimestampMonotonic=0", "SecurityStartTimestampMonotonic=2351920000")
    }

    fn systemd(manager: &str) -> Replay {
        let output = |stdout: &str| Output { code: Some(0), stdout: stdout.to_owned(), ..Output::default() };
        Replay::default().answer("systemctl show", output(manager))
    }

    fn tree() -> Tree {
        let mut tree = fixtures::virtual_machine();
        tree.file("proc/sys/kernel/random/boot_id", "0f1e-one\n");
        tree.file("etc/machine-id", "3d12\n");
        tree.file("sys/block/vda/stat", " 1050 10 74218 6200 40 0 800 90 0 5100 6300\n");
        tree.file("proc/uptime", "2360.50 4500.00\n");
        tree
    }

    fn root(tree: &Tree) -> Target {
        let drives = tree.inventory().drives.into_iter().filter(|drive| drive.name == "vda").collect();
        Target { given: "/".to_owned(), path: "/".into(), drives, ..Target::default() }
    }

    #[test]
    fn a_boot_is_read() {
        let tree = tree();
        let target = root(&tree);
        let boot = read(&tree.sysroot(), &systemd(&of_machine()), &target).expect("a boot");
        assert_eq!((boot.boot_id.as_str(), boot.machine_id.as_deref()), ("0f1e-one", Some("3d12")));
        assert_eq!((boot.firmware, boot.loader, boot.initrd), (None, None, None));
        assert_eq!(boot.link, "virtio");
        let stick = Drive { bus: Some("usb".to_owned()), link_mbps: Some(480.0), ..Drive::default() };
        assert_eq!((link(&stick), link(&Drive::default())), ("usb 480 Mb/s".to_owned(), String::new()));
        assert_eq!((boot.userspace, boot.finish), (2351.911826, 2352.714142));
        let reads = RootReads { bytes: 74218 * 512, seconds: 6.2, until: 2360.5 };
        assert_eq!((boot.reads, boot.root), (Some(reads), target.drives[0].identity()));
        // Without its counters the rest is known.
        let none = Target { drives: Vec::new(), ..target };
        assert_eq!(read(&tree.sysroot(), &systemd(&of_machine()), &none).expect("a boot").reads, None);
    }

    #[test]
    fn times_before_the_kernel_count_back_from_its_start() {
        let firmware = of_machine()
            .replace("FirmwareTimestampMonotonic=0", "FirmwareTimestampMonotonic=17770382")
            .replace("LoaderTimestampMonotonic=0", "LoaderTimestampMonotonic=7539019")
            + "InitRDTimestampMonotonic=2351000000\n";
        let tree = tree();
        let boot = read(&tree.sysroot(), &systemd(&firmware), &root(&tree)).expect("a boot");
        let firmware = boot.firmware.expect("it says");
        assert!((firmware - 10.231363).abs() < 1e-9 && boot.loader == Some(7.539019), "{boot:?}");
        assert_eq!((boot.kernel_seconds(), boot.initrd), (2351.0, Some(2351.0)));
        assert!((boot.initrd_seconds().expect("known") - 0.911826).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_finished_boot_of_a_machine_is_refused() {
        let tree = tree();
        let refused = |manager: &str| {
            read(&tree.sysroot(), &systemd(manager), &root(&tree)).expect_err("refused").to_string()
        };
        let starting = of_machine()
            .replace("SystemState=running", "SystemState=starting")
            .replace("FinishTimestampMonotonic=2352714142", "FinishTimestampMonotonic=0");
        let soft = of_machine() + "SoftRebootsCount=1\n";
        let said = [MANAGER, &starting, &soft, ""].map(refused);
        insta::assert_snapshot!(said.join("\n"));
        let missing =
            BootError::from(ToolError::Missing(crate::tools::Tool { name: "systemctl", package: "systemd" }));
        assert!(missing.to_string().contains("apt install systemd"), "{missing}");
    }

    #[test]
    fn a_boot_without_an_id_is_not_recorded() {
        let tree = tree();
        std::fs::remove_file(tree.root().join("proc/sys/kernel/random/boot_id")).expect("removes");
        let done = read(&tree.sysroot(), &systemd(&of_machine()), &root(&tree));
        assert!(matches!(done, Err(BootError::NoBootId)), "{done:?}");
    }

    fn keep(store: &Store, experiment: &str, this: Boot) {
        let start = |run: String| Start {
            schema: SCHEMA,
            run,
            at: "2026-11-21T07:30:00Z".to_owned(),
            version: String::new(),
            command: Vec::new(),
            experiment: experiment.to_owned(),
            targets: Vec::new(),
            host: Default::default(),
            inventory: Default::default(),
        };
        let (run, mut writer) = store.create(start).expect("a record");
        let mut steps = Steps::default();
        steps.add(&[0], RecordBoot {});
        let targets = vec![Target::default()];
        let plan =
            Plan { experiment: experiment.to_owned(), targets, steps: steps.into(), ..Plan::default() };
        let boots = Boots { this: Boot { run, ..this }, earlier: Vec::new() };
        let result = Box::new(ActResult { observed: Some(boots.into()), ..ActResult::default() });
        let act = Event::Act { step: StepId(0), target: Some(0), at: String::new(), result };
        for event in [Event::Plan { plan }, act] {
            writer.append(&event).expect("appends");
        }
    }

    #[test]
    fn earlier_boots_are_those_of_this_machine_each_once() {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::at(home.path().to_owned());
        let boot = |boot_id: &str, machine: &str, finish: f64| Boot {
            boot_id: boot_id.to_owned(),
            machine_id: Some(machine.to_owned()),
            finish,
            ..Boot::default()
        };
        let on = |serial: &str, boot: Boot| Boot { board_serial: Some(serial.to_owned()), ..boot };
        let board = |boot| on("1000", boot);
        keep(&store, "boot", boot("b1", "here", 17.0));
        keep(&store, "boot", boot("b1", "here", 18.0));
        keep(&store, "boot", boot("b2", "elsewhere", 19.0));
        keep(&store, "boot", board(boot("b3", "fresh", 20.0)));
        keep(&store, "boot", on("2000", boot("b5", "here", 20.0)));
        keep(&store, "boot", boot("now", "here", 21.0));
        keep(&store, "other", boot("b4", "here", 22.0));
        let this = board(boot("now", "here", 21.0));
        let found = earlier(&store, "boot", &this);
        assert!(found.iter().all(|boot| !boot.run.is_empty()));
        let all: BTreeMap<String, f64> = found.into_iter().map(|boot| (boot.boot_id, boot.finish)).collect();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["b1", "b3"]);
        assert!([17.0, 18.0].contains(&all["b1"]), "{all:?}");
        let unknown = Boot { machine_id: None, board_serial: None, ..this.clone() };
        assert!(earlier(&store, "boot", &unknown).is_empty());
        let empty = Store::at(home.path().join("none"));
        assert!(earlier(&empty, "boot", &this).is_empty());
    }
}
