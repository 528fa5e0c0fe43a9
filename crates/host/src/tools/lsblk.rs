//! lsblk, for archives of a machine: readable without udev's database.

use super::{Query, Tool};

pub const LSBLK: Tool = Tool {
    name: "lsblk",
    package: "util-linux",
    without: "without it, an archive names filesystems from udev only",
};

pub fn all() -> Query {
    let columns = "NAME,MAJ:MIN,TYPE,SIZE,RO,ROTA,FSTYPE,LABEL,UUID,MOUNTPOINT,MODEL,SERIAL,TRAN,PKNAME";
    Query::new(LSBLK, ["--json", "--bytes", "--output", columns])
}

#[cfg(test)]
mod tests {
    #[test]
    fn requests_json() {
        assert!(super::all().to_string().starts_with("lsblk --json --bytes --output NAME,MAJ:MIN,"));
    }
}
