//! Loads of an imported file with their repetitions, and what they are called.

use std::collections::BTreeMap;

use crate::{
    analyse::{Estimate, repeat},
    findings::LoadKey,
    record::{Imported, ImportedLoad},
    units::{Caching, KIB, size},
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
/// a name, the default load keeps it; the others add the job or tool and, if needed, their settings.
fn names(groups: &[(String, Vec<&ImportedLoad>)]) -> Vec<String> {
    let mut names = vec![String::new(); groups.len()];
    let mut rivals: BTreeMap<(&str, String), Vec<(usize, &ImportedLoad)>> = BTreeMap::new();
    for (at, (target, loads)) in groups.iter().enumerate() {
        rivals.entry((target, loads[0].label())).or_default().push((at, loads[0]));
    }
    for ((_, label), mut rivals) in rivals {
        let all: Vec<usize> = (0..rivals.len()).collect();
        let usual: Vec<usize> = all.iter().copied().filter(|at| usual(rivals[*at].1)).collect();
        if let ([at], _) | (_, [at]) = (&usual[..], &all[..]) {
            names[rivals.remove(*at).0] = label.clone();
        }
        // Each way of naming that tells some of them apart; the last one counts.
        let ways: [fn(&ImportedLoad) -> String; 2] = [origin_name, settings_name];
        let mut unnamed = rivals;
        for way in ways {
            let mut alike: BTreeMap<String, Vec<(usize, &ImportedLoad)>> = BTreeMap::new();
            unnamed.drain(..).for_each(|(at, load)| alike.entry(way(load)).or_default().push((at, load)));
            for (name, of_it) in alike {
                match &of_it[..] {
                    [(at, _)] => names[*at] = format!("{label} ({name})"),
                    _ => unnamed.extend(of_it),
                }
            }
        }
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        unnamed.sort_by_key(|(at, _)| *at);
        for (at, load) in unnamed {
            let number = numbers.entry(origin_name(load)).or_default();
            *number += 1;
            names[at] = format!("{label} ({}) #{number}", origin_name(load));
        }
    }
    names
}

/// Whether it is a load that drivebench measures by default.
fn usual(load: &ImportedLoad) -> bool {
    let by_itself = !matches!(load.name.as_deref(), Some("rewrite" | "reread" | "cached reads"));
    let asked = (load.block, load.depth, load.jobs, load.caching);
    by_itself && asked == (Some(4 * KIB), Some(1), Some(1), Some(Caching::Direct))
}

/// The name of the job or test, or else of the tool.
fn origin_name(load: &ImportedLoad) -> String {
    load.name.clone().unwrap_or_else(|| load.tool.clone())
}

fn settings_name(load: &ImportedLoad) -> String {
    let caching = load.caching.map(|c| c.words().to_owned());
    let depth = load.depth.map(|d| format!("depth {d}"));
    let jobs = load.jobs.filter(|j| *j > 1).map(|j| format!("{j} jobs"));
    let differs = [load.block.map(size), depth, jobs, caching];
    [origin_name(load)].into_iter().chain(differs.into_iter().flatten()).collect::<Vec<_>>().join(", ")
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
