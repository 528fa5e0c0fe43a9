# Finds the Rust toolchain and C compiler, and installs missing ones through apt. Sourced by ./drivebench, ./test and
# .ci/run, which set `root` (the checkout) and `me` (prefix of messages).
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

# new_enough VERSION...: whether each is at least Cargo.toml's rust-version. `cargo 1.85.0 (...)` is accepted.
new_enough() {
    for version; do
        minor=${version#*1.}
        minor=${minor%%[!0-9]*}
        case $version in 1.* | *" 1."*) ;; *) return 1 ;; esac
        [ "${minor:-0}" -ge "$wanted" ] || return 1
    done
}

# Sets and exports CARGO, RUSTC and RUSTDOC; fails if there is no suitable toolchain. Searches PATH and rustup's directory
# for cargo, and for cargo-1.NN, as some distributions name it.
find_toolchain() {
    found=
    old_ifs=$IFS
    IFS=:
    for dir in $PATH "${CARGO_HOME:-${HOME:-}/.cargo}/bin"; do
        for cargo in "$dir/cargo" "$dir"/cargo-1.[0-9]*; do
            rustc=${RUSTC:-$dir/rustc${cargo##*/cargo}}
            if ! [ -x "$cargo" ] || ! [ -x "$rustc" ]; then continue; fi
            # From the checkout, because rustup may select a toolchain by directory.
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

# Whether a static program can be linked: needs a C compiler and libc.a.
can_link() {
    command -v cc >/dev/null && [ -e "$(cc -print-file-name=libc.a)" ]
}

# The packages of a suitable toolchain; Debian 12 has an old and a newer one under different names.
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

# Runs apt-get as root, through sudo if needed.
apt() {
    if [ "$(id -u)" = 0 ]; then
        sudo=
    else
        sudo=sudo
    fi
    # Lock timeout: a new machine may be installing updates. Standard input is not passed on.
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

# Whether packages can be installed.
can_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }
}

# install WHY PACKAGE...: prints the reason, then installs.
install() {
    why=$1
    shift
    by_hand="as root: apt-get update && apt-get install --no-install-recommends $*"
    can_install || fail "$why, which needs root. Run $by_hand"
    say "$why. Installing with apt: $*"
    removed=$(apt-get -s install --no-install-recommends "$@" 2>/dev/null | sed -n 's/^Remv \([^ ]*\).*/\1/p' | tr '\n' ' ')
    if [ -n "$removed" ]; then say "apt removes: $removed"; fi
    apt install -y --no-install-recommends "$@" || fail "apt could not install it (see above). Try $by_hand"
}

# Finds the toolchain, and installs it if missing. Prints what is installed and why before installing.
prepare_build() {
    # Debian's cargo reads only CARGO_HTTP_CAINFO, rustup's both.
    if [ -r "${SSL_CERT_FILE-}" ]; then
        export CARGO_HTTP_CAINFO="${CARGO_HTTP_CAINFO:-$SSL_CERT_FILE}"
    fi
    if ! find_toolchain; then
        why="drivebench is built from source with Rust 1.$wanted or newer (found: ${found:-none})"
        command -v apt-get >/dev/null || fail "$why. Install it from https://rustup.rs or your distribution, then try again"
        if can_install; then
            say "$why. Searching with apt"
            apt update || say "apt could not update its package lists (see above); using the old ones"
        fi
        packages=$(toolchain_packages) ||
            fail "$why, and apt has no such package. Install it from https://rustup.rs, then try again"
        # Don't install certificates if the user has set some.
        if ! [ -e "${CARGO_HTTP_CAINFO:-/etc/ssl/certs/ca-certificates.crt}" ]; then
            packages="$packages ca-certificates"
        fi
        # shellcheck disable=SC2086 # a list
        install "$why" $packages gcc libc6-dev
        find_toolchain || fail "Rust was installed, but PATH has no suitable cargo and rustc: $PATH"
    elif ! can_link && command -v apt-get >/dev/null; then
        install "linking needs a C compiler and the C library" gcc libc6-dev
        can_link || fail "cc is still missing, or does not find libc.a"
    fi
}

# install_programs LIST: lines of program, package, purpose; installs missing programs.
install_programs() {
    packages=$(echo "$1" | while read -r program package _; do
        if [ -n "$program" ] && ! command -v "$program" >/dev/null; then echo "$package"; fi
    done)
    if [ -z "$packages" ]; then return; fi
    why=$(echo "$1" | while read -r program _ what; do
        if [ -n "$program" ] && ! command -v "$program" >/dev/null; then printf '%s is missing (%s); ' "$program" "$what"; fi
    done)
    if can_install; then apt update || say "apt could not update its package lists (see above); using the old ones"; fi
    # shellcheck disable=SC2086 # a list
    install "${why%; }" $packages
}

# Installs rustfmt and clippy for the toolchain, from the same source.
install_components() {
    if "$CARGO" fmt --version >/dev/null 2>&1 && "$CARGO" clippy --version >/dev/null 2>&1; then return; fi
    if [ -x "${CARGO%/*}/rustup" ]; then
        "${CARGO%/*}/rustup" component add rustfmt clippy || fail "rustup could not add rustfmt and clippy"
        return
    fi
    case $(dpkg-query -S "$(readlink -f "$CARGO")" 2>/dev/null) in
    cargo-web:*) install "rustfmt and clippy are missing" rustfmt-web rust-web-clippy ;;
    cargo:*) install "rustfmt and clippy are missing" rustfmt rust-clippy ;;
    cargo-1.*) install "rustfmt and clippy are missing" "rustfmt-${CARGO##*-}" "rust-${CARGO##*-}-clippy" ;;
    *) fail "rustfmt and clippy are missing; install those of $CARGO, then try again" ;;
    esac
}
