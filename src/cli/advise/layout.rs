//! Answers for people.

use super::gather::Gathered;
use crate::{
    advise::{Answer, Sure, Topic},
    inventory::Inventory,
    report::{Style, wrapped},
    units::count,
};

/// More runs than this are counted, not named.
const NAMED: usize = 4;

/// Each topic with its answer and confidence, problems first, and with the reasons if `full`; then the commands that would settle
/// more. `more` is the command that shows reasons.
pub(super) fn text(
    inventory: &Inventory,
    gathered: &Gathered,
    answers: &[Answer],
    full: bool,
    more: &str,
    style: Style,
) -> String {
    let mut out = wrapped(&head(inventory, gathered), "", style);
    let mut shown: Vec<&Answer> = answers.iter().filter(|answer| full || in_short(answer, answers)).collect();
    shown.sort_by_key(|answer| !answer.problem);
    let mut last = None;
    for answer in shown {
        let topic = if last == Some(answer.topic) { "" } else { name(answer.topic) };
        last = Some(answer.topic);
        let mark = format!("{topic:8}");
        let why = if full || answer.problem { why(answer) } else { confidence(answer) };
        if full && !answer.because.is_empty() {
            out += &style.strong(&wrapped(&answer.says, &mark, style));
            out += &wrapped(&why, "        ", style);
        } else {
            let lines = wrapped(&format!("{} {why}", answer.says), &mark, style);
            out += &if answer.problem { style.warn(&lines) } else { lines };
        }
    }
    let commands = commands(answers);
    if !commands.is_empty() {
        out += "\nTo learn more, run:\n";
    }
    let more = if full || answers.iter().all(|a| a.because.is_empty()) {
        String::new()
    } else {
        format!("Reasons and sources: {}\n", style.clean(more))
    };
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
            format!("  {topics}\n  {command}\n")
        };
    }
    out + &more
}

/// Nothing is known, and there is a command that measures it.
fn is_open(answer: &Answer) -> bool {
    answer.sure == Sure::Unknown && answer.rests_on.is_empty() && answer.decide.is_some()
}

/// Whether the short form has it: problems, and of each topic the first answer that is not open.
fn in_short(answer: &Answer, all: &[Answer]) -> bool {
    let first = all.iter().find(|a| a.topic == answer.topic && !a.problem && !is_open(a));
    answer.problem || first.is_some_and(|first| std::ptr::eq(first, answer))
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
    let open = match gathered.runs_unfinished {
        0 => String::new(),
        n => format!(", {n} not finished"),
    };
    let lab = machine.lab.iter().map(|scenario| format!(" · lab {scenario}, virtual"));
    format!("{board} · {drives} · {runs}{open}{}", lab.collect::<String>())
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
    let because: String = answer.because.iter().map(|reason| format!("{reason} ")).collect();
    because + &confidence(answer)
}

/// `(measured, sequential 1 MiB, depth 1: r6qj)`.
fn confidence(answer: &Answer) -> String {
    // The answer says so itself.
    if answer.sure == Sure::Unknown && answer.rests_on.is_empty() && answer.decide.is_none() {
        return String::new();
    }
    let sure = match answer.sure {
        Sure::Measured => Some("measured"),
        Sure::Inferred => Some("inferred"),
        Sure::Published if answer.rests_on.is_empty() => Some("published elsewhere"),
        // The runs are of something else in the answer.
        Sure::Published => Some("published elsewhere; measured"),
        Sure::Unknown if answer.rests_on.is_empty() => Some("not known"),
        // The answer says what is not known; the runs are of what is.
        Sure::Unknown => None,
    };
    let runs = match &answer.rests_on[..] {
        [] => String::new(),
        all if all.len() <= NAMED => format!(": {}", all.join(", ")),
        all => format!(": {} and {} more", all[..NAMED].join(", "), all.len() - NAMED),
    };
    let loads = match &answer.loads[..] {
        [] => None,
        [one] => Some(one.clone()),
        [one, rest @ ..] => Some(format!("{one} and {}", count(rest.len() as u64, "other load"))),
    };
    let modelled = answer.modelled.then(|| "virtual".to_owned());
    let parts = [sure.map(str::to_owned), modelled, loads].into_iter().flatten().collect::<Vec<_>>();
    format!("({})", (parts.join(", ") + &runs).trim_start_matches(": "))
}

/// Each command once, with the topics that it would settle; one with more targets takes the place of one with fewer.
fn commands(answers: &[Answer]) -> Vec<(String, String)> {
    let within = |a: &str, b: &str| {
        let b: Vec<&str> = b.split(' ').collect();
        a.split(' ').all(|word| b.contains(&word))
    };
    let mut all: Vec<(String, Vec<Topic>)> = Vec::new();
    for (command, topic) in answers.iter().filter_map(|a| Some((a.decide.as_ref()?, a.topic))) {
        match all.iter_mut().find(|(listed, _)| within(listed, command) || within(command, listed)) {
            Some((listed, topics)) => {
                if within(listed, command) {
                    listed.clone_from(command);
                }
                topics.push(topic);
                topics.dedup();
            }
            None => all.push((command.clone(), vec![topic])),
        }
    }
    let names = |topics: Vec<Topic>| topics.into_iter().map(name).collect::<Vec<_>>().join(", ");
    all.into_iter().map(|(command, topics)| (command, names(topics))).collect()
}
