"""Read the header of a MediaWiki export: its wiki and the wiki's namespaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Never
from xml.parsers import expat

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import DecompressedStream

_MOST_HEADER_BYTES = 16 << 20
_XML_LANG = "xml:lang"


@dataclass
class Header:
    """The `<siteinfo>` of an export; `namespaces` maps lower-cased localised names to numbers."""

    language: str | None = None
    dbname: str | None = None
    case: str = "first-letter"
    namespaces: dict[str, int] = field(default_factory=dict)


class _HeaderReadError(Exception):
    """Raised at the first page to leave the parser; never leaves this module."""


class _HeaderParser:
    """Fills a `Header` from expat's events, and refuses what no export contains."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = Header()
        self._root: str | None = None
        self._namespace: int | None = None
        self._text = ""
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.XmlDeclHandler = self._check_encoding
        self._expat.StartDoctypeDeclHandler = self._refuse_doctype
        self._expat.EntityDeclHandler = self._refuse_doctype

    def feed(self, block: bytes) -> None:
        """Parse a block; raise `_HeaderReadError` at the first page."""
        try:
            self._expat.Parse(block, False)
        except expat.ExpatError as error:
            if self._root is None:
                raise self._not_an_export(f"it begins with {block[:40]!r}") from None
            raise EaseError(
                f"{self.path} is broken before its first page: {error}. Download it again."
            ) from None

    def finish(self) -> None:
        """Refuse a file that ends before its root element."""
        if self._root is None:
            raise self._not_an_export("it has no element")

    def _not_an_export(self, found: str) -> EaseError:
        return EaseError(f"{self.path} is not a MediaWiki export (XML with the root <mediawiki>): {found}.")

    def _check_encoding(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in {"utf-8", "utf8", "us-ascii"}:
            raise EaseError(
                f"{self.path} is encoded in {encoding}, but MediaWiki exports are UTF-8: convert it."
            )

    def _refuse_doctype(self, *_: object) -> Never:
        raise EaseError(
            f"{self.path} declares a document type or entities, which can expand without bound and which no MediaWiki "
            "export does: refused. Download the dump from its publisher."
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if self._root is None:
            if name != "mediawiki":
                raise self._not_an_export(f"its root is <{tag}>")
            self._root = name
            self.header.language = attributes.get(_XML_LANG)
        elif name == "page":
            raise _HeaderReadError
        elif name == "namespace" and attributes.get("key", "").lstrip("-").isdecimal():
            self._namespace = int(attributes["key"])
        self._text = ""

    def _characters(self, text: str) -> None:
        self._text += text

    def _end(self, tag: str) -> None:
        name, text = tag.rpartition(":")[2], self._text.strip()
        if name == "dbname":
            self.header.dbname = text
        elif name == "case" and text:
            self.header.case = text
        elif name == "namespace" and self._namespace is not None and text:
            self.header.namespaces[text.lower()] = self._namespace
        self._text = ""


def read_header(path: Path) -> Header:
    """Read an export up to its first page.

    Raises:
        EaseError: The file is missing, broken, not a MediaWiki export, or declares a document type.
    """
    parser, size = _HeaderParser(path), 0
    try:
        for _, block in DecompressedStream(path):
            parser.feed(block)
            size += len(block)
            if size > _MOST_HEADER_BYTES:
                raise EaseError(
                    f"{path} has no <page> in its first {size:,} bytes: it is not a dump of articles."
                )
    except _HeaderReadError:
        return parser.header
    parser.finish()
    return parser.header
