//! The screens that people see, as a terminal of 80 and of 50 columns shows them, with and without colour.

use std::{
    env,
    fs::{self, File},
    num::NonZero,
    path::Path,
};

use crate::support::cli::Cli;
use crate::support::modelled::{ask, carry_out, keep_events, only};
use crate::support::terminal::Terminal;
use drivebench::{
    analyse::Rules,
    experiments::{BASELINE, Experiment, LoadName, Request, SIZES, TOGETHER, Values},
    inventory::Inventory,
    record::Store,
    sysroot::{Archive, Sysroot},
    target::Target,
    units::MIB,
};
use drivebench_modelled::sim::{Board, Model, Noise, SharedBus, Stalls, Zone};

const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trees/lab-pi-zero.tar.gz");

/// More than any of the screens needs.
const ROWS: NonZero<u16> = NonZero::new(400).expect("rows");

/// A stick of the captured machine: bytes per second, and the seconds that a random operation costs.
#[derive(Clone, Copy)]
struct Stick {
    name: &'static str,
    write: f64,
    read: f64,
    small: f64,
    stalls: bool,
}

const STICKS: [Stick; 4] = [
    Stick { name: "a", write: 8.9e6, read: 28.1e6, small: 0.7e-3, stalls: true },
    Stick { name: "b", write: 17.4e6, read: 27.9e6, small: 0.2e-3, stalls: false },
    Stick { name: "c", write: 8.8e6, read: 28.0e6, small: 0.7e-3, stalls: true },
    Stick { name: "d", write: 9.6e6, read: 21.2e6, small: 0.5e-3, stalls: false },
];

impl Stick {
    fn model(self) -> Model {
        let stalls = Stalls {
            every: 61.0 * MIB as f64,
            every_variation: 0.2,
            seconds: 0.44,
            seconds_variation: 0.02,
            ..Stalls::default()
        };
        Model {
            capacity: 62_000_000_000,
            write: vec![Zone { from: 0, rate: self.write }],
            read: vec![Zone { from: 0, rate: self.read }],
            operation_seconds: 0.2e-3,
            seek_seconds: self.small,
            noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
            stalls: if self.stalls { vec![stalls] } else { vec![] },
            ..Model::default()
        }
    }

    fn target(self, machine: &Inventory) -> Target {
        let given = format!("/mnt/{}", self.name);
        let drive = machine.drives.iter().find(|d| d.name == format!("sd{}", self.name)).expect("a drive");
        let mount = machine.mounts.iter().find(|m| m.path == given).cloned();
        let space = mount.as_ref().and_then(|m| m.space);
        Target {
            path: (&given).into(),
            given,
            drives: vec![drive.clone()],
            free: space.map(|s| s.free),
            capacity: Some(drive.bytes()),
            mount,
            direct_alignment: 512,
            ..Target::default()
        }
    }
}

/// Runs on the sticks of a captured machine, and drivebench.
struct Desk {
    cli: Cli,
    machine: Inventory,
}

impl Desk {
    fn new() -> Self {
        let archive = Archive::read(File::open(TREE).expect("opens")).expect("reads");
        let desk = Self { cli: Cli::new(), machine: Inventory::read(&Sysroot::archive(archive)) };
        let slower = Stick { write: 7.2e6, ..STICKS[0] };
        desk.keep("r6qj", "2024-05-01T10:00:00Z", &BASELINE, &STICKS[..1]);
        desk.keep("r7xz", "2024-05-02T10:00:00Z", &BASELINE, &STICKS);
        desk.keep("r8aw", "2024-05-02T11:00:00Z", &TOGETHER, &STICKS);
        desk.keep("r9kt", "2024-05-03T10:00:00Z", &SIZES, &STICKS[1..2]);
        desk.keep("ramn", "2024-11-21T10:00:00Z", &BASELINE, &[slower]);
        desk
    }

    fn keep(&self, run: &str, at: &str, experiment: &Experiment, sticks: &[Stick]) {
        let targets: Vec<Target> = sticks.iter().map(|s| s.target(&self.machine)).collect();
        let asked = ask(targets, Rules::quick(), MIB);
        let asked = Request { values: Values::default(), ..asked };
        let asked = if experiment.name == TOGETHER.name { only(LoadName::Read, asked) } else { asked };
        let plan = experiment.plan(&asked).expect("plans");
        let board = Board {
            drives: sticks.iter().map(|s| s.model()).collect(),
            buses: vec![SharedBus { rate: 34.6e6, drives: (0..sticks.len()).collect() }],
            seed: 7,
        };
        let store = self.cli.store();
        let events = carry_out(&plan, &board).expect("runs");
        let drawn = keep_events(&Store::at(store.clone()), at, &plan, self.machine.clone(), events);
        // Names are drawn at random.
        let file = |run: &str| store.join(format!("{run}.jsonl"));
        let record = fs::read_to_string(file(&drawn)).expect("reads").replace(&drawn, run);
        fs::write(file(run), record).expect("writes");
        fs::remove_file(file(&drawn)).expect("removes");
    }

    /// What a terminal shows after a command: the text, and with colours written as `[green bold:text]`.
    fn screen(&self, args: &[&str], width: u16, colour: bool) -> [String; 2] {
        let mut command = self.cli.command(args);
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let (bytes, code) = Terminal::start(command, width).rest();
        assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&bytes));
        assert!(colour || !bytes.contains(&0x1b), "{args:?}: {}", String::from_utf8_lossy(&bytes));
        let mut terminal = vt100::Parser::new(ROWS, NonZero::new(width).expect("columns"), 0);
        terminal.process(&bytes);
        let screen = terminal.screen();
        let used = screen.cursor_position().0;
        for row in 0..used {
            assert!(!screen.row_wrapped(row), "wider than {width}:\n{}", screen.contents());
        }
        let rows =
            |row: &dyn Fn(u16) -> String| (0..used).map(|at| row(at).trim_end().to_owned() + "\n").collect();
        [rows(&|at| screen.contents_between(at, 0, at, width)), rows(&|at| marked(screen, at))]
    }
}

fn marked(screen: &vt100::Screen, row: u16) -> String {
    let (mut out, mut last) = (String::new(), String::new());
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column) else { continue };
        let mut look: Vec<&str> = match cell.fgcolor() {
            vt100::Color::Idx(1) => vec!["red"],
            vt100::Color::Idx(2) => vec!["green"],
            vt100::Color::Idx(3) => vec!["yellow"],
            vt100::Color::Default => vec![],
            other => panic!("an unexpected colour: {other:?}"),
        };
        look.extend(cell.bold().then_some("bold"));
        let look = look.join(" ");
        if look != last {
            out += if last.is_empty() { "" } else { "]" };
            out += &if look.is_empty() { String::new() } else { format!("[{look}:") };
            last = look;
        }
        out += if cell.has_contents() { cell.contents() } else { " " };
    }
    out + if last.is_empty() { "" } else { "]" }
}

#[test]
fn what_people_see() {
    let desk = Desk::new();
    for (name, args) in [
        ("list", &["list", "--sysroot", TREE][..]),
        ("baseline", &["show", "r6qj"]),
        ("baseline_of_four", &["show", "r7xz"]),
        ("together", &["show", "r8aw"]),
        ("sizes", &["show", "r9kt"]),
        ("compare", &["results", "compare", "r6qj", "ramn"]),
        ("results", &["results"]),
        ("advise", &["advise", "--sysroot", TREE]),
    ] {
        for width in [80, 50] {
            let [text, coloured] = desk.screen(args, width, true);
            assert_eq!(desk.screen(args, width, false)[0], text, "colours change no text");
            assert!(name != "baseline" || text.lines().count() <= 24, "one drive, one screen: {text}");
            // Lines with colours are shown again with them.
            let looks = coloured.lines().filter(|line| !text.lines().any(|same| same == *line));
            let looks: String = looks.map(|line| line.to_owned() + "\n").collect();
            insta::assert_snapshot!(format!("{name}_{width}"), format!("{text}---- in colour\n{looks}"));
        }
    }
    // For scripts/readme-picture.
    if let Some(keep) = env::var_os("DRIVEBENCH_SCREENS") {
        fs::copy(desk.cli.store().join("r7xz.jsonl"), Path::new(&keep).join("r7xz.jsonl")).expect("copies");
    }
}
