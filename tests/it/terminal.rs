//! What a terminal gets: lines that are redrawn at its width, and colours.

use crate::support::cli::Cli;
use crate::support::faultfs::FaultFs;
use crate::support::terminal::{Terminal, columns};
use rustix::{
    process::{Pid, Signal, kill_process},
    termios::tcsetwinsize,
};

/// How often both lines were drawn for a terminal of this width: they fit, and the first is too long for a third of it.
fn frames(drawn: &str, width: usize) -> usize {
    let lines: Vec<&str> = drawn.lines().collect();
    let fits = |line: &str| line.chars().count() <= width;
    let is_frame = |pair: &&[&str]| {
        pair[0].starts_with("[1/1] write  ")
            && pair[1].starts_with("total 0:")
            && fits(pair[0])
            && fits(pair[1])
            && pair[0].chars().count() > width / 3
    };
    lines.windows(2).filter(is_frame).count()
}

#[test]
fn progress_fits_a_terminal_that_becomes_narrower() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let mount = fs.path().to_str().expect("UTF-8").to_owned();
    let run = ["run", "baseline", "--max-bytes", "2G", "--thorough", "--rw", "write", &mount];
    let mut terminal = Terminal::start(cli.command(run), 80);
    terminal.read(|drawn| frames(drawn, 80) >= 2);
    tcsetwinsize(&terminal.master, columns(24)).expect("becomes narrower");
    terminal.drawn.clear();
    terminal.read(|drawn| frames(drawn, 24) >= 1);
    terminal.drawn.clear();
    terminal.read(|drawn| frames(drawn, 24) >= 3);
    assert!(frames(&terminal.drawn, 24) >= 3 && frames(&terminal.drawn, 80) == 0, "{}", terminal.drawn);
    kill_process(Pid::from_child(&terminal.child), Signal::INT).expect("signals");
    terminal.read(|_| false);
    assert_eq!(terminal.child.wait().expect("ends").code(), Some(130));
}

#[test]
fn colours_are_used_where_they_are_wanted() {
    let cli = Cli::new();
    for (args, variables, coloured) in [
        (&["run", "foo"][..], &[][..], false),
        (&["run", "foo", "--color", "always"], &[], true),
        (&["run", "foo", "--color=always"], &[("NO_COLOR", "1")], true),
        (&["run", "foo"], &[("CLICOLOR_FORCE", "1")], true),
        (&["run", "foo"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&["run", "foo", "--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (&["--help"], &[], false),
        (&["--help", "--color", "always"], &[], true),
        (&["--help"], &[("CLICOLOR_FORCE", "1")], true),
        (&["run", "baseline", "/nowhere", "--color", "always"], &[], true),
    ] {
        let done = cli.command(args).envs(variables.iter().copied()).output().expect("starts");
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(text.contains('\u{1b}'), coloured, "{args:?} {variables:?}: {text}");
    }
    for (args, coloured) in [(vec!["run", "foo"], true), (vec!["run", "foo", "--color", "never"], false)] {
        let (text, code) = Terminal::start(cli.command(&args), 80).rest();
        assert_eq!(code, Some(2));
        assert_eq!(text.contains(&0x1b), coloured, "{args:?}: {}", String::from_utf8_lossy(&text));
    }
}
