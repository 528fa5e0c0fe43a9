//! What an option of `drivebench run` is, and the values that were typed. One declaration owns an option's name, help,
//! default, parser and conflicts; the command line makes flags and help of it.

use std::{collections::BTreeMap, fmt, ops::RangeInclusive, str::FromStr};

#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// `runs` for `--runs`.
    pub name: &'static str,
    /// The name of its value in help, such as `SIZE`; empty for a switch.
    pub value: &'static str,
    pub help: &'static str,
    pub heading: &'static str,
    /// The default as a person would type it; `None` where the plan depends on whether something was typed.
    pub default: Option<&'static str>,
    /// The only values there are; empty where the parser decides.
    pub choices: &'static [&'static str],
    pub conflicts: &'static [&'static str],
    pub requires: Option<&'static str>,
    /// It may be typed several times; its values are joined with commas.
    pub many: bool,
    /// It may be typed for a run that is resumed, too.
    pub also_resumed: bool,
}

/// An option and how its value is read.
#[derive(Debug)]
pub struct Opt<T> {
    spec: Spec,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Opt<T> {
    /// An option that only one experiment takes; without a default.
    pub const fn new(
        name: &'static str,
        value: &'static str,
        parse: fn(&str) -> Result<T, String>,
        help: &'static str,
    ) -> Self {
        let spec = Spec {
            name,
            value,
            help,
            heading: "This experiment",
            default: None,
            choices: &[],
            conflicts: &[],
            requires: None,
            many: false,
            also_resumed: false,
        };
        Self { spec, parse }
    }

    fn read(&self, text: &str) -> T {
        (self.parse)(text).unwrap_or_else(|e| panic!("--{} {text}: {e}", self.spec.name))
    }

    pub const fn default(mut self, text: &'static str) -> Self {
        self.spec.default = Some(text);
        self
    }

    pub const fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The plan decides what holds if nothing was typed.
    pub const fn without_default(mut self, help: &'static str) -> Self {
        (self.spec.default, self.spec.help) = (None, help);
        self
    }

    pub const fn help(mut self, help: &'static str) -> Self {
        self.spec.help = help;
        self
    }

    pub const fn heading(mut self, heading: &'static str) -> Self {
        self.spec.heading = heading;
        self
    }

    pub const fn choices(mut self, choices: &'static [&'static str]) -> Self {
        self.spec.choices = choices;
        self
    }

    pub const fn conflicts(mut self, names: &'static [&'static str]) -> Self {
        self.spec.conflicts = names;
        self
    }

    pub const fn many(mut self) -> Self {
        self.spec.many = true;
        self
    }

    pub const fn also_resumed(mut self) -> Self {
        self.spec.also_resumed = true;
        self
    }

    pub const fn requires(mut self, name: &'static str) -> Self {
        self.spec.requires = Some(name);
        self
    }
}

impl Opt<bool> {
    pub const fn switch(name: &'static str, help: &'static str) -> Self {
        Self::new(name, "", parsed, help).default("false")
    }
}

/// An option, whatever the type of its value.
pub trait Declared: Sync + fmt::Debug {
    fn spec(&self) -> &Spec;

    /// Whether a text is a value of it, or what is wrong with the text.
    fn check(&self, text: &str) -> Result<(), String>;
}

impl<T: fmt::Debug> Declared for Opt<T> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn check(&self, text: &str) -> Result<(), String> {
        (self.parse)(text).map(drop)
    }
}

/// The typed values by the names of their options, as text that each option's parser has accepted.
#[derive(Debug, Clone, Default)]
pub struct Values(BTreeMap<String, String>);

impl Values {
    pub fn set(&mut self, name: &str, text: &str) {
        self.0.insert(name.to_owned(), text.to_owned());
    }

    pub fn is_typed(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The text that was typed for the option with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The typed value, if any.
    pub fn typed<T>(&self, option: &Opt<T>) -> Option<T> {
        self.0.get(option.spec.name).map(|text| option.read(text))
    }

    /// The typed value, or the default, which the option must have.
    pub fn get<T>(&self, option: &Opt<T>) -> T {
        self.typed(option)
            .unwrap_or_else(|| option.read(option.spec.default.expect("declared with a default")))
    }

    /// The typed value, or the default that an experiment with these options gives to it.
    pub(super) fn get_among<T>(&self, options: &[&dyn Declared], option: &Opt<T>) -> T {
        let own = options.iter().map(|o| o.spec()).find(|spec| spec.name == option.spec.name);
        let own = own.and_then(|spec| spec.default).map(|text| option.read(text));
        self.typed(option).or(own).unwrap_or_else(|| self.get(option))
    }
}

/// The value that a word stands for.
pub fn choice<T: Copy>(text: &str, values: &[(&str, T)]) -> Result<T, String> {
    let known = || values.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let found = values.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| format!("choose from {}", known()))
}

/// The values of a list of words, each once.
pub fn choices<T: Copy + PartialEq>(text: &str, values: &[(&str, T)]) -> Result<Vec<T>, String> {
    let mut all = Vec::new();
    for word in text.split(',') {
        let value = choice(word, values)?;
        if all.contains(&value) {
            return Err(format!("'{word}' is named twice"));
        }
        all.push(value);
    }
    Ok(all)
}

/// A whole number in a range.
pub fn within<T: FromStr + PartialOrd + fmt::Display>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("a whole number from {} to {}", range.start(), range.end()))
}

/// A parser for types of the standard library: a number, a name, true or false.
pub fn parsed<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "not a valid number".to_owned())
}
