//! Throughput of the network to another machine by iperf3, without files and file servers.

use std::{
    iter,
    time::{Duration, Instant},
};

use super::{
    file_server::BEGINS,
    setup::{Setup, free_port},
};
use crate::{
    engine::{Cancel, Pulse},
    share::{Route, ShareLoad, TransferKind},
    tools::{
        Runner, ToolError, ip, iperf3,
        namespace::{SETPRIV, within},
    },
};

/// Exit timeout of a server that was killed.
const ENDS: Duration = Duration::from_secs(5);
/// Most bytes of iperf3's report, which has a few thousand.
const MOST: usize = 1 << 20;

impl Setup {
    /// The network port by which the server reaches a client on another machine, by the kernel's routes.
    pub fn network_port(&self) -> Option<String> {
        let [ours, theirs] = self.remote(Route::Network)?.addresses;
        let said = self.tools.ask(&ip::route(theirs, ours)).ok()?;
        ip::port(&said.stdout).map(str::to_owned)
    }

    /// Runs iperf3 in the direction of a transfer with as many streams as clients; an error is the reason why it can't.
    pub fn carried(&self, (kind, run): (TransferKind, u32), cancel: &Cancel) -> Result<ShareLoad, String> {
        let failed = |e: ToolError| e.to_string();
        let remote = self.remote(Route::Network).ok_or("no client is on another machine")?;
        let address = remote.addresses[0];
        let program = self.tools.find(iperf3::IPERF3).map_err(failed)?;
        let setpriv = self.tools.find(SETPRIV).map_err(failed)?;
        let port = free_port(address)?;
        let serve = iperf3::serve(&setpriv, &program, address, port);
        let serve = within(self.server.pid, self.server.pid, &serve, &self.tools).map_err(failed)?;
        let mut serves = self.tools.talk(&serve).map_err(failed)?;
        let since = Instant::now();
        let stop = || cancel.is_set() || since.elapsed() > BEGINS;
        let mut lines = iter::from_fn(|| serves.next_line(&stop));
        if !lines.any(|line| line.starts_with(iperf3::READY)) {
            let said = serves.end(if stop() { Duration::ZERO } else { BEGINS });
            return Err(format!("iperf3 does not serve here: {}", said.complaint()));
        }
        let streams = if kind.has_several_clients() { self.act.set(kind).0 } else { 1 };
        let client = remote.in_dir(&iperf3::client(address, port, streams, kind.puts()));
        let mut report = String::new();
        let mut hear = |line: &str| {
            if report.len() + line.len() < MOST {
                report.extend([line, "\n"]);
            }
        };
        let begins = Instant::now();
        let pulse = Pulse::since(begins);
        let said = self.tools.stream(&client, &|| cancel.is_set(), &mut hear);
        let suspended_ns = pulse.missed(0, begins.elapsed().as_nanos() as u64);
        serves.end(ENDS);
        // iperf3 also writes errors to its report.
        let carried = said.map_err(failed).and_then(|said| match report.trim().is_empty() {
            true => Err(said.complaint()),
            false => iperf3::received(&report),
        });
        let (bytes, seconds) = carried.map_err(|why| {
            format!("iperf3 on {}, which uses port {port} of {address}: {why}", remote.host())
        })?;
        // iperf3 times itself.
        Ok(ShareLoad { kind, route: Route::Network, run, bytes, seconds, cores: Vec::new(), suspended_ns })
    }
}
