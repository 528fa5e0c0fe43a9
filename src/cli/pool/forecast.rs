//! How fast a pool will be, from what was measured of its drives in the bays where they are.

use std::collections::BTreeSet;

use super::sharing::{self, is_of_here};
use crate::{
    advise::Evidence,
    analyse::{
        Estimate,
        pool_model::{Cost, End, Planned, Queue, Shared, Speeds, Stalls, Transfer, jumps, seeks},
    },
    inventory::{Drive, Inventory},
    pool::Build,
    units::{Caching, Direction, KIB, Layout, MIB, Parity, Pattern, PredictedLoad, duration, listed, rate},
};

/// Drives that move at least this share at once of what they do alone share nothing that matters.
const FREE: f64 = 0.9;
/// An interval whose low end is below this share of the value says little.
const SURE: f64 = 0.5;

/// The loads whose speeds are predicted, one operation at a time.
const LOADS: [(&str, Transfer, Pattern, u64); 4] = [
    ("write 1M", Transfer::Write, Pattern::Sequential, MIB),
    ("read 1M", Transfer::Read, Pattern::Sequential, MIB),
    ("randwrite 4k", Transfer::Write, Pattern::Random, 4 * KIB),
    ("randread 4k", Transfer::Read, Pattern::Random, 4 * KIB),
];

/// What follows if nothing is known of a drive.
pub(super) const UNKNOWN: &str = "Its speeds can't be predicted: at least one drive was not measured in this bay, one operation at a time, with sequential \
     blocks of 1 MiB and random ones of 4 KiB (drivebench run baseline DIR).\n";

/// How fast a pool will be.
#[derive(Debug)]
pub(super) struct Forecast {
    loads: Vec<PredictedLoad>,
    /// Until its members agree; none where nothing is copied.
    first_sync_seconds: Option<f64>,
    /// Until a drive that takes the place of another has its data.
    rebuild_seconds: Option<f64>,
    /// The runs that it follows from.
    from: BTreeSet<String>,
    /// Measurements say whether the drives share something.
    at_once: bool,
}

impl Forecast {
    /// From measurements, the newest first; none if one is missing.
    pub fn of(inventory: &Inventory, drives: &[&Drive], build: &Build, all: &[Evidence]) -> Option<Self> {
        // raid1 reads from its first member, and mdadm puts those that reads avoid last.
        let mut order: Vec<(&Drive, bool)> =
            drives.iter().zip(&build.members).map(|(drive, member)| (*drive, member.write_mostly)).collect();
        order.sort_by_key(|(_, write_mostly)| *write_mostly);
        let order: Vec<&Drive> = order.into_iter().map(|(drive, _)| drive).collect();
        let known = Known { inventory, drives: &order, all };
        let mut from = BTreeSet::new();
        let mut at_once = true;
        let mut at = |pattern, end| {
            let (members, known) = known.pool(pattern, end, &mut from)?;
            at_once &= known;
            Some(members)
        };
        let mut ends =
            |pattern| Some([at(pattern, End::Low)?, at(pattern, End::Value)?, at(pattern, End::High)?]);
        let (sequential, random) = (ends(Pattern::Sequential)?, ends(Pattern::Random)?);
        let load = |(label, transfer, pattern, block): (&str, Transfer, Pattern, u64)| {
            let [low, pool, high] = if pattern == Pattern::Random { &random } else { &sequential };
            let speed = |pool: &Members| pool.planned(build).speed(transfer, pattern, block);
            let each = |pool: &Members| -> Vec<f64> {
                pool.planned(build).singles().map(|one| one.speed(transfer, pattern, block)).collect()
            };
            let [speed, low, high] = match build.layout {
                // A file is on one of the drives, the first one most often.
                Layout::Linear => [
                    each(pool)[0],
                    each(low).into_iter().fold(f64::INFINITY, f64::min),
                    each(high).into_iter().fold(0.0, f64::max),
                ],
                _ => [speed(pool), speed(low), speed(high)],
            };
            PredictedLoad::new(label, speed, [low, high])
        };
        let seeks = known.some_seeks();
        let is_known = |(_, transfer, pattern, _): &(&str, Transfer, Pattern, u64)| {
            !(seeks && jumps(build.layout, *transfer, *pattern))
        };
        let loads = LOADS.into_iter().filter(is_known).map(load).collect();
        let pool = sequential[1].planned(build);
        let first_sync_seconds = build.size.and_then(|bytes| pool.first_sync_seconds(bytes));
        let rebuild_seconds = build.size.and_then(|bytes| pool.longest_rebuild_seconds(bytes));
        Some(Self { loads, first_sync_seconds, rebuild_seconds, from, at_once })
    }

    /// A line for people.
    pub fn sentence(&self) -> String {
        let speeds = |labels: [&str; 2]| {
            let ways = labels.into_iter().zip(["writes", "reads"]);
            let known = ways.filter_map(|(label, way)| {
                let load = self.loads.iter().find(|load| load.label == label)?;
                Some(format!("{way} {}", Estimate::predicted(load).text(rate)))
            });
            known.collect::<Vec<_>>().join(", ")
        };
        let sequential = match speeds([LOADS[0].0, LOADS[1].0]) {
            known if known.is_empty() => String::new(),
            known => format!("sequential 1 MiB, {known}; "),
        };
        let random = speeds([LOADS[2].0, LOADS[3].0]);
        let seeks = match self.loads.len() < LOADS.len() {
            true => {
                " Other sequential speeds are not predicted: heads move between data, parity and copies, and how far is not known."
            }
            false => "",
        };
        let together = if self.at_once { "" } else { ", as if the drives shared nothing" };
        let from = listed(&self.from.iter().cloned().collect::<Vec<_>>());
        let fill = self.first_sync_seconds.zip(self.rebuild_seconds).map(|(first, rebuild)| {
            let (first, rebuild) = (duration(first), duration(rebuild));
            format!(" The first sync takes {first}, filling a new drive {rebuild}.")
        });
        format!(
            "Predicted, one operation at a time: {sequential}random 4 KiB, {random}.{seeks}{} From {from}{together}. Drives that stall \
             make copies and parity slower than this. The error of the model comes on top.\n",
            fill.unwrap_or_default()
        )
    }
}

/// The members of a pool, and what they share.
struct Members {
    members: Vec<Speeds>,
    shared: Vec<Shared>,
}

impl Members {
    fn planned(&self, build: &Build) -> Planned<'_> {
        Planned {
            layout: build.layout,
            chunk: build.chunk,
            members: &self.members,
            shared: &self.shared,
            // What processors take is not known, and without it the order is of no account.
            cores: 1,
            last_first: false,
            parity: Parity::default(),
        }
    }
}

struct Known<'a> {
    inventory: &'a Inventory,
    drives: &'a [&'a Drive],
    all: &'a [Evidence],
}

impl Known<'_> {
    /// The members at one end of the intervals, and whether measurements say what they share.
    fn pool(&self, pattern: Pattern, end: End, from: &mut BTreeSet<String>) -> Option<(Members, bool)> {
        let mut speed = |drive: &Drive, transfer, pattern, block| {
            let found = self.alone(drive, transfer, pattern, block)?;
            from.insert(found.run.clone());
            found.speed()
        };
        let mut members = Vec::new();
        for drive in self.drives {
            let known = &drive.queue;
            let queue = Queue::of(known.max_request, known.requests, known.writes, known.drains_writes());
            let mut cost = |transfer| {
                let small = speed(drive, transfer, Pattern::Random, 4 * KIB)?;
                let large = speed(drive, transfer, Pattern::Sequential, MIB)?;
                // All that is predicted is as large as one of the two.
                let block = if pattern == Pattern::Random { 4 * KIB } else { MIB };
                Cost::of(queue, (pattern, block), (4 * KIB, small), (MIB, large), end)
            };
            let (read, write) = (cost(Transfer::Read)?, cost(Transfer::Write)?);
            members.push(Speeds {
                read,
                write,
                // Findings have no more than the mean with all stalls in it.
                stalls: [Stalls::NONE; 2],
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
                from.insert(run.to_owned());
                shared.push(Shared { members: (0..members.len()).collect(), transfer, rate: end.of(sum) });
            }
        }
        Some((Members { members, shared }, at_once))
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

    /// One of the drives moves a head.
    fn some_seeks(&self) -> bool {
        let speed = |drive: &&&Drive| {
            let found = self.alone(drive, Transfer::Read, Pattern::Random, 4 * KIB)?;
            found.speed().map(|e| e.value)
        };
        self.drives.iter().any(|drive| speed(&drive).is_some_and(|speed| seeks(4 * KIB, speed)))
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
        pool::{Request, testing::request},
    };

    const STICKS: [&str; 2] = ["sda", "sdb"];

    fn said(pi: &Inventory, all: &[Evidence]) -> String {
        let find = |name: &str| pi.drives.iter().find(|drive| drive.name == name).expect("a drive");
        let drives = STICKS.map(find);
        let build = request(Layout::Raid0).plan(pi, &drives).expect("a pool");
        Forecast::of(pi, &drives, &build, all).map_or(UNKNOWN.to_owned(), |forecast| forecast.sentence())
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
             4 KiB, writes 1.00 MB/s ±10 %, reads 2.00 MB/s ±10 %. From r1 and r2, as if the drives shared nothing. \
             Drives that stall make copies and parity slower than this. The error of the model comes on top.\n"
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
    fn a_file_on_linear_is_on_one_drive_and_reads_of_raid1_avoid_what_is_said_to_be_slow() {
        let pi = fixtures::pi_zero().inventory();
        let mut all = each(&pi);
        // The second stick reads and writes at half the speed.
        all[4..].iter_mut().for_each(|found| {
            let estimate = &mut found.numbers[0].estimate;
            for speed in [&mut estimate.value, &mut estimate.low, &mut estimate.high] {
                *speed /= 2.0;
            }
        });
        let find = |name: &str| pi.drives.iter().find(|drive| drive.name == name).expect("a drive");
        let speeds = |names: [&str; 2], request: Request| {
            let drives = names.map(find);
            let build = request.plan(&pi, &drives).expect("a pool");
            let loads = Forecast::of(&pi, &drives, &build, &all).expect("all were measured").loads;
            let read = loads.iter().find(|load| load.label == "read 1M").expect("is predicted");
            [read.low, read.speed, read.high.expect("an end")].map(|speed| (speed / 1e6).round())
        };
        assert_eq!(speeds(STICKS, request(Layout::Linear)), [9.0, 20.0, 22.0]);
        assert_eq!(speeds(["sdb", "sda"], request(Layout::Linear)), [9.0, 10.0, 22.0]);
        let raid1 = |mostly: &[&str]| Request {
            write_mostly: mostly.iter().map(|name| find(name).identity()).collect(),
            ..request(Layout::Raid1)
        };
        assert_eq!(speeds(["sdb", "sda"], raid1(&[]))[1], 10.0);
        assert_eq!(speeds(["sdb", "sda"], raid1(&["sdb"]))[1], 20.0);
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
                && text.contains("From r1, r2 and r3. Drives that stall"),
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

    #[test]
    fn sequential_speeds_of_disks_are_predicted_only_where_their_heads_simply_go_on() {
        let pi = fixtures::pi_zero().inventory();
        let mut all = each(&pi);
        // 10 ms for 4 KiB anywhere.
        for found in all.iter_mut().filter(|found| found.load.as_ref().is_some_and(|l| l.block == Some(4096)))
        {
            found.numbers[0].estimate = within(0.4e6, 0.1);
        }
        let drives = STICKS.map(|name| pi.drives.iter().find(|drive| drive.name == name).expect("a drive"));
        let labels = |layout| {
            let build = request(layout).plan(&pi, &drives).expect("a pool");
            let forecast = Forecast::of(&pi, &drives, &build, &all).expect("all were measured");
            let labels: Vec<String> = forecast.loads.iter().map(|load| load.label.clone()).collect();
            (labels.join(", "), forecast.sentence().contains("heads move"))
        };
        let all = "write 1M, read 1M, randwrite 4k, randread 4k";
        assert_eq!(labels(Layout::Raid0), (all.to_owned(), false));
        assert_eq!(labels(Layout::Raid1), ("read 1M, randwrite 4k, randread 4k".to_owned(), true));
        assert_eq!(labels(Layout::Raid10), ("randwrite 4k, randread 4k".to_owned(), true));
    }
}
