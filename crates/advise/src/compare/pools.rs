//! Runs on pools: their layouts side by side, and what state they were in.

use crate::{
    findings::Carrier,
    units::{Pool, count},
};

/// Both are on pools, of other layouts or in another state.
pub(super) fn are_unlike(a: &Carrier, b: &Carrier) -> bool {
    let pools = a.pool.as_ref().zip(b.pool.as_ref());
    pools.is_some_and(|(a, b)| !a.is_like(b) || a.is_filling() != b.is_filling())
}

/// What each run was on and how many of the drives are the same; `None` where no side is a pool, or a side is not known.
pub(super) fn side_by_side(a: (&str, &Carrier), b: (&str, &Carrier)) -> Option<String> {
    let (left, right) = (a.1, b.1);
    let is_known = |carrier: &Carrier| carrier.pool.is_some() || !carrier.drives.is_empty();
    if left.pool.is_none() && right.pool.is_none() || !is_known(left) || !is_known(right) {
        return None;
    }
    let words = |(run, carrier): (&str, &Carrier)| {
        let drives = || count(carrier.drives.len() as u64, "drive");
        format!("{} in {run}", carrier.pool.as_ref().map_or_else(drives, Pool::describe))
    };
    let common = left.identities().filter(|drive| right.identities().any(|other| other == *drive)).count();
    let same = match common {
        0 => "different drives".to_owned(),
        n if n == left.drives.len() && n == right.drives.len() => "the same drives".to_owned(),
        n => format!("{} in common", count(n as u64, "drive")),
    };
    Some(format!("{} against {}: {same}", words(a), words(b)))
}

/// The runs in which the pool was degraded, rebuilding or resyncing.
pub(super) fn conditions(a: (&str, &Carrier), b: (&str, &Carrier)) -> Vec<String> {
    let sentence = |(run, carrier): (&str, &Carrier)| {
        let pool = carrier.pool.as_ref()?;
        if pool.is_filling() {
            return Some(format!(
                "In {run} the pool was rebuilding or resyncing: its speeds can't be compared."
            ));
        }
        let members = count(pool.members, "drive");
        (pool.missing > 0).then(|| {
            format!(
                "Different conditions: in {run} the pool was degraded ({} of {members} missing).",
                pool.missing
            )
        })
    };
    [a, b].into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::{CarrierDrive, On},
        units::{Action, Pool},
    };

    fn pool(layout: &str, members: u64) -> Pool {
        let layout = layout.to_owned();
        let chunk = (layout != "raid1").then_some(512 << 10);
        Pool {
            kind: layout.clone(),
            layout: Some(layout),
            members,
            drives: members,
            chunk,
            ..Pool::default()
        }
    }

    fn on(pool: Option<Pool>, drives: &str) -> Carrier {
        let drive = |letter: char| CarrierDrive { identity: letter.to_string(), ..CarrierDrive::default() };
        let layers = pool.iter().map(|_| "md127".to_owned()).collect();
        Carrier {
            on: Some(On::Directory),
            drives: drives.chars().map(drive).collect(),
            layers,
            pool,
            ..Carrier::default()
        }
    }

    #[test]
    fn layouts_stand_side_by_side() {
        let [raid0, raid1] = ["raid0", "raid1"].map(|layout| Some(pool(layout, 2)));
        let small = Some(Pool { chunk: Some(64 << 10), ..pool("raid0", 2) });
        let degraded = Some(Pool { degraded: 1, missing: 1, ..pool("raid5", 3) });
        let cases = [
            (on(raid0.clone(), "ab"), on(raid1.clone(), "ba")),
            (on(raid0.clone(), "ab"), on(raid0.clone(), "ba")),
            (on(raid0.clone(), "ab"), on(small, "ab")),
            (on(raid1.clone(), "ab"), on(raid1.clone(), "cd")),
            (on(raid0.clone(), "ab"), on(Some(pool("raid5", 3)), "abc")),
            (on(Some(pool("raid5", 3)), "abc"), on(degraded, "ac")),
            (on(raid0.clone(), "ab"), on(None, "a")),
            (on(None, "c"), on(raid0.clone(), "ab")),
            (on(None, "a"), on(None, "b")),
        ];
        let lines = cases.map(|(a, b)| {
            let conditions = conditions(("r1", &a), ("r2", &b)).join(" ");
            format!("{:?} {conditions}", side_by_side(("r1", &a), ("r2", &b)))
        });
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn speeds_while_a_drive_is_filled_are_no_speeds_of_the_pool() {
        let whole = on(Some(pool("raid5", 3)), "abc");
        let filling = Pool { degraded: 1, action: Some(Action::Recover), ..pool("raid5", 3) };
        let filling = on(Some(filling), "abc");
        assert!(are_unlike(&whole, &filling) && !are_unlike(&whole, &whole));
        assert!(are_unlike(&whole, &on(Some(pool("raid0", 3)), "abc")), "another layout is another place");
        let said = conditions(("r1", &whole), ("r2", &filling));
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("In r2 the pool was rebuilding or resyncing"), "{said:?}");
    }
}
