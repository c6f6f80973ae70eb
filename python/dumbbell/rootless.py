"""The command line within a user namespace of its own, in which an ordinary user is root."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from dumbbell import _core


def start_again(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by one that runs the same command as root of its own namespace."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "dumbbell.rootless", *arguments])


def main() -> None:
    """Becomes root, before anything starts a thread, and goes on as ``dumbbell`` does."""
    from dumbbell.console import reporting_errors

    with reporting_errors():
        _core.become_root_of_own_namespace()
    from dumbbell import cli

    sys.argv[0] = "dumbbell"
    cli.main()


if __name__ == "__main__":
    main()
