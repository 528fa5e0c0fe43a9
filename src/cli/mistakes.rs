//! Mistakes on the command line: what is wrong, and one hint at what to type instead.

use std::path::Path;

use anstream::ColorChoice;
use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::{args::Args, output::Color};
use crate::units::shell_word;

/// The command under which experiments are.
const RUN: &str = "run";

/// When colours were asked for. Mistakes have colours, too, so it is read before the command line is.
pub(super) fn colours(typed: &[String]) -> ColorChoice {
    let after = typed.iter().skip_while(|arg| *arg != "--color").nth(1);
    let when = typed.iter().find_map(|arg| arg.strip_prefix("--color=")).or(after.map(String::as_str));
    match when.and_then(|when| clap::ValueEnum::from_str(when, false).ok()) {
        Some(Color::Always) => ColorChoice::Always,
        Some(Color::Never) => ColorChoice::Never,
        Some(Color::Auto) | None => ColorChoice::Auto,
    }
}

/// What is wrong, and a hint; `None` where the help is the answer.
pub(super) fn explain(e: &Error, typed: &[String]) -> Option<(String, String)> {
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(all)) => all.last().cloned(),
        _ => None,
    };
    match e.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::InvalidUtf8 => {
            let word = typed.iter().find(|word| word.contains('\u{fffd}')).map_or("a name", String::as_str);
            let hint = "rename it, or use another path to the same drive";
            return Some((format!("{word} is not UTF-8"), hint.to_owned()));
        }
        _ => {}
    }
    let unknown = context(ContextKind::InvalidSubcommand);
    let path = place(typed, unknown.as_deref()).join(" ");
    let similar = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let similar = similar.into_iter().find_map(context);
    let meant = match &unknown {
        Some(word) => instead(word, &path, similar, typed).map(|meant| format!("drivebench {meant}")),
        None => similar,
    };
    let command = format!("drivebench {path}").trim_end().to_owned();
    let text = match e.kind() {
        // Without any argument, the help is the answer.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if path.is_empty() => return None,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => format!("error: `{command}` needs a command"),
        _ => e.render().to_string(),
    };
    let first = text.split("\n\n").next().unwrap_or_default();
    let wrong: Vec<&str> = first.split_whitespace().skip(1).collect();
    let lists = || format!("`{command} --help` shows what there is");
    Some((wrong.join(" "), meant.map_or_else(lists, |meant| format!("did you mean `{meant}`?"))))
}

/// The commands that were typed, from the outermost in, before the word that is none.
fn place(typed: &[String], unknown: Option<&str>) -> Vec<String> {
    let mut command = Args::command();
    let mut place = Vec::new();
    for word in typed.iter().take_while(|word| unknown != Some(word.as_str())) {
        if let Some(inner) = command.find_subcommand(word).cloned() {
            place.push(word.clone());
            command = inner;
        }
    }
    place
}

/// The command that was probably meant by an unknown word at this place.
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
