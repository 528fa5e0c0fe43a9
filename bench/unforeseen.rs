//! Twelve kinds of drives that the rule of sustained speeds was not made for. Frozen on 2026-11-22, before that rule was
//! changed.

use std::f64::consts::TAU;

use rand::Rng;

use super::{
    Effect, Length, Make, Mechanism, Model, Random, SHORT, exponential, mib, normal, slowed, stopped,
};

pub(super) const KINDS: [(&str, Make); 12] = [
    ("throttled by heat", throttled),
    ("folding", folding),
    ("spare area runs out", spare_area),
    ("shingled disk", shingled),
    ("commits by the clock", commits),
    ("credits by the second", credits),
    ("slow wave", wave),
    ("1/f noise", flicker),
    ("initialisation ends", initialisation),
    ("stops that owe", debts),
    ("retries breed retries", retries),
    ("uneven dies", dies),
];

/// It heats up while it is fast, and is slow until it has cooled.
fn throttled(m: &Model, _: &mut Random) -> Mechanism {
    let (over, slow) = (20.0 + 80.0 * m.traits[0], 2.0 + 2.0 * m.traits[1]);
    let (mut hot, mut heat) = (false, 0.4 * m.traits[2]);
    slowed(move |now| {
        let (slower, towards) = if hot { (slow, 0.3) } else { (1.0, 1.0) };
        heat += (towards - heat) * (1.0 - (-now.base * slower / over).exp());
        hot = if hot { heat > 0.5 } else { heat >= 0.8 };
        slower
    })
}

/// A cache, and when it is full, turns of writing past it and of moving what is in it.
fn folding(m: &Model, _: &mut Random) -> Mechanism {
    let (size, turn) = (m.moves(10.0 + 30.0 * m.traits[0]), m.moves(3.0 + 10.0 * m.traits[1]));
    slowed(move |now| match now.mib - size {
        ..0.0 => 1.0,
        past if past % (2.0 * turn) < turn => 2.0,
        _ => 5.0,
    })
}

/// Fast until no erased block is left, then slower and slower, down to an end.
fn spare_area(m: &Model, _: &mut Random) -> Mechanism {
    let (size, over) = (m.moves(20.0 + 200.0 * m.traits[0]), m.moves(20.0 + 40.0 * m.traits[1]));
    let depth = 0.5 + 2.0 * m.traits[2];
    slowed(move |now| 1.0 + depth * (1.0 - (-(now.mib - size).max(0.0) / over).exp()))
}

/// A cache on the medium, then a rewrite of a whole band every so often.
fn shingled(m: &Model, _: &mut Random) -> Mechanism {
    let (size, band) = (m.moves(30.0 + 120.0 * m.traits[0]), m.moves(0.5 + 1.5 * m.traits[1]));
    let (mut next, rewrite) = (size, Length(1.0, 0.5));
    stopped(move |now, random| {
        if now.mib < next {
            return 0.0;
        }
        next = now.mib + band;
        rewrite.draw(random)
    })
}

/// A filesystem's journal, every 5 s.
fn commits(m: &Model, _: &mut Random) -> Mechanism {
    let (mut due, stop) = (5.0 * m.traits[1], Length(0.05 + 0.4 * m.traits[0], 0.2));
    stopped(move |now, random| {
        if now.seconds < due {
            return 0.0;
        }
        due += 5.0 * ((now.seconds - due) / 5.0).floor() + 5.0;
        stop.draw(random)
    })
}

/// A volume with a quota for each second and credits for a burst.
fn credits(m: &Model, _: &mut Random) -> Mechanism {
    let (burst, quota) = (m.moves(5.0 + 55.0 * m.traits[0]), m.moves(0.2 + 0.6 * m.traits[1]));
    let (mut left, mut second, block) = (burst, 0.0, mib(m.block));
    let most = burst.max(quota).max(block);
    stopped(move |now, _| {
        let mut at = now.seconds;
        left = f64::min(left + quota * (at.floor() - second), most);
        while left < block {
            at = at.floor() + 1.0;
            left += quota;
        }
        second = at.floor();
        left -= block;
        at - now.seconds
    })
}

/// Other users come and go over minutes.
fn wave(m: &Model, _: &mut Random) -> Mechanism {
    let (period, begin) = (200.0 + 400.0 * m.traits[0], m.traits[1]);
    slowed(move |now| 1.0 / (1.0 + 0.1 * (TAU * (now.seconds / period + begin)).sin()))
}

/// Wanders on several scales of time at once.
fn flicker(_: &Model, start: &mut Random) -> Mechanism {
    const BY: f64 = 0.05;
    let mut levels = [1.0, 10.0, 100.0].map(|over| (over, normal(start), 0.0));
    Box::new(move |now, random| {
        for (over, level, since) in &mut levels {
            let passed = now.seconds - *since;
            if passed >= *over / 20.0 {
                let memory = (-passed / *over).exp();
                *level = memory * *level + (1.0 - memory * memory).sqrt() * normal(random);
                *since = now.seconds;
            }
        }
        Effect { slower: (BY * levels.iter().map(|l| l.1).sum::<f64>()).exp(), stops: 0.0 }
    })
}

/// A new filesystem or array is initialised at first, which takes a share of the speed.
fn initialisation(m: &Model, _: &mut Random) -> Mechanism {
    let (until, slow) = (60.0 + 120.0 * m.traits[0], 1.2 + 0.3 * m.traits[1]);
    slowed(move |now| if now.seconds < until { slow } else { 1.0 })
}

/// The longer the drive puts its work off, the longer it stops for it.
fn debts(m: &Model, start: &mut Random) -> Mechanism {
    let (every, share) = (2.0 + 8.0 * m.traits[0], 0.1 + 0.2 * m.traits[1]);
    let (mut last, mut due) = (0.0, exponential(every, start));
    stopped(move |now, random| {
        if now.seconds < due {
            return 0.0;
        }
        let stop = share * (now.seconds - last);
        last = now.seconds + stop;
        due = last + exponential(every, random);
        stop
    })
}

/// Each stall makes others likely for some seconds.
fn retries(m: &Model, _: &mut Random) -> Mechanism {
    const BREEDS: f64 = 0.6;
    const OVER: f64 = 3.0;
    let own = 1.0 / (20.0 + 40.0 * m.traits[0]);
    let (mut bred, mut since) = (0.0, 0.0);
    stopped(move |now, random| {
        bred *= (-(now.seconds - since) / OVER).exp();
        since = now.seconds;
        if random.random::<f64>() >= 1.0 - (-(own + bred) * now.base).exp() {
            return 0.0;
        }
        bred += BREEDS / OVER;
        SHORT.draw(random)
    })
}

/// A quarter of the stripes is on a slower die.
fn dies(m: &Model, _: &mut Random) -> Mechanism {
    let (stripe, slow) = (2.0 + 14.0 * m.traits[0], 1.3 + m.traits[1]);
    slowed(move |now| if (now.mib / stripe) as u64 % 4 == 3 { slow } else { 1.0 })
}
