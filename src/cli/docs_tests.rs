//! The documentation is checked: its commands parse, its links resolve, its screens are those of snapshots, and the options in
//! `docs/reference` are those of the command line.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory};

use super::{args::Args, options::Options};
use crate::experiments;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Markdown files of the project, with their text.
fn pages() -> Vec<(PathBuf, String)> {
    fn add(dir: &Path, pages: &mut Vec<(PathBuf, String)>) {
        for path in fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !["target", ".git"].contains(&name) {
                add(&path, pages);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).expect("text");
                pages.push((path, text));
            }
        }
    }
    let mut all = Vec::new();
    add(root(), &mut all);
    assert!(all.len() > 40, "{} pages", all.len());
    all
}

/// A fenced block: its language, the line before it, and its lines.
struct Block<'a> {
    language: &'a str,
    above: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut open, mut above) = (false, "");
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) if !open => {
                blocks.push(Block { language, above, lines: Vec::new() });
                open = true;
            }
            Some(_) => open = false,
            None if open => blocks.last_mut().expect("a block is open").lines.push(line),
            None => {}
        }
        above = line;
    }
    assert!(!open, "a block has no end: {text}");
    blocks
}

/// The words of each call of drivebench in a line of a shell.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let line = line.split(" #").next().unwrap_or_default();
    let parts = line
        .split(['|', ';', '&', '(', ')'])
        .map(|part| part.split('>').next().unwrap_or_default().split_whitespace());
    let parts = parts.map(|words| words.skip_while(|word| ["$", "sudo"].contains(word)).collect::<Vec<_>>());
    let program = |words: &Vec<&str>| ["drivebench", "./drivebench"].contains(&words[0]);
    parts.filter(|words| !words.is_empty() && program(words)).collect()
}

#[test]
fn commands_parse() {
    let mut wrong = Vec::new();
    let mut parsed = 0;
    for (page, text) in &pages() {
        let blocks = blocks(text);
        let is_refused = |block: &&Block| block.lines.iter().any(|line| line.starts_with("error:"));
        let shell = blocks.iter().filter(|block| ["sh", "console"].contains(&block.language));
        let shell = shell.filter(|block| !is_refused(block));
        for line in shell.flat_map(|block| &block.lines) {
            for words in calls(line) {
                parsed += 1;
                let refused = Args::command().try_get_matches_from(&words).err().filter(|e| e.use_stderr());
                wrong.extend(refused.map(|e| format!("{}: {line}\n{e}", page.display())));
            }
        }
    }
    assert!(parsed > 100 && wrong.is_empty(), "{parsed} parsed\n{}", wrong.join("\n"));
}

/// The anchors that a page has, as GitHub forms them from headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    let kept = |c: char| (c.is_alphanumeric() || "-_ ".contains(c)).then_some(if c == ' ' { '-' } else { c });
    headings.map(|title| title.trim().to_lowercase().chars().filter_map(kept).collect()).collect()
}

#[test]
fn links_resolve_and_lines_are_short() {
    let mut wrong = Vec::new();
    for (page, text) in &pages() {
        for part in text.split("](").skip(1) {
            let link = part.split(')').next().unwrap_or_default();
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, to)| (file, Some(to)));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().expect("a directory").join(file) };
            let there = match anchor {
                None => target.exists(),
                Some(to) => {
                    fs::read_to_string(&target).is_ok_and(|text| anchors(&text).iter().any(|a| a == to))
                }
            };
            if !there {
                wrong.push(format!("{}: no {link}", page.display()));
            }
        }
        let is_long = |line: &str| line.chars().count() > 120 && !line.starts_with("<!-- screen: ");
        let long = text.lines().enumerate().filter(|(_, line)| is_long(line));
        wrong.extend(long.map(|(at, _)| format!("{}:{}: more than 120 characters", page.display(), at + 1)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first line of `shown` that `kept` doesn't hold behind the one before it. `[...]` may stand for any lines.
fn first_unlike<'a>(shown: &[&'a str], kept: &str) -> Option<&'a str> {
    let mut kept = kept.lines().map(str::trim);
    let mut skips = true;
    for line in shown.iter().map(|line| line.trim()) {
        if line == "[...]" {
            skips = true;
            continue;
        }
        let found = if skips { kept.any(|one| one == line) } else { kept.next() == Some(line) };
        if !found {
            return Some(line);
        }
        skips = false;
    }
    None
}

#[test]
fn screens_are_those_of_snapshots() {
    let mut wrong = Vec::new();
    let mut screens = 0;
    for (page, text) in &pages() {
        for block in blocks(text).iter().filter(|block| block.language == "console") {
            screens += 1;
            let file = block.above.strip_prefix("<!-- screen: ").and_then(|rest| rest.strip_suffix(" -->"));
            let kept = file.and_then(|file| fs::read_to_string(root().join(file)).ok());
            let output: Vec<&str> =
                block.lines.iter().copied().filter(|line| !line.starts_with("$ ")).collect();
            match kept {
                Some(kept) => {
                    let unlike = first_unlike(&output, &kept);
                    wrong.extend(
                        unlike.map(|line| format!("{}: not in {}: {line}", page.display(), block.above)),
                    );
                }
                None => wrong.push(format!("{}: no screen {:?}", page.display(), block.above)),
            }
        }
    }
    assert!(screens > 10 && wrong.is_empty(), "{screens} screens\n{}", wrong.join("\n"));
}

/// The usage and options of a command as `--help` shows them, without options that are described in `run.md`.
fn help(name: &str, command: &Command, hidden: &[&str]) -> String {
    let mut command = command.clone().term_width(96).bin_name(name);
    for id in hidden {
        if command.get_arguments().any(|arg| arg.get_id() == id) {
            command = command.mut_arg(id, |arg| arg.hide(true));
        }
    }
    let mut command = command.disable_help_flag(true).help_template("{usage-heading} {usage}\n\n{all-args}");
    let lines = command.render_help().to_string();
    lines.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>().trim_end().to_owned()
}

/// As a snapshot: with `INSTA_UPDATE=always` the options are written into the pages.
#[test]
fn the_reference_has_the_options_of_each_command() {
    const GLOBAL: [&str; 3] = ["ascii", "color", "store"];
    let common = <Options as clap::Args>::augment_args(Command::new("EXPERIMENT"));
    let common: Vec<&str> = common.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    let own_page = |name: &str| root().join(format!("docs/reference/{name}.md"));
    let mut all = Args::command().disable_help_subcommand(true);
    all.build();
    let mut expected: Vec<(PathBuf, Vec<String>)> = Vec::new();
    for command in all.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let full = format!("drivebench {name}");
        let nested = command.get_subcommands().filter(|one| !one.is_hide_set());
        let texts = match name {
            "run" => {
                let shared: Vec<&Command> = nested.collect();
                for one in &shared {
                    let hidden: Vec<&str> =
                        common.iter().filter(|id| **id != "targets").chain(&GLOBAL).copied().collect();
                    let text = help(&format!("{full} {}", one.get_name()), one, &hidden);
                    expected.push((own_page(one.get_name()), vec![text]));
                }
                let first = experiments::REGISTER.first().expect("an experiment");
                let own: Vec<&str> = first.options.iter().map(|option| option.spec().name).collect();
                let one = shared.iter().find(|one| one.get_name() == first.name).expect("its command");
                vec![help(&format!("{full} EXPERIMENT"), one, &own)]
            }
            _ if command.has_subcommands() => {
                nested.map(|one| help(&format!("{full} {}", one.get_name()), one, &GLOBAL)).collect()
            }
            _ => vec![help(&full, command, &GLOBAL)],
        };
        expected.push((own_page(name), texts));
    }
    let mut wrong = Vec::new();
    for (page, texts) in expected {
        let was = fs::read_to_string(&page).unwrap_or_default();
        let parts = was.split_once("<!-- options -->\n").and_then(|(before, rest)| {
            let (_, after) = rest.split_once("<!-- end -->")?;
            Some((before, after))
        });
        let Some((before, after)) = parts else {
            wrong.push(format!("{}: no options", page.display()));
            continue;
        };
        let options: String = texts.iter().map(|text| format!("```text\n{text}\n```\n")).collect();
        let text = format!("{before}<!-- options -->\n{options}<!-- end -->{after}");
        if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            fs::write(&page, &text).expect("the page can be written");
        } else if text != was {
            wrong.push(format!("{}: INSTA_UPDATE=always writes it", page.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
