"""What a result says, in sentences: who won, by how much, how sure.

A difference between algorithms counts as shown only if an interval of paired differences (the same run, or the same
seed) does not cover zero. Where several are compared the intervals of a setting are wider, so that all of them hold
together with 95 % (Bonferroni). One run, or repetitions that are all alike, show no more than what they had.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import transfers
from dumbbell.fairness import jain
from dumbbell.inference import ALPHA, Interval, mean_interval
from dumbbell.pages.limits import busiest_link
from dumbbell.points import values
from dumbbell.report import number, percent
from dumbbell.results import setting_name
from dumbbell.selection import with_metric

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Result, SweepResult

MAX_NAMED = 4
"""So many flows, sources or settings are named; more are counted."""

MAX_LISTED = 8
"""Of more settings than these it is said in how many of them something is so, and not in which."""

GUESTS = ("probe", "real-time")
"""Kinds of flows of datagrams that want no more than they need, and take part in no contest."""


def of_run(result: Result) -> list[str]:
    """What a run says: a sentence about its flows, one about each source of traffic and each flow of datagrams."""
    chance = "--repeat 10 tells" if result.meta.certificate else "--repeat 10 --vary-rtt tells"
    guests = {row["flow"] for row in result.datagrams.rows() if row["kind"] in GUESTS}
    flows = [row for row in result.flows.rows() if row["flow"] not in guests]
    found = []
    if flows:
        own = _of_one(flows[0], result) if len(flows) == 1 else _of_several(flows)
        found.append(f"{own}; one run: how much of that is chance is not known: {chance}.")
    return found + [f"{text}." for text in _named(list(_others_of_run(result)), "more in the tables")]


def _of_one(row: Mapping[str, Any], result: Result) -> str:
    name = _flow_name(row)
    if row["completion_s"] is not None:
        return f"{name} had sent all its data after {number(row['completion_s'])} s"
    text = f"{name} had {number(row['goodput_mbps'])} Mbit/s of goodput"
    link = busiest_link(result)
    if link.get("capacity_mbps") and row["goodput_mbps"] is not None:
        share = percent(row["goodput_mbps"] / link["capacity_mbps"])
        text += f", {share} of the {number(link['capacity_mbps'])} Mbit/s of {link['name']}"
    if row["p95_rtt_ms"] is not None:
        text += f", at an RTT of up to {number(row['p95_rtt_ms'])} ms in 95 % of samples"
        text += f" ({number(row['base_rtt_ms'])} ms without a queue)" if row["base_rtt_ms"] else ""
    return text


def _of_several(rows: Sequence[Mapping[str, Any]]) -> str:
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(_flow_name(row), []).append(row["goodput_mbps"] or 0.0)
    total = sum(map(sum, groups.values()))
    if total == 0:
        return f"none of {len(rows)} flows got anything"
    if len(groups) == 1:
        ((name, rates),) = groups.items()
        index = jain(rates)
        return (
            f"{len(rates)} flows of {name} had {number(total)} Mbit/s of goodput together, each "
            f"{number(min(rates))} to {number(max(rates))}" + ("" if index is None else f" (Jain's index {index:.3f})")
        )
    ordered = sorted(groups.items(), key=lambda group: -sum(group[1]))
    parts = []
    for place, (name, rates) in enumerate(ordered):
        flows = f" ({len(rates)} flows)" if len(rates) > 1 else ""
        share = percent(sum(rates) / total)
        if place == 0:
            share = f"had {share} of the goodput ({number(sum(rates))} of {number(total)} Mbit/s)"
        parts.append(f"{name}{flows} {share}")
    text = ", ".join(_named(parts, "more"))
    if max(len(rates) for rates in groups.values()) > 1:
        each = [f"{number(fmean(rates))} for {name}" for name, rates in ordered]
        text += f"; per flow that is {', '.join(_named(each, 'more'))}"
    return text


def _others_of_run(result: Result) -> Iterator[str]:
    if len(result.traffic):
        sizes = transfers.by_size(result.completions.to_polars())
        for row in sizes.filter(sizes["sizes"] == transfers.ALL).to_dicts():
            text = f"{row['label']}: half of {row['transfers']:,} transfers took up to {_ms(row['p50_fct_s'])} ms, "
            text += f"95 % up to {_ms(row['p95_fct_s'])} ms"
            yield text + (f"; unfinished at the end: {row['unfinished']:,}" if row["unfinished"] else "")
    if len(result.pages):
        for row in result.traffic.rows():
            if row["pages_total"]:
                times = [_ms(row[f"{name}_plt_s"]) for name in ("p50", "p95")]
                yield f"{row['label']}: half of the pages loaded in up to {times[0]} ms, 95 % in up to {times[1]} ms"
    for row in result.datagrams.rows():
        if not row["sent"]:
            continue
        text = f"{row['label']} ({row['kind']}) lost {percent(row['loss'] or 0.0)} of its packets; 95 % of the others"
        text += f" took up to {number(row['p95_one_way_ms'])} ms one way"
        if row["frames"]:
            text += f"; {row['late_frames'] or 0:,} of {row['frames']:,} frames were late"
        yield text


# --- sweeps ----------------------------------------------------------------------------------------------------------


class Quantity(NamedTuple):
    """What contestants are compared by."""

    column: str
    name: str
    unit: str
    is_better_when_more: bool

    @property
    def best(self) -> str:
        """What the winner has."""
        return f"the {'highest' if self is FAIRNESS else 'most' if self.is_better_when_more else 'least'} {self.name}"


GOODPUT = Quantity("goodput_mbps", "goodput", "Mbit/s", True)
DELAY = Quantity("p95_rtt_ms", "p95 RTT", "ms", False)
FAIRNESS = Quantity("jain", "fairness (Jain's index)", "", True)

Samples = dict[str, dict[int, float]]
"""The value of each contestant in each repetition."""


@dataclass(frozen=True)
class Outcome:
    """What one setting says: who was best, and who cannot be told from it."""

    setting: str
    best: str
    means: Mapping[str, float]
    against: Mapping[str, Interval]
    """By how much each other contestant is worse than the best; intervals that hold together."""
    runs: int

    @property
    def is_sampled(self) -> bool:
        """Whether repetitions differ, so that there are intervals at all."""
        return any(interval.has_width for interval in self.against.values())

    @property
    def equals(self) -> list[str]:
        """The contestants that are not shown to be worse than the best, the nearest first."""
        near = [name for name, interval in self.against.items() if not (interval.low > 0 and interval.has_width)]
        return sorted(near, key=lambda name: self.against[name].estimate)

    @property
    def next(self) -> str:
        """The one behind the best."""
        return min(self.against, key=lambda name: self.against[name].estimate)


def of_sweep(sweep: SweepResult) -> list[str]:
    """What a sweep says: of its contestants, by goodput and, where each is alone, by delay; of its other sources."""
    flows = _without_guests(sweep)
    repeats = 1 + max(values(sweep.points, "repeat"), default=0)
    found = []
    if flows.height:
        contest = _Contest.of(flows, sweep.axes)
        outcomes = {quantity: contest.outcomes(quantity) for quantity in contest.quantities}
        said = [_sentence(own, quantity, contest, repeats) for quantity, own in outcomes.items() if own]
        found += said or list(
            _over_settings(flows, sweep.axes, ("label",), "goodput_mbps", ("had", "Mbit/s of goodput"))
        )
    found += _named([*_traffic_of_sweep(sweep), *_datagrams_of_sweep(sweep)], "More are in the tables.")
    return found


@dataclass(frozen=True)
class _Contest:
    """The flows of a sweep by contestants: the values of a swept algorithm, or the flows that share each run."""

    flows: pl.DataFrame
    """With the columns ``who`` and ``where``."""
    quantities: tuple[Quantity, ...]
    is_swept: bool

    @classmethod
    def of(cls, flows: pl.DataFrame, axes: Sequence[str]) -> _Contest:
        import polars as pl

        present = [axis for axis in axes if axis in flows.columns and flows[axis].n_unique() > 1]
        algorithm = next((axis for axis in present if axis.endswith(".cc")), None)
        others = [axis for axis in present if axis != algorithm]
        words = [
            pl.concat_str(pl.lit(f"{setting_name(axis)} "), pl.col(axis).cast(pl.String).fill_null("-"))
            for axis in others
        ]
        flows = flows.with_columns((pl.concat_str(words, separator=", ") if words else pl.lit("")).alias("where"))
        if algorithm is None:
            flows = flows.with_columns(pl.struct("label", "cc").map_elements(_flow_name, pl.String).alias("who"))
            return cls(flows, (GOODPUT,), is_swept=False)
        # The flows whose algorithm changes where nothing else does; all, if they differ in parameters alone.
        changing = flows.group_by("where", "flow").agg(pl.col("algorithm").n_unique().alias("n"))
        touched = changing.filter(pl.col("n") > 1)["flow"].unique()
        chosen = flows.filter(pl.col("flow").is_in(touched.to_list())) if touched.len() else flows
        chosen = chosen.with_columns(pl.col(algorithm).cast(pl.String).alias("who"))
        if flows.group_by("point").len()["len"].max() == 1:
            return cls(chosen, (GOODPUT, DELAY), is_swept=True)
        of_all = chosen.height == flows.height
        return cls(with_metric(chosen, "jain"), (GOODPUT, FAIRNESS) if of_all else (GOODPUT,), is_swept=True)

    def outcomes(self, quantity: Quantity) -> list[Outcome]:
        """What each setting says; nothing where there is nobody to compare."""
        import polars as pl

        # Flows of one run are not independent: a run is one sample. A swept algorithm has what its flows have together.
        value = pl.col(quantity.column)
        summed = self.is_swept and quantity is GOODPUT
        runs = self.flows.group_by("where", "who", "repeat", maintain_order=True).agg(
            value.sum() if summed else value.mean()
        )
        settings: dict[str, Samples] = {}
        for where, who, repeat, measured in runs.drop_nulls().rows():
            settings.setdefault(where, {}).setdefault(who, {})[repeat] = measured
        contested = {where: samples for where, samples in settings.items() if len(samples) > 1}
        found = (_outcome(where, samples, quantity) for where, samples in contested.items())
        return [outcome for outcome in found if outcome is not None]


def _outcome(where: str, samples: Samples, quantity: Quantity) -> Outcome | None:
    means = {name: fmean(own.values()) for name, own in samples.items()}
    sign = 1 if quantity.is_better_when_more else -1
    best = max(means, key=lambda name: sign * means[name])
    # Anybody could have been the best, so that every pair counts.
    pairs = len(samples) * (len(samples) - 1) // 2
    against = {}
    for name, own in samples.items():
        if name == best:
            continue
        differences = [sign * (samples[best][repeat] - own[repeat]) for repeat in own if repeat in samples[best]]
        interval = mean_interval(differences, 1 - ALPHA / pairs)
        if interval is not None:
            against[name] = interval
    return Outcome(where, best, means, against, len(samples[best])) if against else None


def _sentence(outcomes: Sequence[Outcome], quantity: Quantity, contest: _Contest, repeats: int) -> str:
    if not any(outcome.is_sampled for outcome in outcomes):
        return _unsampled(outcomes, quantity, repeats)
    if len(outcomes) == 1:
        return _of_one_setting(outcomes[0], quantity, contest)
    return _of_settings(outcomes, quantity, repeats)


def _unsampled(outcomes: Sequence[Outcome], quantity: Quantity, repeats: int) -> str:
    """What there was, of runs that show no difference."""
    if len(outcomes) == 1:
        means = outcomes[0].means
        first, *rest = sorted(means, key=lambda name: means[name], reverse=quantity.is_better_when_more)
        others = ", ".join(_named([f"{name} {number(means[name])}" for name in rest], "more"))
        text = f"{first} had {quantity.best}: {_with_unit(number(means[first]), quantity)}, {others}"
    else:
        (winner, most), *less = Counter(outcome.best for outcome in outcomes).most_common()
        text = f"{winner} had {quantity.best} in {most} of {len(outcomes)} settings"
        text += "".join(f", {name} in {n}" for name, n in less)
    if repeats > 1:
        return f"{text}; all {repeats} seeds gave the same result, which is one sample: --vary-rtt makes them differ."
    return f"{text}; one run of each: how much of that is chance is not known: --repeat 10 --vary-rtt tells."


def _of_one_setting(outcome: Outcome, quantity: Quantity, contest: _Contest) -> str:
    best, means, near = outcome.best, outcome.means, outcome.equals
    runs = f"{outcome.runs} runs of each with the same seeds" if contest.is_swept else f"{outcome.runs} runs"
    what = "95 % intervals that hold together" if len(means) > 2 else "95 % interval"
    more = "more" if quantity.is_better_when_more else "less"
    if near:
        spans = " or ".join(_span(outcome.against[name]) for name in near)
        text = (
            f"No difference shown between {_and([best, *near])} in {quantity.name}: "
            f"{_with_unit(_and([number(means[name]) for name in (best, *near)]), quantity)}; "
            f"{best} has {_with_unit(spans, quantity)} {more} ({what}, {runs})"
        )
    else:
        near = [outcome.next]
        interval = outcome.against[near[0]]
        share = f" ({percent(interval.estimate / means[near[0]])})" if means[near[0]] else ""
        verb = "won" if quantity is GOODPUT else f"had {quantity.best}"
        text = (
            f"{best} {verb}: {_with_unit(number(interval.estimate), quantity)}{share} {more} {quantity.name} than "
            f"{near[0]}, {number(means[best])} and {number(means[near[0]])} "
            f"({what}: {_with_unit(_span(interval), quantity)}, {runs})"
        )
    behind = [f"{name} ({number(means[name])})" for name in outcome.against if name not in near]
    worse = "less" if quantity.is_better_when_more else "more"
    return text + (f"; {_and(_named(behind, 'more'))} had {worse}" if behind else "") + "."


def _of_settings(outcomes: Sequence[Outcome], quantity: Quantity, repeats: int) -> str:
    """Who won where, of several settings, and who cannot be told apart there."""
    total = len(outcomes)
    leading: dict[tuple[str, ...], list[Outcome]] = {}
    alike = [outcome for outcome in outcomes if not outcome.is_sampled]
    for outcome in outcomes:
        if outcome.is_sampled:
            leading.setdefault(tuple(sorted((outcome.best, *outcome.equals))), []).append(outcome)
    parts = []
    won = {names[0]: own for names, own in leading.items() if len(names) == 1}
    for name, own in sorted(won.items(), key=lambda item: -len(item[1])):
        leads = [outcome.against[outcome.next].estimate for outcome in own]
        low, high = number(min(leads)), number(max(leads))
        by = _with_unit(low + (f" to {high}" if high != low else ""), quantity)
        parts.append(f"{name} had {quantity.best} {_where(own, total)}, by {by} over the next")
    worse = f"{'less' if quantity.is_better_when_more else 'more'} {quantity.name}"
    tied = {names: own for names, own in leading.items() if len(names) > 1}
    if len(tied) == 1:
        ((names, own),) = tied.items()
        others = [name for name in own[0].means if name not in names]
        rest = f", and {_and(others)} had {worse}" if others else f" in {quantity.name}"
        parts.append(f"no difference shown between {_and(names)}{rest} {_where(own, total)}")
    elif tied:
        open_ones = [outcome for own in tied.values() for outcome in own]
        of = "" if won else f" in {quantity.name}"
        text = f"no difference shown{of} between the best and the next {_where(open_ones, total)}"
        behind = Counter(name for outcome in open_ones for name in outcome.against if name not in outcome.equals)
        shown = [f"{name} in {n}" for name, n in behind.most_common()]
        parts.append(text + (f", where {_and(shown)} had {worse} than the best" if shown else ""))
    if alike:
        parts.append(f"all seeds gave the same result, which is one sample, {_where(alike, total)}")
    text = "; ".join(parts)
    # The name of an algorithm begins as it is written.
    start = text[0] if won else text[0].upper()
    together = " that hold together in each setting" if max(len(outcome.means) for outcome in outcomes) > 2 else ""
    return f"{start}{text[1:]} (95 % intervals{together}, {repeats} runs of each)."


def _where(outcomes: Sequence[Outcome], total: int) -> str:
    if len(outcomes) == total:
        return f"in all {total} settings"
    if total > MAX_LISTED:
        return f"in {len(outcomes)} of {total} settings"
    settings = "; ".join(_named([outcome.setting for outcome in outcomes], "more"))
    return f"in {len(outcomes)} of {total} settings ({settings})"


def _over_settings(
    rows: pl.DataFrame, axes: Sequence[str], by: Sequence[str], column: str, words: tuple[str, str], factor: float = 1.0
) -> Iterator[str]:
    """A number of each source over the settings of a sweep: the mean over repetitions, with the interval's half."""
    verb, unit = words
    present = [axis for axis in axes if axis in rows.columns and rows[axis].n_unique() > 1]
    for (label, *_), own in rows.partition_by(*by, as_dict=True, maintain_order=True).items():
        parts = []
        settings = own.partition_by(*present, as_dict=True, maintain_order=True) if present else {(): own}
        for setting, part in settings.items():
            runs = part.group_by("point", maintain_order=True).mean()
            interval = mean_interval(factor * runs[column].drop_nulls().to_numpy())
            if interval is None:
                continue
            where = ", ".join(f"{setting_name(axis)} {value}" for axis, value in zip(present, setting, strict=True))
            half = f" \N{PLUS-MINUS SIGN} {interval.half_width:.2g}" if interval.has_width else ""
            parts.append((interval.estimate, f"{number(interval.estimate)}{half}", where))
        if not parts:
            continue
        if len(parts) <= MAX_NAMED:
            units = itertools.chain([f" {unit}"], itertools.repeat(""))
            said = [
                f"{text}{of}" + (f" with {where}" if where else "")
                for (_, text, where), of in zip(parts, units, strict=False)
            ]
            yield f"{label} {verb} {', '.join(said)}."
        else:
            low, high = min(parts), max(parts)
            yield f"{label} {verb} {low[1]} ({low[2]}) to {high[1]} ({high[2]}) {unit} over {len(parts)} settings."


def _traffic_of_sweep(sweep: SweepResult) -> Iterator[str]:
    if len(sweep.transfers):
        frame = sweep.transfers.to_polars()
        rows = frame.filter(frame["sizes"] == transfers.ALL)
        words = ("needed for 95 % of its transfers up to", "ms")
        yield from _over_settings(rows, sweep.axes, ("label",), "p95_fct_s", words, 1e3)


def _datagrams_of_sweep(sweep: SweepResult) -> Iterator[str]:
    if not len(sweep.datagrams):
        return
    rows = sweep.datagrams.to_polars()
    of_frames = rows["p95_frame_ms"].is_not_null()
    words = ("had 95 % of its frames within", "ms")
    yield from _over_settings(rows.filter(of_frames), sweep.axes, ("label",), "p95_frame_ms", words)
    words = ("had 95 % of its packets within", "ms one way")
    yield from _over_settings(rows.filter(~of_frames), sweep.axes, ("label",), "p95_one_way_ms", words)


def _without_guests(sweep: SweepResult) -> pl.DataFrame:
    import polars as pl

    flows = sweep.flows.to_polars()
    if not len(sweep.datagrams) or not flows.height:
        return flows
    datagrams = sweep.datagrams.to_polars()
    guests = datagrams.filter(pl.col("kind").cast(pl.String).is_in(GUESTS)).select("point", "flow").unique()
    return flows.join(guests, on=("point", "flow"), how="anti", maintain_order="left")


# --- words -----------------------------------------------------------------------------------------------------------


def _flow_name(row: Mapping[str, Any]) -> str:
    label, algorithm = str(row["label"]), str(row["cc"])
    return label if algorithm in label or algorithm == "none" else f"{label} ({algorithm})"


def _ms(seconds: float | None) -> str:
    return number(None if seconds is None else 1e3 * seconds)


def _span(interval: Interval) -> str:
    return f"{number(interval.low)} to {number(interval.high)}"


def _named(parts: Sequence[str], rest: str) -> list[str]:
    """The first few, and how many more there are."""
    if len(parts) <= MAX_NAMED:
        return list(parts)
    return [*parts[:MAX_NAMED], f"{len(parts) - MAX_NAMED} {rest}"]


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _with_unit(text: str, quantity: Quantity) -> str:
    return f"{text} {quantity.unit}".rstrip()


__all__ = ["Outcome", "of_run", "of_sweep"]
