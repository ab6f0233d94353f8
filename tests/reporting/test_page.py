"""The report opens in a real browser, from a file and without a network."""

from __future__ import annotations

import pytest

from ease.reporting.report import build_report, render_html
from tests.browser import Browser
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
def page(page: Browser, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Open the report in a browser that collects errors and requests."""
    folder = tmp_path_factory.mktemp("page")
    languages = [column.subset for column in paper().tables["3"].columns if column.task]
    clusters = [row("mewsc16", str(code), 30.0, "accuracy") for code in languages]
    (folder / "report.html").write_text(
        render_html(build_report(published(), options(), own([*all_rows(), *clusters]))), encoding="utf-8"
    )
    page.call("Page.enable")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    page.open((folder / "report.html").as_uri())
    page.wait_for("Table 14", "All scores", "stc012345678")
    return page


FIGURES = "[...document.querySelectorAll('figure .js-plotly-plot')]"


def test_tables_and_figures_are_shown_without_errors_or_requests(page: Browser) -> None:
    page.wait_until(f"{FIGURES}.filter(shown => shown.querySelector('.xaxislayer-above')).length === 13")
    assert len(page.texts("table.figures")) == 12
    assert {"EASE-mBERTbase (paper)", "EASE, multilingual"} <= set(page.texts("#bars-1 .legendtext"))
    assert "EASE, multilingual" in page.texts("#scatter-1 .textpoint")
    assert page.evaluate(f"{FIGURES}.every(shown => shown.offsetHeight > 100 && shown.offsetWidth > 600)")
    assert page.evaluate("window.faults") == []
    assert page.requests_elsewhere() == []
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.wait_until("document.documentElement.scrollWidth <= 400")
