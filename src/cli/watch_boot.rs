//! `drivebench watch-boot`: when another machine answers after a restart.

use std::{
    io::{self, BufRead},
    path::PathBuf,
    process::ExitCode,
    sync::mpsc::{self, Receiver},
    thread,
    time::Instant,
};

use anyhow::anyhow;

use super::{args::WatchBoot, errors::Usage, output::Output, run, signals::Signals, stored};
use crate::{
    inventory::Inventory,
    record::{End, Event, How, Start, Store, Watched},
    report::Format,
    units::duration,
    watch::{EXPERIMENT, Ports, Remote, Seen, observe, resolve},
};

pub(super) fn watch(args: &WatchBoot, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(store)?;
    let host = &args.host;
    let address = resolve(host).map_err(|e| Usage(format!("{host}: {e}")))?;
    let mut services = args.services.clone();
    services.sort();
    services.dedup();
    let signals = Signals::listen()?;
    let cancel = signals.cancel();
    let ports = Ports { ssh: args.ssh_port, http: args.http_port };
    let mut remote = Remote::new(address, ports, presses()?);
    let asked = Watched {
        host: host.clone(),
        address: address.ip().to_string(),
        by_ping: remote.pings(),
        services,
        ..Watched::default()
    };
    output.note(&format!(
        "Watching {host} ({}) for at most {}. Press Enter when you restart it or switch it on; Ctrl-C ends this.",
        address.ip(),
        duration(args.most)
    ));
    let mut tell = |seen, watched: &Watched| output.note(&describe(seen, watched));
    let watched = observe(&mut remote, asked, args.most, &|| cancel.is_set(), &mut tell);
    let complete = watched.is_complete();
    let how = match signals.code() {
        Some(_) => How::Interrupted,
        None if complete => How::Finished,
        None => How::TimeUp,
    };
    let code = signals.code().map(ExitCode::from);
    if watched.stopped.is_none() && watched.answers.is_empty() {
        // Nothing was seen, so nothing is kept.
        let seconds = duration(watched.ended);
        return code.map_or_else(
            || Err(anyhow!(
                "{host} was not seen to restart within {seconds}: check that it answers pings, or the ports of --ssh-port and --http-port"
            )),
            Ok,
        );
    }
    let name = keep(&store, watched, how)?;
    let findings = stored::findings(&store, &name)?;
    stored::show(&store, &findings, (Format::Text, false), output)?;
    Ok(code.unwrap_or(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// Receives a moment for each line of standard input.
fn presses() -> io::Result<Receiver<Instant>> {
    let (sender, pressed) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let lines = io::stdin().lock().lines();
        lines.map_while(Result::ok).try_for_each(|_| sender.send(Instant::now()))
    })?;
    Ok(pressed)
}

fn describe(seen: Seen, watched: &Watched) -> String {
    let host = &watched.host;
    match seen {
        Seen::Up => format!("  {host} answers. Restart it now."),
        Seen::Down => format!("  {host} does not answer. Switch it on now."),
        Seen::Ordered => "  Times are counted from now.".to_owned(),
        Seen::Stopped => format!("  {host} has stopped answering."),
        Seen::Answers(service) => {
            let at = watched.answer(service).map(|when| when.at).unwrap_or_default();
            let since = watched.ordered.or(watched.stopped.map(|stop| stop.after));
            let since = since.map(|from| format!(" after {}", duration(at - from))).unwrap_or_default();
            format!("  {service} answers{since}.")
        }
    }
}

fn keep(store: &Store, watched: Watched, how: How) -> anyhow::Result<String> {
    let targets = vec![watched.host.clone()];
    let start = |name| Start { targets, ..run::start(name, EXPERIMENT, Inventory::default()) };
    let end = Event::End(End { how, at: crate::run::now() });
    Ok(store.keep(start, &[Event::Watched(Box::new(watched)), end])?)
}
