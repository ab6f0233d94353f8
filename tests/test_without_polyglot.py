"""Everything except `splitter=polyglot` works where polyglot, which is under the GPLv3, is not installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from tests.wikimedia.made_dumps import article, made, rows

ROOT = Path(__file__).parents[1]

BLOCK = """
import importlib.metadata
import sys
from importlib.abc import MetaPathFinder

class NoPolyglot(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "polyglot":
            raise ModuleNotFoundError("No module named 'polyglot'", name="polyglot")

find = importlib.metadata.Distribution.from_name.__func__

def from_name(cls, name):
    if name == "polyglot":
        raise importlib.metadata.PackageNotFoundError(name)
    return find(cls, name)

importlib.metadata.Distribution.from_name = classmethod(from_name)
sys.meta_path.insert(0, NoPolyglot())
"""
"""Every Python process runs this at its start, workers of pools included."""

INGEST = """
from pathlib import Path
import ease.pipeline_registry, ease.settings  # as `kedro run` does
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia

if __name__ == "__main__":
    folder = Path("{folder}")
    options = IngestOptions(workers=2, splitter="{splitter}")
    parts = ingest_wikipedia(find_dumps(folder, ["en", "de"]), options, folder / "{splitter}")
    print(*parts.sentences)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables of a process that finds no polyglot."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    search = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": search}


def run_python(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_one_module_imports_polyglot() -> None:
    importing = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^\s*(import|from) polyglot", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert importing == ["src/ease/wikimedia/wikitext/sentences.py"]


@pytest.mark.slow
def test_the_ingest_gives_the_same_sentences_without_polyglot(environment: dict[str, str], tmp_path: Path) -> None:
    dumps = [made(tmp_path, article(1), article(2)), made(tmp_path, article(3), language="de")]
    assert "No module named 'polyglot'" in run_python("import polyglot", environment).stderr
    expected = rows(ingest_wikipedia(dumps, IngestOptions(workers=1), tmp_path / "parts").sentences)
    done = run_python(INGEST.format(splitter="icu", folder=tmp_path), environment)
    assert done.returncode == 0, done.stderr
    found = rows([Path(line) for line in done.stdout.split()])
    assert found == expected
    assert len(found) > 2
    refused = run_python(INGEST.format(splitter="polyglot", folder=tmp_path), environment)
    assert "polyglot is not installed: choose icu (`ingest.splitter=icu`)" in refused.stderr


def test_a_splitter_without_polyglot_names_the_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polyglot.base", None)
    with pytest.raises(EaseError, match="polyglot is not installed: choose icu"):
        SentenceSplitter("en", "polyglot")
    assert SentenceSplitter("en", "icu").split("One.") == ([0], ["One."])
