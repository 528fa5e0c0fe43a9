//! `report --site`: the pages of a store.

use std::{collections::BTreeSet, fs};

use crate::support::cli::Cli;
use crate::support::modelled::{self, ask, only, plan, target};
use drivebench::{analyse::Rules, experiments::LoadName, record::Store};
use drivebench_modelled::sim::{Board, Model, Noise, Zone};

/// Keeps a run that reads a modelled stick of this speed.
fn keep(cli: &Cli, at: &str, stick: &str, read: f64) -> String {
    const CAPACITY: u64 = 62_000_000_000;
    let model = Model {
        capacity: CAPACITY,
        write: vec![Zone { from: 0, rate: 2e6 }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
        ..Model::default()
    };
    let plan = plan(&only(LoadName::Read, ask(vec![target(stick, CAPACITY, false)], Rules::quick(), 4096)));
    let board = Board { drives: vec![model], buses: vec![], seed: 1 };
    modelled::keep(&Store::at(cli.store()), at, &plan.expect("plans"), &board, false)
}

/// The cells of a page's rows, without what is in angle brackets.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = |html: &str| {
        let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.collect::<String>()
    };
    let cells = |row: &str| {
        row.split("<td>")
            .skip(1)
            .map(|cell| text(cell.split("</td>").next().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    page.split("<tr>").skip(1).map(cells).filter(|cells| !cells.is_empty()).collect()
}

#[test]
fn drives_side_by_side_differ_as_compare_says() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let at = |day: usize| format!("2026-11-{day:02}T10:00:00Z");
    let speeds = [("4C01", 20e6), ("4C02", 20.4e6), ("4C03", 23e6), ("4C04", 40e6)];
    let runs: Vec<String> = speeds
        .iter()
        .enumerate()
        .map(|(day, (stick, speed))| keep(&cli, &at(day + 1), stick, *speed))
        .collect();
    let dir = place.path().join("site");
    let done = cli.run(["report".as_ref(), "--site".as_ref(), dir.as_os_str()]);
    assert_eq!(done.code, 0, "{}", done.err);
    let page = fs::read_to_string(dir.join("side-by-side.html")).expect("a page");
    let rows = rows(&page);
    let drive =
        |cells: &[String]| speeds.iter().position(|(stick, _)| cells[1].ends_with(stick)).expect("a drive");
    let order: Vec<usize> = rows.iter().map(|cells| drive(cells)).collect();
    assert_eq!(order, [3, 2, 1, 0], "{page}");
    let numbers = |text: &str| -> BTreeSet<usize> {
        let parts = text.split(", ").filter(|part| !part.is_empty());
        let ends = parts.map(|part| part.split('–').map(|n| n.parse::<usize>().expect("a number")).collect());
        ends.flat_map(|ends: Vec<usize>| ends[0]..=ends[ends.len() - 1]).collect()
    };
    let slower: Vec<BTreeSet<usize>> = rows.iter().map(|cells| numbers(&cells[3])).collect();
    let pairs = (0..rows.len()).flat_map(|a| (a + 1..rows.len()).map(move |b| (a, b)));
    let mut differ = 0;
    for (a, b) in pairs {
        let done = cli.run(["results", "compare", &runs[order[a]], &runs[order[b]], "--format", "json"]);
        let compared: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
        let all = compared["estimates"].as_array().expect("estimates");
        let speed = all.iter().find(|metric| metric["quantity"]["ratio"] == "throughput").expect("a ratio");
        let end = |name: &str| speed["estimate"][name].as_f64().expect("a number");
        let found = [slower[a].contains(&(b + 1)), slower[b].contains(&(a + 1))];
        assert_eq!(found, [end("low") > 1.0, end("high") < 1.0], "{a} {b} {speed}");
        differ += usize::from(found[0]);
    }
    assert!(differ > 0 && differ < 6, "{differ}");
}
