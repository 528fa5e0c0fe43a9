//! iperf3: bytes over a network, without files.

use std::{ffi::OsStr, net::IpAddr, path::Path, time::Duration};

use serde_json::Value;

use super::{Query, Tool, until_input_ends};
use crate::units::FASTEST;

pub const IPERF3: Tool = Tool { name: "iperf3", package: "iperf3" };

/// Duration of a transfer, s.
const LASTS: u32 = 3;
/// Time limit of a client, with the time to connect and to end.
const LIMIT: Duration = Duration::from_secs(60);
/// The longest error message that is passed on, characters.
const LONGEST_WORDS: usize = 200;

/// Start of the line that a server prints when it is ready for a client.
pub const READY: &str = "Server listening";

/// Serves one client, until the standard input ends at the latest. Anybody may connect, so the server runs as a user without
/// rights. It is killed, because some versions ignore SIGTERM, and it has nothing to save.
pub fn serve(setpriv: &Path, iperf3: &Path, address: IpAddr, port: u16) -> Query {
    let nobody = words("--reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps -all --");
    let args = format!("-s -1 -B {address} -p {port} --forceflush");
    let args = nobody.map(OsStr::new).chain([iperf3.as_os_str()]).chain(words(&args).map(OsStr::new));
    until_input_ends("KILL", setpriv, args)
}

/// Sends this number of streams to the server, or receives them from it.
pub fn client(address: IpAddr, port: u16, streams: u64, to_server: bool) -> Query {
    let reverse = if to_server { "" } else { " -R" };
    let args = format!("-c {address} -p {port} -t {LASTS} -P {streams} -J{reverse} --connect-timeout 10000");
    Query::new(IPERF3, words(&args)).within(LIMIT)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ')
}

/// The received bytes and the duration, s, from the report of a client; or why there are none.
pub fn received(report: &str) -> Result<(u64, f64), String> {
    let begin = |text: &str| text.chars().take(LONGEST_WORDS).collect::<String>();
    // The login shell there may print lines before and after it.
    let at = if report.starts_with('{') { Some(0) } else { report.find("\n{").map(|at| at + 1) };
    let Some(at) = at else {
        return Err(format!("this is not a report: {}", begin(report.lines().next().unwrap_or_default())));
    };
    let first = serde_json::Deserializer::from_str(&report[at..]).into_iter::<Value>().next();
    let report = first.and_then(Result::ok).ok_or("its report is damaged")?;
    if let Some(error) = report["error"].as_str() {
        return Err(begin(error.lines().next().unwrap_or_default()));
    }
    let sum = &report["end"]["sum_received"];
    let lasts = f64::from(LASTS) / 2.0..=f64::from(LASTS) * 4.0;
    // Another machine may report anything.
    let fits = |(bytes, seconds): &(u64, f64)| {
        lasts.contains(seconds) && *bytes > 0 && (*bytes as f64) < FASTEST * seconds
    };
    let sum = sum["bytes"].as_u64().zip(sum["seconds"].as_f64()).filter(fits);
    sum.ok_or_else(|| "its report has no plausible sum of received bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let [four, six] = ["192.0.2.1", "2001:db8::1"].map(|at| at.parse().expect("an address"));
        let [setpriv, iperf3] = ["/usr/bin/setpriv", "/usr/bin/iperf3"].map(Path::new);
        let serves = serve(setpriv, iperf3, four, 5201).to_string();
        let nobody = "--reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps -all";
        assert!(
            serves.ends_with(&format!(" drivebench KILL /usr/bin/setpriv {nobody} -- /usr/bin/iperf3 -s -1 -B 192.0.2.1 -p 5201 --forceflush")),
            "{serves}"
        );
        assert_eq!(
            client(six, 5201, 4, true).to_string(),
            "iperf3 -c 2001:db8::1 -p 5201 -t 3 -P 4 -J --connect-timeout 10000"
        );
        assert_eq!(
            client(four, 5201, 1, false).to_string(),
            "iperf3 -c 192.0.2.1 -p 5201 -t 3 -P 1 -J -R --connect-timeout 10000"
        );
    }

    /// Output of iperf3 3.12, over loopback with a limit.
    #[test]
    fn what_came_counts_and_what_went_wrong_is_said() {
        assert_eq!(received(include_str!("fixtures/iperf3-four-streams.json")), Ok((7_864_320, 3.000652)));
        assert_eq!(received(include_str!("fixtures/iperf3-reverse.json")), Ok((7_602_176, 3.000085)));
        let greeted = format!("Welcome {{to}} nas\n{}", include_str!("fixtures/iperf3-reverse.json"));
        assert!(received(&greeted).is_ok());
        let refused = received(include_str!("fixtures/iperf3-refused.json")).expect_err("refused");
        assert!(refused.contains("Connection refused"), "{refused}");
        let said = format!("{greeted}Goodbye {{from}} nas\n");
        assert_eq!(received(&said), received(&greeted));
        let cut = received(&greeted[..greeted.len() / 2]).expect_err("cut");
        assert_eq!(cut, "its report is damaged");
        let error = format!(r#"{{"error": "{}\n"}}"#, "a\\nb".repeat(9999));
        assert_eq!(received(&error), Err("a".to_owned()), "the first line of an error");
        let long = format!(r#"{{"error": "{}"}}"#, "e".repeat(9999));
        assert_eq!(received(&long).expect_err("refused").len(), LONGEST_WORDS);
        for strange in ["", "{}", "[]", r#"{"end":{}}"#] {
            assert!(received(strange).is_err(), "{strange}");
        }
        let sum = |seconds: f64, bytes: u64| {
            received(&format!(r#"{{"end":{{"sum_received":{{"seconds":{seconds},"bytes":{bytes}}}}}}}"#))
        };
        assert!(sum(1.5, 1).is_ok() && sum(12.0, 1 << 40).is_ok());
        for (seconds, bytes) in
            [(3.0, 0), (1.4, 1), (12.1, 1), (0.0, 1), (-3.0, 1), (1.5, 15_000_000_000_000)]
        {
            assert!(sum(seconds, bytes).is_err(), "{bytes} in {seconds} s");
        }
    }
}
