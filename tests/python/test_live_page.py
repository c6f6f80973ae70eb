"""The live page: the engine in WebAssembly, and what a browser makes of it.

The page is what ``make live`` has built; without it, or where it is older than its sources, these tests are skipped.
Those of the engine need the package ``wasmtime``, those of the page a browser (``browsers.py``).
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import browsers
import dumbbell as db
import scripts
from browsers import SCHEMES, WIDTHS, objections, opened
from dumbbell import _core

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "out/live/index.html"


live = scripts.load("docs/site/live_page.py")
PRESETS = {preset["name"]: preset["toml"] for preset in live.presets()}
START = PRESETS[live.START]


@cache
def is_built() -> bool:
    asked = ["make", "--question", str(PAGE.relative_to(ROOT))]
    return PAGE.is_file() and subprocess.run(asked, cwd=ROOT).returncode == 0


@pytest.fixture(scope="module")
def page_file() -> Path:
    if not is_built():
        pytest.skip("needs the page of `make live`")
    return PAGE


def native(toml: str, point: int = 0) -> dict[str, str]:
    """The tables of the native engine, as Polars writes them."""
    output = _core.load(toml, "experiment.toml", []).points[point].run(_core.CancelToken())
    tables = {"flows": output.flows, "links": output.links, "traffic": output.traffic, "datagrams": output.datagrams}
    return {name: pl.DataFrame(table).write_csv() for name, table in tables.items() if len(table)}


@pytest.mark.parametrize("name", PRESETS)
def test_an_experiment_to_choose_runs_in_a_page(name: str) -> None:
    # A page has no files: what it names must be all there is.
    points = _core.load(PRESETS[name], "/nowhere/experiment.toml", []).points
    assert 1 <= len(points) <= 10


# --- an experiment of one's own -------------------------------------------------------------------------------------


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """What a live page has of experiments to choose from."""
    file = tmp_path / "page.html"
    file.write_text('<script type="application/json" id="presets">[{"name": "a", "toml": "b"}]</script>')
    return file


@pytest.mark.parametrize("name", PRESETS)
def test_a_page_begins_with_the_given_experiment(tmp_path: Path, stand_in: Path, name: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(PRESETS[name] + "# </script>\n", "utf-8")
    saved = db.live_page(file, page=stand_in).save(tmp_path / "mine.html").read_text("utf-8")
    assert saved.count("</script>") == 1
    first, second = json.loads(re.sub("</?script[^>]*>", "", saved))
    assert first == {"name": "Yours", "toml": file.read_text("utf-8")}
    assert second == {"name": "a", "toml": "b"}


def test_a_dictionary_becomes_the_same_experiment(tmp_path: Path, stand_in: Path) -> None:
    document = {"duration": "1s", "path": {"rate": "1mbit", "rtt": "40ms"}, "flows": [{"cc": "bbr", "label": 'a "b"'}]}
    page = db.live_page(document, page=stand_in).html
    toml = json.loads(re.sub("</?script[^>]*>", "", page))[0]["toml"]
    (mine,), (theirs,) = (_core.load(toml, "a.toml", []).points, _core.load_json(json.dumps(document), "b", []).points)
    assert mine.content_hash == theirs.content_hash


def test_what_cannot_be_a_page_is_told(tmp_path: Path) -> None:
    document = {"path": {"rate": "1mbit", "rtt": "40ms"}, "flows": [{"cc": "bbr"}]}
    with pytest.raises(FileNotFoundError, match="make live"):
        db.live_page(document, page=tmp_path / "missing.html")
    (tmp_path / "other.html").write_text("<p>another</p>")
    with pytest.raises(ValueError, match=r"other\.html is not the live page"):
        db.live_page(document, page=tmp_path / "other.html")
    with pytest.raises(db.ScenarioError, match="rtt"):
        db.live_page({"path": {"rate": "1mbit"}, "flows": [{"cc": "bbr"}]}, page=tmp_path / "other.html")


# --- the engine -----------------------------------------------------------------------------------------------------

QUESTIONS: dict[str, str] = {
    **PRESETS,
    "names in need of quotes": START.replace('cc = "cubic"', 'cc = "cubic"\nlabel = "one, \\"two\\" and three"'),
    "chance": START.replace('loss = "0%"', 'loss = "1%"\nqueue = "red"\njitter = "1ms"'),
    "more flows than packets": START.replace('cc = "cubic"', 'cc = "cubic"\ncount = 20'),
    "calls": 'duration = "5s"\npath = { rate = "2mbit", rtt = "40ms" }\nflows = [{ transport = "real-time" }]',
}


@pytest.fixture(scope="module")
def engine(page_file: Path) -> Any:
    """A function that asks the engine of the page, outside of a browser, and returns the head of the answer."""
    wasmtime = pytest.importorskip("wasmtime")
    packed = re.search(r'id="engine">(.+?)</script>', page_file.read_text("utf-8"))
    assert packed
    store = wasmtime.Store()
    module = wasmtime.Module(store.engine, zlib.decompress(base64.b64decode(packed[1]), wbits=-15))
    exports = wasmtime.Instance(store, module, []).exports(store)

    def ask(question: object) -> Any:
        text = json.dumps(question).encode()
        exports["memory"].write(store, text, exports["question"](store, len(text)))
        length = exports["answer"](store)
        start = exports["answer_place"](store)
        answer = bytes(exports["memory"].read(store, start, start + length))
        return json.loads(answer[4 : 4 + int.from_bytes(answer[:4], "little")])

    return ask


@pytest.mark.parametrize("name", QUESTIONS)
def test_tables_of_the_page_have_the_bytes_of_the_native_engine(engine: Any, name: str) -> None:
    run = engine({"run": {"toml": QUESTIONS[name]}})["run"]
    assert run["tables"] == native(QUESTIONS[name])
    assert run["contentHash"] == _core.load(QUESTIONS[name], "experiment.toml", []).points[0].content_hash


@pytest.mark.parametrize("line", ['include = "other.toml"', 'path = { trace = "link.up", rtt = "40ms" }'])
def test_a_file_is_refused_with_the_reason(engine: Any, line: str) -> None:
    (error,) = engine({"run": {"toml": line + '\nflows = [{ cc = "bbr" }]\n'}})["errors"]
    assert "a page has no files" in error["text"]
    assert error["line"] == 1


# --- the page -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(page_file: Path) -> Iterator[Any]:
    with browsers.chromium() as found:
        yield found


def drawn(page: Any) -> None:
    """Waits until the first run is drawn, and the address has it."""
    page.locator(".uplot").first.wait_for()
    page.wait_for_function("location.hash.startsWith('#toml=')")


def pixels(page: Any, chart: str = "throughput") -> str:
    shown: str = page.evaluate("name => document.querySelector(`#chart-${name} canvas`).toDataURL()", chart)
    return shown


def until_it_differs(page: Any, before: str, chart: str = "throughput") -> None:
    code = "([name, old]) => document.querySelector(`#chart-${name} canvas`).toDataURL() !== old"
    page.wait_for_function(code, arg=[chart, before])


def address_after(page: Any, before: str) -> str:
    """The part of the address behind ``#`` when it is another one than before."""
    page.wait_for_function("old => location.hash !== old", arg=before)
    shown: str = page.evaluate("location.hash")
    return shown


def table(page: Any, name: str = "flows") -> str:
    """The text of a table that the page shows."""
    details = page.locator(f"#{name}-csv")
    if not details.evaluate("one => one.open"):
        details.locator("summary").click()
    text: str = details.locator("pre").text_content()
    return text


@browsers.needed
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_silent_and_everybody_can_use_it(browser: Any, width: int, scheme: str) -> None:
    with opened(browser, PAGE, width, color_scheme=scheme) as page:
        drawn(page)
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert objections(page) == []
        page.locator("#toml").fill(START.replace("20mbit", "20mbps"))
        page.locator(".problem").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert objections(page) == []


@browsers.needed
def test_the_policy_of_the_page_lets_it_run_and_nothing_else(browser: Any) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(PAGE.as_uri())
    page.locator(".uplot").nth(3).wait_for()
    assert said == []
    assert "default-src 'none'" in page.locator("meta[http-equiv]").get_attribute("content")
    page.close()


@browsers.needed
def test_a_slider_changes_the_pictures_the_text_and_the_address(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        before, address = pixels(page), page.evaluate("location.hash")
        slider = page.get_by_role("slider", name="Rate")
        slider.focus()
        page.keyboard.press("ArrowRight")
        until_it_differs(page, before)
        assert slider.get_attribute("aria-valuetext") == "25mbit"
        address_after(page, address)
        assert page.locator("#toml").input_value() == START.replace("20mbit", "25mbit")


@browsers.needed
def test_a_slider_that_moves_quickly_ends_with_its_last_value(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        slider = page.get_by_role("slider", name="Round trip")
        slider.focus()
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        last = START.replace("40ms", slider.get_attribute("aria-valuetext"))
        page.wait_for_function("text => document.getElementById('toml').value === text", arg=last)
        assert table(page) == native(last)["flows"]


@browsers.needed
def test_a_newer_experiment_ends_a_long_one(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        before = pixels(page)
        page.locator("#toml").fill(START.replace('"10s"', '"1000000s"'))
        page.wait_for_timeout(300)
        short = START.replace('"10s"', '"3s"')
        page.locator("#toml").fill(short)
        until_it_differs(page, before)
        assert table(page) == native(short)["flows"]


@browsers.needed
def test_what_is_typed_while_the_engine_is_at_work_stays(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        page.get_by_label("Experiment", exact=True).select_option("A flow that comes late")
        comment = "# typed while the first answer is on its way"
        page.locator("#toml").press_sequentially(comment, delay=30)
        expected = page.locator("#toml").input_value()
        assert comment in expected
        page.wait_for_function("text => document.getElementById('commands').textContent.includes(text)", arg=expected)
        assert page.locator("#toml").input_value() == expected


@browsers.needed
@pytest.mark.parametrize("name", ["chance", "names in need of quotes", "Short flows beside a long one"])
def test_an_address_gives_the_result_and_its_bytes(browser: Any, name: str) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        address = page.evaluate("location.hash")
        page.locator("#toml").fill(QUESTIONS[name])
        address = address_after(page, address)
    with opened(browser, PAGE, fragment=address) as page:
        drawn(page)
        assert page.locator("#toml").input_value() == QUESTIONS[name]
        expected = native(QUESTIONS[name])
        assert {one: table(page, one) for one in expected if one != "links"} == {
            one: text for one, text in expected.items() if one != "links"
        }


@browsers.needed
def test_a_run_of_a_sweep_is_chosen_and_is_in_the_address(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        page.get_by_label("Experiment", exact=True).select_option("A policer")
        page.get_by_label("Run of the sweep").select_option(index=2)
        page.wait_for_function("location.hash.endsWith('&run=2')")
        assert table(page) == native(PRESETS["A policer"], 2)["flows"]
        address = page.evaluate("location.hash")
    with opened(browser, PAGE, fragment=address) as page:
        drawn(page)
        assert table(page) == native(PRESETS["A policer"], 2)["flows"]


@browsers.needed
def test_the_way_to_the_commands_leaves_the_experiment_in_the_address(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        address = page.evaluate("location.hash")
        page.get_by_role("link", name="Run this on your machine").click()
        assert page.evaluate("document.activeElement.id") == "copy-commands"
        assert page.evaluate("location.hash") == address


@browsers.needed
def test_the_list_of_experiments_knows_a_changed_one_and_brings_the_first_back(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        chosen = page.get_by_label("Experiment", exact=True)
        assert chosen.locator("option:checked").text_content() == live.START
        page.get_by_label("Buffer, exact").fill("4bdp")
        page.keyboard.press("Enter")
        page.wait_for_function("document.getElementById('preset').value === ''")
        assert page.locator("#toml").input_value() == START.replace("1bdp", "4bdp")
        chosen.select_option(live.START)
        page.wait_for_function("document.querySelector('[aria-label=\"Buffer, exact\"]').value === '1bdp'")
        assert page.locator("#toml").input_value() == START


@browsers.needed
def test_what_cannot_be_drawn_is_told(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        page.locator("#toml").fill("record.series = false\n" + START)
        page.wait_for_function("document.querySelectorAll('.uplot').length === 0")
        assert "records no time series" in page.locator("#cost").text_content()
        page.locator("#toml").fill(START.replace('cc = "cubic"', 'cc = "cubic"\ncount = 20'))
        drawn(page)
        assert "12 of 21 flows are drawn" in page.locator("#cost").text_content()
        assert table(page) == native(page.locator("#toml").input_value())["flows"]


@browsers.needed
def test_a_damaged_address_is_told(browser: Any) -> None:
    with opened(browser, PAGE, fragment="#toml=AAAA") as page:
        drawn(page)
        assert "link is damaged" in page.get_by_role("status").text_content()
        assert page.locator("#toml").input_value() == START


@browsers.needed
def test_an_error_stands_at_its_line(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        page.locator("#toml").fill(START.replace("20mbit", "20mbps"))
        problem = page.locator(".problem")
        problem.wait_for()
        line = START.splitlines().index('rate = "20mbit"') + 1
        assert re.search(rf'"20mbps".*experiment\.toml:{line}:8 \(path\.rate\)', problem.text_content(), re.DOTALL)
        assert page.locator("#lines .wrong").all_text_contents() == [str(line)]
        page.get_by_role("button", name=f"Go to line {line}").click()
        selected = "getSelection().toString()"
        assert page.evaluate(selected) == 'rate = "20mbps"'
        page.locator("#toml").fill(START)
        problem.wait_for(state="detached")
        assert page.locator("#lines .wrong").count() == 0


STOPS_ONCE = """
const Real = Worker;
let asked = 0;
globalThis.Worker = class extends Real {
  postMessage(data) {
    asked += typeof data === "string";
    if (asked === 2 && typeof data === "string") this.onmessage({ data: "RuntimeError: unreachable" });
    else super.postMessage(data);
  }
};
"""
"""A worker whose engine stops at the second question, which is the first experiment."""


@browsers.needed
def test_an_engine_that_stopped_is_told_and_begins_anew(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    text = PAGE.read_text("utf-8")
    file.write_text(
        text.replace('<script type="importmap">', f'<script>{STOPS_ONCE}</script><script type="importmap">')
    )
    with opened(browser, file) as page:
        page.locator(".problem").wait_for()
        assert "The engine stopped in this experiment" in page.locator(".problem").text_content()
        page.locator("#toml").fill(START.replace("20mbit", "10mbit"))
        drawn(page)
        assert page.locator(".problem").count() == 0
        assert table(page) == native(START.replace("20mbit", "10mbit"))["flows"]


@browsers.needed
def test_flows_come_go_and_change(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        page.get_by_role("button", name="Add a flow").click()
        page.get_by_label("Algorithm of flow 3").select_option("reno")
        page.get_by_role("button", name="Remove flow 1").click()
        page.wait_for_function("document.querySelectorAll('.flow').length === 2")
        expected = START.replace('[[flows]]\ncc = "bbr"\n\n', "") + '\n[[flows]]\ncc = "reno"\n'
        page.wait_for_function("text => document.getElementById('toml').value === text", arg=expected)
        assert table(page) == native(expected)["flows"]


@browsers.needed
def test_values_are_shown_at_the_cursor_of_pointer_and_keys(browser: Any) -> None:
    with opened(browser, PAGE) as page:
        drawn(page)
        values = page.locator("#chart-throughput .value")
        assert values.all_text_contents() == ["", ""]
        page.locator("#chart-throughput .plot").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('#chart-rtt .value').textContent !== ''")
        assert all(0 < float(text) < 21 for text in values.all_text_contents())
        assert "at 5.2" in page.locator("#chart-rtt figcaption").text_content()


@browsers.needed
def test_a_link_and_commands_are_copied(browser: Any) -> None:
    with opened(browser, PAGE, permissions=["clipboard-read", "clipboard-write"]) as page:
        drawn(page)
        page.get_by_role("button", name="Copy link").click()
        page.wait_for_function("document.getElementById('said').textContent !== ''")
        assert page.evaluate("navigator.clipboard.readText()") == page.url
        commands = page.locator("#commands").text_content()
        assert START in commands and "dumbbell run experiment.toml" in commands


@browsers.needed
def test_a_notebook_shows_the_page(browser: Any, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    file = tmp_path / "mine.toml"
    file.write_text(QUESTIONS["names in need of quotes"], "utf-8")
    notebook.write_text(f"<!doctype html><meta charset=utf-8>{db.live_page(file, page=PAGE)._repr_html_()}", "utf-8")
    with opened(browser, notebook) as page:
        frame = page.frame_locator("iframe")
        frame.locator(".uplot").nth(3).wait_for()
        frame.get_by_role("slider", name="Rate").press("ArrowRight")
        assert not frame.get_by_role("button", name="Copy link").is_visible()
        frame.locator("#flows-csv summary").click()
        assert "one, " in frame.locator("#flows-csv pre").text_content()
