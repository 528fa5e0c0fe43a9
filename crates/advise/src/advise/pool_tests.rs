//! What is said of pools.

use super::{
    testing::{alone, drive, holds, load, said, within},
    *,
};
use crate::{
    inventory::{Inventory, fixtures},
    units::{Action, Pool},
};

#[test]
fn a_pool_that_lacks_a_drive_is_the_first_problem() {
    use fixtures::pools::{array, linear, mounted_array};
    let first = |inventory: &Inventory| {
        let answers = advise(inventory, &[]);
        let problem = answers.iter().find(|answer| answer.problem).expect("a problem").clone();
        (format!("{} {}", problem.says, problem.because.join(" ")), said(&answers, Topic::Data))
    };
    let degraded = mounted_array("degraded", "raid5", 3, "acd").inventory();
    let (problem, data) = first(&degraded);
    holds(&problem, &["md127 is degraded: it lacks 1 of 3 drives", "sudo mdadm /dev/md127 --add /dev/NEW"]);
    holds(&data, &["available for data", "degraded: 1 of 3 drives missing", "It survives no drive failure."]);
    let mut ours = degraded;
    let pool = ours.layers[0].pool.as_mut().expect("a pool");
    (pool.ours, pool.absent) = (true, vec!["4C530002".to_owned()]);
    holds(&first(&ours).0, &["drivebench pool replace 4C530002 NEW"]);
    let (problem, data) = first(&array("inactive", "", 0, "ad").inventory());
    holds(&problem, &["md127 is inactive", "sudo mdadm --run /dev/md127"]);
    holds(&data, &["md127 can't be used for data now"]);
    let (problem, data) = first(&array("raid0gone", "raid0", 2, "a").inventory());
    holds(&problem, &["md127 is broken: it lacks 1 of 2 drives"]);
    holds(&data, &["can't be used"]);
    let answers = advise(&linear().inventory(), &[]);
    assert!(answers.iter().all(|answer| !answer.problem || !answer.says.contains("dm-0")));
    holds(&said(&answers, Topic::Data), &["linear of", "The failure of any drive loses all of it."]);
    let data = answers.iter().find(|answer| answer.topic == Topic::Data).expect("an answer");
    assert_eq!(data.decide.as_deref(), Some("run baseline /srv/data"));
}

#[test]
fn a_run_on_another_layout_of_the_same_drives_is_none_of_the_pool() {
    let inventory = fixtures::pools::mounted_array("idle", "raid5", 3, "abc").inventory();
    let now = inventory.layers[0].pool.clone().expect("a pool");
    let data = |pool: Pool| {
        let run = Evidence {
            drives: ["sda", "sdb", "sdc"].map(|name| drive(&inventory, name).identity()).to_vec(),
            layers: vec!["md127".to_owned()],
            pool: Some(pool),
            ..alone(&inventory, "r1", "sda", load(true, 1 << 20, 1), within(18.0, 0.02), None)
        };
        said(&advise(&inventory, &[run]), Topic::Data)
    };
    holds(&data(now.clone()), &["It reads 18.0 MB/s"]);
    let raid0 = Pool { kind: "raid0".to_owned(), layout: Some("raid0".to_owned()), ..now.clone() };
    let filling = Pool { action: Some(Action::Resync), ..now.clone() };
    for other in [raid0, filling, Pool { degraded: 1, missing: 1, ..now }] {
        holds(&data(other), &["Its speed is not measured."]);
    }
}
