//! A lock per drive: two runs on one drive would disturb each other.

use std::{
    io,
    os::linux::net::SocketAddrExt,
    os::unix::net::{SocketAddr, UnixListener, UnixStream},
    time::Duration,
};

/// Locks a drive while this value lives. The lock is an abstract socket name in the kernel, not a
/// file: it needs no rights and no directory, and disappears with the process.
#[derive(Debug)]
pub struct Lock {
    _listener: UnixListener,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{drive} is being measured by another drivebench{}", pid.map(|p| format!(", process {p}")).unwrap_or_default())]
    Busy { drive: String, pid: Option<i32> },
    #[error("can't check whether another run measures {drive}: {source}")]
    System { drive: String, source: io::Error },
}

/// How often a waiting run checks whether the drive is free.
const POLL: Duration = Duration::from_millis(200);

impl Lock {
    /// Locks the drive with this identity; `label` names it in messages.
    pub fn take(identity: &str, label: &str) -> Result<Self, LockError> {
        let system = |source| LockError::System { drive: label.to_owned(), source };
        // A socket name has at most 107 bytes. Identities are shorter; a longer one is cut.
        let name: Vec<u8> = format!("drivebench/{identity}").into_bytes().into_iter().take(100).collect();
        let address = SocketAddr::from_abstract_name(name).map_err(system)?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Self { _listener: listener }),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                Err(LockError::Busy { drive: label.to_owned(), pid: holder(&address) })
            }
            Err(e) => Err(system(e)),
        }
    }

    /// Like [`take`](Self::take), but waits while another run measures the drive, until `give_up` returns true.
    pub fn wait(identity: &str, label: &str, give_up: impl Fn() -> bool) -> Result<Self, LockError> {
        loop {
            match Self::take(identity, label) {
                Err(LockError::Busy { .. }) if !give_up() => std::thread::sleep(POLL),
                other => return other,
            }
        }
    }
}

fn holder(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    Some(credentials.pid.as_raw_nonzero().get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_until_the_first_ends() {
        let identity = format!("test-{}", std::process::id());
        let first = Lock::take(&identity, "Cruzer Blade 4C530001").expect("free");
        let refused = Lock::take(&identity, "Cruzer Blade 4C530001").expect_err("taken").to_string();
        let me = std::process::id();
        assert_eq!(
            refused,
            format!("Cruzer Blade 4C530001 is being measured by another drivebench, process {me}")
        );
        assert!(Lock::wait(&identity, "it", || true).is_err());
        drop(first);
        Lock::wait(&identity, "it", || true).expect("free again");
    }
}
