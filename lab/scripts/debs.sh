# Fetches Debian packages without installing them: apt fetches and checks them with separate state, then they are unpacked
# into a cache. The host's sources, keys and proxy settings are used; its package lists and database are not touched.
# Sourced by bash scripts that have `me` (the name that messages begin with) and scripts/toolchain.sh's `say` and `fail`.
# Packages are for amd64 and for one more architecture: `foreign`, or else arm64. Another one needs a cache of its own, so
# `cache_name` is set with it. `apt_settings` are more lines for apt.conf.
# shellcheck shell=bash

: "${me:?}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/${cache_name:-drivebench-lab}
apt_conf=$cache/apt/apt.conf

# Creates the state, and refreshes the lists once a day. Holds the cache's lock until the script ends.
debs_prepare() {
    local program
    for program in apt-get apt-cache dpkg-deb flock; do
        command -v "$program" >/dev/null || fail "$program is missing; the lab is made from Debian packages, on Debian 12 or later"
    done
    [ "$(dpkg --print-architecture)" = amd64 ] || fail "this host is $(dpkg --print-architecture); only amd64 is prepared"
    mkdir -p "$cache/apt/state/lists/partial" "$cache/apt/archives/partial" || fail "can't write in $cache; XDG_CACHE_HOME=DIR puts it elsewhere"
    exec 8>>"$cache/lock"
    flock -n 8 || { say "waiting for another that works in $cache" && flock 8; }
    : >"$cache/apt/status"
    # These hooks clean the host's caches, which are not used here.
    cat >"$apt_conf" <<-END
		Dir::State "$cache/apt/state";
		Dir::State::status "$cache/apt/status";
		Dir::Cache "$cache/apt";
		Dir::Cache::pkgcache "pkgcache.bin";
		Dir::Cache::srcpkgcache "srcpkgcache.bin";
		APT::Architectures { "amd64"; "${foreign:-arm64}"; };
		APT::Sandbox::User "root";
		${apt_settings-}
		Acquire::Languages "none";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
	END
    if [ -z "$(find "$cache/apt/lists.stamp" -mmin -1440 2>/dev/null)" ]; then
        if apt-get -c "$apt_conf" -q update >&2; then
            touch "$cache/apt/lists.stamp"
        elif [ -e "$cache/apt/lists.stamp" ]; then
            say "apt could not refresh its lists (see above); going on with those of $(date -r "$cache/apt/lists.stamp" '+%F %R')"
        elif apt-cache -c "$apt_conf" policy | grep -q ' Packages$'; then
            say "apt could not fetch all lists (see above); going on with the others"
        else
            fail "apt could not fetch its lists (see above); is there a connection, and are there sources in /etc/apt?"
        fi
    fi
}

# candidate PACKAGE[:ARCH]: the version apt would install; empty if there is none.
candidate() {
    apt-cache -c "$apt_conf" policy "$1" | sed -n 's/^ *Candidate: *//p' | grep -vFx '(none)' || true
}

# closure ARCH PACKAGE...: these and all their dependencies, one PACKAGE:ARCH per line.
closure() {
    local arch=$1
    shift
    apt-cache -c "$apt_conf" -o APT::Architecture="$arch" depends --recurse --important "${@/%/:$arch}" |
        sed -n 's/^\([a-z0-9][^: ]*\)\(:'"$arch"'\)\?$/\1:'"$arch"'/p' | sort -u
}

# unpacked NAME PACKAGE:ARCH... [-- FILE...]: sets `unpacked` to a directory in the cache, made if need be, that holds these
# packages in their current versions; a new one if a FILE changes. The function check_NAME DIR, if defined, can reject
# a new directory. Directories that were not used for a week are removed.
unpacked() {
    local name=$1 package versions sum work deb
    local -a packages=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        packages+=("$1")
        shift
    done
    [ $# = 0 ] || shift
    versions=$(apt-cache -c "$apt_conf" policy "${packages[@]}" | awk '
        /^[^ ]/ { name = $1; sub(/:$/, "", name) }
        /^ *Candidate:/ && $2 != "(none)" { print name "=" $2 }' | sort)
    for package in "${packages[@]}"; do
        case $'\n'$versions in
        *$'\n'"${package%:*}"[:=]*) ;;
        *) fail "apt has no package $package; the lab needs Debian 12 or later with its security updates in /etc/apt" ;;
        esac
    done
    sum=$({
        echo "$versions"
        if [ $# -gt 0 ]; then cat -- "$@"; fi
    } | sha256sum)
    unpacked=$cache/$name-${sum:0:12}
    if ! [ -e "$unpacked/versions" ]; then
        say "fetching ${#packages[@]} packages into $unpacked"
        work=$(mktemp -d "$cache/apt/$name.XXXXXX")
        # shellcheck disable=SC2064 # this directory, now
        trap "rm -rf '$work'" EXIT
        mkdir "$work/debs" "$work/tree"
        # shellcheck disable=SC2086 # a list
        (cd "$work/debs" && apt-get -c "$apt_conf" -q download $versions >&2) || fail "apt could not fetch them (see above)"
        for deb in "$work"/debs/*.deb; do
            dpkg-deb -x "$deb" "$work/tree"
        done
        rm -rf "$work/tree/usr/share/doc" "$work/tree/usr/share/man" "$work/tree/usr/share/locale"
        if declare -F "check_$name" >/dev/null; then "check_$name" "$work/tree"; fi
        echo "$versions" >"$work/tree/versions"
        rm -rf "$unpacked"
        mv "$work/tree" "$unpacked"
        rm -rf "$work"
        trap - EXIT
    fi
    touch "$unpacked/versions"
    for work in "$cache/$name"-*; do
        if [ -n "$(find "$work" -maxdepth 0 -type d -mtime +7)" ] && [ -z "$(find "$work/versions" -mtime -7 2>/dev/null)" ]; then
            rm -rf "$work"
        fi
    done
}
