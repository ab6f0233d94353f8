"""The GPU benchmark needs few packages, runs its parts by their commands, and resumes where it was cut off."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks import gpu
from benchmarks.gpu import PARTS, main
from tests.project import ROOT

INSTALLED = ("torch", "transformers", "sentence-transformers", "accelerate", "pyarrow")
"""Packages of the machine; it has their dependencies, pandas and psutil, too."""
IMPORTED = (
    "benchmarks.gpu",
    *(part.module for part in PARTS.values()),
    "tests.conftest",
    "tests.training.test_gpu",
    "tests.encoders.test_gpu",
    "tests.evaluation.test_search",
    *(f"ease.methods.{method}" for method in ("ease", "simcse", "dueam")),
)


def with_dependencies(names: list[str]) -> dict[str, importlib.metadata.Distribution]:
    """Return the installed distributions of packages and of everything that they require without extras."""
    found: dict[str, importlib.metadata.Distribution] = {}
    for name in (waiting := list(names)):
        with suppress(importlib.metadata.PackageNotFoundError):  # for another system
            distribution = importlib.metadata.distribution(name)
            if found.setdefault(canonicalize_name(name), distribution) is distribution:
                required = map(Requirement, distribution.requires or [])
                waiting += [one.name for one in required if "extra" not in str(one.marker)]
    return found


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with nothing but those of the machine and of the script."""
    folder = tmp_path_factory.mktemp("lean")
    wanted = with_dependencies([*INSTALLED, "pandas", "psutil"])
    script = (ROOT / "scripts" / "gpu_wheels.sh").read_text(encoding="utf-8")
    (downloaded,) = re.findall(r'^packages="(.*)"$', script, re.MULTILINE)
    wanted |= {name: importlib.metadata.distribution(name) for name in downloaded.split()}
    for distribution in wanted.values():
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
    return folder


@pytest.mark.long
@pytest.mark.slow
def test_nothing_else_is_imported(lean: Path) -> None:
    search = os.pathsep.join([str(lean), str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-S", "-c", "\n".join(f"import {module}" for module in dict.fromkeys(IMPORTED))],
        env={"PYTHONPATH": search, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_test_marked_gpu_is_run() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    # A mark of the tests that `test_setup.py` writes has another line after it.
    mark = re.compile(r"^(?:@pytest\.mark\.gpu\n@|pytestmark = \[pytest\.mark\.gpu,)", re.MULTILINE)
    marked = [path for path in files if mark.search(path.read_text(encoding="utf-8"))]
    assert {path.relative_to(ROOT).as_posix() for path in marked} == {
        word for word in PARTS["tests"].full.split() if word.endswith(".py")
    }


@pytest.mark.long
@pytest.mark.slow
def test_a_part_runs_once_and_a_failed_one_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = PARTS["search"]._replace(tiny="--sizes 40x60 --dimension none")
    monkeypatch.setitem(PARTS, "search", broken)
    given = ["--folder", str(tmp_path), "--tiny", "--parts", "search", "encoding"]
    assert main(given) == 1
    assert re.search(r"search: failed in \d+ s", capsys.readouterr().out)
    report = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "invalid int value: 'none'" in report
    assert "| ours |" in report
    monkeypatch.setitem(PARTS, "search", PARTS["search"]._replace(tiny="--sizes 40x60 --dimension 16"))
    encoded = (tmp_path / "encoding.json").read_bytes()
    assert main(given) == 0
    assert "encoding: -m" not in capsys.readouterr().out
    assert (tmp_path / "encoding.json").read_bytes() == encoded
    assert [(result.part, result.status) for result in gpu.results_in(tmp_path)] == [("encoding", 0), ("search", 0)]


@pytest.mark.long
@pytest.mark.slow
def test_every_part_runs_at_a_tiny_size(tmp_path: Path) -> None:
    assert main(["--folder", str(tmp_path), "--tiny"]) == 0


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path / "results")]) == 1
    assert capsys.readouterr().err.startswith("There is no CUDA device")
    assert not (tmp_path / "results").exists()
