//! Incomplete and hostile files: refused with a reason, in a time that grows with their size.

use super::{ContentError, MOST, read};
use crate::record::ImportOptions;

#[test]
fn an_incomplete_document_is_refused_with_its_end() {
    let whole = include_bytes!("../../../tests/fixtures/import/fio-2.2.10.json");
    let end = whole.iter().rposition(|b| *b == b'}').expect("an end");
    for cut in whole.iter().position(|b| *b == b':').expect("a colon")..=end {
        let e = read(&whole[..cut], &ImportOptions::default()).expect_err("half a document");
        assert_eq!(e, ContentError::CutOff { line: 1, at: cut as u64 }, "cut at {cut}");
    }
}

#[test]
fn nul_bytes_are_refused() {
    let text = include_str!("../../../tests/fixtures/import/fio-3.1.txt");
    let read = |bytes: &[u8]| read(bytes, &ImportOptions::default());
    // What a power cut leaves of a file, and a result between.
    for (zeros, line) in [("\0".repeat(4096), 1), (format!("{text}\0\0"), 1 + text.lines().count() as u64)] {
        assert_eq!(read(zeros.as_bytes()), Err(ContentError::Nul { line }));
    }
}

#[test]
fn reading_time_is_linear_in_the_size_of_hostile_files() {
    // Parsing to the end from every brace would take hours.
    for line in ["just a line of some log\n", "{ \"fio\": [\n", "\u{1b}[1;31m{\r{\n"] {
        let text = line.repeat(4_000_000 / line.len());
        assert!(
            matches!(read(text.as_bytes(), &ImportOptions::default()), Err(ContentError::Unknown { .. })),
            "{line}"
        );
    }
    let many = "1000000 bytes copied, 1 s, 1.0 MB/s\n".repeat(MOST + 1);
    assert_eq!(read(many.as_bytes(), &ImportOptions::default()), Err(ContentError::TooMany));
    let document = "{\"fio version\": \"fio-3.1\", \"jobs\": [{\"read\": {\"io_bytes\": 9, \"bw_bytes\": 9, \"runtime\": 1000}}]}\n";
    assert_eq!(
        read(document.repeat(MOST + 1).as_bytes(), &ImportOptions::default()),
        Err(ContentError::TooMany)
    );
    let jobs = "{\"groupid\": 1, \"error\": 5},".repeat(MOST * 10);
    let many = format!("{{\"fio version\": \"x\", \"jobs\": [{jobs}{{}}]}}");
    assert_eq!(read(many.as_bytes(), &ImportOptions::default()), Err(ContentError::TooMany));
}
