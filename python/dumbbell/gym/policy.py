"""Trained agents as algorithms of their own."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.gym.worlds import Agent
from dumbbell.storage import write_file

Layer = tuple[ArrayLike, ArrayLike]
"""Weights, a row for each output, and biases."""


def save_policy(path: str | os.PathLike[str], agent: Any, layers: Sequence[Layer], *, activation: str = "tanh") -> Path:
    """Writes a trained agent, which is an algorithm afterwards: ``cc = { policy = "agent.npz" }``.

    Args:
        path: The file, which ends in ``.npz``.
        agent: The environment that it was trained in, or its ``agent``: what it sees and does.
        layers: Weights and biases of each layer, from what it sees to the one number that is its action.
        activation: What lies between layers: ``"tanh"`` or ``"relu"``.

    Raises:
        ValueError: The layers do not fit each other, or what the agent sees.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"{path}: a trained agent is a file of NumPy, whose name ends in .npz")
    if activation not in ("tanh", "relu"):
        raise ValueError(f"activation = {activation!r} is not known; there are 'tanh' and 'relu'")
    known: Agent = getattr(agent, "agent", agent)
    arrays: dict[str, NDArray[Any]] = {}
    width = None
    for number, (weights, biases) in enumerate(layers):
        rows, bias = np.ascontiguousarray(weights, np.float32), np.ascontiguousarray(biases, np.float32)
        if rows.ndim != 2 or bias.shape != (rows.shape[0],) or width not in (None, rows.shape[1]):
            raise ValueError(
                f"layer {number}: weights of shape {rows.shape} do not go with biases of shape {bias.shape}"
                + (f" and the {width} outputs before" if width is not None else "")
            )
        if not (np.isfinite(rows).all() and np.isfinite(bias).all()):
            raise ValueError(f"layer {number}: a number is not finite")
        arrays[f"weight_{number}"], arrays[f"bias_{number}"] = rows, bias
        width = rows.shape[0]
    if width != 1:
        raise ValueError(f"the last of {len(layers)} layers has {width or 0} outputs, but an action is one number")
    told = {**known.as_policy(), "activation": activation}
    arrays["agent"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    write_file(path, content.getvalue())
    return path


def load_policy(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[tuple[NDArray[Any], NDArray[Any]]]]:
    """What a trained agent sees and does, and its layers."""
    with np.load(path) as arrays:
        told = json.loads(arrays["agent"].tobytes())
        count = sum(name.startswith("weight_") for name in arrays.files)
        return told, [(arrays[f"weight_{number}"], arrays[f"bias_{number}"]) for number in range(count)]
