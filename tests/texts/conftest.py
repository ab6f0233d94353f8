"""Texts gathered from sources, as plain rows."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ease.texts import gather_texts, source_options
from ease.texts.components.sources import Workspace

Row = tuple[str, str | None, str | None]
"""sentence, positive, negative"""

GatherRows = Callable[..., tuple[list[Row], list[dict[str, Any]]]]
WriteFile = Callable[..., Path]


@pytest.fixture
def gather_rows(tmp_path: Path) -> GatherRows:
    """Gather sources given as in a recipe, on DuckDB: the rows in order, and the report."""

    def gather_rows(
        *sources: dict[str, Any], seed: int = 0, rows: int | None = None, threads: int | None = None, pairs: Any = None
    ) -> tuple[list[Row], list[dict[str, Any]]]:
        workspace = Workspace(tmp_path / "workspace", "500MB", threads, pairs)
        table, report = gather_texts([source_options(source) for source in sources], workspace, seed, rows)
        records = table.to_pyarrow().to_pylist()
        workspace.connection.disconnect()
        assert [row["pair_id"] for row in records] == list(range(len(records)))
        assert list(records[0] if records else []) in ([], ["pair_id", "sentence", "positive", "negative"])
        return [(row["sentence"], row["positive"], row["negative"]) for row in records], report

    return gather_rows


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    """Write a file of these bytes, or of this text in UTF-8, packed where its name ends in .gz."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return write_file
