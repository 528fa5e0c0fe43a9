//! Latin squares: the order in which drives visit bays, so that effects of drives and of bays can be separated.

use rand::{Rng, RngCore, seq::SliceRandom};

/// The place of each thing in one round.
pub type Arrangement = Vec<usize>;

/// The fewest rounds after which one place that differs from all others can be significant at 5 %.
/// A round brings each thing to each place once. Two things in two places have so few arrangements that three rounds are
/// needed; three things need two.
pub fn rounds(n: usize) -> usize {
    match n {
        0..=2 => 3,
        3 => 2,
        _ => 1,
    }
}

/// A design drawn at random: `rounds` Latin squares of `n` things in `n` places, all arrangements in random order. The
/// first one is the present arrangement.
pub fn draw(n: usize, rounds: usize, random: &mut dyn RngCore) -> Vec<Arrangement> {
    let mut all: Vec<Arrangement> = Vec::with_capacity(n * rounds);
    for _ in 0..rounds {
        let [from, to] = [(); 2].map(|()| {
            let mut order: Vec<usize> = (0..n).collect();
            order.shuffle(random);
            order
        });
        // Cyclic squares are enough, except for four things: one of their four squares is not cyclic.
        let cyclic = n != 4 || random.random_range(0..4) > 0;
        let step = |from: usize, by: usize| if cyclic { (from + by) % n } else { from ^ by };
        all.extend((0..n).map(|by| from.iter().map(|&f| to[step(f, by)]).collect::<Arrangement>()));
    }
    all.shuffle(random);
    let first = all.first().cloned().unwrap_or_default();
    all.iter().map(|a| (0..n).map(|i| first.iter().position(|&p| p == a[i]).unwrap_or(i)).collect()).collect()
}

/// Whether each thing stood in each place equally often.
pub fn balanced(design: &[Arrangement]) -> bool {
    let n = design.first().map_or(0, Vec::len);
    let times = |thing: usize, place: usize| design.iter().filter(|a| a.get(thing) == Some(&place)).count();
    n > 0 && (0..n).all(|thing| (0..n).all(|place| times(thing, place) * n == design.len()))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn each_drive_visits_each_bay_and_starts_in_its_own() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for n in 2..=8 {
            let design = draw(n, rounds(n), &mut random);
            assert_eq!(design.len(), n * rounds(n));
            assert_eq!(design[0], (0..n).collect::<Vec<_>>());
            assert!(balanced(&design), "{design:?}");
        }
        assert!(!balanced(&[vec![0, 1]]) && !balanced(&[]));
    }

    #[test]
    fn every_square_is_drawn_equally_often() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..4000 {
            let mut drawn = draw(4, 1, &mut random);
            drawn.sort();
            *seen.entry(drawn).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 4, "of four things there are four, names of places aside");
        assert!(seen.values().all(|n| (900..1100).contains(n)), "{seen:?}");
    }
}
