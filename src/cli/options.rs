//! Arguments of `drivebench run`: one subcommand for each experiment, with the options that it declares.

use clap::{
    Arg, ArgAction, ArgMatches, Args as Group, FromArgMatches, Subcommand, builder::PossibleValuesParser,
    error::ErrorKind, parser::ValueSource, value_parser,
};

use super::{args::RUN, output::Color};
use crate::{
    experiments::{self, Declared, Experiment, REGISTER, Values},
    findings::fitness::Use,
    report::Format,
};

#[derive(Debug)]
pub struct Run {
    pub experiment: &'static Experiment,
    /// The options it plans from.
    pub values: Values,
    pub options: Options,
}

/// Options of every experiment: targets, execution and output.
#[derive(Debug, Default, Group)]
pub struct Options {
    /// What [`Experiment::targets`] says
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,

    /// Show what would be done and what it costs, and stop
    #[arg(long)]
    pub plan: bool,

    /// Continue a run that was stopped
    #[arg(long, value_name = RUN, conflicts_with = "targets")]
    pub resume: Option<String>,

    /// Wait for another drivebench that uses the drive
    #[arg(long)]
    pub wait: bool,

    /// Add reasons, percentiles, conditions and commands
    #[arg(long, conflicts_with_all = ["plan", "events"])]
    pub explain: bool,

    /// text, markdown or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: Format,

    /// Write events as JSON lines, the findings last
    #[arg(long, conflicts_with_all = ["format", "plan"])]
    pub events: bool,

    /// The use that decides the exit code
    #[arg(skip)]
    pub judged: Option<Use>,
}

impl Subcommand for Run {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let command = command.subcommand_value_name("EXPERIMENT").subcommand_help_heading("Experiments");
        let command = command.subcommand_required(true).disable_help_subcommand(true);
        command.subcommands(REGISTER.iter().map(|experiment| subcommand(experiment)))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        experiments::find(name).is_some()
    }
}

impl FromArgMatches for Run {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let named = matches.subcommand().and_then(|(name, given)| Some((experiments::find(name)?, given)));
        let (experiment, matches) = named.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let mut values = Values::default();
        let typed = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let specs = experiment.options.iter().map(|option| option.spec());
        for spec in specs.filter(|spec| typed(&spec.name)) {
            let typed =
                || matches.get_many::<String>(spec.name).into_iter().flatten().cloned().collect::<Vec<_>>();
            let text = if spec.value.is_empty() { "true".to_owned() } else { typed().join(",") };
            values.set(spec.name, &text);
        }
        Ok(Self { experiment, values, options: Options::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn subcommand(experiment: &'static Experiment) -> clap::Command {
    let options = experiment.options;
    let examples = experiment.examples.iter().map(|line| format!("\n  drivebench run {line}"));
    let notes = format!(
        "Sizes: 4k, 1M, 1GiB are powers of 1024; 500MB of 1000. Times: 90s, 10m, 1h.\nExamples:{}",
        examples.collect::<String>()
    );
    // A resumed run already has its plan, but consent is given anew.
    let specs = options.iter().map(|option| option.spec());
    let planned: Vec<&str> = specs.filter(|spec| !spec.also_resumed).map(|spec| spec.name).collect();
    Options::augment_args(clap::Command::new(experiment.name))
        .about(experiment.question)
        .after_help(notes)
        // The help of some experiments has 40 lines without it.
        .arg(
            Arg::new("color")
                .long("color")
                .value_parser(value_parser!(Color))
                .default_value("auto")
                .global(true)
                .hide(true),
        )
        .mut_arg("targets", |arg| arg.help(experiment.targets.help))
        .mut_arg("targets", |arg| match experiment.targets.default {
            Some(target) => arg.default_value(target).hide_default_value(true),
            None => arg.required_unless_present_any(["resume"].into_iter().chain(experiment.targets.instead)),
        })
        .mut_arg("resume", |arg| arg.conflicts_with_all(planned))
        .args(options.iter().map(|option| arg(*option)))
}

fn arg(option: &'static dyn Declared) -> Arg {
    let spec = option.spec();
    let arg = Arg::new(spec.name).long(spec.name).help(spec.help).help_heading(spec.heading);
    let mut arg = arg.conflicts_with_all(spec.conflicts);
    if let Some(other) = spec.requires {
        arg = arg.requires(other);
    }
    if spec.value.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    if spec.many {
        arg = arg.action(ArgAction::Append);
    }
    arg = arg.value_name(spec.value).hide_possible_values(true).default_values(spec.default);
    if spec.choices.is_empty() {
        arg.value_parser(move |text: &str| option.check(text).map(|()| text.to_owned()))
    } else {
        arg.value_parser(PossibleValuesParser::new(spec.choices))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{super::args::Args, *};

    /// The help of `drivebench`, or of an experiment, in a terminal of 80 columns.
    fn help(experiment: Option<&str>) -> String {
        let typed =
            ["drivebench"].into_iter().chain(experiment.map(|name| ["run", name]).into_iter().flatten());
        let shown = Args::command().term_width(80).try_get_matches_from(typed.chain(["--help"]));
        shown.expect_err("help").to_string()
    }

    #[test]
    fn every_experiment_takes_resume() {
        assert!(REGISTER.iter().all(|experiment| help(Some(experiment.name)).contains("--resume <RUN>")));
    }

    #[test]
    fn help_shows_every_option_of_an_experiment() {
        for experiment in REGISTER {
            let help = help(Some(experiment.name));
            for spec in experiment.options.iter().map(|option| option.spec()) {
                let shown = |line: &str| {
                    line.split_whitespace().next() == Some(&format!("--{}", spec.name))
                        && line.contains(spec.help)
                };
                assert!(help.lines().any(shown), "{}: --{}: {help}", experiment.name, spec.name);
            }
        }
    }

    #[test]
    fn each_example_is_one_line() {
        for experiment in REGISTER {
            for example in experiment.examples {
                assert!(help(Some(experiment.name)).contains(&format!("run {example}\n")), "{example}");
            }
        }
    }

    #[test]
    fn the_help_of_every_command_fits_one_screen_and_is_of_one_style() {
        fn check(command: &clap::Command, typed: &[&str]) {
            let shown = Args::command().term_width(80).try_get_matches_from([typed, &["--help"]].concat());
            let help = shown.expect_err("help").to_string();
            let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(help.lines().count() <= 40 && widest <= 80, "{help}");
            assert!(!help.contains("Possible values:"), "{help}");
            for one in command.get_subcommands() {
                check(one, &[typed, &[one.get_name()]].concat());
            }
        }
        check(&Args::command(), &["drivebench"]);
    }

    #[test]
    fn help_of_an_experiment_names_nothing_of_others() {
        for experiment in REGISTER {
            let help = help(Some(experiment.name));
            let words: Vec<&str> = help
                .split(|c: char| !c.is_alphanumeric() && c != '-')
                .filter(|word| !word.is_empty())
                .collect();
            for other in REGISTER.iter().filter(|other| other.name != experiment.name) {
                // Layouts may be wanted for their capacity.
                let is_word = experiment.name == "layouts" && other.name == "capacity";
                assert!(is_word || !words.contains(&other.name), "{}: {help}", other.name);
                for name in other.options.iter().map(|option| option.spec().name) {
                    let taken = experiment.options.iter().any(|option| option.spec().name == name);
                    let flag = format!("--{name}");
                    assert!(taken || !words.contains(&flag.as_str()), "{flag}: {help}");
                }
            }
        }
    }
}
