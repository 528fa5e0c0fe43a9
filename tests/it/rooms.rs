//! Checks the rules between rooms: which room may use which, how long a file may be, where `unsafe` may be used.
//! docs/architecture.md explains the rooms.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Each room, and the rooms it may use: only rooms above it in this table, so there are no cycles.
const ROOMS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("sysroot", &["units"]),
    ("inventory", &["units", "sysroot"]),
    ("target", &["units", "sysroot", "inventory"]),
    ("conditions", &["units", "sysroot", "inventory", "target"]),
    ("tools", &["units"]),
    // The fio engine runs another program.
    ("engine", &["units", "tools"]),
    ("analyse", &["units"]),
    // A plan holds the rules that end its loads.
    ("plan", &["units", "target", "analyse"]),
    ("record", &["units", "inventory", "conditions", "analyse", "plan"]),
    ("findings", &["units", "analyse"]),
    // Imported results become records, and are shown as such.
    ("import", &["units", "analyse", "record", "findings"]),
    ("compare", &["units", "analyse", "findings"]),
    ("open_loop", &["units", "analyse", "plan", "record", "findings"]),
    // Another machine, seen from outside; no experiment, as it measures no drive.
    ("watch", &["units", "tools", "analyse", "record", "findings"]),
    // What is behind a loop device, only the kernel says.
    ("danger", &["units", "sysroot", "inventory", "tools", "engine"]),
    ("pool", &["units", "sysroot", "inventory", "tools"]),
    ("experiments", &["units", "inventory", "target", "conditions", "analyse", "plan", "record", "findings"]),
    (
        "run",
        &[
            "units",
            "sysroot",
            "inventory",
            "target",
            "conditions",
            "tools",
            "engine",
            "analyse",
            "plan",
            "record",
            "danger",
            "pool",
        ],
    ),
    // Pure: all input is passed as values.
    ("advise", &["units", "inventory", "analyse", "findings"]),
    ("report", &["units", "findings"]),
    (
        "cli",
        &[
            "units",
            "sysroot",
            "inventory",
            "target",
            "tools",
            "engine",
            "analyse",
            "plan",
            "record",
            "findings",
            "import",
            "compare",
            "open_loop",
            "danger",
            "pool",
            "experiments",
            "run",
            "advise",
            "report",
            "watch",
        ],
    ),
];

/// Doors: calls that affect other programs, files, drives and the kernel. Each may be used only in the files listed,
/// so these are all the files to review for harm. A name that ends in `*` is a prefix; `fs::write` is
/// found in `use std::fs::write` and in `use std::fs::{read, write}`, too.
const DOORS: &[(&str, &[&str], &[&str])] = &[
    ("starts processes", &["process::Command"], &["tools/system.rs"]),
    (
        "allows changes of drives",
        &["tools::Right", "super::Right"],
        &["danger/claims.rs", "danger/mod.rs", "run/journal.rs", "run/pool/log.rs"],
    ),
    ("runs fio, which may write", &["FioRun"], &["engine/fio/args.rs", "engine/fio/mod.rs", "tools/fio.rs"]),
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
            "record/atomic_file.rs",
            "danger/mod.rs",
            "record/store.rs",
            "run/journal.rs",
            "run/pool/log.rs",
            // Settings of an array, in sysfs.
            "run/pool/replace.rs",
            // Files on pools that the run built.
            "run/pull/files.rs",
            // The ledger of a run that waits for a power cut.
            "run/pull/noted.rs",
            "run/pull/power.rs",
            // Switches of drives, in sysfs.
            "run/pull/unplug.rs",
            "run/local.rs",
            "run/lock.rs",
            "run/scratch.rs",
            "run/scratch_dir.rs",
            // Files of a client and a server, in memory and in a directory of the run.
            "run/share/errands.rs",
            "run/share/file_server.rs",
            // Settings of the kernel, and its control groups.
            "run/swap/kernel.rs",
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
            "record/atomic_file.rs",
            "record/owner.rs",
            "run/lock.rs",
            "run/pull/files.rs",
            "run/pull/power.rs",
            "run/scratch_dir.rs",
            "run/share/site.rs",
            "run/share/smb.rs",
            "run/swap/kernel.rs",
        ],
    ),
    (
        "changes the length of files",
        &["set_len", "ftruncate", "fallocate"],
        &["engine/fio/mod.rs", "engine/target.rs", "record/store.rs", "run/pool/log.rs", "run/scratch.rs"],
    ),
    (
        "removes files",
        &["remove_file", "remove_dir", "remove_dir_all", "unlink", "unlinkat", "rmdir"],
        &[
            "record/atomic_file.rs",
            "record/store.rs",
            "run/boot_series.rs",
            "run/held.rs",
            "run/journal.rs",
            "run/leftovers.rs",
            "run/pool/keep.rs",
            "run/pool/log.rs",
            "run/pool/mod.rs",
            "run/pull/noted.rs",
            "run/pull/power.rs",
            "run/scratch.rs",
            "run/scratch_dir.rs",
            // Of a directory that the run made, where it is mounted for a client and a server.
            "run/share/errands.rs",
            "run/swap/kernel.rs",
            // A swap area that was moved while the kernel used it.
            "run/swap/leftover.rs",
        ],
    ),
    ("decides what may be shown", &["is_control"], &["units/visible.rs"]),
    // What is printed passes Output, which cleans it; the lints forbid print macros.
    (
        "prints",
        &["io::stdout", "io::stderr", "ProgressDrawTarget"],
        &["cli/export.rs", "cli/live.rs", "cli/output.rs"],
    ),
    ("renames files", &["fs::rename", "renameat*"], &["record/atomic_file.rs"]),
    (
        "changes who may use files",
        &["set_permissions", "chmod*", "chown*", "fchmod*", "fchown*"],
        &["record/owner.rs", "run/lock.rs", "run/pool/keep.rs", "run/share/errands.rs"],
    ),
    ("calls the kernel's devices", &["ioctl*"], &["engine/loop_device.rs", "engine/target.rs"]),
    (
        "calls the kernel past std and rustix",
        &["libc"],
        &["engine/swap_file.rs", "engine/uring.rs", "engine/write_back.rs"],
    ),
    (
        "mounts, swaps and reboots",
        &["rustix::mount", "swapon", "swapoff", "reboot"],
        &["engine/swap_file.rs"],
    ),
    // What it begins is in the journal first.
    ("swaps to a file", &["swap_file"], &["engine/mod.rs", "run/swap/area.rs", "run/swap/leftover.rs"]),
];

/// Names that must not be imported under another name, nor all that is in them, so that doors are found.
const NO_ALIAS: [&str; 6] = ["fs", "File", "OFlags", "process", "rustix", "libc"];

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
    room: &'a str,
    complaints: Vec<Complaint>,
    /// Every path that starts with `crate`, `super` or `self`, from the crate's root to its last name.
    paths: Vec<Vec<String>>,
}

/// The module of a file below `src`: `engine/psync.rs` is `engine::psync`, `engine/mod.rs` is `engine`.
fn module_of(file: &str) -> Vec<String> {
    let mut module: Vec<String> = file.trim_end_matches(".rs").split('/').map(String::from).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// All violations in the file at `file`, a path below `src` such as `engine/psync.rs`.
fn complaints(file: &str, text: &str) -> Vec<Complaint> {
    let module = module_of(file);
    let room = module.first().cloned().unwrap_or_default();
    let mut walk = Walk { file, room: &room, complaints: Vec::new(), paths: Vec::new() };
    match text.parse::<TokenStream>() {
        Ok(_) if is_for_tests(file) => {}
        Ok(tokens) => {
            walk.doors(tokens.clone(), None);
            walk.tokens(tokens, &module);
        }
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

    /// Reads tokens in `module`, a path from the crate's root.
    fn tokens(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut i = 0;
        while i < tokens.len() {
            match &tokens[i] {
                TokenTree::Ident(word) if word == "unsafe" && self.room != "engine" => {
                    self.complain(word.span().start().line, "unsafe is allowed in src/engine only".into());
                }
                TokenTree::Ident(word) if word == "crate" || word == "super" || word == "self" => {
                    // Skip the rest of the path: `super::super::x` must not be read again from its middle.
                    i = self.path(&tokens, i, module);
                    continue;
                }
                TokenTree::Group(group) => match &tokens[..i] {
                    [before @ .., TokenTree::Ident(word), TokenTree::Ident(name)]
                        if word == "mod" && group.delimiter() == Delimiter::Brace =>
                    {
                        // Tests may use any room; only shipped code follows the table.
                        if ends_in_cfg_test(before) {
                            i += 1;
                            continue;
                        }
                        self.tokens(group.stream(), &[module, &[name.to_string()]].concat());
                    }
                    _ => self.tokens(group.stream(), module),
                },
                _ => {}
            }
            i += 1;
        }
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

    /// Follows a path, or a tree of paths in braces, that starts at `tokens[i]` in `from`; returns where it ends.
    fn path(&mut self, tokens: &[TokenTree], mut i: usize, from: &[String]) -> usize {
        let mut at = from.to_vec();
        loop {
            match tokens.get(i) {
                Some(TokenTree::Ident(word)) if word == "crate" => at.clear(),
                Some(TokenTree::Ident(word)) if word == "super" => drop(at.pop()),
                Some(TokenTree::Ident(word)) if word == "self" => {}
                Some(TokenTree::Ident(word)) => {
                    self.uses(&word.to_string(), word.span().start().line, &at);
                    at.push(word.to_string());
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let branches: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in branches.split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ',')) {
                        self.path(branch, 0, &at);
                    }
                    return i + 1;
                }
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                    let line = star.span().start().line;
                    self.uses("*", line, &at);
                    // A name in upper case is an enum.
                    let module = at.last().is_some_and(|name| name.starts_with(char::is_lowercase));
                    if module && self.is_other_room(&at[0]) {
                        let what =
                            format!("name what is used of `{}`, so that doors are found", at.join("::"));
                        self.complain(line, what);
                    }
                    return i + 1;
                }
                _ => return i,
            }
            i += 1;
            if !colons(tokens, i) {
                if is_as(tokens.get(i)) && at.len() == 1 && self.is_other_room(&at[0]) {
                    let what = format!("`{}` must keep its name, so that doors are found", at[0]);
                    self.complain(tokens[i].span().start().line, what);
                }
                self.paths.push(at);
                return i;
            }
            i += 2;
        }
    }

    fn is_other_room(&self, name: &str) -> bool {
        name != self.room && ROOMS.iter().any(|(room, _)| *room == name)
    }

    /// Checks the use of `name` in the module `at`. Only names at the crate's root lead to another room.
    fn uses(&mut self, name: &str, line: usize, at: &[String]) {
        let room = self.room;
        if !at.is_empty() || room.is_empty() || name == room {
            return;
        }
        if !ROOMS.iter().any(|(r, _)| *r == name) {
            self.complain(line, format!("`{name}` is not a room; name the room it comes from"));
        } else if !ROOMS.iter().any(|(r, may)| *r == room && may.contains(&name)) {
            self.complain(line, format!("{room} may not use {name}"));
        }
    }
}

fn is_as(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if word == "as")
}

/// Whether there is a `::` at `i`.
fn colons(tokens: &[TokenTree], i: usize) -> bool {
    let colon = |t: Option<&TokenTree>| matches!(t, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(tokens.get(i)) && colon(tokens.get(i + 1))
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

/// Every source file: its path below `src`, and its text.
fn sources(dir: &Path, below: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(dir).expect("src can be listed") {
        let entry = entry.expect("src can be listed");
        let name = format!("{below}{}", entry.file_name().to_str().expect("names are UTF-8"));
        if entry.path().is_dir() {
            sources(&entry.path(), &format!("{name}/"), found);
        } else if name.ends_with(".rs") {
            found.push((name, fs::read_to_string(entry.path()).expect("sources can be read")));
        }
    }
}

#[test]
fn sources_follow_the_rules() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert!(files.iter().any(|(name, _)| name == "lib.rs"), "no sources were found");
    let wrong: Vec<String> =
        files.iter().flat_map(|(name, text)| complaints(name, text)).map(|c| format!("src/{c}")).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("src can be listed") {
        let name = entry.expect("src can be listed").file_name().into_string().expect("names are UTF-8");
        let name = name.trim_end_matches(".rs");
        let known = ROOMS.iter().any(|(room, _)| *room == name);
        assert!(known || name == "lib" || name == "main", "src/{name} has no line in the table");
    }
}

#[test]
fn rooms_use_only_rooms_above_them() {
    for (i, (room, may)) in ROOMS.iter().enumerate() {
        for used in *may {
            assert!(ROOMS[..i].iter().any(|(r, _)| r == used), "{room} uses {used}, which isn't above it");
        }
    }
}

#[test]
fn every_permission_is_used() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    let mut used = BTreeSet::new();
    for (file, text) in files.iter().filter(|(file, _)| !is_for_tests(file)) {
        let module = module_of(file);
        let to = uses(&module, text).paths.into_iter().filter_map(|path| path.into_iter().next());
        used.extend(to.map(|to| (module.first().cloned().unwrap_or_default(), to)));
    }
    let pairs =
        ROOMS.iter().flat_map(|(room, may)| may.iter().map(move |to| (room.to_string(), to.to_string())));
    let unused: Vec<String> = pairs
        .filter(|pair| !used.contains(pair))
        .map(|(room, to)| format!("{room} does not use {to}"))
        .collect();
    assert!(unused.is_empty(), "\n{}", unused.join("\n"));
}

#[test]
fn the_table_for_readers_is_the_same() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md"));
    let text = text.expect("reads");
    let rows = text.lines().skip_while(|line| !line.starts_with("| room ")).skip(2);
    let cells =
        rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').map(str::trim).collect());
    let read: Vec<(String, String)> =
        cells.map(|row: Vec<&str>| (row[1].trim_matches('`').to_owned(), row[3].to_owned())).collect();
    let table: Vec<(String, String)> =
        ROOMS.iter().map(|(room, may)| (room.to_string(), may.join(", "))).collect();
    assert_eq!(read, table, "docs/architecture.md");
}

/// The violations of `text` as the content of `file`, with their lines.
fn violations(file: &str, text: &str) -> Vec<(usize, String)> {
    complaints(file, text).into_iter().map(|c| (c.line, c.what)).collect()
}

#[test]
fn forbidden_edges_are_found_however_they_are_written() {
    let engine = |line| vec![(line, String::from("plan may not use engine"))];
    for (file, text, line) in [
        ("plan/mod.rs", "use crate::engine::Job;", 1),
        ("plan/mod.rs", "\npub use crate::engine;", 2),
        ("plan/steps.rs", "use crate::{\n units::{Load, Window},\n engine::{self, Job},\n};", 3),
        ("plan/steps.rs", "use crate::units::Load;\nfn f() -> crate::engine::Job { g() }", 2),
        ("plan/mod.rs", "use super::engine;", 1),
        ("plan/steps.rs", "use super::super::engine::Job;", 1),
        ("plan/steps.rs", "use super::{self, super::{engine::Job, units}};", 1),
        ("plan/mod.rs", "mod inner {\n use super::super::engine::Job;\n}", 2),
        ("plan/mod.rs", "#[cfg(unix)]\nmod inner {\n use super::super::engine::Job;\n}", 3),
        ("plan/mod.rs", "use self::super::engine::Job;", 1),
        ("plan.rs", "fn f() { assert!(g(\n crate::engine::WINDOW_PILOT)) }", 2),
        ("plan/mod.rs", "macro_rules! m { () => { $crate::engine::Job } }", 1),
    ] {
        assert_eq!(violations(file, text), engine(line), "{file}: {text}");
    }
}

#[test]
fn allowed_edges_pass() {
    for (file, text) in [
        ("plan/mod.rs", "use crate::{units::{Load, size}, analyse};"),
        ("plan/mod.rs", "// crate::engine\n/// [`crate::engine::Job`]\nfn f() { g(\"crate::engine\") }"),
        (
            "plan/mod.rs",
            "use crate::{plan::*, units::Direction::*};\nfn f() { super::units::MIB * a as u64 }",
        ),
        ("plan/mod.rs", "use crate::plan::engine; mod a { use super::engine; }"),
        ("plan/mod.rs", "pub(crate) fn f(&self) { self.engine(); } pub(in crate::plan) fn g() {}"),
        ("plan/a/b.rs", "use super::super::engine;"),
        ("plan/mod.rs", "#[cfg(test)]\nmod tests {\n use super::super::engine::Job;\n}"),
        ("plan/mod.rs", "#[cfg(test)]\npub(crate) mod testing {\n use super::super::engine::Job;\n}"),
        ("plan/tests.rs", "use crate::engine::Job;"),
        ("lib.rs", "pub use crate::engine::Job;"),
        ("cli/run.rs", "use crate::{report, run, import};"),
    ] {
        assert_eq!(violations(file, text), [], "{file}: {text}");
    }
}

#[test]
fn imports_that_hide_their_room_are_refused() {
    assert_eq!(
        violations("plan/mod.rs", "use crate::*;")[0].1,
        "`*` is not a room; name the room it comes from"
    );
    assert_eq!(
        violations("plan/mod.rs", "use super::Job;")[0].1,
        "`Job` is not a room; name the room it comes from"
    );
}

#[test]
fn unsafe_and_long_files_are_found() {
    assert_eq!(
        violations("plan/mod.rs", "\nunsafe fn f() {}"),
        [(2, "unsafe is allowed in src/engine only".into())]
    );
    assert_eq!(violations("engine/uring.rs", "fn f() { unsafe { g() } }"), []);
    let long = "\n".repeat(LONGEST + 1);
    assert_eq!(violations("plan/mod.rs", &long).len(), 1);
    assert_eq!(violations("plan/tests.rs", &long), []);
    assert_eq!(violations("plan/mod.rs", &format!("#[cfg(test)]\nmod tests {{{long}}}")), []);
    assert_eq!(violations("plan/mod.rs", &format!("#[cfg(test)]\nmod tests;\n{long}")).len(), 1);
}

/// The paths that one file uses, and the names that it imports.
#[derive(Default)]
struct Uses {
    /// Paths from the crate's root.
    paths: Vec<Vec<String>>,
    imported: BTreeMap<String, Vec<String>>,
}

/// Reads what the file of `module` uses. A re-export, `pub use child::Name`, does not count.
fn uses(module: &[String], text: &str) -> Uses {
    let mut walk = Walk { file: "", room: "", complaints: Vec::new(), paths: Vec::new() };
    let all = text.parse::<TokenStream>().expect("sources can be read");
    walk.tokens(all.clone(), module);
    let tokens: Vec<TokenTree> = all.into_iter().collect();
    let mut found = Uses::default();
    let is = |i: usize, word: &str| matches!(&tokens[i], TokenTree::Ident(name) if name == word);
    let mut children = BTreeSet::new();
    for i in 0..tokens.len() {
        if is(i, "mod") && !ends_in_cfg_test(&tokens[..i]) {
            children.insert(tokens[i + 1].to_string());
        } else if is(i, "use") && !ends_in_cfg_test(&tokens[..i]) {
            let mut tree = Walk { file: "", room: "", complaints: Vec::new(), paths: Vec::new() };
            tree.path(&tokens, i + 1, module);
            found
                .imported
                .extend(tree.paths.into_iter().filter_map(|path| Some((path.last()?.clone(), path))));
        }
    }
    found.paths = walk.paths;
    below(&tokens, module, &children, &mut found.paths);
    found
}

/// Paths that start with a module declared in this file.
fn below(tokens: &[TokenTree], module: &[String], children: &BTreeSet<String>, paths: &mut Vec<Vec<String>>) {
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                below(&group.stream().into_iter().collect::<Vec<_>>(), module, children, paths);
            }
            TokenTree::Ident(word) if children.contains(&word.to_string()) && colons(tokens, i + 1) => {
                let public = matches!(&tokens[..i], [.., TokenTree::Ident(word), TokenTree::Ident(last)] if word == "pub" && last == "use")
                    || matches!(&tokens[..i], [.., TokenTree::Ident(word), TokenTree::Group(_), TokenTree::Ident(last)] if word == "pub" && last == "use");
                let inside = i >= 2 && colons(tokens, i - 2);
                if !public && !inside {
                    let mut walk = Walk { file: "", room: "", complaints: Vec::new(), paths: Vec::new() };
                    walk.path(tokens, i, module);
                    paths.append(&mut walk.paths);
                }
            }
            _ => {}
        }
    }
}

/// The module whose file a path leads to: imports, such as the `pub use` of a `mod.rs`, are followed.
fn leads_to(path: &[String], files: &BTreeMap<Vec<String>, Uses>, steps: u32) -> Option<Vec<String>> {
    let (module, file) = (0..=path.len()).rev().find_map(|n| files.get_key_value(&path[..n]))?;
    let next = path.get(module.len()).and_then(|name| file.imported.get(name));
    match next.filter(|to| steps > 0 && to[..] != path[..]) {
        Some(to) => leads_to(&[to, &path[module.len() + 1..]].concat(), files, steps - 1),
        None => Some(module.clone()),
    }
}

/// Files that still use each other. Nothing may be added.
const CIRCLES_LEFT: &[&str] = &["run::measure", "run::zones"];

/// Each cyclic use between files of a room, as `a -> b`. Only a `mod.rs` and the files
/// below it may use each other: it declares what they share, and calls them.
fn circles(sources: &[(&str, &str)]) -> Vec<String> {
    let files: BTreeMap<Vec<String>, Uses> = sources
        .iter()
        .filter(|(file, _)| !is_for_tests(file))
        .map(|(file, text)| (module_of(file), uses(&module_of(file), text)))
        .collect();
    let used = |from: &Vec<String>| -> BTreeSet<Vec<String>> {
        let all = files[from].paths.iter().filter_map(|path| leads_to(path, &files, 8));
        all.filter(|to| from.first() == to.first() && !from.starts_with(to) && !to.starts_with(from))
            .collect()
    };
    let edges: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> =
        files.keys().map(|file| (file.clone(), used(file))).collect();
    let leads_back = |start: &Vec<String>, to: &Vec<String>| {
        let mut seen = BTreeSet::from([to]);
        let mut next = vec![to];
        while let Some(file) = next.pop() {
            next.extend(edges[file].iter().filter(|file| seen.insert(file)));
        }
        seen.contains(start)
    };
    let all = edges.iter().flat_map(|(from, used)| used.iter().map(move |to| (from, to)));
    all.filter(|(from, to)| leads_back(from, to))
        .map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::")))
        .collect()
}

#[test]
fn files_do_not_use_each_other() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (&file[..], &text[..])).collect();
    let mut found = circles(&files);
    let in_circles: BTreeSet<String> =
        found.iter().flat_map(|edge| edge.split(" -> ")).map(String::from).collect();
    let gone = CIRCLES_LEFT.iter().filter(|file| !in_circles.contains(**file)).collect::<Vec<_>>();
    assert!(gone.is_empty(), "no longer in a circle: {gone:?}");
    found.retain(|edge| !edge.split(" -> ").all(|file| CIRCLES_LEFT.contains(&file)));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn cycles_are_found_through_re_exports_and_other_files() {
    let door = ("a/mod.rs", "mod b;\nmod c;\nmod d;\npub use b::B;\npub(crate) use c::{C, c};");
    for (b, c, found) in [
        ("use super::C;", "use super::B;", vec!["a::b -> a::c", "a::c -> a::b"]),
        ("use super::{self, c::{C}};", "fn f() { crate::a::b::g() }", vec!["a::b -> a::c", "a::c -> a::b"]),
        ("use super::d::D;", "use super::b::B;", vec!["a::b -> a::d", "a::c -> a::b", "a::d -> a::c"]),
        ("use super::C;", "", vec![]),
        ("use super::C;", "#[cfg(test)]\nmod tests { use super::super::B; }", vec![]),
    ] {
        assert_eq!(
            circles(&[door, ("a/b.rs", b), ("a/c.rs", c), ("a/d.rs", "use super::c;")]),
            found,
            "{b} {c}"
        );
    }
    let parts = [("a/mod.rs", "mod b;\npub struct A;\nfn f() { b::g() }"), ("a/b.rs", "use super::A;")];
    assert_eq!(circles(&parts), Vec::<String>::new(), "a mod.rs and its parts are one");
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
        ("use crate::findings::*;", 1),
        ("use super::{inventory::{bus::*}};", 1),
        ("use crate::findings as f;", 1),
        ("use crate::{\nfindings::{self as f}};", 2),
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
        violations[0].1.starts_with("`remove_dir_all` removes files; only record/atomic_file.rs, "),
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
        ("record/atomic_file.rs", "fn f() { fs::rename(a, b); fs::remove_file(a); File::create_new(b) }"),
        ("tools/system.rs", "use std::process::{Child, Command};"),
    ] {
        assert_eq!(violations(file, text), [], "{file}: {text}");
    }
}

#[test]
fn every_file_with_a_door_needs_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (what, names, files) in DOORS {
        for file in *files {
            let text = fs::read_to_string(src.join(file)).unwrap_or_default();
            let last = |name: &&str| name.rsplit(':').next().unwrap_or(name).trim_end_matches('*').to_owned();
            let used = names.iter().any(|name| text.contains(&last(name)));
            assert!(used, "src/{file} is listed as one that {what}, but does not");
        }
    }
}
