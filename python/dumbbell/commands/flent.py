"""``dumbbell flent``: Flent's tests on a simulated path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell import extras
from dumbbell.catalogue import UnknownAlgorithmError
from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, print_json, print_paths

if TYPE_CHECKING:
    from dumbbell.flent import FlentData

INSPECT = "inspect"

EXAMPLES = examples(
    "dumbbell flent tcp_1up --wifi --rtt 10ms --cc bbr --out bbr.flent.gz",
    "dumbbell flent tcp_nup --streams 12 --rate 100mbit --cc cubic",
    "dumbbell flent rrul --rate 50mbit --rtt 40ms --set path.queue=codel",
    "dumbbell plot bbr.flent.gz lab.flent.gz --out beside  # over a real one",
    "dumbbell flent inspect lab/*.flent.gz             # in what state was it?",
)


def flent(
    test: Annotated[
        str,
        typer.Argument(
            help="tcp_1up, tcp_nup, tcp_ndown, tcp_bidirectional, rrul, rrul_be, rtt_fair, … or `inspect`",
            autocompletion=completion.flent_tests,
        ),
    ],
    files: Annotated[
        list[Path] | None, typer.Argument(help="With inspect: files of Flent.", show_default=False)
    ] = None,
    *,
    context: typer.Context,
    cc: Annotated[
        str,
        typer.Option(
            help="Controller of uploads, and of downloads unless --download-cc says otherwise.",
            autocompletion=completion.algorithms,
        ),
    ] = "cubic",
    download_cc: Annotated[
        str | None,
        typer.Option(help="Controller of downloads.", show_default=False, autocompletion=completion.algorithms),
    ] = None,
    streams: Annotated[
        int | None, typer.Option(help="With tcp_nup and tcp_ndown: how many.", show_default=False)
    ] = None,
    wifi: Annotated[
        bool, typer.Option("--wifi", help="The path is Wi-Fi; --set path.wifi.mcs=7 and the like say which.")
    ] = False,
    rate: Annotated[
        str | None, typer.Option(help="Rate of a wired bottleneck; default 100mbit.", show_default=False)
    ] = None,
    rtt: Annotated[
        str, typer.Option(help="Base round-trip time; with rtt_fair one for each of four hosts: 20ms,50ms,…")
    ] = "20ms",
    buffer: Annotated[
        str | None, typer.Option(help="Queue of the bottleneck; default that of the path.", show_default=False)
    ] = None,
    length: Annotated[float, typer.Option(min=1.0, help="Seconds of load.")] = 60.0,
    delay: Annotated[float, typer.Option(min=0.0, help="Seconds without load before and after it.")] = 5.0,
    step: Annotated[float, typer.Option(min=0.001, help="Seconds between values and between pings.")] = 0.2,
    title: Annotated[str, typer.Option(help="What the data are called; default the controllers.")] = "",
    settings: options.Settings = None,
    seed: options.Seed = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the data, NAME.flent.gz.")] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Run one of Flent's tests on a simulated path: bulk transfers and pings at the same time.

    The file that --out writes is opened and plotted by Flent itself; `dumbbell plot` draws it beside others. `inspect
    FILE...` tells what recordings say of their network: controllers, kernel, queue, idle pings, a radio that was away.
    """
    from dumbbell import flent as tests

    if test == INSPECT:
        _inspect(files or [], context, as_json)
        return
    if files:
        fail(f"{files[0]}: files go with `dumbbell flent {INSPECT}`")
    if out is not None:
        tests.files.check_place(out)
    if wifi and rate is not None:
        fail("--wifi and --rate: the path is one of them; the rate of Wi-Fi follows from path.wifi")
    try:
        chosen = tests.test_named(test, streams)
        rtts = options.several(rtt)
        several = rtts if chosen.hosts > 1 and len(rtts) > 1 else []
        path: dict[str, Any] = {"rtt": rtts[0] if several or len(rtts) == 1 else rtt}
        path["wifi" if wifi else "rate"] = {} if wifi else rate or "100mbit"
        if buffer is not None:
            path["buffer"] = buffer
        data = tests.run(
            chosen,
            path,
            cc=cc,
            download_cc=download_cc,
            rtts=several,
            timing=tests.Timing(length, delay, step),
            title=title,
            set=options.settings(settings),
            seed=seed,
        )
    except ValueError as error:
        if type(error) not in (ValueError, UnknownAlgorithmError):
            raise
        fail(str(error))
    _tell(data, [] if out is None else [tests.write(data, out)], quiet, as_json)


def _inspect(files: list[Path], context: typer.Context, as_json: bool) -> None:
    """Prints a row for each file."""
    extras.need("statistics", f"dumbbell flent {INSPECT}")
    from dumbbell import flent as tests
    from dumbbell.flent.inspection import inspect

    options.refuse_others(context, ("test", "files", "as_json"), f"`flent {INSPECT}`")
    if not files:
        fail(f"`flent {INSPECT}` needs files of Flent")
    found = []
    for path in files:
        try:
            found.append(inspect(tests.read(path), path))
        except tests.FlentFileError as error:
            fail(str(error))
    if as_json:
        print_json({"files": [one.as_dict() for one in found]})
        return
    from dumbbell.terminal import Grid

    grid = Grid("file", "uploads", "kernel", "queue", "driver", "DSCP", "late before %", "after %", "radio", "Mbit/s")
    for one in found:
        grid.add(
            one.name,
            ", ".join(one.uploads or one.downloads) or "-",
            one.kernel or "-",
            one.qdisc or "-",
            one.driver or "-",
            ", ".join(one.markings) or "-",
            *(
                "-" if share is None else f"{100 * share:.0f}"
                for share in (one.before.late_share, one.after.late_share)
            ),
            {None: "-", True: "away", False: "there"}[one.is_away],
            "-"
            if one.change is None
            else f"{one.change.before_mbps:.0f}, from {one.change.at_s:.0f} s on {one.change.after_mbps:.0f}",
        )
    grid.print(
        f"{len(found)} recordings, {sum(one.is_away is True for one in found)} of a radio that was away at times"
    )


def _tell(data: FlentData, written: list[Path], quiet: bool, as_json: bool) -> None:
    if as_json:
        rows = [
            {"series": name, "mean": mean, "median": median, "count": count}
            for name, mean, median, count in data.summary()
        ]
        print_json({"test": data.name, "title": data.title, "series": rows, "files": [str(path) for path in written]})
        return
    if not quiet:
        width = max(len(name) for name in data.results)
        typer.echo(f"{data.name}, {data.title}: Mbit/s and ms under load")
        typer.echo(f"{'':{width}}  {'mean':>9}  {'median':>9}  values")
        for name, mean, median, count in data.summary():
            typer.echo(f"{name:{width}}  {mean:9.2f}  {median:9.2f}  {count:6}")
        print_paths(written)
