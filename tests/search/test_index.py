"""An index finds what a comparison with all sentences finds, survives kills, and belongs to one model."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.search.index import Index, build_index, vector_code

LANGUAGES = ("de", "en", "ja")
DIMENSION = 32


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a direction for each text that depends on nothing but the text."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
    return np.stack([np.random.default_rng(seed).normal(size=DIMENSION) for seed in seeds]).astype(np.float32)


Tables = tuple[list[Path], list[Path]]
"""Files of the sentences and of their links"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """6,000 sentences of three languages, of which every second links to an entity; and a few without letters."""
    numbers = range(6_000)
    key = {
        "language": [LANGUAGES[number % 3] for number in numbers],
        "page_id": [number // 30 for number in numbers],
        "sentence_index": [number % 30 for number in numbers],
    }
    texts = ["—" if number % 1_000 == 7 else f"sentence {number}" for number in numbers]
    sentences = pd.DataFrame({**key, "page_title": "Page", "text": texts})
    links = pd.DataFrame({**key, "entity": numbers, "title": "Title"})[::2]
    folder = tmp_path_factory.mktemp("tables")
    files = folder / "sentences.parquet", folder / "links.parquet"
    sentences.to_parquet(files[0])
    links.to_parquet(files[1])
    return [files[0]], [files[1]]


@pytest.fixture(scope="module")
def index(tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The complete index."""
    folder = tmp_path_factory.mktemp("built") / "index"
    build_index(folder, embed, *tables)
    return Index(folder)


def nearest_texts(index: Index, query: NDArray[np.float32], k: int, languages: list[str]) -> list[str]:
    rows = index.nearest(query, k, languages).rows
    return [row["text"] for row in index.sentences.rows(rows)]


def expected_texts(tables: Tables, query: NDArray[np.float32], k: int, languages: list[str]) -> list[str]:
    table = pd.read_parquet(tables[0][0])
    table = table[table["text"].str.contains("sentence")]
    if languages:
        table = table[table["language"].isin(languages)]
    vectors = embed(table["text"].tolist())
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1)
    return table["text"].iloc[np.argsort(-cosines)[:k]].tolist()


@pytest.mark.parametrize("languages", [[], ["ja", "de"]])
def test_finds_the_nearest_sentences_of_the_languages(tables: Tables, index: Index, languages: list[str]) -> None:
    assert len(index.sentences) == 6_000 - 6
    assert len(index.blocks) > 1
    query = embed(["a query"])[0]
    assert nearest_texts(index, query, 25, languages) == expected_texts(tables, query, 25, languages)


BUILD_AND_DIE = """
import os, signal, sys
from pathlib import Path
from ease.search.index import build_index
from tests.search.test_index import embed
calls = 0

def dying(texts):
    global calls
    calls += 1
    if calls == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return embed(texts)

files = [Path(name) for name in sys.argv[2:]]
build_index(Path(sys.argv[1]), dying, files[:1], files[1:])
"""


@pytest.mark.slow
def test_build_continues_after_a_kill(tables: Tables, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    command = [sys.executable, "-c", BUILD_AND_DIE, str(folder), str(tables[0][0]), str(tables[1][0])]
    assert subprocess.run(command, check=False).returncode == -9
    part = Index(folder)
    blocks = len(part.blocks)
    assert 0 < part.embedded() < len(part.sentences)
    assert len(part.nearest(embed(["a query"])[0], 10).rows) == 10, "the finished part can be searched"
    calls = []

    def counting(texts: Sequence[str]) -> NDArray[np.float32]:
        calls.append(len(texts))
        return embed(texts)

    build_index(folder, counting, *tables)
    assert len(calls) == blocks - 2
    assert part.embedded() == len(part.sentences), "an open index sees the new blocks"
    query = embed(["a query"])[0]
    assert nearest_texts(part, query, 10, []) == expected_texts(tables, query, 10, [])


@pytest.mark.slow
def test_faiss_finds_the_same_beyond_the_limit(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ease.search.index.EXACT_LIMIT", 5_000)
    build_index(tmp_path / "index", embed, *tables)
    assert (tmp_path / "index/vectors.faiss").exists()
    index = Index(tmp_path / "index")
    hits = total = 0
    for number in range(10):
        query = embed([f"sentence {number}"])[0] + 0.3 * embed([f"noise {number}"])[0]
        for languages in ([], ["ja"], ["de", "ja"]):
            exact = expected_texts(tables, query, 5, languages)
            nearest = nearest_texts(index, query, 5, languages)
            assert nearest[0] == exact[0] or languages
            hits, total = hits + len({*nearest} & {*exact}), total + 5
            cosines = index.nearest(query, 5, languages).cosines
            assert (np.diff(cosines) <= 0).all()
    assert hits / total >= 0.95


def test_compressed_vectors_fit_into_the_memory() -> None:
    assert vector_code(10**6, 768) == "SQ8"
    assert vector_code(10**7, 768) == "PQ64"


def test_languages_without_a_sentence_and_more_results_than_sentences(index: Index) -> None:
    query = embed(["a query"])[0]
    with pytest.raises(EaseError, match="No sentence in the language 'jp': Choose from de, en, ja"):
        index.nearest(query, 1, ["jp"])
    assert len(index.nearest(query, 10_000, ["ja"]).rows) < 2_001, "all of the language"


def test_sentences_without_words_have_no_index(tmp_path: Path) -> None:
    row = {"language": ["de"], "page_id": [1], "sentence_index": [0], "page_title": ["P"], "text": ["—"]}
    pd.DataFrame(row).to_parquet(tmp_path / "sentences.parquet")
    with pytest.raises(EaseError, match="empty: there is nothing to search"):
        build_index(tmp_path / "index", embed, [tmp_path / "sentences.parquet"], [])
