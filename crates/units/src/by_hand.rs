//! What a person types for an array that mdadm has to start anew.

/// What a person does with an array that lacks too many members: these are put together, without a write to their data until a person has
/// looked. What was left out is filled as a new one: after a wrong choice its Events are those of the others, and mdadm would trust it. `sudo` is
/// before each command.
pub fn put_together(array: &str, these: &str, sudo: &str) -> String {
    format!(
        "unmount its filesystem (if LVM or LUKS is between them: vgchange --activate n, cryptsetup close). Run `udevadm settle`, and stop each other \
         array of /proc/mdstat that holds one of the members. `{sudo}mdadm --examine MEMBER` shows the Events of each: keep what it says in a file, \
         because --force changes that. Take {these}, and none that is a spare or has a Recovery Offset. Then: {sudo}mdadm --stop {array}; {sudo}mdadm \
         --assemble --force --run --readonly {array} DRIVES. `cat /proc/mdstat` has to show these and (read-only): if others are in it, as udev may \
         have started them, --stop it and assemble it again. Mount it with -o ro,noload (XFS: ro,norecovery), which changes no data, and copy what \
         matters; what was written last may be missing until it is mounted as usual. For that: {sudo}mdadm --readwrite {array}. Then, for each of the \
         others, once all is copied, as a new one: {sudo}mdadm --zero-superblock MEMBER; {sudo}mdadm {array} --add MEMBER"
    )
}

/// The commands that give members back to an array that works, one after the other: mdadm ends with the first that it refuses. `first` is what has to be
/// stopped before. What a wrong choice of drives has changed by --force, mdadm would trust.
pub fn give_back(array: &str, members: &[String], first: &[String], sudo: &str) -> String {
    let commands = |each: &dyn Fn(&String) -> String| {
        first.iter().cloned().chain(members.iter().map(each)).collect::<Vec<_>>().join("; ")
    };
    let re_add = commands(&|member| format!("{sudo}mdadm {array} --re-add {member}"));
    let add = commands(&|member| {
        format!("{sudo}mdadm --zero-superblock {member}; {sudo}mdadm {array} --add {member}")
    });
    let (it, was, holds) = if members.len() == 1 { ("it", "was", "holds") } else { ("they", "were", "hold") };
    format!(
        "unless {it} {was} used elsewhere, or `mdadm --assemble --force` was used since {it} left: {re_add}. If --force was used, and files lack what was \
         written last, or {it} had more Events before that: stop the array, and put it together with what had more. Else, once all that matters is copied, as \
         new, which overwrites what {it} {holds}: {add}"
    )
}

/// What a person does with an array that takes no writes, though it lacks no member.
pub fn start_anew(array: &str, uuid: &str, sudo: &str) -> String {
    format!(
        "back it up. Then unmount its filesystem; {sudo}mdadm --stop {array}; {sudo}mdadm --assemble {array} --uuid={uuid}"
    )
}
