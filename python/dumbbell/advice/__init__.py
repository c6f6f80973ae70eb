"""Which algorithm to choose for a path: a map over queues and company, with what the runs allow to say of it."""

from dumbbell.advice.grid import advise
from dumbbell.advice.map import DecisionMap

__all__ = ["DecisionMap", "advise"]
