"""Which transport and which port of BBR give the published share of duplicates?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dumbbell.papers import data
from dumbbell.papers.bbr_acd.simulation import BASE, BUFFERS, Run, collect, measure
from dumbbell.papers.model import Cell, Claim, Grid, Options, Provenance, Report
from dumbbell.papers.seeds import mean
from dumbbell.results import Result, SweepResult

TITLE = "BBR's 42 % duplicates: what the paper leaves open about its port and its transport"

SCENARIO = Path(__file__).with_name("simulation.toml")
QUICK = "10s"
SEEDS = 3

CLAIMS: tuple[Claim, ...] = ()
"""acd-17 is judged in the simulation's part."""

FORM = "bbr-acd-ns3"
ALGORITHMS = 'sweep."flows[0].cc"'
NO_SACK: dict[str, Any] = {"transport.sack": False}

SETUPS: dict[str, dict[str, Any]] = {
    "as in simulation": {},
    "the authors' published BBR": {ALGORITHMS: ["bbr-ns3-2018", FORM]},
    "ns-3's windows, RTTs from timestamps": {
        "transport.held_data_takes_window": False, "transport.rtt_samples": "timestamps-of-originals",
    },
    "Linux's pacing credit and DSACK": {"transport.pacing_credit": True, "transport.dsack": True},
    "ns-3.40's delivery rates": {"transport.delivery_rate": "ns3-3.40"},
    "ns-3.41's delivery rates": {"transport.delivery_rate": "ns3"},
    "last RTT": {"transport.controller_rtt": "last"},
    "min RTO 1 s": {"transport.rto_min": "1s"},
    "an ACK for every packet": {"transport.ack_every": 1},
    "MSS 1448": {"transport.mss": 1448, "transport.gso_max_bytes": "1448B"},
    "starts within 0.7 s": {"flows[0].start_jitter": "700ms"},
    "without SACK": NO_SACK,
    "without SACK, the authors' published BBR": {**NO_SACK, ALGORITHMS: ["bbr-ns3-2018", FORM]},
    "without SACK, ns-3.41's delivery rates": {**NO_SACK, "transport.delivery_rate": "ns3"},
    "without SACK, last RTT": {**NO_SACK, "transport.controller_rtt": "last"},
    "without SACK, min RTO 1 s": {**NO_SACK, "transport.rto_min": "1s"},
}  # fmt: skip


def reproduce(options: Options) -> Report:
    """Runs BBR and the ns-3 form of BBR-ACD in every set-up."""
    options = replace(options, repeat=options.repeat or SEEDS)
    results: list[SweepResult] = []
    rows: list[list[Cell]] = [["published", "", 28775, 0.42, 0.50, 2311, 0.033, 0.86, 0.92]]
    for number, (name, changes) in enumerate(SETUPS.items()):
        points: list[tuple[int, Run]] = []

        def keep(point: int, result: Result, points: list[tuple[int, Run]] = points) -> None:
            points.append((point, measure(result)))

        folder = replace(options, out=options.out / f"set-up-{number}")
        settings = {ALGORITHMS: [BASE, FORM], "record.series": False, **changes}
        result = data.run(SCENARIO, folder, set=settings, quick=QUICK, each=keep)
        results.append(result)
        cases = collect(result, points, ("flows[0].cc", "path.buffer"))
        for buffer, queue in BUFFERS.items():
            bbr = next(runs for (cc, used), runs in cases.items() if cc != FORM and used == buffer)
            form = cases[FORM, buffer]
            duplicates = [mean(runs, lambda r: r.duplicates) for runs in (bbr, form)]
            rows.append(
                [
                    name,
                    queue,
                    duplicates[0],
                    mean(bbr, lambda r: r.duplicate_share),
                    mean(bbr, lambda r: r.goodput),
                    duplicates[1],
                    mean(form, lambda r: r.duplicate_share),
                    mean(form, lambda r: r.goodput),
                    1 - duplicates[1] / max(duplicates[0], 1),
                ]
            )
    columns = ("set-up", "queue", "BBR: duplicates", "BBR: share", "BBR: goodput", "BBR-ACD: duplicates",
               "BBR-ACD: share", "BBR-ACD: goodput", "reduction")  # fmt: skip
    report = Report(
        study="bbr-acd",
        part="port",
        title=TITLE,
        setup=(
            "As bbr-acd/simulation, one thing made differently (or two), 3 seeds; BBR-ACD in its ns-3 form. Goodput in "
            "Mbit/s. The authors' BBR is tcp-bbr.cc of their repository, a port of 2018; the simulation's is ns-3's.",
        ),
        tables=(Grid("port", "Duplicates by set-up", columns, rows, 3),),
        pictures={},
        judgements=(),
        provenance=Provenance.of(results, {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report
