"""The public interface works without Kedro, as docs/library.md shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

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
    write_project(tmp_path / "project", trained)
    dump = test_data / "dumps/wikipedia/trwiki-mini-pages-articles.xml.bz2"
    shutil.copy(dump, tmp_path / "trwiki-pages-articles.xml.bz2")
    lines = (test_data / "eval/stsb/sts-dev.csv").read_text("utf-8").splitlines(keepends=True)[:20]
    (tmp_path / "evaluation/stsb").mkdir(parents=True)
    (tmp_path / "evaluation/stsb/sts-dev.csv").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_project(project: Path, encoder: Path) -> None:
    """Write what a search needs: sentences, the entities that they link to, and an encoder with an entity table."""
    data, version = project / "data", encoder.parent.name
    (project / "conf/base").mkdir(parents=True)
    (project / "conf/base/globals.yml").write_text("data: data\n", encoding="utf-8")
    key = {"language": ["de", "ja"], "page_id": [1, 1], "sentence_index": [0, 0]}
    texts = ["Yen ist die Währung von Japan.", "日本の通貨は円です。"]
    tables = {
        f"02_intermediate/multilingual/sentences/{version}/sentences": {
            **key,
            "page_title": ["Yen", "円"],
            "text": texts,
        },
        f"02_intermediate/multilingual/links.parquet/{version}": {
            **key,
            "entity": [8146, 8146],
            "title": ["Yen", "円"],
        },
        f"03_primary/multilingual/entity_vocabulary.parquet/{version}": {
            "row": [0],
            "entity": [8146],
            "label": ["yen"],
        },
    }
    for folder, columns in tables.items():
        (data / folder).mkdir(parents=True)
        name = Path(folder).parent.name if ".parquet" in folder else "000000.parquet"
        pd.DataFrame(columns).to_parquet(data / folder / name)
    models = data / "06_models/multilingual"
    plus = models / "ease_plus/encoder" / version / "encoder"
    shutil.copytree(encoder, plus)
    (plus / "training").mkdir()
    parts = {
        "method.table.weight": np.ones((1, 8), dtype=np.float32),
        "method.projection.weight": np.ones((SIZES["hidden_size"], 8), dtype=np.float32),
        "vocabulary_rows": np.zeros(1, dtype=np.int64),
    }
    save_file(parts, plus / "training/parts.safetensors")


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
    assert {found.language for found in names["search"].search("Yen", k=3)} == {"de", "ja"}
    assert [entity.label for entity in names["search"].nearest_entities("Yen")] == ["yen"]
    assert names["why"].words == ["Japan", "yen"]


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
