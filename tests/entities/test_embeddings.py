"""Vectors are aligned to the vocabulary; other entities get random vectors of the same scale and are counted."""

from __future__ import annotations

import bz2
import struct
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend
from safetensors.numpy import save_file

from ease.entities.embeddings import EmbeddingOptions, align_embeddings, draw_like, embed_entities, name_entities
from ease.errors import EaseError
from tests.wikimedia.made_dumps import PACK

TITLES = ["Zürich", "Tokyo (city)", "東京 都", "Missing", "Also missing", "Paris"]
VECTORS = {
    "Zürich": [0.5, -1.25, 3.0],
    "Tokyo (city)": [1.0, 2.0, -3.5],
    "東京 都": [4.0, 5.0, 6.0],
    "Paris": [-7.0, 8.0, 9.5],
    "Elsewhere": [100.0, 100.0, 100.0],
}


def make_names(titles: list[str], direct: bool = True) -> pa.Table:
    rows = pa.array(range(len(titles)), pa.int64())
    return pa.table({"row": rows, "title": titles, "direct": [direct] * len(titles)})


WITH_TABS = "the\t9 9 9\n" + "".join(f"ENTITY/{title}\t{' '.join(map(str, row))}\n" for title, row in VECTORS.items())
"""The text that the package writes by default"""
WITH_UNDERSCORES = WITH_TABS.replace(" (", "_(").replace(" 都", "_都").replace("\t", " ") + "zürich\u2028 9 9 9\n"
HEADED = f"{len(VECTORS) + 2} 3\n{WITH_UNDERSCORES}"
"""The text of the published files: a header, words, entities with underscores"""


@pytest.mark.parametrize(("text", "suffix"), [(HEADED, ".bz2"), (WITH_UNDERSCORES, ".gz"), (WITH_TABS, "")])
def test_rows_with_a_vector_equal_the_file(tmp_path: Path, text: str, suffix: str) -> None:
    (tmp_path / "vectors").write_bytes(PACK[suffix](text.encode()))
    table, count = align_embeddings(make_names(TITLES), len(TITLES), tmp_path / "vectors", 3, seed=1)
    assert table.dtype == np.float32
    assert (table.shape, count) == ((6, 3), 4)
    assert [table[row].tolist() for row in (0, 1, 2, 5)] == [VECTORS[TITLES[row]] for row in (0, 1, 2, 5)]


def test_rows_without_a_vector_are_random_on_the_same_scale(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"ENTITY/{row} {' '.join(map(str, rng.normal(0.1, 0.3, 50)))}" for row in range(0, 2000, 2)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    names = make_names([str(row) for row in range(2000)])
    tables = [align_embeddings(names, 2000, tmp_path / "v.txt", 50, seed=seed)[0] for seed in (1, 1, 2)]
    missing = tables[0][1::2]
    assert (missing.std(), missing.mean()) == (pytest.approx(0.3, rel=0.02), pytest.approx(0, abs=0.01))
    assert len(np.unique(missing)) > 0.99 * missing.size
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0][::2], tables[2][::2])
    assert np.isclose(tables[0][1::2], tables[2][1::2]).mean() < 0.01


def test_uniform_rows_have_the_bound_of_the_authors_code(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("ENTITY/0 " + " ".join(["3"] * 50))
    names = make_names([str(row) for row in range(2000)])
    options = EmbeddingOptions(source="file", file=tmp_path / "v.txt", random_vectors="uniform", seed=1)
    mixed, count = embed_entities(names, 2000, 50, [], options, tmp_path)
    assert mixed[0].tolist() == [3.0] * 50
    assert count == 1
    assert mixed.dtype == np.float32
    options = EmbeddingOptions(source="random", random_vectors="uniform", seed=1)
    random_table, _ = embed_entities(names, 2000, 50, [], options, tmp_path)
    np.testing.assert_array_equal(mixed[1:], random_table[1:])
    save_file({"embeddings": mixed}, tmp_path / "table.safetensors")
    ablated = draw_like(tmp_path / "table.safetensors", seed=2, random_vectors="uniform")
    for rows in (mixed[1:], ablated):
        assert np.histogram(rows, 4, (-0.05, 0.05))[0] == pytest.approx([rows.size / 4] * 4, rel=0.03)


def test_an_own_title_has_precedence_over_a_redirect(tmp_path: Path) -> None:
    vectors = {"Old_1": 1, "New": 2, "Old_2": 3, "Moved": 4, "Was": 5}
    lines = "".join(f"ENTITY/{title} {number}\n" for title, number in vectors.items())
    (tmp_path / "v.txt").write_text(f"2 1\n{lines}")
    columns = {"row": [0, 0, 0, 1, 1, 1], "title": ["New", "Old 1", "Old 2", "Is", "Moved", "Was"]}
    names = pa.table({**columns, "direct": [True, False, False] * 2})
    table, count = align_embeddings(names, 2, tmp_path / "v.txt", 1, seed=0)
    assert table.tolist() == [[2], [4]]
    assert count == 2


def test_rows_are_found_by_english_titles_and_their_redirects(duckdb_engine: SQLBackend, tables: Any) -> None:
    labels = ["Roma", "Five", "Seis", "Seven"]
    vocabulary = ibis.memtable(pa.table({"row": range(4), "entity": [-9, 5, 6, 7], "label": labels}))
    sitelinks = tables.sitelinks([(5, "en", "Five"), (6, "pt", "Seis"), (7, "en", "Seven"), (7, "pt", "Sete")])
    english = [("5", "Five"), ("Seven", "Five"), ("Rome", "Roma"), ("Six", "Seis")]
    redirects = tables.redirects([("pt", "V", "Five"), *(("en", *redirect) for redirect in english)])
    names = name_entities(vocabulary, ibis.memtable(sitelinks), ibis.memtable(redirects))
    rows = [tuple(row.values()) for row in duckdb_engine.to_pyarrow(names).to_pylist()]
    expected = [(0, "Roma", True), (0, "Rome", False), (1, "Five", True), (1, "5", False), (3, "Seven", True)]
    assert rows == expected
    by_label = duckdb_engine.to_pyarrow(name_entities(vocabulary)).to_pylist()
    assert [row["title"] for row in by_label] == labels


def test_a_pickle_is_refused_and_not_opened(tmp_path: Path) -> None:
    trap = str(tmp_path / "sprung").encode()
    content = b"\x80\x03cposix\nmkdir\nX" + struct.pack("<I", len(trap)) + trap + b"\x85R."
    for name, packed in (("m.pkl", content), ("m.pkl.bz2", bz2.compress(content)), ("m.txt", content)):
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(EaseError, match="pickle.*wikipedia2vec save-text"):
            align_embeddings(make_names(TITLES), 6, tmp_path / name, 3, seed=0)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no vector: download it again"),
        (b"0 3\n", "has no vector"),
        (bz2.compress(HEADED.encode() * 500)[:-20], "is cut or damaged .*fetch the file again"),
        (b"1 3\nENTITY/Paris 1 2 x\n", "line 2: the vector of 'Paris' is not 3 finite numbers"),
        (b"<html>\n", "is a web page"),
        (b"9" * 5000 + b" " + b"9" * 5000 + b"\n", "have 999999999 dimensions"),
        (bz2.compress(b"ENTITY/A" + bytes(50 << 20)), "line 1: longer than 1048576 bytes"),
    ],
)
def test_corrupt_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(EaseError, match=message):
        align_embeddings(make_names(TITLES), 6, tmp_path / "vectors", 3, seed=0)


def test_a_random_table_has_the_shape_and_deviation_of_its_model(tmp_path: Path) -> None:
    original = (3 * np.random.default_rng(0).standard_normal((500, 40)) + 1).astype(np.float32)
    table = tmp_path / "table.safetensors"
    save_file({"embeddings": original}, table)
    random_table = draw_like(table, seed=1)
    assert (random_table.shape, random_table.dtype) == (original.shape, original.dtype)
    assert random_table.std() == pytest.approx(original.std(), rel=0.02)
    assert abs(np.corrcoef(random_table.ravel(), original.ravel())[0, 1]) < 0.05
    assert np.array_equal(random_table, draw_like(table, seed=1))
    assert not np.array_equal(random_table, draw_like(table, seed=2))
