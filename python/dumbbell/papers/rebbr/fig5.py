"""Figure 5: CUBIC and BBR over the uplink of a phone, with random loss from 0.001 % to 50 %."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dumbbell.papers import data, traces
from dumbbell.papers.model import Claim, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.rebbr import curves as loss_curves
from dumbbell.papers.rebbr.curves import CUBIC, PACED, UNPACED, Curves, Run
from dumbbell.papers.seeds import outcome, spread

TITLE = "One flow over a recorded LTE uplink, random loss 0.001 % to 50 %"

SCENARIO = Path(__file__).with_name("fig5.toml")

QUICK = "5s"

UPLINK, DOWNLINK = "Verizon-LTE-short.up", "Verizon-LTE-short.down"
DIGESTS = {
    UPLINK: "f6cd9049f58d70f12545772a3482ded085b6d50f06a2f4ff4afcfb6fe7976dcc",
    DOWNLINK: "c918436fbd6246af134c76585d9395881fdd27203c59a8902b9a7c675b8a8e3e",
}
"""SHA-256 of the recordings that the study used: another file of the same name is refused."""

NO_SAMPLER = "BBR 4.11 unpaced, sampler off"

STAND_IN = "SYNTHETIC stand-in lte-verizon, not the study's recording"

CLAIMS = (
    Claim("reb-19", "Up to 20 % loss BBR uses at least 95 % of the link.", "lowest 0.955, at 20 % loss"),
    Claim(
        "reb-20", "CUBIC uses less than 70 % of the link at 0.1 % loss and less than 25 % at 1 %.", "0.680 and 0.208"
    ),
    Claim(
        "reb-21",
        "From 0.1 % loss on BBR is faster than CUBIC; at 0.01 % and less CUBIC is a little ahead.",
        "BBR - CUBIC -0.20 Mbit/s at 0.001 and 0.01 %, +1.68 at 0.1 %",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs the figure over the recordings, or over the stand-in that every output then names."""
    found = traces.find(options.traces, (UPLINK, DOWNLINK))
    if found is None:
        message = f"rebbr/fig5 runs over a {STAND_IN}.\n{traces.where_from((UPLINK, DOWNLINK))}"
        print(message, file=sys.stderr)
    result = data.run(SCENARIO, options, set=links(found), quick=QUICK)
    curves = loss_curves.measure(result)
    bottleneck = next(row for row in result.links.to_polars().iter_rows(named=True) if row["name"] == "bottleneck")
    capacity = bottleneck["capacity_mbps"] * loss_curves.WIRE
    link = "Verizon-LTE-short" if found else STAND_IN
    report = Report(
        study="rebbr",
        part="fig5",
        title=TITLE if found else f"{TITLE} ({STAND_IN})",
        setup=(
            f"One flow for 140 s over a Mahimahi link: {link}; an endless queue, independent loss behind the link, "
            "50 ms of delay each way; ACKs over the downlink without loss.",
            f"Capacity of the uplink {capacity:.2f} Mbit/s as Mahimahi counts it (published: 5.96).",
            "Sender, receiver, BBR's rules and link egress as in rebbr/fig1.",
        ),
        tables=(
            loss_curves.comparison(curves, "fig5", f"Link egress and goodput in Mbit/s, {link}"),
            loss_curves.variants(curves, "What the study did not run, in Mbit/s"),
        ),
        pictures={
            "fig5": loss_curves.picture(curves, "fig5", capacity, f"ReBBR figure 5: 100 ms, 140 s\n{link}", share=True)
        },
        judgements=judge(curves, capacity, "" if found else STAND_IN),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
        caveats=() if found else (STAND_IN,),
    )
    return report.shortened(QUICK) if options.quick else report


def links(found: list[Path] | None) -> dict[str, Any]:
    """The settings that put the recordings in the place of the synthetic links."""
    if found is None:
        return {}
    keys = ("links[1].rate", "links[1].reverse.rate")
    return {
        key: {"trace": str(path), "once": True, "sha256": DIGESTS[path.name]}
        for key, path in zip(keys, found, strict=True)
    }


def judge(curves: Curves, capacity: float, link: str) -> list[Judgement]:
    """Puts the claims to the runs; shares are of ``capacity``. ``link`` names what is not the study's own link."""
    cubic = curves[CUBIC]
    variants = [("unpaced", curves[UNPACED]), ("paced", curves[PACED])]
    heavy, full, ahead = CLAIMS
    prefix = f"{link}. " if link else ""

    def used(run: Run) -> float:
        return min(rate for loss, rate in run.egress.items() if loss <= 0.2) / capacity

    def signs(run: Run, other: Run) -> bool:
        return all((run.egress[loss] > other.egress[loss]) == (loss >= 0.001) for loss in run.egress)

    without = f"the mean at 20 % is {loss_curves.mean(curves[NO_SAMPLER], 0.2) / capacity:.3f} in place of "
    without += f"{loss_curves.mean(curves[UNPACED], 0.2) / capacity:.3f}"
    advantage = []
    for choice, runs in variants:
        pairs = list(zip(runs, cubic, strict=True))
        difference = ", ".join(
            f"{loss_curves.mean(runs, loss) - loss_curves.mean(cubic, loss):+.2f} at {100 * loss:g} %"
            for loss in (1e-5, 1e-4, 1e-3)
        )
        text = f"BBR - CUBIC {difference} (Mbit/s)"
        advantage.append(Outcome(choice, sum(signs(run, other) for run, other in pairs), len(pairs), text))
    at = {loss: [run.egress[loss] / capacity for run in cubic] for loss in (0.001, 0.01)}
    return [
        Judgement(
            heavy,
            [
                outcome(choice, runs, lambda run: used(run) >= 0.95, f"lowest {spread(map(used, runs), 3)}")
                for choice, runs in [*variants, ("unpaced, sampler off", curves[NO_SAMPLER])]
            ],
            f"{prefix}Near 20 % loss the policer sampler cuts in now and then; without it {without}. Paced, BBR is "
            "past its knee.",
        ),
        Judgement(
            full,
            [
                outcome(
                    "CUBIC",
                    cubic,
                    lambda run: run.egress[0.001] < 0.7 * capacity and run.egress[0.01] < 0.25 * capacity,
                    f"{spread(at[0.001])} at 0.1 %, {spread(at[0.01])} at 1 %",
                )
            ],
            f"{prefix}When the few dozen losses fall decides the rate at 0.1 %.",
        ),
        Judgement(ahead, advantage, link),
    ]
