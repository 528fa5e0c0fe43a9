//! A terminal with drivebench in it.

use std::{
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    process::{Child, Command},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// A terminal with a program in it.
pub struct Terminal {
    pub child: Child,
    pub master: OwnedFd,
    /// What it has drawn, without the codes that move the cursor; each row it began is a line.
    pub drawn: String,
}

pub fn columns(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Terminal {
    pub fn start(mut command: Command, width: u16) -> Self {
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

    /// Everything that is drawn up to the end, and the exit code.
    pub fn rest(mut self) -> (Vec<u8>, Option<i32>) {
        let mut bytes = Vec::new();
        // At the end, Linux says that there is no terminal on the other side.
        let _ = File::from(self.master).read_to_end(&mut bytes);
        (bytes, self.child.wait().expect("ends").code())
    }

    /// Reads what is drawn until `seen`, or to the end.
    pub fn read(&mut self, seen: impl Fn(&str) -> bool) {
        let (mut from, mut bytes) = (File::from(self.master.try_clone().expect("twice")), Vec::new());
        let mut chunk = [0; 4096];
        while !seen(&self.drawn) {
            // At the end, Linux says that there is no terminal on the other side.
            let Ok(n @ 1..) = from.read(&mut chunk) else { return };
            bytes.extend_from_slice(&chunk[..n]);
            let whole =
                bytes.iter().rposition(|b| matches!(*b, b'\n' | b'm' | b'K' | b'J')).map_or(0, |at| at + 1);
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
            // A terminal turns the end of a line into both.
            '\n' if out.ends_with('\n') => {}
            c => out.push(c),
        }
    }
    out
}
