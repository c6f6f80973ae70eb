"""Why a flow is no faster: causes are taken away one by one, and what that changes is measured.

A page or a table shows what holds at the same time as a low rate; which of it is the cause shows when it is away. The
runs are simulated, a handful for each of some twenty causes.
"""

from dumbbell.why.trial import Answer, Effect, answers, tried

__all__ = ["Answer", "Effect", "answers", "tried"]
