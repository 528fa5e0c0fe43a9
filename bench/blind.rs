//! Ten kinds of drives invented after the rule of sustained speeds and without knowledge of it. Frozen on 2026-11-22,
//! before the rule was tried on them.

use std::f64::consts::PI;

use rand::Rng;

use super::{Effect, Length, Make, Mechanism, Model, Random, exponential, mib, slowed, stopped};

pub(super) const KINDS: [(&str, Make); 10] = [
    ("sampling point drifts", sampling),
    ("aged data", aged),
    ("file in pieces", pieces),
    ("TRIM in batches", trims),
    ("governed in steps", governed),
    ("vibration", vibration),
    ("scrub begins", scrub),
    ("scratch", scratch),
    ("link stepped down", link),
    ("read disturb", disturb),
];

/// An SD host sets its sampling point every 4 to 256 s; as the card warms up the point drifts off, and more and more
/// transfers fail their checksum and are repeated. SD hosts have such a timer, in powers of two.
fn sampling(m: &Model, _: &mut Random) -> Mechanism {
    let every = 2.0_f64.powf(2.0 + (7.0 * m.traits[0]).floor());
    let (worst, repeat) = (0.5 + 4.5 * m.traits[1], Length(0.02 + 0.08 * m.traits[2], 0.3));
    let (tuning, mut tuned) = (0.02 + 0.13 * m.traits[3], -every * m.traits[4]);
    stopped(move |now, random| {
        if now.seconds - tuned >= every {
            tuned = now.seconds;
            return tuning;
        }
        let errors = worst * ((now.seconds - tuned) / every).powi(3);
        if random.random::<f64>() < 1.0 - (-errors * now.base).exp() { repeat.draw(random) } else { 0.0 }
    })
}

/// Cells leak: files that were written long ago are read with retries at shifted voltages, until the first pass made
/// the drive write them anew. TLC drives were sold that read year-old files at a fraction of their speed.
fn aged(m: &Model, start: &mut Random) -> Mechanism {
    let (size, depth) = (m.moves(30.0 + 270.0 * m.traits[0]), 0.5 + 3.5 * m.traits[1]);
    let file = m.moves(2.0 + 18.0 * m.traits[2]);
    let (mut files, mut end) = (Vec::new(), 0.0);
    while end < size {
        end += exponential(file, start);
        files.push((end.min(size), 1.0 + depth * start.random::<f64>().powi(2)));
    }
    let mut at = 0;
    slowed(move |now| {
        while files.get(at).is_some_and(|file| file.0 <= now.mib) {
            at += 1;
        }
        files.get(at).map_or(1.0, |file| file.1)
    })
}

/// The filesystem put the file in some pieces, near the rim and near the hub of a disk, and the load goes round the
/// file. A filesystem that has been in use has no room for a large file in one piece.
fn pieces(m: &Model, start: &mut Random) -> Mechanism {
    let (size, depth) = (m.moves(20.0 + 180.0 * m.traits[0]), 0.3 + 0.9 * m.traits[1]);
    let seek = Length(0.015, 0.3);
    let lengths: Vec<f64> = (0..4 + (20.0 * m.traits[2]) as u32).map(|_| exponential(1.0, start)).collect();
    let scale = size / lengths.iter().sum::<f64>();
    let mut end = 0.0;
    let pieces: Vec<(f64, f64)> = lengths
        .iter()
        .map(|length| {
            end += length * scale;
            (end, 1.0 + depth * start.random::<f64>())
        })
        .collect();
    let mut before = 0;
    Box::new(move |now, random| {
        let at = pieces.iter().take_while(|piece| piece.0 <= now.mib % size).count().min(pieces.len() - 1);
        let stops = if at == before { 0.0 } else { seek.draw(random) };
        before = at;
        Effect { slower: pieces[at].1, stops }
    })
}

/// The filesystem collects freed space and discards it in batches: before a batch the drive is ever shorter of erased
/// blocks and slower, it stops for the batch, and is fast again. Discards of ext4, btrfs and fstrim are batches, and
/// many bridges can't queue them.
fn trims(m: &Model, _: &mut Random) -> Mechanism {
    let (batch, depth) = (Length(m.moves(20.0 + 160.0 * m.traits[0]), 0.1), 0.2 + 1.3 * m.traits[1]);
    let stop = Length(0.2 + 2.8 * m.traits[2], 0.3);
    let (mut last, mut size) = (-batch.0 * m.traits[3], batch.0);
    Box::new(move |now, random| {
        let mut stops = 0.0;
        if now.mib - last >= size {
            (last, size) = (now.mib, batch.draw(random));
            stops = stop.draw(random);
        }
        Effect { slower: 1.0 + depth * ((now.mib - last) / size).powi(2), stops }
    })
}

/// Firmware looks at the chip's temperature every few seconds and takes or gives back a tenth of the speed, while the
/// case around it warms up over minutes. NVMe drives in USB cases throttle so.
fn governed(m: &Model, _: &mut Random) -> Mechanism {
    const OF_CASE: f64 = 0.6;
    const MOST: u32 = 7;
    let (limit, tick) = (0.5 + 0.3 * m.traits[0], 1.0 + 4.0 * m.traits[1]);
    let (over_chip, over_case) = (8.0 + 12.0 * m.traits[2], 150.0 + 250.0 * m.traits[3]);
    let mut case = 0.3 * m.traits[4];
    let (mut chip, mut step, mut due, mut since) = (case, 0, tick, 0.0);
    slowed(move |now| {
        let (passed, power) = (now.seconds - since, 1.0 - 0.1 * f64::from(step));
        since = now.seconds;
        case += (OF_CASE * power - case) * (1.0 - (-passed / over_case).exp());
        chip += (case + (1.0 - OF_CASE) * power - chip) * (1.0 - (-passed / over_chip).exp());
        if now.seconds >= due {
            due = now.seconds + tick;
            if chip > limit {
                step = MOST.min(step + 1);
            } else if chip < limit - 0.03 {
                step = step.saturating_sub(1);
            }
        }
        1.0 / (1.0 - 0.1 * f64::from(step))
    })
}

/// Two fans beat; where the beat is strong the head leaves its track, and each time costs whole turns of the disk.
/// Disks in cases with several fans or disks show it.
fn vibration(m: &Model, _: &mut Random) -> Mechanism {
    let (beat, strongest) = (Length(3.0 + 57.0 * m.traits[0], 0.2), 0.1 + 0.5 * m.traits[1]);
    let turn = if m.traits[2] < 0.5 { 60.0 / 5400.0 } else { 60.0 / 7200.0 };
    let (mut begin, mut length) = (-beat.0 * m.traits[3], beat.0);
    stopped(move |now, random| {
        while now.seconds >= begin + length {
            begin += length;
            length = beat.draw(random).max(0.1);
        }
        let misses = strongest * (PI * (now.seconds - begin) / length).sin().powi(6);
        let (mut turns, mut lost) = (now.base / turn, 0.0);
        while turns > 0.0 {
            let mut chance = misses * turns.min(1.0);
            while random.random::<f64>() < chance {
                lost += turn;
                chance = misses;
            }
            turns -= 1.0;
        }
        lost
    })
}

/// In mid-run an array begins to check itself for hours, and looks for what to check in turns with checking it. Arrays
/// do it by the calendar, whatever else is running.
fn scrub(m: &Model, _: &mut Random) -> Mechanism {
    let begin = 30.0 + 570.0 * m.traits[0];
    let (look, check) = (10.0 + 30.0 * m.traits[1], 30.0 + 120.0 * m.traits[2]);
    let (looking, checking) = (1.4 + 0.8 * m.traits[3], 1.1 + 0.3 * m.traits[4]);
    slowed(move |now| match now.seconds - begin {
        ..0.0 => 1.0,
        since if since % (look + check) < look => looking,
        _ => checking,
    })
}

/// A scratch crosses the file: each bad sector on it takes seconds of retries, once, and is remapped, which costs two
/// seeks in later passes. Disks that were knocked have such, and drives with recovery limited to 7 s are common.
fn scratch(m: &Model, start: &mut Random) -> Mechanism {
    let size = m.moves(60.0 + 240.0 * m.traits[0]);
    let between = m.moves(0.05 + 0.95 * m.traits[1]);
    let mut at = 0.8 * size * m.traits[2];
    let sectors: Vec<f64> = (0..5 + (36.0 * m.traits[3]) as u32)
        .map(|_| {
            at += exponential(between, start);
            at
        })
        .take_while(|at| *at < size)
        .collect();
    let (retries, seeks) = (Length(1.0 + 4.0 * m.traits[4], 0.5), Length(0.03, 0.2));
    let (mut pass, mut next) = (0.0, 0);
    stopped(move |now, random| {
        if now.mib >= (pass + 1.0) * size {
            (pass, next) = (pass + 1.0, 0);
        }
        let mut stops = 0.0;
        while sectors.get(next).is_some_and(|at| pass * size + at <= now.mib) {
            stops += if pass == 0.0 { retries.draw(random).min(7.0) } else { seeks.draw(random) };
            next += 1;
        }
        stops
    })
}

/// A bad cable: the link fails and is reset every so often, and after a few times the host lowers its speed, at which
/// it hardly ever fails. Linux does so with SATA links.
fn link(m: &Model, start: &mut Random) -> Mechanism {
    const RARER: f64 = 20.0;
    let (every, slow) = (10.0 + 50.0 * m.traits[0], 1.2 + 0.8 * m.traits[1]);
    let (reset, most) = (Length(1.5, 0.5), 3 + (4.0 * m.traits[2]) as u32);
    let (mut due, mut failed) = (exponential(every, start), 0);
    Box::new(move |now, random| {
        let mut stops = 0.0;
        if now.seconds >= due {
            stops = reset.draw(random);
            failed += 1;
            let gap = if failed < most { every } else { RARER * every };
            due = now.seconds + stops + exponential(gap, random);
        }
        Effect { slower: if failed < most { 1.0 } else { slow }, stops }
    })
}

/// A small file is read over and over, and a block that was read often enough is moved before its cells are disturbed:
/// all blocks at about the same time at first, then more and more spread out. Flash of many bits a cell bears some
/// thousand reads of a block.
fn disturb(m: &Model, start: &mut Random) -> Mechanism {
    const BLOCKS: usize = 32;
    let seconds = (0.5 + 2.5 * m.traits[0]) / BLOCKS as f64;
    let (size, block) = (m.moves(seconds), mib(m.block));
    let (bears, moving) = (Length(30.0 + 120.0 * m.traits[1], 0.1), (2.0 + 4.0 * m.traits[2]) * seconds);
    let fresh = 1.0 - 0.9 * m.traits[3];
    let mut left: Vec<f64> = (0..BLOCKS).map(|_| fresh * bears.draw(start)).collect();
    let (mut next, mut end) = (0, size);
    stopped(move |now, random| {
        let mut stops = 0.0;
        while end <= now.mib + block {
            left[next] -= 1.0;
            if left[next] <= 0.0 {
                left[next] = bears.draw(random);
                stops += moving;
            }
            next = (next + 1) % BLOCKS;
            end += size;
        }
        stops
    })
}
