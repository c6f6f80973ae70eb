"""What a class of one's own is written with: parameters, random numbers, the kernel's names for states and flags."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, TypeVar, cast

from dumbbell._core import Stream

T = TypeVar("T", bool, int, float, str)


@dataclass(frozen=True)
class Parameter:
    """What :func:`parameter` declares. As an attribute of the class it is its default."""

    default: bool | int | float | str
    least: float | None
    most: float | None
    unit: str
    meaning: str

    def __get__(self, instance: object, owner: type) -> bool | int | float | str:
        return self.default


def parameter(
    default: T,
    *,
    range: tuple[float | None, float | None] | None = None,  # noqa: A002 - the word for it
    unit: str = "",
    meaning: str = "",
) -> T:
    """Declares a parameter of an algorithm, as an attribute of its class: ``gain: float = db.parameter(1.5)``.

    Args:
        default: Its value where an experiment gives none. Its type is the type of the parameter.
        range: The least and the greatest value that it may have; ``None`` for no bound.
        unit: What a number counts: ``"packets"``, ``"s"``.
        meaning: A sentence on what it does.
    """
    least, most = (None, None) if range is None else range
    return cast(T, Parameter(default, least, most, unit, meaning))


class Random(random.Random):
    """The random numbers of a flow: everything that :class:`random.Random` offers, from a stream of its own.

    The seed of the run decides them, and no other flow or run does.
    """

    def __new__(cls, stream: Stream) -> Random:
        """Of a stream, which is not hashed as a seed would be."""
        return super().__new__(cls)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.gauss_next = None

    def random(self) -> float:
        """A number uniform over [0, 1)."""
        return self._stream.uniform()

    def getrandbits(self, k: int, /) -> int:
        """``k`` random bits."""
        words = -(-k // 64)
        bits = 0
        for _ in range(words):
            bits = bits << 64 | self._stream.next_u64()
        return bits >> (64 * words - k)

    def below(self, bound: int) -> int:
        """A whole number uniform over ``0..bound - 1``, as the built-in algorithms draw theirs."""
        return self._stream.below(bound)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        """Not possible: the seed of the run decides."""
        raise TypeError("conn.random cannot be seeded: the seed of the run decides its numbers")


class CaState(IntEnum):
    """States of a Linux sender (``enum tcp_ca_state``), in the order of their severity."""

    OPEN = 0
    DISORDER = 1
    CWR = 2
    RECOVERY = 3
    LOSS = 4


class AckFlags(IntFlag):
    """What an ACK looked like (``enum tcp_ca_ack_event_flags``)."""

    SLOWPATH = 1
    WIN_UPDATE = 2
    ECE = 4
