#!/bin/bash
# Ends with one line and status 1 when there is no Swift compiler that can build this.
set -euo pipefail

swift=${1:-swift}
wanted=6.3
page=https://www.swift.org/install/linux/
if [ "$(uname -s)" = Darwin ]; then page=https://www.swift.org/install/macos/; fi

if ! command -v "$swift" >/dev/null; then
    echo "shareserve: no '$swift' in the PATH; Swift $wanted or newer is needed: $page" >&2
    exit 1
fi
if ! said=$("$swift" --version 2>&1); then
    # A library is missing, most often: Swift's page names the Debian packages that the compiler needs.
    echo "shareserve: '$swift' does not run (${said##*$'\n'}); what it needs: $page" >&2
    exit 1
fi
found=$(sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' <<<"$said" | head -1)
if [ "$(printf '%s\n%s\n' "$wanted" "${found:-0}" | sort -V | head -1)" != "$wanted" ]; then
    echo "shareserve: Swift $wanted or newer is needed, this is ${found:-unknown}: $page" >&2
    exit 1
fi
