//! Verdicts of bays: the drive or the port, and what to do.

use super::findings::{Crossing, bays, name};
use crate::{
    analyse::latin_square::{Crossed, Factor, balanced},
    plan::Plan,
    units::{count, percent, signed_percent},
};

pub(super) fn verdicts(plan: &Plan, crossings: &[Crossing], run: &str) -> Vec<String> {
    let mut short = Vec::new();
    for c in crossings {
        let Some(crossed) = &c.crossed else {
            short.push(format!("{}: {}", c.label, open(c, run)));
            continue;
        };
        short.push(format!("{}: {}", c.label, answer(plan, crossed)));
        if crossed.things.least > 0.05 || crossed.places.least > 0.05 {
            let p = chance(crossed.things.least);
            short.push(format!(
                "Too few arrangements to show a difference at 5 % ({p} at best): raise --runs."
            ));
        }
    }
    if crossings.iter().filter_map(|c| c.crossed.as_ref()).any(|c| c.places.differ) {
        short.push(
            "Try another cable or hub for a slow bay, or use it for the least important drive.".to_owned(),
        );
    }
    short
}

/// Bays or drives that differ by no more than this are as good as equal.
const ALIKE: f64 = 0.05;

/// Whether all are as good as equal, whole intervals included; not to find a difference is not enough.
fn alike(factor: &Factor) -> bool {
    furthest(factor) <= ALIKE
}

/// The largest difference that is not excluded.
fn furthest(factor: &Factor) -> f64 {
    factor.levels.iter().map(|e| (1.0 - e.low).max(e.high - 1.0)).fold(0.0, f64::max)
}

fn open(c: &Crossing, run: &str) -> String {
    let done = c.speeds.iter().filter(|row| row.iter().all(Option::is_some)).count();
    if done == c.design.len() && balanced(&c.design) {
        return "no answer: all measurements are equal, or there are too few for a test. Raise --runs."
            .to_owned();
    }
    let all = count(c.design.len() as u64, "arrangement");
    format!(
        "{done} of {all} measured. All are needed to separate drives from bays. \
         `drivebench run bays --resume {run}` continues the run."
    )
}

fn answer(plan: &Plan, c: &Crossed) -> String {
    let (drives, bays_) = (&c.things, &c.places);
    // Only where whole intervals are narrow, the other factor is excluded.
    let only = |what: &str, yes: &Factor, other: &str, no: &Factor| match alike(no) {
        true => format!("the {what}, not the {other} ({})", chance(yes.p)),
        false => {
            let most = percent(furthest(no));
            format!("the {what} ({}); {other}s may differ by up to {most}", chance(yes.p))
        }
    };
    let cause = match (drives.differ, bays_.differ) {
        (true, false) => only("drive", drives, "bay", bays_),
        (false, true) => only("bay", bays_, "drive", drives),
        (true, true) => format!("both drive ({}) and bay ({})", chance(drives.p), chance(bays_.p)),
        (false, false) => format!(
            "no difference found: bays differ by {} at most, drives by {}",
            percent(furthest(bays_)),
            percent(furthest(drives))
        ),
    };
    let names: Vec<String> = (0..plan.targets.len()).map(|at| name(plan, at)).collect();
    let ports: Vec<String> = bays(plan).iter().map(|bay| format!("bay {bay}")).collect();
    let levels = levels(bays_, &ports, "bay").into_iter().chain(levels(drives, &names, "drive"));
    [cause].into_iter().chain(levels).map(|text| text + ".").collect::<Vec<_>>().join(" ")
}

fn chance(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// Which ones differ from the others, and by how much.
fn levels(factor: &Factor, names: &[String], what: &str) -> Option<String> {
    let mut apart: Vec<_> =
        factor.levels.iter().zip(names).filter(|(e, _)| e.high < 1.0 || e.low > 1.0).collect();
    apart.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
    // With two, the difference is stated once.
    apart.truncate(if names.len() == 2 { 1 } else { usize::MAX });
    let each = apart.iter().map(|(e, name)| format!("{name} {}", signed_percent(e.value - 1.0)));
    let each: Vec<String> = each.collect();
    let than = if names.len() == 2 { "the other".to_owned() } else { format!("the median {what}") };
    (factor.differ && !each.is_empty()).then(|| format!("Against {than}: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::analyse::latin_square::{draw, rounds};

    #[test]
    fn bays_are_called_alike_only_where_they_are() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut said = |slow: f64, noise: f64| {
            let mut once = || {
                let design = draw(4, rounds(4), &mut random);
                let mut value = |bay: usize| {
                    let luck: f64 = random.sample(StandardNormal);
                    (if bay == 0 { 1.0 - slow } else { 1.0 }) * (noise * luck).exp()
                };
                let values: Vec<Vec<f64>> =
                    design.iter().map(|a| a.iter().map(|&bay| value(bay)).collect()).collect();
                Crossed::of(&design, &values).is_some_and(|c| alike(&c.places))
            };
            (0..30).filter(|_| once()).count()
        };
        // One bay is slow, and the noise hides it from a test of differences.
        assert_eq!(said(0.15, 0.1), 0);
        assert!(said(0.0, 0.01) >= 28);
    }
}
