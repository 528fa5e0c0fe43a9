//! Advice from published numbers must reach the conclusions of their authors.

use super::{
    testing::{
        alone, at_once, card_and_flash, drive, fit, four_sticks, holds, load, metric, mount, of, said,
        two_sticks, within,
    },
    *,
};
use crate::{
    analyse::Estimate,
    findings::{
        BootPart, Limiter, LoadKey, Metric, Quantity, Scope,
        fitness::{Use, Verdict},
    },
    inventory::{Carried, Drive, Inventory, Medium, NetworkPort, fixtures},
    units::Health,
};

fn sure(answers: &[Answer], topic: Topic) -> Sure {
    answers.iter().find(|a| a.topic == topic).expect("an answer").sure
}

fn decide(answers: &[Answer], topic: Topic) -> Option<&str> {
    answers.iter().filter(|a| a.topic == topic).find_map(|a| a.decide.as_deref())
}

#[test]
fn four_sticks_data_and_swap_avoid_long_stalls() {
    let (inventory, evidence) = four_sticks();
    // The same figures under the loads that the questions are about.
    let loads = |e: &Evidence| {
        let load = e.load.clone().expect("a load");
        let large = LoadKey { block: Some(1 << 20), ..load.clone() };
        let small = LoadKey { pattern: Some(crate::units::Pattern::Random), ..load };
        [large, small].map(|load| Evidence { load: Some(load), ..e.clone() })
    };
    let evidence: Vec<Evidence> = evidence.iter().flat_map(loads).collect();
    let answers = advise(&inventory, &evidence);
    let data = said(&answers, Topic::Data);
    holds(&data, &["Keep data on Cruzer Blade in bay 1.2", "2.43 MB/s", "69.7 ms"]);
    holds(&data, &["DataTraveler 3.0 (247 GB, 3.86 MB/s ±2.6 %) stalls for up to 2.6 s."]);
    let swap = said(&answers, Topic::Swap);
    holds(&swap, &["zram first", "DataTraveler 3.0 is not fit for swap: operations stop for up to 2.6 s."]);
    assert_eq!(sure(&answers, Topic::Data), Sure::Measured);
    let layout = answers.iter().find(|a| a.topic == Topic::Layout).expect("an answer");
    holds(&layout.says, &["raid5 of the 3 drives of 62.0 GB", "124 GB of 186 GB usable, one may fail"]);
    holds(&layout.because.join(" "), &["Left out because of another size: DataTraveler 3.0."]);
    assert_eq!(layout.sure, Sure::Inferred, "nothing was measured at once");
    assert_eq!(layout.decide.as_deref(), Some("run together --bs 1M /dev/sda /dev/sdc /dev/sdd /dev/sdb"));
}

#[test]
fn two_sticks_raid0_helps_writes_and_the_network_limits_reads() {
    let (inventory, evidence) = two_sticks();
    let answers = advise(&inventory, &evidence);
    let limits = said(&answers, Topic::Limits);
    holds(
        &limits,
        &[
            "Ethernet limits reads of clients, the drives limit writes: Ethernet carries 11.8 MB/s,",
            "together read 25.7 MB/s ±5.0 % and write 10.1 MB/s ±5.0 %.",
        ],
    );
    let layout = said(&answers, Topic::Layout);
    holds(&layout, &["for data that must not be lost: 4.01 GB of 8.02 GB usable, one may fail"]);
    holds(
        &layout,
        &["raid0 helps", "read 25.7 MB/s, 1.8 times one drive and write 10.1 MB/s, 1.9 times one drive"],
    );
    holds(&layout, &["Predicted", "4 KiB at depth 1 gain nothing"]);
    let money = said(&answers, Topic::Money);
    holds(&money, &["A faster drive would not help reads: Ethernet carries 11.8 MB/s."]);
    holds(
        &money,
        &["A faster drive would help writes, up to 1.2 times as fast: Ethernet carries 11.8 MB/s."],
    );
    holds(&money, &["A gigabit adapter on USB would help a little: clients get at most 16.0 MB/s"]);
    assert_eq!(
        (sure(&answers, Topic::Limits), sure(&answers, Topic::Layout)),
        (Sure::Measured, Sure::Inferred)
    );
    assert_eq!(decide(&answers, Topic::Limits), None, "it is decided");
}

#[test]
fn a_network_that_was_measured_counts_instead_of_what_its_port_is_known_for() {
    let (mut inventory, evidence) = two_sticks();
    let carried = Carried {
        run: "r9".to_owned(),
        at: "2026-11-27T10:00:00Z".to_owned(),
        host: "laptop".to_owned(),
        incoming: 12e6,
        outgoing: 5e6,
    };
    let port = inventory.ports.iter().position(|port| port.name == "eth0").expect("a port");
    inventory.ports[port].carried = Some(carried.clone());
    let answers = advise(&inventory, &evidence);
    let limits = said(&answers, Topic::Limits);
    holds(
        &limits,
        &[
            "The network to laptop limits reads of clients, the drives limit writes: the network to laptop carries 5.00 MB/s to clients and 12.0 MB/s from them, both drives together read 25.7 MB/s",
            "Source for the network to laptop (eth0, 100 Mb/s): iperf3, r9 of 2026-11-27.",
        ],
    );
    let answer = answers.iter().find(|answer| answer.topic == Topic::Limits).expect("an answer");
    assert!(answer.rests_on.contains(&"r9".to_owned()), "{:?}", answer.rests_on);
    let money = said(&answers, Topic::Money);
    holds(&money, &["A faster drive would not help reads: the network to laptop carries 5.00 MB/s."]);
    holds(&money, &["writes, up to 1.2 times as fast: the network to laptop carries 12.0 MB/s."]);
    assert!(!format!("{answers:?}").contains("A gigabit adapter"), "another port would carry no more");
    let resting = answers.iter().filter(|answer| answer.topic == Topic::Money);
    assert!(resting.into_iter().any(|answer| answer.rests_on.contains(&"r9".to_owned())));
    // Of Wi-Fi nothing else is known.
    let measured = inventory.ports.remove(port);
    inventory.ports = vec![NetworkPort { wireless: true, mbps: None, ceiling: None, ..measured }];
    let limits = said(&advise(&inventory, &evidence), Topic::Limits);
    holds(&limits, &["The network to laptop limits reads of clients"]);
    // A network within the interval of the drives decides nothing.
    inventory.ports[0].carried = Some(Carried { outgoing: 25.9e6, ..carried });
    holds(
        &said(&advise(&inventory, &evidence), Topic::Limits),
        &["The drives limit writes, whether the network to laptop limits reads is not clear: "],
    );
}

#[test]
fn a_faster_drive_does_not_help_behind_a_slow_network() {
    let (inventory, _) = two_sticks();
    let evidence = [true, false].map(|reads| {
        at_once(&inventory, "r1", &["sda", "sdb"], load(reads, 1 << 20, 1), within(25.0, 0.02), 26.0)
    });
    let answers = advise(&inventory, &evidence);
    let money = answers.iter().find(|a| a.topic == Topic::Money).expect("an answer");
    assert_eq!(money.says, "A faster drive would not help reads and writes: Ethernet carries 11.8 MB/s.");
    assert_eq!((money.sure, &money.rests_on[..]), (Sure::Measured, &["r1".to_owned()][..]));
}

#[test]
fn the_system_card_is_not_a_member() {
    let (inventory, mut evidence) = two_sticks();
    let both =
        at_once(&inventory, "r1", &["mmcblk0", "sda"], load(true, 1 << 20, 1), within(30.0, 0.02), 31.0);
    evidence.retain(|e| !e.at_once);
    evidence.push(both);
    let layout = said(&advise(&inventory, &evidence), Topic::Layout);
    holds(&layout, &["Not known whether raid0 would help"]);
}

#[test]
fn a_limiting_bus_is_reported_and_faster_drives_are_not_advised() {
    let mut inventory = two_sticks().0;
    inventory.ports.clear();
    let mut evidence =
        at_once(&inventory, "r1", &["sda", "sdb"], load(true, 1 << 20, 1), within(21.0, 0.02), 29.0);
    for n in evidence.numbers.iter_mut().filter(|n| n.quantity == Quantity::Ceiling(Limiter::Drives)) {
        (n.target, n.quantity) = ("hub 1".to_owned(), Quantity::Ceiling(Limiter::Bus));
    }
    let answers = advise(&inventory, &[evidence]);
    holds(
        &said(&answers, Topic::Limits),
        &["Hub 1 limits them at once: 72 % of the 29.0 MB/s that they read alone."],
    );
    holds(&said(&answers, Topic::Money), &["A faster drive would not help reads: hub 1 carries 21.0 MB/s."]);
}

#[test]
fn targets_on_one_drive_are_no_drives_at_once() {
    let mut inventory = two_sticks().0;
    inventory.ports.clear();
    let mut one =
        at_once(&inventory, "r1", &["sda", "sda"], load(true, 1 << 20, 1), within(21.0, 0.02), 40.0);
    // Also where the drive itself is found to be what targets share.
    let mut files =
        at_once(&inventory, "r1", &["sda", "sdb"], load(true, 1 << 20, 1), within(21.0, 0.02), 40.0);
    for (n, e) in [&mut one, &mut files].into_iter().enumerate() {
        if n == 1 {
            e.numbers.iter_mut().filter(|n| n.quantity == Quantity::Ceiling(Limiter::Drives)).for_each(|n| {
                (n.target, n.quantity) = ("the drive sda".to_owned(), Quantity::Ceiling(Limiter::Drive));
            });
        }
        let single = alone(&inventory, "r2", "sda", load(true, 1 << 20, 1), within(20.0, 0.02), None);
        let answers = advise(&inventory, &[e.clone(), single]);
        let text: String = answers.iter().map(|a| format!("{} {}", a.says, a.because.join(" "))).collect();
        assert!(!text.contains("40.0 MB/s") && !text.contains("21.0 MB/s"), "{text}");
        assert!(said(&answers, Topic::Limits).contains("Cruzer Blade in bay 1.2 reads 20.0 MB/s"), "{text}");
    }
}

#[test]
fn without_a_network_nothing_asks_for_a_faster_drive() {
    let mut inventory = two_sticks().0;
    inventory.ports.clear();
    let single = |at: &str| alone(&inventory, "r2", at, load(true, 1 << 20, 1), within(20.0, 0.02), None);
    let money = |inventory: &Inventory, e: Evidence| said(&advise(inventory, &[e]), Topic::Money);
    let limited = money(&inventory, single("sda"));
    assert!(
        limited.contains("A faster drive may help reads, ") && !limited.contains("would help"),
        "{limited}"
    );
    let e = single("sda");
    inventory.buses.clear();
    let open = money(&inventory, e);
    holds(&open, &["Not known whether a faster drive would help: ", "no other limit was found"]);
}

#[test]
fn the_worst_wait_is_that_of_all_fitting_runs() {
    let (inventory, _) = four_sticks();
    let random = |block, suite: &str, run, ms: f64| {
        let pattern = Some(crate::units::Pattern::Random);
        let load = LoadKey { pattern, suite: Some(suite.to_owned()), ..load(false, block, 1) };
        alone(&inventory, run, "sda", load, within(5.0, 0.02), Some(ms / 1000.0))
    };
    let large = |suite: &str, run, ms: f64| {
        let load = LoadKey { suite: Some(suite.to_owned()), ..load(false, 1 << 20, 1) };
        alone(&inventory, run, "sda", load, within(20.0, 0.02), Some(ms / 1000.0))
    };
    let all = [
        random(4096, "db", "r1", 26.2),
        large("cdm", "r1", 31.5),
        random(4096, "mark", "r2", 4.93),
        large("mark", "r2", 6.1),
        // With eight in flight, an operation waits for seven others.
        alone(&inventory, "r3", "sda", load(false, 1 << 20, 8), within(20.0, 0.02), Some(1.2)),
    ];
    let judged = fit(&inventory, "r2", "sda", Use::Swap, Verdict::Fit);
    for mut evidence in [all.to_vec(), all.iter().rev().cloned().collect()] {
        evidence.push(judged.clone());
        let answers = advise(&inventory, &evidence);
        let (swap, data) = (said(&answers, Topic::Swap), said(&answers, Topic::Data));
        assert!(swap.contains("took over 26.2 ms") && !swap.contains("4.93 ms"), "{swap}");
        assert!(data.contains("took longer than 31.5 ms") && !data.contains("6.1 ms"), "{data}");
        let rests = |topic| &answers.iter().find(|a| a.topic == topic).expect("an answer").rests_on;
        assert!(rests(Topic::Swap).contains(&"r1".to_owned()), "{answers:?}");
    }
}

#[test]
fn without_boots_published_times_count() {
    let (inventory, evidence) = card_and_flash();
    let answers = advise(&inventory, &evidence);
    let boot = said(&answers, Topic::Boot);
    holds(&boot, &["Stay with the SD card", "17.5 to 18.0 s"]);
    assert_eq!(sure(&answers, Topic::Boot), Sure::Published);
}

#[test]
fn recorded_boots_decide_where_to_boot_from() {
    let (inventory, random) = card_and_flash();
    let whole = || Quantity::BootTime(BootPart::Whole);
    let surely = |others: &[(&str, [f64; 3])]| {
        let card = Metric::new("the card", whole(), within(18.0, 0.02)).at(Scope::OverBoots);
        let each = others.iter().flat_map(|(name, [value, low, high])| {
            let longer = Estimate { value: *value, low: *low, high: *high, ..within(1.0, 0.1) };
            [
                Metric::new(name, whole(), within(18.0 + value, 0.02)).at(Scope::OverBoots),
                Metric::new(name, whole(), longer).at(Scope::BesideThis),
            ]
        });
        let numbers = [card].into_iter().chain(each).collect();
        let recorded = Evidence { numbers, ..of(&inventory, "r20", &["mmcblk0"]) };
        let answers = advise(&inventory, &[random.clone(), vec![recorded]].concat());
        (sure(&answers, Topic::Boot), said(&answers, Topic::Boot))
    };
    let boots_beside = |others: &[(&str, [f64; 3])]| {
        let (sure, said) = surely(others);
        assert_eq!(sure, Sure::Measured);
        said
    };
    let boots = |longer| boots_beside(&[("an SSD", longer)]);
    let gains = boots([-9.0, -9.6, -8.4]);
    holds(&gains, &["Boot from an SSD: it saved", "Boots: "]);
    assert!(!gains.contains("Published"), "{gains}");
    holds(&boots([2.0, 1.5, 2.5]), &["Stay with the SD card: no recorded boot shows"]);
    holds(&boots([-1.0, -3.0, 1.0]), &["Stay with the SD card: no recorded boot shows"]);
    let once = [-9.0, -9.0, f64::INFINITY];
    let (sure, said) = surely(&[("an SSD", once)]);
    assert_eq!(sure, Sure::Inferred);
    holds(&said, &["Stay with the SD card: no recorded boot shows", "one of them has one boot"]);
    // One boot from the first doesn't hide what the other gains; not all are slower while one is open.
    holds(
        &boots_beside(&[("a stick", once), ("an SSD", [-5.0, -5.6, -4.4])]),
        &["Boot from an SSD: it saved"],
    );
    holds(
        &boots_beside(&[("a stick", [1.0, 0.5, 1.5]), ("an SSD", [2.0, -1.0, 5.0])]),
        &["Stay with the SD card: no recorded boot shows"],
    );
}

#[test]
fn booting_from_a_disk_is_not_advised() {
    let (mut inventory, _) = card_and_flash();
    for mount in &mut inventory.mounts {
        if mount.path == "/" || mount.path.starts_with("/boot") {
            mount.device = (8, 0);
            mount.source = "/dev/sda".to_owned();
        }
    }
    let one = inventory.drives.iter().position(|d| d.name == "sda").expect("a drive");
    inventory.drives[one].medium = Medium::Rotating;
    let answers = advise(&inventory, &[]);
    let boot = said(&answers, Topic::Boot);
    holds(&boot, &["Boot from the SD card rather than from Ultra Fit", "a disk in 92.3 s"]);
    assert_eq!(sure(&answers, Topic::Boot), Sure::Published);
}

#[test]
fn a_failing_drive_gets_no_data() {
    let (mut inventory, evidence) = four_sticks();
    let at = inventory.drives.iter().position(|d| d.name == "sdc").expect("a drive");
    let source = Some("smartctl -d sat".to_owned());
    inventory.drives[at].health = Some(Health { source, passed: Some(false), ..Health::default() });
    let answers = advise(&inventory, &evidence);
    for topic in [Topic::Data, Topic::Swap] {
        assert!(!said(&answers, topic).contains("in bay 1.2"), "{answers:?}");
    }
    holds(
        &said(&answers, Topic::Health),
        &["Cruzer Blade 4C530002 in bay 1.2 reports that it is failing", "replace it"],
    );
}

#[test]
fn a_large_stick_without_a_makers_name_is_named_until_its_size_is_known() {
    let (mut inventory, mut evidence) = four_sticks();
    let at = inventory.drives.iter().position(|d| d.name == "sdc").expect("a drive");
    let names = ["General", "UDisk"].map(|name| Some(name.to_owned()));
    let stick = &mut inventory.drives[at];
    ([stick.vendor, stick.model], stick.sectors) = (names, 250_000_000);
    let asks =
        |answers: &[Answer]| answers.iter().any(|a| a.decide.as_deref() == Some("run capacity /dev/sdc"));
    assert!(asks(&advise(&inventory, &evidence)));
    let size = vec![metric(Quantity::RealSize, within(128e9, 0.0))];
    evidence.push(Evidence { numbers: size, ..of(&inventory, "r9", &["sdc"]) });
    assert!(!asks(&advise(&inventory, &evidence)));
}

#[test]
fn models_count_only_in_the_lab_and_are_marked() {
    let (mut inventory, evidence) = four_sticks();
    let modelled: Vec<Evidence> = evidence.iter().map(|e| Evidence { modelled: true, ..e.clone() }).collect();
    let answers = advise(&inventory, &modelled);
    assert!(answers.iter().all(|a| a.rests_on.is_empty() && a.sure != Sure::Measured), "{answers:?}");
    inventory.machine.lab = Some("pi-zero".to_owned());
    let answers = advise(&inventory, &modelled);
    let resting: Vec<&Answer> = answers.iter().filter(|a| !a.rests_on.is_empty()).collect();
    assert!(!resting.is_empty() && resting.iter().all(|a| a.modelled), "{answers:?}");
}

#[test]
fn runs_from_other_boards_and_bays_are_noted() {
    let (inventory, evidence) = two_sticks();
    let board = |e: &Evidence| Evidence { board: Some("Raspberry Pi 4 Model B".to_owned()), ..e.clone() };
    let answers = advise(&inventory, &evidence.iter().map(board).collect::<Vec<_>>());
    holds(&said(&answers, Topic::Limits), &["r002 was measured on another board or in other bays."]);
    assert_eq!(sure(&answers, Topic::Limits), Sure::Inferred, "another board has another bus");
    assert_eq!(sure(&answers, Topic::Data), Sure::Measured, "a drive's own speed goes with it");
    let bay =
        |e: &Evidence| Evidence { bays: e.bays.iter().map(|b| format!("{b}.4")).collect(), ..e.clone() };
    let answers = advise(&inventory, &evidence.iter().map(bay).collect::<Vec<_>>());
    holds(&said(&answers, Topic::Data), &["r002 was measured on another board or in other bays."]);
}

#[test]
fn drives_that_are_not_here_are_not_mentioned() {
    let (inventory, mut evidence) = two_sticks();
    for e in &mut evidence {
        e.drives[0] = "GONE+123".to_owned();
    }
    let answers = advise(&inventory, &evidence);
    assert!(answers.iter().all(|a| a.rests_on.is_empty()), "{answers:?}");
}

#[test]
fn existing_arrays_are_named_and_kept() {
    let inventory = fixtures::pc().inventory();
    let answers = advise(&inventory, &[]);
    holds(&said(&answers, Topic::Data), &["raid1", "survives the loss of 1 drive", "not a backup"]);
    assert_eq!(decide(&answers, Topic::Data), Some("run baseline /srv"));
    holds(&said(&answers, Topic::Layout), &["Built already", "md0"]);
    let md = inventory.layers.iter().find(|l| l.name == "md0").expect("an array");
    let both: Vec<String> = ["sda", "sdb"].map(|n| drive(&inventory, n).identity()).to_vec();
    let read = Evidence {
        drives: both,
        layers: vec![md.name.clone()],
        ..alone(&inventory, "r1", "sda", load(true, 1 << 20, 1), within(180.0, 0.02), None)
    };
    let answers = advise(&inventory, &[read]);
    holds(&said(&answers, Topic::Data), &["It reads 180 MB/s ±2.0 %."]);
    assert_eq!(sure(&answers, Topic::Data), Sure::Measured);
}

#[test]
fn an_empty_machine_has_one_answer() {
    let answers = advise(&Inventory::default(), &[]);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].says, "No drives found: connect one first.");
    assert!(answers.iter().all(|a| a.decide.is_none() && a.sure != Sure::Measured), "{answers:?}");
}

#[test]
fn targets_to_measure_are_directories_where_all_have_one() {
    let mut inventory = fixtures::pi_zero().inventory();
    mount(&mut inventory, "sdb", "/mnt/my photos");
    let two: Vec<&Drive> = ["sda", "sdb"].map(|n| drive(&inventory, n)).to_vec();
    let both = commands::together(&inventory, &two);
    assert_eq!(both.as_deref(), Some("run together --bs 1M /mnt/a '/mnt/my photos'"));
    let mixed: Vec<_> = ["sda", "sdc"].map(|n| drive(&inventory, n)).to_vec();
    assert_eq!(commands::baseline(&inventory, &mixed).as_deref(), Some("run baseline /dev/sda /dev/sdc"));
    assert_eq!(commands::writes(&inventory, &mixed).as_deref(), Some("run baseline /mnt/a"));
    assert_eq!(commands::together(&inventory, &two[..1]).as_deref(), Some("run baseline /mnt/a"));
    assert_eq!(commands::together(&inventory, &[]), None);
}

#[test]
fn speeds_have_their_intervals() {
    let (inventory, evidence) = two_sticks();
    let all = |evidence: &[Evidence]| {
        advise(&inventory, evidence).iter().map(|a| a.says.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(all(&evidence).contains('±') || all(&evidence).contains('–'), "{}", all(&evidence));
    let without = evidence.iter().cloned().map(|mut e| {
        e.numbers.iter_mut().for_each(|m| m.estimate = Estimate::unbounded(m.estimate.value, ""));
        e
    });
    let without = all(&without.collect::<Vec<_>>());
    assert!(without.contains("(no interval)") && !without.contains('±'), "{without}");
}
