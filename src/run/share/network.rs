//! What the network to a client on another machine carries, without files and file servers.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use super::{file_server::BEGINS, site::Site};
use crate::{
    engine::Cancel,
    plan::{Errand, Via},
    tools::{Runner, iperf3, namespace::within},
};

/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

impl Site<'_> {
    /// Bytes that iperf3 moves in the direction of an errand, in as many streams as there are clients, and how long they took, s; or why that
    /// can't be measured.
    pub fn carried(&self, errand: Errand, cancel: &Cancel) -> Result<(u64, f64), String> {
        let remote = self.remote(Via::Network).ok_or("no client is on another machine")?;
        let address = remote.addresses[0];
        let program = self.tools.find(iperf3::IPERF3).map_err(|e| e.to_string())?;
        let free = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|e| format!("no free port of {address}: {e}"))?.port();
        let serve = iperf3::serve(&program, address, port);
        let serve = within(self.server.pid, self.server.pid, &serve, self.tools).map_err(|e| e.to_string())?;
        let mut serves = self.tools.talk(&serve).map_err(|e| e.to_string())?;
        let since = Instant::now();
        let stop = || cancel.is_set() || since.elapsed() > BEGINS;
        let listens = loop {
            match serves.next_line(&stop) {
                Some(line) if line.starts_with(iperf3::READY) => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if !listens {
            return Err(format!("iperf3 does not serve: {}", serves.end(Duration::ZERO).complaint()));
        }
        let streams = if errand.has_several_clients() { self.act.set(errand).0 } else { 1 };
        let said = self.tools.ask(&remote.in_dir(&iperf3::client(address, port, streams, errand.puts())));
        serves.end(BEGINS);
        let said = said.map_err(|e| e.to_string())?;
        let on = format!("iperf3 on {}", remote.host());
        match said.code {
            Some(NOT_FOUND) => Err(format!("{on} is not installed: apt install iperf3")),
            // It reports on its standard output why it failed, too.
            _ if said.stdout.trim().is_empty() => Err(format!("{on}: {}", said.complaint())),
            _ => iperf3::received(&said.stdout).map_err(|why| format!("{on}: {why}")),
        }
    }
}
