"""The worst case of an algorithm: a search over traffic, links and losses, and a small experiment of what it finds."""

from dumbbell.adversary.attacks import ATTACKS
from dumbbell.adversary.finding import Found, find
from dumbbell.adversary.goals import GOALS

__all__ = ["ATTACKS", "GOALS", "Found", "find"]
