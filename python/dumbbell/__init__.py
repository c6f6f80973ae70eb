"""Dumbbell: a congestion-control laboratory.

>>> import dumbbell as db
>>> result = db.run("examples/bbr-vs-cubic.toml")
>>> result.flows.to_polars()
>>> result.plot.overview()
"""

import importlib
from typing import TYPE_CHECKING, Any

from dumbbell import extras
from dumbbell._core import Ack, Conn, Loss, RunError, ScenarioError, __version__
from dumbbell.api import Sweep, run, sweep
from dumbbell.catalogue import algorithms
from dumbbell.compare import compare
from dumbbell.contract import AckFlags, CaState, Random, parameter
from dumbbell.grounds import Linux, VoidRunError
from dumbbell.parallel import ClusterError, WorkerWarning
from dumbbell.results import Meta, Result, SweepResult, load_result, load_sweep
from dumbbell.storage import DamagedResultWarning, OtherEngineError, OtherEngineWarning, OutputError, ResultError
from dumbbell.tables import Table

if TYPE_CHECKING:
    from dumbbell import metrics, plots
    from dumbbell.advice import advise
    from dumbbell.pages.live import live_page
    from dumbbell.scoring import score
    from dumbbell.statistics import stats

__all__ = [
    "Ack",
    "AckFlags",
    "CaState",
    "ClusterError",
    "Conn",
    "DamagedResultWarning",
    "Linux",
    "Loss",
    "Meta",
    "OtherEngineError",
    "OtherEngineWarning",
    "OutputError",
    "Random",
    "Result",
    "ResultError",
    "RunError",
    "ScenarioError",
    "Sweep",
    "SweepResult",
    "Table",
    "VoidRunError",
    "WorkerWarning",
    "__version__",
    "advise",
    "algorithms",
    "compare",
    "live_page",
    "load_result",
    "load_sweep",
    "metrics",
    "parameter",
    "plots",
    "run",
    "score",
    "stats",
    "sweep",
]

_EXTRAS = {"advise": "statistics", "metrics": "statistics", "plots": "plots", "stats": "statistics"}
"""The extras that what is imported later needs."""


def __getattr__(name: str) -> Any:
    """What takes its time to import, when it is asked for: ``dumbbell.metrics``, ``plots``, ``stats`` and others."""
    if name in _EXTRAS:
        extras.need(_EXTRAS[name], f"dumbbell.{name}")
    if name == "advise":
        return importlib.import_module("dumbbell.advice").advise
    if name == "live_page":
        return importlib.import_module("dumbbell.pages.live").live_page
    if name == "score":
        return importlib.import_module("dumbbell.scoring").score
    if name == "stats":
        return importlib.import_module("dumbbell.statistics").stats
    if name in ("metrics", "plots"):
        return importlib.import_module(f"dumbbell.{name}")
    raise AttributeError(f"module 'dumbbell' has no attribute {name!r}")
