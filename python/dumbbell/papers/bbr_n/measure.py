"""What a Flent test on our Wi-Fi shows, and which algorithms and devices the study leaves to choose from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dumbbell.flent.data import Values
from dumbbell.flent.tests import test_named
from dumbbell.flent.trial import Timing, of_result
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell
from dumbbell.papers.part import Experiment, Ran
from dumbbell.papers.runs import Cases, Run, grouped, together
from dumbbell.results import Result

FOLDER = Path(__file__).parent

VIRTUAL, NATIVE, BURSTS = "virtual NIC", "native Wi-Fi", "native Wi-Fi with bursts of 2 and 4"
"""Devices: completion at hand-over, as the published metadata have it; completion by Block-ACK; the same with bursts
no longer than what the paper calls TSO, 2 segments, and 4 of BBR-n."""
DEVICES = (VIRTUAL, NATIVE, BURSTS)
AWAY = "virtual NIC, BBRgen's radio away"
"""What the files of 4 January 2023 show: the radio left its channel while BBRgen was tested, and stayed for BBR-n."""

PAIRS = {
    "patch against v2": ("bbr-n-patch", "bbr2"),
    "both v1": ("bbr-n-patch", "bbr"),
    "both v2": ("bbr-n", "bbr2"),
}
"""BBR-n and BBRgen: the authors' patch of version 1 beside version 2, as the modules that ran are called; the patch
beside what it patches; the paper's words, which are about version 2."""
FEBRUARY = {"kernel 4.13.8": ("bbr-n-4-13", "bbr-4.14")}
"""Of the files of February 2023: their kernel is older than version 2, and than the allowance for aggregation."""

NAMES = {
    "bbr-n-patch": "BBR-n (patch of v1)", "bbr-n": "BBR-n (paper, on v2)", "bbr2": "BBRgen (v2)", "bbr": "BBR v1",
    "bbr-n-4-13": "BBR-n (kernel 4.13.8)", "bbr-4.14": "BBRgen (kernel 4.13.8)", "bbrp": "BBRp",
    "cubic": "CUBIC", "reno": "Reno", "dctcp": "DCTCP", "veno": "Veno",
}  # fmt: skip
PUBLISHED_AS = {
    "bbr-n-patch": "BBR-n", "bbr2": "BBRgen", "bbrp": "BBRp", "cubic": "CUBIC", "reno": "Reno", "dctcp": "DCTCP",
    "veno": "Veno",
}  # fmt: skip
"""Those of the study's tables, by its names."""
ALGORITHMS = ("bbr-n-patch", "bbr-n", "bbr2", "bbr", "bbrp", "cubic", "reno", "dctcp", "veno")
"""Those of every table."""
LOSS_BASED = ("cubic", "reno", "dctcp", "veno")


def decides(choice: str) -> bool:
    """The virtual NIC, on every base: the published files show one, and with it Tables 3 and 4 are nearest."""
    return choice.startswith(f"{VIRTUAL}, ")


# --- a test ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """What Flent would have kept of a run, a value every 0.2 s."""

    upload: Sequence[float]
    """Of all uploads under load, Mbit/s."""
    download: Sequence[float]
    """Of all downloads under load, Mbit/s."""
    ping: Sequence[float]
    """From the first to the last second, ms; of several probes the mean."""
    loaded: Sequence[float]
    """``ping`` under load only, as Flent's distributions take it; a probe that is lost leaves a gap."""
    icmp: Sequence[float]
    """Under load, of the probe without a class."""

    @classmethod
    def of(cls, result: Result) -> Trial:
        """Of a run of uploads with a ping, or of RRUL."""
        flows = result.flows.rows()
        uploads = sum(flow["label"] == "TCP upload" for flow in flows)
        test = test_named("tcp_nup", uploads) if uploads else test_named("rrul")
        delay = float(flows[0]["start_s"])
        data = of_result(test, result, Timing(result.meta.sim_s - 2 * delay, delay), "")
        ping = "Ping (ms) ICMP" if uploads else "Ping (ms) avg"
        download = [] if uploads else data.loaded("TCP download sum")
        probes = known(data.results[ping]), data.loaded(ping), data.loaded("Ping (ms) ICMP")
        return cls(data.loaded("TCP upload sum"), download, *probes)


def uploaded(trial: Trial) -> Sequence[float]:
    """Mbit/s, step by step."""
    return trial.upload


def downloaded(trial: Trial) -> Sequence[float]:
    """Mbit/s, step by step."""
    return trial.download


def pinged(trial: Trial) -> Sequence[float]:
    """Milliseconds, step by step."""
    return trial.ping


def known(values: Values) -> list[float]:
    """Without the gaps."""
    return [value for value in values if value is not None]


def upload(run: Run) -> float:
    """Mean of all uploads together, Mbit/s."""
    return fmean(run.kept.upload)


def download(run: Run) -> float:
    """Mean of all downloads together, Mbit/s."""
    return fmean(run.kept.download)


def ping(run: Run) -> float:
    """Mean round-trip time of the probes, ms."""
    return fmean(run.kept.ping)


def aggregate(run: Run) -> float:
    """Packets of the client's mean A-MPDU."""
    return float(run.link["mean_aggregate"])


# --- runs by device and algorithm ------------------------------------------------------------------------------------


def device(run: Run) -> str:
    """Which of :data:`DEVICES` a run had."""
    if "transport.gso_max_bytes" in run.settings:
        return BURSTS
    return VIRTUAL if run.settings["transport.completion"] == "immediate" else NATIVE


def over_devices(name: str, keep: Callable[[Result], Any], quick: Mapping[str, Any]) -> list[Experiment]:
    """An experiment over the virtual NIC and native Wi-Fi, and the one with short bursts."""
    return [Experiment(FOLDER / f"{file}.toml", keep=keep, quick=quick) for file in (name, f"{name}-bursts")]


def by_device(*keys: str) -> Callable[..., Cases]:
    """Collects sweeps: their runs by device and swept keys."""

    def cases(*ran: Ran) -> Cases:
        return grouped((run for one in ran for run in one.runs), lambda run: (device(run), *run.swept(*keys)))

    return cases


def pairs(*rest: str, places: Sequence[str] = DEVICES) -> Callable[[Cases], dict[str, list[tuple[Run, ...]]]]:
    """BBR-n and BBRgen with the same seed, by device and base; ``rest`` are further keys of the cases."""
    return together(
        {
            f"{place}, {base}": [(place, ours, *rest), (place, theirs, *rest)]
            for place in places
            for base, (ours, theirs) in PAIRS.items()
        }
    )


def of_february(*rest: str) -> Callable[[Cases], dict[str, list[tuple[Run, ...]]]]:
    """:func:`pairs` on every device, and those of the kernel of February on the virtual NIC."""
    choices = {f"{VIRTUAL}, {base}": [(VIRTUAL, cc, *rest) for cc in pair] for base, pair in FEBRUARY.items()}
    return lambda cases: together(choices)(cases) | pairs(*rest)(cases)


def in_february(choice: str) -> bool:
    """The virtual NIC with the kernel that the files of February name."""
    return choice == f"{VIRTUAL}, {next(iter(FEBRUARY))}"


def ratio(value: Callable[[Run], float]) -> Callable[[tuple[Run, ...]], float]:
    """Of the first run over the second."""
    return lambda pair: value(pair[0]) / value(pair[1])


def table_values(part: str, series: str) -> dict[str, dict[str, float]]:
    """Published numbers of a series by the study's names and metrics."""
    found: dict[str, dict[str, float]] = {}
    for number in published(FOLDER, part):
        if number.case["case"] == series:
            found.setdefault(number.case["cc"], {})[number.metric] = number.value
    return found


def published_column(part: str, series: str, metric: str) -> Callable[[str], Cell]:
    """A metric of a series as a column of a table with a row for each of :data:`NAMES`."""
    values = table_values(part, series)
    return lambda cc: values.get(PUBLISHED_AS.get(cc, ""), {}).get(metric)


Spread = tuple[float, float, float]
"""A mean, and the ends of what is drawn around it."""


def deviations(part: str, series: str) -> dict[str, Spread]:
    """Mean and standard deviation of the recovered samples, by the names of :data:`NAMES`."""
    values = table_values(part, series)
    found = {}
    for cc, name in PUBLISHED_AS.items():
        mean, deviation = values[name]["recomputed_average"], math.sqrt(values[name]["recomputed_variance"])
        found[NAMES[cc]] = (mean, mean - deviation, mean + deviation)
    return found


def recomputed(part: str, series: str) -> dict[str, float]:
    """Means of the recovered data by the study's names, which some printed rows contradict."""
    return {cc: values["recomputed_average"] for cc, values in table_values(part, series).items() if cc != "all"}


def distance(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    """By which factor numbers are apart in the mean over those that both have."""
    return math.exp(fmean(abs(math.log(ours[name] / theirs[name])) for name in theirs))
