//! Reads lines of schema 1, where steps were numbered by position and each kind of act had its own event.

use serde_json::{Value, json};

use super::Event;

#[derive(Debug, Default)]
pub(super) struct Translator {
    /// The steps of the plan, in the current schema.
    steps: Vec<Value>,
    /// The step of the line before.
    last: u64,
}

impl Translator {
    pub fn read(&mut self, line: &[u8]) -> Result<Event, serde_json::Error> {
        // Most lines are windows, which have not changed.
        if line.starts_with(br#"{"event":"window""#) {
            return serde_json::from_slice(line);
        }
        let mut event: Value = serde_json::from_slice(line)?;
        match event["event"].as_str() {
            Some("plan") => {
                let steps = event.pointer_mut("/plan/steps").and_then(Value::as_array_mut);
                steps.into_iter().for_each(|steps| self.plan(steps));
            }
            Some("step") => {
                if let Some(rule) = event.pointer_mut("/instead/rule") {
                    *rule = rule_of(rule, self.last);
                }
            }
            Some("scratch") => event = self.scratch(&event),
            Some("errand") => {
                let result = event["took"].take();
                event = act(&event["step"], &event["target"], &Value::Null, result);
            }
            Some("arranged") => {
                let result = json!({ "seconds": event["seconds"], "drives": event["drives"].take() });
                event = act(&event["step"], &Value::Null, &event["at"], result);
            }
            Some("resume") => self.last = 0,
            _ => {}
        }
        self.last = event["step"].as_u64().unwrap_or(self.last);
        serde_json::from_value(event)
    }

    fn plan(&mut self, steps: &mut [Value]) {
        let again: Vec<bool> = steps.iter().map(|s| s["rule"]["rule"] == "again").collect();
        let mut write = 0;
        for (at, step) in steps.iter_mut().enumerate() {
            // The load before one that continues after a cliff; pauses may be between them.
            if step["step"] == "measure" && !again[at] {
                write = at as u64;
            }
            // A pause before such a load was skipped with it.
            let errand = step["step"] == "errand" && again.get(at + 1) == Some(&true);
            let needs = (again[at] || errand).then(|| json!({ "cliff": { "of": write } }));
            let on = match (&step["targets"], &step["target"]) {
                (Value::Array(targets), _) => json!(targets),
                (_, Value::Null) => (0..step["bays"].as_array().map_or(0, Vec::len)).collect(),
                (_, target) => json!([target]),
            };
            let act = act_of(step.take(), write);
            *step = json!({ "id": at, "on": on, "act": act });
            if let Some(needs) = needs {
                step["needs"] = needs;
            }
        }
        self.steps = steps.to_vec();
    }

    /// The next step that creates a file on this target.
    fn scratch(&self, event: &Value) -> Value {
        let on = json!([event["target"]]);
        let makes = |s: &&Value| s["on"] == on && s["act"]["scratch_file"].is_object();
        let next = self.steps.iter().filter(makes).find(|s| s["id"].as_u64() >= Some(self.last));
        let step = next.map_or(json!(self.last), |s| s["id"].clone());
        act(&step, &event["target"], &Value::Null, json!({ "path": event["path"] }))
    }
}

fn act(step: &Value, target: &Value, at: &Value, result: Value) -> Value {
    let at = at.as_str().unwrap_or_default();
    json!({ "event": "act", "step": step, "target": target, "at": at, "result": result })
}

/// The act of a step; `write` is the load before it.
fn act_of(mut step: Value, write: u64) -> Value {
    let kind = step["step"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "scratch" => json!({ "scratch_file": { "bytes": step["bytes"] } }),
        "measure" => {
            step["rule"] = rule_of(&step["rule"], write);
            json!({ "load": step })
        }
        "arrange" => json!({ "move_drives": step }),
        _ => errand_of(&step["task"]),
    }
}

fn errand_of(task: &Value) -> Value {
    let (set, seconds) = (&task["set"], &task["seconds"]);
    match task["task"].as_str() {
        Some("pause") => json!({ "pause": task }),
        Some("standby") => json!({ "standby": task }),
        Some("read_files") => json!({ "files": { "set": set, "seconds": seconds, "work": "read" } }),
        _ => {
            let work = json!({ "write": { "seed": task["seed"], "predict": task["predict"] } });
            json!({ "files": { "set": set, "seconds": seconds, "work": work } })
        }
    }
}

/// The rule of a load. A continuing load named no step, and an unreachable minimum was the largest integer.
fn rule_of(rule: &Value, write: u64) -> Value {
    let mut rule = rule.clone();
    if rule["rule"] == "again" {
        rule["of"] = json!(write);
    }
    if let Some(least) = rule.pointer_mut("/rules/w_min") {
        if [Some(u64::MAX), Some(u64::from(u32::MAX))].contains(&least.as_u64()) {
            *least = Value::Null;
        }
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Act, Condition, Rule, StepId};

    fn load(rule: Value) -> Value {
        json!({
            "step": "measure", "label": "write", "repetition": 1, "targets": [0], "rule": rule, "reach": 8,
            "only_written": false, "cold": false,
            "load": { "direction": "write", "pattern": "sequential", "block": 4096, "depth": 1,
                "caching": "direct", "seed": 1 },
        })
    }

    #[test]
    fn conditions_come_from_positions_and_unlimited_amounts_from_the_largest_integer() {
        let rules = |least: u64| {
            json!({ "precision": 0.05, "first": 128, "w_min": least, "budget": 9, "retain": 1, "growth": 1.25,
                "give_up": null })
        };
        for least in [u64::MAX, u64::from(u32::MAX)] {
            let pause = json!({ "step": "errand", "label": "pause", "repetition": 1, "target": 0,
                "task": { "task": "pause", "seconds": 60.0 } });
            let first = json!({ "rule": "adaptive", "rules": rules(least), "bytes": 9, "seconds": 1.0 });
            let again = json!({ "rule": "again", "rules": rules(least), "seconds": 1.0 });
            let scratch = json!({ "step": "scratch", "target": 0, "bytes": 9 });
            let steps = [scratch, load(first), pause.clone(), load(again), pause];
            let plan = json!({ "experiment": "cliff", "protocol": null, "engine": null, "targets": [], "steps": steps });
            let line = json!({ "event": "plan", "plan": plan }).to_string();
            let mut old = Translator::default();
            let Ok(Event::Plan { plan }) = old.read(line.as_bytes()) else { panic!("a plan") };
            let needs = Some(Condition::Cliff { of: StepId(1) });
            let needed: Vec<_> = plan.steps.iter().map(|step| step.needs).collect();
            assert_eq!(needed, [None, None, needs, needs, None]);
            assert!(plan.steps.iter().all(|step| step.on == [0]));
            for (_, measure) in plan.measures() {
                let (Rule::Adaptive { rules, .. } | Rule::Again { rules, .. }) = &measure.rule else {
                    panic!("rules")
                };
                assert_eq!(rules.w_min, None);
            }
            let made = br#"{"event":"scratch","target":0,"path":null,"bytes":9}"#;
            let Ok(Event::Act { step, target, .. }) = old.read(made) else { panic!("an act") };
            assert_eq!((step, target), (StepId(0), Some(0)));
            assert!(matches!(plan.steps[2].act, Act::Pause(_)) && plan.steps[2].act.label() == "pause");
        }
    }
}
