//! Loads of an imported file with their repetitions, and what they are called.

use crate::{
    analyse::{Estimate, repeat},
    findings::LoadKey,
    record::{Imported, ImportedLoad},
};

/// One load on one target, with its repetitions where the file has some.
pub(super) struct Group<'a> {
    pub target: String,
    /// What is known of the load; its name is unique on its target.
    pub load: LoadKey,
    pub loads: Vec<&'a ImportedLoad>,
    pub estimate: Estimate,
}

/// The name of the target of a load, as given or reported.
pub(super) fn target(imported: &Imported, load: &ImportedLoad) -> String {
    imported.options.drive.as_ref().or(load.on.as_ref()).cloned().unwrap_or_else(|| imported.file.clone())
}

pub(super) fn groups(imported: &Imported) -> Vec<Group<'_>> {
    let mut groups: Vec<(String, Vec<&ImportedLoad>)> = Vec::new();
    for load in &imported.loads {
        let on = target(imported, load);
        let same = |(target, loads): &&mut (String, Vec<&ImportedLoad>)| {
            *target == on && load.same_as.is_some() && loads.iter().all(|l| l.same_as == load.same_as)
        };
        match groups.iter_mut().find(same) {
            Some((_, loads)) => loads.push(load),
            None => groups.push((on, vec![load])),
        }
    }
    let named = names(&groups).into_iter().zip(groups);
    let named = named.map(|(name, (target, loads))| {
        let (load, estimate) = (load(&name, loads[0]), estimate(&loads));
        Group { target, load, loads, estimate }
    });
    named.collect()
}

/// The names of groups: fio's name for the load, as for drivebench's own loads. Several loads of a target that would share
/// a name add the job or tool and, if needed, a number.
fn names(groups: &[(String, Vec<&ImportedLoad>)]) -> Vec<String> {
    let key = |(target, loads): &(String, Vec<&ImportedLoad>)| {
        let origin = loads[0].name.clone().unwrap_or_else(|| loads[0].tool.clone());
        (target.clone(), loads[0].label(), origin)
    };
    let keys: Vec<(String, String, String)> = groups.iter().map(key).collect();
    let name = |(at, own): (usize, &(String, String, String))| {
        let (target, label, origin) = own;
        let same = keys.iter().filter(|other| (&other.0, &other.1) == (target, label)).count();
        let alike = keys.iter().filter(|other| *other == own).count();
        let number = 1 + keys[..at].iter().filter(|other| *other == own).count();
        match (same, alike) {
            (1, _) => label.clone(),
            (_, 1) => format!("{label} ({origin})"),
            _ => format!("{label} ({origin}) #{number}"),
        }
    };
    keys.iter().enumerate().map(name).collect()
}

/// The properties that must be equal for numbers to be compared.
pub(super) fn load(name: &str, from: &ImportedLoad) -> LoadKey {
    LoadKey {
        name: name.to_owned(),
        direction: from.direction,
        pattern: from.pattern,
        block: from.block,
        depth: from.depth,
        jobs: from.jobs,
        caching: from.caching,
        content: from.content,
        sync: from.sync,
        engine: from.tool.clone(),
        ..LoadKey::default()
    }
}

/// The speed over these repetitions.
pub(super) fn estimate(loads: &[&ImportedLoad]) -> Estimate {
    let speeds: Vec<f64> = loads.iter().map(|l| l.speed).collect();
    let tool = loads.first().map(|l| l.tool.clone()).unwrap_or_default();
    match repeat::mean(&speeds).filter(|_| speeds.len() > 1) {
        Some(mean) => Estimate { how: format!("{}, as {tool} reported", mean.how), ..mean },
        None => {
            let speed = speeds.first().copied().unwrap_or_default();
            Estimate::unbounded(speed, &format!("as {tool} reported, one run"))
        }
    }
}
