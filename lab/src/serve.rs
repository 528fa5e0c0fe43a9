//! Serves the drives of a machine in real time: delays operations as the models say, and keeps the data.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use drivebench::engine::EngineError;
use drivebench_modelled::sim::{Cause, DriveOp, Drives};
use rustix::io::Errno;
use thiserror::Error;

use crate::{
    Scenario,
    ledger::{self, Entry, Kind, now_ns},
    medium::Medium,
    scenario::SECTOR,
};

/// An operation that arrives within this time after a reply counts as back-to-back: the gap is emulation time, and
/// counts as the drive's. It is commonly 1 ms, and tens of ms on a busy host.
const GRACE_NS: u64 = 50_000_000;

/// Emulation of an operation commonly takes less time than this.
const USUAL_NS: u64 = 5_000_000;

/// How far behind the clock a drive may begin an operation, to compensate for emulation time. More is
/// lost.
const DEBT_NS: u64 = 250_000_000;

/// Why the drives can't be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A drive's file can't be opened or made.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// The model makes no sense.
    #[error(transparent)]
    Model(#[from] EngineError),
}

/// The drives of a machine.
#[derive(Debug)]
pub struct Served {
    bays: Vec<Bay>,
    state: Mutex<State>,
    /// When they were powered on.
    since_ns: u64,
}

/// The state that all drives share.
#[derive(Debug)]
struct State {
    drives: Drives,
    /// Each drive's last operation that was answered or is being answered.
    last: Vec<Pace>,
}

/// A drive and its queue.
#[derive(Debug)]
struct Bay {
    name: String,
    medium: Medium,
    line: Mutex<Line>,
    turn: Condvar,
    ledger: Mutex<ledger::Writer>,
}

impl Served {
    /// Powers on the drives of `scenario`: bay `1.1` keeps its content in `1.1.img` in `directory`, and its ledger
    /// in `1.1.ledger.csv`.
    pub fn new(scenario: &Scenario, directory: &Path) -> Result<Self, ServeError> {
        let bays = scenario.drives.iter().map(|drive| {
            let at = |path: PathBuf, e| ServeError::File(path, e);
            let image = directory.join(format!("{}.img", drive.bay));
            let book = directory.join(format!("{}.ledger.csv", drive.bay));
            let [size, real] =
                [drive.sectors, drive.real_sectors.unwrap_or(drive.sectors)].map(|sectors| sectors * SECTOR);
            Ok(Bay {
                name: drive.bay.clone(),
                medium: Medium::open(&image, [size, real], drive.model.faults.clone(), now_ns())
                    .map_err(|e| at(image, e))?,
                line: Mutex::default(),
                turn: Condvar::new(),
                ledger: Mutex::new(ledger::Writer::open(&book).map_err(|e| at(book, e))?),
            })
        });
        Ok(Self {
            bays: bays.collect::<Result<_, ServeError>>()?,
            state: Mutex::new(State {
                drives: Drives::new(&scenario.board())?,
                last: vec![Pace::default(); scenario.drives.len()],
            }),
            since_ns: now_ns(),
        })
    }

    /// The drive in the bay of that name.
    pub fn find(&self, bay: &str) -> Option<usize> {
        self.bays.iter().position(|b| b.name == bay)
    }

    /// Its size, bytes.
    pub fn size(&self, drive: usize) -> u64 {
        self.bays[drive].medium.size()
    }

    /// Reads, and returns when the modelled drive would.
    pub fn read(&self, drive: usize, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let length = buffer.len() as u64;
        self.serve(drive, Kind::Read, offset, length, |medium| medium.read(buffer, offset))
    }

    /// Writes, and returns when the modelled drive would.
    pub fn write(&self, drive: usize, bytes: &[u8], offset: u64) -> io::Result<()> {
        let length = bytes.len() as u64;
        let power = self.bays[drive].medium.power();
        self.serve(drive, Kind::Write, offset, length, |medium| medium.write(bytes, offset, power))
    }

    /// Flushes, and returns when the modelled drive would.
    pub fn flush(&self, drive: usize) -> io::Result<()> {
        self.serve(drive, Kind::Flush, 0, 0, |_| Ok(()))
    }

    /// Whether there is a network card on a bus.
    pub fn has_card(&self) -> bool {
        lock(&self.state).drives.count() > self.bays.len()
    }

    /// Returns once the bus of the network card has carried so many bytes.
    pub fn carry(&self, bytes: u64) {
        let now_ns = self.now_ns();
        // What waits for a timer begins late; that is made up for.
        let came_ns = now_ns.saturating_sub(USUAL_NS);
        let done = {
            let mut state = lock(&self.state);
            let (card, link) = state.drives.at(self.bays.len());
            card.service(came_ns, DriveOp { write: false, offset: 0, length: bytes }, link)
        };
        self.wait_until(done.end_ns);
    }

    fn serve(
        &self,
        drive: usize,
        kind: Kind,
        offset: u64,
        length: u64,
        transfer: impl FnOnce(&Medium) -> io::Result<()>,
    ) -> io::Result<()> {
        let bay = &self.bays[drive];
        let asked_ns = self.now_ns();
        bay.take_turn();
        let turn_ns = self.now_ns();
        let (done, away_ns) = {
            let State { drives, last } = &mut *lock(&self.state);
            let came_ns = came_ns(last, drive, asked_ns, turn_ns);
            let (model, link) = drives.at(drive);
            let op = DriveOp { write: kind == Kind::Write, offset, length };
            let done =
                if kind == Kind::Flush { model.flush(came_ns) } else { model.service(came_ns, op, link) };
            (done, (model.model().round_trip_seconds * 1e9) as u64)
        };
        // A late start is made up by an earlier reply, except after a stall, which must be visible in full.
        let behind_ns = match done.cause {
            Cause::Stall | Cause::Wake => turn_ns.saturating_sub(done.start_ns),
            _ => 0,
        };
        self.wait_until(done.end_ns + behind_ns);
        // At the end: what is cut off before isn't written.
        let result = match done.fault {
            Some(_) => Err(Errno::IO.into()),
            None => transfer(&bay.medium),
        };
        let due_ns = done.end_ns + away_ns;
        let out_ns = due_ns + behind_ns;
        lock(&self.state).last[drive] = Pace { asked_ns, due_ns, answered_ns: out_ns.max(self.now_ns()) };
        bay.pass_turn();
        self.wait_until(out_ns);
        let answered_ns = self.now_ns();
        let entry = Entry {
            asked_ns: self.since_ns + asked_ns,
            start_ns: self.since_ns + done.start_ns,
            end_ns: self.since_ns + done.end_ns,
            answered_ns: self.since_ns + answered_ns,
            kind,
            offset,
            length,
            cause: done.cause,
            failed: result.is_err(),
        };
        lock(&bay.ledger).add(&entry).map_err(io::Error::other)?;
        result
    }

    /// The drives' time.
    fn now_ns(&self) -> u64 {
        now_ns() - self.since_ns
    }

    fn wait_until(&self, at_ns: u64) {
        if let Some(left) = at_ns.checked_sub(self.now_ns()) {
            thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// Operations are served in the order of arrival.
#[derive(Debug, Default)]
struct Line {
    tickets: u64,
    serving: u64,
}

impl Bay {
    fn take_turn(&self) {
        let mut line = lock(&self.line);
        let ticket = line.tickets;
        line.tickets += 1;
        while line.serving != ticket {
            line = self.turn.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pass_turn(&self) {
        lock(&self.line).serving += 1;
        self.turn.notify_all();
    }
}

/// When an operation arrived, was due, and was answered.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    asked_ns: u64,
    due_ns: u64,
    answered_ns: u64,
}

/// The effective arrival time at `drive` of an operation that arrived at `asked_ns` and has its turn at `turn_ns`.
fn came_ns(last: &[Pace], drive: usize, asked_ns: u64, turn_ns: u64) -> u64 {
    let own = last[drive];
    // Another drive had an operation since the last one here, or ended one so late that emulation alone doesn't explain it: this
    // one waited for it, as with stripes and copies.
    let between = |p: &&Pace| {
        let waited = p.asked_ns >= own.answered_ns || p.answered_ns >= own.answered_ns + USUAL_NS;
        waited && p.answered_ns <= asked_ns
    };
    let before = last.iter().filter(between).max_by_key(|p| p.answered_ns).unwrap_or(&own);
    let back_to_back = asked_ns.saturating_sub(before.answered_ns) <= GRACE_NS;
    let came_ns = if back_to_back { asked_ns.min(before.due_ns) } else { asked_ns };
    came_ns.max(turn_ns.saturating_sub(DEBT_NS))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn emulation_time_counts_as_the_drives() {
        let at = |asked, due, answered| Pace {
            asked_ns: asked * MS,
            due_ns: due * MS,
            answered_ns: answered * MS,
        };
        let came = |last: &[Pace], asked, turn| came_ns(last, 0, asked * MS, turn * MS) / MS;
        let alone = [at(990, 1000, 1002)];
        // Arrivals during the operation before, soon after its reply, and after a pause.
        assert_eq!(came(&alone, 995, 1001), 995);
        assert_eq!(came(&alone, 1003, 1003), 1000);
        assert_eq!(came(&alone, 1053, 1053), 1053);
        // Time beyond the limit is lost.
        assert_eq!(came(&[at(990, 1000, 1300)], 1301, 1302), 1052);
        // A simultaneous operation on another drive changes nothing; one that was waited for does.
        assert_eq!(came(&[alone[0], at(999, 1003, 1004)], 1005, 1005), 1000);
        assert_eq!(came(&[alone[0], at(1003, 1009, 1010)], 1011, 1011), 1009);
        assert_eq!(came(&[alone[0], at(1003, 1009, 1010)], 1070, 1070), 1070);
        // One that began before counts only if it ended later than emulation takes.
        assert_eq!(came(&[alone[0], at(995, 1019, 1020)], 1021, 1021), 1019);
    }

    /// Two drives of 100 MB/s, of which the first stalls for 20 ms every MB and the second can't be read at 4096.
    const FAST: &str = r#"
        title = "two fast drives"
        [[bus]]
        name = "bus"
        rate = 150e6
        [[drive]]
        bay = "1.1"
        product = "Stick"
        serial = "A"
        sectors = 8192
        [drive.model]
        read = [{ from = 0, rate = 100e6 }]
        write = [{ from = 0, rate = 100e6 }]
        stalls = [{ every = 1e6, seconds = 0.02 }]
        flush_seconds = 0.001
        round_trip_seconds = 0.001
        [[drive]]
        bay = "1.2"
        product = "Stick"
        serial = "B"
        sectors = 8192
        [drive.model]
        read = [{ from = 0, rate = 100e6 }]
        write = [{ from = 0, rate = 100e6 }]
        faults = { unreadable = [{ offset = 4096, length = 1 }] }
    "#;

    #[test]
    fn a_network_card_takes_its_part_of_the_bus() {
        let card = FAST.replacen("[[bus]]", "network = \"1.3\"\n[[bus]]", 1);
        let caused_by_bus = |text: &str| {
            let directory = tempfile::tempdir().unwrap();
            let served = Served::new(&Scenario::parse("fast.toml", text).unwrap(), directory.path()).unwrap();
            thread::scope(|scope| {
                let carries =
                    served.has_card().then(|| scope.spawn(|| (0..100).for_each(|_| served.carry(1 << 20))));
                while carries.as_ref().is_some_and(|carries| !carries.is_finished()) {
                    served.write(1, &[2; 1 << 16], 0).unwrap();
                }
            });
            served.write(1, &[2; 1 << 16], 0).unwrap();
            let ledger = ledger::read(&directory.path().join("1.2.ledger.csv")).unwrap();
            ledger.iter().filter(|e| e.cause == Cause::Bus).count()
        };
        // Of 150 MB/s, a drive of 100 MB/s alone waits for nothing.
        assert_eq!(caused_by_bus(FAST), 0);
        assert!(caused_by_bus(&card) > 0);
    }

    #[test]
    fn operations_follow_each_other_and_none_is_answered_early() {
        let scenario = Scenario::parse("fast.toml", FAST).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let served = Served::new(&scenario, directory.path()).unwrap();
        assert_eq!((served.find("1.2"), served.find("1.3"), served.size(1)), (Some(1), None, 8192 * 512));
        thread::scope(|scope| {
            for at in 0..4 {
                let served = &served;
                scope.spawn(move || {
                    for i in 0..16 {
                        let offset = (at * 16 + i) << 16;
                        served.write(0, &[1; 1 << 16], offset).unwrap();
                        served.write(1, &[2; 1 << 16], offset).unwrap();
                    }
                });
            }
        });
        served.flush(0).unwrap();
        let mut bytes = vec![0; 1 << 16];
        served.read(0, &mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 1));
        let error = served.read(1, &mut bytes, 0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5));

        for (bay, writes) in [("1.1", 64), ("1.2", 64)] {
            let mut ledger = ledger::read(&directory.path().join(format!("{bay}.ledger.csv"))).unwrap();
            ledger.sort_by_key(|e| (e.start_ns, e.end_ns));
            assert_eq!(ledger.iter().filter(|e| e.kind == Kind::Write).count(), writes);
            assert!(ledger.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{bay}");
            for e in &ledger {
                let took = e.end_ns - e.start_ns;
                assert!(e.asked_ns <= e.answered_ns && e.end_ns <= e.answered_ns, "{e:?}");
                match e.cause {
                    Cause::Stall => assert!(took > 20 * MS && e.answered_ns - e.asked_ns >= 20 * MS, "{e:?}"),
                    Cause::Flush => assert_eq!((took, bay), (MS, "1.1")),
                    _ if e.failed => assert_eq!((e.kind, took, bay), (Kind::Read, 0, "1.2")),
                    _ => assert!(took >= e.length * 10, "{e:?}"),
                }
            }
            let stalls = ledger.iter().filter(|e| e.cause == Cause::Stall).count();
            assert_eq!(stalls, if bay == "1.1" { 4 } else { 0 });
        }
    }
}
