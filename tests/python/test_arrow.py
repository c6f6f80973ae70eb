"""Tables by Arrow's C data interface, read as a consumer in C reads them."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import polars as pl

from dumbbell import Result, _core

NULLABLE = 2


class Schema(ctypes.Structure):
    """``struct ArrowSchema``."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]


def schema(capsule: object) -> Any:
    """What a capsule holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.POINTER(Schema), [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, b"arrow_schema").contents


def metadata(field: Any) -> dict[str, str]:
    """Pairs of texts, each behind its length, behind their number."""
    at = field.metadata
    texts = []

    def number() -> int:
        nonlocal at
        at += 4
        return ctypes.c_int32.from_address(at - 4).value

    for _ in range(2 * number()):
        length = number()
        texts.append(ctypes.string_at(at, length).decode())
        at += length
    return dict(zip(texts[::2], texts[1::2], strict=True))


def source(result: Result) -> _core.Table:
    """The engine's table of flows."""
    table = result.flows._source
    assert isinstance(table, _core.Table)
    return table


def test_a_schema_names_types_units_and_meanings(result: Result) -> None:
    capsule = source(result).__arrow_c_schema__()
    of = schema(capsule)
    fields = {one.name.decode(): one for one in (of.children[place].contents for place in range(of.n_children))}
    assert (of.format, list(fields)) == (b"+s", result.flows.columns)
    types = {name: fields[name].format for name in ("flow", "goodput_mbps", "retransmits", "label")}
    assert types == {"flow": b"I", "goodput_mbps": b"g", "retransmits": b"L", "label": b"u"}
    described = metadata(fields["goodput_mbps"])
    assert described["unit"] == "Mbit/s" and described["description"].endswith(".")
    frame = result.flows.to_polars()
    nullable = {name for name, field in fields.items() if field.flags & NULLABLE}
    assert nullable == {name for name in frame.columns if frame[name].null_count()}
    (named,) = [name for name, field in fields.items() if field.dictionary and name == "algorithm"]
    assert fields[named].dictionary.contents.format == b"u"


def test_a_child_outlives_the_schema_that_it_was_moved_out_of(result: Result) -> None:
    capsule = source(result).__arrow_c_schema__()
    of = schema(capsule)
    theirs = of.children[1].contents
    moved = Schema.from_buffer_copy(theirs)
    theirs.release = RELEASE()
    of.release(ctypes.byref(of))
    assert not of.release
    del of, theirs, capsule
    gc.collect()
    assert moved.name == result.flows.columns[1].encode()
    moved.release(ctypes.byref(moved))
    assert not moved.release


def test_columns_outlive_the_table_that_they_come_from(result: Result) -> None:
    kept = result.series.to_polars()
    joined = _core.joined([source(result), source(result)])
    column = pl.DataFrame(joined)["goodput_mbps"]
    streams = [joined.__arrow_c_stream__() for _ in range(2)]
    del joined, streams
    gc.collect()
    assert column.to_list() == 2 * result.flows.to_polars()["goodput_mbps"].to_list()
    assert kept.equals(result.series.to_polars())


def test_what_a_joined_table_lacks_is_null(result: Result) -> None:
    links = result.links._source
    assert isinstance(links, _core.Table)
    frame = pl.DataFrame(_core.joined([source(result), links, source(result)]))
    flows, of_links = result.flows.to_polars(), result.links.to_polars()
    assert frame["run"].to_list() == [0] * flows.height + [1] * of_links.height + [2] * flows.height
    for run, part in enumerate((flows, of_links, flows)):
        rows = frame.filter(pl.col("run") == run)
        assert rows.select(part.columns).to_dicts() == part.to_dicts()
        others = [name for name in frame.columns if name not in ("run", *part.columns)]
        assert rows.select(others).null_count().row(0) == (rows.height,) * len(others)
