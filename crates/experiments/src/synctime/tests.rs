//! What docs/design/adding-an-experiment.md says of an experiment holds for the one it shows.

use std::{env, fs, path::Path};

use super::{
    SYNCTIME,
    act::{SyncResult, TimeSync},
};
use crate::{
    Request, Values,
    inventory::Drive,
    plan::{Plan, StepId},
    record::{ActResult, End, Event, How},
    report::{Format, Style, render},
    target::{Kind, Target},
};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn plan() -> Plan {
    let drive = Drive { serial: Some("A1".to_owned()), sectors: 125_000_000, ..Drive::default() };
    let target = Target {
        given: "/mnt/a".to_owned(),
        path: "/mnt/a".into(),
        kind: Kind::Directory,
        drives: vec![drive],
        size: Some(64_000_000_000),
        direct_alignment: 512,
        ..Target::default()
    };
    let mut values = Values::default();
    values.set("runs", "3");
    SYNCTIME.plan(&Request::new(&SYNCTIME, vec![target], values).expect("asked")).expect("plans")
}

#[test]
fn it_plans_with_its_own_act_and_the_default_of_a_shared_option() {
    let plan = plan();
    assert_eq!(plan.acts::<TimeSync>().count(), 3);
    assert_eq!(plan.cost(0).written, 3 * (256 << 20));
    let saved = plan.to_json();
    assert_eq!(serde_json::from_value::<Plan>(saved).expect("reads"), plan);
}

#[test]
fn its_record_gives_findings() {
    let plan = plan();
    let times = plan.acts::<TimeSync>().zip([0.4, 0.5, 0.6]).map(|((step, _), seconds)| (step.id, seconds));
    let act = |(step, seconds): (StepId, f64)| {
        let result = ActResult { observed: Some(SyncResult { seconds }.into()), ..ActResult::default() };
        Event::Act { step, target: Some(0), at: String::new(), result: Box::new(result) }
    };
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    events.extend(times.map(act));
    events.push(Event::End(End { how: How::Finished, at: String::new() }));
    let saved: Vec<Event> =
        serde_json::from_str(&serde_json::to_string(&events).expect("JSON")).expect("reads");
    let findings = SYNCTIME.findings(&mut saved.into_iter());
    assert_eq!(findings.verdicts, ["/mnt/a: a sync takes 600 ms at most."]);
    assert!(
        render(&findings, Format::Text, Style::PLAIN, true).contains("500 ms (252"),
        "{:?}",
        findings.tables
    );
}

/// As a snapshot: with `INSTA_UPDATE=always` the code is written into the document.
#[test]
fn the_code_in_the_document_is_the_code_that_is_compiled() {
    let document = root().join("docs/design/adding-an-experiment.md");
    let was = fs::read_to_string(&document).expect("the document is there");
    let mut shown = Vec::new();
    let mut parts = was.split("\n```rust\n");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, after) = part.split_once("\n```").expect("code ends");
        let paragraph = text.lines().rfind(|line| line.starts_with("`crates/")).expect("a file is named");
        let file = paragraph.split('`').nth(1).expect("its name").to_owned();
        let compiled = fs::read_to_string(root().join(&file)).expect("the file is there");
        let own = file.starts_with("crates/experiments/src/synctime/");
        assert!(own || compiled.contains(code), "{file} holds {code}");
        let code = if own { compiled.trim_end() } else { code };
        text += &format!("\n```rust\n{code}\n```{after}");
        shown.push(file);
    }
    let folder =
        ["mod", "plan", "act", "findings"].map(|f| format!("crates/experiments/src/synctime/{f}.rs"));
    assert!(folder.iter().all(|file| shown.contains(file)), "{shown:?}");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&document, &text).expect("the document can be written");
    } else {
        assert_eq!(text, was, "INSTA_UPDATE=always writes it");
    }
}

/// Lines of files with this ending below `dir` that hold the experiment's name.
fn named(dir: &Path, ending: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        let own = ["crates/experiments/src/synctime", "target"].iter().any(|own| entry.ends_with(own));
        if entry.is_dir() && !own {
            named(&entry, ending, found);
        } else if entry.extension().is_some_and(|e| e == ending) {
            let text = fs::read_to_string(&entry).expect("sources can be read");
            found.extend(
                text.lines().filter(|l| l.contains("synctime") || l.contains("SYNCTIME")).map(str::to_owned),
            );
        }
    }
}

#[test]
fn outside_its_folder_one_line_names_it() {
    let mut found = Vec::new();
    for dir in ["src", "crates", "tests", "bench", "lab"] {
        named(&root().join(dir), "rs", &mut found);
    }
    assert_eq!(found, ["    #[cfg(test)] synctime::SYNCTIME,"]);
}
