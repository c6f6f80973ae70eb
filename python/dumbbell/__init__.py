"""Dumbbell: a congestion-control laboratory.

>>> import dumbbell as db
>>> result = db.run("examples/bbr-vs-cubic.toml")
>>> result.flows.to_polars()
>>> result.plot.overview()
"""

from dumbbell._core import RunError, ScenarioError, __version__
from dumbbell.api import Sweep, run, sweep
from dumbbell.compare import compare
from dumbbell.grounds import Linux, VoidRunError
from dumbbell.results import Meta, Result, SweepResult, load_result, load_sweep
from dumbbell.storage import DamagedResultWarning, OutputError, ResultError
from dumbbell.tables import Table

__all__ = [
    "DamagedResultWarning",
    "Linux",
    "Meta",
    "OutputError",
    "Result",
    "ResultError",
    "RunError",
    "ScenarioError",
    "Sweep",
    "SweepResult",
    "Table",
    "VoidRunError",
    "__version__",
    "compare",
    "load_result",
    "load_sweep",
    "run",
    "sweep",
]
