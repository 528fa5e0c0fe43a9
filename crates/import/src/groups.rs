//! Loads of an imported file with their repetitions, and what they are called.

use std::collections::BTreeMap;

use crate::{
    analyse::{Estimate, repeat},
    findings::LoadKey,
    record::{Imported, ImportedLoad},
    units::{Caching, KIB},
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
    let drive = imported.options.drive.as_ref().or(load.on.as_ref()).or(imported.drive.as_ref());
    drive.cloned().unwrap_or_else(|| imported.file.clone())
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

/// The names of groups: fio's name for the load, as for drivebench's own loads. If several loads of a target would share
/// a name, the default load keeps it; the others add the job or tool, and a number if that is not enough.
fn names(groups: &[(String, Vec<&ImportedLoad>)]) -> Vec<String> {
    // All loads of a label, and the usual ones among them.
    let mut alike: BTreeMap<(&str, String), [usize; 2]> = BTreeMap::new();
    for (target, loads) in groups {
        let [all, usual_ones] = alike.entry((target, loads[0].label())).or_default();
        *all += 1;
        *usual_ones += usize::from(usual(loads[0]));
    }
    let mut taken: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut names = Vec::new();
    for (target, loads) in groups {
        let (load, label) = (loads[0], loads[0].label());
        let [all, usual_ones] = alike[&(target.as_str(), label.clone())];
        if all == 1 || usual_ones == 1 && usual(load) {
            names.push(label);
            continue;
        }
        let name = format!("{label} ({})", load.name.as_ref().unwrap_or(&load.tool));
        let number = taken.entry((target, name.clone())).or_default();
        *number += 1;
        names.push(if *number == 1 { name } else { format!("{name} #{number}") });
    }
    names
}

/// Whether it is a load that drivebench measures by default.
fn usual(load: &ImportedLoad) -> bool {
    let by_itself = !matches!(load.name.as_deref(), Some("rewrite" | "reread" | "cached reads"));
    let asked = (load.block, load.depth, load.jobs, load.caching);
    by_itself && asked == (Some(4 * KIB), Some(1), Some(1), Some(Caching::Direct))
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
