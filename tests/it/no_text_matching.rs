//! No room matches the words of another: what advise, reports, comparisons and commands compare with is a value.
//! Texts that a room makes for people may then be reworded without losing anything.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Rooms whose words others may not match.
const PRODUCERS: [&str; 9] =
    ["analyse", "compare", "conditions", "experiments", "findings", "import", "inventory", "plan", "record"];
/// Rooms that may not match them.
const CONSUMERS: [&str; 4] = ["advise", "cli", "compare", "report"];

/// Methods that look for a text within another, or compare with it.
const METHODS: [&str; 19] = [
    "contains",
    "starts_with",
    "ends_with",
    "strip_prefix",
    "strip_suffix",
    "split",
    "rsplit",
    "split_once",
    "rsplit_once",
    "splitn",
    "find",
    "rfind",
    "replace",
    "replacen",
    "trim_start_matches",
    "trim_end_matches",
    "matches",
    "eq",
    "position",
];

/// Names that are not drivebench's words: they come from the kernel, the hardware or the command line, and both sides
/// know them from there.
const GIVEN: [&str; 19] = [
    // processors and boards
    "bcm2711",
    "bcm2712",
    "bcm2835",
    "bcm2836",
    "bcm2837",
    // buses and drivers
    "mmc",
    "nvme",
    "usb",
    "bcmgenet",
    // md, filesystems
    "raid5",
    "raid6",
    "overlay",
    "partition",
    "squashfs",
    "/boot",
    "/boot/",
    "/usr",
    // hosts
    "localhost",
    "all",
    // ends of file names
];

/// A literal in a place where a text is compared.
#[derive(Debug, PartialEq)]
struct Match {
    line: usize,
    text: String,
}

/// All literals in the code that ships; `compared` only those with which something is compared.
fn literals(code: &str, compared: bool) -> Vec<Match> {
    let tokens = code.parse::<TokenStream>().expect("Rust");
    let mut found = Vec::new();
    walk(tokens, false, compared, &mut found);
    found
}

fn walk(tokens: TokenStream, inside: bool, compared: bool, found: &mut Vec<Match>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Literal(literal) => {
                let Some(text) = text_of(&literal.to_string()) else { continue };
                if !compared || inside || is_compared(&tokens, i) {
                    found.push(Match { line: literal.span().start().line, text });
                }
            }
            TokenTree::Group(group) if is_test(&tokens[..i], group) => {}
            TokenTree::Group(group) => {
                // What a method takes is compared, and so is each part of a pattern, however deep. A body of code that
                // is handed to a method stands for itself.
                let within = group.delimiter() != Delimiter::Brace
                    && (inside || takes_text(&tokens[..i]) || is_compared(&tokens, i) || is_list(&tokens, i));
                walk(group.stream(), within, compared, found);
            }
            _ => {}
        }
    }
}

/// The text of a string literal; `None` of numbers, characters and bytes.
fn text_of(literal: &str) -> Option<String> {
    let quoted = literal.strip_prefix('r').map(|raw| raw.trim_matches('#')).unwrap_or(literal);
    quoted.strip_prefix('"')?.strip_suffix('"').map(|text| text.replace("\\n", "\n"))
}

fn punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == c)
}

fn ident(token: Option<&TokenTree>, words: &[&str]) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if words.iter().any(|w| word == w))
}

/// Whether what stands at `i` is compared: beside `==` or `!=`, in a pattern of `match` or `let`.
fn is_compared(tokens: &[TokenTree], i: usize) -> bool {
    let at = |n: isize| usize::try_from(i as isize + n).ok().and_then(|at| tokens.get(at));
    let equals = |first: isize| (punct(at(first), '=') || punct(at(first), '!')) && punct(at(first + 1), '=');
    // `== "text"`, `"text" == ..`, `== Some("text")`
    let wrapped = matches!(tokens[i], TokenTree::Group(_)) && matches!(at(-1), Some(TokenTree::Ident(_)));
    if equals(-2) || equals(1) || wrapped && equals(-3) {
        return true;
    }
    // A pattern, and what may stand between it and its arrow or its value: others of it, their paths, a guard.
    let mut n = i + 1;
    while let Some(token) = tokens.get(n) {
        let arrow = punct(Some(token), '=') && punct(tokens.get(n + 1), '>');
        if arrow {
            return true;
        }
        let path = matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_));
        let joint = ['|', ':', '@', '.', '&', '*'].iter().any(|c| punct(Some(token), *c));
        if !(path || joint) {
            break;
        }
        n += 1;
    }
    // `if let Some("text") = ...`
    let binding = tokens[..i].iter().rev().take_while(|t| !punct(Some(t), ';') && !punct(Some(t), '='));
    punct(tokens.get(i + 1), '=') && binding.into_iter().any(|t| ident(Some(t), &["let"]))
}

/// Whether the group that follows belongs to a method or macro that compares.
fn takes_text(before: &[TokenTree]) -> bool {
    match before {
        [.., dot, name] if punct(Some(dot), '.') => ident(Some(name), &METHODS),
        [.., name, bang] if punct(Some(bang), '!') => ident(Some(name), &["matches"]),
        _ => false,
    }
}

/// Whether it is a list that is searched: `["a", "b"].contains(..)`, `.iter().any(..)`.
fn is_list(tokens: &[TokenTree], i: usize) -> bool {
    let list = matches!(&tokens[i], TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket);
    list && punct(tokens.get(i + 1), '.')
        && (ident(tokens.get(i + 2), &["contains"])
            || ident(tokens.get(i + 2), &["iter", "into_iter"])
                && ident(tokens.get(i + 5), &["any", "all", "position", "find"]))
}

/// Whether a group is a module of tests.
fn is_test(before: &[TokenTree], group: &Group) -> bool {
    let [.., attribute, module, _] = before else { return false };
    let cfg = |t: &TokenTree| matches!(t, TokenTree::Group(g) if g.stream().to_string().replace(' ', "") == "cfg(test)");
    group.delimiter() == Delimiter::Brace && ident(Some(module), &["mod"]) && cfg(attribute)
}

/// The texts with which a consumer compares that are a producer's words: the same, or a part of a longer one.
fn complaints(consumer: &str, words: &BTreeSet<String>) -> Vec<Match> {
    let known = |text: &str| {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let part = |longer: &String| letters > 3 && longer.contains(text);
        letters > 0 && !GIVEN.contains(&text) && (words.contains(text) || words.iter().any(part))
    };
    literals(consumer, true).into_iter().filter(|found| known(&found.text)).collect()
}

fn sources(rooms: &[&str]) -> Vec<(String, String)> {
    fn below(path: &Path, found: &mut Vec<(String, String)>) {
        if path.is_dir() {
            let entries = fs::read_dir(path).expect("sources can be listed");
            entries.for_each(|entry| below(&entry.expect("sources can be listed").path(), found));
        }
        let name = path.display().to_string();
        let for_tests =
            ["tests.rs", "testing.rs", "fuzz.rs", "damage.rs"].iter().any(|end| name.ends_with(end));
        if path.is_file() && name.ends_with(".rs") && !for_tests && !name.contains("/fixtures/") {
            found.push((name, fs::read_to_string(path).expect("sources can be read")));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).expect("crates can be listed");
    let crates = crates.map(|entry| entry.expect("crates can be listed").path().join("src"));
    let places: Vec<PathBuf> = crates.chain([root.join("src")]).collect();
    let mut found = Vec::new();
    for room in rooms {
        let before = found.len();
        for place in &places {
            below(&place.join(room), &mut found);
            below(&place.join(format!("{room}.rs")), &mut found);
        }
        if found.len() == before {
            below(&root.join("crates").join(room).join("src"), &mut found);
        }
    }
    found
}

/// The words of all rooms but this one.
fn words_of_others(room: &str) -> BTreeSet<String> {
    let others: Vec<&str> = PRODUCERS.into_iter().filter(|producer| *producer != room).collect();
    let files = sources(&others);
    files.iter().flat_map(|(_, text)| literals(text, false)).map(|found| found.text).collect()
}

#[test]
fn no_room_matches_the_words_of_another() {
    let mut wrong = Vec::new();
    for room in CONSUMERS {
        let words = words_of_others(room);
        assert!(words.len() > 1000, "{room}: the words of others are missing");
        for (file, text) in sources(&[room]) {
            wrong.extend(
                complaints(&text, &words).into_iter().map(|m| format!("{file}:{}: {:?}", m.line, m.text)),
            );
        }
    }
    assert!(wrong.is_empty(), "match a value, not a text of another room:\n{}", wrong.join("\n"));
}

#[test]
fn given_names_are_all_needed() {
    let files = sources(&CONSUMERS);
    let compared: BTreeSet<String> =
        files.iter().flat_map(|(_, text)| literals(text, true)).map(|found| found.text).collect();
    let unused: Vec<_> = GIVEN.iter().filter(|name| !compared.contains(**name)).collect();
    assert!(unused.is_empty(), "{unused:?} are matched nowhere");
}

/// What a consumer with this body is told, where another room says `write throughput`, `limit` and `The end is near.`
fn told(body: &str) -> Vec<String> {
    let words = ["{label} write throughput", "limit", "The end is near."].map(str::to_owned).into();
    complaints(&format!("fn f() {{ {body} }}"), &words).into_iter().map(|m| m.text).collect()
}

#[test]
fn matched_words_are_found_however_they_are_matched() {
    for body in [
        r#"if name == "limit" {}"#,
        r#"if "limit" != name {}"#,
        r#"if name == Some("limit") {}"#,
        r#"if Some("limit") == name {}"#,
        r#"match name { "limit" => 1, _ => 2 }"#,
        r#"match name { "other" | "limit" => 1, _ => 2 }"#,
        r#"match name { Some("limit") if x => 1, _ => 2 }"#,
        r#"match (a, name) { (1, Some("limit")) => 1, _ => 2 }"#,
        r#"matches!(name, Some("limit"))"#,
        r#"if let Some("limit") = name {}"#,
        r#"name.ends_with("limit")"#,
        r#"name.strip_suffix("limit").is_some()"#,
        r#"["sum", "limit"].contains(&name)"#,
        r#"["sum", "limit"].iter().any(|end| name.ends_with(end))"#,
        r#"all.iter().find(|n| n.name == "limit")"#,
        r#"text.replace("limit", "")"#,
        r##"name == r#"limit"#"##,
    ] {
        assert_eq!(told(body), ["limit"], "{body}");
    }
    assert_eq!(told(r#"name.contains(" throughput")"#), [" throughput"], "a part of a text");
    assert_eq!(told(r#"flag.ends_with("end is near.")"#), ["end is near."]);
}

#[test]
fn own_words_and_words_that_are_only_written_pass() {
    for body in [
        r#"let name = "limit";"#,
        r#"format!("{} limit", name);"#,
        r#"match kind { Kind::Limit => "limit", _ => "other" }"#,
        r#"name == "own""#,
        r#"text.split(", ")"#,
        r#"println!("limit")"#,
        r#"name.ends_with('l')"#,
        r#"if kind == Kind::Limit { said.push("limit") }"#,
    ] {
        assert_eq!(told(body), Vec::<String>::new(), "{body}");
    }
    let tests = r#"#[cfg(test)] mod tests { fn f() { assert!(name == "limit"); } }"#;
    assert_eq!(complaints(tests, &["limit".to_owned()].into()), []);
}
