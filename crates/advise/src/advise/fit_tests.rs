//! Which load answers which question.

use super::{
    testing::{
        at_once, card_and_flash, drive, fit, four_sticks, load, metric, of, random, run, two_sticks,
        two_with_all_loads, within,
    },
    *,
};
use crate::{
    findings::{
        Carrier, CarrierDrive, Findings, Limiter, LoadKey, Measures, Metric, Origin, Quantity, Reference,
        Scope,
        fitness::{KeptData, Need, SwapTest, Use, Verdict},
    },
    inventory::Drive,
    units::{Direction, MIB},
};

fn answer(answers: &[Answer], topic: Topic) -> &Answer {
    answers.iter().find(|a| a.topic == topic).expect("an answer")
}

/// What is said of every topic, without the names of runs.
fn says(answers: &[Answer]) -> Vec<(Topic, &str, &[String])> {
    answers.iter().map(|a| (a.topic, a.says.as_str(), &a.loads[..])).collect()
}

#[test]
fn data_and_limits_use_large_blocks_and_name_them() {
    let (inventory, evidence) = two_with_all_loads();
    let answers = advise(&inventory, &evidence);
    let data = answer(&answers, Topic::Data);
    assert!(
        data.says.starts_with("Keep data on Cruzer Blade in bay 1.2: 4.01 GB, writes 20.0 MB/s"),
        "{data:?}"
    );
    assert_eq!((data.sure, &data.loads[..]), (Sure::Measured, &["sequential 1 MiB, depth 1".to_owned()][..]));
    let limits = answer(&answers, Topic::Limits);
    assert!(limits.says.contains("reads 30.0 MB/s"), "{limits:?}");
    assert_eq!(limits.loads, ["sequential 1 MiB, depth 1"]);
}

#[test]
fn swap_goes_on_a_drive_that_is_fit_for_it() {
    let (inventory, mut evidence) = two_with_all_loads();
    let open = advise(&inventory, &evidence);
    assert_ne!(answer(&open, Topic::Swap).sure, Sure::Measured, "no run judged a drive");
    evidence.push(fit(&inventory, "r10", "sda", Use::Swap, Verdict::Fit));
    evidence.push(fit(&inventory, "r10", "sdb", Use::Swap, Verdict::Unfit(Need::RandomWrites, 24.0)));
    let answers = advise(&inventory, &evidence);
    let swap = answer(&answers, Topic::Swap);
    assert!(
        swap.says.ends_with("on Cruzer Blade in bay 1.2, no small random write took over 300 ms."),
        "{swap:?}"
    );
    let unfit = "Cruzer Blade in bay 1.3 is not fit for swap: random writes 24 IOPS, 2,000 IOPS needed.";
    assert!(swap.because.iter().any(|because| because == unfit), "{swap:?}");
    assert_eq!((swap.sure, &swap.loads[..]), (Sure::Measured, &["random 4 KiB, depth 1".to_owned()][..]));
}

#[test]
fn a_stop_in_any_run_makes_a_drive_unfit() {
    let (inventory, _) = two_with_all_loads();
    let says = |evidence: &[Evidence]| answer(&advise(&inventory, evidence), Topic::Swap).clone();
    let unfit = fit(&inventory, "r1", "sda", Use::Swap, Verdict::Unfit(Need::Stops, 0.7));
    let good = fit(&inventory, "r2", "sda", Use::Swap, Verdict::Fit);
    let open = fit(&inventory, "r3", "sda", Use::Swap, Verdict::Undecided(Need::Stops, None));
    let all = [unfit, good, open];
    let why = "Cruzer Blade in bay 1.2 is not fit for swap: operations stop for up to 700 ms.";
    assert_eq!(says(&all).because.first().map(String::as_str), Some(why));
    assert!(says(&all[1..]).says.contains("on Cruzer Blade in bay 1.2"), "{:?}", says(&all[1..]));
    assert!(says(&[]).says.contains("not known"));
}

#[test]
fn data_that_must_not_be_lost_avoids_a_drive_that_lost_some() {
    let (inventory, evidence) = two_with_all_loads();
    let power = |target: &str, pool: bool, kept: KeptData| {
        let drives = if pool { &["sda", "sdb"][..] } else { &["sda"] };
        let mut found = findings(&inventory, "power", drives, Vec::new());
        if pool {
            found.origin.carriers[0].drives =
                found.origin.carriers.iter().flat_map(|c| c.drives.clone()).collect();
            found.origin.carriers.truncate(1);
            found.origin.carriers[0].target = target.to_owned();
        }
        found.judge(target, Measures { kept: Some(kept), ..Measures::default() }, &[Use::Safekeeping]);
        [evidence.clone(), Evidence::of(&found)].concat()
    };
    let whole = KeptData::default();
    let answers = advise(&inventory, &power("sda", false, whole));
    assert!(answer(&answers, Topic::Data).says.starts_with("Keep data on Cruzer Blade in bay 1.2"));
    assert!(answer(&answers, Topic::Layout).says.starts_with("raid1 of"), "{answers:?}");
    for kept in [KeptData { lost_bytes: 200_000, ..whole }, KeptData { wrong_reads: 3, ..whole }] {
        let answers = advise(&inventory, &power("sda", false, kept));
        for topic in [Topic::Data, Topic::Layout] {
            let answer = answer(&answers, topic);
            assert!(
                !answer.says.contains("bay 1.2") && answer.rests_on.contains(&"r9".to_owned()),
                "{answer:?}"
            );
            let why = "Cruzer Blade in bay 1.2 is not fit for data that must not be lost:";
            assert!(answer.because.iter().any(|because| because.starts_with(why)), "{answer:?}");
        }
        // A pool of both is no better than the drive, and a layout that lost data is not proposed.
        let answers = advise(&inventory, &power("raid1, bay 1.2 pulled", true, kept));
        let layout = answer(&answers, Topic::Layout);
        assert!(layout.says.starts_with("Raid1 of") && layout.says.contains("is not fit for"), "{layout:?}");
        assert_eq!(layout.rests_on, ["r9"]);
    }
}

#[test]
fn what_swap_measured_answers_where_to_swap() {
    let (inventory, evidence) = two_with_all_loads();
    let swap = |drive: &str, longest: f64, was_stopped: bool| {
        let used = metric(Quantity::MemoryUsed, within(1.5, 0.0));
        let used = Metric { target: drive.to_owned(), ..used };
        let mut found = findings(&inventory, "swap", &[drive], vec![used]);
        let test = SwapTest { longest_wait: Some(longest), was_stopped };
        found.judge(drive, Measures { swap: Some(test), ..Measures::default() }, &[Use::Swap]);
        Evidence::of(&found)
    };
    let says = |more: &[Evidence]| {
        let answers = advise(&inventory, &[&evidence[..], more].concat());
        let swap = answer(&answers, Topic::Swap);
        (swap.says.split("Then ").last().map(str::to_owned), swap.because.join(" "))
    };
    let (text, because) = says(&swap("sdb", 0.2, false));
    let chosen = "on Cruzer Blade in bay 1.3, the longest wait of a program with swap on it was 200 ms.";
    assert_eq!(text.as_deref(), Some(chosen));
    let memory = "With swap on Cruzer Blade in bay 1.3, a program could use 1.50 times its memory.";
    assert!(because.contains(memory), "{because}");
    let (text, because) = says(&[swap("sda", 2.6, false), swap("sdb", 0.2, false)].concat());
    assert_eq!(text.as_deref(), Some(chosen));
    let unfit = "Cruzer Blade in bay 1.2 is not fit for swap: with swap on it, a program waited 2.6 s.";
    assert!(because.contains(unfit), "{because}");
    let (text, _) = says(&swap("sdb", 0.2, true));
    assert_eq!(text.as_deref(), Some("which drive is fit for swap is not known."));
    // The test of swap itself decides, whatever was measured before.
    let slow = fit(&inventory, "r10", "sdb", Use::Swap, Verdict::Unfit(Need::RandomWrites, 24.0));
    let (text, _) = says(&[vec![slow], swap("sdb", 0.2, false)].concat());
    assert_eq!(text.as_deref(), Some(chosen));
}

#[test]
fn what_limits_drives_at_once_limits_a_faster_drive() {
    let (inventory, _) = two_sticks();
    let mut inventory = inventory;
    inventory.ports.clear();
    let at = |scope: Scope, target: &str, mb: f64, reads: bool| {
        let load = LoadKey { name: if reads { "read" } else { "write" }.to_owned(), ..load(reads, MIB, 1) };
        Metric::new(target, Quantity::Throughput, within(mb * 1e6, 0.05)).of(&load).at(scope)
    };
    let found = |reads: bool| {
        let ceiling = at(Scope::Whole, "hub 1.2", 8.0, reads);
        let ceiling = Metric { quantity: Quantity::Ceiling(Limiter::Bus), ..ceiling };
        let drive = |name| [at(Scope::Alone, name, 7.9, reads), at(Scope::Together, name, 4.0, reads)];
        let sums = [at(Scope::Sum, "all", 8.0, reads), at(Scope::SumAlone, "all", 15.8, reads)];
        [&drive("sda")[..], &drive("sdb"), &sums, &[ceiling]].concat()
    };
    let evidence = [found(true), found(false)].concat();
    let found = findings(&inventory, "layouts", &["sda", "sdb"], Vec::new());
    let answers = advise(&inventory, &Evidence::of(&Findings { evidence, ..found }));
    let money = answer(&answers, Topic::Money);
    assert_eq!(
        money.says, "A faster drive would not help reads and writes: hub 1.2 carries 8.00 MB/s.",
        "{money:?}"
    );
    let limits = answer(&answers, Topic::Limits);
    assert!(limits.says.starts_with("Hub 1.2 limits them at once: 51 % of the 15.8 MB/s"), "{limits:?}");
    assert!(limits.says.contains("The network is not known"), "{limits:?}");
}

#[test]
fn figures_of_a_file_in_a_filesystem_are_not_the_drives() {
    let (inventory, evidence) = two_with_all_loads();
    let through: Vec<Evidence> = evidence.into_iter().map(|e| Evidence { indirect: true, ..e }).collect();
    for answer in advise(&inventory, &through) {
        assert!(answer.sure != Sure::Measured && answer.rests_on.is_empty(), "{answer:?}");
    }
}

#[test]
fn a_drive_that_stalled_in_any_load_is_not_fit_for_swap() {
    let (inventory, mut evidence) = two_with_all_loads();
    evidence.push(fit(&inventory, "r08", "sda", Use::Swap, Verdict::Fit));
    evidence.push(run(&inventory, 9, "sda", random(true, 4096, 1), 5.0, Some(1.21)));
    let answers = advise(&inventory, &evidence);
    let swap = answer(&answers, Topic::Swap);
    assert!(!swap.says.contains("Cruzer Blade"), "{swap:?}");
    let stall = "Cruzer Blade in bay 1.2 is not fit for swap: operations stop for up to 1.21 s.";
    assert!(swap.because.iter().any(|because| because == stall), "{swap:?}");
    assert!(swap.rests_on.contains(&"r09".to_owned()), "{swap:?}");
}

#[test]
fn boot_drives_without_intervals_are_not_called_equal() {
    let (inventory, _) = card_and_flash();
    let without = |(drive, mb)| {
        let mut e = run(&inventory, 1, drive, random(true, 4096, 1), mb, None);
        let open = |m: &mut Metric| (m.estimate.low, m.estimate.high) = (0.0, f64::INFINITY);
        e.numbers.iter_mut().for_each(open);
        e
    };
    let boot = advise(&inventory, &[("mmcblk0", 0.1), ("sda", 14.9)].map(without));
    let boot = answer(&boot, Topic::Boot);
    assert!(boot.says.contains("no other drive is known to read"), "{boot:?}");
    assert!(!boot.because.join(" ").contains("No difference found"), "{boot:?}");
}

#[test]
fn boot_uses_small_random_reads_one_at_a_time_then_writes() {
    let (inventory, _) = card_and_flash();
    let boot = |evidence: &[Evidence]| answer(&advise(&inventory, evidence), Topic::Boot).clone();
    // Many at once and in order, the flash drive is far ahead.
    let mut all: Vec<Evidence> = [(random(true, 4096, 32), 5.0, 100.0), (load(true, 4096, 1), 9.0, 90.0)]
        .into_iter()
        .zip([5, 6])
        .flat_map(|((load, card, flash), hour)| {
            [("mmcblk0", card), ("sda", flash)]
                .map(|(d, mb)| run(&inventory, hour, d, load.clone(), mb, None))
        })
        .collect();
    let unknown = boot(&all);
    assert!(
        unknown.rests_on.is_empty() && unknown.loads.is_empty() && unknown.decide.is_some(),
        "{unknown:?}"
    );
    let one = random(true, 4096, 1);
    all.extend([("mmcblk0", 5.0), ("sda", 5.1)].map(|(d, mb)| run(&inventory, 1, d, one.clone(), mb, None)));
    let equal = boot(&all);
    assert!(equal.says.starts_with("Stay with the SD card: no other drive is known"), "{equal:?}");
    assert_eq!((&equal.loads[..], &equal.decide), (&["random 4 KiB, depth 1".to_owned()][..], &None));
    all.extend([("mmcblk0", 5.0), ("sda", 6.0)].map(|(d, mb)| run(&inventory, 2, d, one.clone(), mb, None)));
    assert!(boot(&all).says.starts_with("Stay with the SD card"), "a gain that is not worth the move");
    all.extend([("mmcblk0", 5.0), ("sda", 15.0)].map(|(d, mb)| run(&inventory, 3, d, one.clone(), mb, None)));
    let faster = boot(&all);
    assert!(
        faster.says.contains("from Ultra Fit: it reads small blocks at random 3.0 times as fast"),
        "{faster:?}"
    );
    all.push(run(&inventory, 3, "mmcblk0", random(false, 4096, 1), 0.1, Some(2.6)));
    let stalls = boot(&all).because.join(" ");
    assert!(
        stalls.contains("The SD card is not fit for a system: operations stop for up to 2.6 s."),
        "{stalls}"
    );
    all.push(fit(&inventory, "r04", "sda", Use::System, Verdict::Unfit(Need::RandomWrites, 98.0)));
    let unfit = boot(&all);
    assert_eq!(unfit.says, "The SD card is not fit for a system, and no other drive here is known to be.");
    all.pop();
    all.push(fit(&inventory, "r04", "sda", Use::System, Verdict::Fit));
    let better = boot(&all).says;
    assert_eq!(better, "Boot from Ultra Fit rather than from the SD card, which is not fit for a system.");
}

#[test]
fn another_block_size_measured_last_changes_nothing() {
    let (inventory, _) = two_with_all_loads();
    let blocks = [MIB, 128 * 1024, 2 * MIB, 512 * 1024, 4096, 16 * MIB];
    // Each block size has another favourite; the random loads too.
    let measured = |hour: u32, block: u64| {
        let (a, b) = if block == MIB { (20.0, 10.0) } else { (5.0, 30.0) };
        let small = (block / 64).min(16 * 1024);
        let (c, d) = if small == 16 * 1024 { (0.3, 0.9) } else { (0.9, 0.3) };
        vec![
            run(&inventory, hour, "sda", load(false, block, 1), a, Some(0.1)),
            run(&inventory, hour, "sdb", load(false, block, 1), b, Some(0.1)),
            run(&inventory, hour, "sda", load(true, block, 1), a * 2.0, Some(0.1)),
            run(&inventory, hour, "sdb", load(true, block, 1), b * 2.0, Some(0.1)),
            run(&inventory, hour, "sda", random(false, small, 1), 1.0, Some(c)),
            run(&inventory, hour, "sdb", random(false, small, 1), 1.0, Some(d)),
            Evidence {
                at: format!("2026-11-21T{hour:02}:00:00Z"),
                ..at_once(
                    &inventory,
                    &format!("r{hour:02}"),
                    &["sda", "sdb"],
                    load(true, block, 1),
                    within(a * 3.0, 0.02),
                    a * 3.0,
                )
            },
        ]
    };
    let (forth, back): (Vec<_>, Vec<_>) =
        (1..).zip(blocks).map(|(n, block)| (measured(n, block), measured(20 - n, block))).unzip();
    let forth = advise(&inventory, &forth.concat());
    let back = advise(&inventory, &back.concat());
    assert_eq!(says(&forth), says(&back));
    assert!(answer(&forth, Topic::Data).says.contains("in bay 1.2: 4.01 GB, writes 20.0 MB/s"), "{forth:?}");
    let once_more = advise(&inventory, &[measured(1, MIB), measured(2, 4096)].concat());
    assert_eq!(answer(&once_more, Topic::Data).says, answer(&forth, Topic::Data).says);
}

#[test]
fn a_run_with_an_interval_counts_before_a_newer_one_without() {
    let (inventory, _) = two_with_all_loads();
    let mut runs = [(1, 10.0), (2, 12.0), (3, 14.0)]
        .map(|(hour, mb)| run(&inventory, hour, "sda", load(false, MIB, 1), mb, Some(0.1)));
    let open = |m: &mut Metric| (m.estimate.low, m.estimate.high) = (0.0, f64::INFINITY);
    runs[2].numbers.iter_mut().for_each(open);
    let says = |runs: &[Evidence]| answer(&advise(&inventory, runs), Topic::Data).says.clone();
    assert!(says(&runs).contains("writes 12.0 MB/s ±2.0 %"), "{}", says(&runs));
    assert!(says(&runs[2..]).contains("writes 14.0 MB/s"), "{}", says(&runs[2..]));
}

#[test]
fn of_equal_loads_the_newest_run_counts() {
    let (inventory, _) = two_with_all_loads();
    let runs = [(1, 10.0), (2, 12.0)]
        .map(|(hour, mb)| run(&inventory, hour, "sda", load(false, MIB, 1), mb, Some(0.1)));
    let answers = advise(&inventory, &runs);
    assert!(answer(&answers, Topic::Data).says.contains("writes 12.0 MB/s"), "{answers:?}");
}

#[test]
fn comparable_runs_of_a_drive_are_pooled_by_their_rounds() {
    let (inventory, _) = two_with_all_loads();
    let mut runs = [(1, 20.0), (2, 10.0), (3, 10.4)]
        .map(|(hour, mb)| run(&inventory, hour, "sda", load(false, MIB, 1), mb, Some(0.1 * f64::from(hour))));
    for (e, rounds) in runs.iter_mut().zip([90, 30, 10]) {
        e.numbers.iter_mut().for_each(|m| m.rounds = Some(rounds));
    }
    let answers = advise(&inventory, &runs);
    let data = answer(&answers, Topic::Data);
    // 20 MB/s is another state of the drive; its longest wait counts.
    assert!(data.says.contains("writes 10.1 MB/s ±"), "{data:?}");
    assert!(data.says.ends_with("no large write took longer than 300 ms."), "{data:?}");
    assert_eq!(data.rests_on, ["r02", "r03"]);
    // In another bay it is another measurement.
    runs[1].bays = vec!["another".to_owned()];
    let answers = advise(&inventory, &runs);
    assert!(answer(&answers, Topic::Data).says.contains("writes 10.4 MB/s"), "{answers:?}");
}

#[test]
fn other_loads_give_no_verdict_but_a_command() {
    // Four sticks, 4 KiB in order.
    let (inventory, evidence) = four_sticks();
    let answers = advise(&inventory, &evidence);
    for topic in [Topic::Data, Topic::Swap, Topic::Limits] {
        let answer = answer(&answers, topic);
        assert!(answer.sure != Sure::Measured && answer.decide.is_some(), "{answer:?}");
        assert!(!answer.says.contains("Keep data on") && !answer.says.contains("took over"), "{answer:?}");
    }
    assert_eq!(
        answer(&answers, Topic::Limits).decide.as_deref(),
        Some("run together --bs 1M /dev/sda /dev/sdc /dev/sdd /dev/sdb")
    );
    let stall = "DataTraveler 3.0 stalled for 2.6 s in another load.";
    assert!(answer(&answers, Topic::Data).says.ends_with(stall), "{answers:?}");
    // Writes that wait in a queue are no stall.
    let queued = [run(&inventory, 1, "sda", random(false, 4096, 32), 0.1, Some(1.3))];
    let answers = advise(&inventory, &queued);
    assert!(answers.iter().all(|a| a.rests_on.is_empty()), "{answers:?}");
    // Unknown loads of imports, and those through the page cache, are no better.
    let unlike = [
        LoadKey { block: None, ..load(false, MIB, 1) },
        LoadKey { depth: None, ..load(false, MIB, 1) },
        LoadKey { caching: None, ..load(false, MIB, 1) },
        LoadKey { caching: Some(crate::units::Caching::Buffered), cold: true, ..load(false, MIB, 1) },
        random(false, MIB, 1),
        LoadKey { jobs: Some(4), ..random(false, 4096, 1) },
        LoadKey { sync: Some(true), ..random(false, 4096, 1) },
    ];
    for load in unlike {
        let answers = advise(&inventory, &[run(&inventory, 1, "sda", load.clone(), 10.0, Some(0.1))]);
        for topic in [Topic::Data, Topic::Swap] {
            assert!(answer(&answers, topic).sure != Sure::Measured, "{load:?}: {answers:?}");
        }
    }
}

/// Findings of an experiment on these drives.
fn findings(inventory: &Inventory, experiment: &str, drives: &[&str], estimates: Vec<Metric>) -> Findings {
    let carrier = |name: &&str| {
        let drive: &Drive = drive(inventory, name);
        let identity = drive.identity();
        Carrier {
            target: (*name).to_owned(),
            drives: vec![CarrierDrive { identity, full_bay: drive.full_bay(), ..CarrierDrive::default() }],
            ..Carrier::default()
        }
    };
    let origin = Origin {
        at: "2026-11-22T10:00:00Z".to_owned(),
        board: inventory.machine.board.clone(),
        carriers: drives.iter().map(carrier).collect(),
        ..Origin::default()
    };
    let (run, experiment) = ("r9".to_owned(), experiment.to_owned());
    Findings { run, experiment, origin, estimates, ..Findings::default() }
}

#[test]
fn small_files_change_the_advice_for_data() {
    let (inventory, mut evidence) = two_with_all_loads();
    let cost = |drive: &str, ms: f64| {
        let estimate = within(ms / 1000.0, 0.05);
        Metric::new(drive, Quantity::CostPerFile(Direction::Write), estimate)
    };
    let with = |costs: [f64; 2]| {
        let costs = vec![cost("sda", costs[0]), cost("sdb", costs[1])];
        Evidence::of(&findings(&inventory, "smallfiles", &["sda", "sdb"], costs))
    };
    let cheaper = advise(&inventory, &[evidence.clone(), with([30.0, 2.0])].concat());
    let data = answer(&cheaper, Topic::Data);
    let files =
        "Writing a small file to Cruzer Blade in bay 1.2 takes 30 ms ±5.0 %; copy many as one archive.";
    assert!(data.says.contains("Keep data on Cruzer Blade in bay 1.2"), "{data:?}");
    assert!(data.because.iter().any(|why| why == files), "{data:?}");
    assert!(data.rests_on.contains(&"r9".to_owned()), "{data:?}");
    evidence.extend(with([2.0, 30.0]));
    let data = answer(&advise(&inventory, &evidence), Topic::Data).because.join(" ");
    assert!(data.contains("Writing a small file to Cruzer Blade in bay 1.2 takes 2 ms"), "{data}");
    // A cost that may be zero is none.
    let mut vague = with([30.0, 2.0]);
    vague.iter_mut().flat_map(|e| &mut e.numbers).for_each(|m| m.estimate.low = 0.0);
    let data = answer(&advise(&inventory, &[two_with_all_loads().1, vague].concat()), Topic::Data).clone();
    assert!(!data.because.join(" ").contains("small files"), "{data:?}");
}

#[test]
fn a_slow_bay_is_left_empty() {
    let (inventory, _) = two_sticks();
    let empty = |levels: &[(&str, f64)]| {
        let quantity = || Quantity::RelativeSpeed(Reference::Other);
        let level =
            |(of, e): &(&str, f64)| Metric::new(of, quantity(), within(*e, 0.05)).of(&load(true, MIB, 1));
        let found = findings(&inventory, "bays", &["sda", "sdb"], Vec::new());
        let found = Findings { evidence: levels.iter().map(level).collect(), ..found };
        let answers = advise(&inventory, &Evidence::of(&found));
        answers.into_iter().find(|a| a.topic == Topic::Money && a.says.contains("empty"))
    };
    let slow = empty(&[("bay 1.2", 2.0), ("bay 1.3", 0.5)]).expect("a slow bay");
    assert_eq!(
        slow.says,
        "No cost: leave bay 1.3 empty, where every drive is slower: 0.50 times as fast as in other bays."
    );
    assert_eq!((slow.sure, &slow.rests_on[..]), (Sure::Measured, &["r9".to_owned()][..]));
    assert_eq!(empty(&[("sda", 0.2)]), None, "a slow drive is no slow bay");
    assert_eq!(empty(&[("bay 1.2", 1.03), ("bay 1.3", 0.97)]), None, "the bays may be equal");
}

#[test]
fn a_serial_alone_names_a_drive_and_an_import_is_inferred() {
    let (inventory, _) = two_sticks();
    let unnamed = LoadKey { on: None, engine: "dd".to_owned(), ..load(false, MIB, 1) };
    let one = drive(&inventory, "sdb");
    let import = |name: &str| Evidence {
        drives: vec![name.to_owned()],
        bays: vec![String::new()],
        board: None,
        load: Some(unnamed.clone()),
        numbers: vec![metric(Quantity::Throughput, within(9e6, 0.05))],
        ..of(&inventory, "r1", &["sdb"])
    };
    let data =
        |evidence: Evidence| answer(&advise(&inventory, &[evidence.named(&inventory)]), Topic::Data).clone();
    let told = data(import(one.unique_id().expect("a serial")));
    assert!(
        told.says.starts_with("Keep data on Cruzer Blade in bay 1.3: 4.01 GB, writes 9.00 MB/s"),
        "{told:?}"
    );
    assert_eq!(told.sure, Sure::Inferred);
    let why = told.because.join(" ");
    assert!(
        why.contains("r1 is an import: another tool measured it.") && !why.contains("another machine"),
        "{why}"
    );
    // The kernel's name of a drive of another machine, and a model, name none.
    for name in ["sdb", "Cruzer Blade"] {
        assert!(data(import(name)).rests_on.is_empty(), "{name}");
    }
    // Own runs come first, whatever was imported last.
    let own = run(&inventory, 1, "sdb", load(false, 128 * 1024, 1), 5.0, Some(0.1));
    let import = import(one.unique_id().expect("a serial")).named(&inventory);
    let both = advise(&inventory, &[own, import]);
    assert!(answer(&both, Topic::Data).says.contains("writes 5.00 MB/s"), "{both:?}");
}
