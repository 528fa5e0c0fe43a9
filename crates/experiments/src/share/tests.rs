//! Findings of share from records.

use super::{SHARE, result::network_port};
use crate::{
    PlanError, Request, Values,
    conditions::Core,
    findings::{Findings, Scope},
    inventory::{Inventory, NetworkPort},
    plan::{Act, Changes, Plan, StepId},
    record::{ActResult, End, Event, Host, How, Run, SCHEMA, Start},
    report::{Format, Style, render},
    share::{
        Busy, ClientLoad, ClientResult, Protocol, Route, ShareLoad, ShareResult, ShareTest, TransferKind,
    },
    target::Target,
};

impl ShareTest {
    /// One client, and one file of each size.
    pub(super) fn least() -> Self {
        Self {
            rate: None,
            protocol: Protocol::Smb,
            client: None,
            protection: None,
            bytes: 1 << 20,
            files: 1,
            small: 1,
            clients: 1,
            runs: 1,
        }
    }
}

fn planned(options: &[(&str, &str)]) -> Plan {
    asked(options).expect("plans")
}

fn asked(options: &[(&str, &str)]) -> Result<Plan, PlanError> {
    let mut values = Values::default();
    if options.iter().all(|(name, _)| *name != "client") {
        values.set("rate", "100Mb");
    }
    options.iter().for_each(|(name, value)| values.set(name, value));
    let target = Target {
        given: "/srv/data".to_owned(),
        path: "/srv/data".into(),
        capacity: Some(1 << 40),
        free: Some(1 << 39),
        direct_alignment: 512,
        ..Target::default()
    };
    SHARE.plan(&Request::new(&SHARE, vec![target], values).expect("no suite"))
}

/// Speeds in MB/s of putting and getting, as `ShareTest::routes` has them; small files at a tenth of that.
fn found(plan: Plan, speeds: [&[f64]; 2]) -> Findings {
    SHARE.findings(&mut recorded(plan, speeds).into_iter())
}

fn recorded(plan: Plan, speeds: [&[f64]; 2]) -> Vec<Event> {
    let (_, act) = plan.acts::<ShareTest>().next().expect("a share");
    let mut loads = Vec::new();
    for run in 1..=act.runs {
        for kind in act.kinds() {
            let speeds = act.routes().zip(speeds[usize::from(!kind.puts())]);
            for (route, speed) in speeds.filter(|(route, _)| act.applies(kind, *route)) {
                let speed = speed * 1e6 * if kind.is_small() { 0.1 } else { 1.0 };
                let bytes = act.moved(kind);
                let seconds = bytes as f64 / speed * (1.0 + 0.002 * f64::from(run));
                let core = Core { busy: 0.97, ..Core::default() };
                loads.push(ShareLoad {
                    kind,
                    route,
                    run,
                    bytes,
                    seconds,
                    cores: vec![Core::default(), core],
                    suspended_ns: 0,
                });
            }
        }
    }
    let server = match act.protocol {
        Protocol::Smb => "Samba 4.17.12",
        Protocol::Nfs => "nfsd of Linux 6.12.9",
        Protocol::Sftp => "OpenSSH 9.2p1",
    };
    let network_port = act.client.is_some().then(|| "wlan0".to_owned());
    let began = ShareResult { server: server.to_owned(), network_port, ..ShareResult::default() };
    let measured = ShareResult { loads, ..ShareResult::default() };
    let act = |step: u32, shared: ShareResult| {
        let result = Box::new(ActResult { observed: Some(shared.into()), ..ActResult::default() });
        Event::Act { step: StepId(step), target: Some(0), at: String::new(), result }
    };
    let end = Event::End(End { how: How::Finished, at: String::new() });
    vec![Event::Plan { plan }, act(0, began), act(1, measured), end]
}

#[test]
fn a_raid0_behind_ethernet() {
    let plan = planned(&[("clients", "1")]);
    let found = found(plan, [&[10.1, 11.4, 10.4, 380.0, 10.5], &[11.6, 11.6, 27.0, 600.0, 27.9]]);
    assert_eq!(found.estimates.iter().filter(|m| m.scope == Scope::Client).count(), 4);
    insta::assert_snapshot!(render(&found, Format::Text, Style::PLAIN, false));
}

#[test]
fn what_can_not_be_told_is_not_said() {
    let plan = planned(&[("clients", "1")]);
    let found = found(plan, [&[300.0, 301.0, 300.0, 302.0, 900.0], &[11.8, 11.9, 11.9, 600.0, 12.1]]);
    insta::assert_snapshot!(found.verdicts.join("\n"));
}

#[test]
fn signing_may_limit() {
    let plan = planned(&[("protection", "sign")]);
    // All of it, without the drive, the link, signing, all of these; the drive alone.
    let speeds: [&[f64]; 2] = [&[40.0, 40.1, 41.0, 72.0, 400.0, 90.0], &[9.0, 9.0, 9.1, 9.0, 400.0, 90.0]];
    let verdicts = found(plan, speeds).verdicts;
    assert!(
        verdicts[0].contains("Signing limits: 71.") && verdicts[0].contains("1.80 times"),
        "{verdicts:#?}"
    );
    assert!(verdicts[4].starts_with("put by 4 clients: "), "{verdicts:#?}");
}

#[test]
fn what_only_smb_has_is_refused_of_others() {
    for protocol in ["nfs", "sftp"] {
        let options = [("protocol", protocol), ("protection", "sign")];
        let refused = asked(&options).expect_err("refused").to_string();
        assert!(refused.starts_with("--protection works with SMB only"), "{refused}");
    }
}

#[test]
fn a_client_on_another_machine_mounts_nothing() {
    let client = ("client", "ssh://pi@laptop/dev/shm");
    let refused = asked(&[("protocol", "nfs"), client]).expect_err("refused").to_string();
    assert!(refused.contains("leave out --client, or name --protocol smb or sftp"), "{refused}");
    let plan = planned(&[("protocol", "sftp"), client]);
    let (_, act) = plan.acts::<ShareTest>().next().expect("a share");
    assert!(act.check().is_ok() && ShareTest { protocol: Protocol::Nfs, ..act.clone() }.check().is_err());
}

#[test]
fn a_network_is_full_or_not() {
    let plan = planned(&[("client", "ssh://pi@laptop/dev/shm"), ("clients", "1")]);
    // All of it, without the drive, the network with the client's machine, both; the network alone, and the drive alone.
    let speeds: [&[f64]; 2] = [&[10.1, 10.2, 27.0, 380.0, 11.4, 27.5], &[4.0, 4.1, 27.0, 600.0, 11.6, 27.9]];
    let found = found(plan, speeds);
    assert_eq!(found.estimates.iter().filter(|m| m.scope == Scope::Network).count(), 2);
    insta::assert_snapshot!(render(&found, Format::Text, Style::PLAIN, false));
}

fn begun(inventory: Inventory) -> Event {
    Event::Start(Box::new(Start {
        schema: SCHEMA,
        run: "r7".to_owned(),
        at: "2026-11-27T10:00:00Z".to_owned(),
        version: String::new(),
        command: Vec::new(),
        experiment: "share".to_owned(),
        targets: Vec::new(),
        host: Host::default(),
        inventory,
    }))
}

#[test]
fn what_the_network_behind_a_port_carries_is_there_for_others() {
    let plan = || planned(&[("client", "ssh://pi@laptop/dev/shm")]);
    let routes: Vec<Route> = plan().acts::<ShareTest>().flat_map(|(_, act)| act.routes()).collect();
    let of = |route: &Route, client: f64| match route {
        Route::Network => 11.0,
        Route::Whole => client,
        _ => 50.0,
    };
    let speeds: Vec<f64> = routes.iter().map(|route| of(route, 10.0)).collect();
    let faster: Vec<f64> = speeds.iter().map(|speed| speed * 2.0).collect();
    let port_of = |name: &str| NetworkPort { name: name.to_owned(), ..NetworkPort::default() };
    let learned = |ports: &[&str], speeds: [&[f64]; 2]| {
        let inventory =
            Inventory { ports: ports.iter().copied().map(port_of).collect(), ..Inventory::default() };
        network_port(&Run::of([begun(inventory)].into_iter().chain(recorded(plan(), speeds))))
    };
    let both: [&[f64]; 2] = [&speeds, &faster];
    let port = learned(&["eth0", "wlan0"], both).expect("a port");
    let carried = port.carried.expect("what it carried");
    assert_eq!((port.name.as_str(), carried.run.as_str(), carried.host.as_str()), ("wlan0", "r7", "laptop"));
    // Of what was measured 0.2 to 1.2 % less than that.
    let is_near = |speed: f64, mb: f64| (mb * 0.98e6..mb * 1e6).contains(&speed);
    assert!(is_near(carried.incoming, 11.0) && is_near(carried.outgoing, 22.0), "{carried:?}");
    assert_eq!(learned(&["eth0"], both), None, "it has no such port any more");
    let more: Vec<f64> = routes.iter().map(|route| of(route, 12.0)).collect();
    assert_eq!(learned(&["wlan0"], [&more, &faster]), None, "clients put more than iperf3 carried");
    let mut one = recorded(plan(), both);
    let Some(Event::Act { result, .. }) = one.get_mut(2) else { panic!("a share") };
    result.change(|shared: &mut ShareResult| {
        shared.loads.retain(|load| load.route != Route::Network || load.run == 1);
    });
    let ports = vec![port_of("wlan0")];
    let inventory = Inventory { ports, ..Inventory::default() };
    assert_eq!(network_port(&Run::of([begun(inventory)].into_iter().chain(one))), None, "one repetition");
    let local = [Event::Plan { plan: planned(&[]) }];
    assert_eq!(network_port(&Run::of(local.into_iter())), None, "of this machine only");
}

#[test]
fn what_took_longer_because_the_program_did_not_run_is_left_out() {
    let speeds: [&[f64]; 2] = [&[10.1, 11.4, 10.4, 380.0, 10.5], &[11.6, 11.6, 27.0, 600.0, 27.9]];
    // What was stopped takes longer, or is not there at all.
    let found = |is_stopped: fn(&ShareLoad) -> bool, is_there: bool| {
        let mut record = recorded(planned(&[("clients", "1")]), speeds);
        let Some(Event::Act { result, .. }) = record.get_mut(2) else { panic!("a share") };
        result.change(|ShareResult { loads, .. }| {
            loads.retain(|load| is_there || !is_stopped(load));
            for load in loads.iter_mut().filter(|load| is_stopped(load)) {
                load.seconds += 8.0;
                load.suspended_ns = 8_000_000_000;
                load.cores.clear();
            }
        });
        SHARE.findings(&mut record.into_iter())
    };
    let two: fn(&ShareLoad) -> bool =
        |load| (load.kind, load.route) == (TransferKind::Get, Route::Server) && load.run <= 2;
    let stopped = found(two, true);
    assert_eq!(stopped.verdicts, found(two, false).verdicts);
    let said = "drivebench did not run for 16 s during 'transfers': that is left out.";
    assert_eq!(stopped.flags.iter().filter(|flag| *flag == said).count(), 1, "{:#?}", stopped.flags);
    let none = found(|load| (load.kind, load.route) == (TransferKind::Put, Route::Whole), true);
    assert!(none.verdicts[0].starts_with("get 67.1 MB: "), "{:#?}", none.verdicts);
}

#[test]
fn small_files_by_nfs_wait_for_the_drive() {
    let plan = planned(&[("protocol", "nfs"), ("clients", "1")]);
    // All of it, without the drive, the export's sync, the link, all of these; the drive alone.
    let speeds: [&[f64]; 2] = [&[2.0, 10.0, 8.0, 2.1, 400.0, 9.5], &[11.0, 11.1, 11.0, 14.0, 400.0, 15.0]];
    insta::assert_snapshot!(render(&found(plan, speeds), Format::Text, Style::PLAIN, false));
}

#[test]
fn own_files_are_all_that_it_changes() {
    let over_network = planned(&[("client", "ssh://pi@laptop/dev/shm")]).describe();
    assert!(
        over_network.contains("; if both machines have iperf3, it fills the network for 3 s at a time"),
        "{over_network}"
    );
    let plan = planned(&[]);
    assert!(plan.steps.iter().all(|step| step.act.changes() == Changes::OwnFiles));
    insta::assert_snapshot!(plan.describe());
}

fn clients() -> Plan {
    let urls = "ssh://pi@a/mnt/nas,ssh://pi@b/mnt/nas";
    let mut values = Values::default();
    values.set("client", urls);
    values.set("runs", "4");
    SHARE.plan(&Request::new(&SHARE, Vec::new(), values).expect("no suite")).expect("plans")
}

/// Two clients, of which the first one writes at 50 and the second one at 100 MB/s; both read at 100 MB/s.
fn clients_found(change: impl Fn(usize, &mut ClientResult)) -> Findings {
    let busy = |parts: &[(&str, f64)]| -> Busy {
        parts.iter().map(|(part, share)| ((*part).to_owned(), [*share; 2])).collect()
    };
    let results = [50e6, 100e6].into_iter().enumerate().map(|(at, speed)| {
        let load = |round: u32, writes: bool| {
            let speed = if writes { speed } else { 100e6 } * (1.0 + 0.002 * f64::from(round));
            let client = busy(&[("a processor", 0.3), ("the link eth0", if writes { 0.5 } else { 0.94 })]);
            let server = busy(&[("the drive sda", if writes { 0.97 } else { 0.2 })]);
            let bytes = 64 << 20;
            ClientLoad { round, writes, bytes, seconds: bytes as f64 / speed, client, server }
        };
        let loads = (1..=4).flat_map(|round| [true, false].map(|writes| load(round, writes))).collect();
        let about = "nfs4 192.168.1.5:/srv, fio-3.33".to_owned();
        let mut result = ClientResult { about, loads, failed: None };
        change(at, &mut result);
        let result = Box::new(ActResult { observed: Some(result.into()), ..ActResult::default() });
        Event::Act { step: StepId(0), target: Some(at as u32), at: String::new(), result }
    });
    let end = Event::End(End { how: How::Finished, at: String::new() });
    SHARE.findings(&mut [Event::Plan { plan: clients() }].into_iter().chain(results).chain([end]))
}

#[test]
fn many_clients_have_a_sum_and_the_slowest_and_what_was_full_are_named() {
    let found = clients_found(|_, _| ());
    insta::assert_snapshot!(format!(
        "{}\n{}",
        clients().describe(),
        render(&found, Format::Text, Style::PLAIN, false)
    ));
    let sum = found.estimates.iter().find(|m| m.scope == Scope::Sum).expect("a sum");
    // Both have written once the slower one has.
    assert!((sum.estimate.value / 100.5e6 - 1.0).abs() < 0.001, "{sum:?}");
}

#[test]
fn a_client_that_failed_leaves_the_others_and_no_sum() {
    let found = clients_found(|at, result| {
        result.loads.truncate(if at == 1 { 2 } else { 8 });
        result.loads.iter_mut().for_each(|load| load.server.clear());
        result.failed = (at == 1).then(|| "No space left on device".to_owned());
    });
    assert_eq!(found.estimates.iter().filter(|m| m.scope == Scope::Sum).count(), 0);
    assert_eq!(found.estimates.iter().filter(|m| m.scope == Scope::Together).count(), 2);
    insta::assert_snapshot!(found.verdicts.join("\n"));
}

#[test]
fn where_nothing_was_full_the_busiest_part_is_named_or_the_protocol() {
    let verdict = |share| {
        let found = clients_found(|_, result| {
            result.loads.retain(|load| load.writes);
            for load in &mut result.loads {
                load.client.clear();
                load.server.values_mut().for_each(|shares| *shares = [share; 2]);
            }
        });
        found.verdicts.join("\n")
    };
    insta::assert_snapshot!([0.79, 0.3].map(verdict).join("\n"));
}

#[test]
fn clients_without_a_target_take_no_options_of_a_server() {
    let client = ("client", "ssh://pi@a/mnt/nas,ssh://pi@b/mnt/nas");
    let refused = asked(&[client]).expect_err("a target").to_string();
    assert!(refused.contains("leave out the target"), "{refused}");
    let plan = |options: &[(&str, &str)]| {
        let mut values = Values::default();
        options.iter().for_each(|(name, value)| values.set(name, value));
        SHARE.plan(&Request::new(&SHARE, Vec::new(), values).expect("no suite"))
    };
    assert!(matches!(plan(&[]), Err(PlanError::NoTarget)));
    let refused = plan(&[client, ("files", "5")]).expect_err("refused").to_string();
    assert!(refused.contains("--files is for a share"), "{refused}");
}
