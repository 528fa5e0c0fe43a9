//! What was predicted of layouts beside what was measured: how far off it was, and what was not predicted.

use std::collections::BTreeMap;

use super::{super::common::Group, compared::Compared};
use crate::{
    plan::{FILL, Plan, Prediction, Rule},
    units::{Direction, Layout, PredictedLoad, count, distinct, duration, listed, percent, signed_percent},
};

/// Of a target.
pub(super) fn layout(plan: &Plan, at: usize) -> Layout {
    plan.build(at).map_or(Layout::Single, |build| build.layout)
}

/// How good the predictions were. What is predicted from one drive is what was measured of it.
pub(super) fn quality(compared: &[Compared], plan: &Plan, drives: usize) -> Option<String> {
    let is_of_one =
        |c: &Compared, at: usize| c.load.direction.is_some_and(|way| layout(plan, at).is_of_one_drive(way));
    let all = compared.iter().flat_map(|c| (drives..plan.targets.len()).map(move |at| (c, at)));
    let known = all.filter_map(|(c, at)| Some((c.error(at)?, c, at)));
    let (one, errors): (Vec<_>, Vec<_>) = known.partition(|(_, c, at)| is_of_one(c, *at));
    let left_out = match one.is_empty() {
        true => "",
        false => ", those left out that are the speed of one drive (linear, reads of raid1)",
    };
    let (worst, c, at) = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let mean = errors.iter().map(|(error, ..)| error.abs()).sum::<f64>() / errors.len() as f64;
    let of = count(errors.len() as u64, "speed");
    let (mean, worst) = (percent(mean), signed_percent(*worst));
    Some(format!(
        "Predictions, saved before the first layout was built: off by {mean} on average over {of}{left_out}; the worst is {} of {}, {worst}.",
        c.label, plan.targets[*at].given
    ))
}

/// Loads in which one operation took a large part of a run: how often such operations come, so short a run can't say, and neither can
/// a prediction that follows from it.
pub(super) fn too_short(groups: &[Group<'_>], names: &[String]) -> Option<String> {
    /// An operation may take this share of a run.
    const PART: f64 = 0.2;
    let mut loads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut longest, mut least) = (0.0_f64, f64::INFINITY);
    // Where several are under way, each waits for the others.
    let is_single = |group: &&Group<'_>| group.measure.load.depth == 1 && group.measure.load.streams == 1;
    for group in groups.iter().filter(|group| group.measure.label != FILL).filter(is_single) {
        let Rule::Fixed { seconds: Some(seconds), .. } = group.measure.rule else { continue };
        let Some(took) = group.longest().map(|longest| longest.estimate.value) else { continue };
        if took > PART * seconds {
            loads.entry(&group.measure.label).or_default().push(names.get(group.at)?);
            (longest, least) = (longest.max(took), least.min(seconds));
        }
    }
    let of = |(load, on): (&&str, &Vec<&str>)| format!("{load} of {}", listed(&distinct(on.iter().copied())));
    let of: Vec<String> = loads.iter().map(of).collect();
    (!of.is_empty()).then(|| {
        format!(
            "One operation took up to {}, in runs of {}: {}. How often that happens so short runs can't say, so their speeds, and what is predicted from \
             them, may be far off. Repeat with --runtime {:.0}s or more.",
            duration(longest),
            duration(least),
            of.join("; "),
            (longest / PART).ceil()
        )
    })
}

/// Writes of copies and parity for which a processor works for a good part of the time. Of its work only what drives and parity take is
/// predicted.
pub(super) fn busy(compared: &[Compared], names: &[String], layouts: &[Layout]) -> Option<String> {
    /// Of the time.
    const PART: f64 = 0.3;
    let is_busy = |load: &PredictedLoad| load.processor.is_some_and(|per_byte| per_byte * load.speed >= PART);
    let of = |c: &Compared| {
        let all = names.iter().zip(layouts).zip(&c.predicted);
        let redundant = all.filter(|((_, layout), _)| layout.is_redundant());
        let busy = redundant.filter(|(_, load)| load.as_ref().is_some_and(is_busy));
        let busy: Vec<&str> = busy.map(|((name, _), _)| name.as_str()).collect();
        (!busy.is_empty()).then(|| format!("{} of {}", c.label, listed(&busy)))
    };
    let writes = compared.iter().filter(|c| c.load.direction == Some(Direction::Write));
    let all: Vec<String> = writes.filter_map(of).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Predicted to keep a processor busy for {} of the time or longer: {}. What the kernel needs to manage copies and parity comes on top, so \
             these may be slower than predicted.",
            percent(PART),
            all.join("; ")
        )
    })
}

/// What is not predicted of which layouts, and of which drive it would have to follow.
pub(super) fn not_predicted(predictions: &[Prediction], plan: &Plan, names: &[String]) -> Vec<String> {
    // Layouts that lack the same share a sentence.
    let mut layouts: BTreeMap<(Cause, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for prediction in predictions {
        let Some(layout) = plan.targets.get(prediction.pool as usize) else { continue };
        let mut lacks: BTreeMap<Cause, Vec<&str>> = BTreeMap::new();
        for not in &prediction.not {
            lacks.entry((not.drive, not.is_measured, not.seeks)).or_default().push(&not.label);
        }
        for (cause, loads) in lacks {
            layouts.entry((cause, loads)).or_default().push(&layout.given);
        }
    }
    let sentence = |(((drive, is_measured, seeks), loads), layouts): ((Cause, Vec<&str>), Vec<&str>)| {
        let drive = names.get(drive as usize)?;
        let why = match (is_measured, seeks) {
            (_, true) => {
                format!("the head of {drive} moves between data, parity and copies, and how far is not known")
            }
            (false, _) => format!("{drive} was not measured with all loads that they follow from"),
            (true, _) => {
                format!("the speeds of {drive} with small and with large blocks contradict each other")
            }
        };
        Some(format!("Not predicted: {} of {}: {why}.", listed(&loads), listed(&layouts)))
    };
    layouts.into_iter().filter_map(sentence).collect()
}

/// The drive that a load does not follow from, whether it was measured, and whether it moves a head.
type Cause = (u32, bool, bool);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::LoadKey;

    #[test]
    fn writes_that_keep_a_processor_busy_are_named() {
        let names = ["bay:1.1", "raid0", "raid1"].map(str::to_owned);
        let layouts = [Layout::Single, Layout::Raid0, Layout::Raid1];
        // Milliseconds of a processor for each of so many operations of 4 KiB in a second.
        let load = |milliseconds: f64| {
            let (speed, processor) = (400.0 * 4096.0, Some(milliseconds * 1e-3 / 4096.0));
            Some(PredictedLoad { label: String::new(), speed, low: speed, high: None, processor })
        };
        let compared = |label: &str, direction: Direction, each: [f64; 3]| Compared {
            label: label.to_owned(),
            load: LoadKey { direction: Some(direction), ..LoadKey::default() },
            runs: 3,
            measured: vec![None; 3],
            predicted: each.map(load).to_vec(),
        };
        let all = [
            compared("write 1M", Direction::Write, [2.0, 1.5, 0.3]),
            compared("read 4k", Direction::Read, [2.0, 1.5, 1.2]),
            compared("write 4k", Direction::Write, [2.0, 1.5, 1.2]),
        ];
        let said = busy(&all, &names, &layouts).expect("one is busy");
        let names_it = said.starts_with(
            "Predicted to keep a processor busy for 30 % of the time or longer: write 4k of raid1. ",
        );
        assert!(names_it, "{said}");
        assert_eq!(busy(&all[..2], &names, &layouts), None);
    }
}
