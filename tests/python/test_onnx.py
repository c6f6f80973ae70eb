"""Trained agents as ONNX models: what becomes of them, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import onnx_policy
from dumbbell.own import LoadError
from test_gym import WORLD

onnx = pytest.importorskip("onnx")
gym = pytest.importorskip("dumbbell.gym")

SEEN = ["rtt_ratio", "loss_rate", "send_ratio"]
FLOAT, INT64 = 1, 7


def environment() -> Any:
    return gym.Env(WORLD, interval="100ms", observation=SEEN, history=2)


def layers(*widths: int) -> list[tuple[Any, Any]]:
    """A network of these widths, the first of which sees."""
    rng = np.random.default_rng(3)
    return [(rng.normal(0, 0.4, (to, of)), rng.normal(0, 0.2, to)) for of, to in pairwise(widths)]


def run_of(path: Path) -> dict[str, Any]:
    """The tables of a run, without the name of the file."""
    result = db.run(
        {**WORLD, "duration": "3s", "flows": [{"cc": {"policy": str(path)}, "label": "agent"}, {"cc": "cubic"}]}
    )
    flows, series = (table.to_polars().drop("cc", "algorithm", strict=False) for table in (result.flows, result.series))
    return {"flows": flows, "series": series}


@pytest.mark.parametrize(
    ("widths", "activation"),
    [
        ((6, 1), "tanh"),
        ((6, 8, 1), "tanh"),
        ((6, 8, 8, 1), "relu"),
        ((6, 8, 1), "sigmoid"),
        ((6, 8, 4, 1), ["relu", "none", "tanh"]),
    ],
)
def test_a_policy_decides_the_same_in_both_formats(
    widths: tuple[int, ...], activation: str | list[str], tmp_path: Path
) -> None:
    of_numpy, of_onnx = tmp_path / "agent.npz", tmp_path / "agent.onnx"
    for path in (of_numpy, of_onnx):
        gym.save_policy(path, environment(), layers(*widths), activation=activation)
    one, other = run_of(of_numpy), run_of(of_onnx)
    assert one["series"]["cc_action"].drop_nulls().n_unique() > 5
    assert all(one[name].equals(other[name]) for name in one)
    (told, ours), (expected, theirs) = gym.load_policy(of_onnx), gym.load_policy(of_numpy)
    assert told == expected
    assert all(
        np.array_equal(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True)
    )


def model_of(nodes: list[Any], constants: dict[str, Any], shape: list[Any], out: str = "out") -> Any:
    graph = onnx.helper.make_graph(
        nodes, "g",
        [onnx.helper.make_tensor_value_info("in", FLOAT, shape)],
        [onnx.helper.make_tensor_value_info(out, FLOAT, None)],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )  # fmt: skip
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def chain(*steps: tuple[str, Sequence[str]], **attributes: dict[str, Any]) -> list[Any]:
    """Operators, each of which takes what the one before gives; ``$`` is its place among the inputs."""
    made, before = [], "in"
    for number, (kind, others) in enumerate(steps):
        after = "out" if number == len(steps) - 1 else f"t{number}"
        inputs = [before if name == "$" else name for name in (others if "$" in others else ["$", *others])]
        made.append(onnx.helper.make_node(kind, inputs, [after], **attributes.get(kind, {})))
        before = after
    return made


def evaluated(layers: list[tuple[Any, Any]], activations: list[str], values: Any) -> Any:
    functions: dict[str, Callable[[Any], Any]] = {
        "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "none": lambda x: x,
    }  # fmt: skip
    for (weights, biases), activation in zip(layers, activations, strict=True):
        values = functions[activation](values @ weights.T.astype(np.float64) + biases)
    return values


RNG = np.random.default_rng(1)
F = np.float32
CONSTANTS = {
    "mean": RNG.normal(0, 1, 6).astype(F),
    "std": RNG.uniform(0.5, 2, 6).astype(F),
    "row": RNG.normal(0, 1, (1, 6)).astype(F),
    "w0": RNG.normal(0, 1, (6, 5)).astype(F),
    "b0": RNG.normal(0, 1, 5).astype(F),
    "w1": RNG.normal(0, 1, (1, 5)).astype(F),
    "b1": RNG.normal(0, 1, 1).astype(F),
    "w2": RNG.normal(0, 1, (1, 6)).astype(F),
    "one": F(1),
    "two": F(2),
    "shape": np.array([1, 6]),
}
BEGIN: list[tuple[str, list[str]]] = [
    ("Flatten", []),
    ("Sub", ["mean"]),
    ("Div", ["std"]),
    ("MatMul", ["w0"]),
    ("Add", ["b0"]),
    ("Relu", []),
]
RESHAPED: list[tuple[str, list[str]]] = [
    ("Cast", []),
    ("Reshape", ["shape"]),
    ("Identity", []),
    ("Mul", ["row"]),
    ("Tanh", []),
    ("Sub", ["one", "$"]),
]
GRAPHS: dict[str, tuple[list[Any], list[Any]]] = {
    "normalised": (
        chain(*BEGIN, ("Gemm", ["w1", "b1"]), ("Tanh", []), ("Mul", ["two"]), Gemm={"transB": 1}),
        ["batch", 6],
    ),
    "reshaped": (
        chain(
            *RESHAPED,
            *(("Gemm", ["w2"]), ("Sigmoid", []), ("Sub", ["one"])),
            Gemm={"transB": 1, "alpha": 0.5},
            Cast={"to": 1},
        ),
        [1, 6],
    ),
    "in a row": (
        chain(("MatMul", ["w0"]), ("Gemm", ["w1", "b1"]), Gemm={"transB": 1, "beta": 3.0}),
        ["batch", 6],
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_become_layers_that_give_what_they_give(name: str, tmp_path: Path) -> None:
    from onnx.reference import ReferenceEvaluator

    model = model_of(GRAPHS[name][0], CONSTANTS, GRAPHS[name][1])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    for ending in ("npz", "onnx"):
        path = gym.save_policy(tmp_path / f"agent.{ending}", environment(), tmp_path / "model.onnx")
        told, found = gym.load_policy(path)
        activations = told["activation"]
        between = [activations] * (len(found) - 1) + ["none"] if isinstance(activations, str) else activations
        seen = np.random.default_rng(7).normal(0, 1, (50, 6)).astype(F)
        expected = np.array([ReferenceEvaluator(model).run(None, {"in": one[np.newaxis]})[0] for one in seen])
        assert evaluated(found, between, seen).ravel() == pytest.approx(expected.ravel(), abs=2e-5, rel=2e-5)
        assert run_of(path)["series"]["cc_action"].drop_nulls().n_unique() > 3


def refusal(path: Path) -> str:
    with pytest.raises(db.ScenarioError) as refused:
        db.run({**WORLD, "flows": [{"cc": {"policy": str(path)}}]})
    return str(refused.value)


def told(**changes: Any) -> str:
    return json.dumps({**environment().agent.as_policy(), **changes})


def external(model: Any) -> None:
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, "/etc/hostname")


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "operator": (
        lambda: model_of(chain(("Softmax", []), ("Relu", [])), {}, [1, 6]),
        "operator Softmax is not supported",
    ),
    "branch": (
        lambda: model_of(
            [onnx.helper.make_node("Tanh", ["in"], ["a"]), onnx.helper.make_node("Add", ["a", "in"], ["out"])],
            {},
            [1, 6],
        ),
        "takes a and in; an agent is one chain",
    ),
    "shape": (
        lambda: model_of(chain(("MatMul", ["w0"])), {"w0": np.ones((5, 1), F)}, [1, 6]),
        "takes 5 numbers, but 6",
    ),
    "outputs": (lambda: model_of(chain(("MatMul", ["w0"])), {"w0": np.ones((6, 2), F)}, [1, 6]), "has 2 outputs"),
    "other width": (
        lambda: model_of(chain(("MatMul", ["w0"])), {"w0": np.ones((4, 1), F)}, ["n", None]),
        "it has 6 inputs",
    ),
    "infinite": (
        lambda: model_of(chain(("MatMul", ["w0"])), {"w0": np.full((6, 1), np.inf, F)}, [1, 6]),
        "is not finite",
    ),
    "constant": (
        lambda: model_of(
            chain(("Add", ["b"]), ("MatMul", ["w0"])), {"b": np.ones(3, F), "w0": np.ones((6, 1), F)}, [1, 6]
        ),
        "a constant of the shape [3] for 6 numbers",
    ),
    "zero": (
        lambda: model_of(chain(("Div", ["b"]), ("MatMul", ["w0"])), {"b": F(0), "w0": np.ones((6, 1), F)}, [1, 6]),
        "divides by 0",
    ),
    "divided": (
        lambda: model_of(chain(("Div", ["b", "$"]), ("MatMul", ["w0"])), {"b": F(1), "w0": np.ones((6, 1), F)}, [1, 6]),
        "divides a constant by what comes in",
    ),
    "output": (lambda: model_of(chain(("Relu", [])), {}, [1, 6], out="other"), "its output `other` does not follow"),
    "empty": (lambda: model_of([], {}, [1, 6], out="in"), "without operators"),
    "weights": (
        lambda: model_of(chain(("Relu", []), ("Relu", [])), {}, [1, 4096]),
        "more than 16777216 weights",
    ),
    "domain": (
        lambda: model_of([onnx.helper.make_node("Relu", ["in"], ["out"], domain="mine")], {}, [1, 6]),
        "operator Relu is not supported",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_models_that_are_no_chain_of_layers_are_refused(what: str, tmp_path: Path) -> None:
    make, said = WRONG[what]
    model = make()
    onnx.helper.set_model_props(model, {"agent": told()})
    (tmp_path / "agent.onnx").write_bytes(model.SerializeToString())
    assert said in refusal(tmp_path / "agent.onnx")


def test_files_that_are_no_models_are_refused(tmp_path: Path, dumbbell: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.onnx"
    assert "cannot read" in refusal(path)
    for content in (b"", b"nothing", bytes(range(256)) * 40):
        path.write_bytes(content)
        assert "is no ONNX model" in refusal(path)
    good = model_of(chain(("MatMul", ["w0"])), {"w0": np.ones((6, 1), F)}, [1, 6])
    path.write_bytes(good.SerializeToString())
    assert "its metadata has no `agent`" in refusal(path)
    assert "gym.save_policy" in refusal(path)
    for text, said in (
        ("{", "is no JSON"),
        ("3", "is no JSON object"),
        (told(interval="soon"), "no length of a monitor"),
    ):
        onnx.helper.set_model_props(good, {"agent": text})
        path.write_bytes(good.SerializeToString())
        assert said in refusal(path)
    onnx.helper.set_model_props(good, {"agent": told()})
    external(good)
    path.write_bytes(good.SerializeToString())
    assert "its constant `w0` is in another file" in refusal(path)
    outcome = dumbbell("cc", "show", path)
    assert outcome.status == 2
    assert "is in another file" in outcome.err
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "onnx is missing" in refusal(path)
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    assert "it is larger than 64 MiB" in refusal(path)


def test_a_model_stands_beside_other_algorithms_in_every_command(tmp_path: Path, dumbbell: Cli) -> None:
    path = gym.save_policy(tmp_path / "agent.onnx", environment(), layers(6, 4, 1))
    shown = dumbbell("cc", "show", path)
    assert "a trained agent: rtt_ratio, loss_rate, send_ratio of 2 intervals through layers of 4, 1" in shown.out
    compared = dumbbell("compare", "cubic", path, "--rate", "5mbit", "--rtt", "20ms", "--duration", "2s")
    assert compared.status == 0
    assert "agent.onnx@" in compared.out
    (tmp_path / "part").mkdir()
    (tmp_path / "part/flows.toml").write_text('[[flows]]\ncc = { policy = "../agent.onnx" }\n')
    (tmp_path / "a.toml").write_text(
        'include = "part/flows.toml"\nduration = "1s"\npath = { rate = "5mbit", rtt = "20ms" }\n'
    )
    assert db.run(tmp_path / "a.toml").flows.rows()[0]["cc"] == "agent.onnx"


def test_what_is_saved_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.npz or \.onnx"):
        gym.save_policy(tmp_path / "agent.pt", environment(), layers(6, 1))
    with pytest.raises(ValueError, match="activation = 'gelu' is not known"):
        gym.save_policy(tmp_path / "agent.onnx", environment(), layers(6, 1), activation="gelu")
    with pytest.raises(ValueError, match="activation has 1 names for 2 layers"):
        gym.save_policy(tmp_path / "agent.npz", environment(), layers(6, 4, 1), activation=["tanh"])
    (tmp_path / "wrong.onnx").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is no ONNX model"):
        gym.save_policy(tmp_path / "agent.onnx", environment(), tmp_path / "wrong.onnx")
    with pytest.raises(ValueError, match="is no ONNX model"):
        gym.load_policy(tmp_path / "wrong.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wrong.onnx"]


# -- what is read of a model ------------------------------------------------------------------------------------------


def read(nodes: list[Any], shape: list[Any] | None = None, **constants: Any) -> onnx_policy.Network:
    made = model_of(nodes, constants, [1, 2] if shape is None else shape)
    return onnx_policy.read(made.SerializeToString())


def read_layers(nodes: list[Any], **constants: Any) -> list[tuple[Any, Any, str]]:
    network = read(nodes, **constants)
    return [
        (weights.tolist(), biases.tolist(), activation)
        for (weights, biases), activation in zip(network.layers, network.activations, strict=True)
    ]


W = np.array([[1.0, 2.0], [3.0, 4.0]], F)
"""Two outputs of two inputs, a row each."""
GEMM = {"Gemm": {"transB": 1}}


def test_a_layer_is_a_matrix_and_what_is_added() -> None:
    b = np.array([5.0, 6.0], F)
    expected = [(W.tolist(), [5.0, 6.0], "none")]
    assert read_layers(chain(("Gemm", ["w", "b"]), Gemm={"transB": 1}), w=W, b=b) == expected
    assert read_layers(chain(("Gemm", ["w", "b"])), w=W.T, b=b) == expected
    assert read_layers(chain(("Gemm", ["w", "b"]), Gemm={"transB": 0, "transA": 0}), w=W.T, b=b) == expected
    assert read_layers(chain(("MatMul", ["w"]), ("Add", ["b"])), w=W.T, b=b) == expected
    assert read_layers(chain(("MatMul", ["w"])), w=W.T) == [(W.tolist(), [0.0, 0.0], "none")]
    scaled = read_layers(chain(("Gemm", ["w", "b"]), Gemm={"transB": 1, "alpha": 0.5, "beta": 2.0}), w=W, b=b)
    assert scaled == [((W / 2).tolist(), [10.0, 12.0], "none")]
    assert read_layers(chain(("Gemm", ["w"]), **GEMM), w=W) == [(W.tolist(), [0.0, 0.0], "none")]
    ended = read_layers(chain(("MatMul", ["w"]), ("Relu", []), ("MatMul", ["w"]), ("Sigmoid", [])), w=W.T)
    assert ended == [(W.tolist(), [0.0, 0.0], "relu"), (W.tolist(), [0.0, 0.0], "sigmoid")]
    for single in (F(2), np.array([2], F), np.array([[2]], F)):
        doubled = read_layers(chain(("MatMul", ["w"]), ("Mul", ["c"])), w=W.T, c=single)
        assert doubled == [((2 * W).tolist(), [0.0, 0.0], "none")]
    row = read_layers(chain(("MatMul", ["w"]), ("MatMul", ["w"])), w=W.T)
    assert row == [(W.tolist(), [0.0, 0.0], "none")] * 2


@pytest.mark.parametrize(
    ("kind", "inputs", "weights", "biases"),
    [
        ("Add", ["$", "c"], [[1, 2], [3, 4]], [2, 4]),
        ("Add", ["c", "$"], [[1, 2], [3, 4]], [2, 4]),
        ("Sub", ["$", "c"], [[1, 2], [3, 4]], [-2, -4]),
        ("Sub", ["c", "$"], [[-1, -2], [-3, -4]], [2, 4]),
        ("Mul", ["$", "c"], [[2, 4], [12, 16]], [0, 0]),
        ("Mul", ["c", "$"], [[2, 4], [12, 16]], [0, 0]),
        ("Div", ["$", "c"], [[0.5, 1], [0.75, 1]], [0, 0]),
    ],
)
def test_what_is_done_with_a_constant_after_a_matrix_is_in_its_rows(
    kind: str, inputs: list[str], weights: list[Any], biases: list[Any]
) -> None:
    constant = np.array([2.0, 4.0], F)
    assert read_layers(chain(("MatMul", ["w"]), (kind, inputs)), w=W.T, c=constant) == [(weights, biases, "none")]


@pytest.mark.parametrize(
    ("kind", "inputs", "weights", "biases"),
    [
        ("Add", ["$", "c"], [[1, 2], [3, 4]], [10, 22]),
        ("Sub", ["$", "c"], [[1, 2], [3, 4]], [-10, -22]),
        ("Sub", ["c", "$"], [[-1, -2], [-3, -4]], [10, 22]),
        ("Mul", ["$", "c"], [[2, 8], [6, 16]], [0, 0]),
        ("Div", ["$", "c"], [[0.5, 0.5], [1.5, 1]], [0, 0]),
    ],
)
def test_what_is_done_with_a_constant_before_a_matrix_is_in_its_columns(
    kind: str, inputs: list[str], weights: list[Any], biases: list[Any]
) -> None:
    constant = np.array([2.0, 4.0], F)
    assert read_layers(chain((kind, inputs), ("MatMul", ["w"])), w=W.T, c=constant) == [(weights, biases, "none")]


def test_steps_before_and_after_a_matrix_follow_one_another() -> None:
    # ((x - 1) * 2) before, and (y + 3) / 2 after: W @ (2 x - 2), and half of it and of 3.
    nodes = chain(("Sub", ["one"]), ("Mul", ["two"]), ("MatMul", ["w"]), ("Add", ["three"]), ("Div", ["two"]))
    found = read_layers(nodes, w=W.T, one=F(1), two=F(2), three=F(3))
    assert found == [([[1.0, 2.0], [3.0, 4.0]], [-1.5, -5.5], "none")]


def test_what_has_no_matrix_is_a_layer_of_its_own() -> None:
    assert read_layers(chain(("Tanh", []), ("Mul", ["two"])), two=F(2)) == [
        ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], "tanh"),
        ([[2.0, 0.0], [0.0, 2.0]], [0.0, 0.0], "none"),
    ]
    assert read_layers(chain(("Add", ["c"]), ("Relu", [])), c=np.array([[1.0, 2.0]], F)) == [
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], "relu")
    ]
    one = read_layers(chain(("Mul", ["c"]), ("Relu", [])), c=np.ones(2, F))
    assert one == [([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], "relu")]
    (weights, _), *_ = read(chain(("Mul", ["c"]), ("Relu", [])), ["n", None], c=np.ones(3, F)).layers
    assert weights.shape == (3, 3), "the width is that of the constant"


def test_constants_may_be_operators_and_have_other_names() -> None:
    helper = onnx.helper
    nodes = [
        helper.make_node("Constant", [], ["w"], value=onnx.numpy_helper.from_array(W.T)),
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        helper.make_node("Constant", [], ["three"], value_int=3),
        helper.make_node("Identity", ["w"], ["again"]),
        *chain(("MatMul", ["again"]), ("Mul", ["half"]), ("Add", ["three"])),
    ]
    assert read_layers(nodes) == [((W / 2).tolist(), [3.0, 3.0], "none")]
    for dtype in (np.int64, np.uint8, np.float16, np.float64):
        assert read_layers(chain(("MatMul", ["w"])), w=W.T.astype(dtype)) == [(W.tolist(), [0.0, 0.0], "none")]
    for to in (1, 10, 11):
        assert read_layers(chain(("Cast", []), ("MatMul", ["w"]), Cast={"to": to}), w=W.T)


def refused(nodes: list[Any], shape: list[Any] | None = None, **constants: Any) -> str:
    with pytest.raises(LoadError) as error:
        read(nodes, shape, **constants)
    return str(error.value)


@pytest.mark.parametrize("kind", onnx_policy.SAME)
def test_what_changes_no_number_is_no_layer(kind: str) -> None:
    others = ["dims"] if kind in ("Reshape", "Squeeze", "Unsqueeze") else []
    found = read_layers(chain((kind, others), ("MatMul", ["w"])), w=W.T, dims=np.array([0]))
    assert found == [(W.tolist(), [0.0, 0.0], "none")]
    assert refused(chain((kind, others)), dims=np.array([0])) == "it has no layer"


def test_what_is_no_chain_is_refused_with_what_it_is() -> None:
    helper = onnx.helper
    assert refused(chain(("Cast", []), ("Tanh", []), Cast={"to": INT64})).startswith("its operator Cast makes")
    assert refused(chain(("Gemm", ["w"]), Gemm={"transA": 1}), w=W) == "its operator Gemm transposes what comes in"
    for kind, inputs in (("MatMul", ["w", "$"]), ("Gemm", ["w", "$"])):
        assert refused(chain((kind, inputs)), w=W) == (
            f"its operator {kind} does not multiply what comes in with a matrix"
        )
    assert "does not multiply" in refused(chain(("MatMul", ["w"])), w=W[0])
    assert "does not multiply" in refused(chain(("MatMul", ["w"])), w=np.zeros((2, 0), F))
    assert "a matrix takes 2 numbers, but 3 come in" in refused(chain(("MatMul", ["w"])), [1, 3], w=W)
    assert "is not finite" in refused(chain(("Add", ["c"]), ("Tanh", [])), c=F(np.nan))
    assert "of the shape [2, 1] for 2 numbers" in refused(chain(("Add", ["c"]), ("Tanh", [])), c=np.ones((2, 1), F))
    assert "divides by 0" in refused(chain(("Div", ["c"]), ("Tanh", [])), c=np.array([1, 0], F))
    text = helper.make_node("Constant", [], ["c"], value_string="a")
    assert refused([text, *chain(("Add", ["c"]))]) == "its constant `c` is no tensor"
    unknown = refused(chain(("Add", ["nowhere"]), ("Tanh", [])))
    assert unknown.startswith("its operator Add takes in and nowhere; an agent is one chain")
    twice = [helper.make_node("Add", ["in", "in"], ["out"])]
    assert "takes in and in" in refused(twice)


def test_an_agent_has_one_input_and_one_output() -> None:
    value = onnx.helper.make_tensor_value_info
    for inputs, outputs in ((["in", "other"], ["out"]), ([], ["out"]), (["in"], ["out", "more"])):
        graph = onnx.helper.make_graph(
            chain(("Tanh", [])), "g", [value(name, FLOAT, [1, 2]) for name in inputs],
            [value(name, FLOAT, None) for name in outputs],
        )  # fmt: skip
        with pytest.raises(LoadError, match=f"it has {len(inputs)} inputs and {len(outputs)} outputs"):
            onnx_policy.read(onnx.helper.make_model(graph, ir_version=8).SerializeToString())


def test_functions_and_sparse_constants_are_refused() -> None:
    made = model_of(chain(("Tanh", [])), {}, [1, 2])
    made.graph.sparse_initializer.add()
    with pytest.raises(LoadError, match="functions or sparse constants"):
        onnx_policy.read(made.SerializeToString())
    made = model_of(chain(("Tanh", [])), {}, [1, 2])
    made.functions.add()
    with pytest.raises(LoadError, match="functions or sparse constants"):
        onnx_policy.read(made.SerializeToString())


def test_layers_without_weights_have_at_most_so_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_policy, "WIDEST", 2)
    assert len(read(chain(("Tanh", []))).layers) == 1
    for shape in ([1, 3], ["n", None]):
        assert refused(chain(("Tanh", [])), shape) == (
            "an operator without weights has a width that is not known, or too large"
        )
    monkeypatch.setattr(onnx_policy, "MOST_WEIGHTS", 8)
    assert len(read(chain(("MatMul", ["w"]), ("MatMul", ["w"])), w=W.T).layers) == 2
    monkeypatch.setattr(onnx_policy, "MOST_WEIGHTS", 7)
    assert refused(chain(("MatMul", ["w"]), ("MatMul", ["w"])), w=W.T) == "its layers have more than 7 weights"


def test_what_is_written_is_a_chain_that_says_what_it_is() -> None:
    content = onnx_policy.written(
        [(W, [5.0, 6.0]), (W[:1], [7.0])], ["relu", "none"], {"interval": "1s", "activation": "relu"}
    )
    made = onnx.load_model_from_string(content)
    assert (made.ir_version, [entry.version for entry in made.opset_import], made.producer_name) == (
        8,
        [13],
        "dumbbell",
    )
    assert [(node.op_type, list(node.input), list(node.output)) for node in made.graph.node] == [
        ("Gemm", ["observation", "weight_0", "bias_0"], ["layer_0"]), ("Relu", ["layer_0"], ["active_0"]),
        ("Gemm", ["active_0", "weight_1", "bias_1"], ["action"]),
    ]  # fmt: skip
    shapes = [
        [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in (*made.graph.input, *made.graph.output)
    ]
    assert shapes == [[1, 2], [1, 1]]
    network = onnx_policy.read(content)
    assert network.told == {"interval": "1s"}
    assert list(network.activations) == ["relu", "none"]
    assert [(weights.tolist(), biases.tolist()) for weights, biases in network.layers] == [
        (W.tolist(), [5.0, 6.0]), (W[:1].tolist(), [7.0]),
    ]  # fmt: skip
    ended = onnx.load_model_from_string(onnx_policy.written([(W[:1], [7.0])], ["tanh"], {}))
    assert [list(node.output) for node in ended.graph.node] == [["layer_0"], ["action"]]
    with np.load(io.BytesIO(onnx_policy.converted(content))) as arrays:
        assert json.loads(bytes(arrays["agent"])) == {"interval": "1s", "activation": ["relu", "none"]}
        assert arrays["weight_1"].dtype == arrays["bias_0"].dtype == np.float32
        assert (arrays["weight_0"].tolist(), arrays["bias_1"].tolist()) == (W.tolist(), [7.0])
    untold = model_of(chain(("Tanh", [])), {}, [1, 2]).SerializeToString()
    assert onnx_policy.read(untold).told is None
    # What is beyond single precision is found by whoever reads it.
    with np.load(io.BytesIO(onnx_policy.npz([([[1e300]], [0.0])], {}))) as arrays:
        assert np.isinf(arrays["weight_0"]).all()
