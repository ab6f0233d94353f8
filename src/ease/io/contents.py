"""What a file holds by its first bytes, so that an error can name it."""

from __future__ import annotations

import re
from pathlib import Path

HEAD_BYTES = 512
"""First bytes that are enough to recognise any content"""

_COMPRESSIONS = {
    "bz2": b"BZh",
    "gz": b"\x1f\x8b",
    "zst": b"\x28\xb5\x2f\xfd",
    "xz": b"\xfd7zXZ\0",
}
_POINTER = b"version https://git-lfs.github.com/spec/"
POINTER = "a pointer of Git LFS, not the file itself: run `git lfs pull` in its clone"
PARQUET = b"PAR1"
"""First bytes of a Parquet file"""
_OTHERS = {
    _POINTER: POINTER,
    b"PK\x03\x04": "a zip archive, which is not read: unpack it",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive, which is not read: unpack it",
    b"Rar!\x1a\x07": "a rar archive, which is not read: unpack it",
    PARQUET: "a Parquet file: name it .parquet",
    b"SQLite format 3\0": "an SQLite database: export a table as .csv",
    b"ARROW1": "an Arrow file: save it as .parquet",
    b"\x89HDF\r\n": "an HDF5 file: save its table as .parquet",
    b"\x93NUMPY": "an array of NumPy: save it as .csv",
    b"ZIM\x04": "a ZIM archive of rendered pages: download the wiki's dump pages-articles instead",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a file of an old Office program, such as .xls: save it as .csv",
    b"%PDF-": "a PDF file: save its text",
}
# A tar archive has its mark at this offset.
_TAR_MARK = b"ustar"
_TAR_OFFSET = 257
# First members of an Excel workbook and of an OpenDocument file, which are zip archives.
_WORKBOOK = re.compile(rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|docProps/|xl/)", re.DOTALL)
_OPEN_DOCUMENT = re.compile(rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", re.DOTALL)
_WEB_PAGE = (b"<!doctype html", b"<html")


def compression_of_content(head: bytes) -> str:
    """Return the compression of a file's first bytes as a suffix without its dot; empty for any other content."""
    return next((name for name, magic in _COMPRESSIONS.items() if head.startswith(magic)), "")


def begins_compressed(head: bytes, compression: str) -> bool:
    """Return whether first bytes, which may be very few, are those of a compression."""
    magic = _COMPRESSIONS[compression]
    return head.startswith(magic) or magic.startswith(head)


def foreign_content(head: bytes) -> str:
    """Return what a file is and what to do, if its first bytes are neither text nor compressed; else an empty text."""
    head = head[:HEAD_BYTES]
    if head[_TAR_OFFSET:].startswith(_TAR_MARK):
        return "a tar archive, which is not read: unpack it"
    if _WORKBOOK.match(head):
        return "an Excel workbook, which is not read: save it as .csv"
    if _OPEN_DOCUMENT.match(head):
        return "an OpenDocument file, which is not read: save it as .csv"
    if head.lstrip().lower().startswith(_WEB_PAGE):
        return "a web page, such as a server's error: download the file again"
    return next((name for magic, name in _OTHERS.items() if head.startswith(magic)), "")


def explain_fault(path: Path, error: Exception) -> str:
    """Return what a file is in place of what its reader expects; if that is unknown, the reader's error in one line."""
    foreign = ""
    if path.is_file():
        with path.open("rb") as file:
            foreign = foreign_content(file.read(HEAD_BYTES))
    if foreign:
        return f"it is {foreign}"
    return (str(error).splitlines() or [type(error).__name__])[0]


def is_pointer(path: Path) -> bool:
    """Return whether a file is a pointer of Git LFS, as a clone without Git LFS leaves it."""
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER
