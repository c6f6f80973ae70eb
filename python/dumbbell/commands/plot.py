"""``dumbbell plot``: pictures of a result."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dumbbell import extras, storage
from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, note, print_paths

if TYPE_CHECKING:
    from dumbbell.plots import Format, Picture
    from dumbbell.results import Result, SweepResult

EXAMPLES = examples(
    "dumbbell plot result  # what suits it",
    "dumbbell plot result --series cwnd --format svg",
    "dumbbell plot sweep --x loss --panels buffer --style paper --out fig3.pdf",
    "dumbbell plot sweep --x buffer --y jain --ylim 0:1 --title 'Who shares'",
    "dumbbell plot sweep --kind box --x buffer --y p95_rtt_ms",
    "dumbbell plot sweep --kind heat --x buffer --by rtt --where cc=bbr",
    "dumbbell plot result --kind cdf --y rtt_ms",
    "dumbbell plot result --kind share",
    "dumbbell plot ours.flent.gz lab.flent.gz --out beside",
)

PICTURES = storage.Kind("overlay", (), lambda folder: None)
"""A folder with pictures alone."""

KINDS = ("line", "box", "cdf", "share", "heat")


class Wanted(NamedTuple):
    """What is to be drawn."""

    kind: str | None
    x: str | None
    y: str | None
    by: str | None
    where: dict[str, str]
    panels: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether nothing was said of it."""
        return not any(self)

    def named(self, kind: str) -> str:
        """The name of the picture: everything that decides what it shows."""
        said = {"by": self.by, "panels": self.panels} | self.where
        return "-".join([kind, *(f"{key}={value}" for key, value in said.items() if value)])


@extras.needed("plots", "dumbbell plot")
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
        typer.Option(
            metavar="METRIC",
            help="A column (`dumbbell columns`) or jain; default goodput_mbps.",
            autocompletion=completion.metrics,
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="SETTING", help="What lines stand for: cc, label, a swept setting.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only these values of a swept setting, cc or label: --where rtt=20ms."),
    ] = None,
    panels: Annotated[
        str | None,
        typer.Option(metavar="SETTINGS", help="A panel for each value, with shared axes: a swept setting, cc, label."),
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(
            help="Also draw this column of the time series, such as pacing_mbps.", autocompletion=completion.series
        ),
    ] = None,
    formats: Annotated[
        str | None, typer.Option("--format", help="Any of png, svg, pdf; default all, or what --out names.")
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Size: 3.3x2.2in, 84x56mm.")] = None,
    style: Annotated[str, typer.Option(help="plain, paper, slides or dark.")] = "plain",
    title: Annotated[str | None, typer.Option(help="Written above the picture.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT", help="In place of a label: of the axis x or y, or of an entry of the legend."
        ),
    ] = None,
    legend: Annotated[str, typer.Option(metavar="top|bottom|right|none", help="Where the legend is.")] = "top",
    log: Annotated[str, typer.Option(metavar="x|y|xy", help="Logarithmic axes.", show_default=False)] = "",
    ylim: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Span of the vertical axis; 0: for a part.")
    ] = None,
    font: Annotated[str | None, typer.Option(help="Family of letters, such as serif or 'Times New Roman'.")] = None,
    font_size: Annotated[float | None, typer.Option(min=5, max=100, help="Size of letters in points.")] = None,
    dpi: Annotated[float | None, typer.Option(min=20, max=2400, help="Dots an inch in PNG; default 150.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE|DIR", help="Another place: fig3.pdf, or a directory of pictures."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw pictures of a result: those that suit it, or any metric over any swept setting.

    In every picture all texts can be read: what does not fit is laid out again, or refused. Files of Flent, real and
    simulated, are drawn over each other.
    """
    from dumbbell import flent

    kinds = _formats(formats, out)
    if kind is not None and kind not in KINDS:
        fail(f"--kind {kind}: choose from {', '.join(KINDS)}")
    wanted = Wanted(kind, x, y, by, options.split(where, "--where", "KEY=VALUE, such as --where rtt=20ms"), panels)
    look = Look(size, style, title, tuple(label or ()), legend, log, ylim, font, font_size, dpi)
    of_flent = any(flent.is_named_so(place) for place in places)
    if not of_flent and len(places) != 1:
        fail("give one directory that --out wrote, or files of Flent with --out")
    with look.appearance():
        if of_flent:
            if not wanted.is_default:
                fail("--kind, --x, --y, --by, --where and --panels go with a directory that --out wrote")
            paths = _overlay(places, kinds, series, out)
        else:
            paths = _draw(places[0], wanted, kinds, series, look.name, out, quiet=quiet)
    if not quiet:
        print_paths(paths)


class Look(NamedTuple):
    """What pictures look like, as the options say it."""

    size: str | None
    style: str
    title: str | None
    label: tuple[str, ...]
    legend: str
    log: str
    ylim: str | None
    font: str | None
    font_size: float | None
    dpi: float | None

    @property
    def name(self) -> str:
        """What the options that were given add to the name of a picture."""
        plain = Look(None, "plain", None, (), "top", "", None, None, None, None)
        words = [f"{key}={value}" for key, value in self._asdict().items() if value != getattr(plain, key)]
        return "".join(f"-{word}" for word in words)

    @contextmanager
    def appearance(self) -> Iterator[None]:
        """Pictures of the block look like this."""
        from dumbbell import plots

        try:
            chosen = plots.appearance(
                _inches(self.size),
                self.font_size,
                self.style,  # type: ignore[arg-type]
                font=self.font,
                dpi=self.dpi,
                title=self.title,
                labels=options.split(list(self.label), "--label", "NAME=TEXT, such as --label x='buffer (BDP)'"),
                log=self.log,
                ylim=_span(self.ylim),
                legend=self.legend,  # type: ignore[arg-type]
            )
            chosen.__enter__()
        except ValueError as error:
            fail(str(error))
        try:
            yield
        finally:
            chosen.__exit__(None, None, None)


def _span(text: str | None) -> tuple[float | None, float | None] | None:
    """The ends of ``LOW:HIGH``, of which one may be missing."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        ends = (float(low) if low.strip() else None, float(high) if high.strip() else None)
    except ValueError:
        colon = ""
    if not colon or ends == (None, None):
        fail(f"--ylim {text}: write LOW:HIGH, such as 0:10, or 0: for the lower end alone")
    return ends


def _is_picture(path: Path) -> bool:
    """Whether the name is that of a picture of any kind, and not of a directory."""
    kind = mimetypes.guess_type(path.name)[0] or ""
    return kind.startswith("image/") or kind == "application/postscript"


def _formats(text: str | None, out: Path | None) -> list[Format]:
    from dumbbell.plots import FORMATS

    named = [kind for kind in FORMATS if out is not None and out.suffix == f".{kind}"]
    if out is not None and not named and not out.is_dir() and _is_picture(out):
        fail(
            f"--out {out}: no picture is written as {out.suffix}; choose from {', '.join(f'.{one}' for one in FORMATS)}"
        )
    if text is None:
        return named or list(FORMATS)
    chosen = [name for name in FORMATS if name in text.split(",")]
    if not chosen or set(text.split(",")) - set(FORMATS):
        fail(f"--format {text}: choose from {', '.join(FORMATS)}")
    if named and named != chosen:
        fail(f"--format {text}: --out {out} is a {named[0]}; leave one of both out")
    return chosen


def _draw(
    folder: Path,
    wanted: Wanted,
    formats: list[Format],
    series: list[str] | None,
    look: str,
    out: Path | None,
    *,
    quiet: bool,
) -> list[Path]:
    """Draws pictures of the result in a directory into it, or into another place, and returns their paths."""
    from dumbbell import plots
    from dumbbell.results import load

    result = load(folder)
    try:
        pictures = _pictures(result, wanted)
        drawn = plots.chosen(result, pictures, series or [])
        lacking = plots.left_out(result) if pictures is None else None
        if not drawn:
            raise ValueError(lacking or "no picture suits what is here")
        plots.check_labels()
        if lacking is not None and not quiet:
            note(lacking)
        named = {f"{name}{look}": picture for name, picture in drawn.items()}
        return plots.write(result, folder, formats, named) if out is None else _write(named, formats, out)
    except ValueError as error:
        fail(f"{folder}: {error}")


def _write(pictures: dict[str, Picture], formats: list[Format], out: Path) -> list[Path]:
    """Writes pictures to the place of ``--out``: one file, or a directory."""
    from dumbbell.plots import write_alone
    from dumbbell.printable import file_name

    if out.suffix == f".{formats[0]}" and not out.is_dir():
        if len(pictures) != 1:
            fail(
                f"--out {out}: one file for {len(pictures)} pictures, {', '.join(pictures)}; choose one, or a directory"
            )
        (picture,) = pictures.values()
        write_alone(picture, out, formats[0])
        return [out]
    stems = {file_name(name): picture for name, picture in pictures.items()}
    files = [f"{stem}.{kind}" for stem in stems for kind in formats]
    if out.exists():
        # What is there besides stays.
        with storage.adding(out, PICTURES, files):
            return [path for stem, picture in stems.items() for path in picture.write(out / stem, formats)]
    with storage.directory(out, PICTURES, files) as staging:
        for stem, picture in stems.items():
            picture.write(staging / stem, formats)
    return [out / name for name in files]


def _pictures(result: Result | SweepResult, wanted: Wanted) -> dict[str, Picture] | None:
    """The picture that the options describe, by its name; ``None`` if they describe none."""
    from dumbbell.results import Result

    if wanted.is_default:
        return None
    kind, x, y, by, _, panels = wanted
    if isinstance(result, Result):
        if panels is not None or wanted.where:
            raise ValueError("--panels and --where choose runs of a sweep; this is a single run")
        if kind in ("share", "cdf") and (x is not None or by is not None):
            raise ValueError("--x and --by are settings of a sweep; this is a single run")
        if kind == "share":
            return {f"share-{y}" if y else "share": result.plot.shares(y or "received_mbps")}
        if kind == "cdf":
            return {f"cdf-{y or 'rtt_ms'}": result.plot.cdf(y or "rtt_ms")}
        if kind is None and x is None and by is None and y is not None:
            return {y: result.plot.series(y)}
        raise ValueError("a single run has --kind cdf, --kind share and --series; settings are varied in a sweep")
    return _of_sweep(result, wanted)


def _of_sweep(sweep: SweepResult, wanted: Wanted) -> dict[str, Picture]:
    kind, x, given, by, where, apart = wanted
    y, panels = given or "goodput_mbps", apart or ()
    if kind == "share":
        raise ValueError("shares over time need a single run: dumbbell extract DIR POINT --out PLACE writes one")
    if kind == "cdf":
        if x is not None:
            raise ValueError("--kind cdf has no --x: its horizontal axis is the metric, --y")
        return {wanted.named(f"cdf-{y}"): sweep.plot.cdf(y, by or (), where, panels=panels)}
    if x is None:
        raise ValueError(f"--x is missing: one of {', '.join(sweep.axes) or 'none, since nothing is swept'}")
    if kind == "heat":
        if by is None:
            raise ValueError("--kind heat needs --by, the setting from bottom to top")
        return {wanted.named(f"heat-{y}-{x}"): sweep.plot.heat_map(x, by, y, where, panels=panels)}
    if kind == "box":
        return {wanted.named(f"box-{y}-{x}"): sweep.plot.box(x, y, by or (), where, panels=panels)}
    return {wanted.named(f"{y}-{x}"): sweep.plot.metric(x, y, by or (), where, panels=panels)}


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
    from dumbbell.plots import check_labels
    from dumbbell.plots.flent import overlay

    if out is None:
        fail("pictures of Flent's files go to a place of their own: add --out DIR or --out FILE.png")
    if series:
        fail("--series goes with a directory that --out wrote")
    try:
        data = [flent.read(place) for place in places]
    except flent.FlentFileError as error:
        fail(str(error))
    names = [place.name.removesuffix(flent.files.SUFFIX) for place in places]
    try:
        picture = overlay(data, names)
        check_labels()
    except ValueError as error:
        fail(f"{', '.join(map(str, places))}: {error}")
    return _write({"overlay": picture}, formats, out)
