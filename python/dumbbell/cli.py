"""The ``dumbbell`` command.

Standard output carries results, standard error everything else. Exit status: 0 done (a claim of a study that turns out
not to hold is a result), 1 an examined algorithm fails a case or a limit of ``check``, 2 wrong input or unwritable
output (a message, nothing written), 3 the machine has disturbed a run on the kernel (it is kept aside under ``void``),
130 interrupted.
"""

from __future__ import annotations

import sys

from dumbbell import _core


def main() -> None:
    """Entry point of the ``dumbbell`` command."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Before anything that takes time.
        print(f"dumbbell {_core.__version__}")
        return
    from dumbbell.application import app
    from dumbbell.console import reporting_errors
    from dumbbell.interrupts import ending_soon

    with reporting_errors(), ending_soon():
        app(standalone_mode=True)
