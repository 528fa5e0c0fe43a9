//! Looks at another machine from outside: when it stops answering, and what it answers first after that.

mod findings;
mod observe;
mod remote;

pub use findings::{EXPERIMENT, findings};
pub use observe::{Seen, observe};
pub use remote::{Ports, Remote, resolve};
