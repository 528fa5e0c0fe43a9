//! A network card on a modelled bus: frames are passed on once the bus has carried them.

use std::{
    io::{self, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    thread,
};

/// QEMU sends none that is longer.
const LONGEST: usize = 1 << 17;

/// Joins the card of a machine, which is going to connect to the socket `card`, with the network whose socket is there. `carry` returns
/// once so many bytes may pass.
pub fn join(card: &Path, network: &Path, carry: fn(u64)) -> io::Result<()> {
    let listener = UnixListener::bind(card)?;
    let there = UnixStream::connect(network)?;
    thread::Builder::new().spawn(move || {
        let (here, _) = listener.accept()?;
        let (to_here, to_there) = (here.try_clone()?, there.try_clone()?);
        let out = thread::Builder::new().spawn(move || pass_on(here, to_there, carry))?;
        // It ends with one of the machines.
        let _ = pass_on(there, to_here, carry);
        out.join().unwrap_or(Ok(()))
    })?;
    Ok(())
}

/// Each frame has its length, 4 bytes, before it.
fn pass_on(mut from: impl Read, mut to: impl Write, carry: impl Fn(u64)) -> io::Result<()> {
    loop {
        let mut frame = vec![0; 4];
        from.read_exact(&mut frame)?;
        let length = frame.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
        }
        frame.resize(4 + length, 0);
        from.read_exact(&mut frame[4..])?;
        carry(length as u64);
        to.write_all(&frame)?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn frames_pass_whole_and_each_waits_for_the_bus() {
        let frames = [&[0, 0, 0, 3, 1, 2, 3][..], &[0, 0, 1, 0], &[7; 256], &[0, 0, 0, 9, 1]].concat();
        let (carried, mut passed) = (RefCell::new(Vec::new()), Vec::new());
        let ended = pass_on(&frames[..], &mut passed, |bytes| carried.borrow_mut().push(bytes));
        assert_eq!(ended.expect_err("the last one is cut off").kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!((passed.as_slice(), carried.into_inner()), (&frames[..267], vec![3, 256]));
        let long = pass_on(&[1, 0, 0, 0][..], io::sink(), |_| {}).expect_err("too long");
        assert_eq!(long.kind(), io::ErrorKind::InvalidData);
    }
}
