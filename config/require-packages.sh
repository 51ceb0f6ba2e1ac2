#!/bin/bash
# Installs those of the given Debian packages that are missing, after saying which. `a|b` is there when either is, or
# when an installed package provides either; where none is, the last of them is installed.
# Ends with one line and status 1 when one cannot be had. On macOS it looks for what the build needs, and installs nothing.
set -euo pipefail

fail() {
    echo "shareserve: $1" >&2
    exit 1
}

if [ "$(uname -s)" = Darwin ]; then
    # Xcode brings zlib; of the others Homebrew has some that macOS lacks. Swift finds them there by itself.
    wanted="brew install libxml2 libxcrypt"
    prefix=$(brew --prefix 2>/dev/null) || fail "this needs Homebrew, https://brew.sh, and then: $wanted"
    for name in libxml2 libxcrypt; do
        [ -d "$prefix/opt/$name" ] || fail "$name is missing, try: $wanted"
    done
    exit 0
fi

if ! command -v dpkg-query >/dev/null; then
    # Not Debian: nothing is installed for the user, but what the build needs may be there already.
    if pkg-config --exists zlib libxml-2.0 2>/dev/null; then
        exit 0
    fi
    fail "this system has no dpkg; install these by hand, then try again: $*"
fi

present=" $(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' | sed -n 's/^installed //p' | tr -s ',\n' '  ') "
is_present() {
    local name
    for name in ${1//|/ }; do
        [[ $present != *" $name "* ]] || return 0
    done
    return 1
}
missing=()
for package in "$@"; do
    is_present "$package" || missing+=("${package##*|}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null || fail "there is no apt-get to install: ${missing[*]}"
# Before sudo asks for a password.
echo "Installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "installing needs root and there is no sudo; as root: apt-get install ${missing[*]}"
    sudo true || fail "installing needs root and sudo refused; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
fi

log=$(mktemp)
# Some of what is tried or measured against is a service: nobody asked for it to run, now or when the machine starts.
policy=/usr/sbin/policy-rc.d
made_policy=
end() {
    rm -f "$log"
    if [ -n "$made_policy" ]; then "${as_root[@]}" rm -f "$policy"; fi
}
trap end EXIT
trap 'exit 130' INT
names() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u; }
before=$(names)
if [ ! -e "$policy" ]; then
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -y -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 "$@" >"$log" 2>&1
}
install() { apt install --no-install-recommends "${missing[@]}"; }

known=yes
for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || known=no
done
# Lists are fetched only where a package is unknown or its listed version is gone from the mirror.
if [ $known = no ] || ! install; then
    apt update || { tail -5 "$log" >&2; fail "could not fetch the lists of packages (is there a network?); as root: apt-get update, apt-get install ${missing[*]}"; }
    install || { tail -15 "$log" >&2; fail "could not install, see above (is there a network?); as root: apt-get install ${missing[*]}"; }
fi

services=$(comm -13 <(echo "$before") <(names) | xargs -r dpkg -L | sed -n 's,^.*/systemd/system/\([^/@]*\.service\)$,\1,p' | sort -u)
if [ -n "$services" ] && command -v systemctl >/dev/null; then
    # shellcheck disable=SC2086 # One word for each.
    "${as_root[@]}" systemctl disable $services >"$log" 2>&1 ||
        echo "shareserve: these services came with the packages and will run when the machine starts: $services" >&2
fi
