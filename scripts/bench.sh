# Builds and runs a benchmark; sourced by bench/NAME. PROFILE is Cargo's profile, `release` if not set.
# shellcheck shell=bash

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[1]}")")
me=bench/$(basename -- "${BASH_SOURCE[1]}")
root=${here%/bench}
# shellcheck source=scripts/toolchain.sh
. "$root/scripts/toolchain.sh"
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
cd "$root" || exit

# bench_build [NAME]: builds the benchmark and drivebench, and sets `built`, their directory.
bench_build() {
    prepare_build
    local profile=${PROFILE:-release}
    "$CARGO" build -q --locked --profile "$profile" --bin drivebench ${1:+--example "$1"} --target-dir "$target" </dev/null >&2
    # Cargo's name of the directory.
    built=$target/${profile/#dev/debug}
}

# bench_run [ARGUMENT...]: builds the benchmark of the script's name and runs it.
bench_run() {
    bench_build "${me#bench/}"
    exec "$built/examples/${me#bench/}" "$@"
}
