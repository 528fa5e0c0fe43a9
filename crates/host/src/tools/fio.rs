//! fio: reads and writes the files that its arguments name.

use std::{ffi::OsString, fmt, path::Path, time::Duration};

use serde_json::Value;

use super::{Query, Runner, Tool, ToolResult};

pub const FIO: Tool = Tool { name: "fio", package: "fio" };

/// The time limit of a run of fio. No load takes longer.
const LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

pub fn version() -> Query {
    Query::new(FIO, ["--version"])
}

/// A run of fio. It may write, so it is not a [`Query`]; the files belong to the engine, which alone may create it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioRun(Query);

impl FioRun {
    pub fn new(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self(Query::new(FIO, args).within(LIMIT))
    }

    /// A job that the servers behind these sockets run all at once.
    pub fn on_servers<'a>(job: &Path, sockets: impl Iterator<Item = &'a Path>) -> Self {
        let client =
            |socket: &Path| [format!("--client=sock:{}", socket.display()), job.display().to_string()];
        Self::new(["--output-format=json".to_owned()].into_iter().chain(sockets.flat_map(client)))
    }

    /// Passes on its lines as [`Runner::stream`].
    pub fn run(
        &self,
        runner: &dyn Runner,
        stop: &dyn Fn() -> bool,
        line: &mut dyn FnMut(&str),
    ) -> ToolResult {
        runner.stream(&self.0, stop, line)
    }
}

/// What the job did on the server behind a socket, from the report of [`FioRun::on_servers`], which comes after all messages, those of
/// servers too: an error number or 0, the bytes, and the milliseconds with a sync at the end. A server that was lost has none.
pub fn server_job(output: &str, socket: &Path, writes: bool) -> Option<(i32, u64, u64)> {
    let report: Value = serde_json::from_str(&output[output.rfind("\n{\n")?..]).ok()?;
    // The sum that fio makes has the socket of one of them.
    let is_own = |job: &&Value| {
        job["hostname"].as_str().map(Path::new) == Some(socket) && job["jobname"] != "All clients"
    };
    let job = report["client_stats"].as_array()?.iter().find(is_own)?;
    let moved = &job[if writes { "write" } else { "read" }];
    let error = i32::try_from(job["error"].as_i64()?).ok()?;
    Some((error, moved["io_bytes"].as_u64()?, moved["runtime"].as_u64()?))
}

impl fmt::Display for FioRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of fio 3.33 with two servers, of which the second one could not write.
    const CLIENTS: &str = include_str!("../../../../tests/fixtures/fio/clients-3.33.txt");

    #[test]
    fn each_server_has_a_job() {
        let of = |output: &str, socket| server_job(output, Path::new(socket), true);
        assert_eq!(of(CLIENTS, "/tmp/run/0"), Some((0, 64 << 20, 45)));
        let forged = format!("\n{{\n\"client_stats\": []\n}}\n{CLIENTS}");
        assert_eq!(of(&forged, "/tmp/run/0"), of(CLIENTS, "/tmp/run/0"));
        assert_eq!(of(CLIENTS, "/tmp/run/1"), Some((21, 0, 0)));
        for cut in ["", "client: host=/tmp/run/0 disconnected\n", &CLIENTS[..CLIENTS.len() / 2]] {
            assert_eq!(of(cut, "/tmp/run/0"), None);
        }
        assert_eq!(of(CLIENTS, "/tmp/run/2"), None);
        let run =
            FioRun::on_servers(Path::new("/tmp/a b/2"), ["/tmp/0", "/tmp/1"].map(Path::new).into_iter());
        assert_eq!(
            run.to_string(),
            "fio --output-format=json --client=sock:/tmp/0 '/tmp/a b/2' --client=sock:/tmp/1 '/tmp/a b/2'"
        );
    }
}
