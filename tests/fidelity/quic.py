"""Our QUIC-like endpoints beside a real library: twelve paths, four controllers, and what differs.

    .venv/bin/python tests/fidelity/quic.py [--write docs/quic.md]

Both run in virtual time. Where losses are drawn by chance, medians of eleven seeds are compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dumbbell as db

BEGIN, END = "<!-- the table of quic.py -->\n", "<!-- end of the table -->\n"
SEEDS = range(1, 12)
# HyStart listens to the spacing of ACKs, which pacing changes, and the two pace in ways of their own.
CONTROLLERS: dict[str, Any] = {
    "CUBIC": {"name": "cubic", "hystart": False},
    "Reno": "reno",
    "BBR": "bbr",
    "BBR v3": "bbr3",
}
# Packets of one size, and a receiver that bounds nothing.
TRANSPORTS: tuple[Any, Any] = (
    {"profile": "noq", "receive_window": "16MiB"},
    {"profile": "quic", "mss": 1414},
)
# Within what a real library and a model of the protocol agree; of losses, so many times or so many packets.
GOODPUT, RTT, LOSS_TIMES, LOSS_PACKETS = 0.03, 0.10, 1.5, 20


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
class Measured:
    """Medians of what a flow did in 30 seconds."""

    goodput_mbps: float
    mean_rtt_ms: float
    lost: float


def measure(setting: Setting, cc: Any, transport: Any) -> Measured:
    """Runs a flow."""
    experiment = {"duration": "30s", "transport": transport, "path": setting.path, "flows": [{"cc": cc}]}
    seeds = SEEDS if setting.is_random else (1,)
    flows = [db.run(experiment, seed=seed).flows.rows()[0] for seed in seeds]
    columns = ("goodput_mbps", "mean_rtt_ms", "lost_total")
    return Measured(*(statistics.median(float(flow[column]) for flow in flows) for column in columns))


def misses(real: Measured, model: Measured) -> list[str]:
    """What lies outside of the tolerances."""
    fewer, more = sorted((real.lost, model.lost))
    found = []
    if abs(real.goodput_mbps / model.goodput_mbps - 1) > GOODPUT:
        found.append("goodput")
    if abs(real.mean_rtt_ms / model.mean_rtt_ms - 1) > RTT:
        found.append("RTT")
    if more - fewer > LOSS_PACKETS and more > LOSS_TIMES * fewer:
        found.append("losses")
    return found


def table() -> tuple[str, int, int]:
    """The rows in Markdown, how many agree, and how many there are."""
    lines = [
        "| path | controller | goodput, Mbit/s: noq, ours | mean RTT, ms: noq, ours | lost: noq, ours | outside |\n",
        "|---|---|---|---|---|---|\n",
    ]
    agreeing = rows = 0
    for setting in SETTINGS:
        for name, cc in CONTROLLERS.items():
            real, model = (measure(setting, cc, transport) for transport in TRANSPORTS)
            outside = misses(real, model)
            rows += 1
            agreeing += not outside
            lines.append(
                f"| {setting.name} | {name} | {real.goodput_mbps:.2f}, {model.goodput_mbps:.2f} "
                f"| {real.mean_rtt_ms:.1f}, {model.mean_rtt_ms:.1f} | {real.lost:.0f}, {model.lost:.0f} "
                f"| {', '.join(outside)} |\n"
            )
    return "".join(lines), agreeing, rows


def main() -> None:
    """Prints the table, or writes it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    options = parser.parse_args()
    rows, agreeing, count = table()
    text = f"{agreeing} of {count} rows are within the tolerances.\n\n{rows}"
    if options.write is None:
        sys.stdout.write(text)
        return
    page = options.write.read_text("utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    options.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
