"""A QUIC library beside our endpoints, both in virtual time, or beside itself on sockets, over twelve paths.

    .venv/bin/python tests/fidelity/quic.py [--sockets] [--write docs/quic.md]

Where losses are drawn by chance, medians of several seeds are compared. Sockets take a quarter of an hour of real time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dumbbell as db

# HyStart listens to the spacing of ACKs, which pacing changes, and the two pace in ways of their own.
CONTROLLERS: dict[str, Any] = {
    "CUBIC": {"name": "cubic", "hystart": False},
    "Reno": "reno",
    "BBR": "bbr",
    "BBR v3": "bbr3",
}
# Of losses, so many times or so many packets.
RTT, LOSS_TIMES, LOSS_PACKETS = 0.10, 1.5, 20
END = "<!-- end of the table -->\n"


@dataclass(frozen=True)
class Setting:
    """A path, and whether anything on it is drawn by chance."""

    name: str
    path: Any
    is_random: bool = False


SETTINGS = (
    Setting("10 Mbit/s, 40 ms, 0.5 BDP", {"rate": "10mbit", "rtt": "40ms", "buffer": "0.5bdp"}),
    Setting("10 Mbit/s, 40 ms, 1 BDP", {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"}),
    Setting("10 Mbit/s, 40 ms, 4 BDP", {"rate": "10mbit", "rtt": "40ms", "buffer": "4bdp"}),
    Setting("2 Mbit/s, 200 ms, 1 BDP", {"rate": "2mbit", "rtt": "200ms", "buffer": "1bdp"}),
    Setting("50 Mbit/s, 20 ms, 1 BDP", {"rate": "50mbit", "rtt": "20ms", "buffer": "1bdp"}),
    Setting("100 Mbit/s, 50 ms, 2 BDP", {"rate": "100mbit", "rtt": "50ms", "buffer": "2bdp"}),
    Setting("20 Mbit/s, 40 ms, FQ-CoDel", {"rate": "20mbit", "rtt": "40ms", "queue": "fq_codel", "buffer": "8bdp"}),
    Setting("20 Mbit/s, 40 ms, PIE", {"rate": "20mbit", "rtt": "40ms", "queue": "pie", "buffer": "8bdp"}, True),
    Setting("10 Mbit/s, 40 ms, loss 0.1 %", {"rate": "10mbit", "rtt": "40ms", "buffer": "2bdp", "loss": "0.1%"}, True),
    Setting("10 Mbit/s, 40 ms, loss 1 %", {"rate": "10mbit", "rtt": "40ms", "buffer": "2bdp", "loss": "1%"}, True),
    Setting("10 Mbit/s, 40 ms, loss 3 %", {"rate": "10mbit", "rtt": "40ms", "buffer": "2bdp", "loss": "3%"}, True),
    Setting("20 Mbit/s, 40 ms, jitter 1 ms", {"rate": "20mbit", "rtt": "40ms", "jitter": "1ms"}, True),
)


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    name: str
    transport: Any
    on: db.Linux | None = None


@dataclass(frozen=True)
class Comparison:
    """What is compared, for how long, and how near goodput has to be."""

    mark: str
    sides: tuple[Side, Side]
    duration: str
    seeds: int
    goodput: float
    controllers: tuple[str, ...]


# Packets of one size, and a receiver that bounds nothing.
MODEL = Comparison(
    "model",
    (Side("noq", {"profile": "noq", "receive_window": "16MiB"}), Side("ours", {"profile": "quic", "mss": 1414})),
    duration="30s",
    seeds=11,
    goodput=0.03,
    controllers=tuple(CONTROLLERS),
)
SOCKETS = Comparison(
    "sockets",
    (Side("sockets", "noq", db.Linux(retries=6)), Side("virtual time", "noq")),
    duration="15s",
    seeds=3,
    goodput=0.05,
    controllers=("CUBIC", "BBR"),
)


@dataclass(frozen=True)
class Measured:
    """Medians of what a flow did."""

    goodput_mbps: float
    mean_rtt_ms: float
    lost: float


def measure(comparison: Comparison, side: Side, setting: Setting, cc: Any) -> Measured:
    """Runs a flow."""
    path, flows = setting.path, [{"cc": cc}]
    experiment = {"duration": comparison.duration, "transport": side.transport, "path": path, "flows": flows}
    ground: dict[str, Any] = {} if side.on is None else {"on": side.on}
    seeds = range(1, comparison.seeds + 1 if setting.is_random else 2)
    rows = [db.run(experiment, seed=seed, **ground).flows.rows()[0] for seed in seeds]
    columns = ("goodput_mbps", "mean_rtt_ms", "lost_total")
    return Measured(*(statistics.median(float(row[column]) for row in rows) for column in columns))


def misses(one: Measured, other: Measured, goodput: float) -> list[str]:
    """What lies outside of the tolerances."""
    fewer, more = sorted((one.lost, other.lost))
    found = []
    if abs(one.goodput_mbps / other.goodput_mbps - 1) > goodput:
        found.append("goodput")
    if abs(one.mean_rtt_ms / other.mean_rtt_ms - 1) > RTT:
        found.append("RTT")
    if more - fewer > LOSS_PACKETS and more > LOSS_TIMES * fewer:
        found.append("losses")
    return found


def table(comparison: Comparison) -> str:
    """The rows in Markdown, behind how many agree."""
    both = ", ".join(side.name for side in comparison.sides)
    lines = [
        f"| path | controller | goodput, Mbit/s: {both} | mean RTT, ms: {both} | lost: {both} | outside |\n",
        "|---|---|---|---|---|---|\n",
    ]
    agreeing = 0
    for setting in SETTINGS:
        for name in comparison.controllers:
            one, other = (measure(comparison, side, setting, CONTROLLERS[name]) for side in comparison.sides)
            outside = misses(one, other, comparison.goodput)
            agreeing += not outside
            lines.append(
                f"| {setting.name} | {name} | {one.goodput_mbps:.2f}, {other.goodput_mbps:.2f} "
                f"| {one.mean_rtt_ms:.1f}, {other.mean_rtt_ms:.1f} | {one.lost:.0f}, {other.lost:.0f} "
                f"| {', '.join(outside)} |\n"
            )
    return f"{agreeing} of {len(lines) - 2} rows are within the tolerances.\n\n{''.join(lines)}"


def main() -> None:
    """Prints a table, or writes it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sockets", action="store_true", help="compare sockets with virtual time")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    options = parser.parse_args()
    comparison = SOCKETS if options.sockets else MODEL
    text = table(comparison)
    if options.write is None:
        sys.stdout.write(text)
        return
    begin = f"<!-- quic.py: {comparison.mark} -->\n"
    before, rest = options.write.read_text("utf-8").split(begin)
    _, after = rest.split(END, maxsplit=1)
    options.write.write_text(f"{before}{begin}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
