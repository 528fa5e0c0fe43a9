//! Selects the engine.

use crate::{tools::System, units::Load};

use super::{Engine, EngineError, FileTarget, Fio, Psync};

/// The engine named `choice` over these targets; without a name, the best one for `load`: `psync` at depth 1, above
/// it `uring` if the kernel supports it, otherwise `psync` with threads.
pub fn open(
    choice: Option<&str>,
    load: &Load,
    targets: Vec<FileTarget>,
) -> Result<Box<dyn Engine>, EngineError> {
    match choice {
        Some("uring") => uring(targets),
        Some("fio") => Ok(Box::new(Fio::new(Box::new(System::default()), targets)?)),
        None if load.depth > 1 && uring_available().is_ok() => uring(targets),
        None | Some("psync") => Ok(Box::new(Psync::new(targets))),
        Some(other) => {
            let why = format!("no engine is named '{other}'; the engines are psync, uring and fio");
            Err(EngineError::Job(why))
        }
    }
}

/// Whether the `uring` engine is available here; if not, why.
#[cfg(not(target_arch = "arm"))]
pub fn uring_available() -> Result<(), String> {
    super::uring::available()
}

#[cfg(not(target_arch = "arm"))]
fn uring(targets: Vec<FileTarget>) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(super::Uring::new(targets)?))
}

#[cfg(target_arch = "arm")]
pub fn uring_available() -> Result<(), String> {
    Err("this build for 32-bit Arm has no io_uring".to_owned())
}

#[cfg(target_arch = "arm")]
fn uring(_: Vec<FileTarget>) -> Result<Box<dyn Engine>, EngineError> {
    let why = "this build for 32-bit Arm has no io_uring".to_owned();
    Err(EngineError::Unavailable { engine: "uring", why })
}
