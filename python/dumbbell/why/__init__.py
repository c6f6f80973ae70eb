"""Why a flow is no faster: causes are taken away one by one, and what that changes is measured.

A page or a table shows what holds at the same time as a low rate; which of it is the cause shows when it is away. The
runs are simulated, a handful for each of some twenty causes.
"""

from typing import TYPE_CHECKING, Any

from dumbbell import extras

if TYPE_CHECKING:
    from dumbbell.why.trial import Answer, Effect, answers, tried

__all__ = ["Answer", "Effect", "answers", "tried"]


def __getattr__(name: str) -> Any:
    """What needs the extra ``statistics``, when it is asked for: :mod:`dumbbell.why.marks` does without."""
    if name not in __all__:
        raise AttributeError(f"module 'dumbbell.why' has no attribute {name!r}")
    extras.need("statistics", f"dumbbell.why.{name}")
    from dumbbell.why import trial

    return getattr(trial, name)
