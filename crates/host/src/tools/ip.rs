//! ip: the way to other machines.

use std::net::IpAddr;

use super::{Query, Tool};

const IP: Tool = Tool { name: "ip", package: "iproute2" };

/// Prints the network port by which packets from an address of this machine go to another machine.
pub fn route(destination: IpAddr, source: IpAddr) -> Query {
    Query::new(IP, ["-oneline", "route", "get", &destination.to_string(), "from", &source.to_string()])
}

/// The name of the network port in what [`route`] printed.
pub fn port(route: &str) -> Option<&str> {
    let mut words = route.split_ascii_whitespace().skip_while(|word| *word != "dev");
    // The kernel's limit for names of ports.
    words.nth(1).filter(|name| name.len() < 16 && name.bytes().all(|byte| byte.is_ascii_graphic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let address = IpAddr::from([10, 9, 0, 2]);
        let here = IpAddr::from([10, 9, 0, 1]);
        assert_eq!(route(address, here).to_string(), "ip -oneline route get 10.9.0.2 from 10.9.0.1");
    }
    /// Output of iproute2 6.1.
    #[test]
    fn the_port_of_a_route() {
        let near = "192.0.2.1 from 192.0.2.2 dev eth0 uid 0 \\    cache \n";
        let far = "198.51.100.7 from 192.0.2.2 via 192.0.2.1 dev wlan0 uid 0 \\    cache \n";
        assert_eq!([near, far].map(port), [Some("eth0"), Some("wlan0")]);
        for strange in
            ["", "RTNETLINK answers: Network is unreachable", "dev", "dev an-endless-name-of-a-port"]
        {
            assert_eq!(port(strange), None, "{strange}");
        }
    }
}
