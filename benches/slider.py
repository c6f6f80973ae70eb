"""The time from a slider to its picture on the live page, in headless Chromium, after ``make live``.

Needs Chromium and Playwright, as ``tests/python/browsers.py`` says. Each move waits for the picture of the last one.
The time ends behind the next frame, when the picture can be seen. The experiment has 10 s of simulated time at about
20 Mbit/s.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "out/live/index.html"
MOVES = 100
WARM = 10

# Moves a slider to and fro around its place, and returns milliseconds.
MOVE = """
async ([name, moves]) => {
  const slider = document.getElementById(name);
  const start = slider.valueAsNumber;
  const drawn = () => new Promise((resolve) => {
    const watch = new MutationObserver(() => {
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(resolve));
    });
    watch.observe(document.getElementById("cost"), { childList: true });
  });
  const times = [];
  for (let move = 0; move < moves; move += 1) {
    slider.valueAsNumber = start + [1, 0, -1, 0][move % 4];
    const picture = drawn();
    const since = performance.now();
    slider.dispatchEvent(new Event("input"));
    await picture;
    times.push(performance.now() - since);
  }
  return times;
}
"""


def main() -> None:
    """Prints a line a slider."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("needs Playwright: pip install playwright")
    if not PAGE.is_file():
        sys.exit(f"{PAGE} is missing: `make live` builds it")
    with sync_playwright() as started:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(bypass_csp=True)
        page.goto(PAGE.as_uri())
        page.locator(".uplot").nth(3).wait_for()
        for name in ("rate", "rtt", "buffer", "loss"):
            times: list[float] = page.evaluate(MOVE, [name, WARM + MOVES])[WARM:]
            p95 = statistics.quantiles(times, n=20, method="inclusive")[18]
            print(f"{name:8} {len(times)} moves: p50 {statistics.median(times):.0f} ms, p95 {p95:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
