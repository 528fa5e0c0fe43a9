//! `drivebench report`: a directory with a report in HTML and Markdown.

use std::{io, path::PathBuf, process::ExitCode};

use super::{args::Report, errors::Usage, output::Output, serve, site, stored};
use crate::{
    compare::compare,
    findings::Findings,
    record::{Event, Store, keep_new_dir},
    report::{html, markdown, plot},
    sysroot::Archive,
    units::{count, decimal_bytes},
};

pub(super) fn report(args: &Report, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(store)?;
    match (&args.site, args.serve) {
        (None, _) => {}
        (Some(Some(dir)), None) => return site::site(dir, &store, output),
        (Some(None), Some(port)) => return serve::serve(port, store, output),
        (Some(_), _) => {
            return Err(Usage("--site needs either a directory, or --serve to write none".to_owned()).into());
        }
    }
    let names = stored::names(&store, &args.runs)?;
    stored::each_once(&names)?;
    let runs = names.iter().map(|run| stored::findings(&store, run));
    let mut all: Vec<Findings> = runs.collect::<anyhow::Result<_>>()?;
    let dir = args.out.clone().unwrap_or_else(|| format!("drivebench-{}", names.join("-")).into());
    let name = dir.display();
    // The comparison comes first: it is why several runs are in one report.
    let mut compared = Vec::new();
    let others = stored::others(&store, &all)?;
    for (other, second) in names.iter().zip(&all).skip(1) {
        match compare((&all[0], None), Some((second, None)), &others, false) {
            Ok(findings) => compared.push(findings),
            Err(e) => output.note(&format!("{} and {other} are not compared: {e}.", names[0])),
        }
    }
    all.splice(0..0, compared);
    if args.anonymise {
        // Short names of machines are not found in text.
        all.iter_mut().for_each(|one| one.origin.host_name = None);
        all = anonymised(&all, &store, &names)?;
    }
    let files = files(&all);
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    keep_new_dir(&dir, &files).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => {
            Usage(format!("{name} already exists: choose another directory with --out")).into()
        }
        _ => anyhow::anyhow!("{name} can't be written: {e}"),
    })?;
    output.note(&format!(
        "Wrote {name}: report.html for a browser, report.md with {} for another page, {} in all.",
        count(files.len() as u64 - 2, "picture"),
        decimal_bytes(bytes as u64)
    ));
    output.note(if args.anonymise {
        "Serials, UUIDs, hardware addresses and the host name were replaced; models, labels and paths were not: check \
         the report before you publish it."
    } else {
        "The report contains serials, paths and the name of the machine: check it before you publish it; --anonymise replaces serials."
    });
    Ok(ExitCode::SUCCESS)
}

/// Findings without what identifies the machines of these runs and their drives, as in a captured archive.
pub(super) fn anonymised(all: &[Findings], store: &Store, runs: &[String]) -> anyhow::Result<Vec<Findings>> {
    const FINDINGS: &str = "/drivebench/findings.json";
    let mut archive = Archive::default();
    for run in runs {
        // The first events describe the machine and the targets.
        let described: Vec<Event> = store.open(run)?.take(2).collect();
        archive.add_file(&format!("/drivebench/{run}.json"), serde_json::to_vec(&described)?);
    }
    archive.add_file(FINDINGS, serde_json::to_vec(all)?);
    let archive = archive.anonymise(&store.pseudonym_key()?);
    Ok(serde_json::from_slice(archive.file(FINDINGS).unwrap_or_default())?)
}

fn files(all: &[Findings]) -> Vec<(String, String)> {
    let mut files = vec![("report.html".to_owned(), html(all))];
    let mut pages = Vec::new();
    for findings in all {
        // A comparison is named `a and b`; links to pictures must not contain spaces.
        let run = findings.run.replace(' ', "-");
        let name = |i: usize| format!("{run}-{}.svg", i + 1);
        let names: Vec<String> = (0..findings.figures.len()).map(name).collect();
        pages.push(markdown(findings, &names));
        files.extend(names.into_iter().zip(findings.figures.iter().map(plot::file)));
    }
    files.push(("report.md".to_owned(), pages.join("\n")));
    files
}
