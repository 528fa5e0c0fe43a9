//! mdadm: arrays of the kernel's md driver.

use super::{Change, Content, Output, Query, State, Tool};
use crate::units::{KIB, Layout};

const MDADM: Tool = Tool { name: "mdadm", package: "mdadm" };

/// An array to be made. Whatever mdadm would choose by its version or configuration is given explicitly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Array<'a> {
    /// Name of the array, whose path is `/dev/md/NAME`.
    pub name: &'a str,
    pub uuid: &'a str,
    pub layout: Layout,
    /// Chunk size of striped layouts, bytes.
    pub chunk: u64,
    /// What each member contributes, bytes; `None` where members may differ.
    pub size: Option<u64>,
    /// Start of the data on a member, bytes.
    pub data_offset: u64,
    pub bitmap: bool,
}

/// The path of an array.
pub fn path(name: &str) -> String {
    format!("/dev/md/{name}")
}

/// Makes an array of the members at these paths.
pub fn create(array: &Array<'_>, members: &[String]) -> Change<Content> {
    let layout = array.layout;
    let mut args = vec![
        "--create".to_owned(),
        path(array.name),
        "--run".to_owned(),
        "--metadata=1.2".to_owned(),
        "--homehost=any".to_owned(),
        format!("--name={}", array.name),
        // mdadm reads hexadecimal digits, whatever separates them.
        format!("--uuid={}", array.uuid),
        format!("--level={layout}"),
    ];
    args.extend(
        match layout {
            // Linux 3.14 changed where raid0 puts what unequal members have beyond the smallest; this is the later way.
            Layout::Raid0 => Some("--layout=alternate"),
            Layout::Raid5 | Layout::Raid6 => Some("--layout=left-symmetric"),
            Layout::Raid10 => Some("--layout=n2"),
            Layout::Single | Layout::Linear | Layout::Raid1 => None,
        }
        .map(str::to_owned),
    );
    args.extend(layout.is_striped().then(|| format!("--chunk={}K", array.chunk / KIB)));
    args.extend(array.size.map(|bytes| format!("--size={}K", bytes / KIB)));
    args.push(format!("--data-offset={}K", array.data_offset / KIB));
    // raid0 has no bitmap, and mdadm refuses the option.
    args.extend(
        layout.is_redundant().then(|| format!("--bitmap={}", if array.bitmap { "internal" } else { "none" })),
    );
    args.push(format!("--raid-devices={}", members.len()));
    args.extend(members.iter().cloned());
    Change::of(Query::new(MDADM, args), members.iter().map(String::as_str))
}

/// Assembles the array with this UUID from its members, also if some are `missing`.
pub fn assemble(path: &str, uuid: &str, missing: bool) -> Change<State> {
    let options: &[&str] = if missing { &["--run"] } else { &[] };
    let args = ["--assemble", path, "--uuid", uuid].into_iter().chain(options.iter().copied());
    Change::of(Query::new(MDADM, args), [path])
}

/// Assembles an unclean array, whose parity may be wrong, from these members alone. By its UUID, mdadm would also take members
/// that missed writes, and call them current.
pub fn assemble_unclean(path: &str, members: &[String]) -> Change<State> {
    let args = ["--assemble", "--force", "--run", path].into_iter().chain(members.iter().map(String::as_str));
    Change::of(Query::new(MDADM, args), [path])
}

/// Stops the array at `path`; its members keep its data.
pub fn stop(path: &str) -> Change<State> {
    Change::new(MDADM, &["--stop"], path)
}

/// Makes the device at `new` a member of the array at `path`: it is filled if one is missing, or else a spare. Reads may avoid it.
pub fn add(path: &str, new: &str, keeps: MemberFlags) -> Change<Content> {
    let mostly = keeps.write_mostly.then_some("--write-mostly");
    let failfast = keeps.failfast.then_some("--failfast");
    let flags = mostly.into_iter().chain(failfast);
    Change::of(Query::new(MDADM, [path, "--add"].into_iter().chain(flags).chain([new])), [new])
}

/// Settings of a member that must be repeated when it is added again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemberFlags {
    /// Whether reads go to other members where possible.
    pub write_mostly: bool,
    /// Whether failed requests are reported without a retry.
    pub failfast: bool,
}

/// Adds the former member at `member` to the array at `path` again. With a write-intent bitmap, only what was written since is
/// copied. mdadm refuses where that is not possible.
pub fn re_add(path: &str, member: &str) -> Change<Content> {
    Change::of(Query::new(MDADM, [path, "--re-add", member]), [member])
}

/// Copies the member at `old` to the spare at `new`, which then takes its place.
pub fn replace(path: &str, old: &str, new: &str) -> Change<State> {
    Change::of(Query::new(MDADM, [path, "--replace", old, "--with", new]), [path])
}

/// Marks a member of the array at `path` as failed.
pub fn fail(path: &str, member: &str) -> Change<State> {
    Change::of(Query::new(MDADM, [path, "--fail", member]), [path])
}

/// Removes a failed member from the array at `path`.
pub fn remove(path: &str, member: &str) -> Change<State> {
    Change::of(Query::new(MDADM, [path, "--remove", member]), [path])
}

/// Lets the kernel write to the array at `path`: one that was just assembled waits for the first write, and is not filled before.
pub fn read_write(path: &str) -> Change<State> {
    Change::new(MDADM, &["--readwrite"], path)
}

/// Starts to compare the copies or the parity of the array at `path`.
pub fn check(path: &str) -> Change<State> {
    Change::new(MDADM, &["--action=check"], path)
}

pub fn unfreeze(path: &str) -> Change<State> {
    Change::new(MDADM, &["--action=idle"], path)
}

/// The superblock of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// UUID of the array, as md writes it.
    pub uuid: String,
    /// Number of changes of the array's state that the member took part in.
    pub events: u64,
    /// Whether no member was missing when it was written last.
    pub complete: bool,
    /// Whether all writes had reached the members.
    pub clean: bool,
    /// Whether the member lacks data: it is being filled, or is a spare, as which md leaves it if it can't fill it.
    pub filling: bool,
}

/// Prints the superblock of the member at `path`.
pub fn examine(path: &str) -> Query {
    Query::new(MDADM, ["--examine", path])
}

/// The superblock that [`examine`] printed; `None` if there is none. The error says why it can't be read.
pub fn superblock(output: &Output) -> Result<Option<Superblock>, String> {
    let field = |name: &str| field(&output.stdout, name);
    let Some(uuid) = field("Array UUID") else {
        let none = output.code == Some(0) || output.stderr.contains("No md superblock");
        return if none { Ok(None) } else { Err(output.complaint()) };
    };
    let events = field("Events").and_then(|events| events.parse().ok());
    let members = field("Array State").and_then(|state| state.split(' ').next());
    let (Some(events), Some(members), Some(state)) = (events, members, field("State")) else {
        return Err("mdadm --examine shows no state, events or members".to_owned());
    };
    let complete = members.chars().all(|member| member == 'A');
    let clean = state.split(' ').next() == Some("clean");
    let filling = field("Recovery Offset").is_some() || field("Device Role") == Some("spare");
    Ok(Some(Superblock { uuid: uuid.to_owned(), events, complete, clean, filling }))
}

/// Prints what the array at `path` consists of.
pub fn detail(path: &str) -> Query {
    Query::new(MDADM, ["--detail", path])
}

/// The changes of an array's state, as [`detail`] printed them.
pub fn events(output: &Output) -> Option<u64> {
    field(&output.stdout, "Events")?.parse().ok()
}

/// The UUID of an array, as [`detail`] printed it.
pub fn uuid(output: &Output) -> Option<&str> {
    field(&output.stdout, "UUID")
}

/// The value of a line such as `         Events : 60`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(" : "));
    fields.find(|(field, _)| field.trim() == name).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(code: i32, stdout: &str, stderr: &str) -> Output {
        Output { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    /// Output of several versions, published by users or captured in the lab.
    #[test]
    fn superblocks_and_events_of_captured_arrays() {
        let text = include_str!("fixtures/mdadm.txt");
        let parts = text.strip_prefix("== ").expect("a name").split("\n== ");
        let lines: Vec<String> = parts
            .map(|part| {
                let (name, shown) = part.split_once('\n').expect("a name");
                let shown = printed(0, shown, "");
                format!("{name}: {:?}, {:?}", superblock(&shown), events(&shown))
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_partition_without_a_superblock_is_told_from_one_that_can_t_be_read() {
        let none = printed(1, "", "mdadm: No md superblock detected on /dev/sdb1.\n");
        assert_eq!(superblock(&none), Ok(None));
        let table = printed(
            0,
            "/dev/sda:\n   MBR Magic : aa55\nPartition[0] :   4294967295 sectors at            1 (type ee)\n",
            "",
        );
        assert_eq!(superblock(&table), Ok(None));
        let denied = printed(1, "", "mdadm: cannot open /dev/sdb1: Permission denied\n");
        assert_eq!(superblock(&denied), Err("mdadm: cannot open /dev/sdb1: Permission denied".to_owned()));
        superblock(&printed(0, "     Array UUID : 1\n         Events : 2\n", ""))
            .expect_err("it was cut off");
        assert_eq!(events(&denied), None);
    }

    #[test]
    fn command_lines() {
        let array = |layout: Layout| Array {
            name: "data",
            uuid: "053f7e0e:069fb954:415c8744:bbe3e33b",
            layout,
            chunk: 512 * KIB,
            size: layout.is_redundant().then_some(60 << 30),
            data_offset: 32 << 20,
            bitmap: layout != Layout::Raid5,
        };
        let members = ["a", "b", "c", "d"].map(|letter| format!("/dev/sd{letter}1"));
        let mut lines = Layout::ALL[1..]
            .iter()
            .map(|layout| create(&array(*layout), &members).to_string())
            .collect::<Vec<_>>();
        let array = "/dev/md/data";
        lines.extend([
            assemble(array, "053f7e0e:069fb954:415c8744:bbe3e33b", true).to_string(),
            assemble_unclean(array, &["/dev/sda1".to_owned(), "/dev/sdb1".to_owned()]).to_string(),
            stop(array).to_string(),
            add(array, "/dev/sde1", MemberFlags::default()).to_string(),
            add(array, "/dev/sde1", MemberFlags { write_mostly: true, failfast: true }).to_string(),
            re_add(array, "/dev/sde1").to_string(),
            replace(array, "/dev/sda1", "/dev/sde1").to_string(),
            remove(array, "/dev/sda1").to_string(),
            check(array).to_string(),
            examine("/dev/sde1").to_string(),
            detail(array).to_string(),
        ]);
        insta::assert_snapshot!(lines.join("\n"));
    }
}
