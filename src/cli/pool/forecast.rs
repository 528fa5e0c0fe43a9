//! How fast a pool will be, from what was measured of its drives in the bays where they are.

use std::collections::BTreeSet;

use super::sharing::{self, is_of_here};
use crate::{
    advise::Evidence,
    analyse::{
        Estimate,
        pool_model::{Cost, Planned, Queue, Shared, Speeds, Transfer},
    },
    inventory::{Drive, Inventory},
    pool::Build,
    units::{Caching, Direction, KIB, MIB, Parity, Pattern, listed, rate},
};

/// Drives that move at least this share at once of what they do alone share nothing that matters.
const FREE: f64 = 0.9;
/// An interval whose low end is below this share of the value says little.
const SURE: f64 = 0.5;

/// A line with the speeds that follow from measurements, newest first, or with what is missing.
pub(super) fn sentence(inventory: &Inventory, drives: &[&Drive], build: &Build, all: &[Evidence]) -> String {
    let known = Known { inventory, drives, all };
    let bounds: Option<[Forecast; 3]> = (|| {
        let [low, value, high] = [|e: &Estimate| e.low, |e: &Estimate| e.value, |e: &Estimate| e.high]
            .map(|end| known.forecast(build, end));
        Some([low?, value?, high?])
    })();
    let Some([low, value, high]) = bounds else {
        return "Its speeds can't be predicted: at least one drive was not measured in this bay, one operation at a time, \
                with sequential blocks of 1 MiB and random ones of 4 KiB (drivebench run baseline DIR).\n"
            .to_owned();
    };
    let said = |at: usize| {
        let (low, high) = (low.speeds[at], high.speeds[at]);
        Estimate { low, high, ..Estimate::unbounded(value.speeds[at], "a model") }.text(rate)
    };
    let from: BTreeSet<&str> = value.from.iter().map(String::as_str).collect();
    let together = if value.at_once { "" } else { ", as if the drives shared nothing" };
    let from = listed(&from.into_iter().map(str::to_owned).collect::<Vec<_>>());
    format!(
        "Predicted, one operation at a time: sequential 1 MiB, writes {}, reads {}; random 4 KiB, writes {}, reads {}. \
         From {from}{together}. The error of the model comes on top (drivebench pool predictions).\n",
        said(0),
        said(1),
        said(2),
        said(3)
    )
}

/// Writes and reads in large blocks, then in small ones at random.
struct Forecast {
    speeds: [f64; 4],
    /// The runs that it follows from.
    from: Vec<String>,
    /// Measurements say whether the drives share something.
    at_once: bool,
}

struct Known<'a> {
    inventory: &'a Inventory,
    drives: &'a [&'a Drive],
    all: &'a [Evidence],
}

impl Known<'_> {
    fn forecast(&self, build: &Build, end: fn(&Estimate) -> f64) -> Option<Forecast> {
        let mut from = Vec::new();
        let mut speed = |drive: &Drive, transfer, pattern, block| {
            let found = self.alone(drive, transfer, pattern, block)?;
            from.push(found.run.clone());
            // An interval over few runs may reach below zero.
            let speed = found.speed()?;
            Some(end(speed).max(speed.value * 0.01))
        };
        let mut members = Vec::new();
        for drive in self.drives {
            let queue = Queue::of(drive.queue.max_request, drive.queue.requests, drive.queue.writes);
            let mut cost = |transfer| {
                let small = speed(drive, transfer, Pattern::Random, 4 * KIB)?;
                let large = speed(drive, transfer, Pattern::Sequential, MIB)?;
                Some(Cost::through(queue, (4 * KIB, small), (MIB, large)))
            };
            let (read, write) = (cost(Transfer::Read)?, cost(Transfer::Write)?);
            members.push(Speeds {
                read,
                write,
                queue,
                rotates: drive.rotational,
                processor: [Cost::NOTHING; 2],
            });
        }
        let both = [Transfer::Write, Transfer::Read];
        let sums = both.map(|transfer| self.at_once(transfer));
        let alone = |transfer| -> f64 {
            let one =
                |drive: &&Drive| self.alone(drive, transfer, Pattern::Sequential, MIB)?.speed().cloned();
            self.drives.iter().filter_map(one).map(|e| e.value).sum()
        };
        let (mut shared, mut at_once) = (Vec::new(), true);
        for (transfer, sum) in both.into_iter().zip(sums) {
            let limits = |sum: &Estimate| sum.high < alone(transfer);
            at_once &= sum.is_some_and(|(_, sum)| limits(sum) || sum.low >= FREE * alone(transfer));
            if let Some((run, sum)) = sum.filter(|(_, sum)| limits(sum)) {
                from.push(run.to_owned());
                shared.push(Shared { members: (0..members.len()).collect(), transfer, rate: end(sum) });
            }
        }
        let pool = Planned {
            layout: build.layout,
            chunk: build.chunk,
            members: &members,
            shared: &shared,
            cores: 1,
            parity: Parity::default(),
        };
        let [write, read] = both;
        let speeds = [
            pool.speed(write, Pattern::Sequential, MIB),
            pool.speed(read, Pattern::Sequential, MIB),
            pool.speed(write, Pattern::Random, 4 * KIB),
            pool.speed(read, Pattern::Random, 4 * KIB),
        ];
        Some(Forecast { speeds, from, at_once })
    }

    /// The newest measurement of one operation at a time on this drive alone, a sure one before others.
    fn alone(&self, drive: &Drive, transfer: Transfer, pattern: Pattern, block: u64) -> Option<&Evidence> {
        let is = |found: &&Evidence| {
            !found.at_once
                && found.layers.is_empty()
                && found.pool.is_none()
                && is_of_here(found, self.inventory, &[drive])
                && is_load(found, transfer, pattern, block)
                && found.speed().is_some()
        };
        let sure = |found: &&Evidence| found.speed().is_some_and(|e| e.low >= SURE * e.value);
        let all = || self.all.iter().filter(is);
        all().find(sure).or_else(|| all().next())
    }

    /// What exactly these drives do at once, and the run that says so.
    fn at_once(&self, transfer: Transfer) -> Option<(&str, &Estimate)> {
        let mut all = sharing::at_once(self.all, self.inventory, self.drives, direction(transfer));
        let (found, sum) = all.find(|(found, _)| is_load(found, transfer, Pattern::Sequential, MIB))?;
        Some((&found.run, sum))
    }
}

fn direction(transfer: Transfer) -> Direction {
    match transfer {
        Transfer::Read => Direction::Read,
        Transfer::Write => Direction::Write,
    }
}

fn is_load(found: &Evidence, transfer: Transfer, pattern: Pattern, block: u64) -> bool {
    found.load.as_ref().is_some_and(|load| {
        load.direction == Some(direction(transfer))
            && load.pattern == Some(pattern)
            && load.block == Some(block)
            && load.depth.unwrap_or(1) * load.jobs.unwrap_or(1) == 1
            && load.caching == Some(Caching::Direct)
            && load.sync != Some(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        advise::testing::{alone, at_once, load, within},
        findings::LoadKey,
        inventory::fixtures,
        pool::tests::request,
        units::Layout,
    };

    const STICKS: [&str; 2] = ["sda", "sdb"];

    fn said(pi: &Inventory, all: &[Evidence]) -> String {
        let find = |name: &str| pi.drives.iter().find(|drive| drive.name == name).expect("a drive");
        let drives = STICKS.map(find);
        let build = request(Layout::Raid0).plan(pi, &drives).expect("a pool");
        sentence(pi, &drives, &build, all)
    }

    /// Writes 10 MB/s, reads 20 MB/s; a tenth of that at random.
    fn each(pi: &Inventory) -> Vec<Evidence> {
        let one = |name, reads, mb: f64| {
            let small = LoadKey { pattern: Some(Pattern::Random), ..load(reads, 4096, 1) };
            [
                alone(pi, "r1", name, load(reads, 1 << 20, 1), within(mb, 0.1), None),
                alone(pi, "r2", name, small, within(mb / 10.0, 0.1), None),
            ]
        };
        STICKS.iter().flat_map(|name| [one(name, false, 10.0), one(name, true, 20.0)].concat()).collect()
    }

    #[test]
    fn speeds_follow_from_measurements_of_these_drives_where_they_are() {
        let pi = fixtures::pi_zero().inventory();
        let all = each(&pi);
        // Each drive has 512 KiB, in one request or, where the file begins within a chunk, in two.
        assert_eq!(
            said(&pi, &all),
            "Predicted, one operation at a time: sequential 1 MiB, writes 18.2 MB/s ±10 %, reads 36.5 MB/s ±10 %; random \
             4 KiB, writes 1.00 MB/s ±10 %, reads 2.00 MB/s ±10 %. From r1 and r2, as if the drives shared nothing. The \
             error of the model comes on top (drivebench pool predictions).\n"
        );
        // One run has no upper end.
        let mut once = all.clone();
        let unbounded = Estimate { high: f64::INFINITY, ..within(10e6, 0.1) };
        // The writes in large blocks of both drives.
        for at in [0, 4] {
            once[at].numbers[0].estimate = unbounded.clone();
        }
        let text = said(&pi, &once);
        assert!(text.contains("writes 18.2 MB/s (at least 16.4)"), "{text}");
        let moved: Vec<Evidence> =
            all.iter().cloned().map(|found| Evidence { bays: vec![String::new()], ..found }).collect();
        assert!(said(&pi, &moved).starts_with("Its speeds can't be predicted"));
        assert!(said(&pi, &all[1..]).starts_with("Its speeds can't be predicted"));
    }

    #[test]
    fn what_drives_share_limits_a_pool_of_them() {
        let pi = fixtures::pi_zero().inventory();
        let sum = |reads, mb| {
            at_once(
                &pi,
                "r3",
                &STICKS,
                load(reads, 1 << 20, 1),
                within(mb, 0.02),
                if reads { 40.0 } else { 20.0 },
            )
        };
        let both = [each(&pi), vec![sum(false, 12.0), sum(true, 39.0)]].concat();
        let text = said(&pi, &both);
        assert!(
            text.starts_with("Predicted, one operation at a time: sequential 1 MiB, writes 12.0 MB/s")
                && text.contains("From r1, r2 and r3. The error"),
            "{text}"
        );
        assert!(text.contains("reads 36.5 MB/s"), "{text}");
        // What is not clear limits nothing, and it says so.
        let unclear: Vec<Evidence> = both
            .iter()
            .cloned()
            .map(|mut found| {
                let estimates = found.numbers.iter_mut().filter(|_| found.at_once).map(|m| &mut m.estimate);
                estimates.for_each(|e| (e.low, e.high) = (0.0, e.value * 2.0));
                found
            })
            .collect();
        let text = said(&pi, &unclear);
        assert!(text.contains("writes 18.2 MB/s") && text.contains("shared nothing"), "{text}");
        // Small blocks at once are not to be compared with large ones alone.
        let small: Vec<Evidence> = both
            .into_iter()
            .map(|found| match found.at_once {
                true => Evidence { load: found.load.map(|l| LoadKey { block: Some(4096), ..l }), ..found },
                false => found,
            })
            .collect();
        let text = said(&pi, &small);
        assert!(text.contains("writes 18.2 MB/s") && text.contains("shared nothing"), "{text}");
    }
}
