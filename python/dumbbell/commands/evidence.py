"""``dumbbell check evidence``: what RFC 9743 asks to be evaluated, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import options
from dumbbell.console import examples, fail, print_json, print_paths, say

if TYPE_CHECKING:
    from dumbbell.check.criteria import Criterion

EXAMPLES = examples(
    "dumbbell check evidence bbr3 --quick  # two minutes: does everything work?",
    "dumbbell check evidence bbr3                   # pages in out/evidence/bbr3",
    "dumbbell check evidence mine.py:Mine --criterion ecn --criterion aqm",
)


@extras.needed("plots", "dumbbell check evidence")
def evidence(
    algorithm: options.Algorithm,
    criterion: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this criterion, such as ecn or 7.1; may be repeated."),
    ] = None,
    criteria: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Criteria of your own, files *.toml, in place of the RFC's.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory for pages, pictures and runs; default out/evidence/CC."),
    ] = None,
    transport: Annotated[str, typer.Option(help="tcp or quic.")] = "tcp",
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Seeds of each point.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, one seed: a check, no result.")] = False,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    as_json: options.AsJson = False,
) -> None:
    """Evaluate an algorithm by the criteria of RFC 9743, beside Reno and CUBIC: a page, pictures, experiments.

    Thresholds are ours; the RFC has none. Runs that are there already are not repeated: the same command goes on after
    an interrupt.
    """
    from dumbbell import storage
    from dumbbell.check import criteria as reading
    from dumbbell.check.dossier import KIND, Dossier, write
    from dumbbell.check.evidence import RUNS
    from dumbbell.check.evidence import evidence as examine
    from dumbbell.printable import file_name

    if transport not in ("tcp", "quic"):
        fail(f"--transport {transport}: choose tcp or quic")
    found = reading.find() if criteria is None else reading.read_criteria(criteria)
    chosen = _chosen(found, criterion or [])
    folder = out or Path("out") / "evidence" / file_name(algorithm)
    try:
        with storage.claimed(folder, KIND):
            evidences = examine(
                algorithm,
                chosen,
                quick=quick,
                repeat=repeat,
                transport=transport,
                out=folder / RUNS,
                jobs=jobs,
                max_memory=options.size(max_memory),
            )
    except ValueError as error:
        fail(str(error))
    dossier = Dossier(algorithm, evidences[0].exact, evidences, repeat, transport, quick)
    paths = write(dossier, folder)
    if as_json:
        print_json(
            {
                "algorithm": algorithm,
                "criteria": [
                    {
                        "section": one.criterion.section,
                        "name": one.criterion.name,
                        "title": one.criterion.title,
                        "level": one.criterion.level,
                        "verdict": one.verdict,
                        "judged": one.judged,
                        "missed": [
                            {"measure": each.measure.name, "point": list(each.words), "value": _finite(each.value)}
                            for each in one.missed
                        ],
                    }
                    for one in evidences
                ],
            }
        )
        return
    from dumbbell.terminal import Grid

    table = Grid("section", "criterion", "RFC", "verdict")
    for section in dossier.sections:
        one = section.evidence.criterion
        table.add(one.section, one.title, one.level, section.verdict)
    table.print()
    say(", ".join(f"{count} {verdict}" for verdict, count in dossier.counts.items()) + "; thresholds are ours")
    print_paths(paths)


def _chosen(found: list[Criterion], names: list[str]) -> list[Criterion]:
    if not names:
        return found
    chosen: list[Criterion] = []
    for name in names:
        own: list[Criterion] = [one for one in found if name in (one.name, one.name.split("-", 1)[-1], one.section)]
        if not own:
            fail(f"--criterion {name}: there are {', '.join(one.name.split('-', 1)[-1] for one in found)}")
        chosen += [one for one in own if one not in chosen]
    return chosen


def _finite(value: float) -> float | None:
    from math import isfinite

    return value if isfinite(value) else None
