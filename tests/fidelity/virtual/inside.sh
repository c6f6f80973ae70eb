#!/bin/sh
# Runs a command in a kernel of its own whose time is virtual: it stands still while anything is computed, and leaps when all
# processes wait. Its files are those of the host. Ends with the status of the command.
#
#     tests/fidelity/virtual/inside.sh COMMAND [ARGUMENT]...
#
# MEMORY (default 1G) is that of the kernel and everything in it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../../../target/virtual" 2>/dev/null && pwd) || out=
if [ ! -x "$out/linux" ]; then
    echo "no kernel in target/virtual: build one with tests/fidelity/virtual/kernel.sh" >&2
    exit 2
fi
job=$(mktemp -d "$out/job.XXXXXX")
trap 'rm -rf "$job"' EXIT
# The command line of a kernel has no room for quotes: the command lies in a file.
{
    printf 'cd %s\n' "'$(pwd)'"
    for argument in "$@"; do
        printf "'%s' " "$(printf '%s' "$argument" | sed "s/'/'\\\\''/g")"
    done
} > "$job/command"
: > "$job/output"
tail -f "$job/output" &
shown=$!
"$out/linux" mem="${MEMORY:-1G}" time-travel=inf-cpu quiet root=/dev/root rootfstype=hostfs rootflags=/ rw \
    init="$here/init.sh" JOB="$job" > "$job/console" 2>&1 < /dev/null || true
sleep 1
kill "$shown"
if [ ! -f "$job/status" ]; then
    cat "$job/console" >&2
    exit 1
fi
exit "$(cat "$job/status")"
