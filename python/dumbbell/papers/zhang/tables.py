"""Tables of several parts, and the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.testing import mean
from dumbbell.papers.zhang.choices import View
from dumbbell.papers.zhang.measure import Runs, Value
from dumbbell.papers.zhang.names import ALGORITHMS, CODE, FOLDER


def published_values(part: str, metric: str) -> dict[tuple[str, str], float]:
    """Published numbers by algorithm and case; with random loss the case is ``2, 5%``."""
    return {
        (number.case["algorithm"], ", ".join(filter(None, (number.case["case"], number.case["loss"])))): number.value
        for number in published(FOLDER, part)
        if number.metric == metric
    }


def beside(
    name: str,
    title: str,
    view: View,
    cases: Sequence[str],
    value: Value,
    theirs: Mapping[tuple[str, str], float],
    *,
    algorithms: Iterable[str],
    difference: bool = False,
    digits: int = 2,
) -> Grid:
    """Ours, published, and the quotient (or difference) of the two: three rows an algorithm, a column a case."""
    rows: list[list[Cell]] = []
    for algorithm in algorithms:
        ours = [view.mean(algorithm, case, value) for case in cases]
        reference = [theirs.get((algorithm, case)) for case in cases]
        rows.append([algorithm, "ours", *ours])
        if any(value is not None for value in reference):
            pairs = zip(ours, reference, strict=True)
            compare = [None if b is None else a - b if difference else a / b for a, b in pairs]
            rows += [["", "published", *reference], ["", "difference" if difference else "ratio", *compare]]
    return Grid(name, title, ["algorithm", "", *cases], rows, digits)


def means(
    name: str,
    title: str,
    runs: Runs,
    rows: Mapping[str, Sequence[Cell]],
    columns: Mapping[str, tuple[str, Value]],
    digits: int = 2,
) -> Grid:
    """Means over seeds: a row for each label, which begins with its words, and a column for each case and value."""

    def of(case: str, value: Value) -> Callable[[str], Cell]:
        return lambda label: mean(runs[label, case], value)

    heads = ["algorithm", "choice"][: len(next(iter(rows.values())))]
    shown = {column: of(*key) for column, key in columns.items()}
    return table(name, title, heads, ((words, label) for label, words in rows.items()), shown, digits)


AS_THE_CODE = {algorithm: (algorithm,) for algorithm in ALGORITHMS}
"""The labels of the study's own set-up, as rows of a table."""


def labels(runs: Runs) -> dict[str, tuple[str, str]]:
    """Algorithm and choice of each label."""
    parts = {label: label.partition(", ") for label, _ in runs}
    return {label: (algorithm, choice or CODE) for label, (algorithm, _, choice) in parts.items()}
