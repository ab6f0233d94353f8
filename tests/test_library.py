"""The public interface works without Kedro, as docs/library.md shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ease
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.wikimedia.wikitext.parser import parse_wikitext
from tests.project import ROOT

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/library.md").read_text("utf-8"), re.DOTALL)
SIZES = {"layers": 1, "hidden_size": 16, "heads": 2, "intermediate_size": 16, "vocabulary_size": 300}


@pytest.fixture
def folder(test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the files that the examples name."""
    encoder = build_encoder(EncoderOptions(random=RandomBertOptions(**SIZES)), ["Berlin", "Paris"])
    save_encoder(encoder, tmp_path / "encoder")
    trained = tmp_path / "project/data/06_models/multilingual/ease/encoder/2026-01-01T00.00.00.000Z/encoder"
    shutil.copytree(tmp_path / "encoder", trained)
    dump = test_data / "dumps/wikipedia/trwiki-mini-pages-articles.xml.bz2"
    shutil.copy(dump, tmp_path / "trwiki-pages-articles.xml.bz2")
    lines = (test_data / "eval/stsb/sts-dev.csv").read_text("utf-8").splitlines(keepends=True)[:20]
    (tmp_path / "evaluation/stsb").mkdir(parents=True)
    (tmp_path / "evaluation/stsb/sts-dev.csv").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_documented_examples_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for example in EXAMPLES:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "Berlin is the capital of Germany." in printed
    assert "capital -> Capital city" in printed
    assert "Berlin | " in printed, "an article of the dump"
    assert re.search(r"stsb\s+dev\s+spearman", printed)
    assert "(2, 16)" in printed
    assert len(names["scores"]) == 1


def test_every_public_name_is_documented_and_found() -> None:
    document = (ROOT / "docs/library.md").read_text("utf-8")
    for name in set(ease.__all__) - {"__version__"}:
        assert getattr(ease, name).__doc__
        assert f"ease.{name}" in document
    assert ease.parse_wikitext is parse_wikitext
    with pytest.raises(AttributeError, match="parse_wiki"):
        _ = ease.parse_wiki  # type: ignore[attr-defined]


def test_importing_ease_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import ease; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert imported - sys.stdlib_module_names == {"ease"}
