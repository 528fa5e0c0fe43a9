//! The plan of share.

use super::{
    super::{PlanError, Request, target_checks::fits},
    options,
};
use crate::{
    plan::{Act, Plan, Steps},
    share::{ManyClients, ShareRepetition, ShareTest},
    target::{Kind, Target},
    units::{KIB, RemoteDir},
};

/// Bytes of a small file: such as a document, or a photo's thumbnail.
const SMALL: u64 = 16 * KIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    let client = match ask.values.typed(&options::CLIENT).as_deref() {
        Some(clients) if ask.targets.is_empty() => return many_clients(ask, clients),
        Some([client]) => Some(client.clone()),
        None => None,
        Some(_) => {
            let why = "several clients use a share that is there: leave out the target, and name its directory on each client";
            return Err(PlanError::Options(why.to_owned()));
        }
    };
    for (at, target) in ask.targets.iter().enumerate() {
        if target.kind != Kind::Directory {
            return Err(PlanError::NoDirectory { path: target.path.clone() });
        }
        let test = ShareTest {
            rate: ask.values.typed(&options::RATE),
            protocol: ask.values.get(&options::PROTOCOL),
            client: client.clone(),
            protection: ask.values.get(&options::PROTECTION),
            bytes: ask.values.get(&options::SIZE),
            files: ask.values.get(&options::FILES),
            small: SMALL,
            clients: ask.values.get(&options::CLIENTS),
            runs: ask.values.get(&options::TIMES),
        };
        test.check().map_err(PlanError::Options)?;
        fits(target, test.on_disk())?;
        steps.add(&[at], test.clone());
        for run in 1..=test.runs {
            steps.add(&[at], ShareRepetition { run, test: test.clone() });
        }
    }
    Ok(planned(ask, steps))
}

fn planned(ask: &Request, steps: Steps) -> Plan {
    let planned = ask.planned(steps);
    let limit = planned.limit.filter(|_| ask.values.is_typed(options::MAX_TIME.name()));
    Plan { limit, engine: None, ..planned }
}

/// Clients of a share that is there.
fn many_clients(ask: &Request, clients: &[RemoteDir]) -> Result<Plan, PlanError> {
    let served = ["protocol", "files", "clients", "protection"];
    if let Some(option) = served.into_iter().find(|option| ask.values.is_typed(option)) {
        let why = format!(
            "--{option} is for a share that drivebench serves: leave it out, or name a directory to serve"
        );
        return Err(PlanError::Options(why));
    }
    let twice = |(at, client): &(usize, &RemoteDir)| clients[..*at].contains(client);
    if let Some((_, client)) = clients.iter().enumerate().find(twice) {
        return Err(PlanError::Options(format!("{client} is named twice")));
    }
    let target =
        |at: &RemoteDir| Target { given: at.to_string(), path: at.to_string().into(), ..Target::default() };
    let targets: Vec<Target> = clients.iter().map(target).collect();
    let (bytes, rounds) = (ask.values.get(&options::SIZE), ask.values.get(&options::TIMES));
    let mut steps = Steps::default();
    let all: Vec<usize> = (0..clients.len()).collect();
    let act = ManyClients { clients: clients.to_vec(), bytes, rounds };
    act.check().map_err(PlanError::Options)?;
    steps.add(&all, act);
    Ok(planned(&Request { targets, ..ask.clone() }, steps))
}
