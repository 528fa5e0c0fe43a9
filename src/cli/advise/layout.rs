//! Answers for people.

use super::gather::Gathered;
use crate::{
    advise::{Answer, Sure, Topic},
    findings::Findings,
    inventory::Inventory,
    report::{Format, Style, render, wrapped},
    units::count,
};

/// More runs than this are counted, not named.
const NAMED: usize = 4;

/// The topic, the answer, the reasons and the confidence; then commands that would settle more.
pub(super) fn text(inventory: &Inventory, gathered: &Gathered, answers: &[Answer], style: Style) -> String {
    let mut out = wrapped(&head(inventory, gathered), "", style);
    let mut last = None;
    for answer in answers {
        let topic = if last == Some(answer.topic) { "" } else { name(answer.topic) };
        last = Some(answer.topic);
        let mark = format!("{topic:8}");
        if answer.because.is_empty() {
            out += &wrapped(&format!("{} {}", answer.says, why(answer)), &mark, style);
        } else {
            out += &style.strong(&wrapped(&answer.says, &mark, style));
            out += &wrapped(&why(answer), "        ", style);
        }
    }
    let commands = commands(answers);
    if !commands.is_empty() {
        out += "\nTo learn more, run:\n";
    }
    let clean: Vec<(String, String)> = commands
        .into_iter()
        .map(|(command, topics)| (style.clean(&command), format!("# {topics}")))
        .collect();
    let width = clean.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let room = clean.iter().all(|(_, topics)| 2 + width + 2 + topics.chars().count() <= style.width);
    for (command, topics) in clean {
        out += &if room {
            format!("  {command:width$}  {topics}\n")
        } else {
            format!("  {topics}\n{}", broken(&command, style.width))
        };
    }
    out
}

/// A command over several lines, as a shell accepts it; quoted words are not broken.
fn broken(command: &str, width: usize) -> String {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in command.chars() {
        quoted ^= c == '\'';
        if c == ' ' && !quoted {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    words.push(word);
    let mut out = String::new();
    let mut line = " ".to_owned();
    for word in words {
        // Room for the mark at the end of the line.
        if line.chars().count() + 1 + word.chars().count() + 2 > width && !line.trim().is_empty() {
            out += &format!("{line} \\\n");
            line = "   ".to_owned();
        }
        line += &format!(" {word}");
    }
    out + &line + "\n"
}

pub(super) fn markdown(answers: &[Answer], style: Style) -> String {
    let verdict = |a: &Answer| format!("{}: {} {}", name(a.topic), a.says, why(a));
    let findings = Findings {
        experiment: "advise".to_owned(),
        question: "what do the inventory and the measurements suggest?".to_owned(),
        modelled: answers.iter().any(|a| a.modelled),
        verdicts: answers.iter().map(verdict).collect(),
        reproduce: commands(answers).into_iter().map(|(c, topics)| format!("{c}  # {topics}")).collect(),
        ..Findings::default()
    };
    render(&findings, Format::Markdown, style, true)
}

fn head(inventory: &Inventory, gathered: &Gathered) -> String {
    let machine = &inventory.machine;
    let board = machine.board.as_deref().or(machine.soc.as_deref()).unwrap_or("This machine");
    let drives = inventory.drives.iter().filter(|d| d.sectors > 0).count();
    let drives = if drives == 0 { "no drives".to_owned() } else { count(drives as u64, "drive") };
    let runs = match gathered.runs_kept {
        0 => "no saved runs".to_owned(),
        kept => format!("{} of {} read", gathered.runs_read, count(kept as u64, "saved run")),
    };
    let lab = machine.lab.iter().map(|scenario| format!(" · lab {scenario}, virtual"));
    format!("{board} · {drives} · {runs}{}", lab.collect::<String>())
}

fn name(topic: Topic) -> &'static str {
    match topic {
        Topic::Boot => "boot",
        Topic::Swap => "swap",
        Topic::Data => "data",
        Topic::Layout => "layout",
        Topic::Limits => "limits",
        Topic::Health => "health",
        Topic::Money => "money",
    }
}

/// The reasons and the confidence, in one paragraph.
fn why(answer: &Answer) -> String {
    let sure = match answer.sure {
        Sure::Measured => "measured",
        Sure::Inferred => "inferred",
        Sure::Published => "published elsewhere",
        Sure::Unknown => "not known",
    };
    let runs = match &answer.rests_on[..] {
        [] => String::new(),
        all if all.len() <= NAMED => format!(": {}", all.join(", ")),
        all => format!(": {} and {} more", all[..NAMED].join(", "), all.len() - NAMED),
    };
    let modelled = if answer.modelled { ", virtual" } else { "" };
    let because: String = answer.because.iter().map(|reason| format!("{reason} ")).collect();
    format!("{because}({sure}{modelled}{runs})")
}

/// Each command once, with the topics that it would settle.
fn commands(answers: &[Answer]) -> Vec<(String, String)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for answer in answers {
        let Some(command) = &answer.decide else { continue };
        let topic = name(answer.topic);
        match all.iter_mut().find(|(known, _)| known == command) {
            Some((_, topics)) if topics.contains(&topic) => {}
            Some((_, topics)) => topics.push(topic),
            None => all.push((command.clone(), vec![topic])),
        }
    }
    all.into_iter().map(|(command, topics)| (command, topics.join(", "))).collect()
}
