//! Parts of a drive in memory, verdicts, and modelled runs.

use std::{collections::BTreeSet, io};

use super::{
    ACCEPT,
    act::{CoverPart, Pass},
    cover::{Bad, Counts, Covered, Damage, Failure, PIECES, Piece, cover, part},
    verdict::{Reason, Tested, Verdict},
};
use crate::{
    Request, Values,
    check::Counter,
    engine::Cancel,
    findings::{Quantity, fitness},
    plan::Plan,
    record::{Event, Run},
    stamped::{BLOCK, Medium},
    target::Target,
    testing::{self, in_bay},
    units::Health,
};

const BLOCKS: u64 = 3000;
const SALT: u64 = 7;

/// A drive in memory.
struct Memory {
    data: Vec<u8>,
    unreadable: BTreeSet<u64>,
    unwritable: BTreeSet<u64>,
    is_gone: bool,
}

impl Memory {
    fn new() -> Self {
        let none = BTreeSet::new;
        Self {
            data: vec![0; BLOCKS as usize * BLOCK],
            unreadable: none(),
            unwritable: none(),
            is_gone: false,
        }
    }

    fn range(&self, at: u64, bytes: usize, bad: &BTreeSet<u64>) -> io::Result<std::ops::Range<usize>> {
        if self.is_gone {
            return Err(io::Error::from_raw_os_error(19));
        }
        match bad.range(at..at + (bytes / BLOCK) as u64).next() {
            Some(_) => Err(io::Error::from_raw_os_error(5)),
            None => Ok(at as usize * BLOCK..at as usize * BLOCK + bytes),
        }
    }

    fn swap(&mut self, a: u64, b: u64) {
        for byte in 0..BLOCK {
            self.data.swap(a as usize * BLOCK + byte, b as usize * BLOCK + byte);
        }
    }
}

impl Medium for Memory {
    fn blocks(&self) -> u64 {
        BLOCKS
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let range = self.range(at, into.len(), &self.unreadable)?;
        into.copy_from_slice(&self.data[range]);
        Ok(())
    }

    fn write(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        let range = self.range(at, data.len(), &self.unwritable)?;
        self.data[range].copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(memory: &mut Memory, pass: Pass) -> io::Result<Covered> {
    cover(memory, pass, &(0..BLOCKS), SALT, &Cancel::default())
}

fn written() -> Memory {
    let mut memory = Memory::new();
    let covered = run(&mut memory, Pass::Write).expect("writes");
    assert_eq!((covered.counts, covered.pieces.len()), (Counts::default(), 4));
    memory
}

#[test]
fn parts_cover_all_blocks_once() {
    let all = 10..1_234;
    let parts: Vec<_> = (0..7).map(|n| part(&all, n, 7)).collect();
    assert_eq!((parts[0].start, parts[6].end), (10, 1_234));
    assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
    let longest = parts.iter().map(|part| part.end - part.start);
    assert!(longest.clone().max().expect("parts") - longest.min().expect("parts") <= 1);
}

#[test]
fn blocks_that_were_swapped_are_found_with_their_places() {
    let mut memory = written();
    assert_eq!(run(&mut memory, Pass::Verify).expect("reads").counts, Counts::default());
    memory.swap(17, 2_900);
    memory.data[500 * BLOCK + 1_000] ^= 1;
    let covered = run(&mut memory, Pass::Verify).expect("reads");
    let bad = |block, damage| Bad { block, damage };
    assert_eq!(
        covered.bad,
        [
            bad(17, Damage::Moved { of: 2_900 }),
            bad(500, Damage::Changed),
            bad(2_900, Damage::Moved { of: 17 })
        ]
    );
    assert_eq!(covered.counts, Counts { errors: 0, wrong: 3 });
}

#[test]
fn the_stamps_of_another_run_are_wrong() {
    let mut memory = written();
    let other = cover(&mut memory, Pass::Verify, &(0..BLOCKS), SALT + 1, &Cancel::default());
    let other = other.expect("reads");
    assert_eq!(other.counts, Counts { errors: 0, wrong: BLOCKS });
    assert_eq!(other.bad.len(), 100);
}

#[test]
fn blocks_that_fail_are_found_one_by_one() {
    let mut memory = written();
    memory.unreadable = [3, 4, 2_047].into();
    memory.swap(5, 6);
    let covered = run(&mut memory, Pass::Verify).expect("reads");
    assert_eq!(covered.counts, Counts { errors: 3, wrong: 2 });
    memory.unwritable = [9].into();
    let covered = run(&mut memory, Pass::Write).expect("writes");
    assert_eq!((covered.counts.errors, covered.failed), (1, None));
}

#[test]
fn a_drive_on_which_too_much_fails_is_given_up_and_one_that_is_gone_is_no_bad_one() {
    let mut memory = written();
    memory.unreadable = (0..BLOCKS).collect();
    let covered = run(&mut memory, Pass::Verify).expect("reads");
    assert_eq!((covered.counts.errors, covered.failed), (256, Some(Failure::TooManyErrors)));
    memory.is_gone = true;
    assert_eq!(run(&mut memory, Pass::Verify).expect_err("is gone").raw_os_error(), Some(19));
}

#[test]
fn a_pass_ends_after_a_transfer() {
    let cancel = Cancel::default();
    cancel.set();
    let mut memory = Memory::new();
    cover(&mut memory, Pass::Write, &(0..BLOCKS), SALT, &cancel).expect("writes");
    let written = memory.data.chunks(BLOCK).filter(|block| block.iter().any(|byte| *byte != 0)).count();
    assert_eq!(written, 750, "the first of four pieces");
}

fn whole() -> Tested {
    Tested { blocks: BLOCKS, parts: 3, written: 3, verified: 3, ..Tested::default() }
}

#[test]
fn a_drive_is_accepted_only_if_all_of_it_is_good() {
    assert_eq!(Verdict::of(&whole()), Verdict::Accept);
    let counts = Counts { errors: 1, wrong: 0 };
    let bad = Tested { counts, verified: 2, ..whole() };
    assert_eq!(Verdict::of(&bad), Verdict::Reject(vec![Reason::Blocks]));
    assert_eq!(Verdict::of(&Tested { verified: 1, ..whole() }), Verdict::Undecided);
    let failed = |failure| Tested { failed: Some((failure, Pass::Verify, 1)), verified: 1, ..whole() };
    assert_eq!(Verdict::of(&failed(Failure::Gone)), Verdict::Undecided);
    assert_eq!(Verdict::of(&failed(Failure::TooManyErrors)), Verdict::Reject(vec![Reason::TooManyErrors]));
}

#[test]
fn counters_that_rose_reject_a_drive_and_old_ones_do_not() {
    let smart = |reallocated, pending| {
        Some(Health { reallocated: Some(reallocated), pending, passed: Some(true), ..Health::default() })
    };
    let tested = |before, after| Verdict::of(&Tested { before, after, ..whole() });
    assert_eq!(tested(smart(8, None), smart(8, Some(3))), Verdict::Accept);
    assert_eq!(
        tested(smart(8, Some(0)), smart(9, Some(0))),
        Verdict::Reject(vec![Reason::Rose(Counter::Reallocated, 8, 9)])
    );
    let fails = Some(Health { passed: Some(false), ..Health::default() });
    assert_eq!(tested(None, fails), Verdict::Reject(vec![Reason::Rose(Counter::Failing, 0, 1)]));
}

/// Sticks of 0.5 GB of one model.
fn sticks(n: usize) -> Vec<Target> {
    let stick = |at| {
        let mut target = in_bay(at);
        target.drives[0].sectors = 1_000_000;
        target
    };
    (0..n).map(stick).collect()
}

fn planned(n: usize, seed: Option<u64>) -> Plan {
    let mut values = Values::default();
    if let Some(seed) = seed {
        values.set("seed", &seed.to_string());
    }
    ACCEPT.plan(&Request::new(&ACCEPT, sticks(n), values).expect("fits")).expect("plans")
}

/// The record of modelled sticks, of which the second has a block with an error and the third is slower from 60 % on.
fn events(plan: &Plan) -> Vec<Event> {
    let mut events = testing::carry_out(plan);
    for event in &mut events {
        let Event::Act { step, target: Some(at), result, .. } = event else { continue };
        let at = *at as usize;
        let (_, act) = plan.acts::<CoverPart>().find(|(of, _)| of.id == *step).expect("an act");
        let (range, blocks) = (act.range(&act.drives[at]), act.drives[at].blocks());
        result.change(|covered: &mut Covered| {
            for nth in 0..PIECES {
                let piece = part(&range, nth, PIECES);
                let slow = if at == 2 && piece.start * 10 >= blocks * 6 { 0.75 } else { 1.0 };
                let noise = 1.0 + 0.002 * ((piece.start / 7 + 3 * at as u64) % 10) as f64;
                let bytes = (piece.end - piece.start) * BLOCK as u64;
                covered.pieces.push(Piece { bytes, seconds: bytes as f64 / (20e6 * slow * noise) });
            }
            if at == 1 && act.pass == Pass::Verify && range.contains(&25_600) {
                covered.add(25_600, Damage::Unreadable);
            }
        });
    }
    events
}

#[test]
fn a_modelled_lot() {
    let plan = planned(4, Some(1));
    let found = ACCEPT.findings(&mut events(&plan).into_iter());
    insta::assert_snapshot!([plan.describe(), found.verdicts.join("\n")].join("\n"));
    let real = |at: usize| {
        let mut sizes = found.estimates.iter().filter(|m| m.quantity == Quantity::RealSize);
        sizes.nth(at).map(|m| m.estimate.value)
    };
    assert_eq!((real(0), real(1)), (Some(512e6), Some(512e6 - 4096.0)));
    let unfit: Vec<_> = found.fitness.iter().map(|f| (f.target.as_str(), f.verdict)).collect();
    assert_eq!(unfit, [("/dev/sdb", fitness::Verdict::Unfit(fitness::Need::Kept, 4096.0))]);
    assert_eq!(found.figures.iter().map(|figure| figure.curves.len()).collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn a_drive_that_failed_is_left_out_of_the_verdict_from_then_on() {
    let plan = planned(3, Some(1));
    let mut events = testing::carry_out(&plan);
    let verify: Vec<_> = plan.acts::<CoverPart>().filter(|(_, act)| act.pass == Pass::Verify).collect();
    for event in &mut events {
        let Event::Act { step, target: Some(1), result, .. } = event else { continue };
        if *step == verify[2].0.id {
            result.observed = Some(Covered::failed(Failure::Gone).into());
        } else if *step > verify[2].0.id {
            // What another drive in its place would hold.
            let counts = Counts { errors: 0, wrong: 1000 };
            result.change(|covered: &mut Covered| covered.counts = counts);
        }
    }
    let found = ACCEPT.findings(&mut events.into_iter());
    let begins: Vec<_> = found.verdicts.iter().filter_map(|v| v.split([':', ' ']).nth(2)).collect();
    assert_eq!(begins, ["UNDECIDED", "ACCEPT", "ACCEPT"]);
    assert!(found.fitness.is_empty());
}

#[test]
fn each_plan_has_stamps_of_its_own_and_keeps_them() {
    let seed = |plan: &Plan| plan.acts::<CoverPart>().map(|(_, act)| act.seed).collect::<BTreeSet<_>>();
    let (one, other) = (planned(1, None), planned(1, None));
    assert_eq!((seed(&one).len(), seed(&planned(1, Some(3)))), (1, [3].into()));
    assert_ne!(seed(&one), seed(&other));
    let saved = serde_json::to_string(&one).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&saved).expect("reads back"), one);
}

#[test]
fn all_is_written_before_anything_is_verified() {
    let plan = planned(2, None);
    let passes: Vec<Pass> = plan.acts::<CoverPart>().map(|(_, act)| act.pass).collect();
    assert!(passes.is_sorted() && passes.len() == 2 * 7, "{passes:?}");
    assert!(plan.steps.iter().all(|step| step.on == [0, 1]));
    let run: Run<()> = Run::of(Vec::new().into_iter());
    assert!(run.acts.is_empty());
}
