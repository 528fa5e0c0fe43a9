//! Ten kinds of drives for the rule of rounds: drives that are used by others, rest, or depend on where they are read.
//! Frozen on 2026-11-28, before that rule was written.

use rand::Rng;

use super::{Effect, Length, Make, Mechanism, Model, Random, Stalls, exponential, normal, slowed, stopped};

pub(super) const KINDS: [(&str, Make); 10] = [
    ("backup on the same hub", backup),
    ("USB resets", resets),
    ("clock of the processor", clock),
    ("saw of heat", saw),
    ("patrol reads", patrol),
    ("bands rewritten", bands),
    ("cache filled at rest", rested),
    ("weak stretches", stretches),
    ("host takes turns", steal),
    ("one in a hundred is slow", outliers),
];

/// Another client takes a half to four fifths of the bus for minutes.
fn backup(m: &Model, start: &mut Random) -> Mechanism {
    let (busy, free) = (30.0 + 90.0 * m.traits[0], 60.0 + 240.0 * m.traits[1]);
    let taken = 2.0 + 3.0 * m.traits[2];
    let (mut on, mut until) = (m.on, exponential(if m.on { busy } else { free }, start));
    Box::new(move |now, random| {
        while now.seconds >= until {
            on = !on;
            until += exponential(if on { busy } else { free }, random);
        }
        Effect { slower: if on { taken } else { 1.0 }, stops: 0.0 }
    })
}

/// The link is reset every few minutes, and nothing moves for some seconds.
fn resets(m: &Model, start: &mut Random) -> Mechanism {
    let gap = Length(150.0 + 200.0 * m.traits[0], 1.0);
    let stall = Length(8.0 + 7.0 * m.traits[1], 0.2);
    let mut stalls = Stalls { due: gap.draw(start), stall, gap };
    stopped(move |now, random| stalls.next(now, random))
}

/// The processor that fills the queue changes its clock between three levels.
fn clock(m: &Model, start: &mut Random) -> Mechanism {
    let (dwell, depth) = (2.0 + 18.0 * m.traits[0], 0.2 + 0.6 * m.traits[1]);
    let (mut level, mut until) = (start.random_range(0..3), exponential(dwell, start));
    Box::new(move |now, random| {
        while now.seconds >= until {
            level = random.random_range(0..3);
            until += exponential(dwell, random);
        }
        Effect { slower: 1.0 + depth * f64::from(level), stops: 0.0 }
    })
}

/// A controller that is hot is slow until it has cooled, in a period of one to two minutes.
fn saw(m: &Model, _: &mut Random) -> Mechanism {
    let (period, share) = (60.0 + 60.0 * m.traits[0], 0.2 + 0.3 * m.traits[1]);
    let (slow, begin) = (1.5 + 1.5 * m.traits[2], m.traits[3]);
    slowed(move |now| if (now.seconds / period + begin).fract() < share { slow } else { 1.0 })
}

/// The firmware reads its own data every 20 to 40 s for some seconds.
fn patrol(m: &Model, _: &mut Random) -> Mechanism {
    let (period, lasts) = (20.0 + 20.0 * m.traits[0], 2.0 + 2.0 * m.traits[1]);
    let (slow, begin) = (1.3 + 1.2 * m.traits[2], m.traits[3]);
    slowed(move |now| if (now.seconds / period + begin).fract() * period < lasts { slow } else { 1.0 })
}

/// Whenever a band is full it is written again.
fn bands(m: &Model, _: &mut Random) -> Mechanism {
    let band = m.moves(0.4 + 3.0 * m.traits[0]);
    let (mut next, rewrite) = (band * m.traits[2].max(0.05), Length(0.5 + 1.5 * m.traits[1], 0.4));
    stopped(move |now, random| {
        if now.mib < next {
            return 0.0;
        }
        next = now.mib + band;
        rewrite.draw(random)
    })
}

/// A fast cache that empties itself all the time, slower than it is filled.
fn rested(m: &Model, _: &mut Random) -> Mechanism {
    let size = m.moves(1.0 + 9.0 * m.traits[0]);
    let emptied = m.moves(1.0) * (0.05 + 0.25 * m.traits[1]);
    let slow = 2.0 + 4.0 * m.traits[2];
    let (mut held, mut since, mut moved) = (0.0, 0.0, 0.0);
    slowed(move |now| {
        let full = held >= size;
        if !full {
            held += now.mib - moved;
        }
        held = f64::max(held - emptied * (now.seconds - since), 0.0);
        (since, moved) = (now.seconds, now.mib);
        if full { slow } else { 1.0 }
    })
}

/// A fifth of the medium, in stretches, needs retries.
fn stretches(m: &Model, start: &mut Random) -> Mechanism {
    let (long, slow) = (m.moves(0.5 + 4.0 * m.traits[0]), 1.2 + 0.8 * m.traits[1]);
    let (mut weak, mut end) = (start.random::<f64>() < 0.2, 0.0);
    Box::new(move |now, random| {
        while now.mib >= end {
            weak = random.random::<f64>() < 0.2;
            end += long * (0.5 + random.random::<f64>());
        }
        Effect { slower: if weak { slow } else { 1.0 }, stops: 0.0 }
    })
}

/// The host of a virtual machine takes a share that wanders within half a minute.
fn steal(m: &Model, start: &mut Random) -> Mechanism {
    let (over, depth) = (5.0 + 25.0 * m.traits[0], 0.3 + 0.5 * m.traits[1]);
    let (mut level, mut since) = (normal(start), 0.0);
    Box::new(move |now, random| {
        let passed = now.seconds - since;
        if passed >= over / 20.0 {
            let memory = (-passed / over).exp();
            level = memory * level + (1.0 - memory * memory).sqrt() * normal(random);
            since = now.seconds;
        }
        Effect { slower: 1.0 + depth * level.max(0.0), stops: 0.0 }
    })
}

/// One operation in a hundred takes thirty times as long.
fn outliers(m: &Model, _: &mut Random) -> Mechanism {
    let slow = 10.0 + 40.0 * m.traits[0];
    Box::new(move |_, random| Effect {
        slower: if random.random::<f64>() < 0.01 { slow } else { 1.0 },
        stops: 0.0,
    })
}
