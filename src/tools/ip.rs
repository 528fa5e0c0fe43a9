//! ip: what the kernel knows of the hardware addresses of other machines.

use std::net::IpAddr;

use super::{Query, Tool};

const IP: Tool = Tool {
    name: "ip",
    package: "iproute2",
    without: "without it, an answer of the network is known only to within a second",
};

/// Prints the entry of a machine on the local network; nothing of one that is behind a router.
pub fn neighbour(address: IpAddr) -> Query {
    Query::new(IP, ["neigh", "show", "to", &address.to_string()])
}

/// Removes that entry: the kernel asks for the hardware address again with the next packet, and not a second later. Needs root.
pub fn forget(address: IpAddr) -> Query {
    Query::new(IP, ["neigh", "flush", "to", &address.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let address = IpAddr::from([10, 9, 0, 2]);
        assert_eq!(neighbour(address).to_string(), "ip neigh show to 10.9.0.2");
        assert_eq!(forget(address).to_string(), "ip neigh flush to 10.9.0.2");
    }
}
