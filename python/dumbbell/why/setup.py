"""What ran: the resolved experiment of a run as data, whose speed is asked about, and the links on its way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dumbbell import _core
from dumbbell.packets import PACKET_BITS

if TYPE_CHECKING:
    from dumbbell.results import Result

Block = Mapping[str, Any]
"""A table of the resolved experiment."""


@dataclass(frozen=True)
class Subject:
    """Flows with one label, or a source of traffic."""

    label: str
    kind: str
    """``flows`` or ``traffic``, the list in the experiment."""
    members: tuple[int, ...]
    """Their places in that list."""


@dataclass(frozen=True)
class Link:
    """A direction of a link, and what a run tells of it."""

    index: int
    block: Block
    row: Mapping[str, Any]
    usage: float | None
    """Its utilisation while the subject had data to send; ``None`` without a rate."""

    @property
    def name(self) -> str:
        """Its name in reports."""
        return str(self.block["name"])

    @property
    def key(self) -> str:
        """Where it stands in the resolved experiment."""
        return f"links[{self.index}]"

    @property
    def mbps(self) -> float | None:
        """Its constant rate; ``None`` if it changes or is unlimited."""
        rate = self.block.get("rate")
        return in_unit(rate, "Mbit/s") if isinstance(rate, str) else None

    @property
    def packet_time_ms(self) -> float | None:
        """What a packet of 1500 bytes takes at its mean rate."""
        capacity = self.row.get("capacity_mbps")
        return PACKET_BITS / 1e3 / capacity if capacity else None

    @property
    def queue(self) -> tuple[str, Block]:
        """The kind of its discipline, and the parameters."""
        queue = self.block.get("queue", "droptail")
        return (queue, {}) if isinstance(queue, str) else (queue["kind"], queue)


def in_unit(text: object, unit: str) -> float | None:
    """The number of a quantity in this unit of :func:`dumbbell._core.quantity`; ``None`` for any other."""
    found = _core.quantity(text) if isinstance(text, str) else None
    return found[0] if found is not None and found[1] == unit else None


def ways(block: Block, key: str = "route") -> list[list[str]]:
    """The names of links on the way of each sender: several senders of a source of traffic have ways of their own."""
    way = block.get(key, [])
    return way if way and isinstance(way[0], list) else [way]


class Setup:
    """A run as it was set up, and what came of it."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self._used: dict[float | None, list[Link]] = {}

    @cached_property
    def experiment(self) -> Block:
        """The resolved experiment."""
        found: Block = json.loads(_core.toml_as_json(self.result.scenario_toml))
        return found

    @cached_property
    def subjects(self) -> list[Subject]:
        """All that fill the network as fast as it lets them: no datagrams, which have a rate of their own."""
        guests = {row["flow"] for row in self.result.datagrams.rows()}
        by_label: dict[str, list[int]] = {}
        for index, row in enumerate(self.result.flows.rows()):
            if index not in guests:
                by_label.setdefault(str(row["label"]), []).append(index)
        flows = [Subject(label, "flows", tuple(members)) for label, members in by_label.items()]
        traffic = self.result.traffic.rows()
        return flows + [Subject(str(row["label"]), "traffic", (index,)) for index, row in enumerate(traffic)]

    @property
    def measured_s(self) -> tuple[float, float]:
        """Begin and end of the measured interval in seconds."""
        warmup, cooldown = ((in_unit(self.experiment.get(key), "ms") or 0.0) / 1e3 for key in ("warmup", "cooldown"))
        return warmup, self.result.meta.sim_s - cooldown

    def blocks(self, subject: Subject) -> Sequence[Block]:
        """What the experiment says of each member."""
        return [self.experiment[subject.kind][index] for index in subject.members]

    def is_finite(self, subject: Subject) -> bool:
        """Whether each member has a size."""
        return subject.kind == "traffic" or all("bytes" in block for block in self.blocks(subject))

    def settings(self, subject: Subject, key: str, value: str) -> dict[str, str]:
        """A setting for each member."""
        return {f"{subject.kind}[{index}].{key}": value for index in subject.members}

    def forward(self, subject: Subject) -> list[Link]:
        """The links that its data crosses."""
        return list(self._links(subject, "route"))

    def back(self, subject: Subject) -> list[Link]:
        """The links that its ACKs cross."""
        return list(self._links(subject, "reverse_route"))

    def base_rtt_ms(self, subject: Subject) -> float:
        """The longest base round-trip time among its members."""
        if subject.kind == "flows":
            rows = self.result.flows.rows()
            return float(max(rows[index]["base_rtt_ms"] or 0.0 for index in subject.members))
        delays = {link.name: in_unit(link.block.get("delay"), "ms") or 0.0 for link in self.links}
        longest = [
            max(sum(delays[name] for name in way) for block in self.blocks(subject) for way in ways(block, key))
            for key in ("route", "reverse_route")
        ]
        return sum(longest)

    def flow_rows(self, subject: Subject) -> list[Mapping[str, Any]]:
        """What the run tells of each member."""
        rows = (self.result.flows if subject.kind == "flows" else self.result.traffic).rows()
        return [rows[index] for index in subject.members]

    def total(self, subject: Subject, column: str) -> int:
        """A count over the whole run and all members."""
        return sum(int(row.get(f"{column}_total") or 0) for row in self.flow_rows(subject))

    @property
    def links(self) -> list[Link]:
        """Every direction of every link, with its use over the whole measured interval."""
        return self._used_until(None)

    def _links(self, subject: Subject, key: str) -> Iterator[Link]:
        end = self._end_s(subject)
        links = {link.name: link for link in self._used_until(end)}
        names = (name for block in self.blocks(subject) for way in ways(block, key) for name in way)
        for name in dict.fromkeys(names):
            yield links[name]

    def _used_until(self, end_s: float | None) -> list[Link]:
        if end_s not in self._used:
            rows = {row["name"]: row for row in self.result.links.rows()}
            blocks = [(block, rows[block["name"]]) for block in self.experiment["links"]]
            self._used[end_s] = [
                Link(index, block, row, self._usage(row, end_s)) for index, (block, row) in enumerate(blocks)
            ]
        return self._used[end_s]

    def _end_s(self, subject: Subject) -> float | None:
        """When the last of finite transfers was over; ``None`` if there is no such time."""
        rows = self.flow_rows(subject)
        if subject.kind != "flows" or any(row["completion_s"] is None for row in rows):
            return None
        return float(max(row["start_s"] + row["completion_s"] for row in rows))

    def _usage(self, row: Mapping[str, Any], end_s: float | None) -> float | None:
        if end_s is not None and len(self.result.link_series) and row["utilization"] is not None:
            import polars as pl

            series = self.result.link_series.to_polars()
            until = series.filter((pl.col("link") == row["link"]) & (pl.col("t_s") <= end_s))["utilization"]
            mean = until.cast(pl.Float64).fill_nan(None).mean()
            if isinstance(mean, float):
                return mean
        return None if row["utilization"] is None else float(row["utilization"])
