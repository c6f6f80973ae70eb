"""Any programs on both sides of the network of an experiment, as with Mahimahi's shells.

A program on one side finds the other side's address in ``$DUMBBELL_PEER``. The file describes the whole path, so
nothing is nested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell import _core, memory, storage
from dumbbell.parallel import PATIENCE_S
from dumbbell.tables import Table

PACKETS = "packets.parquet"
LOGS = {"up": "up.log", "down": "down.log"}
LOG = storage.Kind("packet log", (PACKETS, *LOGS.values()), lambda folder: None)


@dataclass(frozen=True)
class Left:
    """What programs have left."""

    status: int
    """Exit status of the command."""
    links: Table
    """One row a link."""
    carried_bytes: tuple[int, int]
    """IP bytes over the described direction, and over the way back."""
    shapes_way_back: bool
    """Whether a link on the way back has a rate."""
    packets: Table | None
    """One row an event of a packet, if a log was wanted."""
    late_p999_us: float
    """Microseconds by which 99.9 % of packets were late at most."""


def words(command: Sequence[str]) -> list[str]:
    """The words of a command; a single text is a line for the shell."""
    return ["sh", "-c", *command] if len(command) == 1 else list(command)


def run(
    point: _core.Point,
    command: Sequence[str],
    *,
    peer: Sequence[str] | None = None,
    peer_sends: bool = False,
    sysctls: Sequence[tuple[str, str]] = (),
    log: bool = False,
    max_memory: int | None = None,
) -> Left:
    """Runs programs until ``command`` ends, in ``max_memory`` bytes; by default half of the machine's.

    What ``command`` sends goes over the described direction; if ``peer_sends``, what ``peer`` sends does.
    """
    cancel = _core.CancelToken()
    limit = memory.limit_of_a_run(max_memory, 1)
    other = None if peer is None else words(peer)
    with ThreadPoolExecutor(1, thread_name_prefix="shell") as executor:
        running = executor.submit(point.shell, cancel, words(command), other, peer_sends, limit, list(sysctls), log)
        try:
            while not running.done():
                with suppress(TimeoutError):
                    running.exception(PATIENCE_S)
        finally:
            cancel.cancel()
    output = running.result()
    packets = None if output.packets is None else Table(output.packets)
    return Left(
        output.status,
        Table(output.links),
        output.carried_bytes,
        output.shapes_way_back,
        packets,
        output.late_p999_us,
    )


def write_log(packets: Table, folder: Path) -> list[Path]:
    """Writes the log of packets as Parquet, and for each direction in the format of Mahimahi's logs; all or none."""
    with storage.directory(folder, LOG) as staging:
        packets.write_parquet(staging / PACKETS)
        for direction, name in LOGS.items():
            with (staging / name).open("w", encoding="utf-8") as file:
                file.writelines(_mahimahi(packets, direction))
    return [folder / name for name in LOG.files]


def _mahimahi(packets: Table, direction: str) -> Iterator[str]:
    """Lines of a log: ``ms + bytes``, ``ms - bytes delay``, ``ms d packets bytes``."""
    import polars as pl

    frame = packets.to_polars().filter(pl.col("direction") == direction)
    for at, event, size, delay in frame.select("t_s", "event", "bytes", "delay_ms").iter_rows():
        ms = int(at * 1e3)
        if event == "arrival":
            yield f"{ms} + {size}\n"
        elif event == "departure":
            yield f"{ms} - {size} {round(delay)}\n"
        else:
            yield f"{ms} d 1 {size}\n"
