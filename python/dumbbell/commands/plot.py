"""``dumbbell plot``: pictures of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dumbbell import storage
from dumbbell.commands import options
from dumbbell.console import examples, fail, print_paths

if TYPE_CHECKING:
    from dumbbell.plots import Format, Picture, Style
    from dumbbell.results import Result, SweepResult

EXAMPLES = examples(
    "dumbbell plot result  # what suits it",
    "dumbbell plot result --series cwnd --format svg",
    "dumbbell plot sweep --x buffer --y jain --size 3.3x2.2in --style paper",
    "dumbbell plot sweep --kind box --x buffer --y p95_rtt_ms",
    "dumbbell plot sweep --kind heat --x buffer --by rtt --where cc=bbr",
    "dumbbell plot result --kind cdf --y rtt_ms",
    "dumbbell plot result --kind share",
    "dumbbell plot ours.flent.gz lab.flent.gz --out beside",
)

OVERLAY = storage.Kind("overlay", (), lambda folder: None)
"""A folder with pictures of Flent's files."""

KINDS = ("line", "box", "cdf", "share", "heat")


class Wanted(NamedTuple):
    """What is to be drawn."""

    kind: str | None
    x: str | None
    y: str | None
    by: str | None
    where: dict[str, str]


def plot(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Directory that --out wrote; or files of Flent.", show_default=False),
    ],
    kind: Annotated[
        str | None, typer.Option(metavar="|".join(KINDS), help="What to draw; default what suits the result.")
    ] = None,
    x: Annotated[str | None, typer.Option(metavar="SETTING", help="A swept setting, such as path.buffer.")] = None,
    y: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="A column (`dumbbell columns`) or jain; default goodput_mbps."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="SETTING", help="What lines stand for: cc, label, a swept setting.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only these values of a swept setting, cc or label: --where rtt=20ms."),
    ] = None,
    series: Annotated[
        list[str] | None, typer.Option(help="Also draw this column of the time series, such as pacing_mbps.")
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="Any of png, svg, pdf.")] = "png,svg,pdf",
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Size: 3.3x2.2in, 84x56mm.")] = None,
    font_size: Annotated[float | None, typer.Option(min=1, max=100, help="Size of letters in points.")] = None,
    style: Annotated[str, typer.Option(help="plain, paper, slides or dark.")] = "plain",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With files of Flent: directory for the pictures.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw pictures of a result: those that suit it, or any metric over any swept setting.

    Files of Flent, real and simulated, are drawn over each other.
    """
    from dumbbell import flent, plots

    kinds = _formats(formats)
    if kind is not None and kind not in KINDS:
        fail(f"--kind {kind}: choose from {', '.join(KINDS)}")
    wanted = Wanted(kind, x, y, by, options.split(where, "--where", "KEY=VALUE, such as --where rtt=20ms"))
    of_flent = any(flent.is_named_so(place) for place in places)
    if not of_flent and (len(places) != 1 or out is not None):
        fail("give one directory that --out wrote, whose pictures go there, or files of Flent with --out")
    with plots.appearance(_inches(size), font_size, _style(style)):
        paths = _overlay(places, kinds, series, out) if of_flent else _draw(places[0], wanted, kinds, series)
    if not quiet:
        print_paths(paths)


def _formats(text: str) -> list[Format]:
    from dumbbell.plots import FORMATS

    chosen = [name for name in FORMATS if name in text.split(",")]
    if not chosen or set(text.split(",")) - set(FORMATS):
        fail(f"--format {text}: choose from {', '.join(FORMATS)}")
    return chosen


def _draw(folder: Path, wanted: Wanted, formats: list[Format], series: list[str] | None) -> list[Path]:
    """Draws pictures of the result in a directory into it, and returns their paths."""
    from dumbbell import plots
    from dumbbell.results import load

    result = load(folder)
    try:
        return plots.draw(result, folder, formats, series or [], _pictures(result, wanted))
    except ValueError as error:
        fail(f"{folder}: {error}")


def _pictures(result: Result | SweepResult, wanted: Wanted) -> dict[str, Picture] | None:
    """The picture that the options describe, by its name; ``None`` if they describe none."""
    from dumbbell.results import Result

    kind, x, y, by, where = wanted
    if kind is None and x is None and y is None and by is None and not where:
        return None
    if isinstance(result, Result):
        if kind == "share":
            return {"share": result.plot.shares(y or "received_mbps")}
        if kind == "cdf":
            return {f"cdf-{y or 'rtt_ms'}": result.plot.cdf(y or "rtt_ms")}
        if kind is None and x is None and by is None and y is not None:
            return {y: result.plot.series(y)}
        raise ValueError("a single run has --kind cdf, --kind share and --series; settings are varied in a sweep")
    return _of_sweep(result, wanted)


def _of_sweep(sweep: SweepResult, wanted: Wanted) -> dict[str, Picture]:
    kind, x, given, by, where = wanted
    y = given or "goodput_mbps"
    if kind == "share":
        raise ValueError("shares over time need a single run: dumbbell extract DIR POINT --out PLACE writes one")
    if kind == "cdf":
        return {f"cdf-{y}": sweep.plot.cdf(y, by or (), where)}
    if x is None:
        raise ValueError(f"--x is missing: one of {', '.join(sweep.axes) or 'none, since nothing is swept'}")
    if kind == "heat":
        if by is None:
            raise ValueError("--kind heat needs --by, the setting from bottom to top")
        return {f"heat-{y}-{x}-{by}": sweep.plot.heat_map(x, by, y, where)}
    if kind == "box":
        return {f"box-{y}-{x}": sweep.plot.box(x, y, by or (), where)}
    return {f"{y}-{x}": sweep.plot.metric(x, y, by or (), where)}


def _style(word: str) -> Style:
    from dumbbell.plots import STYLES

    for style in STYLES:
        if style == word:
            return style
    fail(f"--style {word}: choose from {', '.join(STYLES)}")


def _inches(size: str | None) -> tuple[float, float] | None:
    """Width and height of ``3.3x2.2in`` or ``84x56mm``."""
    import re

    if size is None:
        return None
    units = {"in": 1.0, "": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
    read = re.fullmatch(r"([\d.]+)\s*x\s*([\d.]+)\s*(in|cm|mm|)", size.strip())
    try:
        width, height = (float(read[1]) * units[read[3]], float(read[2]) * units[read[3]]) if read else (0.0, 0.0)
    except ValueError:
        width = height = 0.0
    if not (0.5 <= width <= 100 and 0.5 <= height <= 100):
        fail(f"--size {size}: write width and height, such as 3.3x2.2in or 84x56mm; allowed: 0.5in to 100in")
    return width, height


def _overlay(places: list[Path], formats: list[Format], series: list[str] | None, out: Path | None) -> list[Path]:
    """Draws Flent's files over each other into a directory, and returns the paths."""
    from dumbbell import flent
    from dumbbell.plots.flent import overlay

    if out is None:
        fail("pictures of Flent's files go into a directory of their own: add --out DIR")
    if series:
        fail("--series goes with a directory that --out wrote")
    try:
        data = [flent.read(place) for place in places]
    except flent.FlentFileError as error:
        fail(str(error))
    names = [place.name.removesuffix(flent.files.SUFFIX) for place in places]
    files = [f"overlay.{kind}" for kind in formats]
    picture = overlay(data, names)
    if out.exists():
        # What is there in other formats stays.
        with storage.adding(out, OVERLAY, files):
            return picture.write(out / "overlay", formats)
    with storage.directory(out, OVERLAY, files) as staging:
        picture.write(staging / "overlay", formats)
    return [out / name for name in files]
