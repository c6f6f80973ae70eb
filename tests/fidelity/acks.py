"""Finds the first ACK after which a sender in the simulator differs from that of a kernel in virtual time.

    python tests/fidelity/acks.py 1..30 [--acks 500] [--fault NAME] [--jobs N] [--out DIR]
    python tests/fidelity/acks.py FILE.toml

Seeds are start-ups of the experiments that ``differ.py`` draws, with their first flow alone; a file has one flow, too.
Both grounds are sampled several times for each packet that the link can carry, and a state counts from one ACK to the
next. Equal are what was delivered, cwnd, ssthresh, the retransmissions and the state of congestion avoidance, and
nearly so what is in flight, as a sample may lie between two packets of a burst. The kernel's clocks have ticks, and
nobody knows where its first packet lies between two of them: the simulator begins at several such places, and the one
that agrees longest is judged. So it is with the random numbers of BBR, if nothing else draws any. Where both part,
their histories around that ACK are printed.

``--fault`` makes a mistake of ``differ.FAULTS`` in the simulator. A seed shows it if fewer ACKs are equal than without.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from differ import FAULTS, Experiment, Kernel, digest, drawn, faulty, kernel, options, seeds
from own import with_hz

import dumbbell
from dumbbell import _core, storage
from dumbbell.grounds import receivers_of

SAMPLES = 4
"""For each full packet that the link can carry."""
BURST = 3
"""Packets in flight that a sample may lie between."""
MISSING = 3
"""ACKs that one ground may have alone, as the other's samples saw two as one."""
PLACES_US: Final = sorted(range(0, 4_000, 50), key=lambda place: (place % 250 != 0, place))
"""Where the simulator begins in a tick of the kernel's coarse clock (4 ms): the first ones are far from each other."""
SEEDS: Final = range(2, 22)
"""Whose random numbers are tried for an algorithm that draws some."""
SHOWN = (4, 3)
"""ACKs of each history that are printed, before both part and after."""


class State(NamedTuple):
    """A sender after an ACK, until the next."""

    t_s: float
    acked: float
    sacked: float
    cwnd: float
    ssthresh: float | None
    inflight: float
    retransmits: float
    ca_state: str
    srtt_ms: float | None
    pacing_mbps: float | None

    @property
    def place(self) -> tuple[float, float]:
        """What the receiver has told."""
        return self.acked, self.sacked

    def equals(self, other: State) -> bool:
        """Whether both senders decided alike."""
        decided = (self.cwnd, self.ssthresh, self.retransmits, self.ca_state)
        others = (other.cwnd, other.ssthresh, other.retransmits, other.ca_state)
        return decided == others and abs(self.inflight - other.inflight) <= BURST


COLUMNS: Final = (
    "t_s", "acked_total", "sacked", "cwnd", "ssthresh", "inflight", "retransmits_total", "ca_state", "srtt_ms",
    "pacing_mbps",
)  # fmt: skip
"""Those of a series that make a state."""


@dataclass(frozen=True)
class Verdict:
    """How far two histories agree."""

    equal: int
    """ACKs."""
    last: tuple[float, float] | None = None
    """What the receiver had told with the last of them, if they part after it."""
    parts: bool = False


def startup(seed: int, acks: int) -> Experiment:
    """The beginning of the first flow of what a seed draws: about so many ACKs."""
    one = copy.deepcopy(drawn(seed))
    one["flows"] = one["flows"][:1]
    one["flows"][0].pop("start_jitter")
    packet_s = 0.012 / link_mbps(one)
    rtt_s = _core.seconds(one["path"]["rtt"])
    return sampled({**one, "duration": f"{min(max(2 * acks * packet_s + 8 * rtt_s, 1.0), 8.0):.2f}s"})


def of_file(path: Path) -> Experiment:
    """The experiment of a file, which begins at 0."""
    one: Experiment = json.loads(_core.toml_as_json(path.read_text("utf-8")))
    if len(one.get("flows", [])) != 1:
        sys.exit(f"{path}: one flow is compared, and it has {len(one.get('flows', []))}")
    one["flows"][0].pop("start_jitter", None)
    return sampled(one)


def sampled(one: Experiment) -> Experiment:
    """The experiment with a sample several times a packet."""
    interval_us = min(max(round(12_000 / link_mbps(one) / SAMPLES), 20), 500)
    return {**one, "warmup": "0s", "record": {"interval": f"{interval_us}us"}}


def link_mbps(one: Experiment) -> float:
    """The rate of the path, or the first one."""
    rate = one.get("path", {}).get("rate")
    first = rate[0][1] if isinstance(rate, list) else rate
    found = _core.quantity(first) if isinstance(first, str) else None
    if found is None or found[1] != "Mbit/s":
        sys.exit(f"path.rate is {rate!r}, and samples are spaced by a rate, or by the first one of its steps")
    return found[0]


def history(run: dumbbell.Result, acks: int) -> list[State]:
    """Each state of the sender as it was when the next ACK came."""
    found: dict[tuple[float, float], State] = {}
    for row in run.series.to_polars().select(COLUMNS).iter_rows():
        state = State(*row)
        found[state.place] = state
        if len(found) > acks:
            break
    return list(found.values())


def inside(jobs: Path) -> None:
    """Runs experiments on this kernel; a file for each history."""
    for one, acks, place in json.loads(jobs.read_text("utf-8")):
        try:
            run = dumbbell.run(with_hz(one, None), on=dumbbell.Linux(retries=2))
            found: dict[str, Any] = {"states": history(run, acks), "void": ""}
        except dumbbell.VoidRunError as error:
            found = {"states": [], "void": str(error)}
        storage.write_file(Path(place), json.dumps(found).encode())


def of_kernel(one: Experiment, acks: int, kernel: Kernel) -> list[State]:
    """The history on the kernel, empty where it could not carry the experiment."""
    place = (kernel.kept / f"acks-{digest([one, acks])}.json").resolve()
    kernel.ask(Path(__file__), {place: (one, acks)})
    return [State(*row) for row in json.loads(place.read_text("utf-8"))["states"]]


def simulated(one: Experiment, acks: int, kernel: Kernel, place_us: int, seed: int = 1) -> list[State]:
    """The history in the simulator, with the kernel's clock and buffers, beginning so far within a tick."""
    shifted = copy.deepcopy(one)
    shifted["flows"][0]["start"] = f"{place_us}us"
    run = dumbbell.run(with_hz(shifted, kernel.hz, receivers=receivers_of(kernel.release)), seed=seed)
    return history(run, acks)


def draws_alone(one: Experiment) -> bool:
    """Whether the algorithm draws random numbers, as BBR does for the phase of its cycle, and nothing else does."""
    path = one["path"]
    of_path = {"loss", "jitter", "reverse"} & path.keys() or path.get("queue") == "pie"
    return algorithm(one).startswith("bbr") and not of_path


def algorithm(one: Experiment) -> str:
    """That of its flow."""
    cc = one["flows"][0]["cc"]
    return cc if isinstance(cc, str) else cc["name"]


def compared(ours: Sequence[State], theirs: Sequence[State]) -> Verdict:
    """How many ACKs of both agree, from the first one on."""
    of_ours = {state.place: state for state in ours}
    equal = alone = 0
    last = None
    for state in theirs:
        mine = of_ours.get(state.place)
        alone = 0 if mine else alone + 1
        if alone > MISSING or (mine is not None and not mine.equals(state)):
            return Verdict(equal, last, parts=True)
        if mine is not None:
            equal, last = equal + 1, state.place
    return Verdict(equal)


def judged(
    one: Experiment, acks: int, kernel: Kernel, theirs: Sequence[State], fault: str | None = None
) -> tuple[Verdict, list[State]]:
    """The verdict where the simulator agrees longest, and its history there."""
    one = faulty(one, fault)
    verdict, ours, longest_us = Verdict(-1), list[State](), 0
    places = ((place_us, 1) for place_us in PLACES_US)
    # Random numbers are tried at the best of all places, which is known by then.
    numbers = ((longest_us, seed) for seed in SEEDS if draws_alone(one))
    for place_us, seed in chain(places, numbers):
        states = simulated(one, acks, kernel, place_us, seed)
        found = compared(states, theirs)
        if found.equal > verdict.equal:
            verdict, ours, longest_us = found, states, place_us
        if not found.parts:
            break
    return verdict, ours


def around(states: Sequence[State], last: tuple[float, float] | None) -> list[State]:
    """The states of a history around the last one in which it agrees with the other."""
    after = next((index + 1 for index, state in enumerate(states) if state.place == last), 0)
    return list(states[max(after - SHOWN[0], 0) : after + SHOWN[1]])


def table(whose: Mapping[str, Sequence[State]]) -> Iterator[str]:
    """Histories as lines."""
    names = ("t_s", "acked", "sacked", "cwnd", "ssthresh", "inflight", "retransmits", "ca_state", "srtt_ms", "Mbit/s")
    yield "  " + " ".join(f"{name:>11}" for name in ("", *names))
    for name, states in whose.items():
        for state in states:
            cells = ("" if cell is None else f"{cell:g}" if isinstance(cell, float) else cell for cell in state)
            yield "  " + " ".join(f"{cell:>11}" for cell in (name, *cells))


def main() -> int:
    """Compares, prints a line for each experiment, histories where they part, and a summary."""
    parser = options(__doc__)
    parser.add_argument("what", nargs="?", default="1..30", help="seeds such as 1..30, or a file")
    parser.add_argument("--acks", type=int, default=500, help="how many are compared (500)")
    args = parser.parse_args()
    if args.inside is not None:
        inside(args.inside)
        return 0
    file = Path(args.what)
    experiments = (
        {args.what: of_file(file)}
        if file.suffix == ".toml"
        else {f"seed {seed}": startup(seed, args.acks) for seed in seeds(args.what)}
    )
    built = kernel(args.out, args.hz)
    print(f"beside Linux {built.release}", flush=True)
    found = 0

    def of(one: Experiment) -> tuple[list[State], Verdict, list[State]]:
        theirs = of_kernel(one, args.acks, built)
        return theirs, *judged(one, args.acks, built, theirs)

    with ThreadPoolExecutor(args.jobs) as pool:
        for (name, one), of_one in zip(experiments.items(), pool.map(of, experiments.values()), strict=True):
            theirs, verdict, ours = of_one
            cc = algorithm(one)
            if args.fault is not None:
                wrong, _ = judged(one, args.acks, built, theirs, args.fault)
                is_seen = wrong.equal < verdict.equal
                found += is_seen
                shown = f"{wrong.equal} ACKs equal, {verdict.equal} without it" if is_seen else "not seen"
                print(f"{name}: {cc}, {shown}", flush=True)
                continue
            part = "void" if not theirs else f"{verdict.equal} ACKs equal" + (", then" if verdict.parts else "")
            print(f"{name}: {cc}, {part}", flush=True)
            if verdict.parts:
                found += 1
                whose = {"kernel": around(theirs, verdict.last), "simulator": around(ours, verdict.last)}
                print("\n".join(table(whose)), flush=True)
    told = "part" if args.fault is None else f"see that {FAULTS[args.fault][0]}"
    print(f"{len(experiments)} experiments: {found} {told}")
    return 1 if found and args.fault is None else 0


if __name__ == "__main__":
    sys.exit(main())
