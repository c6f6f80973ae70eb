"""Trained agents as algorithms of their own."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell import _core, catalogue, onnx_policy
from dumbbell.gym.worlds import Agent
from dumbbell.own import LoadError
from dumbbell.storage import write_file

Layer = tuple[ArrayLike, ArrayLike]
"""Weights, a row for each output, and biases."""

ACTIVATIONS = (*onnx_policy.ACTIVATIONS.values(), "none")


def save_policy(
    path: str | os.PathLike[str],
    agent: Any,
    layers: Sequence[Layer] | str | os.PathLike[str],
    *,
    activation: str | Sequence[str] = "tanh",
) -> Path:
    """Writes a trained agent, which is an algorithm afterwards: ``cc = { policy = "agent.npz" }``.

    Args:
        path: The file, which ends in ``.npz`` or ``.onnx``.
        agent: The environment that it was trained in, or its ``agent``: what it sees and does.
        layers: Weights and biases of each layer, from what it sees to the one number that is its action; or the file of
            an ONNX model, which has its activations in it.
        activation: What lies between layers: ``"tanh"``, ``"relu"``, ``"sigmoid"`` or ``"none"``; or one of them for
            each layer, the last included.

    Raises:
        ValueError: The layers do not fit each other, or what the agent sees.
    """
    path = _named(path)
    known: Agent = getattr(agent, "agent", agent)
    try:
        if isinstance(layers, str | os.PathLike):
            network = onnx_policy.read(Path(layers).read_bytes())
            layers, activation = network.layers, network.activations
        checked, activations = _checked(layers), _activations(activation, len(layers))
        told = known.as_policy()
        if path.suffix == ".npz":
            content = onnx_policy.npz(checked, {**told, "activation": _short(activations)})
        else:
            content = onnx_policy.written(checked, activations, told)
    except LoadError as error:
        raise ValueError(f"{error.message}; {error.help}") from None
    _check_inputs(path, content)
    write_file(path, content)
    return path


def _named(path: str | os.PathLike[str]) -> Path:
    """The path of a trained agent, which its name tells."""
    path = Path(path)
    if path.suffix not in (".npz", ".onnx"):
        raise ValueError(f"{path}: a trained agent is a file whose name ends in .npz or .onnx")
    return path


def _check_inputs(path: Path, content: bytes) -> None:
    """Refuses an agent that could not be loaded: the engine knows how many numbers it sees."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, path.name)
        place.write_bytes(content)
        _check(place, path)


def _check(place: Path, path: Path) -> None:
    """Refuses an agent that the engine cannot load from a place, as that of a path."""
    try:
        catalogue.find(str(place))
    except _core.ScenarioError as error:
        said = str(error).removeprefix("error: ").splitlines()[0]
        raise ValueError(said.replace(str(place), str(path))) from None


def _checked(layers: Sequence[Layer]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    checked: list[tuple[NDArray[Any], NDArray[Any]]] = []
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
        checked.append((rows, bias))
        width = rows.shape[0]
    if width != 1:
        raise ValueError(f"the last of {len(layers)} layers has {width or 0} outputs, but an action is one number")
    return checked


def _activations(given: str | Sequence[str], layers: int) -> list[str]:
    """That of each layer."""
    names = [*[given] * (layers - 1), "none"] if isinstance(given, str) else list(given)
    if unknown := next((name for name in (given, *names) if isinstance(name, str) and name not in ACTIVATIONS), None):
        raise ValueError(f"activation = {unknown!r} is not known; there are {', '.join(map(repr, ACTIVATIONS))}")
    if len(names) != layers:
        raise ValueError(f"activation has {len(names)} names for {layers} layers")
    return names


def _short(activations: Sequence[str]) -> str | list[str]:
    """One name where it says all."""
    between = set(activations[:-1])
    return between.pop() if len(between) == 1 and activations[-1] == "none" else list(activations)


def load_policy(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[tuple[NDArray[Any], NDArray[Any]]]]:
    """What a trained agent sees and does, and its layers.

    Raises:
        ValueError: The file is no trained agent.
    """
    path = _named(path)
    content = path.read_bytes()
    if path.suffix == ".onnx":
        try:
            network = onnx_policy.read(content)
        except LoadError as error:
            raise ValueError(f"{path}: {error.message}; {error.help}") from None
        told = {**(network.told or {}), "activation": _short(network.activations)}
        single = [(weights.astype(np.float32), biases.astype(np.float32)) for weights, biases in network.layers]
        return told, single
    _check(path.absolute(), path)
    with np.load(io.BytesIO(content)) as arrays:
        told = json.loads(arrays["agent"].tobytes())
        count = sum(name.startswith("weight_") for name in arrays.files)
        return told, [(arrays[f"weight_{number}"], arrays[f"bias_{number}"]) for number in range(count)]
