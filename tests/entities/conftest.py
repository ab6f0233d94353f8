"""A small random wiki as tables, and the two engines."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis.backends.sql import SQLBackend

from ease.wikimedia.wikidata import ENTITY_TYPES, SITELINKS
from ease.wikimedia.wikipedia import REDIRECTS, SENTENCES
from tests.spark import spark_session as spark_session

NAMES = ("Zürich", "東京", "Łódź", "Naïve 😀", "O'Brien", "A/B", 'Say "hi"', "رم", "100%", "x")


class Tables:
    """Makes tables with the columns and types that ingestion writes."""

    def sentences(self, rows: Iterable[tuple[str, int, str, int, str, list[str]]]) -> pa.Table:
        """Rows of language, page_id, page_title, sentence_index, text and the targets of links."""
        linked = []
        for *key, index, text, targets in rows:
            links = [{"start": 0, "end": len(text), "target": target} for target in targets]
            linked.append((*key, 1, index, text, links, 0))
        return self._table(linked, SENTENCES)

    def links(self, rows: Iterable[tuple[str, int, int, str, int]]) -> pa.Table:
        """Rows of language, page_id, sentence_index, title and entity."""
        keys = {"language": pa.string(), "page_id": pa.int64(), "sentence_index": pa.int32()}
        return self._table(rows, pa.schema({**keys, "title": pa.string(), "entity": pa.int64()}))

    def _table(self, rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)

    redirects = partialmethod(_table, schema=REDIRECTS)
    sitelinks = partialmethod(_table, schema=SITELINKS)
    entity_types = partialmethod(_table, schema=ENTITY_TYPES)

    def wiki(self, seed: int, items: int = 30, pages: int = 25) -> SimpleNamespace:
        """A random wiki: titles in many scripts, chains and loops of redirects, dead links, several types."""
        rng = random.Random(seed)
        languages = ("en", "ja", "pt")
        sitelinks = [
            (qid, language, f"{NAMES[qid % len(NAMES)]} {qid} {language}")
            for qid in range(1, items + 1)
            for language in languages
            if rng.random() < 0.8
        ]
        titles = {code: [title for _, language, title in sitelinks if language == code] for code in languages}
        sources = [f"R{number}" for number in range(40)]
        redirects = [
            (language, source, rng.choice([*sources, *titles[language], "Nowhere"]))
            for language in languages
            for source in sources
        ]
        sentences = []
        for page in range(pages):
            language = languages[page % 3]
            title = rng.choice(titles[language])
            for index in range(rng.randint(1, 8)):
                targets = rng.choices(titles[language][:12] + sources[:14] + ["Nowhere"], k=rng.randint(0, 4))
                text = "é😀語" * rng.randint(1, 40)
                sentences.append((language, page, title, index, text, targets + targets[:1]))
        types = [(qid, rng.randint(100, 106)) for qid in range(1, items + 1) for _ in range(2)]
        return SimpleNamespace(
            sentences=self.sentences(sentences),
            redirects=self.redirects(redirects),
            sitelinks=self.sitelinks(sitelinks),
            entity_types=self.entity_types(types),
            languages=languages,
        )


@pytest.fixture(scope="session")
def tables() -> Tables:
    return Tables()


@pytest.fixture(scope="session")
def spark_engine(spark: Any) -> SQLBackend:
    return ibis.pyspark.connect(spark)


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> SQLBackend:
    return ibis.duckdb.connect() if request.param == "duckdb" else request.getfixturevalue("spark_engine")


@pytest.fixture(scope="session")
def duckdb_engine() -> SQLBackend:
    return ibis.duckdb.connect()


@pytest.fixture(params=["parts", pytest.param("spark", marks=pytest.mark.spark)])
def another_store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[SQLBackend, Any]:
    """An engine, and a function that stores a table as many Parquet parts in another row order."""
    if request.param == "parts":
        engine, parts = ibis.duckdb.connect(), 7
    else:
        engine, parts = request.getfixturevalue("spark_engine"), 2

    def store(table: pa.Table) -> ibis.Table:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        shuffled = table.take(sorted(range(len(table)), key=lambda row: row * 7919 % 101))
        rows = len(table) // parts + 1
        for part in range(parts):
            pq.write_table(shuffled.slice(part * rows, rows), folder / f"{part}.parquet")
        paths = sorted(str(path) for path in folder.iterdir())
        return engine.read_parquet(paths if engine.name == "duckdb" else str(folder))

    return engine, store


@pytest.fixture
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[SQLBackend, ibis.Table], pa.Table]:
    """Write a table as Parquet by an engine, and read the rows and types without the engine."""

    def save(engine: SQLBackend, table: ibis.Table) -> pa.Table:
        path = tmp_path_factory.mktemp("saved") / "table.parquet"
        engine.to_parquet(table, path)
        return pq.read_table(path)

    return save
