"""A scalable sender beside a classic one behind DualPI2: the kernel's queue, DCTCP and CUBIC, and ours.

    python tests/fidelity/coupling.py [--seeds N]
    tests/fidelity/virtual/inside.sh .venv/bin/python tests/fidelity/coupling.py --record [--tc PROGRAM] [--seconds N]

The kernel is one in virtual time (``virtual/``). One DCTCP flow, whose packets go to queue L (``any_ect``), and one
CUBIC flow share a link; the ratio of their rates from 20 s on is recorded. With a threshold of 60 ms queue L is marked
by the coupling alone, with 1 ms, the default, bursts of the unpaced sender are marked, too. ``tc`` has to know dualpi2
(iproute2 6.17 or later).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from select import POLLIN, POLLOUT, poll
from statistics import median

import hosts
import own
import polars as pl
from rich.console import Console
from rich.table import Table

import dumbbell

RECORDED = Path(__file__).parent / "recordings" / "coupling.csv"
RATES_MBPS, RTTS_MS, STEPS_MS = (40, 100), (5, 10, 20, 50, 100), (60, 1)
FLOWS = ("dctcp", "cubic")
WARMUP_S = 20.0
PORT = 5000


def receive() -> None:
    """Reads what comes. DCTCP echoes marks only if the receiver's socket has it, too."""
    hosts.enter("receiver")
    listening = []
    for index, algorithm in enumerate(FLOWS):
        one = hosts.tcp_socket(algorithm)
        one.bind(("", PORT + index))
        one.listen(1)
        listening.append(one)
    sockets = {one.fileno(): one for one in (each.accept()[0] for each in listening)}
    waiting, buffer = poll(), bytearray(1 << 18)
    for one in sockets.values():
        waiting.register(one, POLLIN)
    while True:
        for number, _ in waiting.poll():
            sockets[number].recv_into(buffer)


def send(seconds: float) -> list[float]:
    """Sends as fast as it goes; the rates of the flows in Mbit/s from the end of the warm-up on."""
    hosts.enter("sender")
    time.sleep(0.1)
    waiting, data = poll(), bytes(1 << 18)
    sockets = [hosts.tcp_socket(algorithm) for algorithm in FLOWS]
    for index, one in enumerate(sockets):
        one.connect((hosts.address("receiver"), PORT + index))
        one.setblocking(False)
        waiting.register(one, POLLOUT)
    by_number = {one.fileno(): one for one in sockets}
    acked: list[list[int]] = []
    for until in (WARMUP_S, seconds):
        end = time.monotonic() + until - (WARMUP_S if acked else 0.0)
        while (left := end - time.monotonic()) > 0:
            for number, _ in waiting.poll(left * 1e3 + 1):
                by_number[number].send(data)
        acked.append([hosts.bytes_acked(one) for one in sockets])
    return [(end - start) * 8 / 1e6 / (seconds - WARMUP_S) for start, end in zip(*acked, strict=True)]


def record(tc: str, seconds: float, runs: int) -> None:
    """Measures all cases, and keeps each at once. Each has namespaces of its own, which end with it."""
    for run in range(1, runs + 1):
        for step_ms, rate_mbps, rtt_ms in ((s, r, t) for s in STEPS_MS for r in RATES_MBPS for t in RTTS_MS):
            shaper = f"root handle 1: tbf rate {rate_mbps}mbit burst 1600 limit 200mb"
            queue = f"parent 1:1 handle 10: dualpi2 limit 10000 any_ect step_thresh {step_ms}ms"
            hosts.build(tc, {"receiver": (shaper, queue)}, {"receiver": rtt_ms})
            child = os.fork()
            if child == 0:
                receive()
            rates = send(seconds)
            os.kill(child, 9)
            os.waitpid(child, 0)
            hosts.leave()
            case = {"rate_mbps": rate_mbps, "rtt_ms": rtt_ms, "step_ms": step_ms, "run": run}
            measured = {f"{cc}_mbps": round(rate, 3) for cc, rate in zip(FLOWS, rates, strict=True)}
            keep(case | measured | {"kernel": os.uname().release})


def keep(row: dict[str, int | float | str]) -> None:
    """Replaces the row of a run in the file, which is there whole at any time."""
    print(row, flush=True)
    rows, key = pl.DataFrame([row]), ["rate_mbps", "rtt_ms", "step_ms", "run"]
    if RECORDED.is_file():
        rows = pl.concat([pl.read_csv(RECORDED).join(rows, on=key, how="anti"), rows])
    written = RECORDED.with_suffix(".new")
    rows.sort("step_ms", "rate_mbps", "rtt_ms", "run", descending=[True, False, False, False]).write_csv(written)
    written.replace(RECORDED)


def simulate(rate_mbps: int, rtt_ms: int, step_ms: int, cc: str, seeds: int) -> float:
    """The median ratio of the scalable flow's rate and CUBIC's in the simulator."""
    queue = {"kind": "dualpi2", "step": f"{step_ms}ms"} | ({"l4s": "any-ect"} if cc == "dctcp" else {})
    # `tbf` counts the Ethernet header, too.
    path = {"rate": f"{rate_mbps}mbit", "overhead": 14, "rtt": f"{rtt_ms}ms", "buffer": "10000packets", "queue": queue}
    flows = [{"cc": name, "start_jitter": "10ms", "transport": hosts.DEVICE} for name in (cc, "cubic")]
    scenario = {"duration": "100s", "warmup": "20s", "record": {"series": False}, "path": path, "flows": flows}
    runs = dumbbell.sweep(own.with_hz(scenario, 250), repeat=seeds, progress=False)
    rates = [run.flows.to_polars()["goodput_mbps"] for run in runs]
    return median(float(one[0] / one[1]) for one in rates)


def compare(seeds: int) -> None:
    """Prints our ratios beside the kernel's, and those of Prague."""
    table = Table(title="Rate of a scalable flow over that of a CUBIC flow behind DualPI2", title_justify="left")
    for heading in ("rate Mbit/s", "RTT ms", "step ms", "kernel, DCTCP", "ours, DCTCP", "ours, Prague"):
        table.add_column(heading, justify="right")
    for key, rows in pl.read_csv(RECORDED).group_by("rate_mbps", "rtt_ms", "step_ms", maintain_order=True):
        rate, rtt, step = (int(str(part)) for part in key)
        kernel = sorted(rows["dctcp_mbps"] / rows["cubic_mbps"])
        ours = (simulate(rate, rtt, step, cc, seeds) for cc in ("dctcp", "prague"))
        spread = " - ".join(f"{ratio:.2f}" for ratio in dict.fromkeys((kernel[0], kernel[-1])))
        table.add_row(str(rate), str(rtt), str(step), spread, *(f"{ratio:.2f}" for ratio in ours))
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="measure the running kernel, a virtual one")
    parser.add_argument("--tc", default="tc", help="with --record: a tc that knows dualpi2")
    parser.add_argument("--seconds", type=float, default=100.0, help="with --record: length of a run")
    parser.add_argument("--runs", type=int, default=2, help="with --record: runs of each case")
    parser.add_argument("--seeds", type=int, default=4)
    args = parser.parse_args()
    if args.record and not own.is_in_virtual_time():
        parser.error("--record changes namespaces and routes: run it in a kernel of its own, with virtual/inside.sh")
    if args.seconds <= WARMUP_S:
        parser.error(f"--seconds {args.seconds:g}: the first {WARMUP_S:g} s are left out, so it has to be more")
    if args.record:
        record(args.tc, args.seconds, args.runs)
    else:
        compare(args.seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
