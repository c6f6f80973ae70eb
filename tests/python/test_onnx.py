"""Trained agents as ONNX models: what becomes of them, and what is refused."""

from __future__ import annotations

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
