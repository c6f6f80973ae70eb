"""The JSON Schema: it accepts what the program accepts, and one mistake is one message."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from dumbbell import ScenarioError, _core, experiment

tomllib = pytest.importorskip("tomllib")

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.toml"))


@cache
def validator() -> Any:
    schema = json.loads(_core.schema())
    # A name for editors; this library would look for it on the network.
    assert schema.pop("$id") == f"urn:dumbbell:experiment:{_core.__version__}"
    return fastjsonschema.compile(schema)


def document(**changed: Any) -> dict[str, Any]:
    path = {"rate": "10mbit", "rtt": "40ms"} | changed.pop("path", {})
    flow = {"cc": "bbr"} | changed.pop("flow", {})
    return {"path": path, "flows": [flow]} | changed


def test_the_schema_is_for_editors() -> None:
    assert json.loads(_core.schema())["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_example_names_the_schema_for_editors() -> None:
    assert {path.read_text().splitlines()[0] for path in EXAMPLES} == {"#:schema ../.venv/experiment.schema.json"}


@pytest.mark.parametrize(
    "path", [*EXAMPLES, *sorted((FOLDER / "adversary").rglob("*.toml"))], ids=lambda path: path.stem
)
def test_every_example_is_valid(path: Path) -> None:
    validator()(tomllib.loads(path.read_text()))


def test_an_algorithm_of_ones_own_is_named_by_its_place() -> None:
    validator()(document(flow={"cc": {"python": "mine.py:Mine", "gain": 2}}))
    validator()(document(flow={"cc": {"library": "./libmine.so"}}))
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validator()(document(flow={"cc": {"python": 3}}))


MISTAKES = [
    (document(flow={"cc": "cubik"}), "cubic"),
    (document(flow={"cc": {"name": "cubik"}}), "cubic"),
    (document(path={"rate": "10mbps"}), "pattern"),
    (document(duration="60x"), "pattern"),
    (document(path={"buffer": "2"}), "pattern"),
    (document(path={"loss": "1 percent"}), "pattern"),
    (document(path={"queue": "codle"}), "codel"),
    (document(path={"queue": {"kind": "codle"}}), "codel"),
    (document(path={"queue": {"kind": "codel", "taget": "5ms"}}), "taget"),
    (document(flow={"cc": {"name": "bbr", "steady_gain": 2}}), "steady_gain"),
    (document(vary_rtt="1bdp"), "pattern"),
    (document(durration="5s"), "durration"),
]


@pytest.mark.parametrize(("wrong", "said"), MISTAKES)
def test_a_mistake_is_refused_with_what_is_wrong(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaException) as caught:
        validator()(wrong)
    message = str(caught.value)
    assert said in message
    # Not the summary of an `anyOf`, which names no form.
    assert "cannot be validated by any definition" not in message
    with pytest.raises(ScenarioError):
        experiment.load(wrong)


def test_presets_of_the_file_are_names_too() -> None:
    validator()(document(flow={"cc": "mine"}, presets={"mine": {"base": "bbr", "steady_window_gain": 1.5}}))
    validator()(document(flow={"cc": {"name": "mine"}}, include="base.toml"))


SPELLINGS = {
    "rate": ["10mbit", "10 Mbit/s", "1.5Gbps", "1e6bit", "64kibit", "10Kbps", "5mbitps", "0", ".5mbit", "10mbits"],
    "rtt": ["20ms", "1.5s", "2min", "1e-3s", "5 us", "5µs", "40000000ns", "1sec"],
    "buffer": ["1bdp", "100packets", "100p", "64kB", "50ms", "unlimited", "1.5BDP", "1 MiB"],
    "loss": ["1%", "0.1 %", "0.001", "0"],
}
NOT_SPELLINGS = {
    "rate": ["10", "10mbps", "10MBps", "10M", "mbit", "-1mbit"],
    "rtt": ["5m", "5", "ms", "-1ms"],
    "buffer": ["100", "64kb", "big"],
    "loss": ["-1%", "some", "1%%"],
}


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in SPELLINGS.items() for text in texts])
def test_what_the_program_reads_the_schema_accepts(key: str, text: str) -> None:
    validator()(document(path={key: text}))
    if text != "0" or key != "rate":
        experiment.load(document(path={key: text}))


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in NOT_SPELLINGS.items() for text in texts])
def test_what_the_program_refuses_for_its_spelling_the_schema_refuses(key: str, text: str) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaException, match=re.escape(key)):
        validator()(document(path={key: text}))
    with pytest.raises(ScenarioError):
        experiment.load(document(path={key: text}))
