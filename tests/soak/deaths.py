"""Kills what runs, at random moments, and looks for what is left: processes, network namespaces, files, wrong tables.

    python tests/soak/deaths.py --seed 1 --count 100

What is killed in turn: a shell, a run on the kernel, a run whose flow is two programs or one of these, a sweep, a
worker of a cluster, its scheduler. A sweep is finished by the same command afterwards and has the tables of one that
nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "DUMBBELL_DEATH"
"""In the environment of everything that is started, whatever starts it."""
PATIENCE_S = 60.0
"""How long the kernel may take to clear away what nobody holds."""
PATH = 'path = { rate = "8mbit", rtt = "40ms" }\nflows = [{ cc = "cubic" }, { cc = "bbr" }]\n'
ENDS = """
import signal, socket, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "3600"], start_new_session=True)
role, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if role == "server":
    connection, _ = socket.create_server((host, port)).accept()
    while True:
        connection.sendall(bytes(65536))
connection = socket.create_connection((host, port))
while connection.recv(65536):
    pass
"""
"""Both ends of a flow, which do not end when they are asked to, and leave a process behind."""
SWEEP = f'duration = "6s"\n{PATH}[sweep]\n"path.loss" = ["0%", "1%"]\nrepeat = 20\n'
COMMAND = [sys.executable, "-m", "dumbbell"]


@dataclass(frozen=True)
class Place:
    """Where one death happens."""

    folder: Path
    mark: str

    @property
    def environment(self) -> dict[str, str]:
        """Of everything that is started here; temporary files are here, too."""
        (self.folder / "tmp").mkdir(exist_ok=True)
        return os.environ | {MARK: self.mark, "TMPDIR": str(self.folder / "tmp")}

    def write(self, name: str, text: str) -> str:
        """A file."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a program, which says nothing."""
        none = subprocess.DEVNULL
        return subprocess.Popen(
            list(words), env=self.environment, cwd=self.folder, stdin=none, stdout=none, stderr=none
        )

    def processes(self) -> dict[int, str]:
        """The command lines of everything that was started here and still runs."""
        found = {}
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and f"{MARK}={self.mark}\0".encode() in (entry / "environ").read_bytes():
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = words.decode(errors="replace")
        return found

    def temporary(self) -> list[str]:
        """Files of ours that are left among the temporary ones."""
        return sorted(path.name for path in (self.folder / "tmp").glob("*dumbbell-*"))


def kill(process: subprocess.Popen[bytes], after_s: float) -> None:
    """Kills a process after a while."""
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
    finally:
        process.kill()
        process.wait()


def shell(place: Place, dice: random.Random) -> str:
    """A shell whose programs leave others behind."""
    started = "(setsid sleep 3600 &); sleep 3600 & sleep 3600"
    file = place.write("path.toml", f'duration = "1s"\n{PATH}')
    kill(place.start([*COMMAND, "shell", file, "--peer", started, "--", started]), dice.uniform(0.0, 2.5))
    return ""


def kernel(place: Place, dice: random.Random) -> str:
    """A run on the kernel."""
    file = place.write("path.toml", f'duration = "1h"\n{PATH}')
    kill(place.start([*COMMAND, "run", file, "--on", "linux", "--out", "out"]), dice.uniform(0.0, 2.5))
    return "a result of a run that was killed" if (place.folder / "out" / "flows.parquet").exists() else ""


def programs(place: Place, dice: random.Random) -> str:
    """A run whose flow is two programs, or one of the two."""
    place.write("ends.py", ENDS)
    server, client = (f"{sys.executable} ends.py {role} {{server}} {{port}}" for role in ("server", "client"))
    flow = f'[[flows]]\nprogram = {{ server = "{server}", client = "{client}" }}\n'
    file = place.write("programs.toml", f'duration = "1h"\npath = {{ rate = "8mbit", rtt = "40ms" }}\n{flow}')
    process = place.start([*COMMAND, "run", file, "--on", "linux", "--allow-programs", "--out", "out"])
    after_s = dice.uniform(0.0, 4.0)
    if dice.random() < 0.5:
        kill(process, after_s)
        return ""
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        if ends := sorted(number for number, words in place.processes().items() if "ends.py" in words):
            with suppress(ProcessLookupError):
                os.kill(dice.choice(ends), signal.SIGKILL)
            process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        return "the run outlives its program"
    finally:
        kill(process, 0.0)
    return ""


def sweep(place: Place, dice: random.Random) -> str:
    """A sweep on two processors."""
    words = [*COMMAND, "run", place.write("sweep.toml", SWEEP), "--out", "out", "--jobs", "2"]
    kill(place.start(words), dice.uniform(0.0, 3.0))
    return finished(place, words)


def finished(place: Place, words: Sequence[str]) -> str:
    """Has the rest of a sweep run; what is wrong with its tables."""
    if place.start(words).wait() != 0:
        return "the sweep does not go on"
    for name in ("flows", "links"):
        if (place.folder / "out" / f"{name}.parquet").read_bytes() != undisturbed(place)[name]:
            return f"other {name} than without a death"
    if left := [str(path) for path in (place.folder / "out").rglob("*") if ".part" in path.name]:
        return f"left in the result: {left}"
    return ""


_UNDISTURBED: dict[str, bytes] = {}


def undisturbed(place: Place) -> dict[str, bytes]:
    """The tables of the sweep that nobody killed."""
    if not _UNDISTURBED:
        if place.start([*COMMAND, "run", place.write("sweep.toml", SWEEP), "--out", "undisturbed"]).wait() != 0:
            sys.exit("the sweep itself fails")
        for name in ("flows", "links"):
            _UNDISTURBED[name] = (place.folder / "undisturbed" / f"{name}.parquet").read_bytes()
    return _UNDISTURBED


@contextmanager
def cluster(place: Place) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers: its address, and the processes."""
    file = place.folder / "scheduler.json"
    words = [sys.executable, "-m"]
    to = ["--scheduler-file", str(file)]
    scheduler = [*words, "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", *to]
    worker = [*words, "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *to]
    processes = [place.start(scheduler)]
    try:
        while not (file.exists() and file.stat().st_size):
            time.sleep(0.05)
        processes += [place.start([*worker, "--death-timeout", "10", "--name", str(number)]) for number in range(2)]
        yield json.loads(file.read_text("utf-8"))["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def killed_in_cluster(place: Place, dice: random.Random, which: int) -> str:
    """A sweep on a cluster of which a process is killed; here it is finished."""
    file = place.write("sweep.toml", SWEEP)
    with cluster(place) as (address, processes):
        asking = place.start([*COMMAND, "run", file, "--out", "out", "--cluster", address])
        kill(processes[which], dice.uniform(1.0, 6.0))
        if which > 0 and asking.wait() != 0:
            return "the sweep does not survive a worker"
        asking.kill()
        asking.wait()
    return finished(place, [*COMMAND, "run", file, "--out", "out"])


def worker(place: Place, dice: random.Random) -> str:
    """A worker of a cluster."""
    return killed_in_cluster(place, dice, 1)


def scheduler(place: Place, dice: random.Random) -> str:
    """The scheduler of a cluster."""
    return killed_in_cluster(place, dice, 0)


SCENES: tuple[Callable[[Place, random.Random], str], ...] = (shell, kernel, programs, sweep, worker, scheduler)


def namespaces() -> tuple[int, int] | None:
    """Network namespaces that the kernel holds, and by how much that may be off; nothing where it does not tell."""
    with suppress(OSError):
        for line in Path("/proc/slabinfo").read_text("utf-8").splitlines():
            name, active, _, _, in_a_slab, *_ = [*line.split(), *[""] * 5]
            if name == "net_namespace":
                return int(active), int(in_a_slab) * (os.cpu_count() or 1)
    return None


def settled(holds: Callable[[], bool]) -> bool:
    """Whether something holds soon."""
    end = time.monotonic() + PATIENCE_S
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def die(scene: Callable[[Place, random.Random], str], number: int, dice: random.Random) -> str:
    """One death; what it has left."""
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder), f"{os.getpid()}-{number}")
        problem = scene(place, dice)
        if not settled(lambda: not place.processes()):
            return f"processes are left: {list(place.processes().values())}"
        return problem or (f"files are left: {place.temporary()}" if place.temporary() else "")


def main() -> int:
    """Kills, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    parser.add_argument("--count", type=int, default=100, help="how many deaths (100)")
    parser.add_argument("--minutes", type=float, default=1e9, help="when to stop in any case")
    arguments = parser.parse_args()
    # Whoever ends this ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    end = time.monotonic() + 60 * arguments.minutes
    before = namespaces()
    died: Counter[str] = Counter()
    problems: list[str] = []
    for number in range(arguments.count):
        if time.monotonic() > end:
            break
        scene = SCENES[number % len(SCENES)]
        died[scene.__name__] += 1
        if problem := die(scene, number, random.Random(f"{arguments.seed}/{number}")):
            problems.append(f"{scene.__name__} {number}: {problem}")
            print(problems[-1], flush=True)
    if before is not None:
        # What is free in the slab that a core is using counts as active.
        now = namespaces()
        if not settled(lambda: (namespaces() or before)[0] <= before[0] + before[1]):
            problems.append(f"network namespaces are left: {before[0]} before, {now and now[0]} now")
            print(problems[-1])
    print(", ".join(f"{name} {count}" for name, count in died.items()) + f": {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
