"""Figure 5: CUBIC and BBR over the uplink of a phone, with random loss from 0.001 % to 50 %."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from dumbbell import _core, metrics
from dumbbell.papers import traces
from dumbbell.papers.model import Claim, Options, Pictures
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.rebbr import curves as loss_curves
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FOLDER,
    PACINGS,
    PUBLISHED_AS,
    UNPACED,
    WIRE,
    Course,
    Run,
    beside_cubic,
    mean,
    percent,
    under,
)
from dumbbell.papers.testing import each, spread
from dumbbell.results import Result

UPLINK, DOWNLINK = "Verizon-LTE-short.up", "Verizon-LTE-short.down"
DIGESTS = {
    UPLINK: "f6cd9049f58d70f12545772a3482ded085b6d50f06a2f4ff4afcfb6fe7976dcc",
    DOWNLINK: "c918436fbd6246af134c76585d9395881fdd27203c59a8902b9a7c675b8a8e3e",
}
"""SHA-256 of the recordings that the study used: another file of the same name is refused."""

NO_SAMPLER = "BBR 4.11 unpaced, sampler off"

UPLINK_KEY = "links[1].rate"
MODEL, SEED = "lte-verizon", 1
"""Of the uplink in the experiment file."""
STAND_IN = f"SYNTHETIC stand-in {MODEL}, not the study's recording"


@dataclass(frozen=True)
class Figure(loss_curves.Figure):
    """The runs, and the link that they ran over."""

    capacity: float
    """Mbit/s as Mahimahi counts it."""
    stand_in: str = ""
    """What is not the study's own link."""
    courses: Sequence[Course] = ()
    """Flows over time."""
    opportunities_ms: Sequence[int] = ()
    """When the link can deliver a packet."""

    @property
    def link(self) -> str:
        """Its name."""
        return self.stand_in or "Verizon-LTE-short"

    def note(self, text: str = "") -> str:
        """A note that names a link which is not the study's."""
        return ". ".join(filter(None, [self.stand_in, text]))


def recordings(options: Options) -> dict[str, Any]:
    """The settings that put the recordings in the place of the synthetic links; nothing without recordings."""
    found = traces.find(options.traces, (UPLINK, DOWNLINK)) or []
    return {
        key: {"trace": str(path), "once": True, "sha256": DIGESTS[path.name]}
        for key, path in zip((UPLINK_KEY, "links[1].reverse.rate"), found, strict=False)
    }


def announced(options: Options) -> dict[str, Any]:
    """The settings of :func:`recordings`; says so if there are none."""
    found = recordings(options)
    if not found:
        message = f"rebbr/fig5 runs over a {STAND_IN}.\n{traces.where_from((UPLINK, DOWNLINK))}"
        print(message, file=sys.stderr)
    return found


def course(result: Result) -> Course:
    """What is kept of a flow's series."""
    (flow,) = result.flows.rows()
    series = result.series.to_polars().sort("t_s").select("t_s", "received_mbps", "rtt_ms").fill_null(nan)
    return Course(flow["label"], result.meta.settings["links[1].loss"], *(column.to_list() for column in series))


def opportunities(ran: Ran, seconds: float) -> list[int]:
    """When the uplink can deliver a packet, in milliseconds."""
    if path := ran.settings.get(UPLINK_KEY, {}).get("trace"):
        text = Path(path).read_text(encoding="ascii")
    else:
        text = _core.synthesise_trace(MODEL, SEED, seconds)
    return [int(line) for line in text.split()]


def measured(ran: Ran, time: Ran) -> Figure:
    """The curves as shares of what the link carried, and some flows over time."""
    capacity = ran.runs[0].link["capacity_mbps"] * WIRE
    curves = loss_curves.measure(ran.runs, capacity)
    stand_in = "" if UPLINK_KEY in ran.settings else STAND_IN
    return Figure(curves, capacity, stand_in, time.kept, opportunities(time, time.runs[0].duration_s))


def pictures(figure: Figure) -> Pictures:
    """The figure, and the link and its flows over time."""
    import numpy as np

    from dumbbell.papers.rebbr import figures

    opportunities_ms = np.array(figure.opportunities_ms, dtype=np.float64)

    def capacity(start_s: float, end_s: float) -> float:
        return metrics.trace_capacity_bits(opportunities_ms, start_s, end_s) / (end_s - start_s) / 1e6

    title = f"ReBBR figure 5: 100 ms, 140 s\n{figure.link}"
    shown = [course for course in figure.courses if course.label in PUBLISHED_AS]
    return {
        "fig5": figures.egress(figure.curves, "fig5", figure.capacity, title, share=True),
        "fig5-time": figures.over_time(shown, capacity, f"{figure.link}: capacity, rates and round-trip times"),
    }


def as_published(pair: tuple[Run, ...]) -> bool:
    """BBR is ahead from 0.1 % loss on, and nowhere else."""
    return all((rate > pair[1].egress[loss]) == (loss >= 0.001) for loss, rate in pair[0].egress.items())


def lead(pairs: Sequence[tuple[Run, ...]]) -> str:
    """BBR less CUBIC at small losses."""
    bbr, cubic = zip(*pairs, strict=True)
    found = ", ".join(f"{mean(bbr, at) - mean(cubic, at):+.2f} at {percent(at)} %" for at in (1e-5, 1e-4, 1e-3))
    return f"BBR - CUBIC {found} (Mbit/s)"


def sampler(figure: Figure) -> str:
    """What the policer sampler costs at 20 % loss, in words."""
    off, on = (mean(figure.curves[label], 0.2) / figure.capacity for label in (NO_SAMPLER, UNPACED))
    return figure.note(
        "Near 20 % loss the policer sampler cuts in now and then; without it the mean at 20 % is "
        f"{off:.3f} in place of {on:.3f}. Paced, BBR is past its knee."
    )


def theirs(before: str) -> Figure:
    """A run of the authors."""
    capacity = loss_curves.PUBLISHED_CAPACITY["fig5"]
    found = loss_curves.of_authors(f"{before}fig5", capacity=capacity)
    return Figure(found | {NO_SAMPLER: found[UNPACED]}, capacity)


CLAIMS: list[Claim[Figure]] = [
    Claim("reb-19", "Up to 20 % loss BBR uses at least 95 % of the link.", "lowest 0.955, at 20 % loss",
          each(under(PACINGS | {"unpaced, sampler off": NO_SAMPLER}), lambda run: run.used(0.2) >= 0.95,
               lambda runs: f"lowest {spread((run.used(0.2) for run in runs), 3)}"),
          note=sampler),
    Claim("reb-20", "CUBIC uses less than 70 % of the link at 0.1 % loss and less than 25 % at 1 %.", "0.680 and 0.208",
          each(under({CUBIC: CUBIC}),
               lambda run: run.egress[0.001] < 0.7 * run.capacity and run.egress[0.01] < 0.25 * run.capacity,
               lambda runs: ", ".join(f"{spread(run.egress[at] / run.capacity for run in runs)} at {percent(at)} %"
                                      for at in (0.001, 0.01))),
          note=lambda figure: figure.note("When the few dozen losses fall decides the rate at 0.1 %.")),
    Claim("reb-21", "From 0.1 % loss on BBR is faster than CUBIC; at 0.01 % and less CUBIC is a little ahead.",
          "BBR - CUBIC -0.20 Mbit/s at 0.001 and 0.01 %, +1.68 at 0.1 %",
          each(beside_cubic, as_published, lead), note=Figure.note),
]  # fmt: skip

PART = Part(
    "fig5",
    "One flow over a recorded LTE uplink, random loss 0.001 % to 50 %",
    [
        Experiment(FOLDER / "fig5.toml", set=announced),
        Experiment(FOLDER / "fig5-time.toml", keep=course, set=recordings, once=True),
    ],
    quick="5s",
    measure=measured,
    setup=lambda figure: [
        f"One flow for 140 s over a Mahimahi link: {figure.link}; an endless queue, independent loss behind the link, "
        "50 ms of delay each way; ACKs over the downlink without loss.",
        f"Capacity of the uplink {figure.capacity:.2f} Mbit/s as Mahimahi counts it (published: 5.96).",
        "Sender, receiver, BBR's rules and link egress as in rebbr/fig1.",
    ],
    tables=lambda figure: [
        loss_curves.comparison({"": figure.curves}, "fig5", f"Link egress and goodput in Mbit/s, {figure.link}"),
        loss_curves.agreement({"": figure.curves}, "fig5"),
        loss_curves.variants(figure.curves, "What the study did not run, in Mbit/s"),
    ],
    claims=CLAIMS,
    decides=lambda choice: choice in ("unpaced", CUBIC),
    authors=loss_curves.public(theirs, {"1 June 2017, default windows": "june1/"}),
    pictures=pictures,
    caveats=lambda figure: [figure.stand_in] if figure.stand_in else [],
)
