//! `drivebench run capacity` on sticks with a false size, and on a good one that is as it was afterwards.

use std::hash::{DefaultHasher, Hasher};

use drivebench::findings::Quantity;
use drivebench_lab::Machine;

use super::{LIMIT, findings, ok, out, scenario, start};

const SECTOR: f64 = 512.0;
/// The good stick, and its serial.
const GOOD: usize = 3;
const SERIAL: &str = "FA4E0004";
const STORE: &str = "/mnt/store/drivebench";

/// Everything that is stored on a drive, as a number.
fn hash(machine: &Machine, i: usize) -> u64 {
    const PART: u64 = 64 << 20;
    let mut hasher = DefaultHasher::new();
    let size = machine.scenario().drives[i].sectors * 512;
    (0..size.div_ceil(PART)).for_each(|n| hasher.write(&ok(machine.stored(i, n * PART, PART))));
    hasher.finish()
}

/// Whether there is a stamp on a drive.
fn is_stamped(machine: &Machine, i: usize) -> bool {
    const PART: u64 = 64 << 20;
    let size = machine.scenario().drives[i].sectors * 512;
    let has = |part: Vec<u8>| part.chunks(512).any(|sector| sector.starts_with(b"drvbench"));
    (0..size.div_ceil(PART)).any(|n| has(ok(machine.stored(i, n * PART, PART))))
}

/// A stick whose addresses wrap around is in the experiment's simulation; the kernel sees no difference to one that loses data.
#[test]
fn false_sticks_are_told_with_their_real_size() {
    let machine = start(&scenario("fakes"));
    let starts = ["FAKE", "BAD", "UNSTEADY", "at least"];
    let real = [Some(1_953_792.0 * SECTOR), Some(2_000_003_072.0), None];
    for (n, start) in (1..).zip(starts) {
        let bay = format!("bay:{n}");
        let since = std::time::Instant::now();
        let found = findings(&machine, &format!("capacity {bay} --erase FA4E000{n} --store {STORE}"));
        let [verdict] = &found.verdicts[..] else { panic!("{found:#?}") };
        println!("{:.0} s: {verdict}", since.elapsed().as_secs_f64());
        assert!(verdict.starts_with(&format!("{bay}: {start}")), "{verdict}");
        let size = found.estimates.iter().find(|m| m.quantity == Quantity::RealSize).map(|m| &m.estimate);
        match real.get(n - 1) {
            Some(real) => {
                assert_eq!(size.map(|e| e.value), *real);
                assert_eq!(found.fitness.len(), 1, "{:?}", found.fitness);
            }
            None => {
                let size = size.expect("a size");
                assert!(size.low > 0.99 * size.high && size.high == 7_815_168.0 * SECTOR, "{size:?}");
                assert_eq!(found.fitness, []);
            }
        }
    }
}

#[test]
fn after_kills_and_power_cuts_a_drive_is_as_it_was() {
    let mut machine = start(&scenario("fakes"));
    out(&machine, &format!("head -c 60000000 /dev/urandom >$(lab-device {SERIAL}); sync"));
    let before = hash(&machine, GOOD);
    let run = format!(
        "exec drivebench --store {STORE} run capacity --wait $(lab-device {SERIAL}) --erase {SERIAL} >/work/said 2>&1"
    );
    let mut stamped = 0;
    for (n, wait) in [0.0, 0.3, 1.0, 3.0, 8.0, 20.0].into_iter().enumerate() {
        let running = machine.begin(&["sh", "-c", &run]).expect("starts");
        out(
            &machine,
            &format!(
                "until ls {STORE}/journals/*.saved* >/dev/null 2>&1; do usleep 50000; done; usleep {}",
                wait * 1e6
            ),
        );
        if n % 2 == 0 {
            running.signal(9).expect("is there");
            assert_ne!(running.wait(LIMIT).expect("ends").code, 0);
        } else {
            drop(running);
            ok(machine.cut_power());
        }
        let was_stamped = is_stamped(&machine, GOOD);
        stamped += u32::from(was_stamped);
        let said = out(&machine, &format!("drivebench --store {STORE} cleanup 2>&1"));
        println!("after {wait} s: stamped {was_stamped}; {said}");
        assert_eq!(hash(&machine, GOOD), before, "after {wait} s: {said}");
        assert_eq!(out(&machine, &format!("ls {STORE}/journals")), "", "after {wait} s");
    }
    assert!(stamped > 2, "most kills came before a stamp was written");
}
