//! `drivebench report --site --serve`: the pages of the store for browsers on this machine. Nothing is opened by a name from
//! a request.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime},
};

use super::{errors::Usage, output::Output, signals::Signals, site};
use crate::record::Store;

/// The most bytes of a request, seconds until the next of them, and connections at once.
const LONGEST: u64 = 8192;
const PATIENCE: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 32;
/// From one look for a signal to the next.
const LOOK: Duration = Duration::from_millis(100);

/// The pages have their styles inside, and neither scripts nor pictures in other files.
const HEADERS: &str = "\
Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
X-Content-Type-Options: nosniff\r
Referrer-Policy: no-referrer\r
Cross-Origin-Resource-Policy: same-origin\r
Cache-Control: no-store\r
Allow: GET\r
Connection: close\r
";

type Pages = BTreeMap<String, String>;

struct Site {
    store: Store,
    /// When the store had changed, and the pages as they were made then.
    made: Mutex<(Option<SystemTime>, Arc<Pages>)>,
}

pub(super) fn serve(port: u16, store: Store, output: &Output) -> anyhow::Result<ExitCode> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| {
        Usage(format!("port {port} of 127.0.0.1 can't be used: {e}; name another one, or 0 for any"))
    })?;
    let signals = Signals::listen()?;
    let made = Mutex::new((store.changed(), Arc::new(site::pages(&store)?)));
    output.result(&format!("http://{}/\n", listener.local_addr()?))?;
    output.note("All users of this machine can read the pages, with serials and paths. Ctrl-C ends this.");
    let site = Arc::new(Site { store, made });
    thread::Builder::new().spawn(move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) if Arc::strong_count(&site) <= CONNECTIONS => {
                    let site = Arc::clone(&site);
                    // A connection that fails concerns only its client.
                    let _ = thread::Builder::new().spawn(move || converse(stream, &site));
                }
                Ok(_) => {}
                // Such as too many open files.
                Err(_) => thread::sleep(LOOK),
            }
        }
    })?;
    let cancel = signals.cancel();
    while !cancel.is_set() {
        thread::sleep(LOOK);
    }
    Ok(ExitCode::SUCCESS)
}

fn converse(mut stream: TcpStream, site: &Site) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = read_head(&stream)?;
    let pages = site.current();
    let (status, page) =
        pages.as_ref().map_or(("500 Internal Server Error", None), |pages| answer(&head, pages));
    let failure = pages.as_ref().err().map(|e| format!("{e:#}"));
    let kind = if page.is_some() { "html" } else { "plain" };
    let text = page.or(failure.as_deref()).unwrap_or(status);
    let kind = format!("Content-Type: text/{kind}; charset=utf-8\r\nContent-Length: {}\r\n", text.len());
    stream.write_all(format!("HTTP/1.1 {status}\r\n{kind}{HEADERS}\r\n{text}").as_bytes())
}

/// A request up to its empty line, or as much as is accepted.
fn read_head(stream: &TcpStream) -> io::Result<String> {
    let (mut head, mut lines) = (String::new(), BufReader::new(stream.take(LONGEST)));
    while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head)? > 0 {}
    Ok(head)
}

impl Site {
    /// The pages, made anew if the store has changed.
    fn current(&self) -> anyhow::Result<Arc<Pages>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.store.changed();
        if made.0 != changed {
            *made = (changed, Arc::new(site::pages(&self.store)?));
        }
        Ok(Arc::clone(&made.1))
    }
}

/// The status for a request, and the page if there is one.
fn answer<'a>(request: &str, pages: &'a Pages) -> (&'static str, Option<&'a str>) {
    let head = request.split_once("\r\n\r\n").map_or("", |(head, _)| head);
    let mut lines = head.split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let fields = lines.filter_map(|line| line.split_once(':'));
    let hosts: Vec<&str> =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.trim()).collect();
    let ([method, path, "HTTP/1.1" | "HTTP/1.0"], [host]) = (&first[..], &hosts[..]) else {
        return ("400 Bad Request", None);
    };
    let name = path.strip_prefix('/').map(|name| if name.is_empty() { site::INDEX } else { name });
    match name.and_then(|name| pages.get(name)) {
        _ if !is_this_machine(host) => ("421 Misdirected Request", None),
        _ if *method != "GET" => ("405 Method Not Allowed", None),
        None => ("404 Not Found", None),
        Some(page) => ("200 OK", Some(page)),
    }
}

/// Whether a Host header names this machine as seen from itself: a foreign name that leads here is an attack by DNS rebinding.
/// The port is another one behind a tunnel.
fn is_this_machine(host: &str) -> bool {
    let parts = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let name = parts.map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> &'static str {
        let pages =
            [(site::INDEX.to_owned(), "first".to_owned()), ("r1.html".to_owned(), "run".to_owned())].into();
        answer(head, &pages).0
    }

    #[test]
    fn only_pages_are_shown_and_only_to_this_machine() {
        let get = |path: &str, host: &str| status(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        for host in ["localhost", "LOCALHOST:8321", "127.0.0.1:1", "[::1]", "[::1]:8321"] {
            assert_eq!(get("/", host), "200 OK", "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8321",
            "localhost.evil.example",
            "127.0.0.1:x",
            "0.0.0.0",
            "[::2]",
        ] {
            assert_eq!(get("/", host), "421 Misdirected Request", "{host}");
        }
        assert_eq!(get("/r1.html", "localhost"), "200 OK");
        for path in
            ["/r2.html", "//r1.html", "/../etc/passwd", "/%721.html", "r1.html", "http://localhost/", "*"]
        {
            assert_eq!(get(path, "localhost"), "404 Not Found", "{path}");
        }
    }

    #[test]
    fn other_requests_are_refused() {
        let own = "Host: localhost\r\n\r\n";
        for (head, expected) in [
            (format!("POST / HTTP/1.1\r\n{own}"), "405 Method Not Allowed"),
            (format!("GET / HTTP/2\r\n{own}"), "400 Bad Request"),
            (format!("GET /\r\n{own}"), "400 Bad Request"),
            (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{own}"), "400 Bad Request"),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
            ("GET / HTTP/1.1\r\n".to_owned(), "400 Bad Request"),
            ("x".repeat(LONGEST as usize), "400 Bad Request"),
            (format!("HEAD / HTTP/1.1\r\n{own}"), "405 Method Not Allowed"),
        ] {
            assert_eq!(status(&head), expected, "{head}");
        }
    }
}
