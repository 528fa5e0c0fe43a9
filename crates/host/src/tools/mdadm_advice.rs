//! Instructions for a person who repairs an array with mdadm.

/// How to reassemble an array that lacks too many members. Nothing is written to data until a person has looked at it. Members that are
/// left out are filled as new ones: after a wrong choice, their Events equal those of the others, and mdadm would trust them. `members`
/// says which ones are assembled; `sudo` precedes each command.
pub fn reassemble(array: &str, members: &str, sudo: &str) -> String {
    format!(
        "unmount its filesystem (if LVM or LUKS is between them: vgchange --activate n, cryptsetup close). Run `udevadm settle`, and stop each other \
         array of /proc/mdstat that holds one of the members. `{sudo}mdadm --examine MEMBER` shows the Events of each: keep what it says in a file, \
         because --force changes that. Take {members}, and none that is a spare or has a Recovery Offset. Then: {sudo}mdadm --stop {array}; {sudo}mdadm \
         --assemble --force --run --readonly {array} DRIVES. `cat /proc/mdstat` has to show these and (read-only): if others are in it, as udev may \
         have started them, --stop it and assemble it again. Mount it with -o ro,noload (XFS: ro,norecovery), which changes no data, and copy what \
         matters; what was written last may be missing until it is mounted as usual. For that: {sudo}mdadm --readwrite {array}. Then, for each of the \
         others, once all is copied, as a new one: {sudo}mdadm --zero-superblock MEMBER; {sudo}mdadm {array} --add MEMBER"
    )
}

/// The commands that add members again to an array that works, one after the other, because mdadm ends at the first that it refuses.
/// `first` are commands to run before. After a wrong choice of drives with --force, mdadm would trust what that has changed.
pub fn re_add(array: &str, members: &[String], first: &[String], sudo: &str) -> String {
    let commands = |each: &dyn Fn(&String) -> String| {
        first.iter().cloned().chain(members.iter().map(each)).collect::<Vec<_>>().join("; ")
    };
    let re_add = commands(&|member| format!("{sudo}mdadm {array} --re-add {member}"));
    let add = commands(&|member| {
        format!("{sudo}mdadm --zero-superblock {member}; {sudo}mdadm {array} --add {member}")
    });
    let (pronoun, was, holds) =
        if members.len() == 1 { ("it", "was", "holds") } else { ("they", "were", "hold") };
    format!(
        "unless {pronoun} {was} used elsewhere, or `mdadm --assemble --force` was used since {pronoun} left: {re_add}. If --force was used, and files lack what was \
         written last, or {pronoun} had more Events before that: stop the array, and put it together with what had more. Else, once all that matters is copied, as \
         new, which overwrites what {pronoun} {holds}: {add}"
    )
}

/// How to restart an array that accepts no writes, though no member is missing.
pub fn restart(array: &str, uuid: &str, sudo: &str) -> String {
    format!(
        "back it up. Then unmount its filesystem; {sudo}mdadm --stop {array}; {sudo}mdadm --assemble {array} --uuid={uuid}"
    )
}
