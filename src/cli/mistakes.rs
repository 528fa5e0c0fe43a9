//! Mistakes on the command line: what is wrong, and one hint at what to type instead.

use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::args::Args;

/// What is wrong, in the first paragraph of clap's message, and a hint; `None` where the answer is help or a version.
pub(super) fn explain(e: &Error) -> Option<(String, String)> {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(e.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion) {
        return None;
    }
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(all)) => all.last().cloned(),
        _ => None,
    };
    let text = e.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let wrong: Vec<&str> = first.split_whitespace().skip(1).collect();
    // A command that exists one level deeper: `run baseline` for `baseline`, `results export` for `export`.
    let deeper = context(ContextKind::InvalidSubcommand).and_then(|word| {
        let command = Args::command();
        let group = command.get_subcommands().find(|group| group.find_subcommand(&word).is_some())?;
        Some(format!("drivebench {} {word}", group.get_name()))
    });
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let meant = deeper.or_else(|| kinds.into_iter().find_map(context));
    let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
    Some((
        wrong.join(" "),
        hint.unwrap_or_else(|| "the same command with --help shows what there is".to_owned()),
    ))
}
