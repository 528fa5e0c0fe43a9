//! exportfs, rpc.mountd and mount.nfs4: the kernel's NFS server on a network of its own, and the kernel's client of it.

use std::{ffi::OsStr, path::Path, time::Duration};

use super::{
    Query, SH, Tool,
    namespace::{HIDE, UMOUNT},
    script,
};

const EXPORTFS: Tool = Tool { name: "exportfs", package: "nfs-kernel-server" };
const MOUNTD: Tool = Tool { name: "rpc.mountd", ..EXPORTFS };
const MOUNT: Tool = Tool { name: "mount.nfs4", package: "nfs-common" };

/// All programs that are needed.
pub const TOOLS: [Tool; 5] = [EXPORTFS, MOUNTD, MOUNT, UMOUNT, SH];

/// The line that [`serve`] prints when it is ready for clients.
pub const READY: &str = "drivebench: ready";

/// Within mounts of its own: the state and the settings of another server are hidden, and the socket of the system's rpcbind, of which the kernel and rpc.mountd would
/// else remove what that server has registered. The second directory is below the first one, on another filesystem; it is seen in the third
/// one, too, of which what is put counts as stored before it is. rpc.mountd tells the kernel who may use what, and ends with the other programs
/// here; versions of NFS before 4 want more programs, and newer ones of it don't know the oldest.
const FURNISH: &str = r#"modprobe -q nfsd; modprobe -q nfs
hide /etc/nfs.conf /etc/nfs.conf.d /usr/etc/nfs.conf /usr/etc/nfs.conf.d /etc/exports /etc/exports.d /etc/hosts.allow /etc/hosts.deny
own_run && mount -t tmpfs -o mode=755,size=4M drivebench /var/lib/nfs &&
touch /var/lib/nfs/etab /var/lib/nfs/rmtab || exit
[ -d /proc/fs/nfsd ] || { echo "this kernel has no NFS server: modprobe nfsd, or restart after a kernel upgrade" >&2; exit 1; }
mount -t nfsd drivebench /proc/fs/nfsd && mkdir "$3" && mount --bind "$2" "$3" &&
exportfs -i -o "fsid=0,crossmnt,sync,$4" "*:$1" && exportfs -i -o "fsid=1,sync,$4" "*:$2" && exportfs -i -o "fsid=2,async,$4" "*:$3" || exit
[ "$(grep -c . /var/lib/nfs/etab)" = 3 ] || { echo "exportfs keeps its list elsewhere" >&2; exit 1; }
rpc.mountd -N 2 -N 3 2>/dev/null || exec rpc.mountd -N 3"#;
const EXPORTED: &str = "rw,no_root_squash,no_subtree_check,insecure";

/// Prepares the mounts of a client: they are recorded in none of the system's files, and the system's configuration is not read.
const FURNISH_CLIENT: &str = r#"own_run && mkdir "$1" || exit
hide /etc/nfsmount.conf /etc/nfsmount.conf.d /usr/etc/nfsmount.conf /usr/etc/nfsmount.conf.d"#;

/// The server's threads keep its network when nobody else uses it, so what ends them must outlast this program: it notices that its input ends.
/// Clients of before could claim what they had for some time, of which 10 s are the least; without a program that notes clients, newer kernels
/// don't end that when they are told to.
const SERVE: &str = r#"trap "" HUP INT TERM PIPE
n=/proc/fs/nfsd
put() { printf "%s\n" "$1" | tee "$n/$2" >/dev/null; }
grace() { put Y v4_end_grace 2>/dev/null || until grep -q Y $n/v4_end_grace; do sleep 0.2; done; }
put "-2 -3 +4 +4.1 +4.2" versions && put 10 nfsv4gracetime && put "tcp 2049" portlist && put 8 threads && grace && echo "drivebench: ready" && cat >/dev/null || e=1
put 0 threads; exit $e"#;

/// Prepares mounts for a server whose clients may use these directories.
pub fn furnish(room: &str, own: &str, again: &str) -> Query {
    script(&format!("{HIDE}{FURNISH}"), [room, own, again, EXPORTED]).within(Duration::from_secs(60))
}

/// Prepares mounts for a client, and makes the directory on which it mounts the server's.
pub fn furnish_client(mounted: &Path) -> Query {
    script(&format!("{HIDE}{FURNISH_CLIENT}"), [mounted])
}

/// Serves until its standard input ends; says [`READY`] before.
pub fn serve() -> Query {
    Query::new(SH, ["-c", SERVE])
}

/// Mounts a directory of the server. A server that is gone is an error after two minutes, not a program that hangs.
pub fn mount((address, port): (&str, u16), shared: &str, dir: &Path) -> Query {
    let options = format!("vers=4,proto=tcp,port={port},soft,timeo=200,retrans=2,nodev,nosuid,noexec");
    let shared = format!("{address}:/{shared}");
    let args: [&OsStr; 4] = [shared.as_ref(), dir.as_ref(), "-o".as_ref(), options.as_ref()];
    Query::new(MOUNT, args).within(Duration::from_secs(120))
}

/// The negotiated options of the mount on a directory, from `/proc/PID/mounts`: `NFS 4.2, rsize 1048576, wsize 1048576, sec sys`.
pub fn negotiated(mounts: &str, dir: &Path) -> Option<String> {
    let is_mount = |line: &&str| line.split(' ').nth(1).map(Path::new) == Some(dir);
    let options = mounts.lines().rfind(is_mount)?.split(' ').nth(3)?;
    let value =
        |name: &str| options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
    let sizes = ["rsize", "wsize", "sec"].map(|name| format!("{name} {}", value(name).unwrap_or("unknown")));
    Some(format!("NFS {}, {}", value("vers")?, sizes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that Linux 6.1 said of a client.
    #[test]
    fn what_was_negotiated_is_read() {
        let mounts = "tmpfs /mnt tmpfs rw 0 0\n192.0.2.1:/own /mnt/nfs nfs4 rw,relatime,vers=4.2,rsize=65536,wsize=65536,namlen=255,soft,proto=tcp,\
                      timeo=200,retrans=2,sec=sys,clientaddr=192.0.2.2,local_lock=none,addr=192.0.2.1 0 0\n";
        let agreed = negotiated(mounts, Path::new("/mnt/nfs"));
        assert_eq!(agreed.as_deref(), Some("NFS 4.2, rsize 65536, wsize 65536, sec sys"));
        assert_eq!(
            [negotiated(mounts, Path::new("/mnt")), negotiated("", Path::new("/mnt/nfs"))],
            [None, None]
        );
    }

    #[test]
    fn command_lines() {
        assert_eq!(
            mount(("192.0.2.1", 2049), "own", Path::new("/mnt/nfs")).to_string(),
            "mount.nfs4 192.0.2.1:/own /mnt/nfs -o vers=4,proto=tcp,port=2049,soft,timeo=200,retrans=2,nodev,nosuid,noexec"
        );
        let furnish = furnish("/mnt", "/mnt/own", "/mnt/async").to_string();
        assert!(
            furnish
                .ends_with("drivebench /mnt /mnt/own /mnt/async rw,no_root_squash,no_subtree_check,insecure"),
            "{furnish}"
        );
    }
}
