//! `drivebench watch-boot` in one machine while another one restarts: what it saw is compared with the lab's clock.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use drivebench::{
    findings::{Findings, Quantity, Scope},
    units::Service,
};

use super::{LIMIT, Summary, rounds};
use crate::{
    Link, Machine, MachineError, Options, Scenario,
    pools::{require, sh},
    scenario::Guest,
    state::State,
};

/// How far the middle of what was seen may be from the truth, s: the kernel asks once a second for the address of a machine that is off.
const OFF: f64 = 0.8;

const ADDRESS: &str = "10.9.0.2";
/// Says on the console that the network or the web server is there, and in which boot.
const NETWORK: &str = r#"cat >/usr/local/bin/lab-net <<'END'
#!/bin/sh
boot=$(cat /proc/sys/kernel/random/boot_id)
modprobe virtio_net
udevadm settle
device=$(ls /sys/class/net | grep ^e)
busybox ip link set "$device" up
busybox ip addr add 10.9.0.2/24 dev "$device"
echo "lab: network of $boot" >/dev/console
busybox usleep 1500000
busybox httpd -p 80 -h /srv
echo "lab: http of $boot" >/dev/console
END
chmod +x /usr/local/bin/lab-net
cat >/etc/systemd/system/lab-net.service <<'END'
[Service]
Type=forking
ExecStart=/usr/local/bin/lab-net
[Install]
WantedBy=multi-user.target
END
systemctl enable --now lab-net.service"#;

/// The machine of the scenario restarts once in each round; the figures are how far what was seen is from the truth, s.
pub fn watched_boots(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = match machines(options, scenario) {
        Ok((_socket, watcher, mut machine)) => {
            rounds(times, seed, |_, _| one(&watcher, &mut machine, &mut lines).map(Some))
        }
        Err(e) => Summary { failures: vec![(0, e.to_string())], ..Summary::default() },
    };
    Summary { lines, ..summary }
}

/// Two machines on one network, and the directory of its socket: the one that watches, and the one that restarts.
fn machines(options: &Options, scenario: &Scenario) -> Result<(State, Machine, Machine), MachineError> {
    let state = State::new().map_err(|e| MachineError::new("no directory", e))?;
    let socket = state.file("link");
    let linked =
        |listens| Options { link: Some(Link { socket: socket.clone(), listens }), ..options.clone() };
    let watcher = Machine::start(scenario, &linked(true))?;
    sh(
        &watcher,
        "echo '0 2147483647' >/proc/sys/net/ipv4/ping_group_range; busybox modprobe virtio_net; udevadm settle; device=$(ls /sys/class/net | grep ^e); ip link set $device up; ip addr add 10.9.0.1/24 dev $device",
    )?;
    let machine = Machine::start(&Scenario { guest: Guest::Systemd, ..scenario.clone() }, &linked(false))?;
    sh(&machine, NETWORK)?;
    Ok((state, watcher, machine))
}

/// The largest distance of what was seen from the truth, s.
fn one(watcher: &Machine, machine: &mut Machine, lines: &mut Vec<String>) -> Result<f64, MachineError> {
    let boot = sh(machine, "cat /proc/sys/kernel/random/boot_id")?;
    let watch = format!("exec drivebench watch-boot --services network,http --for 5m {ADDRESS} 2>&1");
    let watch = watcher.begin(&["sh", "-c", &watch])?;
    watch.await_words(LIMIT).map_err(|e| watcher.wrong("watch-boot", e))?;
    // It has pinged by the time that systemd has stopped all.
    let console = machine.console();
    let (ended, up) = thread::scope(|scope| {
        let seen = scope.spawn(|| ["network", "http"].map(|what| said(&console, what, boot.trim())));
        let ended = machine.restarts(&["systemctl", "reboot"]);
        (ended, seen.join())
    });
    let ended = ended?;
    let up = up.map_err(|_| machine.wrong("the console", "it could not be read"))?;
    let [Some(network), Some(http)] = up else {
        return Err(machine.wrong("the console", "it does not say that the network is there"));
    };
    let output = watch.wait(LIMIT).map_err(|e| watcher.wrong("watch-boot", e))?;
    require(watcher, output.code == 0, "watch-boot", output.text())?;
    let shown = sh(
        watcher,
        "drivebench show $(drivebench results | grep watch-boot | tail -n 1 | cut -d' ' -f1) --format json",
    )?;
    let found: Findings = serde_json::from_str(&shown).map_err(|e| watcher.wrong("findings", e))?;
    let by_ping = found.context.iter().any(|line| line.contains("by ping"));
    require(watcher, by_ping, "watch-boot", "has no pings")?;
    let mut worst = 0.0_f64;
    for (service, at) in [(Service::Network, network), (Service::Http, http)] {
        let quantity = Quantity::AnswerTime(service);
        let is = |m: &&drivebench::findings::Metric| m.quantity == quantity && m.scope == Scope::SinceStop;
        let seen = found.estimates.iter().find(is);
        let seen = seen.ok_or_else(|| watcher.wrong("findings", format!("nothing of {service}")))?;
        let (seen, truth) = (&seen.estimate, at.duration_since(ended).as_secs_f64());
        let off = seen.value - truth;
        lines.push(format!(
            "{service}: {:.2} to {:.2} s after the stop, by the lab's clock {truth:.2} s: the middle is off by {off:+.2} s",
            seen.low, seen.high
        ));
        worst = worst.max(off.abs());
    }
    require(watcher, worst <= OFF, "watch-boot", format!("is off by {worst:.2} s"))?;
    Ok(worst)
}

/// When a later boot than this one says on the console that it has got so far.
fn said(console: &Path, what: &str, before: &str) -> Option<Instant> {
    let begun = Instant::now();
    let begin = format!("lab: {what} of ");
    while begun.elapsed() < LIMIT * 2 {
        let text = fs::read(console).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        // As a whole line, without the end of which the id may be incomplete.
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.split_once(&begin));
        if lines.any(|(_, boot)| boot.ends_with('\n') && boot.trim() != before) {
            return Some(Instant::now());
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}
