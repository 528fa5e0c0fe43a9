//! Checks which files have a door to the world outside, and how long a file may be. Which crate may use which, Cargo checks.

use std::{fmt, fs, path::Path};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Doors: calls that affect other programs, files, drives and the kernel. Each may be used only in the files listed,
/// so these are all the files to review for harm. A name that ends in `*` is a prefix; `fs::write` is
/// found in `use std::fs::write` and in `use std::fs::{read, write}`, too.
const DOORS: &[(&str, &[&str], &[&str])] = &[
    ("starts processes", &["process::Command"], &["crates/host/src/tools/system.rs"]),
    (
        "allows changes of drives",
        &["tools::Right", "super::Right"],
        &[
            "crates/core/src/danger/claims.rs",
            "crates/core/src/run/journal/mod.rs",
            "crates/core/src/run/pool/log.rs",
        ],
    ),
    (
        "runs fio, which may write",
        &["FioRun"],
        &[
            "crates/engine/src/fio/args.rs",
            "crates/engine/src/fio/mod.rs",
            // In directories of its own on clients.
            "crates/experiments/src/share/run/many_clients.rs",
            "crates/host/src/tools/fio.rs",
        ],
    ),
    (
        "opens files for writing",
        &[
            "File::create",
            "File::create_new",
            "File::options",
            "OpenOptions",
            "fs::write",
            "fs::copy",
            "OFlags::APPEND",
            "OFlags::CREATE",
            "OFlags::RDWR",
            "OFlags::TMPFILE",
            "OFlags::TRUNC",
            "OFlags::WRONLY",
        ],
        &[
            "crates/core/src/record/atomic_file.rs",
            "crates/core/src/danger/mod.rs",
            "crates/core/src/record/store.rs",
            "crates/core/src/run/journal/log.rs",
            // Settings of an array, in sysfs.
            "crates/core/src/run/pool/array.rs",
            "crates/core/src/run/local.rs",
            "crates/core/src/run/lock.rs",
            "crates/core/src/run/scratch.rs",
            "crates/core/src/run/scratch_dir.rs",
            // A directory is opened to read it.
            "crates/experiments/src/power/cut.rs",
            // The page cache.
            "crates/experiments/src/pull/run/mod.rs",
            // Switches of drives, in sysfs.
            "crates/experiments/src/pull/run/detach.rs",
            // Files of a client and a server, in memory and in a directory of the run.
            "crates/experiments/src/share/run/files.rs",
            "crates/experiments/src/share/run/file_server.rs",
            // Test files: of power, and on pools that the run built.
            "crates/experiments/src/test_files/tree.rs",
            // Settings of the kernel, and its control groups.
            "crates/experiments/src/swap/group.rs",
            // The collection, in a private temporary directory.
            "src/cli/fleet/collection.rs",
        ],
    ),
    (
        "makes directories and other files",
        &[
            "create_dir",
            "create_dir_all",
            "mkdir*",
            "mknod*",
            "DirBuilder",
            "symlink",
            "symlinkat",
            "hard_link",
            "linkat",
        ],
        &[
            "crates/core/src/record/atomic_file.rs",
            "crates/core/src/record/owner.rs",
            "crates/core/src/run/lock.rs",
            "crates/core/src/run/scratch_dir.rs",
            "crates/experiments/src/power/cut.rs",
            "crates/experiments/src/test_files/tree.rs",
            "crates/experiments/src/share/run/sandbox.rs",
            "crates/experiments/src/swap/group.rs",
            "src/cli/fleet/collection.rs",
        ],
    ),
    (
        "changes the length of files",
        &["set_len", "ftruncate", "fallocate"],
        &[
            "crates/engine/src/fio/mod.rs",
            "crates/engine/src/target.rs",
            "crates/core/src/record/store.rs",
            "crates/core/src/run/journal/log.rs",
            "crates/core/src/run/scratch.rs",
        ],
    ),
    (
        "removes files",
        &["remove_file", "remove_dir", "remove_dir_all", "unlink", "unlinkat", "rmdir"],
        &[
            "crates/core/src/record/atomic_file.rs",
            "crates/core/src/record/store.rs",
            // Blocks that are back on their drive.
            "crates/experiments/src/capacity/saved.rs",
            "crates/core/src/run/held.rs",
            "crates/core/src/run/journal/log.rs",
            "crates/core/src/run/journal/recovery.rs",
            "crates/core/src/run/journal/undo.rs",
            "crates/core/src/run/pool/keep.rs",
            "crates/core/src/run/pool/removal.rs",
            "crates/experiments/src/power/cut.rs",
            "crates/experiments/src/power/ledger_file.rs",
            "crates/core/src/run/scratch.rs",
            "crates/core/src/run/scratch_dir.rs",
            // Of a directory that the run made, where it is mounted for a client and a server.
            "crates/experiments/src/share/run/files.rs",
            "crates/experiments/src/swap/group.rs",
            // A swap area that was moved while the kernel used it.
            "crates/experiments/src/swap/undo.rs",
            // Pages of runs that are gone.
            "src/cli/site.rs",
            "src/cli/boot_series.rs",
            // The units of a timer and of a series of restarts.
            "crates/experiments/src/unit_files.rs",
        ],
    ),
    ("decides what may be shown", &["is_control"], &["crates/units/src/visible.rs"]),
    // What is printed passes Output, which cleans it; the lints forbid print macros.
    (
        "prints",
        &["io::stdout", "io::stderr", "ProgressDrawTarget"],
        &["src/cli/export.rs", "src/cli/output.rs"],
    ),
    (
        "listens on the network",
        &["TcpListener", "UnixListener"],
        &[
            // These only look for a free port.
            "crates/experiments/src/share/run/remote.rs",
            "crates/experiments/src/share/run/setup.rs",
            "src/cli/serve.rs",
        ],
    ),
    ("renames files", &["fs::rename", "renameat*"], &["crates/core/src/record/atomic_file.rs"]),
    (
        "changes who may use files",
        &["set_permissions", "chmod*", "chown*", "fchmod*", "fchown*"],
        &[
            "crates/core/src/record/owner.rs",
            "crates/core/src/run/lock.rs",
            "crates/core/src/run/pool/keep.rs",
        ],
    ),
    // Lints deny it everywhere; this lists where an `allow` may silence them.
    (
        "is unsafe",
        &["unsafe"],
        &[
            "crates/engine/src/loop_device.rs",
            "crates/engine/src/swap_file.rs",
            "crates/engine/src/uring.rs",
            "crates/engine/src/write_back.rs",
        ],
    ),
    (
        "calls the kernel's devices",
        &["ioctl*"],
        &[
            "crates/core/src/run/scratch.rs",
            "crates/engine/src/loop_device.rs",
            "crates/engine/src/target.rs",
        ],
    ),
    (
        "calls the kernel past std and rustix",
        &["libc"],
        &["crates/engine/src/swap_file.rs", "crates/engine/src/uring.rs", "crates/engine/src/write_back.rs"],
    ),
    (
        "mounts, swaps and reboots",
        &["rustix::mount", "swapon", "swapoff", "reboot"],
        &["crates/engine/src/swap_file.rs"],
    ),
    // What it begins is in the journal first.
    (
        "swaps to a file",
        &["swap_file"],
        &[
            "crates/engine/src/lib.rs",
            "crates/experiments/src/swap/area.rs",
            "crates/experiments/src/swap/undo.rs",
        ],
    ),
];

/// Names that must not be imported under another name, nor all that is in them, so that doors are found.
const NO_ALIAS: [&str; 7] = ["fs", "File", "OFlags", "process", "rustix", "libc", "tools"];

/// Lines of a source file without its tests.
const LONGEST: usize = 500;

/// A violation at a line of a source file.
#[derive(Debug, PartialEq)]
struct Complaint {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Walks the tokens of one file. Comments and strings are not code tokens, so they are ignored.
struct Walk<'a> {
    file: &'a str,
    complaints: Vec<Complaint>,
}

/// All violations in a file, such as `crates/engine/src/psync.rs`.
fn complaints(file: &str, text: &str) -> Vec<Complaint> {
    let mut walk = Walk { file, complaints: Vec::new() };
    match text.parse::<TokenStream>() {
        Ok(_) if is_for_tests(file) => {}
        Ok(tokens) => walk.doors(tokens, None),
        Err(e) => walk.complain(e.span().start().line, format!("can't be read: {e}")),
    }
    let all: Vec<&str> = text.lines().map(str::trim).collect();
    let tests =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].contains('{');
    let lines = all.windows(2).position(tests).unwrap_or(all.len());
    if lines > LONGEST && !file.ends_with("tests.rs") {
        walk.complain(lines, format!("{lines} lines; the maximum is {LONGEST}"));
    }
    walk.complaints
}

impl Walk<'_> {
    fn complain(&mut self, line: usize, what: String) {
        self.complaints.push(Complaint { file: self.file.into(), line, what });
    }

    /// Finds doors in tokens after `before`, as in `before::{...}`.
    fn doors(&mut self, tokens: TokenStream, before: Option<&str>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let colon = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ':');
        for (i, token) in tokens.iter().enumerate() {
            let behind = match &tokens[..i] {
                [.., TokenTree::Ident(name), a, b] if colon(a) && colon(b) => Some(name.to_string()),
                [] => before.map(str::to_owned),
                [.., TokenTree::Punct(p)] if p.as_char() == ',' => before.map(str::to_owned),
                _ => None,
            };
            match token {
                TokenTree::Ident(name) => {
                    let (name, line) = (name.to_string(), name.span().start().line);
                    self.door(behind.as_deref(), &name, line);
                    let own = if name == "self" { behind.unwrap_or_default() } else { name };
                    if is_as(tokens.get(i + 1)) && NO_ALIAS.contains(&own.as_str()) {
                        self.complain(line, format!("`{own}` must keep its name, so that doors are found"));
                    }
                }
                TokenTree::Punct(star) if star.as_char() == '*' => {
                    if let Some(name) = behind.filter(|name| NO_ALIAS.contains(&name.as_str())) {
                        let what = format!("name what is used of `{name}`, so that doors are found");
                        self.complain(star.span().start().line, what);
                    }
                }
                TokenTree::Group(group) => {
                    let braces = group.delimiter() == Delimiter::Brace;
                    if !(braces && is_test_module(&tokens[..i])) {
                        self.doors(group.stream(), behind.as_deref().filter(|_| braces));
                    }
                }
                _ => {}
            }
        }
    }

    /// Checks `name` after `before::`.
    fn door(&mut self, before: Option<&str>, name: &str, line: usize) {
        let is = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        for (what, names, files) in DOORS {
            let found = names.iter().any(|door| match door.split_once("::") {
                Some((first, second)) => before == Some(first) && is(second, name),
                None => is(door, name),
            });
            if found && !files.contains(&self.file) {
                self.complain(line, format!("`{name}` {what}; only {} may", files.join(", ")));
            }
        }
    }
}

fn is_as(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if word == "as")
}

/// Whether the tokens end in `#[cfg(test)] mod name`.
fn is_test_module(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [before @ .., TokenTree::Ident(word), TokenTree::Ident(_)] if word == "mod" && ends_in_cfg_test(before))
}

/// Whether the tokens end in `#[cfg(test)]`, with a visibility after it or not.
fn ends_in_cfg_test(tokens: &[TokenTree]) -> bool {
    let visible = |t: &TokenTree| {
        matches!(t, TokenTree::Ident(word) if word == "pub")
            || matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis)
    };
    let end = tokens.iter().rposition(|t| !visible(t));
    let attribute = |t: &TokenTree| matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket && g.stream().to_string().replace(' ', "") == "cfg(test)");
    end.is_some_and(|end| attribute(&tokens[end]))
}

/// Whether a file has only tests or test helpers.
fn is_for_tests(file: &str) -> bool {
    ["tests.rs", "testing.rs", "fuzz.rs"].iter().any(|end| file.ends_with(end)) || file.contains("/fixtures/")
}

/// The sources of all crates that ship: their paths, and their texts.
fn sources() -> Vec<(String, String)> {
    fn below(dir: &Path, name: &str, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(dir).expect("sources can be listed") {
            let entry = entry.expect("sources can be listed");
            let name = format!("{name}/{}", entry.file_name().to_str().expect("names are UTF-8"));
            if entry.path().is_dir() {
                below(&entry.path(), &name, found);
            } else if name.ends_with(".rs") {
                found.push((name, fs::read_to_string(entry.path()).expect("sources can be read")));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    ["src", "crates"].iter().for_each(|name| below(&root.join(name), name, &mut found));
    found
}

#[test]
fn sources_follow_the_rules() {
    let files = sources();
    assert!(files.iter().any(|(name, _)| name == "crates/core/src/lib.rs"), "no sources were found");
    let wrong: Vec<String> =
        files.iter().flat_map(|(name, text)| complaints(name, text)).map(|c| c.to_string()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The violations of `text` as the content of `file`, with their lines.
fn violations(file: &str, text: &str) -> Vec<(usize, String)> {
    complaints(file, text).into_iter().map(|c| (c.line, c.what)).collect()
}

#[test]
fn long_files_are_found() {
    let long = "\n".repeat(LONGEST + 1);
    assert_eq!(violations("plan/mod.rs", &long).len(), 1);
    assert_eq!(violations("plan/tests.rs", &long), []);
    assert_eq!(violations("plan/mod.rs", &format!("#[cfg(test)]\nmod tests {{{long}}}")), []);
    assert_eq!(violations("plan/mod.rs", &format!("#[cfg(test)]\nmod tests;\n{long}")).len(), 1);
}

#[test]
fn doors_are_found_however_they_are_written() {
    for (text, line) in [
        ("use std::process::Command;", 1),
        ("use std::{\n fs,\n process::{Child, Command},\n};", 3),
        ("fn f() {\n std::process::Command::new(\"sh\"); }", 2),
        ("impl tools::Right<Content> for Own {}", 1),
        ("use crate::tools::{Content, Right};", 1),
        ("fn f() { File::create(path) }", 1),
        ("fn f() { g(File::create_new(path)) }", 1),
        ("fn f() { File::options() }", 1),
        ("use std::fs::{File, OpenOptions};", 1),
        ("fn f() {\n\n fs::write(path, bytes) }", 3),
        ("use std::fs::{read, write};", 1),
        ("use std::fs::write;", 1),
        ("const HOW: OFlags = OFlags::EXCL.union(OFlags::RDWR);", 1),
        ("fn f() { fs::create_dir_all(path) }", 1),
        ("fn f() { file.set_len(0) }", 1),
        ("fn f() { path.g().and_then(|p| fs::remove_file(p)) }", 1),
        ("fn f() { std::fs::remove_dir(path) }", 1),
        ("use rustix::fs::unlinkat;", 1),
        ("fn f() { fs::rename(a, b) }", 1),
        ("use rustix::fs::{Mode, renameat_with};", 1),
        ("fn f() { rustix::ioctl::ioctl(file, x) }", 1),
        ("use rustix::fs::ioctl_fionread;", 1),
        ("fn f() { libc::reboot(x) }", 1),
        ("use rustix::mount::mount2;", 1),
        ("use rustix::{fs, mount::unmount};", 1),
        ("fn f() { fs::set_permissions(path, all) }", 1),
        ("use std::fs as f;", 1),
        ("use std::fs::{File as F};", 1),
        ("use std::{fs::{self as f}};", 1),
        ("use std::fs::*;\nfn f() { write(a, b) }", 1),
        ("use std::fs::{self, *};", 1),
        ("use crate::tools::*;", 1),
        ("use crate::tools as t;", 1),
        ("unsafe fn f() {}", 1),
        ("fn f() { tools::fio::FioRun::new(args) }", 1),
        ("macro_rules! m { () => { fs::write(a, b) } }", 1),
    ] {
        let violations = violations("advise/mod.rs", text);
        assert!(
            !violations.is_empty() && violations.iter().all(|(at, _)| *at == line),
            "{text}: {violations:?}"
        );
    }
    let violations = violations("advise/mod.rs", "fn f() { fs::remove_dir_all(path) }");
    assert!(
        violations[0]
            .1
            .starts_with("`remove_dir_all` removes files; only crates/core/src/record/atomic_file.rs, "),
        "{violations:?}"
    );
}

#[test]
fn other_calls_are_not_doors() {
    for (file, text) in [
        (
            "advise/mod.rs",
            "fn f() { File::open(path); fs::read(path); list.remove(0); text.write(x); mount(x) }",
        ),
        ("advise/mod.rs", "// fs::write\nfn f() { g(\"fs::write\") }"),
        ("advise/mod.rs", "#[cfg(test)]\nmod tests {\n fn f() { fs::write(path, x) }\n}"),
        (
            "cli/mod.rs",
            "use args::Command; fn f() { Command::new(x); list.truncate(1); Side::Right; inventory.mount.path }",
        ),
        (
            "crates/core/src/record/atomic_file.rs",
            "fn f() { fs::rename(a, b); fs::remove_file(a); File::create_new(b) }",
        ),
        ("crates/host/src/tools/system.rs", "use std::process::{Child, Command};"),
    ] {
        assert_eq!(violations(file, text), [], "{file}: {text}");
    }
}

#[test]
fn every_file_with_a_door_needs_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (what, names, files) in DOORS {
        for file in *files {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            let last = |name: &&str| name.rsplit(':').next().unwrap_or(name).trim_end_matches('*').to_owned();
            let used = names.iter().any(|name| text.contains(&last(name)));
            assert!(used, "{file} is listed as one that {what}, but does not");
        }
    }
}
