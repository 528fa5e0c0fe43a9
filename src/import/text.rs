//! What is told line by line: dd's last lines, and all that PiBenchmarks prints.

use super::{MOST, dd::Log, pibenchmarks::Page};
use crate::record::Imported;

/// Reads every line; those that are nobody's are counted.
pub(super) fn read(text: &str, found: &mut Imported) {
    let (mut log, mut page) = (Log::default(), Page::default());
    for (number, line) in (1..).zip(text.split('\n')) {
        // One too many is refused; all of a hostile file would not fit into the memory of a small board.
        if found.loads.len() > MOST {
            break;
        }
        let line = line.trim_end_matches(['\r', ' ']);
        // A carriage return draws over what stood there: it was not the last word.
        let (over, last) = line.rsplit_once('\r').map_or((false, line), |(_, last)| (true, last));
        let used = page.line(last, found) || !over && log.line(last, number, page.section(), found);
        if !used && !last.trim().is_empty() {
            found.left += 1;
        }
    }
    page.finish(found);
}
