#!/bin/bash
# Makes the Python environment at $1 hold exactly the pinned packages of $2; does nothing when it does already.
set -euo pipefail

place=$1
wanted=$2
if cmp -s "$wanted" "$place/installed.txt"; then
    exit 0
fi
echo "Preparing Python packages in $place"
rm -rf "$place"
python3 -m venv "$place" || { echo "shareserve: python3 -m venv failed; Debian's package is python3-venv" >&2; exit 1; }
"$place/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" ||
    { echo "shareserve: could not install the Python packages of $wanted: is there a network?" >&2; exit 1; }
cp "$wanted" "$place/installed.txt"
