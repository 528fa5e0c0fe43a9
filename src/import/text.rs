//! Reads line-based output: dd's summary lines and PiBenchmarks.

use super::{MOST, dd::Log, pibenchmarks::Page};
use crate::record::Imported;

pub(super) fn read(text: &str, found: &mut Imported) {
    let (mut log, mut page) = (Log::default(), Page::default());
    for (number, line) in (1..).zip(text.split('\n')) {
        // One above the limit is refused later; a hostile file could exhaust memory here.
        if found.loads.len() > MOST {
            break;
        }
        let line = line.trim_end_matches(['\r', ' ']);
        // Text before a carriage return was progress output, overwritten on the terminal.
        let (over, last) = line.rsplit_once('\r').map_or((false, line), |(_, last)| (true, last));
        let used = page.line(last, found) || !over && log.line(last, number, page.section(), found);
        if !used && !last.trim().is_empty() {
            found.left += 1;
        }
    }
    page.finish(found);
}
