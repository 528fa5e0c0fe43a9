//! Seeded random numbers for modelled drives.

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::model::{Burst, Noise, Stalls};

/// Gives the same numbers on every board.
pub(super) type Random = Xoshiro256PlusPlus;

pub(super) fn seeded(seed: u64, stream: u64) -> Random {
    Random::seed_from_u64(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Lognormal factors with mean 1, correlated from one to the next.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    sigma: f64,
    memory: f64,
    state: f64,
}

impl Factors {
    pub fn new(noise: &Noise, random: &mut Random) -> Self {
        let sigma = (1.0 + noise.variation * noise.variation).ln().sqrt();
        Self { sigma, memory: noise.memory, state: random.sample(StandardNormal) }
    }

    pub fn next(&mut self, random: &mut Random) -> f64 {
        if self.sigma == 0.0 {
            return 1.0;
        }
        let factor = (self.sigma * self.state - self.sigma * self.sigma / 2.0).exp();
        let fresh: f64 = random.sample(StandardNormal);
        self.state = self.memory * self.state + (1.0 - self.memory * self.memory).sqrt() * fresh;
        factor
    }
}

/// A positive random number with a mean and a variation; the mean itself if the variation is 0.
#[derive(Debug, Clone)]
enum Varying {
    Fixed(f64),
    Gamma(Gamma<f64>),
}

impl Varying {
    fn new(mean: f64, variation: f64) -> Self {
        let shape = 1.0 / (variation * variation);
        match Gamma::new(shape, mean / shape) {
            Ok(gamma) if shape.is_finite() && mean > 0.0 => Self::Gamma(gamma),
            _ => Self::Fixed(mean),
        }
    }

    fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Fixed(x) => *x,
            Self::Gamma(gamma) => gamma.sample(random),
        }
    }
}

/// The next stalls of one kind.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    distance: Varying,
    length: Varying,
    burst: Option<Burst>,
    next: f64,
    /// Stalls of bursts that have begun.
    rest: Vec<f64>,
}

impl Schedule {
    /// Starts within an endless series: several distances have already passed.
    pub fn new(stalls: &Stalls, random: &mut Random) -> Self {
        let spread = stalls.every_variation.max(1.0).powi(2);
        let start = -(random.random_range(5.0..6.0) * spread + random.random::<f64>()) * stalls.every;
        let mut schedule = Self {
            distance: Varying::new(stalls.every, stalls.every_variation),
            length: Varying::new(stalls.seconds, stalls.seconds_variation),
            burst: stalls.burst,
            next: start,
            rest: Vec::new(),
        };
        schedule.next += schedule.distance.draw(random);
        schedule.until(0.0, random);
        schedule
    }

    /// The total seconds of all new stalls before `position`.
    pub fn until(&mut self, position: f64, random: &mut Random) -> f64 {
        let mut seconds = 0.0;
        while self.next < position {
            seconds += self.length.draw(random);
            if let Some(burst) = self.burst {
                let mut at = self.next;
                while random.random::<f64>() * burst.size >= 1.0 {
                    at += burst.gap;
                    self.rest.push(at);
                }
            }
            self.next += self.distance.draw(random).max(1.0);
        }
        let begun = self.rest.len();
        self.rest.retain(|&at| at >= position);
        for _ in self.rest.len()..begun {
            seconds += self.length.draw(random);
        }
        seconds
    }
}
