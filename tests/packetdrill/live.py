"""Runs a packet script on the live kernel and reports what it sent.

The script comes as JSON on standard input, the report leaves as JSON; `src/live.rs` is at the other end of both. It
needs root, /dev/net/tun and a network namespace of its own: `unshare --net python3 live.py`. Packets enter and leave
the kernel through a TUN device that offers segmentation offload, so that buffers arrive as the kernel hands them down.
"""

import errno
import fcntl
import gc
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCAL, REMOTE = "192.168.0.1", "192.0.2.1"
PORT, REMOTE_PORT = 8080, 54321
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08  # checksums, TSO over IPv4 and IPv6, with ECN
SIOCINQ, SIOCOUTQ = 0x541B, 0x5411
VIRTIO_HEADER = 10
ACCURATE_ECN_KINDS = (172, 174)
FLAG_BITS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "U": 32, "E": 64, "W": 128, "A": 256}
ECN_BITS = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}
PATIENCE_NS = 150_000_000_000
# A namespace begins with some of the host's values; these are the kernel's defaults, and a send buffer that holds what
# scripts write.
SYSCTLS = {
    "tcp_no_metrics_save": "1",
    "tcp_rmem": "4096 131072 33554432",
    "tcp_wmem": "4096 262144 4194304",
    "tcp_fastopen": "0",
}
TCP_INFO = [
    ("BBBBBB", "state ca_state retransmits probes backoff options"),
    ("BB", "wscale flags"),
    ("IIIIIIII", "rto ato snd_mss rcv_mss unacked sacked lost retrans"),
    ("IIIIIIII", "fackets last_data_sent last_ack_sent last_data_recv last_ack_recv pmtu rcv_ssthresh rtt"),
    ("IIIIIIII", "rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans"),
    ("QQQQ", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
    ("IIIIII", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
    ("QQQQ", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
    ("II", "delivered delivered_ce"),
    ("QQ", "bytes_sent bytes_retrans"),
    ("IIIIII", "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash"),
    ("HHI", "total_rto total_rto_recoveries total_rto_time"),
    (
        "IIIIIIII",
        "received_ce delivered_e1_bytes delivered_e0_bytes delivered_ce_bytes "
        "received_e1_bytes received_e0_bytes received_ce_bytes ecn_fields",
    ),
]
SO_TIMESTAMPING = 37
STAMP_FLAGS = {
    "SOF_TIMESTAMPING_TX_SOFTWARE": 1 << 1,
    "SOF_TIMESTAMPING_SOFTWARE": 1 << 4,
    "SOF_TIMESTAMPING_OPT_ID": 1 << 7,
    "SOF_TIMESTAMPING_TX_SCHED": 1 << 8,
    "SOF_TIMESTAMPING_TX_ACK": 1 << 9,
    "SOF_TIMESTAMPING_OPT_TSONLY": 1 << 11,
}
# Options that Python's module has no names for, and names of their values.
OPTIONS = {
    "SO_TIMESTAMPING": SO_TIMESTAMPING,
    "IP_MTU_DISCOVER": 10,
    "IP_FREEBIND": 15,
    "TCP_INQ": 36,
    "IP_PMTUDISC_DONT": 0,
    "IP_PMTUDISC_WANT": 1,
}
Json = dict[str, Any]


def tcp_info(connection: socket.socket) -> dict[str, int]:
    form = "=" + "".join(part for part, _ in TCP_INFO)
    names = " ".join(part for _, part in TCP_INFO).split()
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
    values = struct.unpack(form, raw[: struct.calcsize(form)].ljust(struct.calcsize(form), b"\0"))
    info = {f"tcpi_{name}": int(value) for name, value in zip(names, values, strict=True)}
    info["tcpi_delivery_rate_app_limited"] = info["tcpi_flags"] & 1
    return info


def number_of(word: str) -> int | None:
    """A constant of the C library."""
    known = getattr(socket, word, None)
    return known if isinstance(known, int) else OPTIONS.get(word)


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Sent:
    """A packet of the kernel, in the script's numbers."""

    at_ns: int
    flags: int
    seq: int
    len: int
    ack: int
    window: int
    ecn: int
    options: Json
    raw_timestamp: int
    # How many connections came before it.
    chapter: int

    def report(self) -> Json:
        flags = "".join(letter for letter, bit in FLAG_BITS.items() if self.flags & bit)
        ecn = next(name for name, bits in ECN_BITS.items() if bits == self.ecn)
        return {
            "chapter": self.chapter, "at_ns": self.at_ns, "flags": flags, "seq": self.seq, "len": self.len,
            "ack": self.ack, "window": self.window, "ecn": ecn, "options": self.options,
        }  # fmt: skip


class Kernel:
    """The kernel behind a TUN device, and one socket of it."""

    def __init__(self, script: Json) -> None:
        self.script = script
        self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
        fcntl.ioctl(self.tun, TUNSETOFFLOAD, OFFLOADS)
        for command in (
            "ip link set lo up",
            f"ip addr add {LOCAL}/16 dev tun0",
            "ip link set tun0 up",
            "ip route add default dev tun0",
        ):
            subprocess.run(command.split(), check=True)
        for name, value in SYSCTLS.items():
            Path(f"/proc/sys/net/ipv4/{name}").write_text(value)
        self.sockets: dict[int, socket.socket] = {}
        self.connection: socket.socket | None = None
        self.sent: list[Sent] = []
        self.taken = 0
        self.local_isn: int | None = None
        self.local_port = PORT
        self.remote_isn = 0x3000_0000
        self.stamps: dict[int, int] = {}
        self.remote_port = REMOTE_PORT
        self.chapter = -1
        self.script_isn = {">": 0, "<": 0}
        self.infos: dict[int, dict[str, int]] = {}
        self.queued: dict[int, int] = {}
        self.stamps_read: dict[int, dict[str, int]] = {}
        self.start_real_ns = 0
        self.problem: str | None = None
        # What the script asks for and the kernel does not have.
        self.lacks: str | None = None
        self.start_ns = 0
        # Set on sockets, which root may do also where the administrator does not allow it as a default.
        self.congestion_control = "cubic"

    # Time of the script.

    def now(self) -> int:
        return time.monotonic_ns() - self.start_ns

    def wait_until(self, at_ns: int, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Reads what the kernel sends until then, or until it is enough."""
        while not is_enough():
            left = at_ns - self.now()
            ready, _, _ = select.select([self.tun], [], [], max(0.0, (left - 100_000) / 1e9))
            if ready:
                self.read_packet()
            elif left <= 0:
                return

    # Packets.

    def read_packet(self) -> None:
        at_ns = self.now()
        try:
            packet = os.read(self.tun, 100_000)[VIRTIO_HEADER:]
        except BlockingIOError:
            return
        if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return
        header = (packet[0] & 15) * 4
        ports, seq, ack, bits, window = struct.unpack("!IIIHH", packet[header : header + 16])
        if ports & 0xFFFF not in (PORT, self.remote_port):
            return  # of a connection before
        length, flags = (bits >> 12) * 4, bits & 0x1FF
        if flags & FLAG_BITS["S"] and self.local_isn is None:
            self.local_isn = seq
            self.local_port = ports >> 16
        data = len(packet) - header - length
        options, stamp = self.parse_options(packet[header + 20 : header + length])
        self.sent.append(
            Sent(
                at_ns,
                flags,
                self.to_script(seq),
                data,
                self.remote_to_script(ack),
                window,
                packet[1] & 3,
                options,
                stamp,
                self.chapter,
            )
        )

    def to_script(self, seq: int) -> int:
        return (seq - (self.local_isn or 0) + int(self.script_isn[">"])) & 0xFFFFFFFF

    def remote_to_script(self, seq: int) -> int:
        return (seq - self.remote_isn + int(self.script_isn["<"])) & 0xFFFFFFFF

    def parse_options(self, raw: bytes) -> tuple[Json, int]:
        options: Json = {"mss": None, "wscale": None, "sack_ok": False, "timestamp": None, "sack": [], "ecn": None}
        stamp = 0
        while raw and raw[0] != 0:
            if raw[0] == 1:
                raw = raw[1:]
                continue
            kind, length = raw[0], raw[1]
            body = raw[2:length]
            if kind == 2:
                options["mss"] = int.from_bytes(body, "big")
            elif kind == 3:
                options["wscale"] = body[0]
            elif kind == 4:
                options["sack_ok"] = True
            elif kind == 5:
                numbers = struct.unpack(f"!{len(body) // 4}I", body)
                shifted = [self.remote_to_script(number) for number in numbers]
                options["sack"] = [list(pair) for pair in zip(shifted[::2], shifted[1::2], strict=True)]
            elif kind == 8:
                stamp, echo = struct.unpack("!II", body)
                options["timestamp"] = [0, echo]
            elif kind in ACCURATE_ECN_KINDS:
                counters = [int.from_bytes(body[at : at + 3], "big") for at in range(0, len(body), 3)]
                options["ecn"] = {"kind": kind, "counters": counters}
            raw = raw[length:]
        return options, stamp

    def inject(self, packet: Json) -> None:
        options = packet["options"] or {}
        raw = b""
        if options.get("mss") is not None:
            raw += struct.pack("!BBH", 2, 4, options["mss"])
        if options.get("sack_ok"):
            raw += bytes([4, 2])
        if options.get("timestamp"):
            value, echo = options["timestamp"]
            raw += struct.pack("!BBII", 8, 10, value, self.live_stamp(echo))
        if options.get("wscale") is not None:
            raw += struct.pack("!BBB", 3, 3, options["wscale"])
        if options.get("sack"):
            edges = [self.to_live(edge) for block in options["sack"] for edge in block]
            raw += struct.pack(f"!BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
        if counters := options.get("ecn"):
            values = b"".join(value.to_bytes(3, "big") for value in counters["counters"])
            raw += bytes([counters["kind"], 2 + len(values)]) + values
        raw += b"\1" * (-len(raw) % 4)
        flags = sum(FLAG_BITS[letter] for letter in packet["flags"] if letter != "-")
        seq = (packet["seq"] - self.script_isn["<"] + self.remote_isn) & 0xFFFFFFFF
        ack = self.to_live(packet["ack"]) if packet["ack"] is not None else 0
        length = 20 + len(raw)
        window = packet["window"] if packet["window"] is not None else 65535
        ports = (self.remote_port if self.local_port == PORT else PORT, self.local_port)
        tcp = struct.pack("!HHIIHHHH", *ports, seq, ack, length << 10 | flags, window, 0, 0) + raw
        payload = bytes(packet["len"])
        addresses = socket.inet_aton(REMOTE) + socket.inet_aton(LOCAL)
        pseudo = addresses + struct.pack("!HH", socket.IPPROTO_TCP, length + len(payload))
        tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
        ecn = ECN_BITS[packet["ecn"]] if packet["ecn"] else 0
        ip = (
            struct.pack("!BBHHHBBH", 0x45, ecn, 20 + length + len(payload), 0, 0, 64, socket.IPPROTO_TCP, 0) + addresses
        )
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        os.write(self.tun, bytes(VIRTIO_HEADER) + ip + tcp + payload)

    def to_live(self, seq: int) -> int:
        return (seq - int(self.script_isn[">"]) + (self.local_isn or 0)) & 0xFFFFFFFF

    def live_stamp(self, echo: int) -> int:
        if echo in self.stamps:
            return self.stamps[echo]
        below = [value for value in self.stamps if value < echo]
        return self.stamps[max(below)] + echo - max(below) if below else echo

    def expect(self, packet: Json, until_ns: int) -> int | None:
        """Waits until the kernel has sent what the script expects, or until then; when the last of it left."""
        end = (packet["seq"] + packet["len"]) & 0xFFFFFFFF

        def is_there() -> bool:
            while self.taken < len(self.sent):
                sent = self.sent[self.taken]
                reaches = sent.len > 0 and (sent.seq + sent.len - end) & 0xFFFFFFFF < 0x80000000
                if (packet["len"] == 0) != (sent.len == 0):
                    return True
                if packet["options"] and packet["options"]["timestamp"]:
                    self.stamps[packet["options"]["timestamp"][0]] = sent.raw_timestamp
                if packet["len"] and sent.seq + sent.len > end:
                    return True
                self.taken += 1
                if packet["len"] == 0 or reaches:
                    return True
            return False

        self.wait_until(until_ns, is_there)
        return self.sent[self.taken - 1].at_ns if 0 < self.taken <= len(self.sent) else None

    # System calls.

    def call(self, call: Json, is_blocking: bool) -> None:
        if is_blocking:
            threading.Thread(target=self.do_call, args=(call, True), daemon=True).start()
        else:
            self.do_call(call, False)

    def do_call(self, call: Json, is_blocking: bool) -> None:
        name, args = call["name"], call["args"]
        try:
            if name == "socket":
                self.chapter += 1
                if self.chapter > 0:
                    self.begin_again(call["index"])
                new = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                new.setblocking(False)
                new.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion_control.encode())
                self.sockets[call["result"]] = new
                return
            subject = self.sockets.get(args[0]) if args and isinstance(args[0], int) else None
            if subject is None:
                return
            if name == "bind":
                subject.bind((LOCAL, PORT))
            elif name == "listen":
                subject.listen(args[1])
            elif name == "connect":
                self.connection = subject
                self.local_port = 0
                if subject.connect_ex((REMOTE, PORT)) not in (0, errno.EINPROGRESS, errno.EISCONN):
                    self.problem = "connect failed"
            elif name in ("accept", "accept4"):
                if is_blocking:
                    subject.setblocking(True)
                connection, _ = subject.accept()
                connection.setblocking(False)
                self.sockets[call["result"]] = self.connection = connection
            elif name == "setsockopt":
                self.set_option(subject, args)
            elif call["bytes"] is not None:
                subject.setblocking(is_blocking)
                flags = sum(getattr(socket, flag) for flag in call["flags"])
                done = subject.send(bytes(call["bytes"]), flags)
                if call["result"] not in (None, done):
                    self.problem = f"{name} took {done} of {call['bytes']} bytes"
            elif name in ("read", "recv", "recvfrom"):
                if is_blocking:
                    subject.setblocking(True)
                subject.recv(args[2] if isinstance(args[2], int) else 1 << 20)
            elif name == "recvmsg" and "MSG_ERRQUEUE" in call["flags"]:
                self.read_stamp(subject, call["index"])
            elif name == "recvmsg":
                data, _, _, _ = subject.recvmsg(call["message_bytes"], 256)
                if call["result"] not in (None, len(data)):
                    self.problem = f"recvmsg returned {len(data)}"
            elif name == "ioctl":
                raw = fcntl.ioctl(subject, SIOCINQ if args[1] in ("SIOCINQ", "FIONREAD") else SIOCOUTQ, bytes(4))
                self.queued[call["index"]] = int.from_bytes(raw, sys.byteorder)
            elif name == "shutdown":
                subject.shutdown(getattr(socket, args[1]))
            elif name == "close":
                subject.close()
        except OSError as error:
            if call["result"] is None or call["result"] >= 0:
                self.problem = f"{name}: {error}"

    def read_stamp(self, subject: socket.socket, index: int) -> None:
        """A time stamp of what was written."""
        _, control, _, _ = subject.recvmsg(0, 512, socket.MSG_ERRQUEUE)
        stamp = {}
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
                seconds, nanos = struct.unpack("@ll", data[: struct.calcsize("@ll")])
                stamp["at_ns"] = seconds * 1_000_000_000 + nanos - self.start_real_ns
            elif level == socket.IPPROTO_IP:
                _, _, _, _, _, info, byte = struct.unpack("=IBBBBII", data[:16])
                stamp |= {"moment": info, "byte": byte}
        self.stamps_read[index] = stamp

    def begin_again(self, index: int) -> None:
        """What follows is about another connection."""
        self.find_isns(self.script["events"][index:])
        self.local_isn, self.local_port, self.connection = None, PORT, None
        self.remote_port += 1
        self.taken = len(self.sent)
        self.stamps.clear()

    def find_isns(self, events: list[Json]) -> None:
        for packet in reversed([event["packet"] for event in events if "packet" in event]):
            if "S" in packet["flags"]:
                self.script_isn[packet["direction"]] = packet["seq"]

    def set_option(self, subject: socket.socket, args: list[Any]) -> None:
        level = {"SOL_SOCKET": socket.SOL_SOCKET, "SOL_IP": socket.IPPROTO_IP, "IPPROTO_IP": socket.IPPROTO_IP}
        number = level.get(args[1], socket.IPPROTO_TCP)
        value = args[3][0] if isinstance(args[3], list) else args[3]
        if args[2] == "SO_TIMESTAMPING" and isinstance(value, str):
            value = sum(STAMP_FLAGS.get(flag, 0) for flag in value.split("|"))
        option, value = (number_of(word) if isinstance(word, str) else word for word in (args[2], value))
        if option is None or value is None:
            self.problem = f"the socket option {args[2]}"
        else:
            subject.setsockopt(number, option, value["text"].encode() if isinstance(value, dict) else value)

    # The script.

    def run(self) -> Json:
        gc.disable()
        self.find_isns(self.script["events"])
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        events = self.script["events"]
        # Commands before everything else take their time before the clock starts.
        begun = next((i for i, event in enumerate(events) if "shell" not in event), len(events))
        for event in events[:begun]:
            self.shell(event["shell"])
        self.start_ns = time.monotonic_ns() + 20_000_000
        self.start_real_ns = time.time_ns() + self.start_ns - time.monotonic_ns()
        last = 0
        for index, event in enumerate(events[begun:], begun):
            last = self.event(index, event, last)
            if self.problem or self.lacks:
                break
        self.wait_until(self.now() + 10_000_000)
        return {
            "sent": [sent.report() for sent in self.sent],
            "infos": {str(index): info for index, info in self.infos.items()},
            "queued": {str(index): count for index, count in self.queued.items()},
            "stamps": {str(index): stamp for index, stamp in self.stamps_read.items()},
            "problem": self.problem,
            "lacks": self.lacks,
        }

    def shell(self, command: str) -> None:
        if chosen := re.search(r"net\.ipv4\.tcp_congestion_control\s*=\s*[\"']?(\w+)[\"']?", command):
            self.congestion_control = chosen[1]
            command = command.replace(chosen[0], "net.ipv4.tcp_no_metrics_save=1")
        # As packetdrill does it: what fails here shows in the packets.
        environment = os.environ | {"PACKETDRILL_PID": str(os.getpid())}
        folder = self.script["folder"] or "."
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, check=False)
        # A counter that does not show in packets.
        if command.startswith("nstat") and done.returncode != 0:
            self.problem = f"{command} does not find it"
        if asked := re.search(r"net\.ipv4\.tcp_ecn=(\d)", command):
            has = Path("/proc/sys/net/ipv4/tcp_ecn").read_text().strip()
            if has != asked[1]:
                self.lacks = f"tcp_ecn = {asked[1]}"

    def event(self, index: int, event: Json, last: int) -> int:
        when = event["when"]
        times = [(last if moment["relative"] else 0) + moment["ns"] for moment in when]
        if event.get("packet", {}).get("direction") == ">":
            latest = max(times) + self.script["tolerance_ns"] if times else self.now() + PATIENCE_NS
            at_ns = self.expect(event["packet"], latest)
            return last if at_ns is None else max(last, at_ns)
        at_ns = times[0] if times else self.now()
        self.wait_until(at_ns)
        if "packet" in event:
            self.inject(event["packet"])
        elif "call" in event:
            self.call(event["call"] | {"index": index}, event["blocks"])
        elif "shell" in event:
            self.shell(event["shell"])
        elif "code" in event and self.connection is not None:
            self.infos[index] = tcp_info(self.connection)
        return at_ns


def main() -> None:
    report = Kernel(json.load(sys.stdin)).run()
    json.dump(report, sys.stdout)
    sys.stdout.flush()
    # Threads may still wait in calls of the script.
    os._exit(0)


if __name__ == "__main__":
    main()
