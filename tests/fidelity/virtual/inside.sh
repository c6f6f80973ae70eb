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
running=
trap 'kill $running 2>/dev/null || true; rm -rf "$job"' EXIT
trap 'exit 130' INT TERM
quoted() {
    printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}
# The command line of a kernel has no room for quotes: the command lies in a file.
{
    printf 'cd '
    quoted "$(pwd)"
    echo
    for argument in "$@"; do
        quoted "$argument"
    done
} > "$job/command"
: > "$job/output"
tail -f "$job/output" &
running=$!
"$out/linux" mem="${MEMORY:-1G}" time-travel=inf-cpu quiet root=/dev/root rootfstype=hostfs rootflags=/ rw \
    init="$here/init.sh" JOB="$job" > "$job/console" 2>&1 < /dev/null &
kernel=$!
running="$running $kernel"
# In the background, so that a signal to this script ends it at once.
wait "$kernel" || true
sleep 1
if [ ! -f "$job/status" ]; then
    cat "$job/console" >&2
    exit 1
fi
exit "$(cat "$job/status")"
