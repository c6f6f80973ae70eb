"""What commands print, write and draw for small cases, beside what ``tests/snapshots/python`` keeps of it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import snapshots
from conftest import EXPERIMENT, SWEEP, Cli
from described import described
from dumbbell.plots import Format, Picture
from kept_files import flat, told

WORLD = """\
duration = "6s"
warmup = "1s"
[path]
rate = "10mbit"
rtt = "40ms"
loss = "0.1%"
buffer = "40packets"
[[flows]]
cc = "bbr3"
[[flows]]
cc = "cubic"
stop = "4s"
[[traffic]]
kind = "short-flows"
cc = "reno"
load = "10%"
size = "30kB"
[[traffic]]
kind = "web-pages"
cc = "reno"
users = 4
think = "100ms"
[[traffic]]
kind = "incast"
cc = "reno"
servers = 4
size = "20kB"
"""

CHANGING = """\
duration = "6s"
[path]
rate = { steps = [["0s", "10mbit"], ["3s", "4mbit"]] }
rtt = "40ms"
buffer = "1bdp"
queue = "codel"
[transport]
ecn = true
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
label = "other"
start = "1s"
"""

FILES = {
    "two.toml": EXPERIMENT,
    "sweep.toml": SWEEP.replace("repeat = 2", 'repeat = 3\n"path.buffer" = ["0.5bdp", "2bdp"]'),
    "world.toml": WORLD,
    "changing.toml": CHANGING,
}

CASES: dict[str, list[str]] = {
    "run": [
        "run two.toml --plot --out out",
        "run two.toml --json",
        "metrics out",
        "metrics out --json",
        "report out",
        "plot out --series cwnd --series pacing_mbps --format png",
        "plot out --kind share --format png",
        "plot out --kind cdf --y rtt_ms --format png --style paper --legend right",
        "qlog out --out qlog",
    ],
    "sweep": [
        "run sweep.toml --out out",
        "stats out",
        "stats out --by loss --metric p95_rtt_ms --post-hoc holm",
        "stats out --by cc --where buffer=2bdp --json",
        "report out",
        "plot out --format png",
        "plot out --kind box --x buffer --y p95_rtt_ms --format png",
        "plot out --kind heat --x buffer --by loss --where cc=bbr --format png",
        "plot out --kind cdf --by loss --format png",
        "plot out --x loss --panels buffer --format png --style dark",
        "metrics out",
        "extract out 3 --out point",
    ],
    "appearance": [
        "run sweep.toml --out out",
        "plot out --x loss --where buffer=2bdp --y p95_rtt_ms --title Delays --label x=losses --label bbr=our --log y "
        "--format png",
        "plot out --x loss --ylim 0:12 --legend bottom --size 84x56mm --font-size 7 --format png",
        "plot out --x buffer --panels loss --title Shares --ylim 1: --label y=rates --dpi 60 --format png",
        "plot out --x loss --legend top --size 2x2in --format png",
        "plot out --x loss --title Rates --legend none --style slides --format png",
    ],
    "beside": [
        "run two.toml --out one",
        "run two.toml --set path.buffer=2bdp --out two",
        "compare one two --plot --out both",
        "compare one two --json",
        "stats one two --by result --metric p95_rtt_ms",
        "stats one two --by result --samples",
        "metrics one --solo two",
    ],
    "traffic": [
        "run world.toml --plot --out out",
        "metrics out",
        "report out",
    ],
    "examples": [
        "run streams.toml --set duration=3s --set warmup=1s --plot --out streams",
        "report streams",
        "metrics streams",
        "run talk-spurts.toml --set duration=6s --set warmup=1s --plot --out talk",
        "report talk",
        "run call.toml --set duration=6s --set warmup=1s --out call",
        "report call --format md",
        "run wifi-anomaly.toml --set duration=12s --set warmup=1s --plot --out wifi",
        "report wifi --format md",
        "run transports.toml --set duration=4s --set warmup=1s --out transports",
        "plot transports --format png",
        "run l4s.toml --set duration=4s --set warmup=1s --plot --out marks",
        "why marks --repeat 2",
        "run incast.toml --set duration=2s --out incast",
        "report incast --format md",
        "run parking-lot.toml --set duration=4s --set warmup=1s --plot --out lot",
        "metrics lot",
    ],
    "changing": [
        "run changing.toml --plot --out out",
        "report out",
        "why out --repeat 2",
        "why out --repeat 2 --flow other --json",
        "metrics out --json",
    ],
    "why": ["run world.toml --out out", "why out --repeat 2"],
    "compare": [
        "compare bbr cubic --loss 0% --duration 3s --out out",
        "compare reno cubic bbr --buffer 0.5bdp,2bdp --duration 3s --repeat 3",
        "compare reno cubic --duration 3s --repeat 2 --json",
        "report out --format md",
    ],
    "flent": [
        "flent tcp_1up --length 3 --delay 1 --rate 10mbit --cc bbr --out one.flent.gz",
        "flent rrul --length 3 --delay 1 --rate 10mbit --out rrul.flent.gz",
        "flent tcp_nup --streams 2 --length 3 --delay 1 --wifi --cc reno --json --out nup.flent.gz",
        "flent inspect one.flent.gz rrul.flent.gz nup.flent.gz",
        "plot one.flent.gz rrul.flent.gz --out beside --format png",
    ],
    "advise": ["advise --candidates reno,cubic --buffer 0.5bdp,2bdp --duration 6s --repeat 2 --out out"],
    "conform": [
        "check conform cubic-rfc --set rfc9438 --case 1 --out out",
        "check conform reno --set rfc5681",
        "check conform bbr3 --transport tcp --json",
    ],
    "museum": ["check museum cubic-idle --out out", "check museum cubic-idle --markdown"],
    "score": ["score reno", "score cubic --set verdict --json"],
    "gate": ["check gate cubic reno --scenario beside-cubic --repeat 8 --markdown gate.md --out gate"],
    "evidence": [
        "check evidence cubic --quick --criterion aqm --criterion 5.2.3 --criterion 6.4 --criterion 7.8 --out out"
    ],
    "suite": ["suite aqm/bursts --quick --cc cubic --out out"],
    "adversary": ["adversary reno --evaluations 4 --out out", "adversary reno --evaluations 4 --attack delay --json"],
    "lists": ["cc list", "cc show bbr", "cc show cubic --json", "suite --list", "reproduce --list"],
}

OF_THE_MACHINE = [
    re.compile(r"^\s*(?:[\w.\[\]]+\.)?(?:version|engine|build|cpu_s|wall_s|elapsed_s|content_hash|files\.\S+): (.*)"),
    re.compile(r"(\d+\.\d+, engine [0-9a-f]{16})"),
    re.compile(r"(\d+\.\d+, content hash [0-9a-f]{64})"),
    re.compile(r"(\d+\.\d+) s for \d+ simulated seconds"),
    re.compile(r" packets(?: in|,) (.* s of CPU.*)"),
]
"""What is not the same everywhere and in every version."""


def anywhere(line: str) -> str:
    """A line without what is not the same everywhere."""
    for pattern in OF_THE_MACHINE:
        if found := pattern.search(line):
            line = f"{line[: found.start(1)]}*{line[found.end(1) :]}"
    return line.rstrip()


def printed(text: str) -> list[str]:
    """What is printed; of an object its leaves."""
    return list(flat(json.loads(text))) if text.startswith("{") else text.splitlines()


@pytest.mark.parametrize("name", CASES)
def test_what_commands_say_is_what_is_kept(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for file, text in FILES.items():
        Path(file).write_text(text)
    for example in (snapshots.ROOT / "examples").glob("*.toml"):
        shutil.copy(example, tmp_path)
    drawn: dict[int, Picture] = {}
    encoded = Picture.encoded

    def kept(picture: Picture, kind: Format) -> bytes:
        drawn[id(picture)] = picture
        return encoded(picture, kind)

    monkeypatch.setattr(Picture, "encoded", kept)
    lines: list[str] = []
    known = {path: path.read_bytes() for path in Path().iterdir()}
    for command in CASES[name]:
        drawn.clear()
        done = dumbbell(*command.split())
        lines += [f"$ {command}", f"status {done.status}", *printed(done.out), *printed(done.err)]
        # What runs beside each other is drawn in any order.
        lines += [line for lines in sorted(map(described, drawn.values())) for line in lines]
        # How many runs make a batch hangs on how long they took.
        for path in sorted(path for path in Path().rglob("*") if path.is_file() and "batches" not in path.parts):
            if known.get(path) != (content := path.read_bytes()):
                known[path] = content
                lines += [f"file {path}", *(f"  {line}" for line in told(path))]
    snapshots.same_as_kept(f"commands/{name}", [anywhere(line.replace(str(tmp_path), "DIR")) for line in lines])
