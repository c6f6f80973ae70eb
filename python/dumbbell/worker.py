"""Runs one experiment on the kernel as an ordinary user, in a process of its own, which is started with one thread."""

from __future__ import annotations

import sys
import threading

from dumbbell import _core, experiment
from dumbbell.grounds import ALLOWED, FORBIDDEN, PROGRAM_FAILED


def work(task: str, target: str, max_memory: str, programs: str = FORBIDDEN, *sysctls: str) -> None:
    """Runs the experiment in the file ``task`` and writes its result to the directory ``target``."""
    # Before anything starts a thread, as Polars does.
    _core.become_root_of_own_namespace()
    from dumbbell.parallel import measured

    cancel = _core.CancelToken()

    def watch() -> None:
        """Whoever started us has gone when our standard input ends."""
        sys.stdin.read()
        cancel.cancel()

    threading.Thread(target=watch, daemon=True).start()
    point = experiment.load(task).points[0]
    pairs: list[tuple[str, str]] = []
    for pair in sysctls:
        name, _, value = pair.partition("=")
        pairs.append((name, value))
    allowed = programs == ALLOWED
    measured(point, lambda: point.run_on_linux(cancel, int(max_memory) or None, pairs, None, allowed)).save(target)


if __name__ == "__main__":
    try:
        work(*sys.argv[1:])
    except _core.ProgramError as error:
        print(error, file=sys.stderr)
        sys.exit(PROGRAM_FAILED)
    except _core.RunError as error:
        sys.exit(str(error))
    except _core.RunCancelled:
        sys.exit(130)
