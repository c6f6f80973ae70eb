"""Worlds for agents that learn congestion control, with the interfaces of Gymnasium and PettingZoo.

Any experiment is a world: agents govern some of its flows, and act once a monitor interval. This needs the extra
``gym``: ``pip install "dumbbell[gym]"``.
"""

from dumbbell import extras

try:
    import gymnasium  # noqa: F401 - whether it is there
    import pettingzoo  # noqa: F401
except ImportError:
    extras.need("gym", "dumbbell.gym")
    raise

from dumbbell.gym.draws import AURORA, Distribution, choice, log_uniform, uniform
from dumbbell.gym.environments import Env, ParallelEnv, VectorEnv
from dumbbell.gym.policy import load_policy, save_policy
from dumbbell.gym.worlds import observations

__all__ = [
    "AURORA",
    "Distribution",
    "Env",
    "ParallelEnv",
    "VectorEnv",
    "choice",
    "load_policy",
    "log_uniform",
    "observations",
    "save_policy",
    "uniform",
]
