//! iperf3: bytes over a network, without files.

use std::{ffi::OsStr, net::IpAddr, path::Path, time::Duration};

use serde::Deserialize;

use super::{Query, Tool, until_input_ends};

pub const IPERF3: Tool = Tool {
    name: "iperf3",
    package: "iperf3",
    without: "without it, what the network alone carries is not measured",
};

/// How long it sends, s.
const LASTS: u32 = 3;
/// How long it may take besides: to connect, and to end.
const SLOW: Duration = Duration::from_secs(60);

/// The first words of a line that it says once a client may come.
pub const READY: &str = "Server listening";

/// Serves one client, but not longer than its standard input lasts.
pub fn serve(iperf3: &Path, address: IpAddr, port: u16) -> Query {
    let args = format!("-s -1 -B {address} -p {port} --forceflush");
    until_input_ends(iperf3, words(&args).map(OsStr::new))
}

/// So many streams, to the server or from it.
pub fn client(address: IpAddr, port: u16, streams: u64, to_server: bool) -> Query {
    let reverse = if to_server { "" } else { " -R" };
    let args = format!("-c {address} -p {port} -t {LASTS} -P {streams} -J{reverse}");
    Query::new(IPERF3, words(&args)).within(SLOW)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ')
}

#[derive(Deserialize)]
struct Report {
    error: Option<String>,
    end: Option<End>,
}

#[derive(Deserialize)]
struct End {
    sum_received: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    seconds: f64,
    bytes: u64,
}

/// Bytes that came, and how long that took, s: from the report of the client; or why not.
pub fn received(report: &str) -> Result<(u64, f64), String> {
    let report: Report = serde_json::from_str(report).map_err(|e| format!("its report: {e}"))?;
    if let Some(error) = report.error {
        return Err(error);
    }
    let sum = report.end.and_then(|end| end.sum_received);
    let sum = sum.filter(|sum| sum.bytes > 0 && sum.seconds.is_finite() && sum.seconds > 0.0);
    sum.map(|sum| (sum.bytes, sum.seconds)).ok_or_else(|| "its report has no sum of what came".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let [four, six] = ["192.0.2.1", "2001:db8::1"].map(|at| at.parse().expect("an address"));
        let serves = serve(Path::new("/usr/bin/iperf3"), four, 5201).to_string();
        assert!(
            serves.ends_with(" drivebench /usr/bin/iperf3 -s -1 -B 192.0.2.1 -p 5201 --forceflush"),
            "{serves}"
        );
        assert_eq!(client(six, 5201, 4, true).to_string(), "iperf3 -c 2001:db8::1 -p 5201 -t 3 -P 4 -J");
        assert_eq!(client(four, 5201, 1, false).to_string(), "iperf3 -c 192.0.2.1 -p 5201 -t 3 -P 1 -J -R");
    }

    /// Of iperf3 3.12, over loopback with a limit.
    #[test]
    fn what_came_counts_and_what_went_wrong_is_said() {
        assert_eq!(received(include_str!("fixtures/iperf3-four-streams.json")), Ok((2_621_440, 1.000324)));
        assert_eq!(received(include_str!("fixtures/iperf3-reverse.json")), Ok((2_621_440, 1.000104)));
        let refused = received(include_str!("fixtures/iperf3-refused.json")).expect_err("refused");
        assert!(refused.contains("Connection refused"), "{refused}");
        for strange in ["", "{}", "[]", r#"{"end":{}}"#, r#"{"end":{"sum_received":{"seconds":0,"bytes":1}}}"#] {
            assert!(received(strange).is_err(), "{strange}");
        }
    }
}
