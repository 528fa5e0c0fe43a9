//! The speeds of a client of a share, as measured by `run share`.

use super::{context::Context, evidence::Evidence, sentences::speed};
use crate::{
    analyse::Estimate,
    findings::{Quantity, Scope},
    units::Direction,
};

/// In whole sentences.
pub(super) struct Clients<'a> {
    pub said: String,
    /// On another machine, over the real network.
    pub is_elsewhere: bool,
    /// What the client put and got of a share in memory, instead of what it did.
    pub without_drive: Option<String>,
    pub from: &'a Evidence,
}

/// What one client got of the largest file: in the newest run with a client on another machine, else in the newest one.
pub(super) fn clients<'a>(context: &Context<'a>) -> Option<Clients<'a>> {
    let got = |e: &'a Evidence, scope: Scope| e.number(Quantity::Throughput, scope);
    let is_one = |e: &&Evidence| e.load.as_ref().is_some_and(|load| load.jobs == Some(1));
    let all = || context.all().filter(|e| got(e, Scope::Client).is_some());
    let is_elsewhere = |e: &&'a Evidence| got(e, Scope::WithoutNetwork).is_some();
    let newest = all().rfind(is_elsewhere).or_else(|| all().next_back())?;
    let same = |e: &&Evidence| (&e.run, &e.target) == (&newest.run, &newest.target);
    let of = |direction: Direction| {
        let own = all().filter(same).filter(is_one);
        let own = own.filter(|e| e.load.as_ref().and_then(|load| load.direction) == Some(direction));
        own.max_by_key(|e| e.load.as_ref().and_then(|load| load.block))
    };
    let (put, get) = (of(Direction::Write)?, of(Direction::Read)?);
    let both = |scope: Scope| Some([got(put, scope)?, got(get, scope)?]);
    let said = |[put, get]: [&Estimate; 2]| format!("{} and {}", speed(put), speed(get));
    let whole = said(both(Scope::Client)?);
    let how = &put.load.as_ref()?.engine;
    let is_elsewhere = is_elsewhere(&newest);
    let here = if is_elsewhere { "" } else { " on this machine itself" };
    let drive = both(Scope::WithoutDrive).map(said);
    let network_out = both(Scope::WithoutNetwork).map(said);
    let network_out = network_out
        .map(|without| format!("; without the network and the client's machine {without}"))
        .unwrap_or_default();
    Some(Clients {
        said: format!("A client of {}{here} ({how}) put and got {whole}{network_out}.", put.target),
        is_elsewhere,
        without_drive: drive.map(|drive| format!("{drive} instead of {whole}")),
        from: put,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        advise::{Topic, testing},
        findings::{LoadKey, Metric},
        inventory::fixtures,
    };

    #[test]
    fn what_clients_got_is_said_beside_what_limits() {
        let inventory = fixtures::pi_zero().inventory();
        let share = |run: &str, name: &str, reads: bool, file: u64, jobs: u32, speeds: [f64; 3]| {
            let direction = if reads { Direction::Read } else { Direction::Write };
            let load = LoadKey {
                name: name.to_owned(),
                direction: Some(direction),
                block: Some(file),
                jobs: Some(jobs),
                engine: "smbclient on another machine".to_owned(),
                ..LoadKey::default()
            };
            let scopes = [Scope::Client, Scope::WithoutDrive, Scope::WithoutNetwork];
            let numbers = scopes.into_iter().zip(speeds).map(|(scope, mb)| {
                testing::metric(Quantity::Throughput, testing::within(mb * 1e6, 0.02)).at(scope)
            });
            let numbers = numbers.collect();
            Evidence {
                load: Some(load),
                numbers,
                target: "/srv/data".to_owned(),
                ..testing::of(&inventory, run, &["sda"])
            }
        };
        let evidence = [
            share("r1", "put 64 MB", false, 64 << 20, 1, [1.0, 1.0, 1.0]),
            share("r2", "put 64 MB", false, 64 << 20, 1, [10.1, 11.4, 10.4]),
            share("r2", "get 64 MB", true, 64 << 20, 1, [11.6, 11.7, 27.0]),
            share("r2", "put 1000 files", false, 16 << 10, 1, [2.0, 2.0, 2.0]),
            share("r2", "get 16 MB by each", true, 16 << 20, 4, [3.0, 3.0, 3.0]),
        ];
        let answers = crate::advise::advise(&inventory, &evidence);
        let limits = answers.iter().find(|a| a.topic == Topic::Limits).expect("an answer");
        let said = "A client of /srv/data (smbclient on another machine) put and got 10.1 MB/s ±2.0 % and 11.6 MB/s ±2.0 %; without the network and the client's machine 10.4 MB/s ±2.0 % and 27.0 MB/s ±2.0 %.";
        assert_eq!(limits.says, said);
        assert_eq!(limits.rests_on, ["r2"]);
        // Of a network that was measured nobody says that nothing is known, though the inventory knows no port.
        let (mut alone, sticks) = testing::two_sticks();
        alone.ports.clear();
        let drives = testing::of(&alone, "r2", &["sda"]).drives;
        let there = evidence.map(|evidence| Evidence { drives: drives.clone(), ..evidence });
        let says = |more: &[Evidence]| {
            let said =
                format!("{:?}", crate::advise::advise(&alone, &[&sticks[..], more].concat())).to_lowercase();
            ["the network is not known", "what clients get through the network is not known"]
                .map(|unknown| said.contains(unknown))
        };
        assert_eq!((says(&[]), says(&there[..1]), says(&there)), ([true; 2], [true; 2], [false; 2]));
        // What a drive would gain is that client's. A link that is newer, but of this machine only, does not replace it.
        let imitated = ["put 64 MB", "get 64 MB"].map(|name| {
            let newer = share("r3", name, name.starts_with("get"), 64 << 20, 1, [30.0, 31.0, 32.0]);
            let on_link =
                |m: Metric| if m.scope == Scope::WithoutNetwork { m.at(Scope::WithoutLink) } else { m };
            let numbers = newer.numbers.into_iter().map(on_link).collect();
            Evidence { numbers, drives: drives.clone(), ..newer }
        });
        let answers_there = crate::advise::advise(&alone, &[&sticks[..], &there, &imitated].concat());
        let said_there = |topic: Topic| testing::said(&answers_there, topic);
        testing::holds(&said_there(Topic::Limits), &[said, "Without a client both drives together read"]);
        let money = "With the share in memory, that client put and got 11.4 MB/s ±2.0 % and 11.7 MB/s ±2.0 % instead of 10.1 MB/s ±2.0 % and 11.6 MB/s ±2.0 %: no drive gains more.";
        testing::holds(&said_there(Topic::Money), &[money]);
        let link_only = crate::advise::advise(&alone, &[&sticks[..], &imitated].concat());
        testing::holds(
            &testing::said(&link_only, Topic::Limits),
            &["A client of /srv/data on this machine itself (smbclient", "The network is not known"],
        );
        // Nothing else rests on a share: it says nothing of a drive alone.
        assert!(answers.iter().filter(|a| a.topic != Topic::Limits).all(|a| a.rests_on.is_empty()));
    }
}
