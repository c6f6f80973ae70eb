"""Joins the live page, ``crates/web/page``, and the engine as WebAssembly into one HTML file that loads nothing.

Used by ``make live``: ``live_page.py ENGINE.wasm PAGE.html``. Modules stay modules: an import map has each as a data
URL. The policy of the page lets these scripts run and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "crates/web/page"
LIBRARY = ROOT / "python/dumbbell/pages/uplot"
MODULES = ("address", "charts", "curves", "dom", "engine", "flows", "looks", "page", "pictures", "sliders", "tables")
START = "BBR beside CUBIC"
EXAMPLES = {
    "A flow that comes late": "late-comer",
    "A link that falls to a hundredth": "rate-drop",
    "A cellular link": "cellular",
    "A policer": "policer",
    "Prague beside CUBIC (L4S)": "l4s",
    "Two round-trip times": "knife-edge",
    "TCP and QUIC, packets overtake": "transports",
    "Short flows beside a long one": "short-flows",
}
"""Presets that are files of ``examples``."""

LIMIT = 3_000_000
"""The most bytes that the page may have."""


def page(engine: bytes) -> str:
    """The page with this engine."""
    library = (LIBRARY / "uPlot.iife.min.js").read_text("utf-8")
    modules = json.dumps({"imports": {f"live/{name}": _url(f"{name}.js") for name in MODULES}})
    parts = {
        "LIBRARY_STYLE": (LIBRARY / "uPlot.min.css").read_text("utf-8"),
        "STYLE": _source("style.css"),
        "LICENSE": (LIBRARY / "LICENSE").read_text("utf-8"),
        "LIBRARY": library,
        "MODULES": modules,
        "WORKER": _source("worker.js"),
        "PRESETS": json.dumps(presets()).replace("<", "\\u003c"),
        "ENGINE": base64.b64encode(_packed(engine)).decode("ascii"),
        "POLICY": _policy(library, modules, 'import "live/page";'),
    }
    text = _source("page.html")
    for name, part in parts.items():
        before, found, after = text.partition(f"{{{{{name}}}}}")
        assert found, f"page.html has no place for {name}"
        text = before + part + after
    return text


def presets() -> list[dict[str, str]]:
    """Names and texts of the experiments to choose from, the first of which the page starts with."""
    found = [{"name": START, "toml": _source("start.toml")}]
    for name, file in EXAMPLES.items():
        text = (ROOT / f"examples/{file}.toml").read_text("utf-8")
        found.append({"name": name, "toml": text.removeprefix("#:schema ../.venv/experiment.schema.json\n")})
    return found


def _source(name: str) -> str:
    return (SOURCES / name).read_text("utf-8")


def _url(name: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(_source(name).encode()).decode("ascii")


def _packed(engine: bytes) -> bytes:
    """Compressed without a head, as browsers unpack it by themselves."""
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(engine) + packer.flush()


def _policy(*scripts: str) -> str:
    sums = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii") for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in sums)
    return (
        f"default-src 'none'; script-src {allowed} data: 'wasm-unsafe-eval'; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src data:"
    )


def main(engine: Path, into: Path) -> None:
    """Writes the page, or ends with a sentence if it is too large."""
    text = page(engine.read_bytes()).encode()
    if len(text) > LIMIT:
        sys.exit(f"the page has {len(text):,} bytes; it may have {LIMIT:,}")
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_bytes(text)
    print(f"{into} ({len(text) / 1e6:.2f} MB)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
