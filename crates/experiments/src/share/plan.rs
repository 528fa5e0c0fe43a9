//! The plan of share.

use super::{
    super::{PlanError, Request, target_checks::fits},
    options,
};
use crate::{
    plan::{Plan, Steps},
    share::{Protocol, ShareRepetition, ShareTest},
    target::Kind,
    units::KIB,
};

/// Bytes of a small file: such as a document, or a photo's thumbnail.
const SMALL: u64 = 16 * KIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    let mut steps = Steps::default();
    let (protocol, client) = (ask.values.get(&options::PROTOCOL), ask.values.typed(&options::CLIENT));
    let protection = ask.values.get(&options::PROTECTION);
    if protection.is_some() && protocol != Protocol::Smb {
        let why = "--protection works with SMB only: leave out --protection, or --protocol";
        return Err(PlanError::Options(why.to_owned()));
    }
    if client.is_some() && protocol == Protocol::Nfs {
        let why = "a client on another machine can't mount anything: leave out --client, or name --protocol smb or sftp";
        return Err(PlanError::Options(why.to_owned()));
    }
    for (at, target) in ask.targets.iter().enumerate() {
        if target.kind != Kind::Directory {
            return Err(PlanError::NoDirectory { path: target.path.clone() });
        }
        let test = ShareTest {
            rate: ask.values.typed(&options::RATE),
            protocol,
            client: client.clone(),
            protection,
            bytes: ask.values.get(&options::SIZE),
            files: ask.values.get(&options::FILES),
            small: SMALL,
            clients: ask.values.get(&options::CLIENTS),
            runs: ask.values.get(&options::TIMES),
        };
        fits(target, test.on_disk()).map_err(PlanError::without_limit)?;
        steps.add(&[at], test.clone());
        for run in 1..=test.runs {
            steps.add(&[at], ShareRepetition { run, test: test.clone() });
        }
    }
    let planned = ask.planned(steps);
    let limit = planned.limit.filter(|_| ask.values.is_typed(options::MAX_TIME.name()));
    Ok(Plan { limit, engine: None, ..planned })
}
