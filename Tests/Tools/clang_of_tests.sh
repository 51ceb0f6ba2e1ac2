#!/bin/bash
# The C compiler of the tests' build: clang, but it takes BoringSSL's objects from the build for release.
#
# Two packages carry BoringSSL, and to compile one copy takes a processor five minutes. Its objects depend on nothing
# that the builds differ in but how far they are optimised. While the build for release goes on, which holds the lock
# $SHARED_OBJECTS_LOCK, an object that it has not made yet is waited for: both builds would only compete for the
# processors. Assembler, which takes no time, is not shared: clang writes an object made of C under another name and
# renames it, but one made of assembler in its place, where half of it would be taken for the whole.
#
# Called as SwiftPM calls clang, with $SHARED_OBJECTS_CLANG to call for everything else.
set -euo pipefail

project=$(cd "$(dirname "$0")/../.." && pwd)
source= object= dependencies= before=
for word; do
    case $before in
    -c) source=$word ;;
    -o) object=$word ;;
    -MF) dependencies=$word ;;
    esac
    before=$word
done

compile() { exec "$SHARED_OBJECTS_CLANG" "$@"; }
[[ $source == "$project"/.build/tests/checkouts/*/Sources/C*BoringSSL/*.c* ]] || compile "$@"
[[ $object == "$project"/.build/tests/*/debug/* ]] || compile "$@"

their_source=$project/.build/checkouts/${source#"$project/.build/tests/checkouts/"}
# .build/TRIPLE/release; the link to it comes at the end of a build.
their_object=${object/#"$project/.build/tests/"/"$project/.build/"}
their_object=${their_object/"/debug/"/"/release/"}
their_dependencies=${their_object%.o}.d

# True when the object is the one of this source, and newer than all that it was made of.
is_made() {
    local file
    [[ $their_object -nt $their_source && -f $their_dependencies ]] && cmp -s "$source" "$their_source" || return 1
    while read -r file; do
        [[ $file == /* && $their_object -ot $file ]] && return 1
    done < <(tr -s ' \\' '\n' <"$their_dependencies")
    return 0
}

until is_made; do
    if flock --nonblock --shared "$SHARED_OBJECTS_LOCK" true; then
        is_made || compile "$@"
        break
    fi
    sleep 0.5
done
cp "$their_object" "$object"
made_of=$(<"$their_dependencies")
printf '%s\n' "${made_of//"$project/.build/checkouts/"/"$project/.build/tests/checkouts/"}" >"$dependencies"
