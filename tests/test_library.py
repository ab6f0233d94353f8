"""The public interface works without Kedro, as docs/library.md shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ease
from ease.wikimedia.wikitext.parser import parse_wikitext
from tests.project import ROOT, Project

DOCUMENT = (ROOT / "docs/library.md").read_text("utf-8")
ANYWHERE, IN_A_PROJECT = (
    re.findall(r"```python\n(.*?)```", part, re.DOTALL) for part in DOCUMENT.split("## Trained encoders")
)


def test_the_documented_examples_run_in_a_clean_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in ANYWHERE:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "Berlin is the capital of Germany." in printed
    assert "capital -> Capital city" in printed
    assert "Berlin | It lies on the Spree. | ['Spree']" in printed, "the dump"
    assert names["embeddings"].shape == (2, 16), "of the entities"
    assert re.search(r"own_parallel_sentences\s+phrases\s+retrieval_accuracy", printed)


def test_the_documented_examples_run_with_a_trained_project(
    copy: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy.folder.rename(copy.folder.parent / "project")
    monkeypatch.chdir(copy.folder.parent)
    names: dict[str, Any] = {"ease": ease}
    for example in IN_A_PROJECT:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "(2, 32)" in printed
    assert {found.language for found in names["search"].search("Yen", k=9, languages=["de", "ja"])} == {"de", "ja"}
    nearest = names["search"].nearest_entities("日本の通貨は円です。", k=1, reader="de")
    assert [entity.label in printed for entity in nearest] == [True]


def test_a_start_with_random_weights_is_the_same_in_every_call() -> None:
    pairs = pd.DataFrame({"sentence": ["Berlin is large.", "Paris is old."], "entity": ["Q64", "Q90"]})
    options = {"method": "simcse", "batch_size": 2, "max_steps": 1}
    first, again, other = (
        ease.train(pairs, "random:", seed=seed, **options).encode(["Paris is large."]) for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert not np.allclose(first, other)
    with pytest.raises(ease.EaseError, match="'random:bert' cannot be loaded: .* train `random:`"):
        ease.train(pairs, "random:bert")


def test_every_public_name_is_documented_and_found() -> None:
    for name in set(ease.__all__) - {"__version__"}:
        assert getattr(ease, name).__doc__
        assert f"ease.{name}" in DOCUMENT
    assert ease.parse_wikitext is parse_wikitext
    with pytest.raises(AttributeError, match="parse_wiki"):
        _ = ease.parse_wiki  # type: ignore[attr-defined]


def test_importing_ease_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import ease; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert imported - sys.stdlib_module_names == {"ease"}
