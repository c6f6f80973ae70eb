"""Looks for what a case asks in the series of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dumbbell.check.cases import WORDS, Assertion, Moment, Quantity, Window
from dumbbell.check.expressions import CONSTANTS, DURATION, FLOW, TEXTS, Expression
from dumbbell.inference import FloatArray

if TYPE_CHECKING:
    from dumbbell.results import Result

Verdict = Literal["pass", "fail", "not observable"]

IN_PHASE = "cc_in_"

HEADERS = 40
"""Bytes of IP and TCP headers without options, of which timestamps take 12 more."""


class NotObservableError(Exception):
    """The algorithm does not show a value."""


class NeverError(Exception):
    """A moment does not come."""


@dataclass(frozen=True)
class Finding:
    """What came of an assertion."""

    says: str
    verdict: Verdict
    asked: str
    found: str
    when: float | None
    """Seconds of the run."""


class Observed:
    """What a run shows of its first flow."""

    def __init__(self, result: Result) -> None:
        frame = result.series.to_polars()
        frame = frame.filter(frame["flow"] == 0)
        self.values: dict[str, Any] = {}
        for name in frame.columns:
            if name in TEXTS:
                self.values[name] = np.asarray(frame[name].cast(str).fill_null("").to_list(), dtype=object)
            else:
                self.values[name] = frame[name].cast(float).fill_null(np.nan).to_numpy()
        self.t: FloatArray = self.values["t_s"]
        if not any(self.values["mode"]):
            self.values["mode"] = self._phases()
        row = result.flows.to_polars().row(0, named=True)
        numbers = {key: np.nan if value is None else value for key, value in row.items()}
        self.values |= {f"{FLOW}.{key}": value for key, value in numbers.items() if isinstance(value, int | float)}
        self.values |= dict(zip(CONSTANTS, (*_sizes(result), np.inf), strict=True))

    def _phases(self) -> Any:
        """The phases that a class of one's own shows: its values ``in_NAME`` are 1 in the phase of that name."""
        modes = np.full(len(self.t), "", dtype=object)
        for name, values in self.values.items():
            if name.startswith(IN_PHASE):
                modes[values > 0] = name.removeprefix(IN_PHASE)
        return modes

    def need(self, names: Iterable[str]) -> None:
        """Refuses values that the algorithm does not show."""
        for name in names:
            if name == DURATION:
                continue
            values = self.values.get(name)
            if values is None or (name == "mode" and not any(values)):
                raise NotObservableError("phases" if name == "mode" else name)

    def instants(self, moment: Moment) -> list[int]:
        """The rows of all instants of a moment, in the order of time."""
        n = len(self.t)
        match moment.kind:
            case "at":
                found = [int(np.searchsorted(self.t, moment.seconds - 1e-9))]
            case "enter":
                found = [begin for begin, _ in self.stays(moment.text)]
            case "leave":
                found = [end for _, end in self.stays(moment.text) if end < n]
            case _:
                assert moment.condition is not None
                self.need(moment.condition.names)
                holds = np.broadcast_to(np.asarray(moment.condition.evaluate(self.values), dtype=bool), (n,))
                found = [row for row in range(n) if holds[row] and (row == 0 or not holds[row - 1])]
                if moment.after is not None and (start := self.one(moment.after)) not in found and holds[start]:
                    # It holds already when it is looked for.
                    found = sorted([*found, start])
        if moment.after is not None:
            start = self.one(moment.after)
            found = [row for row in found if row >= start]
        if moment.until is not None:
            stop = self.one(moment.until)
            found = [row for row in found if row < stop]
        if moment.plus:
            found = [int(np.searchsorted(self.t, self.t[min(row, n - 1)] + moment.plus - 1e-9)) for row in found]
        if moment.rounds:
            self.need(["cc_round"])
            counts = self.values["cc_round"]
            found = [int(np.searchsorted(counts, counts[min(row, n - 1)] + moment.rounds)) for row in found]
        return [row for row in found if 0 <= row < n]

    def one(self, moment: Moment) -> int:
        """The row of the instant that a moment means."""
        found = self.instants(moment)
        number = moment.nth - 1 if moment.nth > 0 else moment.nth
        try:
            return found[number]
        except IndexError:
            raise NeverError(self._never(str(moment), moment.nth, len(found))) from None

    def stays(self, mode: str) -> list[tuple[int, int]]:
        """The first row of each stay in a mode, and the first row after it."""
        self.need(["mode"])
        inside = np.asarray([fnmatchcase(name, mode) for name in self.values["mode"]])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False])).astype(int)))
        return [(int(begin), int(end)) for begin, end in zip(edges[::2], edges[1::2], strict=True)]

    def windows(self, window: Window) -> list[tuple[int, int]]:
        """The rows of stretches, from the first up to the one behind the last; stays that the run cuts off are none."""
        if window.during is not None:
            found = [(begin, end) for begin, end in self.stays(window.during) if end < len(self.t)]
            if window.after is not None:
                start = self.one(window.after)
                found = [stay for stay in found if stay[0] >= start]
        else:
            assert window.begin is not None and window.end is not None
            begin = self.one(window.begin)
            end = self.one(window.end)
            found = [(begin, end)] if end > begin else []
        return found

    def inner(self, window: Window, rows: tuple[int, int]) -> tuple[int, int]:
        """What ``skip`` and ``last`` leave of a stretch."""
        begin, end = rows
        begin = int(np.searchsorted(self.t, self.t[begin] + window.skip - 1e-9))
        if window.last is not None:
            begin = max(begin, int(np.searchsorted(self.t, self.t[end] - window.last - 1e-9)))
        return min(begin, end - 1), end

    def _never(self, what: str, nth: int, times: int) -> str:
        seen = list(dict.fromkeys(name for name in self.values["mode"] if name))
        often = "never" if times == 0 else f"{times} times, not {abs(nth)}"
        return f"{what}: {often}" + (f"; phases were {', '.join(seen)}" if seen else "")


def _sizes(result: Result) -> tuple[float, float]:
    """The bytes of payload and of IP in a full packet of the first flow."""
    import json

    from dumbbell import _core

    transport = json.loads(_core.toml_as_json(result.scenario_toml))["flows"][0]["transport"]
    payload = float(transport["mss"])
    if transport["protocol"] == "quic":
        # UDP, IP and QUIC's short header with its tag.
        return payload, payload + 50
    return payload, payload + HEADERS + (12 if transport["timestamps"] else 0)


def judge(assertion: Assertion, observed: Observed) -> Finding:
    """Looks at a run whether an assertion holds."""
    asked = assertion.asked
    try:
        places = list(_places(assertion, observed))
        if len(places) < assertion.at_least:
            times = f"{len(places)} times, not {assertion.at_least}" if places else "never"
            raise NeverError(f"{assertion.quantity.when}: {times}")
        other = _other(assertion, observed)
        last = Finding(assertion.says, "pass", asked, "", None)
        for rows in places:
            last = _compare(assertion, observed, rows, other)
            if last.verdict == "fail":
                break
        return last
    except NotObservableError as error:
        return Finding(assertion.says, "not observable", asked, f"the algorithm does not show {error}", None)
    except NeverError as error:
        return Finding(assertion.says, "fail", asked, str(error), None)


_Rows = tuple[int, int] | int | None


def _places(assertion: Assertion, observed: Observed) -> Iterator[_Rows]:
    """Where an assertion looks: an instant, a stretch, or the whole run."""
    quantity = assertion.quantity
    if quantity.expression is not None:
        observed.need(quantity.expression.names)
    if isinstance(assertion.value, Expression):
        observed.need(assertion.value.names)
    when = quantity.when
    if quantity.expression is None or when is None:
        yield None
    elif assertion.each:
        yield from observed.windows(when) if isinstance(when, Window) else observed.instants(when)
    else:
        yield _chosen(when, observed)


def _chosen(when: Moment | Window, observed: Observed) -> tuple[int, int] | int:
    if isinstance(when, Moment):
        return observed.one(when)
    found = observed.windows(when)
    number = when.nth - 1 if when.nth > 0 else when.nth
    if not -len(found) <= number < len(found):
        raise NeverError(f"{when}: {f'{len(found)} times, not {when.nth}' if found else 'never'}")
    return found[number]


def _other(assertion: Assertion, observed: Observed) -> float | None:
    """The value of another time that is compared with."""
    value = assertion.value
    if not isinstance(value, Quantity):
        return None
    assert value.expression is not None and value.when is not None
    observed.need(value.expression.names)
    rows = _chosen(value.when, observed)
    found, _ = _values(value, observed, rows)
    return float(found[0])


def _values(quantity: Quantity, observed: Observed, rows: _Rows) -> tuple[FloatArray, Sequence[int]]:
    """The values that are compared, and their rows."""
    n = len(observed.t)
    if quantity.expression is None:
        assert isinstance(quantity.when, Moment)
        return np.array([float(len(observed.instants(quantity.when)))]), [n - 1]
    values: Mapping[str, Any] = observed.values
    if rows is None:
        return np.array([float(quantity.expression.evaluate(values))]), [n - 1]
    if isinstance(rows, int):
        return quantity.expression.at(values, n)[rows : rows + 1], [rows]
    assert isinstance(quantity.when, Window)
    begin, end = observed.inner(quantity.when, rows)
    length = observed.t[end] - observed.t[begin]
    series = quantity.expression.at({**values, DURATION: length}, n)[begin:end]
    match quantity.take:
        case "all" | "any":
            if DURATION in quantity.expression.names:
                return series[-1:], [end - 1]
            return series, range(begin, end)
        case "mean":
            return np.array([np.nan if np.isnan(series).all() else np.nanmean(series)]), [end - 1]
        case "min" | "max":
            place = (
                int((np.nanargmin if quantity.take == "min" else np.nanargmax)(series))
                if not np.isnan(series).all()
                else 0
            )
            return series[place : place + 1], [begin + place]
        case "first":
            return series[:1], [begin]
        case "last":
            return series[-1:], [end - 1]
    return np.array([series[-1] - series[0]]), [end - 1]


def _compare(assertion: Assertion, observed: Observed, rows: _Rows, other: float | None) -> Finding:
    if assertion.relation in WORDS:
        return _compare_texts(assertion, observed, rows)
    found, places = _values(assertion.quantity, observed, rows)
    if other is not None:
        wanted = np.full(len(found), other)
    elif isinstance(assertion.value, Expression):
        wanted = assertion.value.at(observed.values, len(observed.t))[list(places)]
    else:
        assert isinstance(assertion.value, float)
        wanted = np.full(len(found), assertion.value)
    holds = _holds(assertion, found, wanted)
    is_enough = holds.any() if assertion.quantity.take == "any" else holds.all()
    place = 0 if is_enough else int(np.flatnonzero(~holds)[0])
    if assertion.quantity.take == "any" and is_enough:
        place = int(np.flatnonzero(holds)[0])
    told = _number(found[place])
    if not isinstance(assertion.value, float):
        told += f" against {_number(wanted[place])}"
    is_whole = assertion.quantity.expression is None or rows is None
    when = None if is_whole else float(observed.t[places[place]])
    return Finding(assertion.says, "pass" if is_enough else "fail", assertion.asked, told, when)


def _compare_texts(assertion: Assertion, observed: Observed, rows: _Rows) -> Finding:
    assert assertion.quantity.expression is not None and isinstance(assertion.value, str)
    texts = observed.values[assertion.quantity.expression.text]
    first, end = (rows, rows + 1) if isinstance(rows, int) else rows if rows is not None else (0, len(texts))
    if isinstance(assertion.quantity.when, Window) and rows is not None and not isinstance(rows, int):
        first, end = observed.inner(assertion.quantity.when, rows)
    matches = np.asarray([fnmatchcase(text, assertion.value) for text in texts[first:end]])
    holds = matches if assertion.relation == "is" else ~matches
    is_enough = bool(holds.any() if assertion.quantity.take == "any" else holds.all())
    place = first + (0 if is_enough else int(np.flatnonzero(~holds)[0]))
    return Finding(
        assertion.says, "pass" if is_enough else "fail", assertion.asked, str(texts[place]) or "no phase",
        float(observed.t[place]),
    )  # fmt: skip


def _holds(assertion: Assertion, found: FloatArray, wanted: FloatArray) -> Any:
    finite = np.where(np.isfinite(wanted), np.abs(wanted), 0.0)
    slack = assertion.tolerance * finite if assertion.is_relative else np.full(len(wanted), assertion.tolerance)
    with np.errstate(invalid="ignore"):
        match assertion.relation:
            case "<":
                return found < wanted + slack
            case "<=":
                return found <= wanted + slack
            case ">":
                return found > wanted - slack
            case ">=":
                return found >= wanted - slack
        return (found == wanted) | (np.abs(found - wanted) <= slack + 1e-9)


def _number(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.4g}"
