"""Cases that we record ourselves on the running kernel, over the simulator's own links (``dumbbell run --on linux``).

Each is an experiment. Where the kernel is set by a sysctl, ``kernel`` holds it and ``simulator`` what says the same to
the simulator. What is known of a difference from a live kernel stands in ``causes``, by the measure that is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

#: Buffers as a kernel has them that nobody has tuned, and with room for everything from the first byte on.
UNTUNED_WMEM = "4096 16384 4194304"
UNTUNED_RMEM = "4096 131072 33554432"
#: What the kernel's ground sets where a scenario says nothing of the buffers.
UNLIMITED_WMEM = "4096 87380 134217728"
UNLIMITED_RMEM = "4096 131072 134217728"
AMPLE_WMEM = "4096 8388608 134217728"
AMPLE_RMEM = "4096 8388608 134217728"

#: A live ground hands over the packets of a bundle one after the other, 2 to 4 us each, the simulator at one instant.
READER = {"srtt_ms": "the ground hands packets over one by one"}

#: Repairs come once a round trip, and the receive window decides how much new data goes with them. Runs have one of few
#: outcomes, which both grounds have; which of them hangs on some microseconds.
WINDOW = {"goodput_mbps": "knife edge: one of few outcomes"}

#: One packet decides which of two outcomes a run has.
EDGE = dict.fromkeys(("goodput_mbps", "srtt_ms", "retransmits", "acks"), "knife edge: one packet decides")


@dataclass(frozen=True)
class Case:
    """An experiment, and how each ground is told of it."""

    scenario: Mapping[str, Any]
    kernel: Mapping[str, str] = field(default_factory=dict)
    simulator: Mapping[str, Any] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    runs: int = 3
    """How often it is recorded; the median counts, because a certificate does not see every disturbance."""
    scatters: bool = False
    """Single runs differ so much that means of many are compared, four of the simulator's for one of the kernel's."""
    together: bool = False
    """There are many flows, which are compared as one: by their sums, and the mean of their round-trip times."""


def _case(
    cc: str | list[str],
    *,
    rate: str = "10mbit",
    rtt: str = "100ms",
    buffer: str = "1bdp",
    duration: str = "25s",
    warmup: str = "5s",
    transport: Mapping[str, Any] | None = None,
    flow: Mapping[str, Any] | None = None,
    path: Mapping[str, Any] | None = None,
    kernel: Mapping[str, str] | None = None,
    simulator: Mapping[str, Any] | None = None,
    causes: Mapping[str, str] | None = None,
) -> Case:
    names = [cc] if isinstance(cc, str) else cc
    own = {"transport": dict(transport)} if transport else {}
    shape = {"rate": rate, "rtt": rtt, "buffer": buffer} | dict(path or {})
    scenario = {
        "duration": duration,
        "warmup": warmup,
        "record": {"interval": "20ms"},
        "path": {key: value for key, value in shape.items() if value is not None},
        # The real host never starts two runs at the same phase of its clock.
        "flows": [{"cc": name, "start_jitter": "10ms"} | own | dict(flow or {}) for name in names],
    }
    return Case(scenario, kernel or {}, simulator or {}, causes or {})


def _start_up(buffer: str, wmem: str, rmem: str, causes: Mapping[str, str] | None = None) -> Case:
    """The first seconds of Reno on a fast path, with the hosts' buffers as they are or ample from the first byte on.

    At the end of the third round of slow start the queue holds 41 packets. Where it overflows then, by a single packet,
    the loss is heard of a round earlier than otherwise, at a window of 158 instead of 240, and 40 packets are lost in
    place of 120. A queue of half a BDP holds exactly 41.
    """
    buffers = {"net.ipv4.tcp_wmem": wmem, "net.ipv4.tcp_rmem": rmem}
    case = _case("reno", rate="50mbit", rtt="20ms", buffer=buffer, duration="2s", warmup="0s", kernel=buffers)
    return replace(case, runs=9, causes=causes or {})


def _crowd(cc: str, rtt: str) -> Case:
    """A hundred flows whose first windows overflow the buffer: most lose theirs, and start with a probe or a timeout.

    They start within half a millisecond, which is as fast as a kernel starts them.
    """
    crowd = {"count": 100, "start_jitter": "500us"}
    case = _case(cc, rate="100mbit", rtt=rtt, duration="4s", warmup="0s", flow=crowd)
    return replace(case, runs=5, scatters=True, together=True)


def _slow_back(rate: str) -> dict[str, Any]:
    """A way back at a rate that ACKs fill: an eightieth to a thirtieth of the way there."""
    return {"buffer": "2bdp", "reverse": {"rate": rate, "buffer": "100packets"}}


#: Ten packets at once every ten milliseconds: 12 Mbit/s whose packets arrive back to back.
BUNDLES = {"rate": None, "trace": [10] * 10, "buffer": "100packets"}

#: Marks what finds ten packets waiting, itself included.
THRESHOLD = {"kind": "threshold", "threshold": "10packets"}


CASES: dict[str, Case] = {
    # Beside the recordings that others made.
    "reno": _case("reno"),
    "cubic": _case("cubic"),
    "bbr": _case("bbr"),
    # Jitter that reorders: originals that are delayed behind a retransmission carry an older timestamp (PAWS).
    "jitter-2ms-cubic": _case("cubic", buffer="4bdp", path={"jitter": {"amount": "2ms", "reorders": True}}),
    # A run has two or three sawteeth, each of which jitter may begin early.
    "jitter-5ms-cubic": replace(
        _case("cubic", buffer="4bdp", path={"jitter": {"amount": "5ms", "reorders": True}}), runs=25, scatters=True
    ),
    "jitter-2ms-bbr": _case("bbr", path={"jitter": {"amount": "2ms", "reorders": True}}),
    "jitter-5ms-bbr": _case("bbr", path={"jitter": {"amount": "5ms", "reorders": True}}),
    # An application that writes a segment at a time: pushes and delayed ACKs.
    "paced-2mbit": _case("cubic", rtt="40ms", flow={"rate": "2mbit"}),
    "paced-500kbit": _case("cubic", rtt="40ms", flow={"rate": "500kbit"}),
    # Counters of marks take twelve bytes of each segment, and of what the application writes.
    "paced-accurate-ecn": _case("cubic", rtt="80ms", flow={"rate": "7.27mbit"}, transport={"ecn": "accurate"}),
    # The buffer that holds a window is larger by what segments occupy.
    "window-100kb-cubic": _case(
        "cubic",
        rate="50mbit",
        duration="10s",
        transport={"receive_window": "100kB"},
        simulator={"flows[*].transport.window_scale": 2},
    ),
    # Jumbo frames: seven fill the first window, and the first round of right-sizing is compared with that.
    "jumbo-cubic": _case(
        "cubic", rate="50mbit", rtt="10ms", buffer="2bdp", duration="10s", warmup="2s", transport={"mss": 8948}
    ),
    # A send buffer below the window: what leaves at once and what burst by burst decides how much is written.
    "fixed-buffer-reno": _case(
        "reno",
        rate="20mbit",
        rtt="80ms",
        buffer="0.5bdp",
        duration="12s",
        warmup="2s",
        transport={"send_buffer": "32kB"},
    ),
    "fixed-buffer-vegas": _case(
        "vegas", rate="20mbit", rtt="120ms", duration="12s", warmup="2s", transport={"send_buffer": "64kB"}
    ),
    # Each packet that waits for another one is marked, and Westwood's window of a few packets is what it took the path
    # to hold: the round-trip time of the ACK at hand counts.
    "marked-westwood": _case(
        "westwood",
        rate="2mbit",
        rtt="300ms",
        duration="20s",
        warmup="0s",
        transport={"ecn": True},
        path={"queue": {"kind": "threshold", "threshold": "5ms"}},
    ),
    # DCTCP's retransmissions and ACKs are ECN-capable: repairs end an echo, and a switch on the way back which drops
    # what it cannot mark drops no ACK.
    "repairs-dctcp": _case(
        "dctcp",
        rate="2mbit",
        rtt="250.3ms",
        duration="12s",
        warmup="0s",
        path={"queue": {"kind": "threshold", "threshold": "20packets"}},
    ),
    "marks-back-dctcp": _case(
        "dctcp",
        rate="12mbit",
        rtt="63.3ms",
        buffer="2bdp",
        duration="12s",
        warmup="0s",
        path={
            "queue": {"kind": "threshold", "threshold": "20packets"},
            "reverse": {
                "rate": "250kbit",
                "buffer": "400packets",
                "queue": {"kind": "threshold", "threshold": "3packets", "drop_not_ect": True},
            },
        },
    ),
    # Start-up, below, at and above the buffer at which one packet decides.
    "start-0.45bdp": _start_up("0.45bdp", UNTUNED_WMEM, UNTUNED_RMEM),
    "start-0.45bdp-ample": _start_up("0.45bdp", AMPLE_WMEM, AMPLE_RMEM),
    "start-0.5bdp": _start_up("0.5bdp", UNTUNED_WMEM, UNTUNED_RMEM, EDGE),
    "start-0.5bdp-wmem": _start_up("0.5bdp", AMPLE_WMEM, UNTUNED_RMEM, EDGE),
    "start-0.5bdp-rmem": _start_up("0.5bdp", UNTUNED_WMEM, AMPLE_RMEM, EDGE),
    "start-0.55bdp": _start_up("0.55bdp", UNTUNED_WMEM, UNTUNED_RMEM),
    "start-0.55bdp-ample": _start_up("0.55bdp", AMPLE_WMEM, AMPLE_RMEM),
    # Without selective acknowledgements, without timestamps.
    "no-sack-reno": _case("reno", transport={"sack": False}, causes=WINDOW),
    "no-sack-cubic": _case("cubic", transport={"sack": False}),
    # A duplicate tells a controller of no packet, and H-TCP remembers it: one more ACK until the window grows.
    "no-sack-htcp": _case("htcp", rate="1mbit", rtt="15.32ms", duration="11s", warmup="0s", transport={"sack": False}),
    "no-timestamps-cubic": _case("cubic", transport={"timestamps": False}),
    # Back-offs drawn at random: single runs lie anywhere between 14.8 and 17.3 Mbit/s.
    "cdg-20mbit": replace(
        _case("cdg", rate="20mbit", rtt="100ms", buffer="4bdp", duration="60s", warmup="10s"), runs=25, scatters=True
    ),
    # Many flows at once.
    "crowd-cubic": _crowd("cubic", "100ms"),
    "crowd-bbr": _crowd("bbr", "40ms"),
    # ACKs wait in a queue of their own, and what they release echoes how long.
    "slow-back-reno": _case("reno", rate="6mbit", rtt="30ms", path=_slow_back("150kbit")),
    "slow-back-cubic": _case("cubic", rate="12mbit", rtt="60ms", path=_slow_back("130kbit")),
    "slow-back-bbr": _case("bbr", rate="3mbit", rtt="60ms", path=_slow_back("90kbit")),
    # An ACK clock makes packets and ACKs come when others leave and timers fire.
    "long-bbr": _case(
        "bbr", rtt="200ms", buffer="0.5bdp", causes={"retransmits": "knife edge: a timer and an ACK at one instant"}
    ),
    "odd-rate-cubic": _case("cubic", rate="5.38mbit", rtt="68.7ms", buffer="0.65bdp"),
    "odd-rate-reno": _case("reno", rate="7.23mbit", rtt="14ms", buffer="0.84bdp"),
    # Queues that decide by the backlog: marks above a threshold, and PIE, which spares a queue of two packets.
    "threshold-vegas": _case(
        "vegas", rate="23.2mbit", rtt="37.3ms", buffer="2bdp", transport={"ecn": True}, path={"queue": THRESHOLD}
    ),
    "pie-bic": replace(
        _case("bic", rate="17.2mbit", rtt="66.5ms", buffer="4bdp", duration="8s", warmup="0s", path={"queue": "pie"}),
        runs=25,
        scatters=True,
    ),
    # Packets that arrive back to back: the reader is not done with one when the next is there.
    "bundles-cubic": replace(_case("cubic", path=BUNDLES), runs=9),
    "bundles-bbr": replace(_case("bbr", path=BUNDLES, causes=READER), runs=9),
}
