"""Trained agents as ONNX models: a chain of layers, which becomes the arrays that the engine evaluates.

Nothing but the model is read: what it would take from other files is refused. The package ``onnx`` is imported when
there is a model.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dumbbell import extras
from dumbbell.own import LoadError

META = "agent"
"""The metadata of a model that says, as JSON, what the agent sees and does."""
ACTIVATIONS = {"Tanh": "tanh", "Relu": "relu", "Sigmoid": "sigmoid"}
SAME = ("Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout")
"""Operators that leave the numbers and their order as they are."""
SUPPORTED = ("Gemm", "MatMul", "Add", "Sub", "Mul", "Div", *ACTIVATIONS, *SAME, "Cast", "Constant")
WIDEST = 4096
"""The most numbers that go through a layer without weights of its own."""
MOST_WEIGHTS = 16 << 20
"""The most weights of all layers: as many as a file of 64 MiB holds."""
OPSET, IR_VERSION = 13, 8
"""What is written, which programs of many years read."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """The layers of a model."""

    layers: Sequence[tuple[Array, Array]]
    """Weights, a row for each output, and biases."""
    activations: Sequence[str]
    """What each layer does with its outputs: ``tanh``, ``relu``, ``sigmoid`` or ``none``."""
    told: Mapping[str, Any] | None
    """What the agent sees and does, if the model says so."""


def converted(content: bytes) -> bytes:
    """The file of NumPy for a model, as :func:`dumbbell.gym.save_policy` writes it.

    Raises:
        LoadError: It is no model, has more than layers in it, or does not say what the agent sees and does.
    """
    network = read(content)
    if network.told is None:
        raise LoadError(
            f"its metadata has no `{META}`, which says what it sees and does",
            'dumbbell.gym.save_policy("agent.onnx", env, "model.onnx") writes it to a model',
        )
    return npz(network.layers, {**network.told, "activation": list(network.activations)})


def npz(layers: Sequence[tuple[Any, Any]], told: Mapping[str, Any]) -> bytes:
    """Layers and what is told of them as a file of NumPy."""
    arrays: dict[str, Any] = {}
    # What is too large for single precision is found by whoever reads it.
    with np.errstate(over="ignore"):
        for number, (weights, biases) in enumerate(layers):
            arrays[f"weight_{number}"] = np.ascontiguousarray(weights, np.float32)
            arrays[f"bias_{number}"] = np.ascontiguousarray(biases, np.float32)
    arrays[META] = np.frombuffer(json.dumps(dict(told)).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def written(layers: Sequence[tuple[Any, Any]], activations: Sequence[str], told: Mapping[str, Any]) -> bytes:
    """Layers and what is told of them as a model."""
    onnx = _onnx()
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, before = [], [], "observation"
    for number, ((weights, biases), activation) in enumerate(zip(layers, activations, strict=True)):
        names = (f"weight_{number}", f"bias_{number}")
        for name, array in zip(names, (weights, biases), strict=True):
            constants.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        operator = next((name for name, known in ACTIVATIONS.items() if known == activation), None)
        is_last = number == len(layers) - 1
        after = "action" if is_last and operator is None else f"layer_{number}"
        nodes.append(helper.make_node("Gemm", [before, *names], [after], transB=1))
        if operator is not None:
            before, after = after, "action" if is_last else f"active_{number}"
            nodes.append(helper.make_node(operator, [before], [after]))
        before = after
    width = np.shape(layers[0][0])[1]
    graph = helper.make_graph(
        nodes, "agent",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [1, 1])],
        constants,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="dumbbell")
    helper.set_model_props(model, {META: json.dumps(dict(told))})
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def read(content: bytes) -> Network:
    """The layers of a model.

    Raises:
        LoadError: It is no model, or has more than a chain of layers in it.
    """
    onnx = _onnx()
    try:
        model = onnx.load_model_from_string(content)
    except Exception:
        _refuse("it is no ONNX model")
    graph = model.graph
    if not graph.node:
        _refuse("it is no ONNX model, or one without operators")
    if model.functions or graph.sparse_initializer:
        _refuse("it has functions or sparse constants, which are not supported")
    for tensor in (*graph.initializer, *(a.t for node in graph.node for a in node.attribute if a.name == "value")):
        if tensor.data_location or tensor.external_data:
            _refuse(f"its constant `{tensor.name}` is in another file; save the model in one file")
    properties = {entry.key: entry.value for entry in model.metadata_props}
    return _Chain(graph).network(_told(properties.get(META)))


def _told(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        told = json.loads(text)
    except ValueError as error:
        _refuse(f"its metadata `{META}` is no JSON: {error}")
    if not isinstance(told, dict):
        _refuse(f"its metadata `{META}` is no JSON object")
    told.pop("activation", None)
    return told


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise LoadError(
            "it is an ONNX model, for which onnx is missing", f"install it: {extras.install('gym')}"
        ) from None
    return onnx


def _refuse(message: str) -> NoReturn:
    raise LoadError(
        message, f"a trained agent is a chain of {', '.join(SUPPORTED)}; docs/learners.md says what is in it"
    ) from None


@dataclass
class _Chain:
    """Follows the numbers from the input of a graph to its output."""

    graph: Any
    constants: dict[str, Array] = field(default_factory=dict)
    layers: list[tuple[Array, Array]] = field(default_factory=list)
    activations: list[str] = field(default_factory=list)
    weights: Array | None = None
    """Those of the layer that is not ended, which goes on with ``weights @ (scale * x + shift) + biases``."""
    biases: Array | None = None
    scale: Array = field(default_factory=lambda: np.ones(()))
    shift: Array = field(default_factory=lambda: np.zeros(()))
    width: int | None = None
    """How many numbers there are, if that is known."""
    count: int = 0
    """Weights so far."""

    def network(self, told: dict[str, Any] | None) -> Network:
        graph = self.graph
        for tensor in graph.initializer:
            self._keep(tensor.name, tensor)
        inputs = [entry for entry in graph.input if entry.name not in self.constants]
        if len(inputs) != 1 or len(graph.output) != 1:
            _refuse(f"it has {len(inputs)} inputs and {len(graph.output)} outputs; an agent has one of each")
        dimensions = inputs[0].type.tensor_type.shape.dim
        self.width = (dimensions[-1].dim_value or None) if dimensions else None
        now = inputs[0].name
        for node in graph.node:
            now = self._node(node, now)
        if now != graph.output[0].name:
            _refuse(f"its output `{graph.output[0].name}` does not follow from all of its operators")
        if self.weights is not None or np.any(self.scale != 1) or np.any(self.shift != 0):
            self._end("none")
        if not self.layers:
            _refuse("it has no layer")
        return Network(self.layers, self.activations, told)

    def _keep(self, name: str, tensor: Any) -> None:
        from onnx import numpy_helper

        try:
            array = numpy_helper.to_array(tensor)
        except Exception as error:
            _refuse(f"its constant `{name}` cannot be read: {error}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            _refuse(f"a number of its constant `{name}` is not finite")
        # Shapes are whole numbers, and of no interest.
        self.constants[name] = np.asarray(array, np.float64) if array.dtype.kind in "fiu" else np.zeros(0)

    def _node(self, node: Any, now: str) -> str:
        """Takes an operator into the layer; the name of what comes out."""
        kind = node.op_type
        if node.domain not in ("", "ai.onnx") or kind not in SUPPORTED:
            _refuse(f"its operator {kind} is not supported")
        output = str(node.output[0])
        attributes = {entry.name: entry for entry in node.attribute}
        if kind == "Constant":
            if "value" in attributes:
                self._keep(output, attributes["value"].t)
            elif {"value_float", "value_int"} & set(attributes):
                entry = next(iter(attributes.values()))
                self.constants[output] = np.asarray(entry.f or entry.i, np.float64)
            else:
                _refuse(f"its constant `{output}` is no tensor")
            return now
        inputs = [str(name) for name in node.input if name]
        if kind == "Identity" and inputs[0] in self.constants:
            self.constants[output] = self.constants[inputs[0]]
            return now
        others = [name for name in inputs if name != now]
        if len(others) != len(inputs) - 1 or any(name not in self.constants for name in others):
            _refuse(f"its operator {kind} takes {' and '.join(inputs)}; an agent is one chain of layers with constants")
        if kind in ACTIVATIONS:
            self._end(ACTIVATIONS[kind])
        elif kind == "Gemm":
            self._gemm(attributes, inputs, now)
        elif kind == "MatMul":
            self._matrix(self._matrix_of(kind, inputs, now).T)
        elif kind in ("Add", "Sub", "Mul", "Div"):
            self._elementwise(kind, self.constants[others[0]], is_first=inputs[0] == now)
        elif kind == "Cast" and attributes["to"].i not in (1, 10, 11):
            _refuse("its operator Cast makes something else of numbers than floats")
        return output

    def _matrix_of(self, kind: str, inputs: Sequence[str], now: str) -> Array:
        matrix = self.constants[inputs[1]] if inputs[0] == now else np.zeros(0)
        if matrix.ndim != 2 or not matrix.size:
            _refuse(f"its operator {kind} does not multiply what comes in with a matrix")
        return matrix

    def _gemm(self, attributes: Mapping[str, Any], inputs: Sequence[str], now: str) -> None:
        def number(name: str, otherwise: float) -> float:
            return float(attributes[name].f) if name in attributes else otherwise

        if "transA" in attributes and attributes["transA"].i:
            _refuse("its operator Gemm transposes what comes in")
        matrix = self._matrix_of("Gemm", inputs, now)
        is_transposed = "transB" in attributes and attributes["transB"].i
        weights = number("alpha", 1.0) * (matrix if is_transposed else matrix.T)
        self._matrix(weights)
        if len(inputs) > 2:
            self._elementwise("Add", number("beta", 1.0) * self.constants[inputs[2]], is_first=True)

    def _matrix(self, weights: Array) -> None:
        """Multiplies what there is so far with a matrix."""
        if self.width not in (None, weights.shape[1]):
            _refuse(f"a matrix takes {weights.shape[1]} numbers, but {self.width} come in")
        self.count += weights.size
        if self.count > MOST_WEIGHTS:
            _refuse(f"its layers have more than {MOST_WEIGHTS} weights")
        if self.weights is not None:
            self._end("none")
        shift = np.broadcast_to(self.shift, weights.shape[1:])
        self.weights = weights * self.scale
        # Sums that do not depend on the machine.
        self.biases = np.array([math.fsum(row * shift) for row in weights])
        self.scale, self.shift = np.ones(()), np.zeros(())
        self.width = weights.shape[0]

    def _elementwise(self, kind: str, constant: Array, *, is_first: bool) -> None:
        """Adds a constant to what there is so far, or multiplies it with one."""
        number = constant.reshape(-1) if constant.size > 1 else constant.reshape(())
        if number.size > 1 and (constant.shape[-1] != constant.size or self.width not in (None, constant.size)):
            _refuse(f"its operator {kind} has a constant of the shape {list(constant.shape)} for {self.width} numbers")
        if number.size > 1:
            self.width = number.size
        if not is_first and kind == "Div":
            _refuse("its operator Div divides a constant by what comes in")
        if kind == "Div" and np.any(number == 0):
            _refuse("its operator Div divides by 0")
        factor = {"Mul": number, "Div": 1 / number if kind == "Div" else number}.get(kind, np.ones(()))
        summand = {"Add": number, "Sub": -number}.get(kind, np.zeros(()))
        if kind == "Sub" and not is_first:
            factor, summand = -np.ones(()), number
        if self.weights is not None and self.biases is not None:
            self.weights = self.weights * factor[..., np.newaxis]
            self.biases = self.biases * factor + summand
        else:
            self.scale, self.shift = self.scale * factor, self.shift * factor + summand

    def _end(self, activation: str) -> None:
        """Ends the layer."""
        if self.weights is None:
            if self.width is None or self.width > WIDEST:
                _refuse("an operator without weights has a width that is not known, or too large")
            self._matrix(np.eye(self.width))
        assert self.weights is not None and self.biases is not None
        self.layers.append((self.weights, self.biases))
        self.activations.append(activation)
        self.weights = self.biases = None
