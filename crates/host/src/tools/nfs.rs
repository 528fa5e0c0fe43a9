//! exportfs, rpc.mountd and mount.nfs4: the kernel's NFS server in its own network namespace, and the kernel's client.

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

/// In a mount namespace, hides the state and settings of another server, and the socket of the system's rpcbind, because the
/// kernel and rpc.mountd would remove that server's registrations. The second directory is below the first, on another
/// filesystem. It is also seen at the third, where writes are acknowledged before they are stored. rpc.mountd tells the kernel
/// which clients may use which exports. NFS before 4 needs more programs, and newer versions of rpc.mountd reject `-N 2`.
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

/// The server's threads keep their network namespace alive, so the script that ends them must outlast this program. It waits for
/// the end of its input. Clients of an earlier server may reclaim locks for a grace period of at least 10 s. Without a program
/// that tracks clients, newer kernels don't end that period on request.
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

/// Serves until its standard input ends; prints [`READY`] first.
pub fn serve() -> Query {
    Query::new(SH, ["-c", SERVE])
}

/// Mounts a directory of the server. If the server is gone, this fails after two minutes instead of hanging.
pub fn mount((address, port): (&str, u16), shared: &str, dir: &Path) -> Query {
    let options = format!("vers=4,proto=tcp,port={port},soft,timeo=200,retrans=2,nodev,nosuid,noexec");
    let shared = format!("{address}:/{shared}");
    let args: [&OsStr; 4] = [shared.as_ref(), dir.as_ref(), "-o".as_ref(), options.as_ref()];
    Query::new(MOUNT, args).within(Duration::from_secs(120))
}

#[cfg(test)]
mod tests {
    use super::*;

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
