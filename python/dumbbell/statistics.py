"""Groups of runs compared: what each has, whether they differ, and which do. ``db.stats`` and ``dumbbell stats``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell import arguments, posthoc, spread
from dumbbell.inference import (
    ALPHA,
    LEAST_OF_VARIANCES,
    Anova,
    HypothesisTest,
    Interval,
    anova,
    are_equal,
    bootstrap_interval,
    kruskal_wallis,
    levene,
    mean_interval,
    welch_anova,
)
from dumbbell.posthoc import Pair
from dumbbell.results import without_infinities
from dumbbell.samples import Group, Source, groups

WORTH = 0.8
"""Points of time series that are worth less than this part of their number are not independent."""

MAX_COMPARED = 15
"""Pairs of more groups are not compared: nobody reads more than a hundred lines, which take seconds to compute."""


@dataclass(frozen=True)
class Summary:
    """What a group has."""

    name: str
    n: int
    mean: Interval
    """Mean with Student's 95 % interval."""
    median: Interval
    """Median with its bootstrap interval; of points of time series without one."""
    quartiles: tuple[float, float]
    effective: float | None
    """How many independent samples the values are worth, where they are points of time series."""


@dataclass(frozen=True)
class Statistics:
    """What a comparison of groups found."""

    metric: str
    groups: Sequence[Summary]
    anova: Anova | None
    """The one-way analysis of variance; ``None`` where nothing can be tested."""
    tests: Sequence[HypothesisTest]
    method: str
    """The post-hoc test of ``pairs``."""
    pairs: Sequence[Pair]
    """Every two groups; their numbers are places in ``groups``."""
    notes: Sequence[str]

    def summary(self) -> dict[str, Any]:
        """What ``dumbbell stats --json`` prints."""
        found = dataclasses.asdict(self)
        for pair in found["pairs"]:
            pair["first"], pair["second"] = (self.groups[pair[key]].name for key in ("first", "second"))
        printed: dict[str, Any] = without_infinities(found)
        return printed

    def _repr_html_(self) -> str:
        from dumbbell import report

        return report.statistics_html(self)


def stats(
    *sources: Source,
    metric: str = "goodput_mbps",
    by: Sequence[str] | str = (),
    where: Mapping[str, str] | None = None,
    samples: bool = False,
    post_hoc: str | None = None,
) -> Statistics:
    """Compares groups of runs by a metric: intervals, analysis of variance, and which groups differ.

    A run is one sample: the mean of the metric over its flows of a group. A run that several sources hold counts once
    in a group. Groups whose runs all gave the same number are shown, but not tested: nothing in them is random.

    Args:
        sources: Results or sweeps, or directories that ``out`` wrote; or files of Flent, grouped by their titles.
        metric: A column of ``flows``, or ``"jain"``; of Flent's files a series, whose values under load are averaged.
        by: What makes groups: ``"cc"``, ``"label"``, swept settings, ``"result"``, a source each. Default everything
            in which runs differ.
        where: Values of settings, of ``cc`` or ``label`` that alone are compared: ``{"rtt": "20ms"}``.
        samples: Take every point of the time series in the measured interval for a sample; ``metric`` is then a column
            of ``series``. They depend on each other, so that differences look surer than they are: a note says how
            many independent samples they are worth.
        post_hoc: ``"tukey"``, ``"games-howell"``, ``"holm"`` (Welch's t tests) or ``"paired"`` (t tests of runs with
            the same seed), both with Holm's correction. Default Tukey's test, or Games and Howell's where variances
            differ or cannot be tested.

    Raises:
        ValueError: There is no such metric, setting, value or test; the message lists those that there are.
        ResultError: A directory holds no result.
    """
    if not sources:
        raise ValueError("name at least one result")
    if post_hoc is not None and post_hoc not in posthoc.METHODS:
        raise ValueError(f"no post-hoc test {post_hoc!r}; there are {', '.join(posthoc.METHODS)}")
    given = arguments.texts("by", by, '"cc" or ["cc", "loss"]')
    words = [word.strip() for part in given for word in part.split(",")]
    found = groups(sources, metric, [word for word in words if word], where or {}, each_point=samples)
    with_values = [group for group in found.of if group.values.size]
    if not with_values:
        raise ValueError(f"no run has a value of {metric}")
    return _compared(metric, with_values, found.notes, post_hoc)


def _compared(metric: str, of: Sequence[Group], notes: Sequence[str], post_hoc: str | None) -> Statistics:
    numbers = [number for number, group in enumerate(of) if group.values.size > 1 and not are_equal(group.values)]
    tested = [of[number].values for number in numbers]
    variances, one_way = levene(tested), anova(tested)
    tests = [variances, None if one_way is None else one_way.test(), welch_anova(tested), kruskal_wallis(tested)]
    # Equal variances are assumed only where a test of them says nothing against it.
    method = post_hoc or ("tukey" if variances is not None and variances.p >= ALPHA else "games-howell")
    if method == "paired":
        _check_pairs([of[number] for number in numbers])
    cautions = [*_cautions(of), *_untested_variances([of[number] for number in numbers])]
    pairs: list[Pair] = []
    if len(tested) > MAX_COMPARED:
        cautions.append(
            f"{len(tested)} groups are too many to compare each with each, at most {MAX_COMPARED}; choose by --where"
        )
    elif len(tested) > 1:
        pairs = [
            dataclasses.replace(pair, first=numbers[pair.first], second=numbers[pair.second])
            for pair in posthoc.METHODS[method](tested)
        ]
    return Statistics(
        metric,
        [_summary(group) for group in of],
        one_way,
        [test for test in tests if test is not None],
        method,
        pairs,
        [*notes, *cautions],
    )


def _check_pairs(of: Sequence[Group]) -> None:
    """Refuses to pair samples that do not belong together."""
    if any(group.effective is not None for group in of):
        raise ValueError("points of time series of different runs are no pairs; pair runs, without samples")
    if any(not group.seeds for group in of):
        raise ValueError("files of Flent have no seeds, so that there are no pairs")
    for group in of:
        if group.seeds != of[0].seeds:
            raise ValueError(
                f"runs of {of[0].name} and of {group.name} are no pairs: they have not the same seeds, one each"
            )


def _summary(group: Group) -> Summary:
    mean = mean_interval(group.values)
    assert mean is not None  # a group has a value
    low, middle, high = (float(value) for value in np.quantile(group.values, [0.25, 0.5, 0.75]))
    median = bootstrap_interval(group.values, np.median) if group.effective is None else None
    without = Interval(middle, math.nan, math.nan, mean.n)
    return Summary(group.name, mean.n, mean, median or without, (low, high), group.effective)


def _cautions(of: Sequence[Group]) -> list[str]:
    """What makes the numbers less than they look."""
    found = []
    if single := [group.name for group in of if group.values.size == 1]:
        found.append(f"one run alone has no interval and is not tested: {_named(single)}; repeat it with other seeds")
    if alike := [group.name for group in of if group.values.size > 1 and are_equal(group.values)]:
        found.append(
            f"all runs gave the same number, one sample, which is not tested: {_named(alike)}\n  help: {spread.HINT}"
        )
    dependent = [(group.effective, group.values) for group in of if group.effective is not None]
    if any(effective < WORTH * values.size for effective, values in dependent):
        total = sum(values.size for _, values in dependent)
        worth = math.fsum(effective for effective, _ in dependent)
        found.append(
            f"points of a time series depend on each other: these {total:,} are worth at most {worth:,.0f} "
            "independent ones, so that intervals are too narrow and p-values too small; without samples a run is one"
        )
    return found


def _untested_variances(tested: Sequence[Group]) -> list[str]:
    """What to say where groups are too small to tell whether their variances differ."""
    small = [group.name for group in tested if group.values.size < LEAST_OF_VARIANCES]
    if len(tested) < 2 or not small:
        return []
    return [
        f"whether variances differ cannot be tested below {LEAST_OF_VARIANCES} samples a group: {_named(small)}; look "
        "at tests that do not assume equal ones, Welch's and Games and Howell's"
    ]


def _named(names: Sequence[str]) -> str:
    rest = len(names) - spread.MAX_NAMED
    return "; ".join(names[: spread.MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")
