//! `drivebench check` on a stick that becomes slower between two checks.

use serde_json::Value;

use super::{ok, out, scenario, start};

/// The decision and the ratio of a check of the first stick.
fn check(machine: &drivebench_lab::Machine) -> (String, f64) {
    let command = "drivebench check $(lab-device 07B20C03C80830A9) --on-change 'cat >>/work/told' --format json || [ $? = 1 ]";
    let text = out(machine, command);
    println!("{text}");
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let decision = &document["drives"][0]["decisions"][0];
    let ratio = &decision["change"]["ratio"]["value"];
    (decision["decision"].as_str().expect("a decision").to_owned(), ratio.as_f64().unwrap_or(f64::NAN))
}

#[test]
fn a_stick_that_becomes_slower_is_told_once() {
    let mut machine = start(&scenario("two-sticks"));
    assert_eq!(check(&machine).0, "first");
    for _ in 0..2 {
        assert_eq!(check(&machine).0, "fine");
    }
    // 20 % less than the stick reads.
    ok(machine.limit(0, Some(12_000_000)));
    let checks: Vec<_> = (0..4).map(|_| check(&machine)).collect();
    let decisions: Vec<&str> = checks.iter().map(|(decision, _)| decision.as_str()).collect();
    assert_eq!(decisions, ["unknown", "unknown", "slower", "slower"]);
    assert!((0.75..0.87).contains(&checks[2].1), "{checks:?}");
    let told = out(&machine, "cat /work/told");
    let told: Vec<Value> =
        serde_json::Deserializer::from_str(&told).into_iter().map(|one| one.expect("JSON")).collect();
    let slower = |one: &&Value| one["drives"][0]["decisions"][0]["decision"] == "slower";
    assert_eq!((told.len(), told.iter().filter(slower).count()), (1, 1), "{told:#?}");
}
