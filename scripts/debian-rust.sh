# Debian's Rust compiler with the standard library of another architecture, unpacked into a cache and not installed.
# Sourced by bash scripts after scripts/toolchain.sh and lab/scripts/debs.sh, once `debs_prepare` has run.
# shellcheck shell=bash

# rust_packages ARCH: sets `rust` to the suffix of Debian's package names ("" or "-web") whose compiler is new enough and
# has a library for ARCH of the same version. Debian 12 has them under the second name.
rust_packages() {
    local suffix version library
    rust=none
    for suffix in "" -web; do
        # Without +bN, by which the architectures of one version may differ.
        version=$(candidate "rustc$suffix")
        library=$(candidate "libstd-rust$suffix-dev:$1")
        if new_enough "$version" && [ "${version%+b[0-9]*}" = "${library%+b[0-9]*}" ]; then
            # shellcheck disable=SC2034  # The scripts that source this file read it.
            rust=$suffix
            return
        fi
    done
    fail "apt has no rustc of 1.${wanted:?} or later with a libstd-rust-dev:$1 of the same version" \
        "(rustc: $(candidate rustc), rustc-web: $(candidate rustc-web)); Debian 12's is in bookworm-security"
}

# write_rustc DIR: writes DIR/tool/rustc, which finds what it needs wherever DIR is.
# The loader is told where the compiler's libraries are: in the environment they would reach the host's linker.
write_rustc() {
    mkdir -p "$1/tool"
    cat >"$1/tool/rustc" <<'END'
#!/bin/sh
here=${0%/tool/rustc}
exec /lib64/ld-linux-x86-64.so.2 --library-path "$here/usr/lib/x86_64-linux-gnu:$here/lib/x86_64-linux-gnu" \
    "$here/usr/bin/rustc" --sysroot "$here/usr" "$@"
END
    chmod +x "$1/tool/rustc"
}
