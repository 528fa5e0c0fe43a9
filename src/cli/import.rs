//! `drivebench import`: results of other tools as records.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{
    args::{Import, Way},
    errors::Usage,
    output::Output,
    pack,
    run::start,
    stored,
};
use crate::{
    findings::Column,
    import::{EXPERIMENT, Found, files},
    inventory::{Inventory, Machine},
    record::{End, Event, How, ImportOptions, Imported, Run, Start, Store},
    report::Format,
    run::now,
    units::{Direction, count},
};

/// The most skipped files that are listed by name.
const NAMED: usize = 20;

pub(super) fn import(args: &Import, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let direction = args.rw.map(|way| match way {
        Way::Read => Direction::Read,
        Way::Write => Direction::Write,
    });
    let options = ImportOptions { drive: args.drive.clone(), board: args.board.clone(), direction };
    let store = stored::store(store)?;
    let (mut packs, mut others) = (Vec::new(), Vec::new());
    for file in &args.files {
        match pack::events(file)? {
            Some(_) if options != ImportOptions::default() => {
                return Err(Usage(format!(
                    "{} says itself what was measured: leave out --drive, --board and --rw",
                    file.display()
                ))
                .into());
            }
            Some(events) if packs.iter().any(|(_, other)| *other == events) => {
                return Err(Usage(format!("{} has a run that is named twice", file.display())).into());
            }
            Some(events) => {
                pack::is_new(&events, &store)?;
                packs.push((file, events));
            }
            None => others.push(file.clone()),
        }
    }
    let found = if others.is_empty() { Found::default() } else { files(&others, &options)? };
    let mut refused: Vec<String> = found.refused.iter().map(|e| format!("{e}.")).collect();
    let _alone = if found.imported.is_empty() { None } else { Some(store.lock_for_import()?) };
    let mut earlier = earlier_imports(&store)?;
    let mut fresh = Vec::new();
    for imported in found.imported {
        match earlier.get(&(imported.bytes, imported.crc32)) {
            Some(run) => refused.push(format!("{} is identical to {run}.", imported.file)),
            None => {
                earlier.insert((imported.bytes, imported.crc32), imported.file.clone());
                fresh.push(imported);
            }
        }
    }
    list_skipped(&refused, output);
    if fresh.is_empty() && !others.is_empty() {
        let why = match refused.len() as u64 {
            0 => "no files found".to_owned(),
            n => format!("nothing was imported: {} skipped", count(n, "file")),
        };
        return Err(Usage(why).into());
    }
    for (file, events) in &packs {
        let run = pack::keep(events, &store, output)?;
        output.note(&format!("{}: imported as {run}.", file.display()));
    }
    if others.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut saved = Vec::new();
    for imported in fresh {
        let (file, loads, tool) = (imported.file.clone(), imported.loads.len(), imported.tool.clone());
        let run = keep(&store, imported, output)?;
        saved.push([run, file, loads.to_string(), tool]);
    }
    if let [[run, ..]] = &saved[..] {
        stored::show(&store, &stored::findings(&store, run)?, (Format::Text, false), output)?;
    } else {
        let columns = Column::all([("run", false), ("file", false), ("loads", true), ("tool", false)]);
        let (taken, left) = (saved.len() as u64, refused.len() as u64);
        let files: Vec<&Path> = saved.iter().map(|[_, file, ..]| Path::new(file)).collect();
        let directory = common_directory(&files).filter(|dir| dir.file_name().is_some());
        let rows = saved.iter().map(|[run, file, loads, tool]| {
            let inside = directory.and_then(|dir| Path::new(file).strip_prefix(dir).ok());
            let file = inside.map_or(file.clone(), |inside| inside.display().to_string());
            [run, &file, loads, tool].map(|cell| output.style.clean(cell)).to_vec()
        });
        output.table(columns, rows.collect())?;
        let from = directory.map(|dir| format!(" from {}", dir.display())).unwrap_or_default();
        output.note(&format!("{} imported{from}, {left} skipped.", count(taken, "file")));
    }
    Ok(ExitCode::SUCCESS)
}

/// The deepest directory that holds all these files.
fn common_directory<'a>(files: &[&'a Path]) -> Option<&'a Path> {
    let (first, rest) = files.split_first()?;
    first.ancestors().skip(1).find(|dir| rest.iter().all(|file| file.starts_with(dir)))
}

pub(super) fn list_skipped(refused: &[String], output: &Output) {
    for one in refused.iter().take(NAMED) {
        output.note(&format!("Skipped: {one}"));
    }
    if refused.len() > NAMED {
        output.note(&format!("Skipped {} more.", refused.len() - NAMED));
    }
}

/// Earlier imports: size and checksum of each file, and its run.
fn earlier_imports(store: &Store) -> anyhow::Result<HashMap<(u64, u32), String>> {
    let mut earlier = HashMap::new();
    for run in store.list()?.0.into_iter().filter(|run| run.experiment == EXPERIMENT) {
        if let Some(imported) = Run::of(store.open(&run.run)?).imported {
            let other = stored::command(store, &format!("results rm {}", run.run));
            let description = format!("{} (to import it with other options, first: {other})", run.run);
            earlier.insert((imported.bytes, imported.crc32), description);
        }
    }
    Ok(earlier)
}

fn keep(store: &Store, imported: Imported, output: &Output) -> anyhow::Result<String> {
    let board = imported.options.board.clone().or_else(|| imported.board.clone());
    let drive = imported.options.drive.clone().or_else(|| imported.drive.clone());
    let label = drive.map_or(imported.file.clone(), |drive| format!("{} ({drive})", imported.file));
    // `results --board` searches the board; nothing else is known of that machine.
    let inventory = Inventory { machine: Machine { board, ..Machine::default() }, ..Inventory::default() };
    let start = |run| Start { targets: vec![label], ..start(run, EXPERIMENT, inventory) };
    let end = Event::End(End { how: How::Finished, at: now() });
    let run = store.keep(start, &[Event::Imported(Box::new(imported)), end])?;
    stored::pack(store, &run, output);
    Ok(run)
}
