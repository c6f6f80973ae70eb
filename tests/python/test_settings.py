"""Settings: each key of the schema is read, or refused; none is silently without effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import dumbbell as db
from dumbbell import ScenarioError, _core, experiment
from dumbbell.compare import scenario, variant, written

SCHEMA = json.loads(_core.schema())
NAMES = ("name", "kind", "profile")
"""Entries that say of which kind a table is."""

TRIED = ("3ms", "7ms", "1.5s", "37s", "3mbit", "7mbit", "3kB", "70kB", "3packets", "31packets", "1.5bdp", "3%", "7%")
"""Texts of which each key of texts takes some."""


class Leaf(NamedTuple):
    """A key that takes a value."""

    path: str
    needs: tuple[tuple[str, str], ...]
    """The kinds of the tables around it."""
    schema: dict[str, Any]


def known(node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].split("/")[-1]] | {key: node[key] for key in node if key != "$ref"}
    return node


def types(node: dict[str, Any]) -> set[str]:
    given = node.get("type", [])
    return {given} if isinstance(given, str) else set(given)


def below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def leaves(node: dict[str, Any], path: str, needs: tuple[tuple[str, str], ...] = ()) -> Iterator[Leaf]:
    """The keys below a place of the schema; a kind of each is enough where it has many."""
    node = known(node)
    forms = [form for form in node.get("allOf", ()) if "if" in form]
    for form in forms:
        said = form["if"].get("properties", {})
        kinds = [(key, said[key].get("const") or said[key]["enum"][0]) for key in NAMES if key in said]
        own = tuple((path, f"{{ {key} = {json.dumps(kind)} }}") for key, kind in kinds if path)
        if form["if"].get("type") != "null":
            yield from leaves(form.get("then", {}), path, (*needs, *own))
    for key, entry in node.get("properties", {}).items():
        if not (key in NAMES and ("const" in entry or "enum" in entry)):
            yield from leaves(entry, below(path, key), needs)
    if not forms and "properties" not in node and ("enum" in node or not {"object", "array"} & types(node)):
        yield Leaf(path, needs, node)


def values(schema: dict[str, Any]) -> list[Any]:
    """Values to try for a key, of which some are not its default."""
    if "enum" in schema:
        return list(schema["enum"])
    kinds = types(schema)
    low, high = schema.get("minimum", 0), schema.get("maximum", float("inf"))
    numbers: list[Any] = [low, low + 1, low + 2, low + 7, 30, 100, 1500, 9000] if kinds & {"integer", "number"} else []
    numbers += [0.3, 0.07, 1.3, 2.7, 0.9] if "number" in kinds else []
    found = [True, False] if "boolean" in kinds else []
    found += [number for number in numbers if low <= number <= high]
    return [*found, *([*schema.get("examples", ()), *TRIED, "1packet", "ecn"] if "string" in kinds else [])]


def hashes(document: dict[str, Any], settings: tuple[tuple[str, Any], ...]) -> list[str] | None:
    """What the points are with these settings; ``None`` where they are refused."""
    texts = [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in settings]
    try:
        return [point.content_hash for point in _core.load_json(json.dumps(document), "test", texts).points]
    except ScenarioError:
        return None


FLOW = {"cc": "bbr"}
PATH = {"path": {"rate": "10mbit", "rtt": "40ms"}, "flows": [FLOW]}
LINK = {"name": "link", "from": "a", "to": "b", "delay": "20ms"}
ENDS = {"from": "a", "to": "b"}
DOCUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "top": (PATH, {"properties": {key: SCHEMA["properties"][key] for key in ("duration", "record", "seed")}}, ""),
    "transport": (PATH, SCHEMA["properties"]["transport"], "transport"),
    "path": (PATH, SCHEMA["properties"]["path"], "path"),
    "flow": (PATH, SCHEMA["$defs"]["FlowSpec"], "flows[0]"),
    "link": ({"links": [LINK | {"rate": "10mbit"}], "flows": [FLOW | ENDS]}, SCHEMA["$defs"]["LinkSpec"], "links[0]"),
    "radio": ({"links": [LINK | {"wifi": {}}], "flows": [FLOW | ENDS]}, SCHEMA["$defs"]["LinkSpec"], "links[0]"),
}

ONLY_DEFAULT = {
    "saved_cwnd": [0],
    "hard_drop": [False],
    "no_drop": [False],
    "ingress": [False],
    "duplex": [True],
    "reverse": ["symmetric"],
}
"""Keys whose other values the documents above refuse: these are what they have already."""


PROFILES = {"quic": "quic", "probe": "probe", "real_time": "real-time"}
"""The endpoints that read a table of `transport`; others refuse it."""


def read_by(leaf: Leaf, document: dict[str, Any]) -> tuple[dict[str, Any], Leaf]:
    """The document with endpoints that read a key, and the key with what it needs."""
    path, _, table = leaf.path.rpartition(".")[0].rpartition(".")
    if not path.endswith("transport") or table not in PROFILES:
        return document, leaf
    need = (path, f"{{ profile = {json.dumps(PROFILES[table])} }}")
    # Probes and calls have no controller.
    flows = document["flows"] if table == "quic" else [{}]
    return document | {"flows": flows}, leaf._replace(needs=(*leaf.needs, need))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_key_of_the_schema_changes_the_experiment_or_is_refused(name: str) -> None:
    given, schema, path = DOCUMENTS[name]
    found, silent = 0, []
    for each in leaves(schema, path):
        document, leaf = read_by(each, given)
        before = hashes(document, leaf.needs)
        taken: list[Any] = []
        for value in values(leaf.schema):
            after = hashes(document, (*leaf.needs, (leaf.path, value)))
            if after is not None and after != before:
                taken = []
                break
            taken += [value] if after is not None else []
        found += 1
        # Of several forms of one key, such as a trace by name or by number, another may change the experiment.
        if taken and taken != ONLY_DEFAULT.get(leaf.path.rsplit(".", 1)[-1]):
            silent.append((leaf.path, leaf.needs, taken))
    assert found >= (3 if name == "top" else 100)
    assert silent == []


SWEPT = PATH | {"sweep": {"flows[0].cc": ["bbr", "cubic"], "path.loss": ["0%", "1%"]}}


@pytest.mark.parametrize("key", ["flows[0].cc.steady_window_gain", "flows[0].cc.nonsense", "flows[*].cc", "path.loss"])
def test_a_setting_that_a_sweep_replaces_is_refused(key: str) -> None:
    with pytest.raises(ScenarioError, match=r"changes nothing: the sweep replaces"):
        experiment.load(SWEPT, set={key: "3"})


def test_a_setting_beside_what_is_swept_counts_in_every_point() -> None:
    plain, changed = (experiment.load(SWEPT, set=given).points for given in ({}, {"path.rtt": "60ms"}))
    assert all(one.content_hash != other.content_hash for one, other in zip(plain, changed, strict=True))


def test_an_algorithm_with_changed_parameters_stands_beside_itself() -> None:
    runs = db.compare("bbr", "bbr:steady_window_gain=1.1:drain_gain=0.5", duration="5s", buffer="4bdp", progress=False)
    names = runs.flows.to_polars()["label"].to_list()
    assert names == ["bbr", "bbr:steady_window_gain=1.1:drain_gain=0.5"]
    plain, changed = runs.flows.to_polars()["mean_rtt_ms"].to_list()
    assert plain != changed
    written = {"name": "bbr", "steady_window_gain": 1.1, "drain_gain": 0.5}
    document = scenario(["bbr"], duration="5s", buffer="4bdp") | {"flows": [{"cc": written}]}
    assert db.run(document).flows.to_polars()["mean_rtt_ms"].item() == changed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bbr:drain_gain", "NAME:PARAMETER=VALUE"),
        ("bbr:drain_gain=", "NAME:PARAMETER=VALUE"),
        (":drain_gain=1", "NAME:PARAMETER=VALUE"),
        ("bbr:drain_gain=0.5:drain_gain=0.6", "drain_gain is given twice"),
        ("bbr:nonsense=3", "bbr has no parameter `nonsense`"),
        ("bbq:drain_gain=1", "unknown algorithm `bbq`"),
    ],
)
def test_what_is_no_algorithm_with_changed_parameters_is_refused(name: str, said: str) -> None:
    with pytest.raises((ValueError, ScenarioError), match=said):
        db.compare("cubic", name, duration="5s", progress=False)


def test_a_comparison_is_an_experiment_with_a_sweep_over_all_that_is_several() -> None:
    assert scenario(["bbr"]) == {
        "duration": "60s", "warmup": "10s", "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp", "loss": "0%"},
        "flows": [{"cc": "bbr"}],
    }  # fmt: skip
    several = scenario(
        ["bbr", "cubic"], rate=["1mbit", "2mbit"], rtt="9ms", loss=["0%", "1%"], duration="5s", repeat=3
    )  # fmt: skip
    assert several["path"] == {"rate": "1mbit", "rtt": "9ms", "buffer": "1bdp", "loss": "0%"}
    assert several["flows"] == [{"cc": "bbr"}]
    assert list(several["sweep"].items()) == [
        ("path.rate", ["1mbit", "2mbit"]), ("path.loss", ["0%", "1%"]), ("flows[0].cc", ["bbr", "cubic"]),
        ("repeat", 3),
    ]  # fmt: skip
    assert several["warmup"] == "0.833s"
    assert scenario(["bbr"], duration="x")["warmup"] == "0s"
    assert scenario(["bbr"], warmup="1s")["warmup"] == "1s"
    assert scenario(["bbr"], repeat=2)["sweep"] == {"repeat": 2}
    assert scenario(["bbr", "cubic"])["sweep"] == {"flows[0].cc": ["bbr", "cubic"], "repeat": 1}
    traced = scenario(["bbr"], trace="my.up")
    assert traced["path"] == {"rtt": "40ms", "buffer": "1bdp", "loss": "0%", "trace": "my.up"}
    with pytest.raises(ValueError, match="name at least one algorithm"):
        scenario([])
    with pytest.raises(ValueError, match="not both"):
        scenario(["bbr"], trace="my.up", rate="1mbit")


def test_algorithms_together_are_flows_that_may_have_round_trips_of_their_own() -> None:
    together = scenario(["bbr", "cubic", "bbr"], together=True)
    assert together["flows"] == [{"cc": "bbr"}, {"cc": "cubic"}, {"cc": "bbr"}]
    assert "sweep" not in together
    apart = scenario(["bbr", "cubic", "bbr", "bbr"], together=True, rtt=["30ms", "20ms", "100ms", "30ms"])
    assert apart["path"]["rtt"] == "20ms"
    assert [(flow["rtt"], flow["label"]) for flow in apart["flows"]] == [
        ("30ms", "bbr 30ms"), ("20ms", "cubic"), ("100ms", "bbr 100ms"), ("30ms", "bbr 30ms 3"),
    ]  # fmt: skip
    assert "sweep" not in apart
    one = scenario(["bbr", "cubic"], together=True, rtt=["30ms"])
    assert one["path"]["rtt"] == "30ms" and "rtt" not in one["flows"][0]
    swept = scenario(["bbr", "cubic"], rtt=["30ms", "20ms"])
    assert swept["sweep"]["path.rtt"] == ["30ms", "20ms"]
    with pytest.raises(ValueError, match="3 round-trip times for 2 algorithms; give one, or one for each"):
        scenario(["bbr", "cubic"], together=True, rtt=["1ms", "2ms", "3ms"])


class Mine:
    """A class of one's own."""

    def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
        conn.cwnd = 5


def test_an_algorithm_is_a_name_with_parameters_a_class_a_file_or_a_program() -> None:
    assert variant("bbr") is None
    assert variant("bbr:drain_gain=0.5:startup=fast:on=true") == {
        "base": "bbr", "drain_gain": 0.5, "startup": "fast", "on": True,
    }  # fmt: skip
    assert variant("mine.py:Mine") == {"python": "mine.py:Mine"}
    assert variant("mine.py:Mine:gain=2") == {"python": "mine.py:Mine", "gain": 2}
    assert variant("mine.py") == {"python": "mine.py"}, "the engine says which classes there are"
    assert variant("bpf:name") is None
    for wrong in ("bbr:a", "bbr:=1", "bbr:a=", ":a=1"):
        with pytest.raises(ValueError, match="is NAME:PARAMETER=VALUE"):
            variant(wrong)
    with pytest.raises(ValueError, match="base is given twice"):
        variant("bbr:base=1")
    assert written("bbr") == "bbr"
    assert written("bbr:drain_gain=0.5") == {"name": "bbr", "drain_gain": 0.5}
    assert written(Mine) == {"python": Mine}
    assert written({"name": "bbr"}) == {"name": "bbr"}
    document = scenario([Mine, "bbr", "bbr:drain_gain=0.5"])
    assert document["presets"] == {
        "Mine": {"python": Mine}, "bbr:drain_gain=0.5": {"base": "bbr", "drain_gain": 0.5},
    }  # fmt: skip
    assert document["sweep"]["flows[0].cc"] == ["Mine", "bbr", "bbr:drain_gain=0.5"]


def test_a_loss_of_all_packets_is_refused_and_one_in_percent_is_as_written() -> None:
    assert scenario(["bbr"], loss=["0.99", "100%", "x"])["sweep"]["path.loss"] == ["0.99", "100%", "x"]
    for word in ("1", "5"):
        with pytest.raises(ValueError, match=f"a loss of {word} is {word}00 % of all packets; write {word}%"):
            scenario(["bbr"], loss=word)
