//! Verdicts of bays, in sentences.

use super::crossing::{Crossing, bays, name};
use crate::{
    analyse::{
        Estimate,
        latin_square::{Crossed, Factor, balanced},
    },
    inventory::Drive,
    plan::Plan,
    units::{capital, count, percent},
};

pub(super) fn verdicts(plan: &Plan, crossings: &[Crossing], there: &[Drive], run: &str) -> Vec<String> {
    let one = |c: &Crossing| c.crossed.as_ref().map_or_else(|| open(c, run), |crossed| answer(plan, crossed));
    let mut sentences: Vec<String> = crossings.iter().map(|c| format!("{}: {}", c.label, one(c))).collect();
    sentences.extend(links(plan, there));
    let crossed = || crossings.iter().filter_map(|c| c.crossed.as_ref());
    let all_alike = crossings.iter().all(|c| c.crossed.as_ref().is_some_and(|c| alike(&c.places)));
    if crossed().any(|c| c.places.differ) {
        sentences.push(
            "Try another cable or hub for a slow bay. Otherwise leave it empty, or use it for the least important drive."
                .to_owned(),
        );
    } else if crossed().any(|c| c.things.differ) && all_alike {
        let most = percent(ALIKE);
        sentences.push(format!("Another port makes no drive more than {most} faster: choose by drive."));
    } else if crossed().any(|c| c.things.differ) {
        sentences.push("Whether another port is faster is not known. Raise --runs.".to_owned());
    }
    sentences
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
        return "no answer: all measurements are equal, or there are too few to judge chance. Raise --runs."
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
    let share =
        |f: &Factor| format!("{} ({}; {})", percent(f.share.value), f.share.range(percent), chance(f.p));
    let only = |what: &str, yes: &Factor, other: &str, no: &Factor| {
        let (explain, part, p) = (capital(what), share(yes), chance(no.p));
        let (not, but) = match alike(no) {
            true => (format!(", not the {other}"), String::new()),
            false => (
                String::new(),
                format!(" {}s may differ by up to {}.", capital(other), percent(furthest(no))),
            ),
        };
        format!(
            "the {what}{not}. {explain}s explain {part} of the differences, {other}s no measurable part ({p}).{but}"
        )
    };
    let mut sentences = vec![match (drives.differ, bays_.differ) {
        (true, false) => only("drive", drives, "bay", bays_),
        (false, true) => only("bay", bays_, "drive", drives),
        (true, true) => {
            let (drives, bays) = (share(drives), share(bays_));
            format!("both drive and bay. Drives explain {drives} of the differences, bays {bays}.")
        }
        (false, false) => {
            let p = chance(drives.p.min(bays_.p));
            format!("no difference found between these drives or between these bays ({p} or more).")
        }
    }];
    let names: Vec<String> = (0..plan.targets.len()).map(|at| name(plan, at)).collect();
    let ports: Vec<String> = bays(plan).iter().map(|b| format!("Bay {b}")).collect();
    sentences.extend(levels(bays_, &ports, "bay"));
    sentences.extend(levels(drives, &names, "drive"));
    if drives.least > 0.05 || bays_.least > 0.05 {
        let p = chance(drives.least);
        sentences
            .push(format!("Too few arrangements to show a difference at 5 % ({p} at best): raise --runs."));
    }
    sentences.push(format!("Single measurements vary by {}.", percent(c.noise)));
    sentences.join(" ")
}

fn chance(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// Which ones differ from the others, and by how much; otherwise the largest difference that is not excluded.
fn levels(factor: &Factor, names: &[String], what: &str) -> Vec<String> {
    let than = if names.len() == 2 { "the other".to_owned() } else { format!("the median {what}") };
    let of = |e: &Estimate| {
        let off = |ratio: f64| percent((ratio - 1.0).abs());
        let word = if e.value < 1.0 { "slower" } else { "faster" };
        let [low, high] = if e.value < 1.0 { [e.high, e.low] } else { [e.low, e.high] };
        let ends = Estimate { low, high, ..e.clone() }.range(off);
        format!("{} {word} than {than} ({ends})", off(e.value))
    };
    if !factor.differ {
        return vec![format!("No {what} differs by more than {} from {than}.", percent(furthest(factor)))];
    }
    let apart = |e: &&Estimate| e.high < 1.0 || e.low > 1.0;
    // With two, the difference is stated once.
    let mut shown: Vec<_> = factor.levels.iter().zip(names).filter(|(e, _)| apart(e)).collect();
    shown.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
    if names.len() == 2 {
        shown.truncate(1);
    }
    shown.into_iter().map(|(e, name)| format!("{name} is {}.", of(e))).collect()
}

/// Drives with a slower link than in other bays, which needs no statistics.
fn links(plan: &Plan, there: &[Drive]) -> Option<String> {
    let best = |d: &Drive| {
        let same = there.iter().filter(|o| o.identity() == d.identity());
        same.filter_map(|o| o.link_mbps).fold(0.0, f64::max)
    };
    let slow = there.iter().filter_map(|d| {
        let (link, best) = (d.link_mbps?, best(d));
        let (name, bay) = (d.model_and_serial(), plan.bay_name(&d.full_bay()));
        (link < best).then(|| format!("{name} at {link} Mb/s in bay {bay}"))
    });
    let mut slow: Vec<String> = slow.collect();
    slow.sort();
    slow.dedup();
    (!slow.is_empty()).then(|| {
        let slow = slow.join(", ");
        format!("Slower link than in other bays: {slow}. The cause is the port, its cable or its hub.")
    })
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
