//! Reads lines of schema 1, in which steps were known by their position and acts had events of their own.

use serde_json::{Value, json};

use super::Event;

/// Turns lines of schema 1 into today's events.
#[derive(Debug, Default)]
pub(super) struct Translator {
    /// The steps of the plan, as they are today.
    steps: Vec<Value>,
    /// The step of the line before.
    last: u64,
}

impl Translator {
    /// The event on this line.
    ///
    /// # Errors
    /// Where it is none of schema 1.
    pub fn read(&mut self, line: &[u8]) -> Result<Event, serde_json::Error> {
        // Nearly all lines are windows, which are what they were.
        if line.starts_with(br#"{"event":"window""#) {
            return serde_json::from_slice(line);
        }
        let mut event: Value = serde_json::from_slice(line)?;
        match event["event"].as_str() {
            Some("plan") => self.plan(&mut event["plan"]),
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

    fn plan(&mut self, plan: &mut Value) {
        let Some(steps) = plan["steps"].as_array_mut() else { return };
        let again: Vec<bool> = steps.iter().map(|s| s["rule"]["rule"] == "again").collect();
        let mut write = 0;
        for (at, step) in steps.iter_mut().enumerate() {
            // The load before one that went on after a cliff, which pauses may separate.
            if step["step"] == "measure" && !again[at] {
                write = at as u64;
            }
            // An errand before such a load was left out with it.
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
        self.steps = steps.clone();
    }

    /// The next step that makes a file on this target.
    fn scratch(&self, event: &Value) -> Value {
        let on = json!([event["target"]]);
        let makes = |s: &&Value| s["on"] == on && s["act"]["scratch_file"].is_object();
        let next = self.steps.iter().filter(makes).find(|s| s["id"].as_u64() >= Some(self.last));
        let step = next.map_or(json!(self.last), |s| s["id"].clone());
        act(&step, &event["target"], &Value::Null, json!({ "path": event["path"] }))
    }
}

/// The line of an act.
fn act(step: &Value, target: &Value, at: &Value, result: Value) -> Value {
    let at = at.as_str().unwrap_or_default();
    json!({ "event": "act", "step": step, "target": target, "at": at, "result": result })
}

/// What a step does; `write` is the load before it.
fn act_of(mut step: Value, write: u64) -> Value {
    let kind = step["step"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "scratch" => json!({ "scratch_file": { "bytes": step["bytes"] } }),
        "measure" => {
            step["rule"] = rule_of(&step["rule"], write);
            json!({ "load": step })
        }
        "arrange" => json!({ "move_drives": step }),
        _ => errand_of(step["task"].take()),
    }
}

fn errand_of(task: Value) -> Value {
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

/// The rule of a load: one that went on named no step, and a least amount that nothing reaches was the largest number.
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
