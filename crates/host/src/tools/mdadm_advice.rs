//! Instructions for a person who repairs an array with mdadm.

/// How to reassemble an array that lacks too many `members`. No data is written until a person has looked at it. Members that are
/// left out are added as new ones: after a wrong choice, their Events equal those of the others, and mdadm would trust them.
/// `sudo` precedes each command.
pub fn reassemble(array: &str, members: &str, sudo: &str) -> String {
    format!(
        "unmount its filesystem (if LVM or LUKS is between them: vgchange --activate n, cryptsetup close). Run `udevadm settle`, and stop each other \
         array of /proc/mdstat that holds one of the members. `{sudo}mdadm --examine MEMBER` shows the Events of each: keep its output in a \
         file, because --force changes them. Take {members}, and none that is a spare or has a Recovery Offset. Then: {sudo}mdadm --stop {array}; {sudo}mdadm \
         --assemble --force --run --readonly {array} DRIVES. `cat /proc/mdstat` has to show these and (read-only): if it shows others, which udev may \
         have added, --stop the array and assemble it again. Mount it with -o ro,noload (XFS: ro,norecovery), which changes no data, and copy what \
         matters; what was written last may be missing until it is mounted as usual. For that: {sudo}mdadm --readwrite {array}. Finally, once all is \
         copied, add each of the others as new: {sudo}mdadm --zero-superblock MEMBER; {sudo}mdadm {array} --add MEMBER"
    )
}

/// The commands that add members again to a working array, one by one, because mdadm ends at the first that it refuses. `first` are
/// commands to run before. After a wrong choice of drives with --force, mdadm would trust the changed Events.
pub fn re_add(array: &str, members: &[String], first: &[String], sudo: &str) -> String {
    let commands = |each: &dyn Fn(&String) -> String| {
        first.iter().cloned().chain(members.iter().map(each)).collect::<Vec<_>>().join("; ")
    };
    let re_add = commands(&|member| format!("{sudo}mdadm {array} --re-add {member}"));
    let add = commands(&|member| {
        format!("{sudo}mdadm --zero-superblock {member}; {sudo}mdadm {array} --add {member}")
    });
    let (pronoun, was, object) =
        if members.len() == 1 { ("it", "was", "it") } else { ("they", "were", "them") };
    format!(
        "unless {pronoun} {was} used elsewhere, or `mdadm --assemble --force` was used since {pronoun} left: {re_add}. If --force was used, and files lack the last \
         writes, or {pronoun} had more Events before that: stop the array, and assemble it with what had more. Otherwise, once all that matters is copied, \
         overwrite {object} as new: {add}"
    )
}

/// How to restart an array that accepts no writes, though no member is missing.
pub fn restart(array: &str, uuid: &str, sudo: &str) -> String {
    format!(
        "back it up. Then unmount its filesystem; {sudo}mdadm --stop {array}; {sudo}mdadm --assemble {array} --uuid={uuid}"
    )
}
