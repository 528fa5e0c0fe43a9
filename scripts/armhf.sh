# Settings of lab/scripts/debs.sh for 32-bit Arm. Sourced before it, after scripts/toolchain.sh.
# shellcheck shell=bash disable=SC2034 # debs.sh reads them

foreign=armhf cache_name=drivebench-32bit
# The security archive may have the compiler for one architecture before the library for the other: without it both are of
# one version.
preferences=${XDG_CACHE_HOME:-$HOME/.cache}/$cache_name/apt/preferences
apt_settings="Dir::Etc::Preferences \"$preferences\";"
mkdir -p "${preferences%/*}"
printf 'Package: *\nPin: release l=Debian-Security\nPin-Priority: -1\n' >"$preferences"
