//! The protocol between the host and the agent in a virtual machine, over a byte stream.
//!
//! The agent begins with [`HELLO`]. Everything before it, such as output of a boot loader or the rest of a frame
//! that a reset cut off, is skipped. Then frames follow in both directions: a kind (1 byte), the command it belongs to
//! (4 bytes), the length of the payload (4 bytes, little endian, at most [`MOST`]), and the payload.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

/// The first bytes from the agent.
pub const HELLO: &[u8] = b"\n\0drivebench lab agent 1\0\n";

/// The maximum payload of a frame, bytes.
pub const MOST: usize = 32 << 10;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// To the agent: start a command, an [`Exec`] as JSON.
    Exec = 1,
    /// To the agent: bytes for its standard input; an empty payload closes it.
    Stdin,
    /// To the agent: send it the signal whose number is the first byte.
    Signal,
    /// From the agent: bytes of its standard output.
    Stdout,
    /// From the agent: bytes of its standard error.
    Stderr,
    /// From the agent: it has ended and all output was sent: its exit code, or 128 and the signal's number; 4
    /// bytes, little endian.
    Exit,
    /// From the agent: it could not be started; why.
    Failed,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Exec, Self::Stdin, Self::Signal, Self::Stdout, Self::Stderr, Self::Exit, Self::Failed]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// A command to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables added to the agent's environment.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub directory: Option<String>,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: Kind,
    /// The command it belongs to.
    pub id: u32,
    /// The payload.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// Writes the frame, and flushes.
    pub fn write(kind: Kind, id: u32, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        let mut frame = Vec::with_capacity(9 + bytes.len());
        frame.push(kind as u8);
        frame.extend(id.to_le_bytes());
        frame.extend((bytes.len() as u32).to_le_bytes());
        frame.extend(bytes);
        to.write_all(&frame)?;
        to.flush()
    }
}

/// Splits a byte stream into frames.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
}

impl Decoder {
    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Drops everything up to the end of [`HELLO`]; false if it has not arrived yet.
    pub fn skip_to_hello(&mut self) -> bool {
        let at = self.bytes.windows(HELLO.len()).position(|w| w == HELLO);
        // Keep a possible beginning of it.
        let end = at.map_or(self.bytes.len().saturating_sub(HELLO.len() - 1), |at| at + HELLO.len());
        self.bytes.drain(..end);
        at.is_some()
    }

    /// The next complete frame, if any; invalid data is an error.
    pub fn frame(&mut self) -> io::Result<Option<Frame>> {
        let &[kind, i0, i1, i2, i3, l0, l1, l2, l3, ref rest @ ..] = self.bytes.as_slice() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let kind = Kind::from_byte(kind).filter(|_| length <= MOST);
        let kind =
            kind.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "invalid frame from the agent"))?;
        let Some(bytes) = rest.get(..length).map(<[u8]>::to_vec) else { return Ok(None) };
        self.bytes.drain(..9 + length);
        Ok(Some(Frame { kind, id: u32::from_le_bytes([i0, i1, i2, i3]), bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_through_in_pieces_of_any_size() {
        let mut stream = b"boot loader\n\0drivebench".to_vec();
        stream.extend(HELLO);
        Frame::write(Kind::Stdout, 7, b"abc", &mut stream).unwrap();
        Frame::write(Kind::Exit, u32::MAX, &3_i32.to_le_bytes(), &mut stream).unwrap();
        for size in 1..stream.len() {
            let (mut decoder, mut greeted, mut frames) = (Decoder::default(), false, Vec::new());
            for piece in stream.chunks(size) {
                decoder.feed(piece);
                greeted = greeted || decoder.skip_to_hello();
                if greeted {
                    frames.extend(std::iter::from_fn(|| decoder.frame().unwrap()));
                }
            }
            let expected = [(Kind::Stdout, 7, b"abc".to_vec()), (Kind::Exit, u32::MAX, vec![3, 0, 0, 0])]
                .map(|(kind, id, bytes)| Frame { kind, id, bytes });
            assert_eq!(frames, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn invalid_frames_are_refused() {
        for head in [[0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 255, 255, 255, 255]] {
            let mut decoder = Decoder::default();
            decoder.feed(&head);
            assert_eq!(decoder.frame().unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
