"""Readers of text tables: formats, encodings and errors."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.evaluation.tasks.set_files import SetFiles, read_fields
from ease.io import text_tables
from ease.io.text_tables import LONGEST_LINE, read_columns, read_lines, read_records, read_rows
from ease.texts.components.sources import read_text_fields


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_compression_is_recognised_by_content(tmp_path: Path, compress: type[bytes]) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(compress("\ufeffä\r\n\nlast\x85line".encode()))
    assert list(read_lines(path)) == [(1, "ä"), (2, ""), (3, "last\x85line")]


def zipped(member: str, content: str = "x,y\n1,2\n") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(member, content)
    return packed.getvalue()


def tarred() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("table.csv"))
    return packed.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
OTHER_KINDS = [
    (zipped("table.csv"), "a zip archive, which is not read: unpack it"),
    (zipped("[Content_Types].xml"), "an Excel workbook, which is not read: save it as .csv"),
    (tarred(), "a tar archive, which is not read: unpack it"),
    (gzip.compress(tarred()), "a tar archive"),
    (b"7z\xbc\xaf\x27\x1c" + bytes(99), "a 7z archive"),
    (b"Rar!\x1a\x07\x01\x00", "a rar archive"),
    (POINTER, "a pointer of Git LFS, not the file itself: run `git lfs pull`"),
    (zipped("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), "an OpenDocument file, which is not read"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "a file of an old Office program, such as .xls: save it as .csv"),
    (b"ARROW1\0\0", "an Arrow file: save it as .parquet"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x93NUMPY\x01\0", "an array of NumPy"),
    (b"%PDF-1.7", "a PDF file"),
    (b"SQLite format 3\0" + bytes(99), "an SQLite database: export a table as .csv"),
    (b"\n<!DOCTYPE html>\n<html>", "a web page, such as a server's error: download the file again"),
]
"""Contents that are neither text nor Parquet, and what errors call them"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *OTHER_KINDS,
        (b"PAR1" + bytes(99), "a Parquet file: name it .parquet"),
        (gzip.compress(gzip.compress(b"x,y")), "gz-compressed, maybe twice: gzip and bzip2 are read, once"),
        (lzma.compress(b"x,y"), "xz-compressed, maybe twice"),
        ("x,y".encode("utf-16"), "encoded in UTF-16: convert it (iconv -f UTF-16 -t UTF-8)"),
        (codecs.BOM_UTF16_BE + "x,y".encode("utf-16-be"), "encoded in UTF-16"),
    ],
)
def test_a_text_table_of_another_kind_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(EaseError, match=f"^{re.escape(f'{path} is {message}')}"):
        list(read_records(path, ["x"], ",", quoted=True))


@pytest.mark.parametrize(("content", "message"), OTHER_KINDS)
def test_a_parquet_file_of_another_kind_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(content)
    if message == "a tar archive":
        message = ""  # Parquet is not searched for inside gzip
    with pytest.raises(EaseError, match=re.escape(f"{path} is not Parquet: ") + f".*{re.escape(message)}") as caught:
        list(read_text_fields(path, ["x"]))
    assert "\n" not in str(caught.value)
    with pytest.raises(EaseError, match=f"not a complete Parquet file .*{re.escape(message)}"):
        list(read_fields([path], {"left": "x"}, SetFiles()))


def test_damaged_files_and_long_lines_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for content in (gzip.compress(b"line\n" * 1000)[:-20], bz2.compress(b"line\n" * 1000)[:-20]):
        path.write_bytes(content)
        with pytest.raises(EaseError, match="lines is cut or damaged"):
            list(read_lines(path))
    path.write_bytes(b"short\n" + b"x" * LONGEST_LINE)
    assert len(list(read_lines(path))) == 2
    path.write_bytes(b"short\n" + b"x" * (LONGEST_LINE + 1))
    with pytest.raises(EaseError, match="lines, line 2: longer than"):
        list(read_lines(path))


def test_lines_of_latin_1_are_decoded_on_request(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("é\n".encode("latin-1") + "é\n".encode())
    assert [line for _, line in read_lines(path, latin1=True)] == ["é", "é"]
    with pytest.raises(EaseError, match="line 1: not UTF-8"):
        list(read_lines(path))


def test_rows_end_at_the_number_of_their_last_line(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text('a,"b\nc"\n\nd,e\n')
    assert list(read_rows(path, ",", quoted=True)) == [(2, ["a", "b\nc"]), (3, []), (4, ["d", "e"])]
    assert next(read_rows(path, ",")) == (1, ["a", '"b'])


def test_records_and_columns_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("x\ty\n\n1\t 2 \n")
    assert list(read_records(path, ["y"], "\t")) == [(f"{path}, line 3", {"x": "1", "y": "2"})]
    assert list(read_columns(path, ["y", "x"], "\t")) == [(3, (" 2 ", "1"))]
    assert list(read_columns(path, [2], "\t")) == [(1, ("y",)), (3, (" 2 ",))]
    with pytest.raises(EaseError, match="no column z; it has x, y"):
        list(read_records(path, ["z"], "\t"))
    path.write_text("x;y;z\n1;2;3\n")
    with pytest.raises(EaseError, match=r"no column z; it has x;y;z\. Columns are separated by commas .* maybe by ';'"):
        list(read_records(path, ["z"], ","))
    path.write_text("x\ty\ty\n1\t2\t3\n")
    with pytest.raises(EaseError, match="names the column y twice"):
        list(read_records(path, ["x", "y"], "\t"))
    assert list(read_records(path, ["x"], "\t"))


@pytest.mark.parametrize("text", ['x,y\n1,2\n3,"4\n5,6\n', 'x,y\n"1" 2,3\n'])
def test_a_quotation_mark_that_swallows_rows_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(EaseError, match=r"table\.csv, line \d: not a valid csv file .*fix its quotes"):
        list(read_records(tmp_path / "table.csv", ["x", "y"], ",", quoted=True))


def test_parallel_files_must_have_the_same_length(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("one\n")
    lines = text_tables.read_parallel_lines([tmp_path / "a", tmp_path / "b"])
    assert next(lines) == (1, ("1", "one"))
    with pytest.raises(EaseError, match="b ends after line 1, but .*a has a line 2"):
        next(lines)
