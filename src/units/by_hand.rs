//! What a person types for an array that mdadm has to start anew.

/// What a person does with an array that lacks too many members: these are put together, without a write to their data until a person has
/// looked. What was left out is filled as a new one: after a wrong choice its Events are those of the others, and mdadm would trust it. `sudo` is
/// before each command.
pub fn put_together(array: &str, these: &str, sudo: &str) -> String {
    format!(
        "unmount its filesystem (if LVM or LUKS is between them: vgchange --activate n, cryptsetup close). Run `udevadm settle`, and stop each other \
         array of /proc/mdstat that holds one of the members. `{sudo}mdadm --examine MEMBER` shows the Events of each: keep what it says in a file, \
         because --force changes that. Take {these}, and none that is a spare or has a Recovery Offset. Then: {sudo}mdadm --stop {array}; {sudo}mdadm \
         --assemble --force --run --readonly {array} DRIVES. Mount it with -o ro,noload (XFS: ro,norecovery), which changes no data, and copy what \
         matters; what was written last may be missing until it is mounted as usual. For that: {sudo}mdadm --readwrite {array}. Then, for each of the \
         others, once all is copied, as a new one: {sudo}mdadm --zero-superblock MEMBER; {sudo}mdadm {array} --add MEMBER"
    )
}

/// What a person does with an array that takes no writes, though it lacks no member.
pub fn start_anew(array: &str, uuid: &str, sudo: &str) -> String {
    format!(
        "back it up. Then unmount its filesystem; {sudo}mdadm --stop {array}; {sudo}mdadm --assemble {array} --uuid={uuid}"
    )
}
