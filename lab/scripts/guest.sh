# Fetches the Debian packages of a q35's guest. Sourced by bash scripts that have `me`, `work` (a directory) and `say`.
# shellcheck shell=bash

: "${me:?}" "${work:?}"

# A separate apt state without installed packages, so that all dependencies are fetched.
private_apt() {
    apt-get -q -o Dir::State::status="$work/apt/status" -o Dir::State::lists="$work/apt/lists" \
        -o Dir::Cache="$work/apt" -o Dir::Cache::archives="$work/apt/archives" -o APT::Sandbox::User=root \
        -o APT::Install-Recommends=false -o APT::Get::List-Cleanup=false "$@" </dev/null
}

# fetch LIST: fetches the packages named in this file, their dependencies and the kernel into $work/apt/archives.
fetch() {
    local kernel
    local -a packages
    mkdir -p "$work"/apt/{lists,archives}/partial
    : >"$work/apt/status"
    {
        private_apt update
        mapfile -t packages < <(sed '/^#/d' "$1")
        private_apt install -y --download-only "${packages[@]}"
        kernel=$(apt-cache -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt" depends linux-image-amd64 |
            sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
        (cd "$work/apt/archives" && private_apt download "$kernel")
    } >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        say "the packages could not be fetched (see above)"
        exit 1
    }
}

# slim TREE: removes what no guest needs, and prints the version of its kernel.
slim() {
    local version unused
    # shellcheck disable=SC2012 # one kernel, named by us
    version=$(ls "$1/lib/modules" | head -n 1)
    rm -rf "$1"/usr/share/{doc,man,locale,info,lintian,bug} "$1/lib/modules/$version/kernel/sound"
    for unused in gpu media net/wireless net/ethernet infiniband staging iio isdn; do
        rm -rf "$1/lib/modules/$version/kernel/drivers/$unused"
    done
    echo "$version"
}

# kernel FROM TO: the kernel uncompressed, where it is compressed by xz. An emulated processor takes a third of the boot for that.
kernel() {
    local setup at length
    setup=$(od -An -tu1 -j 497 -N 1 "$1")
    at=$(($(od -An -tu4 -j 584 -N 4 "$1") + (setup + 1) * 512))
    length=$(od -An -tu4 -j 588 -N 4 "$1")
    if [ "$(od -An -tx1 -j "$at" -N 6 "$1")" = " fd 37 7a 58 5a 00" ]; then
        # Its size follows in the last four bytes.
        head -c "$((at + length))" "$1" | tail -c "$((length))" | xz -dc --single-stream >"$2"
    else
        cp "$1" "$2"
    fi
}
