//! What a terminal gets: lines that are redrawn at its width, and colours.

#[path = "support/cli.rs"]
mod cli;
#[path = "support/faultfs.rs"]
mod faultfs;

use std::{
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    process::{Child, Command},
};

use cli::Cli;
use faultfs::FaultFs;
use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// A terminal with a program in it.
struct Terminal {
    child: Child,
    master: OwnedFd,
    /// What it has drawn, without the codes that move the cursor; each row it began is a line.
    drawn: String,
}

fn columns(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Terminal {
    fn start(mut command: Command, width: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
        tcsetwinsize(&master, columns(width)).expect("a width");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let slave = File::options().read(true).write(true).open(name).expect("opens");
        command.env("TERM", "xterm").stderr(slave.try_clone().expect("twice")).stdout(slave);
        let child = command.spawn().expect("drivebench starts");
        // The command holds the program's side open.
        drop(command);
        Self { child, master, drawn: String::new() }
    }

    /// Reads what is drawn until `seen`, or to the end.
    fn read(&mut self, seen: impl Fn(&str) -> bool) {
        let (mut from, mut bytes) = (File::from(self.master.try_clone().expect("twice")), Vec::new());
        let mut chunk = [0; 4096];
        while !seen(&self.drawn) {
            // At the end, Linux says that there is no terminal on the other side.
            let Ok(n @ 1..) = from.read(&mut chunk) else { return };
            bytes.extend_from_slice(&chunk[..n]);
            let whole =
                bytes.iter().rposition(|b| *b == b'\n' || *b == b'm' || *b == b'K').map_or(0, |at| at + 1);
            let text: Vec<u8> = bytes.drain(..whole).collect();
            self.drawn += &plain(&String::from_utf8_lossy(&text));
        }
    }
}

/// The text without escape sequences; the beginning of a row is a line end.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
            '\r' => out.push('\n'),
            c => out.push(c),
        }
    }
    out
}

/// How often two rows were drawn as wide as the terminal: they are filled with blanks, and the second follows the first.
fn frames(drawn: &str, width: usize) -> usize {
    let is_frame = |line: &&str| {
        let second: String = line.chars().skip(width).collect();
        let fits = line.chars().count() <= 2 * width;
        line.starts_with("[1/1] write  ") && second.starts_with("total 0:") && fits
    };
    drawn.lines().filter(is_frame).count()
}

#[test]
fn progress_fits_a_terminal_that_becomes_narrower() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let mount = fs.path().to_str().expect("UTF-8").to_owned();
    let run = ["run", "baseline", "--max-bytes", "2G", "--precision", "1.5", "--rw", "write", &mount];
    let mut terminal = Terminal::start(cli.command(run), 80);
    terminal.read(|drawn| frames(drawn, 80) >= 2);
    assert!(terminal.drawn.contains(" of at most 30:00 · written "), "{}", terminal.drawn);
    tcsetwinsize(&terminal.master, columns(40)).expect("becomes narrower");
    terminal.drawn.clear();
    terminal.read(|drawn| frames(drawn, 40) >= 1);
    terminal.drawn.clear();
    terminal.read(|drawn| frames(drawn, 40) >= 3);
    assert!(frames(&terminal.drawn, 40) >= 3 && frames(&terminal.drawn, 80) == 0, "{}", terminal.drawn);
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
        let mut terminal = Terminal::start(cli.command(&args), 80);
        let mut text = Vec::new();
        // At the end, Linux says that there is no terminal on the other side.
        let _ = File::from(terminal.master.try_clone().expect("twice")).read_to_end(&mut text);
        assert_eq!(terminal.child.wait().expect("ends").code(), Some(2));
        assert_eq!(text.contains(&0x1b), coloured, "{args:?}: {}", String::from_utf8_lossy(&text));
    }
}
