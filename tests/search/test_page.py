"""The search page in a headless Chromium: results of trained models on wide and narrow screens, light and dark."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.browser import Browser
from tests.project import Project

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUERY = "The currency of Japan is the yen."
SCREENS = {"wide": (1280, 900), "phone": (390, 844)}

CONTRASTS = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const light = colour => colour.slice(0, 3).map(c => linear(c / 255))
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const texts = 'h1, h2, h3, p, a, button, label, legend, mark, li, span, input, select';
  for (const element of document.querySelectorAll(texts)) {
    if (!element.innerText && !element.value || element.closest('.hidden')) continue;
    const [one, other] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (ratio < 4.5) poor.push([element.outerHTML.slice(0, 80), ratio]);
  }
  return poor;
})()"""
"""Elements whose text has less contrast than WCAG's level AA asks for."""


@pytest.fixture(scope="module")
def address(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the page of a copy of the small project; the server ends by Ctrl-C."""
    copy = project.copy(tmp_path_factory.mktemp("demo") / "project")
    log = tmp_path_factory.mktemp("log") / "log"
    command = [sys.executable, "-u", "-m", "ease.search", "serve", "--port=0"]
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=copy.folder, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 120
        while "http://" not in log.read_text():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.2)
        yield log.read_text().split()[2]
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
        assert "Traceback" not in log.read_text()
    finally:
        server.kill()
        server.wait()


def show(page: Browser, address: str, screen: str, mode: str) -> None:
    width, height = SCREENS[screen]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": screen == "phone"}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}])
    page.open("about:blank")
    page.open(address)
    page.wait_for("Search across languages")


def wait_for_the_index(page: Browser) -> None:
    """Search again until all sentences are embedded."""
    deadline = time.monotonic() + 120
    page.wait_until("document.querySelectorAll('.panel h3').length")
    while page.evaluate("document.querySelectorAll('.again').length"):
        assert time.monotonic() < deadline
        page.evaluate("document.querySelector('.again').click()")
        time.sleep(0.5)
        page.wait_until("document.querySelectorAll('.panel h3').length")


@pytest.mark.parametrize(("screen", "mode"), [("wide", "light"), ("phone", "dark")])
def test_a_typed_sentence_is_answered_by_models_side_by_side(
    page: Browser, address: str, screen: str, mode: str
) -> None:
    show(page, address, screen, mode)
    assert page.texts("label.choice") == [" Untrained", " SimCSE", " EASE", " EASE+"]
    page.wait_until("document.activeElement.id === 'q'")
    page.evaluate("document.querySelector('[value=ease]').click()")
    page.call("Input.insertText", text=QUERY)
    enter = {"key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, **enter)
    page.wait_until("document.querySelectorAll('.panel .found > li').length === 20")
    wait_for_the_index(page)
    assert page.texts(".panel h2") == ["EASE", "EASE+"]
    for number in (1, 2):
        panel = f".panel:nth-child({number})"
        assert len(page.texts(f"{panel} .nearest li")) == 8
        assert all(page.texts(f"{panel} .nearest .label"))
        languages = {line.split("·")[1].strip() for line in page.texts(f"{panel} .about")}
        assert languages <= {"English", "Japanese", "Arabic", "German"}
    assert page.texts("mark"), "words of the typed sentence"
    panels = "[...document.querySelectorAll('.panel')]"
    lefts = page.evaluate(f"{panels}.map(one => one.getBoundingClientRect().left)")
    assert (lefts[0] == lefts[1]) is (screen == "phone"), "side by side, or one below the other"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CONTRASTS) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark is (mode == "dark")
    assert page.requests_elsewhere() == []


def test_an_example_is_answered_by_a_click(page: Browser, address: str) -> None:
    show(page, address, "phone", "light")
    examples = page.texts(".examples a")
    assert 1 <= len(examples) <= 6
    assert "sentences in 4 languages" in page.texts("header .note")[0]
    assert page.evaluate(CONTRASTS) == []
    page.evaluate("document.querySelector('.examples a').click()")
    page.wait_until("document.querySelectorAll('.found > li').length")
    assert page.texts(".found .text")[0] == examples[0]


def test_language_reader_and_number_are_kept(page: Browser, address: str) -> None:
    fields = {"q": QUERY, "model": "ease_plus", "language": "ja", "reader": "de", "k": "3"}
    show(page, f"{address}/?{urllib.parse.urlencode(fields)}", "wide", "light")
    wait_for_the_index(page)
    assert {line.split("·")[1].strip() for line in page.texts(".about")} == {"Japanese"}
    assert len(page.texts(".about")) == 3
    assert page.evaluate("[...document.querySelectorAll('select')].map(one => one.value)") == ["ja", "de"]
    assert page.evaluate("document.querySelector('[name=k]').value") == "3"
