//! What `run share` refuses before anything is changed. What it does is tested in the lab, where a server may be installed.

use crate::support::cli::{Cli, names, words};

#[test]
fn a_rate_in_bytes_is_refused_before_anything_is_changed() {
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    let refused = |option: [&str; 2]| {
        let done = cli.run(["run", "share"].into_iter().chain(option).chain([path]));
        assert_eq!((done.code, names(dir.path())), (2, vec![]), "{}", done.err);
        words(&done.err)
    };
    assert!(refused(["--rate", "100MB"]).contains("bits per second"));
}
