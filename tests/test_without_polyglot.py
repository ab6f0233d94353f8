"""Everything except `splitter=polyglot` works where polyglot, which is under the GPLv3, is not installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
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
from contextlib import suppress
from pathlib import Path
import ease.pipeline_registry, ease.settings  # as `kedro run` does
from ease.errors import EaseError
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia

if __name__ == "__main__":
    with suppress(ModuleNotFoundError):
        import polyglot
    assert "polyglot" not in globals()
    folder = Path("FOLDER")
    dumps = find_dumps(folder, ["en", "de"])
    try:
        ingest_wikipedia(dumps, IngestOptions(workers=2, splitter="polyglot"), folder / "polyglot")
    except EaseError as error:
        print(error)
    print(*ingest_wikipedia(dumps, IngestOptions(workers=2, splitter="icu"), folder / "icu").sentences, sep="\\n")
"""


def test_one_module_imports_polyglot() -> None:
    importing = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^\s*(import|from) polyglot", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert importing == ["src/ease/wikimedia/wikitext/sentences.py"]


@pytest.mark.slow
def test_the_ingest_gives_the_same_sentences_without_polyglot(tmp_path: Path) -> None:
    dumps = [made(tmp_path, article(1), article(2)), made(tmp_path, article(3), language="de")]
    expected = rows(ingest_wikipedia(dumps, IngestOptions(workers=1), tmp_path / "parts").sentences)
    (tmp_path / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    search = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", INGEST.replace("FOLDER", str(tmp_path))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refusal, *files = done.stdout.splitlines()
    assert "polyglot is not installed: choose icu (`ingest.splitter=icu`)" in refusal
    found = rows([Path(file) for file in files])
    assert found == expected
    assert len(found) > 2
