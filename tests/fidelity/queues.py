"""The kernel's CAKE, FQ-CoDel and DualPI2, and ours: goodput, drops, marks and ACKs of many links.

    python tests/fidelity/queues.py [--seeds N] [--only NAME ...] [--markdown]
    tests/fidelity/virtual/inside.sh .venv/bin/python tests/fidelity/queues.py --record [--tc PROGRAM] [--only NAME ...]

The kernel is one in virtual time (``virtual/``). ``tc`` has to know dualpi2 (iproute2 6.17 or later). ``--markdown``
writes the table into docs/fidelity.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from select import POLLIN, POLLOUT, poll
from statistics import mean
from typing import Any

import hosts
import own
import polars as pl
from rich.console import Console
from rich.table import Table

import dumbbell

RECORDED = Path(__file__).parent / "recordings" / "queues.csv"
DOCUMENT = Path(__file__).parents[2] / "docs" / "fidelity.md"
BEGIN, END = "<!-- queues.py: begin -->\n", "<!-- queues.py: end -->\n"
PORT, WARMUP_S, LEAD_S = 5000, 10.0, 0.5
"""``LEAD_S``: both hosts are there before the first connection."""
MEASURES = {
    "up_mbps": "up Mbit/s",
    "down_mbps": "down Mbit/s",
    "first_mbps": "first flow Mbit/s",
    "drops": "drops",
    "marks": "marks",
}
MEASURES |= {"acks": "ACKs sent", "filtered": "ACKs filtered"}
WITHIN, ALWAYS = 0.10, 20
"""How far ours may be from the kernel's, and the difference of counts that is always allowed."""
CODE_POINTS = ["cs0", "le", "cs1", "af11", "cs2", "af21", "cs3", "af31", "cs4", "af41", "cs5", "va", "ef", "cs6", "cs7"]
DSCP = dict(zip(CODE_POINTS, (0, 1, 8, 10, 16, 18, 24, 26, 32, 34, 40, 44, 46, 48, 56), strict=True))


@dataclass(frozen=True)
class Flow:
    """A bulk flow, and which addresses of the hosts it is between."""

    cc: str = "cubic"
    direction: str = "up"
    sender: int = 0
    receiver: int = 0
    dscp: str | None = None


@dataclass(frozen=True)
class Case:
    """A link: what ``tc`` is told of its queue, and what the simulator is. The queue of the way up is counted."""

    kernel: str
    queue: Mapping[str, Any]
    flows: Sequence[Flow]
    rate_mbps: float
    """Of CAKE's shaper, or of ``tbf`` above any other queue."""
    rtt_ms: int = 40
    ecn: bool = False
    seconds: float = 70.0
    down: str | None = None
    """What ``tc`` is told of CAKE on the way back."""
    down_queue: Mapping[str, Any] = field(default_factory=dict)

    def queues(self) -> dict[str, list[str]]:
        """What stands in the router."""
        rate = f"{self.rate_mbps * 1_000:g}kbit"
        if self.kernel.startswith("cake"):
            up = [f"root handle 10: {self.kernel} bandwidth {rate}"]
        else:
            # `tbf` counts the Ethernet header, which the simulator's link does, too.
            up = [f"root handle 1: tbf rate {rate} burst 1600 limit 200mb", f"parent 1:1 handle 10: {self.kernel}"]
        return {"receiver": up} | ({} if self.down is None else {"sender": [f"root handle 20: {self.down}"]})

    def scenario(self) -> dict[str, Any]:
        """What the simulator is told."""
        rate = f"{self.rate_mbps * 1_000:g}kbit"
        if self.queue["kind"] == "cake":
            # The shaper is the bottleneck, and what it lets through is there at once.
            path: dict[str, Any] = {"rate": "10gbit", "buffer": "4MiB", "queue": {**self.queue, "bandwidth": rate}}
        else:
            path = {"rate": rate, "overhead": 14, "buffer": "10000packets", "queue": dict(self.queue)}
        path |= {"rtt": f"{self.rtt_ms}ms", "delay": "1us"}
        reverse: dict[str, Any] = {"delay": f"{self.rtt_ms * 1_000 - 1}us"}
        if self.down_queue:
            reverse |= {"rate": "10gbit", "buffer": "4MiB", "queue": dict(self.down_queue)}
        elif any(flow.direction == "down" for flow in self.flows):
            reverse |= {"rate": "unlimited"}
        transport = hosts.DEVICE | ({"ecn": True} if self.ecn else {})
        flows = [
            {"cc": flow.cc, "direction": flow.direction, "start": f"{self.rtt_ms * number}ms", "start_jitter": "5ms"}
            | ({} if flow.dscp is None else {"dscp": flow.dscp})
            | {"transport": dict(transport)}
            for number, flow in enumerate(self.flows)
        ]
        return {
            "duration": f"{self.seconds:g}s",
            "warmup": f"{WARMUP_S:g}s",
            "record": {"series": False},
            "path": path | {"reverse": reverse},
            "flows": flows,
        }


def _cake(rate_mbps: float, flows: Sequence[Flow], kernel: str = "besteffort", queue: Any = None, **more: Any) -> Case:
    """CAKE with the words of ``tc`` and the keys of the simulator; IP lengths count, as they do here."""
    keys = {"kind": "cake"} | ({"tins": "besteffort"} if "besteffort" in kernel else {}) | (queue or {})
    overhead = "" if "overhead" in kernel else "overhead 0 "
    return Case(f"cake {overhead}no-split-gso {kernel}", keys, flows, rate_mbps, **more)


CUBIC, BBR, DCTCP, RENO = Flow(), Flow("bbr"), Flow("dctcp"), Flow("reno")
BACK = Flow(direction="down")
ONE_AND_THREE_SENDERS = (Flow(), *[Flow(sender=1)] * 3)
ONE_AND_THREE_RECEIVERS = (Flow(), *[Flow(receiver=1)] * 3)
APART = tuple(Flow(sender=min(number, 1), receiver=number) for number in range(4))
"""One flow of a host and three of another, each of which goes to a host of its own."""
THE_HOSTS = {"hosts": [[0], [1, 2, 3]]}
CLASSES = tuple(Flow(dscp=dscp) for dscp in ("cs0", "cs1", "cs3", "ef"))
EIGHT = tuple(Flow(dscp=dscp) for dscp in ("cs0", "le", "af11", "cs2", "af21", "cs3", "ef", "cs6"))
DOWN: dict[str, Any] = {"down": "cake overhead 0 no-split-gso besteffort bandwidth 20mbit"} | {
    "down_queue": {"kind": "cake", "tins": "besteffort", "bandwidth": "20mbit"}
}
ADSL: dict[str, Any] = {"rate_mbps": 0.831, "flows": (BACK, *[CUBIC] * 8), "rtt_ms": 30} | {
    "down": "cake overhead 0 no-split-gso besteffort bandwidth 10833kbit",
    "down_queue": {"kind": "cake", "tins": "besteffort", "bandwidth": "10833kbit"},
}

CASES: dict[str, Case] = {
    "cake-1mbit": _cake(1, [CUBIC], seconds=160.0),
    "cake-2mbit-two": _cake(2, [CUBIC] * 2, seconds=160.0),
    "cake-5mbit-two": _cake(5, [CUBIC] * 2, seconds=100.0),
    "cake-20mbit-four": _cake(20, [CUBIC] * 4),
    "cake-100mbit-four": _cake(100, [CUBIC] * 4, seconds=40.0),
    "cake-10mbit-bbr": _cake(10, [BBR] * 2),
    "cake-20mbit-bbr-cubic": _cake(20, [BBR, CUBIC]),
    "cake-10mbit-reno": _cake(10, [RENO] * 4, seconds=100.0),
    "cake-10mbit-ecn": _cake(10, [CUBIC] * 4, ecn=True),
    "cake-20mbit-dctcp": _cake(20, [DCTCP, DCTCP]),
    "cake-rtt-20ms": _cake(20, [CUBIC] * 4, "besteffort rtt 20ms", {"rtt": "20ms"}, rtt_ms=10),
    "cake-overhead-44": _cake(10, [CUBIC] * 4, "besteffort overhead 44 mpu 84", {"overhead": 44, "mpu": "84B"}),
    "cake-atm": _cake(2, [CUBIC] * 2, "besteffort atm overhead 10", {"framing": "atm", "overhead": 10}, seconds=160.0),
    "cake-ptm": _cake(10, [CUBIC] * 4, "besteffort ptm overhead 30", {"framing": "ptm", "overhead": 30}),
    "cake-ingress": _cake(10, [CUBIC] * 4, "besteffort ingress", {"ingress": True}),
    "cake-ingress-16": _cake(20, [CUBIC] * 16, "besteffort ingress", {"ingress": True}),
    "cake-triple-isolate": _cake(
        10, ONE_AND_THREE_SENDERS, "besteffort triple-isolate", {**THE_HOSTS, "destinations": [[0, 1, 2, 3]]}
    ),
    "cake-triple-apart": _cake(10, APART, "besteffort triple-isolate", THE_HOSTS),
    "cake-dual-srchost": _cake(
        10, ONE_AND_THREE_SENDERS, "besteffort dual-srchost", {"isolation": "dual-srchost", **THE_HOSTS}
    ),
    "cake-dual-dsthost": _cake(
        10,
        ONE_AND_THREE_RECEIVERS,
        "besteffort dual-dsthost",
        {"isolation": "dual-dsthost", "destinations": THE_HOSTS["hosts"]},
    ),
    "cake-flows": _cake(10, ONE_AND_THREE_SENDERS, "besteffort flows", {"isolation": "flows"}),
    "cake-srchost": _cake(10, ONE_AND_THREE_SENDERS, "besteffort srchost", {"isolation": "srchost", **THE_HOSTS}),
    "cake-diffserv3": _cake(10, CLASSES, "diffserv3", {"tins": "diffserv3"}),
    "cake-diffserv4": _cake(10, CLASSES, "diffserv4", {"tins": "diffserv4"}),
    "cake-diffserv8": _cake(20, EIGHT, "diffserv8", {"tins": "diffserv8"}),
    "cake-precedence": _cake(10, CLASSES, "precedence", {"tins": "precedence"}),
    "cake-asymmetric": _cake(1, [BACK, CUBIC], **DOWN),
    "cake-ack-filter": _cake(1, [BACK, CUBIC], "besteffort ack-filter", {"ack_filter": True}, **DOWN),
    "cake-ack-filter-alone": _cake(0.3, [BACK], "besteffort ack-filter", {"ack_filter": True}, **DOWN),
    "cake-ack-filter-two": _cake(1, [BACK, BACK, CUBIC], "besteffort ack-filter", {"ack_filter": True}, **DOWN),
    "cake-ack-aggressive": _cake(
        1, [BACK, CUBIC], "besteffort ack-filter-aggressive", {"ack_filter": "aggressive"}, **DOWN
    ),
    "cake-adsl": _cake(kernel="besteffort atm overhead 10", queue={"framing": "atm", "overhead": 10}, **ADSL),
    "cake-adsl-ack-filter": _cake(
        kernel="besteffort atm overhead 10 ack-filter",
        queue={"framing": "atm", "overhead": 10, "ack_filter": True},
        **ADSL,
    ),
    "fq_codel-2mbit": Case("fq_codel", {"kind": "fq_codel"}, [CUBIC] * 2, 2, seconds=160.0),
    "fq_codel-20mbit": Case("fq_codel", {"kind": "fq_codel"}, [CUBIC] * 4, 20),
    "fq_codel-20mbit-ecn": Case("fq_codel", {"kind": "fq_codel"}, [CUBIC] * 4, 20, ecn=True),
    "fq_codel-20mbit-bbr": Case("fq_codel", {"kind": "fq_codel"}, [BBR, CUBIC], 20),
    "fq_codel-100mbit": Case("fq_codel", {"kind": "fq_codel"}, [CUBIC] * 4, 100, seconds=40.0),
    "dualpi2-10mbit": Case("dualpi2 limit 10000", {"kind": "dualpi2"}, [CUBIC] * 2, 10),
    "dualpi2-40mbit": Case("dualpi2 limit 10000", {"kind": "dualpi2"}, [CUBIC] * 4, 40),
    "dualpi2-20mbit-ecn": Case("dualpi2 limit 10000", {"kind": "dualpi2"}, [CUBIC] * 4, 20, ecn=True),
    "dualpi2-40mbit-dctcp": Case(
        "dualpi2 limit 10000 any_ect", {"kind": "dualpi2", "l4s": "any-ect"}, [DCTCP, CUBIC], 40
    ),
    "dualpi2-100mbit": Case("dualpi2 limit 10000", {"kind": "dualpi2"}, [CUBIC] * 4, 100, seconds=40.0),
}


def _connection(flow: Flow, bind: tuple[str, int]) -> socket.socket:
    one = hosts.tcp_socket(flow.cc)
    if flow.dscp is not None:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, DSCP[flow.dscp] << 2)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(bind)
    return one


def _transfer(case: Case, host: str, sockets: Sequence[socket.socket], begin: float) -> list[list[tuple[int, int]]]:
    """Sends and reads until the end; what was acknowledged and sent of each connection at both instants."""
    waiting, data, buffer = poll(), bytes(1 << 18), bytearray(1 << 18)
    sends, by_number = {}, {one.fileno(): one for one in sockets}
    for one, flow in zip(sockets, case.flows, strict=True):
        sends[one.fileno()] = (flow.direction == "up") == (host == "sender")
        one.setblocking(False)
        waiting.register(one, POLLOUT if sends[one.fileno()] else POLLIN)
    seen = []
    for until in (WARMUP_S, case.seconds):
        while (left := begin + until - time.monotonic()) > 0:
            for number, _ in waiting.poll(left * 1e3 + 1):
                if sends[number]:
                    by_number[number].send(data)
                else:
                    by_number[number].recv_into(buffer)
        seen.append([(hosts.bytes_acked(one), hosts.segments_out(one)) for one in sockets])
    return seen


def _receiver(case: Case) -> list[socket.socket]:
    listening = []
    for index, flow in enumerate(case.flows):
        one = _connection(flow, (hosts.address("receiver", flow.receiver), PORT + index))
        one.listen(1)
        listening.append(one)
    return [one.accept()[0] for one in listening]


def _sender(case: Case) -> list[socket.socket]:
    time.sleep(LEAD_S)
    sockets = []
    for index, flow in enumerate(case.flows):
        one = _connection(flow, (hosts.address("sender", flow.sender), 0))
        one.connect((hosts.address("receiver", flow.receiver), PORT + index))
        sockets.append(one)
    return sockets


def _counters(tc: str) -> dict[str, int]:
    """What the queue of the way up has counted."""
    shown = json.loads(hosts.inside("router", f"{tc} -s -j qdisc show dev to_receiver"))
    queue = next(one for one in shown if one["handle"] == "10:")
    if queue["kind"] == "cake":
        tins = queue["tins"]
        filtered = sum(tin["ack_drops"] for tin in tins)
        drops = sum(tin["drops"] for tin in tins)
        return {"drops": drops, "marks": sum(tin["ecn_mark"] for tin in tins), "filtered": filtered}
    # DualPI2's marks by the step are among them.
    marks = queue["ecn-mark" if queue["kind"] == "dualpi2" else "ecn_mark"]
    return {"drops": queue["drops"], "marks": marks, "filtered": 0}


def measure(case: Case, tc: str) -> dict[str, float]:
    """One run on the running kernel, in namespaces of its own."""
    addresses = 1 + max(max(flow.sender, flow.receiver) for flow in case.flows)
    hosts.build(tc, case.queues(), {"receiver": case.rtt_ms}, addresses)
    if case.ecn:
        for host in hosts.HOSTS:
            hosts.inside(host, "sysctl -q net.ipv4.tcp_ecn=1")
    begin = time.monotonic() + LEAD_S
    ends = {}
    for host, connect in (("receiver", _receiver), ("sender", _sender)):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            hosts.enter(host)
            sockets = connect(case)
            os.write(writer, json.dumps(_transfer(case, host, sockets, begin)).encode())
            os.close(writer)
            # An end that left before the other one would reset its connections.
            signal.pause()
        os.close(writer)
        ends[host] = (child, reader)
    counted = []
    for until in (WARMUP_S, case.seconds):
        time.sleep(max(0.0, begin + until - time.monotonic()))
        counted.append(_counters(tc))
    seen = {}
    for host, (_, reader) in ends.items():
        with os.fdopen(reader) as report:
            seen[host] = json.load(report)
    for child, _ in ends.values():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    hosts.leave()
    measured: dict[str, float] = {"up_mbps": 0.0, "down_mbps": 0.0, "acks": 0}
    for number, flow in enumerate(case.flows):
        there, back = ("sender", "receiver") if flow.direction == "up" else ("receiver", "sender")
        acked = seen[there][1][number][0] - seen[there][0][number][0]
        mbps = acked * 8e-6 / (case.seconds - WARMUP_S)
        measured[f"{flow.direction}_mbps"] += mbps
        measured.setdefault("first_mbps", mbps)
        measured["acks"] += seen[back][1][number][1] - seen[back][0][number][1]
    return measured | {key: counted[1][key] - counted[0][key] for key in counted[1]}


def record(chosen: Sequence[str], tc: str, runs: int) -> None:
    """Measures cases, and keeps each run at once."""
    for name in chosen:
        rows = []
        for run in range(1, runs + 1):
            measured = {key: round(value, 4) for key, value in measure(CASES[name], tc).items()}
            rows.append({"case": name, "run": run, **measured, "kernel": os.uname().release})
            print(rows[-1], flush=True)
        own.keep(RECORDED, name, pl.DataFrame(rows), list(CASES))


def simulate(case: Case, seeds: int) -> dict[str, float]:
    """The case in the simulator: means over seeds."""
    scenario = own.with_hz(case.scenario(), 250)
    measured: dict[str, list[float]] = {key: [] for key in MEASURES}
    for seed in range(1, seeds + 1):
        run = dumbbell.run(scenario, seed=seed)
        flows = run.flows.to_polars()
        link = run.links.to_polars().row(0, named=True)
        for way in ("up", "down"):
            ours = [number for number, flow in enumerate(case.flows) if flow.direction == way]
            measured[f"{way}_mbps"].append(float(flows["goodput_mbps"].gather(ours).sum()))
        measured["first_mbps"].append(float(flows["goodput_mbps"][0]))
        measured["acks"].append(float(flows["acks"].sum()))
        filtered = link["drops_ack_filter"]
        measured["filtered"].append(float(filtered))
        measured["drops"].append(float(link["drops"] - filtered))
        measured["marks"].append(float(link["marks"]))
    return {key: mean(values) for key, values in measured.items()}


def is_within(measure: str, ours: float, kernel: float) -> bool:
    """Whether ours is as near as it should be. Few counts scatter by more than a tenth."""
    return abs(ours - kernel) <= max(WITHIN * abs(kernel), 0.0 if measure.endswith("_mbps") else ALWAYS)


def compare(chosen: Sequence[str], seeds: int) -> list[list[str]]:
    """A row for each recorded case: ours / the kernel's."""
    recorded = pl.read_csv(RECORDED)
    rows = []
    for name in chosen:
        own_rows = recorded.filter(pl.col("case") == name)
        if own_rows.is_empty():
            continue
        ours = simulate(CASES[name], seeds)
        row, off = [name], []
        for measure, word in MEASURES.items():
            recorded_runs = own_rows[measure].drop_nulls()
            kernel = own.number(recorded_runs.mean())
            digits = 2 if measure.endswith("_mbps") else 0
            shown = f"{ours[measure]:.{digits}f} / {kernel:.{digits}f}"
            row.append("" if recorded_runs.is_empty() or ours[measure] == kernel == 0 else shown)
            if not recorded_runs.is_empty() and not is_within(measure, ours[measure], kernel):
                off.append(word)
        rows.append([*row, "off: " + ", ".join(off) if off else "within"])
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="measure the running kernel, a virtual one")
    parser.add_argument("--tc", default="tc", help="with --record: a tc that knows dualpi2")
    parser.add_argument("--runs", type=int, default=2, help="with --record: runs of each case")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help="these cases only")
    parser.add_argument("--markdown", action="store_true", help="write the table into docs/fidelity.md")
    args = parser.parse_args()
    chosen = args.only or list(CASES)
    if args.record and not own.is_in_virtual_time():
        parser.error("--record changes namespaces and routes: run it in a kernel of its own, with virtual/inside.sh")
    if args.markdown and args.only:
        parser.error("--markdown writes the whole table: leave out --only")
    if args.record:
        record(chosen, args.tc, args.runs)
        return 0
    headings = ["case", *MEASURES.values(), "verdict"]
    rows = compare(chosen, args.seeds)
    if args.markdown:
        lines = ["| " + " | ".join(row) + " |" for row in (headings, ["---"] * len(headings), *rows)]
        before, rest = DOCUMENT.read_text().split(BEGIN)
        DOCUMENT.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])
    else:
        table = Table(*headings, title="Ours / the kernel's", title_justify="left")
        for row in rows:
            table.add_row(*row)
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
