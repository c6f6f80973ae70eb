"""Two hosts and a router between them, in namespaces of the running kernel: its queues are what is measured."""

from __future__ import annotations

import ctypes
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

CLONE_NEWNET = 0x40000000
TCP_INFO_BYTES, BYTES_ACKED, SEGMENTS_OUT = 248, 120, 136
"""``struct tcp_info``, and where ``tcpi_bytes_acked`` and ``tcpi_segs_out`` lie in it."""
HOSTS = {"sender": 1, "receiver": 2}
"""The hosts, and the networks that they are in: the first address of the receiver is 10.0.2.1."""
ROUTER_ADDRESS = 254
DEVICE = {"gso_max_bytes": "1448B"}
"""``transport`` of a sender in the simulator whose device takes packets one by one, as those of ``build`` do."""


def build(tc: str, queues: Mapping[str, Sequence[str]], delays_ms: Mapping[str, float], addresses: int = 1) -> None:
    """Sender, router and receiver; ``queues`` of the router, by the host that they lead to. Hosts delay what they send.

    A queue is what stands behind ``tc qdisc add dev DEVICE``. Hosts have so many addresses.
    """
    for name in (*HOSTS, "router"):
        ip(f"netns add {name}")
        ip(f"-n {name} link set lo up")
    for host, network in HOSTS.items():
        ip(f"link add to_{host} netns router type veth peer name eth netns {host}")
        for last in range(1, addresses + 1):
            ip(f"-n {host} addr add 10.0.{network}.{last}/24 dev eth")
        ip(f"-n router addr add 10.0.{network}.{ROUTER_ADDRESS}/24 dev to_{host}")
        for where, device in ((host, "eth"), ("router", f"to_{host}")):
            # No buffers larger than a packet: not from the device, and not for it.
            ip(f"-n {where} link set {device} gso_max_segs 1 txqueuelen 10000 up")
        ip(f"-n {host} route add default via 10.0.{network}.{ROUTER_ADDRESS}")
        inside(host, "sysctl -q net.ipv4.tcp_no_metrics_save=1")
        inside(host, "sysctl -q net.ipv4.tcp_wmem='4096 87380 134217728' net.ipv4.tcp_rmem='4096 131072 134217728'")
    inside("router", "sysctl -q net.ipv4.ip_forward=1")
    for host, kinds in queues.items():
        for kind in kinds:
            inside("router", f"{tc} qdisc add dev to_{host} {kind}")
    for host, delay_ms in delays_ms.items():
        inside(host, f"{tc} qdisc add dev eth root netem delay {delay_ms}ms limit 100000")


def address(host: str, number: int = 0) -> str:
    """The address of that number of a host."""
    return f"10.0.{HOSTS[host]}.{number + 1}"


def ip(arguments: str) -> None:
    """Runs ``ip``."""
    subprocess.run(["ip", *arguments.split()], check=True)


def inside(host: str, command: str) -> str:
    """Runs a command in a namespace; returns what it prints."""
    whole = ["ip", "netns", "exec", host, "sh", "-c", command]
    return subprocess.run(whole, check=True, stdout=subprocess.PIPE, text=True).stdout


def enter(host: str) -> None:
    """Takes this process into a namespace."""
    with Path(f"/run/netns/{host}").open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {host}")


def leave() -> None:
    """Back to the first namespace; the others are removed."""
    with Path("/proc/1/ns/net").open() as namespace:
        ctypes.CDLL(None).setns(namespace.fileno(), CLONE_NEWNET)
    for name in (*HOSTS, "router"):
        ip(f"netns del {name}")


def tcp_socket(algorithm: str) -> socket.socket:
    """A socket with this congestion control."""
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    return one


def bytes_acked(one: socket.socket) -> int:
    """What a connection has had acknowledged."""
    return int(struct.unpack_from("Q", _tcp_info(one), BYTES_ACKED)[0])


def segments_out(one: socket.socket) -> int:
    """Segments that one end has sent, ACKs included."""
    return int(struct.unpack_from("I", _tcp_info(one), SEGMENTS_OUT)[0])


def _tcp_info(one: socket.socket) -> bytes:
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
