"""Fixtures that every test may use, and the rule on skipped tests."""

from __future__ import annotations

import gc
import logging
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

# Libraries read these when they are first imported: no test may ask the network for anything, or tell it.
os.environ.update(HF_HUB_OFFLINE="1", DO_NOT_TRACK="true", MLFLOW_DISABLE_TELEMETRY="true")
# Spark's workers would otherwise take the first Python on the path, which lacks this project's packages.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

import pytest

from ease.io.locks import file_lock
from tests.browser import Browser, browser
from tests.file_server import FileServer, running_server
from tests.project import Project, end_server, make_project, params

gc.set_threshold(50_000)  # as in `ease.hooks.process`

BY_FIXTURE_TYPE = {
    "Project": "project",
    "FileServer": "server",
    "HubServer": "server",
    "Bucket": "server",
    "SparkSession": "spark",
    "Browser": "browser",
    "Page": "browser",
}
"""Marker of the tests that request a fixture, directly or through another one, by the fixture's return type."""

BY_MODULE_NAME = {
    "run_job": "training",
    "SentenceTransformerTrainer": "training",
    "Project": "project",
    "start_s3_server": "server",
}
"""Marker of all tests of a module that holds a name."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests by what they use, for the tiers of `make check`, `make test` and `make test-all`; order files."""
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        fixtures = item._fixtureinfo.name2fixturedefs
        used = [fixture for name in item.fixturenames for fixture in fixtures.get(name, ())]
        returned = " ".join(str(fixture.func.__annotations__.get("return", "")) for fixture in used)
        types = set(re.findall(r"\w+", returned))
        markers = {marker for name, marker in BY_FIXTURE_TYPE.items() if name in types}
        markers |= {marker for name, marker in BY_MODULE_NAME.items() if hasattr(item.module, name)}
        for marker in sorted(markers):
            item.add_marker(marker)
    # Files with slow tests come first: a worker that began one at the end would work on alone.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real dumps and evaluation sets that `EASE_TEST_DATA` names."""
    folder = os.environ.get("EASE_TEST_DATA")
    if not folder:
        pytest.skip("EASE_TEST_DATA is not set: it names the folder of real dumps and evaluation sets")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"EASE_TEST_DATA names {path}, which is not a folder")
    return path


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Project:
    """A project in which `train_multilingual` has run on a small sample, by the real command line.

    All workers share it. Tests look at it; one that changes something takes a `copy`.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "project"
    folder.mkdir(exist_ok=True)
    with file_lock(folder):
        if not Project(folder).log.exists():
            made = make_project(folder)
            done = made.kedro("run", "--pipelines=train_multilingual", "--params", params())
            made.log.write_text(done.stderr, encoding="utf-8")
    return Project(folder)


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which nothing has run: the one that this process takes its configuration from."""
    return make_project(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser page."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _loggers_as_imported() -> None:
    """Undo the levels that a Kedro session of an earlier test has set in this process."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "ease":
            logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture(scope="session", autouse=True)
def _no_server_left() -> Iterator[None]:
    """End the process that commands were forked from, while its coverage still counts."""
    yield
    end_server()


@pytest.fixture
def copy(project: Project, tmp_path: Path) -> Project:
    """That project, to be changed."""
    return project.copy(tmp_path / "copy")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A server of files on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running_server() as running:
        yield running


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 112 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=112k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs more rights")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that says why it was skipped, where the real data is there."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("EASE_TEST_DATA"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"Nothing may be skipped where EASE_TEST_DATA is set. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count a skipped test as failed, unless it needs a GPU."""
    report = yield
    if item.get_closest_marker("gpu") is None:
        _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Count a skipped file as failed."""
    report = yield
    _fail_if_skipped(report)
    return report
