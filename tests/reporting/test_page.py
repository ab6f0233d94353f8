"""The report opens in a real browser, from a file and without a network."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from ease.reporting.report import build_report, render_html
from tests.browser import Browser, browser
from tests.reporting.made import all_rows, options, own, paper, published, row

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WATCH = """
window.faults = [];
window.addEventListener('error', event => faults.push(String(event.message)), true);
window.addEventListener('unhandledrejection', event => faults.push(String(event.reason)));
for (const name of ['error', 'warn']) {
  const said = console[name];
  console[name] = (...words) => { faults.push(words.join(' ')); said(...words); };
}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Open the report in a browser that collects errors and requests."""
    folder = tmp_path_factory.mktemp("page")
    languages = [column.subset for column in paper().tables["3"].columns if column.task]
    clusters = [row("mewsc16", str(code), 30.0, "accuracy") for code in languages]
    (folder / "report.html").write_text(
        render_html(build_report(published(), options(), own([*all_rows(), *clusters]))), encoding="utf-8"
    )
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.call("Page.enable")
        opened.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        opened.open((folder / "report.html").as_uri())
        opened.wait_for("Table 14", "All scores", "stc012345678")
        yield opened


def count(page: Browser, selector: str) -> int:
    return len(page.texts(selector))


def wait_for_figures(page: Browser) -> None:
    deadline = time.monotonic() + 60
    while count(page, ".js-plotly-plot .main-svg .xaxislayer-above") < 13 and time.monotonic() < deadline:
        time.sleep(0.5)


def test_tables_and_figures_are_shown(page: Browser) -> None:
    wait_for_figures(page)
    assert count(page, "table.figures") == 12
    assert count(page, "figure .js-plotly-plot .main-svg .xaxislayer-above") == 13
    assert count(page, "#bars-1 .bars .point") == 5 * 11 + 1
    assert {"EASE-mBERTbase (paper)", "EASE, multilingual"} <= set(page.texts("#bars-1 .legendtext"))
    assert "EASE, multilingual" in page.texts("#scatter-1 .textpoint")
    figures = "[...document.querySelectorAll('.js-plotly-plot')]"
    assert page.evaluate(f"{figures}.every(shown => shown.offsetHeight > 100 && shown.offsetWidth > 600)")


def test_the_page_logs_no_error_and_requests_nothing(page: Browser) -> None:
    wait_for_figures(page)
    assert page.evaluate("window.faults") == []
    assert page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)") == []


def test_the_page_fits_a_screen_and_a_phone(page: Browser) -> None:
    wait_for_figures(page)
    for width in (1600, 400):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        time.sleep(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        bars = "[...document.querySelectorAll('figure .plot:not(.points) .js-plotly-plot')]"
        assert page.evaluate(f"{bars}.every(shown => shown.offsetWidth <= {width})")
    page.call("Emulation.clearDeviceMetricsOverride")
