# Finds what a build needs, and brings through apt what is missing. Sourced by ./drivebench, ./test and .ci/run,
# which set `root` (the checkout) and `me` (the name that messages begin with).
# shellcheck shell=sh

: "${root:?}" "${me:?}"
wanted=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' "$root/Cargo.toml")

say() {
    printf '%s: %s\n' "$me" "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# new_enough VERSION...: each is 1.N or later, N being Cargo.toml's rust-version. `cargo 1.85.0 (...)` will do.
new_enough() {
    for version; do
        minor=${version#*1.}
        minor=${minor%%[!0-9]*}
        case $version in 1.* | *" 1."*) ;; *) return 1 ;; esac
        [ "${minor:-0}" -ge "$wanted" ] || return 1
    done
}

# Sets and exports CARGO, RUSTC and RUSTDOC; false where there is no fitting toolchain. Looks for cargo, and for the
# cargo-1.NN that some distributions ship beside it, on PATH and where rustup puts it even when that isn't on PATH.
find_toolchain() {
    found=
    old_ifs=$IFS
    IFS=:
    for dir in $PATH "${CARGO_HOME:-${HOME:-}/.cargo}/bin"; do
        for cargo in "$dir/cargo" "$dir"/cargo-1.[0-9]*; do
            rustc=${RUSTC:-$dir/rustc${cargo##*/cargo}}
            if ! [ -x "$cargo" ] || ! [ -x "$rustc" ]; then continue; fi
            # From the checkout, because rustup may choose by directory.
            versions=$(cd "$root" && "$cargo" --version && "$rustc" --version) 2>/dev/null || continue
            found="$found${found:+, }$(echo "$versions" | sed -n 1p) in $dir"
            if new_enough "${versions%%
*}" "${versions##*
}"; then
                IFS=$old_ifs
                CARGO=$cargo RUSTC=$rustc
                export CARGO RUSTC
                rustdoc=$dir/rustdoc${cargo##*/cargo}
                if [ -x "$rustdoc" ]; then export RUSTDOC="$rustdoc"; fi
                return 0
            fi
        done
    done
    IFS=$old_ifs
    return 1
}

# Where a static program can be linked: a C compiler, and the C library to link in.
can_link() {
    command -v cc >/dev/null && [ -e "$(cc -print-file-name=libc.a)" ]
}

# The packages that bring a fitting toolchain; Debian 12 has its own under one name and a newer one under another.
toolchain_packages() {
    for suffix in "" -web; do
        version=$(apt-cache policy "rustc$suffix" 2>/dev/null | sed -n 's/^ *Candidate: *//p')
        if new_enough "$version"; then
            echo "cargo$suffix rustc$suffix"
            return
        fi
    done
    newest=$(apt-cache pkgnames cargo-1. 2>/dev/null | sed -n 's/^cargo-1\.\([0-9]*\)$/\1/p' | sort -n | tail -n 1)
    if new_enough "1.${newest:-0}"; then
        echo "cargo-1.$newest rustc-1.$newest"
        return
    fi
    return 1
}

# Runs apt-get as root; says the command for someone else where this user can't.
apt() {
    if [ "$(id -u)" = 0 ]; then
        sudo=
    else
        sudo=sudo
    fi
    # The lock: a new machine may be busy with its own updates. Standard input stays the caller's.
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

# Whether `apt` has a chance.
can_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }
}

# install WHY PACKAGE...: says so, then does it.
install() {
    why=$1
    shift
    by_hand="as root: apt-get update && apt-get install --no-install-recommends $*"
    can_install || fail "$why, and that takes root here. Run this $by_hand"
    say "$why. Installing through apt: $*"
    removed=$(apt-get -s install --no-install-recommends "$@" 2>/dev/null | sed -n 's/^Remv \([^ ]*\).*/\1/p' | tr '\n' ' ')
    if [ -n "$removed" ]; then say "they take the place of: $removed"; fi
    apt install -y --no-install-recommends "$@" || fail "apt could not install it (see above). Try $by_hand"
}

# Brings what a build needs and finds the toolchain; says what and why before anything is installed.
prepare_build() {
    # Debian's cargo looks at the first only, rustup's at both.
    if [ -r "${SSL_CERT_FILE-}" ]; then
        export CARGO_HTTP_CAINFO="${CARGO_HTTP_CAINFO:-$SSL_CERT_FILE}"
    fi
    if ! find_toolchain; then
        why="drivebench is built from source once, with Rust 1.$wanted or newer (here: ${found:-none})"
        command -v apt-get >/dev/null || fail "$why. Install it from https://rustup.rs or your distribution, then call again"
        if can_install; then
            say "$why. Looking for it with apt"
            apt update || say "apt could not refresh its lists (see above); going on with those it has"
        fi
        packages=$(toolchain_packages) ||
            fail "$why, and apt has none. Install it from https://rustup.rs, then call again"
        # Someone's own list of authorities is left as it is.
        if ! [ -e "${CARGO_HTTP_CAINFO:-/etc/ssl/certs/ca-certificates.crt}" ]; then
            packages="$packages ca-certificates"
        fi
        # shellcheck disable=SC2086 # a list
        install "$why" $packages gcc libc6-dev
        find_toolchain || fail "Rust was installed, but no fitting cargo and rustc is on PATH: $PATH"
    elif ! can_link && command -v apt-get >/dev/null; then
        install "linking needs a C compiler and the C library" gcc libc6-dev
        can_link || fail "there is still no cc on PATH that finds libc.a"
    fi
}

# bring_programs LIST: lines of a program, the package that brings it, and what for; installs what is missing.
bring_programs() {
    packages=$(echo "$1" | while read -r program package _; do
        if [ -n "$program" ] && ! command -v "$program" >/dev/null; then echo "$package"; fi
    done)
    if [ -z "$packages" ]; then return; fi
    why=$(echo "$1" | while read -r program _ what; do
        if [ -n "$program" ] && ! command -v "$program" >/dev/null; then printf '%s is missing (%s); ' "$program" "$what"; fi
    done)
    if can_install; then apt update || say "apt could not refresh its lists (see above); going on"; fi
    # shellcheck disable=SC2086 # a list
    install "${why%; }" $packages
}

# Brings rustfmt and clippy for the toolchain that was found, from where it came.
bring_components() {
    if "$CARGO" fmt --version >/dev/null 2>&1 && "$CARGO" clippy --version >/dev/null 2>&1; then return; fi
    if [ -x "${CARGO%/*}/rustup" ]; then
        "${CARGO%/*}/rustup" component add rustfmt clippy || fail "rustup could not add rustfmt and clippy"
        return
    fi
    case $(dpkg-query -S "$(readlink -f "$CARGO")" 2>/dev/null) in
    cargo-web:*) install "rustfmt and clippy are missing" rustfmt-web rust-web-clippy ;;
    cargo:*) install "rustfmt and clippy are missing" rustfmt rust-clippy ;;
    cargo-1.*) install "rustfmt and clippy are missing" "rustfmt-${CARGO##*-}" "rust-${CARGO##*-}-clippy" ;;
    *) fail "rustfmt and clippy are missing; install those of $CARGO, then call again" ;;
    esac
}
