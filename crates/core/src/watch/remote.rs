//! One attempt at a service of another machine. Only that machine and the name server are contacted.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    os::fd::OwnedFd,
    sync::mpsc::Receiver,
    thread,
    time::{Duration, Instant},
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketType, connect, ipproto, recv, send, socket,
    sockopt::{Timeout, set_socket_timeout},
};

use super::observe::Host;
use crate::units::Service;

/// Pause between two rounds of attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// Time limit for the answer to a ping or a connection: about the round trip of an intercontinental link.
const ANSWER: Duration = Duration::from_millis(250);
/// Time limit for the first bytes of a server that has accepted a connection.
const GREETING: Duration = Duration::from_secs(1);

/// The address of a machine, with port 0; its name is looked up once.
pub fn resolve(host: &str) -> io::Result<SocketAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (bare, 0).to_socket_addrs()?.next().ok_or_else(|| io::Error::other("it has no address"))
}

#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub ssh: u16,
    pub http: u16,
}

/// A machine on the network, and the person at the terminal.
#[derive(Debug)]
pub struct Remote {
    address: SocketAddr,
    ports: Ports,
    /// `None` if this user may not ping.
    ping: Option<OwnedFd>,
    sequence: u16,
    /// Whether it has answered a ping.
    answered: bool,
    began: Instant,
    pressed: Receiver<Instant>,
}

impl Remote {
    /// `pressed` receives when the person says that the order was given.
    pub fn new(address: SocketAddr, ports: Ports, pressed: Receiver<Instant>) -> Self {
        let ping = ping_socket(address).ok();
        Self { address, ports, ping, sequence: 0, answered: false, began: Instant::now(), pressed }
    }

    pub fn pings(&self) -> bool {
        self.ping.is_some()
    }

    /// Sends one echo request, and waits for its reply.
    fn ping(&mut self) -> bool {
        let Some(ping) = &self.ping else { return false };
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = [0_u8; 64];
        // Discards replies to earlier requests.
        while recv(ping, &mut packet[..], RecvFlags::DONTWAIT).is_ok() {}
        let [high, low] = self.sequence.to_be_bytes();
        let (request, reply) = if self.address.is_ipv4() { (8, 0) } else { (128, 129) };
        // The kernel fills in checksum and identifier.
        if send(ping, &[request, 0, 0, 0, 0, 0, high, low], SendFlags::empty()).is_err() {
            return false;
        }
        let sent = Instant::now();
        loop {
            let left = ANSWER.saturating_sub(sent.elapsed());
            if left.is_zero() || set_socket_timeout(ping, Timeout::Recv, Some(left)).is_err() {
                return false;
            }
            match recv(ping, &mut packet[..], RecvFlags::empty()) {
                Ok((_, length)) if length >= 8 && packet[0] == reply && packet[6..8] == [high, low] => {
                    self.answered = true;
                    return true;
                }
                // Such as a reply to an earlier request.
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let mut address = self.address;
        address.set_port(port);
        TcpStream::connect_timeout(&address, ANSWER)
    }

    /// Whether a connection is accepted or refused: both are answers of its kernel.
    fn is_there(&self) -> bool {
        match self.connect(self.ports.http) {
            Ok(_) => true,
            Err(e) => matches!(e.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset),
        }
    }

    /// Whether its reply to `request` begins with `begin`.
    fn greets(&self, port: u16, request: &[u8], begin: &[u8]) -> bool {
        let said = || -> io::Result<Vec<u8>> {
            let mut stream = self.connect(port)?;
            stream.set_read_timeout(Some(GREETING))?;
            stream.set_write_timeout(Some(GREETING))?;
            stream.write_all(request)?;
            let mut said = vec![0; begin.len()];
            stream.read_exact(&mut said)?;
            Ok(said)
        };
        said().is_ok_and(|said| said == begin)
    }
}

impl Host for Remote {
    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn ordered(&mut self) -> Option<f64> {
        let pressed = self.pressed.try_iter().last()?;
        Some(pressed.saturating_duration_since(self.began).as_secs_f64())
    }

    fn answers(&mut self, service: Service) -> bool {
        match service {
            Service::Network => {
                // A machine that answers pings needs no second attempt, which takes time.
                self.ping() || !self.answered && self.is_there()
            }
            Service::Ssh => self.greets(self.ports.ssh, b"", b"SSH-"),
            Service::Http => {
                let request =
                    format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address.ip());
                self.greets(self.ports.http, request.as_bytes(), b"HTTP/")
            }
        }
    }

    fn pause(&mut self) {
        thread::sleep(PAUSE);
    }
}

/// A socket for pings to this address only. Linux allows it to the groups of `net.ipv4.ping_group_range`.
fn ping_socket(address: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let (family, protocol) = match address {
        SocketAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        SocketAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let ping = socket(family, SocketType::DGRAM, Some(protocol))?;
    connect(&ping, &address)?;
    Ok(ping)
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, TcpListener},
        sync::mpsc,
    };

    use super::*;

    /// Sends this to everyone who connects, after their request if they must send first.
    fn listener(says: &'static [u8], hears: bool) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        let port = listener.local_addr().expect("a port").port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("connects");
                if hears {
                    let _ = stream.read(&mut [0; 512]);
                }
                let _ = stream.write_all(says);
            }
        });
        port
    }

    fn remote(ports: Ports) -> (Remote, mpsc::Sender<Instant>) {
        let (sender, pressed) = mpsc::channel();
        (Remote::new((Ipv4Addr::LOCALHOST, 0).into(), ports, pressed), sender)
    }

    /// A port that nothing listens on any more.
    fn closed() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        listener.local_addr().expect("a port").port()
    }

    #[test]
    fn servers_are_recognised_by_what_they_say() {
        let ssh = listener(b"SSH-2.0-OpenSSH_9.2p1\r\n", false);
        let http = listener(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", true);
        let (mut both, _sender) = remote(Ports { ssh, http });
        assert!([Service::Network, Service::Ssh, Service::Http].into_iter().all(|one| both.answers(one)));
        // The other way round, neither says what it should.
        let (mut wrong, _sender) = remote(Ports { ssh: http, http: ssh });
        assert!(!wrong.answers(Service::Ssh) && !wrong.answers(Service::Http));
    }

    #[test]
    fn a_refused_connection_is_an_answer_but_no_service() {
        let (mut none, _sender) = remote(Ports { ssh: closed(), http: closed() });
        assert!(none.is_there() && none.answers(Service::Network));
        assert!(!none.answers(Service::Ssh) && !none.answers(Service::Http));
    }

    #[test]
    fn the_last_key_press_counts() {
        let (mut host, sender) = remote(Ports { ssh: 22, http: 80 });
        assert_eq!(host.ordered(), None);
        let began = host.began;
        for seconds in [1, 3] {
            sender.send(began + Duration::from_secs(seconds)).expect("is heard");
        }
        assert_eq!((host.ordered(), host.ordered()), (Some(3.0), None));
    }

    #[test]
    fn addresses_are_found() {
        for (host, address) in [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1")] {
            assert_eq!(resolve(host).expect("an address").ip().to_string(), address);
        }
    }
}
