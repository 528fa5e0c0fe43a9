//! `report --site`: the pages of a store, in a directory and for browsers.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Stdio,
};

use crate::support::cli::Cli;
use crate::support::modelled::{self, ask, only, plan, target};
use drivebench::{analyse::Rules, experiments::LoadName, record::Store};
use drivebench_modelled::sim::{Board, Model, Noise, Zone};

/// Keeps a run that reads a modelled stick of this speed.
fn keep(cli: &Cli, at: &str, stick: &str, read: f64) -> String {
    const CAPACITY: u64 = 62_000_000_000;
    let model = Model {
        capacity: CAPACITY,
        write: vec![Zone { from: 0, rate: 2e6 }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
        ..Model::default()
    };
    let plan = plan(&only(LoadName::Read, ask(vec![target(stick, CAPACITY, false)], Rules::quick(), 4096)));
    let board = Board { drives: vec![model], buses: vec![], seed: 1 };
    modelled::keep(&Store::at(cli.store()), at, &plan.expect("plans"), &board, false)
}

/// The cells of a page's rows, without what is in angle brackets.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = |html: &str| {
        let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.collect::<String>()
    };
    let cells = |row: &str| {
        row.split("<td>")
            .skip(1)
            .map(|cell| text(cell.split("</td>").next().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    page.split("<tr>").skip(1).map(cells).filter(|cells| !cells.is_empty()).collect()
}

#[test]
fn drives_side_by_side_are_ranked() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let at = |day: usize| format!("2026-11-{day:02}T10:00:00Z");
    let speeds = [("4C01", 20e6), ("4C02", 20.4e6), ("4C03", 23e6), ("4C04", 40e6)];
    for (day, (stick, speed)) in speeds.iter().enumerate() {
        keep(&cli, &at(day + 1), stick, *speed);
    }
    let dir = place.path().join("site");
    let done = cli.run(["report".as_ref(), "--site".as_ref(), dir.as_os_str()]);
    assert_eq!(done.code, 0, "{}", done.err);
    let page = fs::read_to_string(dir.join("side-by-side.html")).expect("a page");
    let rows = rows(&page);
    let drive =
        |cells: &[String]| speeds.iter().position(|(stick, _)| cells[0].ends_with(stick)).expect("a drive");
    let order: Vec<usize> = rows.iter().map(|cells| drive(cells)).collect();
    assert_eq!(order, [3, 2, 1, 0], "{page}");
}

#[test]
fn pages_are_served_to_this_machine_only() {
    let cli = Cli::new();
    let first = keep(&cli, "2026-11-01T10:00:00Z", "4C01", 20e6);
    let mut command = cli.command(["report", "--site", "--serve", "0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address =
        line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).expect("an address");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let port = address.rsplit_once(':').expect("a port").1;
    let ask = |request: &str, host: &str| {
        let mut stream = TcpStream::connect(address).expect("connects");
        write!(stream, "{request} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.split(' ').nth(1).expect("a status").to_owned(), head.to_owned(), body.to_owned())
    };
    // A client that says nothing keeps nobody waiting.
    let _silent = TcpStream::connect(address).expect("connects");
    let (status, head, page) = ask("GET /", &format!("localhost:{port}"));
    assert!(status == "200" && page.contains("4C01") && !page.contains("4C02"), "{head}\n{page}");
    for field in [
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline';",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        &format!("Content-Length: {}", page.len()),
    ] {
        assert!(head.contains(field), "{field}: {head}");
    }
    let run = format!("GET /{first}.html");
    let cases = [
        (run.as_str(), "127.0.0.1", "200"),
        ("GET /side-by-side.html", "[::1]:1", "200"),
        ("GET /", "evil.example", "421"),
        ("GET /check.json", "localhost", "404"),
        ("GET /../../etc/passwd", "localhost", "404"),
        ("POST /", "localhost", "405"),
    ];
    for (request, host, expected) in cases {
        assert_eq!(ask(request, host).0, expected, "{request} {host}");
    }
    // A new run is shown once it has ended.
    let new = keep(&cli, "2026-11-02T10:00:00Z", "4C02", 20e6);
    Store::at(cli.store()).pack(&new).expect("packs");
    assert!(ask("GET /", "localhost").2.contains("4C02"));
    let taken = cli.run(["report", "--site", "--serve", port]);
    assert!(taken.code == 2 && taken.err.contains(port), "{}", taken.err);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signals");
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_site_needs_a_place_or_serves() {
    let cli = Cli::new();
    for args in
        [&["--site"][..], &["--site", "dir", "--serve"], &["--serve"], &["--site", "--serve", "70000"]]
    {
        let done = cli.run([&["report"], args].concat());
        assert_eq!(done.code, 2, "{args:?}: {}", done.err);
    }
    assert!(!cli.store().exists());
}
