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

/// What a load was measured on, as far as anyone says.
pub(super) fn target(imported: &Imported, load: &ImportedLoad) -> String {
    let said = imported.options.drive.as_ref().or(load.on.as_ref()).or(imported.drive.as_ref());
    said.cloned().unwrap_or_else(|| imported.file.clone())
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

/// What groups are called: by fio's name for their load, as drivebench's own loads are called. Where a target has more of
/// one name, it is left to the one that drivebench measures unasked, and the others say who told them, and if need be
/// how they differ.
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
        let ways: [fn(&ImportedLoad) -> String; 2] = [by, in_full];
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
            let number = numbers.entry(by(load)).or_default();
            *number += 1;
            names[at] = format!("{label} ({}) #{number}", by(load));
        }
    }
    names
}

/// Whether it is what drivebench would have measured unasked.
fn usual(load: &ImportedLoad) -> bool {
    let by_itself = !matches!(load.name.as_deref(), Some("rewrite" | "reread" | "cached reads"));
    let asked = (load.block, load.depth, load.jobs, load.caching);
    by_itself && asked == (Some(4 * KIB), Some(1), Some(1), Some(Caching::Direct))
}

/// The name of the job or test, or else of the tool.
fn by(load: &ImportedLoad) -> String {
    load.name.clone().unwrap_or_else(|| load.tool.clone())
}

fn in_full(load: &ImportedLoad) -> String {
    let caching = load.caching.map(|c| c.words().to_owned());
    let depth = load.depth.map(|d| format!("depth {d}"));
    let jobs = load.jobs.filter(|j| *j > 1).map(|j| format!("{j} jobs"));
    let differs = [load.block.map(size), depth, jobs, caching];
    [by(load)].into_iter().chain(differs.into_iter().flatten()).collect::<Vec<_>>().join(", ")
}

/// What must be alike for its numbers to be compared.
pub(super) fn load(name: &str, told: &ImportedLoad) -> LoadKey {
    LoadKey {
        name: name.to_owned(),
        direction: told.direction,
        pattern: told.pattern,
        block: told.block,
        depth: told.depth,
        jobs: told.jobs,
        caching: told.caching,
        content: told.content,
        sync: told.sync,
        engine: told.tool.clone(),
        ..LoadKey::default()
    }
}

/// The speed over these repetitions, as far as one can be told.
pub(super) fn estimate(loads: &[&ImportedLoad]) -> Estimate {
    let speeds: Vec<f64> = loads.iter().map(|l| l.speed).collect();
    let tool = loads.first().map(|l| l.tool.clone()).unwrap_or_default();
    match repeat::mean(&speeds).filter(|_| speeds.len() > 1) {
        Some(mean) => Estimate { how: format!("{}, as {tool} told", mean.how), ..mean },
        None => {
            let speed = speeds.first().copied().unwrap_or_default();
            Estimate::unbounded(speed, &format!("as {tool} told, one run"))
        }
    }
}
