//! Clients on other machines, each with a server of fio, which this machine starts all at once.

use std::{
    env,
    io::Error,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Instant,
};

use super::{
    WORDS, ended,
    file_server::write,
    remote::{Remote, is_own},
};
use crate::{
    engine::Cancel,
    run::{self, Folder, Journal, RunError},
    share::{Busy, ClientLoad, ClientResult, ManyClients, PROCESSOR},
    tools::{
        Runner, System,
        fio::{self, FioRun},
        ssh,
    },
};

/// A client that is connected.
struct Client {
    socket: PathBuf,
    remote: Remote,
}

/// Runs all rounds, and adds what they found to the results. The first failure ends them: fewer clients would each get more.
pub(in super::super) fn with_clients(
    act: &ManyClients,
    results: &mut [ClientResult],
    journal: &Journal,
    cancel: &Cancel,
    says: &mut dyn FnMut(&str),
) -> Result<(), RunError> {
    let tools = System::default();
    let version = tools.ask(&fio::version())?.stdout.trim().to_owned();
    // It has the sockets and the jobs, and is removed after the connections have ended.
    let mut folder = Folder::create(&env::temp_dir(), journal, 0)
        .map_err(|source| RunError::Folder { dir: env::temp_dir(), source })?;
    folder.will_have(act.clients.len() as u64 + 2).map_err(RunError::Journal)?;
    let numbered = |number: usize| folder.path().join(number.to_string());
    let (mut clients, mut is_server) = (Vec::new(), true);
    for (at, (url, result)) in act.clients.iter().zip(&mut *results).enumerate() {
        says(&format!("connecting to {}", url.host()));
        let (name, socket) = (format!("drivebench-{}", run::uuid()?), numbered(at));
        let query = ssh::fio_client(url, &name, &socket);
        match Remote::connect(url, name, &query, &tools, cancel) {
            Err(e) => result.failed = Some(ended(e, cancel).to_string().chars().take(WORDS).collect()),
            Ok((remote, _)) if remote.fio != version => {
                let other: String = remote.fio.chars().take(WORDS).collect();
                let install = "install the same version on both";
                result.failed = Some(format!("it has {other}, this machine {version}: {install}"));
            }
            Ok((remote, _)) if is_local(&remote.mount) => {
                result.failed = Some("its directory is on a drive of its own, not on a share".to_owned());
            }
            Ok((remote, _)) => {
                let (mount, address) = mount(&remote.mount);
                is_server &= address.is_some_and(|address| !address.is_loopback() && is_own(address));
                result.about = format!("{}, {version}", mount.chars().take(WORDS).collect::<String>());
                clients.push(Client { socket, remote });
            }
        }
    }
    if clients.len() < results.len() {
        return if cancel.is_set() { Err(ended(RunError::Interrupted, cancel)) } else { Ok(()) };
    }
    let jobs = [true, false].map(|writes| (writes, numbered(act.clients.len() + usize::from(writes))));
    for (writes, path) in &jobs {
        write(path, &job(act.bytes, *writes))?;
    }
    // The first round makes the files, and does not count.
    for round in 0..=act.rounds {
        for (writes, job) in &jobs {
            let what = format!("{}, round {round} of {}", if *writes { "write" } else { "read" }, act.rounds);
            says(&what);
            let loads = at_once(act, (*writes, job), &mut clients, is_server, &tools, cancel);
            let loads = loads.map_err(|e| ended(e, cancel))?;
            let whole = loads.iter().all(Result::is_ok);
            for (result, load) in results.iter_mut().zip(loads) {
                match load {
                    Ok(load) if whole && round > 0 => result.loads.push(ClientLoad { round, ..load }),
                    Ok(_) => {}
                    Err(why) => result.failed = Some(format!("{what}: {why}").chars().take(WORDS).collect()),
                }
            }
            if !whole {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Type and source of a mounted filesystem, and the server's address, from a line of findmnt: an option, or what sshfs was given,
/// if that is no name.
fn mount(line: &str) -> (String, Option<IpAddr>) {
    let mut words = line.split_whitespace();
    let [kind, source, options] = [(); 3].map(|()| words.next().unwrap_or_default());
    let address = match kind {
        "fuse.sshfs" => source.rsplit_once(':').and_then(|(login, _)| login.rsplit('@').next()),
        _ => options.split(',').find_map(|one| one.strip_prefix("addr=")),
    };
    (format!("{kind} {source}"), address.and_then(|text| text.trim_matches(['[', ']']).parse().ok()))
}

/// Whether a line of findmnt names a filesystem on drives of that machine. Cluster filesystems share theirs.
fn is_local(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let shares_drives = words.next().is_some_and(|kind| ["gfs2", "ocfs2"].contains(&kind));
    !shares_drives && words.next().is_some_and(|source| source.starts_with("/dev/"))
}

/// A job that runs in the directory of fio's server, on threads, so that it ends with the server.
fn job(bytes: u64, writes: bool) -> String {
    let kind = if writes { "write\nend_fsync=1" } else { "read" };
    format!(
        "[drivebench]\nrw={kind}\nfilename=0\nunique_filename=0\nsize={bytes}\nbs=1M\nioengine=psync\nfallocate=none\nthread\n"
    )
}

/// One direction of a round: what each client did, or why it failed.
fn at_once(
    act: &ManyClients,
    (writes, job): (bool, &Path),
    clients: &mut [Client],
    is_server: bool,
    tools: &System,
    cancel: &Cancel,
) -> Result<Vec<Result<ClientLoad, String>>, RunError> {
    let stop = || cancel.is_set();
    // Of the clients, and of this machine if it serves.
    let look = |clients: &mut [Client]| -> Vec<Result<Vec<String>, RunError>> {
        let each = clients.iter_mut().map(|client| client.remote.counters(&stop));
        let here = || Ok(tools.ask(&ssh::counters_here())?.stdout.lines().map(str::to_owned).collect());
        each.chain(is_server.then(here)).collect()
    };
    let (since, before) = (Instant::now(), look(clients));
    let mut output = String::new();
    let run = FioRun::on_servers(job, clients.iter().map(|client| &*client.socket));
    let said = run.run(tools, &stop, &mut |line| output.extend([line, "\n"]))?;
    if cancel.is_set() {
        return Err(RunError::Interrupted);
    }
    // What it printed before it crashed may be any server's.
    if said.code.is_none() {
        return Err(RunError::Act(format!("fio of this machine: {}", said.complaint())));
    }
    let after = look(clients);
    let window = since.elapsed().as_secs_f64();
    let mut watched: Vec<_> =
        before.into_iter().zip(after).map(|(before, after)| Ok((before?, after?))).collect();
    let here = if is_server { watched.pop() } else { None };
    let jobs: Vec<_> =
        clients.iter().map(|client| fio::server_job(&output, &client.socket, writes)).collect();
    let seconds = |ms: u64| ms.max(1) as f64 / 1e3;
    let slowest = seconds(jobs.iter().flatten().map(|(.., ms)| *ms).max().unwrap_or(0));
    let here = here.and_then(Result::ok).map(|both| busy(&both, slowest, window)).unwrap_or_default();
    let load = |watched: Result<(Vec<String>, Vec<String>), RunError>, job: Option<(i32, u64, u64)>| {
        let both = watched.map_err(|e| e.to_string())?;
        let (error, bytes, ms) = job.ok_or("its fio has ended, or is not reached")?;
        match error {
            0 if bytes == act.bytes => {
                let (seconds, server) = (seconds(ms), here.clone());
                let client = busy(&both, seconds, window);
                let load = ClientLoad { round: 0, writes, bytes, seconds, client, server };
                load.is_plausible()
                    .then_some(load)
                    .ok_or("its fio reports a time that no drive can take".to_owned())
            }
            0 => Err(format!("fio moved {bytes} of {} bytes", act.bytes)),
            error => Err(Error::from_raw_os_error(error).to_string()),
        }
    };
    Ok(watched.into_iter().zip(jobs).map(|(watched, job)| load(watched, job)).collect())
}

/// How busy parts were in a transfer that took so long, which is less than the window between both looks. Drives and links are taken
/// to be idle for the rest of it; processors may have been busy.
fn busy((before, after): &(Vec<String>, Vec<String>), seconds: f64, window: f64) -> Busy {
    let counter = |line: &str| -> Option<([f64; 2], f64, String)> {
        let mut words = line.splitn(4, ' ');
        let [least, most, full] = [words.next()?, words.next()?, words.next()?].map(|word| word.parse().ok());
        let part = words.next().filter(|part| is_part(part))?;
        Some(([least?, most?], full?, part.to_owned()))
    };
    let mut busy = Busy::new();
    for (before, after) in before.iter().zip(after).take(MOST_PARTS) {
        let Some(((from, _, old), (to, full, part))) = counter(before).zip(counter(after)) else { continue };
        if old == part {
            let outside = if part == PROCESSOR { (window - seconds).max(0.0) } else { 0.0 };
            let used = [(to[0] - from[0]) / full - outside, (to[1] - from[1]) / full];
            let [least, most] = used.map(|used| (used / seconds).clamp(0.0, 1.0));
            let all = busy.entry(part).or_default();
            *all = [all[0].max(least), all[1].max(most)];
        }
    }
    busy.retain(|_, [_, most]| *most > 0.0);
    busy
}

/// Parts of a machine that are watched: a client could report any number.
const MOST_PARTS: usize = 1024;

/// Whether a client says nothing but the name of one of its parts.
fn is_part(text: &str) -> bool {
    let name = text.strip_prefix("the link ").or(text.strip_prefix("the drive "));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:!@".contains(c);
    text == PROCESSOR || name.is_some_and(|name| (1..=32).contains(&name.len()) && name.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_parts_are_those_of_the_transfer() {
        let look = |first: u64, sent: u64, drive: u64| {
            let lines = format!(
                "0 {first} 100 the drive sdb of b, full\n{first} {first} 100 a processor\n7 7 100 a processor\n{sent} {sent} 12500000 the link eth0\n{drive} {} 1000 the drive sda\nodd",
                2 * drive
            );
            lines.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let both = (look(100, 500, 1000), look(250, 23_750_500, 2000));
        let parts = |seconds| {
            let found = busy(&both, seconds, 3.0).into_iter();
            found.map(|(part, [least, most])| format!("{part} {least:.3} {most:.3}")).collect::<Vec<_>>()
        };
        assert_eq!(
            parts(2.8),
            ["a processor 0.464 0.536", "the drive sda 0.357 0.714", "the link eth0 0.679 0.679"]
        );
        assert_eq!(
            parts(1.0),
            ["a processor 0.000 1.000", "the drive sda 1.000 1.000", "the link eth0 1.000 1.000"]
        );
    }

    #[test]
    fn this_machine_counts_its_processors() {
        let said = System::default().ask(&ssh::counters_here()).expect("runs");
        assert_eq!(said.code, Some(0));
        let look: Vec<String> = said.stdout.lines().map(str::to_owned).collect();
        let processors = look.iter().filter(|line| line.ends_with(PROCESSOR)).count();
        assert_eq!(
            Some(processors),
            std::thread::available_parallelism().ok().map(|n| n.get().max(processors))
        );
        assert!(processors > 0);
        assert_eq!(busy(&(look.clone(), look), 1.0, 1.0), Busy::new());
    }

    #[test]
    fn the_server_is_known_where_the_kernel_names_its_address() {
        let of = |line: &str| mount(line).1.map(|address| address.to_string());
        let nfs = "nfs4 192.168.1.5:/srv rw,relatime,vers=4.2,proto=tcp,clientaddr=192.168.1.7,local_lock=none,addr=192.168.1.5";
        assert_eq!(
            (mount(nfs).0.as_str(), of(nfs).as_deref()),
            ("nfs4 192.168.1.5:/srv", Some("192.168.1.5"))
        );
        let smb = of("cifs //nas/data rw,vers=3.1.1,cache=strict,username=pi,addr=fd00::5,file_mode=0755");
        assert_eq!(smb.as_deref(), Some("fd00::5"));
        let sshfs =
            |source| of(&format!("fuse.sshfs {source} rw,nosuid,nodev,relatime,user_id=0,group_id=0"));
        assert_eq!(sshfs("pi@192.168.1.5:/srv").as_deref(), Some("192.168.1.5"));
        assert_eq!(sshfs("[fd00::5]:").as_deref(), Some("fd00::5"));
        assert_eq!(
            [sshfs("nas:/srv"), of("ceph 10.0.0.1:6789:/ rw,name=a"), of("ext4 /dev/vda rw"), of("")],
            [None, None, None, None]
        );
        assert!(is_local("ext4 /dev/vda[/srv] rw") && !is_local("ocfs2 /dev/sdb1 rw"));
        assert!(!is_local(nfs) && !is_local("fuse.sshfs pi@a:/dev/ rw") && !is_local(""));
    }
}
