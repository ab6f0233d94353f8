"""The documents build as a site without warnings, and a browser shows it offline, on a phone and in dark mode."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import torch

import ease
from tests.browser import Browser
from tests.project import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = (
    *("index", "start", "api", "concepts", "papers", "benchmarks", "genindex", "reference/ease.methods"),
    *("notebooks/quickstart", "notebooks/pairs_and_hard_negatives", "notebooks/your_language"),
    *("notebooks/error_analysis", "notebooks/compare_runs"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built by the command of `make docs`."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_every_document_is_a_page(site: Path) -> None:
    documents = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README"}
    for name in documents:  # Sphinx writes pages of its own, such as search.html
        heading = re.match("# (.*)", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
        (shown,) = re.findall("<h1>(.*?)<a ", (site / f"{name}.html").read_text(encoding="utf-8"))
        assert heading is None or words(heading[1]) == words(unescape(re.sub("<[^>]*>", "", shown)))
    assert "hyperlinks say which entities" in (site / "start.html").read_text(encoding="utf-8")
    assert "mine_hard_negatives" in (site / "reference" / "ease.entities.html").read_text(encoding="utf-8")


def test_one_page_describes_the_public_names_alone(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    described = re.findall(r'<dt class="sig [^>]*id="ease\.([\w.]+)"', page)
    assert sorted(described) == sorted({*ease.__all__} - {"__version__"})
    numbers = [path for path in site.rglob("*.html") if str(torch.iinfo(torch.int64).min) in path.read_text("utf-8")]
    assert numbers == [], "a value that says nothing"


def test_links_to_files_of_the_repository_lead_to_copies(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.glob("*.html")}
    copies = [
        (path, link) for path, text in pages.items() for link in re.findall(r'href="([^"]*_downloads/[^"]*)"', text)
    ]
    assert any(link.endswith("/encoders.yml") for _, link in copies)
    assert all((path.parent / link).is_file() for path, link in copies)


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="(https?:|//)|<link[^>]*\shref="(https?:|//)')
    pages = list(site.rglob("*.html"))
    assert pages
    for page in pages:
        assert not loaded.search(page.read_text(encoding="utf-8")), page


def test_the_search_leads_to_the_concept_of_a_term(site: Path, page: Browser) -> None:
    page.open(f"{(site / 'search.html').as_uri()}?q=hard+negative")
    page.wait_until("document.querySelectorAll('ul.search li a').length")
    assert page.evaluate("document.querySelector('ul.search li a').getAttribute('href')").startswith("concepts.html")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_fit_the_screen(site: Path, page: Browser, width: int, scheme: str) -> None:
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.call("Emulation.setDeviceMetricsOverride", **screen)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    for name in PAGES:
        page.open((site / f"{name}.html").as_uri())
        page.wait_until("document.readyState === 'complete' && !!document.querySelector('h1')")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
        shrunk = page.evaluate(
            "[...document.querySelectorAll('article img[src*=\"_images\"]')]"
            ".filter(one => one.width < Math.min(500, 0.85 * one.naturalWidth)).map(one => one.src)"
        )
        assert not shrunk, f"illegible pictures in {name}"
        assert page.requests_elsewhere() == [], name
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades = [int(shade) for shade in re.findall(r"\d+", background)[:3]]
        assert (sum(shades) < 200) == (scheme == "dark"), (name, background)
