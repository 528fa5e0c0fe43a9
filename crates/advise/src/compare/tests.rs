//! Which loads are compared, and what the comparison says of the runs.

use super::*;
use crate::{
    analyse::Estimate,
    findings::{CarrierDrive, LoadKey, On, Origin},
    units::{Caching, Content, Direction, Load, Pattern, RunStatus},
};

fn load(name: &str, block: u64) -> LoadKey {
    let load = Load::new(Direction::Read, Pattern::Sequential, block, Caching::Direct, 1);
    LoadKey::new(name, &load, On::Directory, "psync")
}

/// A run with these loads, each at this speed.
fn run(name: &str, loads: &[LoadKey], speed: f64) -> Findings {
    let (low, high) = (speed * 0.98, speed * 1.02);
    let estimate = Estimate { value: speed, low, high, how: String::new(), converged: true, within: None };
    let metric = |load| Metric::new("/mnt/a", Quantity::Throughput, estimate.clone()).of(load);
    let drives = vec![CarrierDrive { identity: "a stick".to_owned(), ..CarrierDrive::default() }];
    let carrier =
        Carrier { target: "/mnt/a".to_owned(), on: Some(On::Directory), drives, ..Carrier::default() };
    Findings {
        run: name.to_owned(),
        experiment: "baseline".to_owned(),
        estimates: loads.iter().map(metric).collect(),
        origin: Origin { carriers: vec![carrier], ..Origin::default() },
        ..Findings::default()
    }
}

fn of(a: &Findings, b: &Findings, forced: bool) -> Result<Findings, CompareError> {
    compare((a, None), Some((b, None)), &[], forced)
}

#[test]
fn the_same_load_is_found_under_another_name() {
    // The default of before called it `write`, the suite `posts` another name; a suite of today has a `read` of its own.
    let a = run("rA", &[load("read", 4096)], 6e6);
    let b = run("rB", &[load("read", 1 << 20), load("SEQ4K read", 4096)], 3e6);
    let found = of(&a, &b, false).expect("one load in common");
    assert_eq!(found.estimates.len(), 1);
    assert!((found.estimates[0].estimate.value - 2.0).abs() < 0.01, "{:?}", found.estimates);
    assert_eq!(found.estimates[0].load.as_ref().and_then(|load| load.block), Some(4096));
    // What is not known of a load is no reason to call it the same.
    let unknown = LoadKey { depth: None, ..load("dd", 4096) };
    assert!(matches!(of(&a, &run("rB", &[unknown], 6e6), false), Err(CompareError::NothingInCommon { .. })));
}

/// A finished run at this speed on a stick of this identity.
fn of_stick(identity: &str, at: &str, speed: f64) -> Findings {
    let mut run = run("rA", &[load("read", 4096)], speed);
    run.origin.at = at.to_owned();
    run.origin.ended = RunStatus::Finished;
    let drive = &mut run.origin.carriers[0].drives[0];
    (drive.identity, drive.model, drive.bytes) =
        (identity.to_owned(), Some("Ultra".to_owned()), Some(32 << 30));
    drive.link_mbps = Some(480);
    run
}

#[test]
fn a_run_has_a_place_among_other_drives_of_its_model() {
    let (own, packed) = (of_stick("own+1", "2026", 10e6), of_stick("pseudonym+1", "2026", 10e6));
    let mut peers = Peers::of(&own, None, &packed).expect("a drive of a known model");
    let mut among = |packs: &[Findings]| {
        let counted: Vec<bool> = packs.iter().map(|pack| peers.add(pack)).collect();
        (counted, peers.findings())
    };
    let four: Vec<Findings> =
        (0..4).map(|n| of_stick(&format!("{n}+1"), "2025", 24e6 + f64::from(n) * 1e6)).collect();
    let (counted, few) = among(&four);
    assert_eq!((counted, few.estimates.len(), few.tables.len()), (vec![true; 4], 0, 0));
    let mut other = [(); 5].map(|()| of_stick("5+1", "2025", 1e6));
    other[0].origin.suite = Some("posts".to_owned());
    other[1].origin.ended = RunStatus::Interrupted;
    other[2].origin.carriers[0].drives[0].model = Some("Ultra Fit".to_owned());
    other[3].origin.carriers[0].drives[0].bytes = Some(64 << 30);
    other[4].modelled = true;
    let (counted, _) = among(&[own.clone(), packed.clone()]);
    assert_eq!(counted, [false; 2], "the drive itself");
    assert_eq!(among(&other).0, [false; 5]);
    // A drive counts with its newest pack; without a serial it is another one on each machine.
    let in_bay = |machine: &str| {
        let mut pack = of_stick("unnamed+1@usb-1.1", "2025", 27e6);
        pack.origin.machine_id = Some(machine.to_owned());
        pack.origin.carriers[0].drives[0].link_mbps = Some(5000);
        pack
    };
    let (_, found) =
        among(&[of_stick("0+1", "2024", 1e6), of_stick("1+1", "2026", 9e6), in_bay("a"), in_bay("b")]);
    let [slower] = &found.estimates[..] else { panic!("{:?}", found.estimates) };
    assert_eq!((&slower.quantity, slower.estimate.value), (&Quantity::SlowerPeers, 1.0 / 6.0));
    assert_eq!(found.tables[0].rows[0][2], "6 of 7");
    let own = of_stick("own+1", "2026", 25.5e6);
    let mut peers = Peers::of(&own, None, &own).expect("a drive of a known model");
    let five = (0..5).map(|n| of_stick(&format!("{n}+1"), "2025", 24e6 + f64::from(n) * 1e6));
    five.for_each(|pack| assert!(peers.add(&pack)));
    let normal = peers.findings();
    let lines = [found.context, found.verdicts, found.flags, normal.context, normal.verdicts];
    insta::assert_snapshot!(lines.concat().join("\n"));
}

#[test]
fn no_speeds_however_odd_give_an_infinite_ratio() {
    let speeds = [0.0, f64::MIN_POSITIVE, 1e-300, 1.0, 1e9, 1e300, f64::MAX, f64::INFINITY, f64::NAN];
    let mut compared = 0;
    for (x, y) in speeds.iter().flat_map(|x| speeds.map(|y| (*x, y))) {
        for (low, high) in [(0.98, 1.02), (0.0, 1.1), (0.5, f64::INFINITY), (0.0, f64::INFINITY)] {
            let mut runs = [run("rA", &[load("read", 4096)], x), run("rB", &[load("read", 4096)], y)];
            for run in &mut runs {
                let estimate = &mut run.estimates[0].estimate;
                (estimate.low, estimate.high) = (estimate.value * low, estimate.value * high);
            }
            let Ok(found) = of(&runs[0], &runs[1], false) else { continue };
            compared += 1;
            assert!(found.estimates.iter().all(|metric| metric.estimate.value.is_finite()), "{x} and {y}");
            let text =
                [found.verdicts, found.details.sentences, found.tables[0].rows.concat()].concat().join(" ");
            let words = || text.split(|c: char| !c.is_alphanumeric());
            assert!(!words().any(|word| ["inf", "NaN"].contains(&word)), "{x} and {y}: {text}");
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn unlike_loads_are_refused_unless_forced() {
    let same = load("read", 4096);
    let unlike = [
        load("read", 1 << 20),
        LoadKey { direction: Some(Direction::Write), ..same.clone() },
        LoadKey { pattern: Some(Pattern::Random), ..same.clone() },
        LoadKey { depth: Some(32), ..same.clone() },
        LoadKey { caching: Some(Caching::Buffered), ..same.clone() },
        LoadKey { sync: Some(true), ..same.clone() },
        LoadKey { content: Some(Content::Zeros), ..same.clone() },
        LoadKey { on: Some(On::Device), ..same.clone() },
    ];
    let a = run("rA", std::slice::from_ref(&same), 6e6);
    for other in unlike {
        let b = run("rB", std::slice::from_ref(&other), 6e6);
        assert!(matches!(of(&a, &b, false), Err(CompareError::Unlike { .. })), "{other:?}");
        let forced = of(&a, &b, true).expect("forced");
        assert!(forced.verdicts[0].starts_with("Different loads: 'read' is "), "{:?}", forced.verdicts);
        assert_eq!(forced.estimates.len(), 1);
    }
    // An existing file and one of drivebench's own are both files; what an import doesn't know is no difference.
    for other in [LoadKey { on: Some(On::File), ..same.clone() }, LoadKey { block: None, ..same }] {
        assert!(of(&a, &run("rB", &[other], 6e6), false).is_ok());
    }
}

#[test]
fn only_like_loads_are_compared() {
    let a = run("rA", &[load("read", 4096), load("RND4K", 4096)], 6e6);
    let b = run("rB", &[load("read", 1 << 20), load("RND4K", 4096)], 6e6);
    let compared = of(&a, &b, false).expect("one of them");
    let names: Vec<_> =
        compared.estimates.iter().filter_map(|m| Some(m.load.as_ref()?.name.as_str())).collect();
    assert_eq!(names, ["RND4K"]);
    assert!(compared.flags.iter().any(|flag| flag.starts_with("Not compared: 'read' is ")), "{compared:?}");
}

#[test]
fn flags_of_both_runs_are_shown_and_other_io_is_named_as_a_cause() {
    let [mut a, mut b] =
        [("rA", 6e6), ("rB", 9e6)].map(|(name, speed)| run(name, &[load("read", 4096)], speed));
    let idle = of(&a, &b, false).expect("alike");
    assert!(!idle.verdicts[0].contains("Other programs"), "{:?}", idle.verdicts);
    a.flags.push("The processor was hot.".to_owned());
    [&mut a, &mut b].into_iter().for_each(|run| run.flags.push("It was noon.".to_owned()));
    a.origin.carriers[0].other_io = true;
    let busy = of(&a, &b, false).expect("alike");
    assert_eq!(busy.flags, ["rA: The processor was hot.", "rA and rB: It was noon."]);
    assert!(busy.verdicts[0].contains("Other programs used the drive during rA"), "{:?}", busy.verdicts);
    // They made the slower run slow, and can't have made the faster one fast.
    b.origin.carriers[0].other_io = true;
    let both = of(&a, &b, false).expect("alike");
    assert!(both.verdicts[0].contains("during rA: repeat") && !both.verdicts[0].contains("rB:"), "{both:?}");
    a.origin.carriers[0].other_io = false;
    let faster = of(&a, &b, false).expect("alike");
    assert!(!faster.verdicts[0].contains("Other programs"), "{:?}", faster.verdicts);
}

#[test]
fn a_percentile_that_is_not_resolved_is_a_bound_on_both_sides() {
    let [mut a, mut b] = ["rA", "rB"].map(|name| run(name, &[load("read", 4096)], 6e6));
    for (run, low, high) in [(&mut a, 1e-3, f64::INFINITY), (&mut b, 1.9e-3, 2.1e-3)] {
        let estimate = Estimate { low, high, ..Estimate::unbounded(2e-3, "") };
        let quantity = Quantity::Latency(crate::units::Percentile::P9999);
        run.estimates.push(Metric::new("/mnt/a", quantity, estimate).of(&load("read", 4096)));
    }
    let found = of(&a, &b, false).expect("alike");
    let row = &found.details.tables[0].rows[0];
    assert_eq!(row[1..4], ["at least 1 ms", "2 ms", "at least 0.50"]);
    let row = &of(&b, &a, false).expect("alike").details.tables[0].rows[0];
    assert_eq!(row[1..4], ["2 ms", "at least 1 ms", "at most 2.00"]);
}

#[test]
fn numbers_without_an_interval_share_a_sentence() {
    let loads: Vec<LoadKey> = (0..12).map(|n| load(&format!("read {n}"), 4096)).collect();
    let (a, mut b) = (run("rA", &loads, 6e6), run("rB", &loads, 6.1e6));
    b.estimates.iter_mut().for_each(|m| m.estimate.high = f64::INFINITY);
    let [sentence] = &of(&a, &b, false).expect("alike").verdicts[..] else { panic!("one sentence") };
    assert!(sentence.ends_with("and 9 more. Repeat both when nothing else runs."), "{sentence}");
    // Neither has one: the ratio is said, but not that they are alike.
    let mut none = a.clone();
    [&mut none, &mut b].into_iter().flat_map(|run| &mut run.estimates).for_each(|m| {
        m.estimate = Estimate::unbounded(m.estimate.value, "");
    });
    let found = of(&none, &b, false).expect("alike");
    assert!(found.verdicts[0].contains("to judge: read 0 (0.98 times)"), "{:?}", found.verdicts);
    assert!(found.verdicts[0].ends_with("Repeat both when nothing else runs."), "{:?}", found.verdicts);
}

#[test]
fn stored_runs_of_a_drive_say_how_much_runs_differ() {
    let read = [load("read", 4096)];
    let (a, b) = (run("rA", &read, 100e6), run("rB", &read, 105e6));
    let differ = |others: &[Findings]| {
        let found = compare((&a, None), Some((&b, None)), others, false).expect("one load in common");
        found.tables[0].rows[0].last().cloned()
    };
    assert_eq!(differ(&[]), Some("not found".to_owned()), "single runs may differ by more");
    let at = |speeds: [f64; 4]| speeds.map(|speed| run("r0", &read, speed * 1e6));
    assert_eq!(differ(&at([100.0, 100.5, 99.5, 100.2])), Some("yes".to_owned()));
    assert_eq!(differ(&at([100.0, 103.0, 97.0, 100.2])), Some("not found".to_owned()));
    assert_eq!(
        differ(&at([100.0, 100.5, 99.5, 100.2])[..2]),
        Some("not found".to_owned()),
        "two are too few"
    );
}

#[test]
fn a_wide_interval_is_no_sign_of_equality() {
    let wide = |name| {
        let mut run = run(name, &[load("read", 4096)], 6e6);
        let e = &mut run.estimates[0].estimate;
        (e.low, e.high) = (e.value / 3.0, e.value * 3.0);
        run
    };
    let found = of(&wide("rA"), &wide("rB"), false).expect("alike");
    assert_eq!(found.tables[0].rows[0].last().map(String::as_str), Some("not known"));
    assert!(
        found.verdicts[0].starts_with("Too few or too noisy to judge: read (0.2"),
        "{:?}",
        found.verdicts
    );
}

#[test]
fn times_of_files_are_judged() {
    let run = |name, seconds: f64| {
        let files = Quantity::FilesTime { direction: Direction::Write, files: 128, size: 65536 };
        let mut run = run(name, &[load("read", 4096)], 6e6);
        let metric = &mut run.estimates[0];
        (metric.quantity, metric.load) = (files, None);
        let e = &mut metric.estimate;
        (e.value, e.low, e.high) = (seconds, seconds * 0.98, seconds * 1.02);
        run
    };
    let verdict = |other| of(&run("rA", 0.1), &run("rB", other), false).expect("alike").verdicts.concat();
    let slower = verdict(0.25);
    assert!(slower.contains("rB takes 2.5") && slower.contains("as long as rA"), "{slower}");
    assert!(verdict(0.1).starts_with("No difference found: "), "{}", verdict(0.1));
}

#[test]
fn nothing_is_compared_with_itself() {
    let mut a = run("rA", &[load("read", 4096)], 6e6);
    a.origin.carriers[0].names = vec!["/mnt/a".to_owned()];
    let same = compare((&a, None), Some((&a, Some("/mnt/a"))), &[], false);
    assert!(matches!(same, Err(CompareError::Itself { .. })), "{same:?}");
    let mut other = a.origin.carriers[0].clone();
    (other.target, other.names) = ("/mnt/b".to_owned(), vec!["/mnt/b".to_owned()]);
    a.origin.carriers.push(other);
    let mut numbers = a.estimates.clone();
    numbers[0].target = "/mnt/b".to_owned();
    a.estimates.extend(numbers);
    let found = compare((&a, None), Some((&a, Some("/mnt/a"))), &[], false).expect("the other target");
    assert_eq!(found.tables[0].columns[1].name, "/mnt/b");
    let all = compare((&a, None), Some((&a, None)), &[], false).expect("both targets");
    assert_eq!(all.tables.len(), 1, "each pair once");
    let back = compare((&a, Some("/mnt/b")), Some((&a, None)), &[], false).expect("the other target");
    assert_eq!((back.tables.len(), &*back.tables[0].columns[1].name), (1, "/mnt/b"));
}

#[test]
fn what_is_not_known_to_be_sustained_is_not_called_so() {
    let with = |name, span| run(name, &[LoadKey { span, ..load("read", 4096) }], 6e6);
    let flags = |a, b| of(&with("rA", a), &with("rB", b), false).expect("alike").flags.join(" ");
    let unknown = flags(Some(true), None);
    assert!(unknown.contains("minutes in rA only"), "{unknown}");
    let both = flags(Some(false), Some(true));
    assert!(both.contains("minutes in rB only"), "{both}");
    for (a, b) in [(None, None), (Some(true), Some(true)), (Some(false), None)] {
        assert!(!flags(a, b).contains("Different claims"), "{a:?} and {b:?}");
    }
}

/// The same run of two targets: a filesystem in a file on the drive, and a directory of the drive.
fn run_of_two(name: &str, speeds: [f64; 2]) -> Findings {
    let loads = [load("read", 4096)];
    let [mut image, direct] = speeds.map(|speed| run(name, &loads, speed));
    let carrier = Carrier {
        target: "/mnt/image".to_owned(),
        layers: vec!["loop0".to_owned()],
        indirect: true,
        ..image.origin.carriers[0].clone()
    };
    image.origin.carriers = [vec![carrier], direct.origin.carriers].concat();
    image.estimates[0].target = "/mnt/image".to_owned();
    image.estimates.extend(direct.estimates);
    image
}

#[test]
fn a_filesystem_in_a_file_is_not_the_drive() {
    let (a, b) = (run_of_two("rA", [600e6, 100e6]), run_of_two("rB", [900e6, 100e6]));
    let found = of(&a, &b, false).expect("alike");
    let titles: Vec<&str> = found.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["/mnt/image", "/mnt/a"], "each with its own kind");
    let alone = run("rC", &[load("read", 4096)], 100e6);
    assert_eq!(of(&a, &alone, false).expect("alike").tables.len(), 1, "the image has no partner");
}

#[test]
fn runs_through_a_file_are_no_repeats_of_the_drive() {
    let read = [load("read", 4096)];
    let (a, b) = (run("rA", &read, 100e6), run("rB", &read, 105e6));
    let through = |speed: f64| {
        let mut run = run("r0", &read, speed * 1e6);
        (run.origin.carriers[0].layers, run.origin.carriers[0].indirect) = (vec!["loop0".to_owned()], true);
        run
    };
    let others = [100.0, 100.5, 99.5, 100.2].map(through);
    let rows = |others: &[Findings]| {
        compare((&a, None), Some((&b, None)), others, false).expect("alike").tables[0].rows.clone()
    };
    assert_eq!(rows(&others), rows(&[]), "what else is stored of the image changes nothing");
    let found = of(&a, &through(50.0), false).expect("one target each");
    assert!(found.context.contains(&"the same drive, through other layers".to_owned()), "{found:?}");
}

#[test]
fn one_serial_on_two_machines_may_be_two_drives() {
    let on = |name: &str, host: Option<&str>| {
        let mut run = run(name, &[load("read", 4096)], 100e6);
        run.origin.host_name = host.map(str::to_owned);
        run
    };
    let said = |one, other| of(&on("rA", one), &on("rB", other), false).expect("alike").context;
    let same = "the same drive".to_owned();
    assert!(said(Some("pi1"), Some("pi1")).contains(&same) && said(None, Some("pi1")).contains(&same));
    assert!(!said(Some("pi1"), Some("pi2")).contains(&same));
}

#[test]
fn runs_on_two_layouts_of_the_same_drives_are_compared_as_layouts() {
    let on = |name: &str, layout: &str, speed: f64| {
        let mut run = run(name, &[load("read", 4096)], speed);
        let drives = ["a stick", "another"]
            .map(|identity| CarrierDrive { identity: identity.to_owned(), ..CarrierDrive::default() });
        let layout = Some(layout.to_owned());
        let pool = crate::units::Pool { layout, members: 2, drives: 2, ..Default::default() };
        let carrier = &mut run.origin.carriers[0];
        (carrier.drives, carrier.layers) = (drives.to_vec(), vec!["md127".to_owned()]);
        carrier.pool = Some(pool);
        run
    };
    let (striped, mirrored) = (on("rA", "raid0", 9e6), on("rB", "raid1", 6e6));
    let found = of(&striped, &mirrored, false).expect("one load");
    let said = "raid0 of 2 drives in rA against raid1 of 2 drives in rB: the same drives";
    assert!(found.context.iter().any(|line| line == said), "{:?}", found.context);
    assert_eq!(found.tables[0].rows[0].last().map(String::as_str), Some("yes"));
    // Runs on one layout say nothing of how much those on another one differ.
    let others = [on("rC", "raid1", 3e6), on("rD", "raid1", 12e6)];
    let again = on("rE", "raid0", 9e6);
    let same = of(&striped, &again, false).expect("one load");
    let spread = compare((&striped, None), Some((&again, None)), &others, false);
    assert_eq!(spread.expect("one load").tables, same.tables);
}
