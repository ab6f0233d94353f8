"""Text files, tables and random strings: what is a text, what is left out, and what is refused."""

from __future__ import annotations

import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.texts import get_kind, kind_names
from tests.project import ROOT
from tests.texts.conftest import GatherRows, WriteFile


def test_every_module_is_a_documented_kind() -> None:
    document = (ROOT / "docs" / "training_texts.md").read_text("utf-8")
    table = document.partition("## Kinds")[2].partition("\n\n- ")[0]
    names = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    assert sorted(names) == kind_names()
    titles = [get_kind(name).title for name in names]
    assert len(set(titles)) == len(titles)


def test_byte_order_marks_line_ends_and_blank_lines_are_removed(gather_rows: GatherRows, write_file: WriteFile) -> None:
    # U+2028 and U+0085 end lines for Python's str.splitlines, and for nobody else here.
    path = write_file("a.txt", "\ufefffirst\r\n\r\n  second \nthird\u2028still third\u0085\n\nfirst\n \t\nlast")
    rows, (report,) = gather_rows({"kind": "lines", "path": path})
    assert [row[0] for row in rows] == ["first", "second", "third\u2028still third", "last"]
    counts = {"read": 8, "blank": 3, "repeated": 1, "available": 4, "taken": 4}
    assert {name: report[name] for name in counts} == counts
    assert {row[1:] for row in rows} == {(None, None)}


def test_a_range_of_lines_is_read(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("a.txt", "# comment\nthe\nof\n\nand\nin\nto\n")
    second = {"kind": "lines", "path": path, "skip": 3, "take": 3}
    rows, (report,) = gather_rows(second)
    assert [row[0] for row in rows] == ["and", "in"]
    assert (report["read"], report["blank"]) == (3, 1)
    assert [row[0] for row in gather_rows({**second, "take": None})[0]] == ["and", "in", "to"]
    with pytest.raises(EaseError, match=r"a\.txt\): 0 are left \(read 0"):
        gather_rows({**second, "skip": 7})


def test_quotes_enclose_fields_of_csv_but_not_of_tsv(gather_rows: GatherRows, write_file: WriteFile) -> None:
    csv = write_file("a.csv", 'x,text,same\r\n1,"a ""quoted"", text","two\nlines"\r\n\r\n2,b,c\r\n')
    rows, (report,) = gather_rows({"kind": "columns", "path": csv, "sentence": "text", "positive": "same"})
    assert rows == [('a "quoted", text', "two\nlines", None), ("b", "c", None)]
    assert (report["read"], report["blank"]) == (2, 0)
    tsv = write_file("a.tsv.gz", 'text\tsame\n"a, b\tc"\n\nd\t e \n')
    rows, _ = gather_rows({"kind": "columns", "path": tsv, "sentence": "same", "positive": "text"})
    assert rows == [('c"', '"a, b', None), ("e", "d", None)]


def test_a_repeated_sentence_is_used_once_on_request(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("train.tsv", "question\tsentence\nq1\ts1\nq2\ts2\nq3\ts1\nq4\ts3\nq5\ts2\n")
    source = {"kind": "columns", "path": path, "sentence": "sentence"}
    assert [row[0] for row in gather_rows(source)[0]] == ["s1", "s2", "s1", "s3", "s2"]
    rows, (report,) = gather_rows({**source, "distinct": True, "positive": "question"})
    assert rows == [("s1", "q1", None), ("s2", "q2", None), ("s3", "q4", None)]
    assert (report["read"], report["repeated"], report["taken"]) == (5, 2, 3)


def test_parquet_is_read_in_its_order(gather_rows: GatherRows, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(5_000)]
    table = pa.table({"other": range(5_000), "s": texts, "p": [None, *texts[1:]]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    source = {"kind": "columns", "path": tmp_path / "a.parquet", "sentence": "s", "positive": "p"}
    rows, (report,) = gather_rows(source)
    assert rows == [(text, text, None) for text in texts[1:]]
    assert report["blank"] == 1
    with pytest.raises(EaseError, match="a.parquet: no column t; it has other, s, p"):
        gather_rows({**source, "sentence": "t"})
    (tmp_path / "b.parquet").write_text("no table")
    with pytest.raises(EaseError, match="b.parquet is not Parquet"):
        gather_rows({**source, "path": tmp_path / "b.parquet"})


def test_a_file_that_cannot_be_read_is_named(gather_rows: GatherRows, tmp_path: Path) -> None:
    with pytest.raises(EaseError, match=f"{tmp_path}/none.txt cannot be read .No such file"):
        gather_rows({"kind": "lines", "path": tmp_path / "none.txt"})


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.tsv", "s\tp\na\tb\nc\n", "a.tsv, line 3: 1 columns, but the first line has 2"),
        ("a.csv", 's,p\na,"b\nc,d\n', "a.csv, line 3: not a valid csv"),
    ],
)
def test_errors_in_columns_name_the_file_and_the_line(
    gather_rows: GatherRows, write_file: WriteFile, name: str, content: str, fault: str
) -> None:
    path = write_file(name, content)
    with pytest.raises(EaseError, match=fault):
        gather_rows({"kind": "columns", "path": path, "sentence": "s", "positive": "p"})


def test_strings_are_distinct_and_evenly_drawn(gather_rows: GatherRows) -> None:
    source = {"kind": "random_strings", "rows": 20_000}
    rows, _ = gather_rows(source, seed=1)
    strings = [row[0] for row in rows]
    assert len(set(strings)) == 20_000
    lengths = Counter(map(len, strings))
    assert set(lengths) == {3, 4, 5, 6, 7, 8, 9, 10}
    assert all(2_300 < count < 2_700 for count in lengths.values())
    letters = Counter("".join(strings))
    assert set(letters) == set(string.ascii_letters + string.digits)
    mean = sum(letters.values()) / 62
    assert all(0.9 * mean < count < 1.1 * mean for count in letters.values())
    few = {**source, "rows": 500}
    sample = gather_rows(few, seed=1)[0]
    assert gather_rows(few, seed=1, threads=1)[0] == sample
    assert not set(gather_rows(few, seed=2)[0]) & set(sample[:50])


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "columns", "sentence": "s", "positive": "s"},
        {"kind": "columns", "sentence": "s", "positive": "p", "negative": "p"},
        {"kind": "columns", "sentence": 1, "negative": 1},
        {"kind": "parallel", "columns": ("s", "s")},
        {"kind": "parallel", "paths": True},
    ],
)
def test_two_texts_of_a_row_have_different_columns_or_files(
    gather_rows: GatherRows, write_file: WriteFile, source: dict[str, Any]
) -> None:
    path = write_file("a.tsv", "s\tp\na\tb\n")
    place = {"path": path}
    if "paths" in source:
        place = {"paths": [path, path]}  # type: ignore[dict-item]
    with pytest.raises(EaseError, match="is given twice, and both texts would be equal: give each its own"):
        gather_rows({**source, **place})


FACTS = "fact_id\tlanguage\ttext\n1\ten\tone\n1\tde\teins\n1\tfr\tun\n2\tde\tzwei\n3\tfr\ttrois\n3\ten\tthree\n"


def test_two_line_files_with_the_translation_of_the_same_or_the_next_line(
    gather_rows: GatherRows, write_file: WriteFile
) -> None:
    english, french = write_file("a.en", "hello\r\n\r\nyes"), write_file("a.fr.gz", "bonjour\nrien\noui\n")
    rows, (report,) = gather_rows({"kind": "parallel", "paths": [english, french]})
    assert rows == [("hello", "bonjour", None), ("yes", "oui", None)]
    assert report["place"] == f"{english} and {french}"
    assert report["blank"] == 1
    english, german = write_file("b.en", "one\ntwo\n\nfour\nfive\n"), write_file("b.de", "1\n2\n3\n4\n5\n")
    rows, _ = gather_rows({"kind": "parallel", "paths": [english, german], "form": "following"})
    assert rows == [("one", "2", None), ("four", "5", None)], "the blank third line separates two and four"


def test_facts_are_paired_with_the_pivot_language(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("facts.tsv", FACTS)
    rows, _ = gather_rows({"kind": "parallel", "path": path})
    assert rows == [("one", "eins", None), ("one", "un", None), ("three", "trois", None)]
    rows, _ = gather_rows({"kind": "parallel", "path": path, "pivot": "fr", "languages": ["en"]})
    assert sorted(rows) == [("trois", "three", None), ("un", "one", None)]
    with pytest.raises(EaseError, match="facts.tsv has nothing in ja: it has de, en, fr"):
        gather_rows({"kind": "parallel", "path": path, "languages": ["de", "ja"]})


def test_shuffled_sentences_meet_no_translation(gather_rows: GatherRows, write_file: WriteFile) -> None:
    english = write_file("a.en", "".join(f"e{line}\n" for line in range(200)))
    german = write_file("a.de", "".join(f"d{line}\n" for line in range(200)))
    source = {"kind": "parallel", "paths": [english, german], "form": "shuffled"}
    rows, _ = gather_rows(source, seed=1)
    assert 195 <= len(rows) <= 200, "only lines that meet themselves are dropped"
    pairs = [(int(left[1:]), int(str(right)[1:])) for left, right, _ in rows]
    assert all(left != right for left, right in pairs)
    assert len({right for _, right in pairs}) == len(pairs), "each translation is used once"
    assert abs(sum((left < 100) == (right < 100) for left, right in pairs) - 100) < 30, "not only neighbours"
    assert gather_rows(source, seed=1)[0] == rows
    assert gather_rows(source, seed=2)[0] != rows
