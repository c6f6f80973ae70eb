"""Verdicts that can fail: a wrong algorithm or parameter turns a claim that held into one that does not.

Runs are shorter than the studies', with one seed; each claim holds in them as long as nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from dumbbell import papers
from dumbbell.papers.part import Experiment


@dataclass(frozen=True)
class Wrong:
    """A study with something wrong."""

    part: str
    claim: str
    """Holds otherwise, and fails with it."""
    duration: str
    what: str
    set: Mapping[str, Any] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    """Algorithms, and what runs under their names."""


CC = "flows[0].cc"
SWEPT_CC = f'sweep."{CC}"'
TABLE7, FIG5, TABLE2, SIMULATION, LOSS, WINDOWS, SINGLE, COURSES, CACM, PRAGUE = (
    "zhang/table7",
    "rebbr/fig5",
    "kato/table2",
    "bbr-acd/simulation",
    "family/loss",
    "responses/windows",
    "bbr-n/single",
    "bbr-n/courses",
    "field/cacm",
    "field/prague",
)
SHORTER: dict[str, dict[str, Any]] = {
    COURSES: {'sweep."flows[0].count"': [1]},
    WINDOWS: {'sweep."path.loss"': ["0.03%", "0.3%"], 'sweep."flows[0].bytes"': ["1930MB", "193100kB"]},
}
"""What makes a part shorter besides its duration."""
WRONG = [
    Wrong(TABLE7, "zha-48", "200s", "Reno for BBR", {"presets.bbr-2019": {"base": "reno"}}),
    Wrong(TABLE7, "zha-45", "200s", "Tsunami for BBRPlus", {"presets.bbrplus-2019": {"base": "tsunami-dqc"}}),
    Wrong(TABLE7, "zha-47", "200s", "Tsunami for BBR'", {"presets.bbr-prime-2019": {"base": "tsunami-dqc"}}),
    Wrong(FIG5, "reb-21", "20s", "a window of half a BDP", {"presets.bbr-4-11.steady_window_gain": 0.5}),
    Wrong(FIG5, "reb-21", "20s", "BBR for CUBIC", {SWEPT_CC: ["bbr-4-11"] * 3 + ["bbr-4-11-no-sampler", "bbr"]}),
    Wrong(FIG5, "reb-21", "20s", "CUBIC for BBR", {SWEPT_CC: ["cubic"] * 5}),
    Wrong(TABLE2, "kat-07", "10s", "the sampler of ns-3.44", {'sweep."transport.delivery_rate"': ["ns3"] * 2}),
    Wrong(TABLE2, "kat-07", "10s", "NextSeg of ns-3.44", {'sweep."transport.rescue"': ["below-sack"] * 2}),
    Wrong(TABLE2, "kat-07", "10s", "a small receive window", {"transport.receive_window": "128KiB"}),
    Wrong(SIMULATION, "acd-19", "300s", "BBR for BBR-ACD", instead={"bbr-acd-ns3": "bbr-ns3-3.41"}),
    Wrong(SIMULATION, "acd-23", "300s", "five times the round-trip time", {"path.rtt": "600ms"}),
    Wrong(SIMULATION, "acd-22", "300s", "BBR-ACD for BBR", instead={"bbr-ns3-3.41": "bbr-acd-ns3"}),
    Wrong(LOSS, "fam-24", "20s", "CUBIC for version 1", instead={"bbr": "cubic"}),
    Wrong(LOSS, "fam-25", "20s", "version 2 for version 1", instead={"bbr": "bbr2"}),
    Wrong(LOSS, "fam-27", "20s", "version 1 for CUBIC", instead={"cubic": "bbr"}),
    Wrong(CACM, "fld-01", "40s", "BBR for CUBIC", instead={"cubic": "bbr"}),
    Wrong(CACM, "fld-03", "40s", "CUBIC for BBR", instead={"bbr": "cubic"}),
    Wrong(PRAGUE, "fld-23", "40s", "CUBIC for Prague", instead={"prague": "cubic"}),
    Wrong(WINDOWS, "res-01", "30000s", "HighSpeed for Reno", instead={"reno": "highspeed"}),
    Wrong(WINDOWS, "res-03", "30000s", "Reno for HighSpeed", instead={"highspeed": "reno"}),
    Wrong(WINDOWS, "res-06", "30000s", "HighSpeed for Scalable", instead={"scalable": "highspeed"}),
    Wrong(SINGLE, "bbn-10", "40s", "CUBIC for BBRgen", instead={"bbr2": "cubic", "bbr": "cubic"}),
    Wrong(SINGLE, "bbn-11", "40s", "a sender with little to send", {"flows[0].rate": "1mbit"}),
    Wrong(COURSES, "bbn-18", "30s", "BBRgen for BBR-n", instead={"bbr-n-4-13": "bbr-4.14"}),
]


def verdicts(wrong: Wrong) -> dict[str, str]:
    """Of one seed of the part."""
    (part,) = papers.find(wrong.part)[1]
    with TemporaryDirectory() as folder:
        options = papers.Options(Path(folder), repeat=1, swap=wrong.instead)
        changes = {**SHORTER.get(wrong.part, {}), **wrong.set, "duration": wrong.duration}
        ran = [replace(one, set={**own(one), **changes}).run(options, "") for one in part.experiments]
    return {judgement.claim.id: judgement.verdict for judgement in part.judge(part.measure(*ran))}


def own(experiment: Experiment) -> dict[str, Any]:
    """What the part itself replaces in the file; not what it does where recordings are at hand."""
    return {} if callable(experiment.set) else dict(experiment.set)


@cache
def unperturbed(part: str, duration: str) -> dict[str, str]:
    """The verdicts as long as nothing is wrong."""
    return verdicts(Wrong(part, "", duration, ""))


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.part}: {wrong.what}")
def test_what_is_wrong_is_found(wrong: Wrong) -> None:
    assert unperturbed(wrong.part, wrong.duration)[wrong.claim] == "holds"
    assert verdicts(wrong)[wrong.claim] == "fails"


def test_every_study_is_perturbed_three_times() -> None:
    studies = [wrong.part.partition("/")[0] for wrong in WRONG]
    assert {name: studies.count(name) for name in papers.NAMES} == dict.fromkeys(papers.NAMES, 3)
