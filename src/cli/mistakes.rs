//! Mistakes on the command line: what is wrong, and one hint at what to type instead.

use std::path::Path;

use anstream::ColorChoice;
use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::{args::Args, output::Color};
use crate::{
    experiments::REGISTER,
    units::{listed, shell_word},
};

/// The command under which experiments are.
const RUN: &str = "run";
/// The option for the format of the output.
const FORMAT: &str = "format";

/// When colours were asked for. Mistakes have colours, too, so it is read before the command line is.
pub(super) fn colours(typed: &[String]) -> ColorChoice {
    let after = typed.iter().skip_while(|arg| *arg != "--color").nth(1);
    let given = typed.iter().find_map(|arg| arg.strip_prefix("--color=")).or(after.map(String::as_str));
    match given.and_then(|when| clap::ValueEnum::from_str(when, false).ok()) {
        Some(Color::Always) => ColorChoice::Always,
        Some(Color::Never) => ColorChoice::Never,
        Some(Color::Auto) | None => ColorChoice::Auto,
    }
}

/// What is wrong and a hint; `None` of help and versions, which are no mistakes.
pub(super) fn explain(e: &Error, typed: &[String]) -> Option<(String, String)> {
    let place = place(typed, e.get(ContextKind::InvalidSubcommand));
    let path = place.join(" ");
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(all)) => all.last().cloned(),
        _ => None,
    };
    Some(match e.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            // Without any argument, the help is the answer.
            if place.is_empty() {
                return None;
            }
            let names: Vec<&str> = REGISTER.iter().map(|experiment| experiment.name).collect();
            let wrong = format!("no experiment is named: there are {}", listed(&names));
            (wrong, "`drivebench run baseline .` measures the drive of this directory".to_owned())
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand)?;
            let what = if path == RUN { "experiment" } else { "command" };
            let similar = context(ContextKind::SuggestedSubcommand);
            let meant = instead(&word, &path, similar, typed);
            let hint = meant.map(|meant| format!("did you mean `drivebench {meant}`?"));
            (format!("there is no {what} '{word}'"), hint.unwrap_or_else(|| lists(&path)))
        }
        ErrorKind::UnknownArgument => {
            let option = context(ContextKind::InvalidArg)?;
            let similar = format_of(&option, &place).or_else(|| context(ContextKind::SuggestedArg));
            let hint = similar.map(|similar| format!("did you mean `{similar}`?"));
            let of = if place.is_empty() { String::new() } else { format!(" of `drivebench {path}`") };
            (format!("there is no option '{option}'{of}"), hint.unwrap_or_else(|| lists(&path)))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = context(ContextKind::InvalidArg)?;
            let name = missing.trim_matches(['<', '>', '.']).to_owned();
            let hint = match name.as_str() {
                "TARGET" => format!("`drivebench {path} .` measures the drive of this directory"),
                "RUN" => "`drivebench results` lists all runs".to_owned(),
                _ => lists(&path),
            };
            let what = if missing.starts_with('<') { format!("a {name}") } else { missing };
            (format!("`drivebench {path}` needs {what}"), hint)
        }
        _ => {
            let text = e.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let words: Vec<&str> = first.split_whitespace().skip(1).collect();
            let similar = context(ContextKind::SuggestedValue).map(|one| format!("did you mean `{one}`?"));
            (words.join(" "), similar.unwrap_or_else(|| lists(&path)))
        }
    })
}

fn lists(path: &str) -> String {
    let command = if path.is_empty() { "drivebench".to_owned() } else { format!("drivebench {path}") };
    format!("`{command} --help` shows what there is")
}

/// The commands that were typed, from the outermost in, before the word that is none.
fn place(typed: &[String], unknown: Option<&ContextValue>) -> Vec<String> {
    let mut command = Args::command();
    let mut place = Vec::new();
    let known = |word: &&String| !matches!(unknown, Some(ContextValue::String(other)) if other == *word);
    for word in typed.iter().take_while(known) {
        if let Some(inner) = command.find_subcommand(word).cloned() {
            place.push(word.clone());
            command = inner;
        }
    }
    place
}

/// What was probably meant by a word that is no command at this place.
fn instead(word: &str, path: &str, similar: Option<String>, typed: &[String]) -> Option<String> {
    let at = typed.iter().position(|arg| arg == word)?;
    let with = |new: &[&str]| {
        let words = typed[..at].iter().map(String::as_str).chain(new.iter().copied());
        let words = words.chain(typed[at + 1..].iter().map(String::as_str));
        words.map(shell_word).collect::<Vec<_>>().join(" ")
    };
    let command = Args::command();
    // A command that exists one level deeper: `run baseline` for `baseline`, `results export` for `export`.
    let group = command.get_subcommands().find(|group| group.find_subcommand(word).is_some());
    let is_path = word.contains('/') || Path::new(word).exists();
    match (path, group) {
        ("", Some(group)) => Some(with(&[group.get_name(), word])),
        ("", None) if is_path => Some(with(&[RUN, "baseline", word])),
        (RUN, _) if is_path => Some(with(&["baseline", word])),
        _ => similar.map(|similar| with(&[&similar])),
    }
}

/// `--format json` for `--json`, where the command has formats.
fn format_of(option: &str, place: &[String]) -> Option<String> {
    let mut command = Args::command();
    for word in place {
        command = command.find_subcommand(word)?.clone();
    }
    let format = command.get_arguments().find(|arg| arg.get_id() == FORMAT)?;
    let name = option.trim_start_matches('-');
    let one = format.get_possible_values().into_iter().find(|value| value.get_name() == name)?;
    Some(format!("--{FORMAT} {}", one.get_name()))
}
