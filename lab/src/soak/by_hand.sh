# What a person does to time a share: SMB, NFS and SFTP between two networks of this machine, by the usual programs. First `begin RATE`, once;
# then `time_PROTOCOL DIR`, which says lines such as `put 3.2`, in seconds, of the file /work/client/big.
ip=/bin/ip tc=/sbin/tc far="nsenter --net=/run/netns/hand"
client=/work/client mounted=/work/mounted smb=/work/hand-smb ssh=/work/hand-ssh

begin() {
    limit="root tbf rate $1bit burst 3200 latency 50ms overhead 24"
    mkdir -p $mounted $smb $ssh && chmod 700 $ssh
    $ip netns add hand
    $ip link add hand0 type veth peer name hand1 netns hand
    $ip address add 10.77.0.1/24 dev hand0 && $ip link set hand0 up
    $ip -n hand address add 10.77.0.2/24 dev hand1 && $ip -n hand link set hand1 up
    # shellcheck disable=SC2086 # words
    $tc qdisc add dev hand0 $limit && $far $tc qdisc add dev hand1 $limit
}

# What a command takes.
seconds() {
    since=$(/bin/date +%s.%N)
    eval "$1" >&2
    echo "$since $(/bin/date +%s.%N)" | awk '{printf "%.3f\n", $2 - $1}'
}

less() { [ -n "$1" ] && [ -n "$2" ] && echo "$1 $2" | awk '{printf "%.3f\n", $1 - $2}'; }

cold() { sync && echo 1 >/proc/sys/vm/drop_caches; }

same() { cmp $client/big $client/got && rm $client/got; }

serve_smb() {
    [ -e $smb/conf ] && return
    cat >$smb/conf <<X
[global]
server role = standalone server
smb ports = 4450
private dir = $smb
lock directory = $smb
state directory = $smb
cache directory = $smb
pid directory = $smb
ncalrpc dir = $smb
log file = $smb/log
passdb backend = tdbsam:$smb/passdb.tdb
disable netbios = yes
[hand]
path = $1
read only = no
X
    printf 'username=root\npassword=p\n' >$smb/login
    printf 'p\np\n' | pdbedit --configfile $smb/conf --create --password-from-stdin --user root >&2
    smbd --configfile $smb/conf -D
}

serve_nfs() {
    [ -e /proc/fs/nfsd/threads ] && return
    mount -t nfsd nfsd /proc/fs/nfsd
    mkdir -p /var/lib/nfs && mount -t tmpfs tmpfs /var/lib/nfs && touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,sync,fsid=0 "*:$1"
    rpc.mountd -N 2 -N 3 2>/dev/null || rpc.mountd -N 3
    echo "-2 -3 +4" >/proc/fs/nfsd/versions
    echo 10 >/proc/fs/nfsd/nfsv4gracetime
    echo "tcp 2049" >/proc/fs/nfsd/portlist
    echo 8 >/proc/fs/nfsd/threads
    until grep -q Y /proc/fs/nfsd/v4_end_grace; do usleep 200000; done
}

serve_sftp() {
    [ -e $ssh/conf ] && return
    ssh-keygen -q -t ed25519 -N '' -f $ssh/host && ssh-keygen -q -t ed25519 -N '' -f $ssh/key
    echo "* $(cat $ssh/host.pub)" >$ssh/known
    # An account that is not locked.
    echo 'root:*:1:0:99999:7:::' >$ssh/shadow && mount --bind $ssh/shadow /etc/shadow
    mkdir -p /run/sshd
    cat >$ssh/conf <<X
ListenAddress 10.77.0.1:2222
HostKey $ssh/host
AuthorizedKeysFile $ssh/key.pub
StrictModes no
UsePAM no
Subsystem sftp internal-sftp
X
    /usr/sbin/sshd -f $ssh/conf
}

# Programs that connect, do one thing, and end. What starting them and connecting takes is left out.
smbclient_does() {
    (cd $client && $far smbclient //10.77.0.1/hand --configfile $smb/conf -p 4450 -A $smb/login -c "$1")
}

sftp_does() {
    (cd $client && echo "$1" | $far sftp -q -P 2222 -b - -o IdentityFile=$ssh/key -o UserKnownHostsFile=$ssh/known "root@10.77.0.1:$2")
}

time_program() {
    cold
    connects=$(seconds "$1 pwd $2; sync -f $client")
    cold
    echo "put $(less "$(seconds "$1 'put big 0' $2; sync -f $2")" "$connects")"
    cold
    connects=$(seconds "$1 pwd $2")
    cold
    echo "get $(less "$(seconds "$1 'get 0 got' $2")" "$connects")"
    same && rm "$2/0"
}

time_smb() {
    serve_smb "$1"
    time_program smbclient_does "$1"
}

time_sftp() {
    serve_sftp
    time_program sftp_does "$1"
}

# The shell's own cp sends pieces of another size than that of coreutils.
time_mounted() {
    : >$client/none
    nothing="/bin/cp $client/none $client/as-none"
    cold
    $1
    # The first time reads the programs, which are no longer in memory.
    $nothing && sync -f $client
    starts=$(seconds "$nothing; sync -f $client")
    echo "put $(less "$(seconds "/bin/cp $client/big $mounted/0; sync -f $2")" "$starts")"
    umount $mounted && cold
    $1
    $nothing
    starts=$(seconds "$nothing")
    echo "get $(less "$(seconds "/bin/cp $mounted/0 $client/got")" "$starts")"
    same
    umount $mounted && rm "$2/0"
}

time_nfs() {
    serve_nfs "$1"
    time_mounted "$far mount.nfs4 10.77.0.1:/ $mounted -o vers=4,soft" "$1"
}
