"""Shares beside CUBIC and Reno against the size of the buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log

from dumbbell.papers.family.measure import FOLDER, NAMES, Runs, buffers, by, share, sized, where
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import across, both, each, paired, ranged

SLOW_PATH, FAST_PATH = "10 Mbit/s", "100 Mbit/s"
VERSIONS = ("bbr", "bbr2", "bbr3")
RIVALS = ("cubic", "reno")
ONE_EACH = ("1", "1")
MIXES = (ONE_EACH, ("1", "4"), ("4", "1"))

Paths = Mapping[str, Runs]
"""The runs on each path."""


def unevenness(run: Run) -> float:
    """How far the two sides are from each other, as the logarithm of their quotient."""
    return abs(log(max(share(run), 1e-6) / max(share(run, "rival"), 1e-6)))


def select(paths: Paths, path: str, cc: str, rival: str, mix: tuple[str, str] = ONE_EACH) -> Runs:
    """The runs of one mixture, all buffers."""
    counts = {"count_0": mix[0], "count_1": mix[1]} if path == SLOW_PATH else {}
    return where(paths[path], cc_0=cc, cc_1=rival, **counts)


def tables(paths: Paths) -> list[Grid]:
    """Shares, a row a version and mixture."""
    rows = (
        ((path, f"{mix[0]} {NAMES[cc]} : {mix[1]} {NAMES[rival]}"), by(select(paths, path, cc, rival, mix), "buffer"))
        for path, mixes in ((SLOW_PATH, MIXES), (FAST_PATH, MIXES[:1]))
        for rival in RIVALS
        for mix in mixes
        for cc in VERSIONS
    )
    title = "Share of the version's flows; 1 is fair"
    return [across("coexistence", title, ("path", "flows"), rows, buffers(paths[SLOW_PATH]), share)]


def pictures(paths: Paths) -> Pictures:
    """Shares over buffers: a row a rival, a column a mixture."""
    from dumbbell.papers.family import figures

    panels = {
        f"{mix[0]} : {mix[1]} {NAMES[rival]}, {path}": {
            cc: by(select(paths, path, cc, rival, mix), "buffer") for cc in VERSIONS
        }
        for rival in RIVALS
        for path, mix in [*((SLOW_PATH, mix) for mix in MIXES), (FAST_PATH, ONE_EACH)]
    }
    return {"coexistence": figures.coexistence(panels, len(RIVALS))}


# --- claims ----------------------------------------------------------------------------------------------------------


def some(cc: str, low: float, high: float) -> Callable[[Paths], dict[str, Runs]]:
    """One flow of a version beside one of each rival, at buffers of so many BDP."""
    return lambda paths: {
        f"{NAMES[rival]}, {path}": sized(select(paths, path, cc, rival), low, high)
        for path in (SLOW_PATH, FAST_PATH)
        for rival in RIVALS
    }


def beside_version_1(cc: str) -> Callable[[Paths], dict[str, list[tuple[Run, ...]]]]:
    """A version beside each rival, paired with version 1 beside it, at buffers up to 1.5 BDP."""

    def pairs(paths: Paths) -> dict[str, list[tuple[Run, ...]]]:
        ours, first = some(cc, 0, 1.5)(paths), some("bbr", 0, 1.5)(paths)
        return {choice: paired(runs, first[choice]) for choice, runs in ours.items()}

    return pairs


def fair(run: Run) -> bool:
    """A quarter to three quarters of the link."""
    return 0.5 <= share(run) <= 1.5


def closer(pair: tuple[Run, ...]) -> bool:
    """More even than version 1."""
    return unevenness(pair[0]) < unevenness(pair[1])


both_shares = both(ranged(share), "{}, v1 {}")

CLAIMS = [
    Claim("fam-14",
          "Version 1 converges to a fair share beside loss-based flows (here: a quarter to three quarters of the link "
          "beside one of them).",
          "converges toward a fair share whether competing with BBR or loss-based flows (ACM Queue)",
          each(some("bbr", 0, 10), fair, ranged(share)),
          "In buffers below 1.5 BDP its window of two BDP does not fit: the rival's losses do not slow it."),
    Claim("fam-15",
          "Where the buffer exceeds several BDP (here: 5 and 10), loss-based flows take more than their share from it.",
          "buffers exceeding several BDPs (ACM Queue)",
          each(some("bbr", 5, 10), lambda run: share(run) < 1, ranged(share))),
    Claim("fam-16", "Version 2 shares more evenly with CUBIC and Reno than version 1 in buffers up to 1.5 BDP.",
          "better Reno/CUBIC coexistence than v1 (commit message of Linux's BBRv3, of v2 and v3 alike)",
          each(beside_version_1("bbr2"), closer, both_shares)),
    Claim("fam-17", "Version 3 does so, too.", "the same", each(beside_version_1("bbr3"), closer, both_shares)),
    Claim("fam-18",
          "Beside one flow of CUBIC or Reno, version 2 has a quarter to three quarters of the link at every buffer "
          "from 0.25 BDP on.",
          "probes every 2 to 3 s or 63 round trips to coexist (drafts); no number",
          each(some("bbr2", 0.25, 10), fair, ranged(share))),
    Claim("fam-19", "Version 3 has that, too.", "the same; no number",
          each(some("bbr3", 0.25, 10), fair, ranged(share))),
]  # fmt: skip

PART = Part(
    "coexistence",
    "Shares of the three versions beside CUBIC and Reno over buffers of 0.1 to 10 BDP",
    [
        Experiment(FOLDER / "coexistence.toml", quick={"warmup": "1s"}),
        Experiment(FOLDER / "coexistence-fast.toml", quick={"warmup": "1s"}),
    ],
    quick="2s",
    measure=lambda slow, fast: {SLOW_PATH: slow.runs, FAST_PATH: fast.runs},
    setup=[
        "40 ms, drop-tail, Linux's transport, starts within 1 s. 10 Mbit/s (a BDP of 33 packets) for 120 s with "
        "1:1, 1:4 and 4:1 flows; 100 Mbit/s (333 packets) for 90 s with 1:1. The first 20 s do not count.",
        "A share is the mean goodput of the version's flows over the mean of all flows: 1 is fair, 2 is everything "
        "of two flows. Means over three seeds; a claim is put to each seed at each of its buffers.",
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
