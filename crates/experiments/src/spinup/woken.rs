//! Standbys and spin-ups of a disk, from the record.

use std::collections::BTreeMap;

use super::{
    super::common::{Group, Summary},
    plan::{FIRST, SPINNING},
};
use crate::{
    analyse::{Estimate, repeat},
    plan::StepId,
    record::{ActResult, StandbyResult},
    target::Target,
    units::{Ended, Percentile},
};

/// A first read that takes this many times as long as while spinning included a spin-up...
const TIMES: f64 = 10.0;
/// ...if it took at least this long, s: unparking heads takes less.
const LEAST_SECONDS: f64 = 0.3;

pub(super) struct Woken<'a> {
    pub target: &'a Target,
    /// Each first read with the typical one while spinning, s.
    pub reads: Vec<(f64, f64)>,
    /// How each standby was reached.
    pub naps: Vec<StandbyResult>,
}

impl Woken<'_> {
    /// The time of each spin-up, s.
    pub fn wakings(&self) -> Vec<f64> {
        let woke = |(first, spinning): &&(f64, f64)| *first > (TIMES * spinning).max(LEAST_SECONDS);
        self.reads.iter().filter(woke).map(|(first, spinning)| first - spinning).collect()
    }

    pub fn direct(&self) -> Option<Estimate> {
        repeat::middle(&self.wakings())
    }

    /// One read while spinning, s.
    pub fn spinning(&self) -> Option<Estimate> {
        repeat::middle(&self.reads.iter().map(|(_, spinning)| *spinning).collect::<Vec<_>>())
    }
}

pub(super) fn woken<'a>(
    acts: &BTreeMap<(StepId, usize), ActResult>,
    groups: &[Group<'_>],
    at: usize,
    target: &'a Target,
) -> Woken<'a> {
    let whole = |run: &&Summary| run.ended == Some(Ended::Finished);
    let runs = |label: &str| -> Vec<&Summary> {
        let group = groups.iter().find(|group| group.at == at && group.measure.label == label);
        group.map(|group| group.runs.iter().filter(whole).collect()).unwrap_or_default()
    };
    let typical = |run: &Summary| Some(run.tail.histogram().quantile(Percentile::P50.share())? as f64 / 1e9);
    let spinning = runs(SPINNING);
    let pair = |first: &&Summary| {
        let same = spinning.iter().find(|run| run.repetition == first.repetition)?;
        Some((first.seconds, typical(same)?))
    };
    let naps = acts.iter().filter(|((_, of), _)| *of == at);
    Woken {
        target,
        reads: runs(FIRST).iter().filter_map(pair).collect(),
        naps: naps.filter_map(|(_, result)| result.slept.clone()).collect(),
    }
}
