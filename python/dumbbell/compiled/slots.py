"""What the state of a flow holds of an object, and what cannot be compiled."""

from __future__ import annotations

from dataclasses import dataclass


class Refused(Exception):
    """Something cannot be compiled; ``message`` says what and where."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Slot:
    """How the state of a flow holds an attribute."""

    kind: str
    """``whole``, ``float`` or ``bool``."""
    may_be_none: bool = False
    length: int | None = None
    """The number of items of a list."""


def slot_of(name: str, value: object) -> Slot:
    """The slot for an attribute that begins with a value.

    Raises:
        Refused: It is no number, truth value, None, or list of numbers.
    """
    kinds = {bool: "bool", int: "whole", float: "float"}
    if value is None:
        return Slot("float", may_be_none=True)
    if type(value) in kinds:
        return Slot(kinds[type(value)])
    if isinstance(value, float):
        return Slot("float")
    if isinstance(value, list) and value and all(type(item) in (int, float) for item in value):
        return Slot("whole" if all(type(item) is int for item in value) else "float", length=len(value))
    what = "an empty list" if value == [] else f"{article(type(value).__name__)}"
    raise Refused(
        f"`self.{name}` holds {what}; compiled classes hold numbers, truth values, None, and lists of numbers whose "
        "length stays as it is"
    )


def article(name: str) -> str:
    """A word with its article."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
