"""Tables as csv, tsv and Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from tests.texts.conftest import GatherRows, WriteFile


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
    texts = [f"text {number}" for number in range(20_000)]
    table = pa.table({"other": range(20_000), "s": texts, "p": [None, *texts[1:]]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3_000)
    source = {"kind": "columns", "path": tmp_path / "a.parquet", "sentence": "s", "positive": "p"}
    rows, (report,) = gather_rows(source)
    assert rows == [(text, text, None) for text in texts[1:]]
    assert report["blank"] == 1
    with pytest.raises(EaseError, match="a.parquet: no column t; it has other, s, p"):
        gather_rows({**source, "sentence": "t"})
    (tmp_path / "b.parquet").write_text("no table")
    with pytest.raises(EaseError, match="b.parquet is not Parquet"):
        gather_rows({**source, "path": tmp_path / "b.parquet"})


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.tsv", "s\tp\na\tb\nc\n", "a.tsv, line 3: 1 columns, but the first line has 2"),
        ("a.csv", 's,p\na,"b\nc,d\n', "a.csv, line 3: not a valid csv"),
        ("a.csv", "s,q\na,b\n", "a.csv: no column p; it has s, q"),
    ],
)
def test_errors_in_columns_name_the_file_and_the_line(
    gather_rows: GatherRows, write_file: WriteFile, name: str, content: str, fault: str
) -> None:
    path = write_file(name, content)
    with pytest.raises(EaseError, match=fault):
        gather_rows({"kind": "columns", "path": path, "sentence": "s", "positive": "p"})
