//! Every parser of foreign bytes on damaged samples. `bench/fuzz` tries a million inputs of each.

use crate::support::fuzz;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Damaged inputs of each target.
const INPUTS: u64 = 500;

#[test]
fn damaged_inputs_never_panic_and_give_only_valid_values() {
    thread::scope(|scope| {
        for target in fuzz::targets() {
            scope.spawn(move || {
                for sample in target.samples() {
                    target.read(sample);
                }
                let (accepted, refused) = (AtomicU64::new(0), AtomicU64::new(0));
                for n in 0..INPUTS {
                    let read = || target.read(&target.input(n));
                    match catch_unwind(AssertUnwindSafe(read)) {
                        Ok(true) => accepted.fetch_add(1, Ordering::Relaxed),
                        Ok(false) => refused.fetch_add(1, Ordering::Relaxed),
                        Err(_) => panic!("{} panics at input {n}", target.name),
                    };
                }
                // Both outcomes are frequent; a damaged tree is a tree.
                let (least, tree) = (INPUTS / 50, target.name == "sysroot");
                let (accepted, refused) = (accepted.into_inner(), refused.into_inner());
                assert!(
                    accepted > least && (refused > least || tree),
                    "{}: {accepted} accepted, {refused} refused",
                    target.name
                );
            });
        }
    });
}
