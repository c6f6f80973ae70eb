"""The pages in a browser, and what their charts do.

Wide and narrow, light and dark: a silent console, nothing wider than the screen, no objection of axe. Skipped where
there is no browser; ``browsers.py`` says what it takes.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsers
from browsers import SCHEMES, WIDTHS, objections, opened

pytestmark = browsers.needed


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as found:
        yield found


EXPERIMENT = """\
duration = "3s"
path = { rate = "10mbit", rtt = "40ms", loss = "1%" }

[[flows]]
cc = "bbr"

[[flows]]
cc = "cubic"
label = "a flow with a long name, which has to break somewhere"

[[traffic]]
kind = "short-flows"
cc = "cubic"
size = "30kB"
load = "20%"
"""

COMMANDS = {
    "run": [["run", "experiment.toml", "--out", "run"], ["report", "run"]],
    "sweep": [["run", "experiment.toml", "--set", "sweep={repeat=3}", "--out", "sweep"], ["report", "sweep"]],
    "settings": [
        ["compare", "bbr", "cubic", "--loss", "0%,1%", "--duration", "3s", "--repeat", "2", "--out", "settings"],
        ["report", "settings"],
    ],
    "advice": [["advise", "--loss", "0%,1%", "--duration", "3s", "--repeat", "2", "--out", "advice"]],
    "study": [["reproduce", "bbr-acd/rule", "--quick", "--html", "--out", "study"]],
}
"""What writes the pages."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    for command in itertools.chain.from_iterable(COMMANDS.values()):
        subprocess.run([sys.executable, "-m", "dumbbell", *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_in_a_browser(browser: Any, written: Path, name: str, width: int, scheme: str) -> None:
    (file,) = (written / name).glob("*.html")
    with opened(browser, file, width, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert objections(page) == []


def test_the_policy_of_a_page_lets_its_own_scripts_run(browser: Any, written: Path) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((written / "run/report.html").as_uri())
    assert page.locator(".uplot").count() > 4
    assert said == []
    page.close()


def test_charts_on_a_telephone_fit_and_can_be_read(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html", 390) as page:
        boxes = _boxes(page, ".plot canvas")
        assert len(boxes) == page.locator(".uplot").count() > 4
        assert all(box["left"] >= 0 and box["right"] <= 390 and box["width"] > 300 for box in boxes)
        sizes = page.evaluate(
            "[...document.querySelectorAll('.chart *, .verdict')].map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 12
        figures = _boxes(page, ".chart figure")
        for above, below in itertools.pairwise(figures):
            assert below["top"] >= above["bottom"]
        # Fingers find them.
        assert min(box["height"] for box in _boxes(page, ".chart button, .chart label")) >= 24


def _boxes(page: Any, selector: str) -> list[dict[str, float]]:
    """Where the elements are that a selector names."""
    code = "selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect().toJSON())"
    found: list[dict[str, float]] = page.evaluate(code, selector)
    return found


def _pixels(page: Any, number: int = 0) -> str:
    """What a chart shows, as a text that differs where a pixel does."""
    shown: str = page.evaluate("n => document.querySelectorAll('.plot canvas')[n].toDataURL()", number)
    return shown


def _wait(page: Any, before: str, *, is_same: bool, number: int = 0) -> None:
    """Until a chart shows the same as before, or something else."""
    code = "([n, old, same]) => (document.querySelectorAll('.plot canvas')[n].toDataURL() === old) === same"
    page.wait_for_function(code, arg=[number, before, is_same])


def test_flows_are_switched_off_and_on_with_the_keyboard(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html") as page:
        before = _pixels(page)
        box = page.get_by_role("checkbox", name="bbr", exact=True).first
        box.focus()
        page.keyboard.press("Space")
        assert not box.is_checked()
        _wait(page, before, is_same=False)
        page.keyboard.press("Space")
        _wait(page, before, is_same=True)


def test_a_drag_zooms_all_charts_over_time_and_a_button_shows_the_whole(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html") as page:
        before = [_pixels(page, number) for number in (0, 1)]
        box = page.locator(".u-over").first.bounding_box()
        page.mouse.move(box["x"] + 100, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 300, box["y"] + 60, steps=4)
        page.mouse.up()
        for number in (0, 1):
            _wait(page, before[number], is_same=False, number=number)
        page.get_by_role("button", name="Whole time").click()
        for number in (0, 1):
            _wait(page, before[number], is_same=True, number=number)


def test_values_are_shown_under_the_pointer(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html") as page:
        page.locator(".plot").nth(1).scroll_into_view_if_needed()
        box = page.locator(".u-over").nth(1).bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
        rows = page.locator(".u-over").nth(1).locator(".tip div")
        rows.first.wait_for()
        rows = rows.all_text_contents()
    data = json.loads(re.search(r'id="chart-data">(.+?)</script>', (written / "run/report.html").read_text())[1])  # type: ignore[index]
    (run,) = data[0]["runs"]
    (panel,) = (panel for panel in run["panels"] if panel["title"] == "Smoothed RTT (ms)")
    time = float(rows[0].removesuffix(" s"))
    index = min(range(len(run["t"])), key=lambda number: abs(run["t"][number] - time))
    name, value = rows[1].split(": ")
    assert name == "bbr"
    assert float(value) == pytest.approx(panel["series"][0]["v"][index])


def test_a_tap_shows_values(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html", 390, has_touch=True) as page:
        page.locator(".plot").first.scroll_into_view_if_needed()
        box = page.locator(".u-over").first.bounding_box()
        page.touchscreen.tap(box["x"] + 100, box["y"] + 60)
        rows = page.locator(".u-over").first.locator(".tip div")
        rows.first.wait_for()
        assert [text.split(": ")[0] for text in rows.all_text_contents()[1:2]] == ["bbr"]


def test_time_is_played_and_set(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html") as page:
        whole = _pixels(page)
        page.get_by_role("button", name="Play").click()
        page.wait_for_function("parseFloat(document.querySelector('output').value) > 0.1")
        page.get_by_role("button", name="Pause").click()
        _wait(page, whole, is_same=False)
        slider = page.get_by_role("slider")
        slider.focus()
        page.keyboard.press("End")
        page.mouse.move(0, 0)
        _wait(page, whole, is_same=True)
        assert slider.get_attribute("aria-valuetext").endswith(" seconds")


def test_two_fingers_zoom(browser: Any, written: Path) -> None:
    with opened(browser, written / "run/report.html", 390, has_touch=True) as page:
        before = _pixels(page)
        page.locator(".u-over").first.evaluate(
            """over => {
                const { left, width, top } = over.getBoundingClientRect();
                const send = (type, id, share) => over.dispatchEvent(new PointerEvent(type, {
                    pointerId: id, pointerType: "touch", bubbles: true,
                    clientX: left + share * width, clientY: top + 20,
                }));
                send("pointerdown", 1, 0.4); send("pointerdown", 2, 0.6);
                send("pointermove", 1, 0.1); send("pointermove", 2, 0.9);
                send("pointerup", 1, 0.1); send("pointerup", 2, 0.9);
            }"""
        )
        _wait(page, before, is_same=False)


def test_another_run_of_a_sweep_is_chosen(browser: Any, written: Path) -> None:
    with opened(browser, written / "settings/report.html") as page:
        chosen = page.get_by_label("shown:")
        number = page.locator(".plot canvas").count() - 2
        before = _pixels(page, number)
        chosen.select_option(index=1)
        _wait(page, before, is_same=False, number=number)


def test_without_javascript_and_on_paper_pictures_speak(browser: Any, written: Path) -> None:
    file = written / "run/report.html"
    with opened(browser, file, 390, java_script_enabled=False) as page:
        assert page.locator("img").first.is_visible()
        assert page.get_by_text("The charts need JavaScript").is_visible()
        assert not page.locator(".chart").first.is_visible()
    with opened(browser, file) as page:
        assert not page.locator("img").first.is_visible()
        page.emulate_media(media="print")
        assert page.locator("img").first.is_visible()
        assert not page.locator(".chart").first.is_visible()
