//! Names of hosts: lists with ranges, and files of them.

use std::{io::Read, path::Path};

use crate::{cli::errors::Usage, record::open_regular, units::shortened};

/// The most hosts, each of which takes a process here.
const MOST: usize = 256;

/// The name of a host in the inventory, and of its result.
pub(super) fn key(host: &str) -> String {
    host.replace(['@', ':'], "_")
}

/// The hosts of a list, or of a file if it is one.
pub(super) fn read(given: &str) -> Result<Vec<String>, Usage> {
    let path = Path::new(given);
    let mut text = given.to_owned();
    if given.contains('/') || path.is_file() {
        text.clear();
        let read = open_regular(path).and_then(|file| file.take(1 << 20).read_to_string(&mut text));
        read.map_err(|e| Usage(format!("{given} can't be read: {e}")))?;
    }
    parse(&text).map_err(|e| Usage(format!("--hosts: {e}")))
}

/// Lines of names, separated by commas; `#` begins a comment.
fn parse(text: &str) -> Result<Vec<String>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let mut hosts = Vec::new();
    for word in words.take(MOST + 1) {
        hosts.extend(expand(word)?);
        if hosts.len() > MOST {
            return Err(format!("there are more than {MOST}"));
        }
    }
    for (at, host) in hosts.iter().enumerate() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
        let is_name = |part: &str| !part.is_empty() && !part.starts_with('-') && part.chars().all(plain);
        // Ansible has groups of these names.
        let is_group = ["all", "ungrouped"].contains(&host.as_str());
        if !host.split('@').all(is_name) || host.split('@').count() > 2 || is_group {
            return Err(format!("'{host}' is not a host name: write pi1 or me@pi1"));
        }
        if host.matches(':').count() == 1 {
            return Err(format!("'{host}' names a port: set ports in ~/.ssh/config"));
        }
        if hosts[..at].iter().any(|other| key(other) == key(host)) {
            return Err(format!("{host} is named twice"));
        }
    }
    if hosts.is_empty() { Err("no host is named".to_owned()) } else { Ok(hosts) }
}

/// `pi[08-10].lan` as `pi08.lan`, `pi09.lan`, `pi10.lan`.
fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = text.split_once('[') else { return Ok(vec![text.to_owned()]) };
    let range = rest.split_once(']').and_then(|(range, after)| {
        let (first, last) = range.split_once('-')?;
        let width = Some(first.len()).filter(|width| *width <= 5)?;
        Some((first.parse::<u16>().ok()?..=last.parse().ok()?, width, after))
    });
    let wrong = || format!("'{}': write a range of up to {MOST} hosts as pi[1-8]", shortened(text, 64));
    let (numbers, width, after) =
        range.filter(|(numbers, ..)| (1..=MOST).contains(&numbers.len())).ok_or_else(wrong)?;
    Ok(numbers.map(|n| format!("{before}{n:0width$}{after}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lines_are_hosts() {
        let hosts = |text: &str| parse(text).expect("hosts").join(" ");
        assert_eq!(hosts("pi[8-10]"), "pi8 pi9 pi10");
        assert_eq!(hosts("r1n[09-10].lan, nas"), "r1n09.lan r1n10.lan nas");
        assert_eq!(hosts("# the rack\n\npi1 # slow\n me@pi2\nfe80::1\n"), "pi1 me@pi2 fe80::1");
        assert_eq!(key("me@fe80::1"), "me_fe80__1");
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let wrong = [
            "",
            "#",
            "-oProxyCommand=x",
            "a@-b",
            "-a@b",
            "a b",
            "a;b",
            "{{x}}",
            "a@b@c",
            "@a",
            "a@",
            "ä",
            "a\u{1b}",
            "pi[1-8",
            "pi[8-1]",
            "pi[a-b]",
            "pi[1-999]",
            "pi[1-99][1-99]",
            "pi[1-99999]",
            "a[1-200],b[1-200]",
            "pi1:22",
            &"[1-1]".repeat(200_000),
            "pi1,pi1",
            "all",
            "a@b,a_b",
        ];
        for wrong in wrong {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
