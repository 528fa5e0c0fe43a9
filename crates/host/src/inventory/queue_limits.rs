//! Request queue of a drive: limits and cache.

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Largest request, bytes.
    pub max_request: Option<u64>,
    /// Requests the kernel queues.
    pub requests: Option<u32>,
    /// Writes among them that the scheduler allows: mq-deadline's `async_depth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u32>,
    /// Requests the drive accepts at once.
    pub depth: Option<u32>,
    /// Active scheduler: `mq-deadline`, `none`.
    pub scheduler: Option<String>,
    /// `write back` if writes may stay in the drive's cache, else `write through`.
    pub write_cache: Option<String>,
    /// The latency that the kernel's throttling of writes (`wbt_lat_usec`) aims at, µs; 0 where it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_us: Option<u64>,
}

impl Queue {
    /// Whether a throttled write of md resumes only when the queue is empty. The kernel does so
    /// where a drive takes one request at a time and may keep writes in its cache.
    pub fn drains_writes(&self) -> bool {
        let may_keep = self.write_cache.as_deref() == Some("write back");
        may_keep && self.depth == Some(1) && self.throttle_us.is_some_and(|us| us > 0)
    }
}

pub(super) fn read(root: &Sysroot, dir: &str) -> Queue {
    let number = |file: &str| root.number::<u64>(&format!("{dir}/queue/{file}"));
    let word = |file: &str| root.word(&format!("{dir}/queue/{file}"));
    Queue {
        max_request: number("max_sectors_kb").and_then(|kib| kib.checked_mul(1024)),
        requests: root.number(&format!("{dir}/queue/nr_requests")),
        writes: root.number(&format!("{dir}/queue/iosched/async_depth")),
        depth: root.number(&format!("{dir}/device/queue_depth")),
        scheduler: word("scheduler").map(|text| active_scheduler(&text)),
        write_cache: word("write_cache"),
        throttle_us: number("wbt_lat_usec"),
    }
}

/// The name in brackets in `none [mq-deadline] kyber`, or the only one.
fn active_scheduler(text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text, |(chosen, _)| chosen).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_held_back_where_all_of_it_is_so() {
        let stick = Queue {
            depth: Some(1),
            write_cache: Some("write back".to_owned()),
            throttle_us: Some(75_000),
            ..Queue::default()
        };
        assert!(stick.drains_writes());
        let through = Queue { write_cache: Some("write through".to_owned()), ..stick.clone() };
        let off = Queue { throttle_us: Some(0), ..stick.clone() };
        let unknown = Queue { throttle_us: None, ..stick.clone() };
        for other in [through, off, unknown, Queue { depth: Some(32), ..stick }] {
            assert!(!other.drains_writes(), "{other:?}");
        }
    }

    #[test]
    fn the_scheduler_in_brackets_is_active() {
        assert_eq!(
            ["none [mq-deadline] kyber", "none", "[x"].map(active_scheduler),
            ["mq-deadline", "none", "[x"].map(String::from)
        );
    }
}
