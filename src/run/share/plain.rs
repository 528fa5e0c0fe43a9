//! Files as the bytes of a TCP connection: what clients would get without a protocol of file servers.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    net::{TcpListener, TcpStream},
    ops::Range,
    os::fd::AsFd,
    path::Path,
    thread,
    time::Duration,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::errands::{Stop, copy, create, open_to_copy};

/// Gathered before it is sent, and read at once.
const PIECE: usize = 64 << 10;
const ANSWERS: Duration = Duration::from_secs(10);

/// A server that listens, and who connects to it: the networks of two processes.
pub(super) struct Networks<'a> {
    pub server: u32,
    pub address: &'a str,
    pub client: u32,
}

/// One connection: the server's end and the client's.
type Ends = [TcpStream; 2];

impl Networks<'_> {
    pub fn connect(&self, connections: u64) -> io::Result<Vec<Ends>> {
        let listener = inside(self.server, || TcpListener::bind((self.address, 0)))?;
        let at = listener.local_addr()?;
        let one = |_| {
            let client = inside(self.client, || TcpStream::connect_timeout(&at, ANSWERS))?;
            // It is connected: there is one to accept.
            let (server, _) = listener.accept()?;
            Ok([server, client])
        };
        (0..connections).map(one).collect()
    }
}

/// Does something in the network of a process: a socket stays in the one in which it was made.
fn inside<T: Send>(process: u32, does: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let network = File::open(format!("/proc/{process}/ns/net"))?;
    let enters = || {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        does()
    };
    thread::scope(|scope| scope.spawn(enters).join()).unwrap_or_else(|_| Err(gone()))
}

/// Moves so many files over these connections, each over its share of them, from the directory at one end to that at the other.
pub(super) fn transfer(
    connections: Vec<Ends>,
    puts: bool,
    (from, to): (&Path, &Path),
    files: u64,
    stop: Stop<'_>,
) -> io::Result<()> {
    let each = files / (connections.len() as u64).max(1);
    thread::scope(|scope| {
        let mut work = Vec::new();
        for (nth, [server, client]) in (0..).zip(connections) {
            let (source, sink) = if puts { (client, server) } else { (server, client) };
            let range = nth * each..(nth + 1) * each;
            let own = range.clone();
            work.push(scope.spawn(move || send(source, from, own, stop)));
            work.push(scope.spawn(move || receive(sink, to, range, stop)));
        }
        let ended: Vec<io::Result<()>> =
            work.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(gone()))).collect();
        // Why one end fails is said by the other one, which failed first.
        let broken = |e: &io::Error| {
            matches!(
                e.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            )
        };
        let mut errors: Vec<io::Error> = ended.into_iter().filter_map(Result::err).collect();
        errors.sort_by_key(broken);
        errors.into_iter().next().map_or(Ok(()), Err)
    })
}

/// The length of each file is before its bytes.
fn send(to: TcpStream, dir: &Path, files: Range<u64>, stop: Stop<'_>) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(PIECE, to);
    for number in files {
        let mut file = open_to_copy(dir, &number.to_string())?;
        let length = file.metadata()?.len();
        to.write_all(&length.to_le_bytes())?;
        whole(number, copy(&mut file, &mut to, stop)?, length)?;
    }
    to.flush()
}

fn receive(from: TcpStream, dir: &Path, files: Range<u64>, stop: Stop<'_>) -> io::Result<()> {
    let mut from = BufReader::with_capacity(PIECE, from);
    for number in files {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let (length, mut file) = (u64::from_le_bytes(length), create(dir, &number.to_string())?);
        whole(number, copy(&mut from.by_ref().take(length), &mut file, stop)?, length)?;
    }
    Ok(())
}

fn whole(number: u64, came: u64, length: u64) -> io::Result<()> {
    if came == length {
        return Ok(());
    }
    let why = format!("of file {number} came {came} of {length} bytes");
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, why))
}

fn gone() -> io::Error {
    io::Error::other("a thread ended unexpectedly")
}

#[cfg(test)]
mod tests {
    use std::{fs, process};

    use super::{super::errands::make, *};

    const HERE: Networks<'static> = Networks { server: 0, address: "127.0.0.1", client: 0 };

    /// Both ends in one network, without a right to enter another one.
    fn connected(connections: usize) -> Vec<Ends> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("listens");
        let at = listener.local_addr().expect("an address");
        let one = |_| {
            let client = TcpStream::connect(at).expect("connects");
            [listener.accept().expect("accepts").0, client]
        };
        (0..connections).map(one).collect()
    }

    #[test]
    fn files_arrive_as_they_were() {
        let on = &|| false;
        for (set, connections) in [((1, (3 << 20) + 5), 1), ((100, 10), 1), ((1, 0), 1), ((4, 200_000), 4)] {
            for puts in [true, false] {
                let [from, to] = ["from", "to"].map(|_| tempfile::tempdir().expect("a directory"));
                make(from.path(), set, 1, on).expect("makes");
                transfer(connected(connections), puts, (from.path(), to.path()), set.0, on).expect("moves");
                for number in 0..set.0 {
                    let read = |dir: &Path| fs::read(dir.join(number.to_string())).expect("is there");
                    assert!(read(from.path()) == read(to.path()), "{number} of {set:?}");
                }
            }
        }
    }

    #[test]
    fn what_fails_at_one_end_is_said_and_ends_the_other() {
        let on = &|| false;
        let [from, to] = ["from", "to"].map(|_| tempfile::tempdir().expect("a directory"));
        let dirs = (from.path(), to.path());
        make(from.path(), (2, 1 << 20), 1, on).expect("makes");
        fs::write(to.path().join("1"), "").expect("writes");
        let exists = transfer(connected(1), true, dirs, 2, on).expect_err("is there");
        assert_eq!(exists.to_string(), "file 1 was replaced by something else");
        fs::remove_file(to.path().join("0"))
            .and_then(|()| fs::remove_file(to.path().join("1")))
            .expect("removes");
        let missing = transfer(connected(1), false, dirs, 3, on).expect_err("is missing");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        fs::remove_file(to.path().join("0"))
            .and_then(|()| fs::remove_file(to.path().join("1")))
            .expect("removes");
        let stopped = transfer(connected(1), true, dirs, 2, &|| true).expect_err("stopped");
        assert_eq!(stopped.to_string(), "it was interrupted");
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let on = &|| false;
        let to = tempfile::tempdir().expect("a directory");
        let [server, mut client] = connected(1).pop().expect("a connection");
        client.write_all(&[&7u64.to_le_bytes()[..], b"abc"].concat()).expect("sends");
        drop(client);
        let short = receive(server, to.path(), 0..1, on).expect_err("too short");
        assert_eq!(short.to_string(), "of file 0 came 3 of 7 bytes");
    }

    #[test]
    fn a_process_that_is_gone_has_no_network() {
        HERE.connect(1).expect_err("no process has the number 0");
        // The own network may be entered by root only.
        let own = Networks { server: process::id(), client: process::id(), ..HERE };
        match own.connect(2) {
            Ok(both) => assert_eq!(both.len(), 2),
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
