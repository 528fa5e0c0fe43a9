//! The order of attempts. No service is tried while the machine runs, because an ssh server bars an address that connects
//! repeatedly without logging in.

use crate::{
    record::{Answer, Between, Watched},
    units::Service,
};

/// Time without an answer that counts as a stop, s. Single packets may get lost.
const QUIET: f64 = 3.0;
/// How often the kernel asks for the hardware address of a machine that does not answer, s (`retrans_time_ms`): in between, the
/// machine may answer and attempts are lost.
const BLIND: f64 = 1.0;

/// The other machine, and the person who restarts it. Times are seconds since the watch began.
pub trait Host {
    fn now(&self) -> f64;

    /// When the person reported the restart, if that was since the last call.
    fn ordered(&mut self) -> Option<f64>;

    /// One attempt.
    fn answers(&mut self, service: Service) -> bool;

    /// Waits between attempts.
    fn pause(&mut self);
}

/// Events that are reported during the watch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// It answers from the start.
    Up,
    /// It doesn't answer from the start.
    Down,
    Ordered,
    Stopped,
    Answers(Service),
}

/// Watches until all services of `watched` have answered after a stop, until this time is over, or until `stop`.
pub fn observe(
    host: &mut dyn Host,
    mut watched: Watched,
    seconds: f64,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Seen, &Watched),
) -> Watched {
    // The start of the last answered attempt, and of the first unanswered one after it.
    let (mut up, mut missed) = (None, None);
    let mut down = false;
    // The start of the last failed attempt at each service.
    let mut failed = [0.0; 3];
    while !stop() && host.now() < seconds && !watched.is_complete() {
        if let Some(at) = host.ordered().filter(|_| watched.answers.is_empty()) {
            watched.ordered = Some(at);
            tell(Seen::Ordered, &watched);
        }
        let network = watched.answer(Service::Network);
        for service in [Service::Network, Service::Ssh, Service::Http] {
            let wanted = match (service, network) {
                (Service::Network, network) => network.is_none(),
                (_, None) => false,
                _ => watched.services.contains(&service) && watched.answer(service).is_none(),
            };
            if !wanted {
                continue;
            }
            let begun = host.now();
            let answers = host.answers(service);
            let now = host.now();
            match (answers, down) {
                (true, false) => {
                    if up.is_none() {
                        tell(Seen::Up, &watched);
                    }
                    (up, missed) = (Some(begun), None);
                }
                (true, true) => {
                    let after = network.map_or(0.0, |network| network.after).max(failed[service as usize]);
                    watched.answers.push(Answer { service, when: Between { after, at: now } });
                    tell(Seen::Answers(service), &watched);
                }
                (false, _) => {
                    let since = *missed.get_or_insert(begun);
                    let blind = if service == Service::Network { BLIND } else { 0.0 };
                    failed[service as usize] = (begun - blind).max(since);
                    if !down && now - since >= QUIET {
                        down = true;
                        watched.stopped = up.map(|after| Between { after, at: since });
                        tell(if up.is_some() { Seen::Stopped } else { Seen::Down }, &watched);
                    }
                }
            }
        }
        host.pause();
    }
    watched.ended = host.now();
    watched
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine in virtual time: it answers until it stops, and each service again from a time on. Attempts take 0.1 s.
    struct Model {
        now: f64,
        stops: f64,
        from: [f64; 3],
        pressed: Option<f64>,
        tried: [u32; 3],
    }

    impl Host for Model {
        fn now(&self) -> f64 {
            self.now
        }

        fn ordered(&mut self) -> Option<f64> {
            self.pressed.filter(|at| *at <= self.now).and_then(|_| self.pressed.take())
        }

        fn answers(&mut self, service: Service) -> bool {
            self.tried[service as usize] += 1;
            let answers = self.now < self.stops || self.now >= self.from[service as usize];
            self.now += 0.1;
            answers
        }

        fn pause(&mut self) {
            self.now += 0.1;
        }
    }

    fn watch(host: &mut Model, seconds: f64, services: &[Service]) -> (Watched, Vec<Seen>) {
        let (mut seen, asked) = (Vec::new(), Watched { services: services.to_vec(), ..Watched::default() });
        let watched = observe(host, asked, seconds, &|| false, &mut |one, _| seen.push(one));
        (watched, seen)
    }

    const ALL: [Service; 3] = [Service::Network, Service::Ssh, Service::Http];

    #[test]
    fn a_restart_is_bracketed_by_attempts() {
        let mut host =
            Model { now: 0.0, stops: 10.0, from: [30.0, 34.0, 33.0], pressed: Some(5.0), tried: [0; 3] };
        let (watched, seen) = watch(&mut host, 900.0, &ALL);
        let answers = [Service::Network, Service::Http, Service::Ssh].map(Seen::Answers);
        let expected = [&[Seen::Up, Seen::Ordered, Seen::Stopped][..], &answers].concat();
        assert_eq!((seen, watched.ordered), (expected, Some(5.0)));
        let holds = |between: Between, truth: f64| {
            between.after <= truth && truth <= between.at && between.at - between.after < 0.5 + BLIND
        };
        assert!(holds(watched.stopped.expect("it stopped"), 10.0), "{watched:?}");
        for (service, truth) in ALL.into_iter().zip([30.0, 34.0, 33.0]) {
            assert!(holds(watched.answer(service).expect("it answers"), truth), "{service} {watched:?}");
        }
        // Not while it ran, nor before the network answered.
        assert!(host.tried[1] < 25 && host.tried[2] < 25, "{:?}", host.tried);
    }

    /// The kernel asks for a hardware address once a second, so pings in between are lost though the machine would answer.
    #[test]
    fn what_attempts_may_have_missed_is_in_the_answer() {
        let pressed = None;
        let mut host = Model { now: 0.0, stops: 10.0, from: [30.0; 3], pressed, tried: [0; 3] };
        let (watched, _) = watch(&mut host, 900.0, &ALL);
        let network = watched.answer(Service::Network).expect("it answers");
        assert!((1.0..1.5).contains(&(network.at - network.after)) && network.after < 29.5, "{network:?}");
        let ssh = watched.answer(Service::Ssh).expect("it answers");
        assert!(ssh.after >= network.after, "no earlier than the network: {ssh:?}");
        let mut short = Model { from: [13.2; 3], stops: 10.0, now: 0.0, pressed: None, tried: [0; 3] };
        let (watched, _) = watch(&mut short, 900.0, &ALL);
        let after = watched.answer(Service::Network).expect("it answers").after;
        assert!(after >= 10.0, "it did not answer before it stopped: {after}");
    }

    #[test]
    fn a_machine_that_is_off_at_first_has_no_stop() {
        let mut host = Model { now: 0.0, stops: 0.0, from: [20.0; 3], pressed: Some(6.0), tried: [0; 3] };
        let (watched, seen) = watch(&mut host, 900.0, &[Service::Network, Service::Ssh]);
        let answers = [Service::Network, Service::Ssh].map(Seen::Answers);
        assert_eq!(seen, [&[Seen::Down, Seen::Ordered][..], &answers].concat());
        assert!(watched.stopped.is_none() && watched.ordered == Some(6.0) && host.tried[2] == 0);
        // A service that answers at the first attempt may have answered at any time since the last failed attempt at the network.
        let (network, ssh) = (watched.answers[0].when, watched.answers[1].when);
        assert_eq!(network.after, ssh.after);
    }

    #[test]
    fn it_ends_in_time_and_a_lost_packet_is_no_stop() {
        let mut up = Model { now: 0.0, stops: 1e9, from: [0.0; 3], pressed: None, tried: [0; 3] };
        let (watched, seen) = watch(&mut up, 60.0, &ALL);
        assert_eq!((seen, watched.stopped), (vec![Seen::Up], None));
        assert!(watched.answers.is_empty() && (60.0..60.5).contains(&watched.ended));
        let mut hiccup = Model { now: 0.0, stops: 10.0, from: [12.0; 3], pressed: None, tried: [0; 3] };
        let (watched, seen) = watch(&mut hiccup, 60.0, &ALL);
        assert_eq!((seen, watched.stopped), (vec![Seen::Up], None), "2 s are no stop");
        let never = Model { now: 0.0, stops: 0.0, from: [30.0, 1e9, 1e9], pressed: None, tried: [0; 3] };
        let (watched, _) = watch(&mut { never }, 60.0, &ALL);
        assert!(watched.answers.len() == 1 && !watched.is_complete());
        let stopped = observe(
            &mut up,
            Watched { services: ALL.to_vec(), ..Watched::default() },
            900.0,
            &|| true,
            &mut |_, _| (),
        );
        assert_eq!(stopped.ended, up.now);
    }
}
