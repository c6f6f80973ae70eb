"""Classes of one's own as machine code, by numba: ``cc = { python = "mine.py:Mine", compiled = true }``.

A compiled class decides as it does without, to the bit, or is refused, or ends its run with an error. numba is imported
with the first of them.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from dumbbell import extras
from dumbbell.compiled import faults
from dumbbell.compiled.slots import Refused, Slot
from dumbbell.compiled.translate import Translation, Translator
from dumbbell.own import Algorithm, LoadError

ROUNDS = 8
"""How often hooks are compiled at most: each time, attributes may turn out to hold fractions, or None, too."""

INSTALL = extras.install("compiled")

INTERPRETED = ("observe",)
"""Hooks that stay in Python: they are called now and then."""
REFUSED = ("begins_reduction", "ack_timestamps")
"""Hooks that hear of no connection."""

_FORMATS = {"whole": "q", "float": "d", "bool": "?"}
_codes: dict[str, _Code] = {}
_lock = threading.RLock()


@dataclass(frozen=True)
class _Code:
    """Compiled hooks."""

    functions: Mapping[str, Any]
    slots: Mapping[str, Slot]


@dataclass
class Machine:
    """A compiled class: where its functions are, how they keep the state of a flow, and what their errors mean."""

    algorithm: Algorithm
    code: _Code
    translation: Translation

    @property
    def addresses(self) -> dict[str, int]:
        """Hooks and their functions."""
        return {hook: int(function.address) for hook, function in self.code.functions.items()}

    def start(self, parameters: str) -> tuple[object, bytes, list[str]]:
        """An object for a flow, its state, and what it lets be observed."""
        instance = self.algorithm.instance(parameters)
        # Who observes may change the state, here as in a class that is not compiled.
        observed = self.algorithm.first_names(instance)
        return instance, self._packed(instance), observed

    def observe(self, instance: object, state: bytes, names: Sequence[str]) -> tuple[list[float], bytes]:
        """What the object shows when it has a state, and the state afterwards."""
        for (name, slot), value in zip(self.code.slots.items(), self._unpacked(state), strict=True):
            if slot.length is None:
                setattr(instance, name, value)
            else:
                getattr(instance, name)[:] = value
        values = self.algorithm.observed(instance.observe(), names)  # type: ignore[attr-defined]
        return values, self._packed(instance)

    def described(self, hook: str, kind: int, site: int, value: float) -> str:
        """What went wrong in a call."""
        return faults.described(hook, kind, self.translation.sites[site], value)

    def _packed(self, instance: object) -> bytes:
        values: list[Any] = []
        for name, slot in self.code.slots.items():
            value = getattr(instance, name)
            if slot.length is not None:
                if not isinstance(value, list) or len(value) != slot.length:
                    raise TypeError(f"`self.{name}` was a list of {slot.length} numbers and is {value!r}")
                values += value
            elif value is None and not slot.may_be_none:
                raise TypeError(f"`self.{name}` was a number and is None")
            else:
                values += [0 if value is None else value, *([value is None] if slot.may_be_none else [])]
        try:
            return struct.pack(self._format, *values)
        except struct.error as error:
            raise TypeError(f"an attribute of the class has changed what it holds: {error}") from None

    def _unpacked(self, state: bytes) -> list[Any]:
        found = iter(struct.unpack(self._format, state))
        values: list[Any] = []
        for slot in self.code.slots.values():
            if slot.length is not None:
                values.append([next(found) for _ in range(slot.length)])
            else:
                value = next(found)
                values.append(None if slot.may_be_none and next(found) else value)
        return values

    @property
    def _format(self) -> str:
        return "=" + "".join(
            f"{slot.length or ''}{_FORMATS[slot.kind]}" + ("?" if slot.may_be_none else "")
            for slot in self.code.slots.values()
        )


def machine(algorithm: Algorithm, parameters: str) -> Machine:
    """A class, compiled for flows with some parameters.

    Raises:
        LoadError: numba is missing, or something in the class cannot be compiled.
    """
    try:
        import numba  # noqa: F401
    except ImportError:
        raise LoadError(
            f"`{algorithm.cls.__qualname__}` is to be compiled, for which numba is missing",
            f"install it, {INSTALL}, or leave `compiled` out: the class runs without it",
        ) from None
    for hook in REFUSED:
        if hook in algorithm.hooks:
            _refuse(algorithm, f"`{hook}` cannot be compiled")
    try:
        instance = algorithm.instance(parameters)
    except Exception as error:
        raise LoadError(
            f"`{algorithm.cls.__qualname__}.__init__`: {type(error).__name__}: {error}",
            "each flow makes such an object",
        ) from None
    values: dict[str, object] = getattr(instance, "__dict__", {})
    lists = [(name, value) for name, value in values.items() if isinstance(value, list)]
    for number, (name, value) in enumerate(lists):
        for other, same in lists[:number]:
            if value is same:
                _refuse(algorithm, f"`self.{other}` and `self.{name}` are one list; let each have its own")
    with _lock:
        return _machine(algorithm, values)


def _machine(algorithm: Algorithm, values: Mapping[str, object]) -> Machine:
    first = "on_ack" in algorithm.hooks
    refusals: list[str] = []
    # Ideas write fractions of packets, ports of the kernel's modules whole ones.
    for cwnd_is_float in (first, not first):
        try:
            return _compiled(algorithm, values, cwnd_is_float)
        except Refused as refused:
            refusals.append(refused.message)
        except RecursionError:
            refusals.append("an expression is too deep, as `max` of a list of hundreds is: write a loop")
    _refuse(algorithm, refusals[0])


def _refuse(algorithm: Algorithm, message: str) -> NoReturn:
    raise LoadError(
        f"`{algorithm.cls.__qualname__}` cannot be compiled: {message}",
        "write it with what docs/own-algorithm.md lists, or leave `compiled` out: the class runs without it",
    ) from None


def _compiled(algorithm: Algorithm, values: Mapping[str, object], cwnd_is_float: bool) -> Machine:
    known: dict[str, Slot] = {}
    key = ""
    for _ in range(ROUNDS):
        translator = Translator(algorithm.cls, values, known, cwnd_is_float)
        hooks = {hook: translator.hook(hook) for hook in algorithm.hooks if hook not in INTERPRETED}
        made = translator.made
        key = key or f"{cwnd_is_float} {sorted(made.slots.items())} {hooks}\n{made.source()}"
        if key in _codes:
            return Machine(algorithm, _codes[key], made)
        from dumbbell.compiled.build import build

        functions, wider = build(made, hooks, cwnd_is_float)
        if not wider:
            _codes[key] = _Code(functions, dict(made.slots))
            return Machine(algorithm, _codes[key], made)
        if wider.pop("conn.cwnd", None) is not None:
            raise Refused(
                "`conn.cwnd` is written with fractions, and used where whole numbers are needed: write int(conn.cwnd)"
            )
        known.update(wider)
    raise Refused("its attributes hold ever different things")
