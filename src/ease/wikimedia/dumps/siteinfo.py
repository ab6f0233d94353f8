"""Read the header of a MediaWiki export: its wiki and the wiki's namespaces."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from lxml import etree

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikitext.titles import SiteInfo

_MAX_HEADER_BYTES = 16 << 20
_HEADER_END = re.compile(rb"</siteinfo|<page[\s>]|</mediawiki")
_OVERLAP = 16
"""Bytes of a block that are searched again with the next, since a tag may span both."""
_DECLARATIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
_ENCODING = re.compile(rb"\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.-]+)")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NUMBER = re.compile(r"\s*(-?[0-9]{1,19})\s*")


def read_siteinfo(path: Path, language: str | None = None) -> SiteInfo:
    """Read the namespaces and title rules of an export's wiki, which precede its first page.

    Args:
        path: The export.
        language: Language of the wiki; None: the one that the export names, or an empty text.

    Raises:
        EaseError: The file is missing, broken, not a MediaWiki export, or declares a document type.
    """
    content, complete = _read_header(path)
    _check_declarations(path, content)
    parser = etree.XMLPullParser(("start", "end"), resolve_entities=False, no_network=True)
    fault: etree.XMLSyntaxError | None = None
    try:
        parser.feed(content)  # not closed, since the header ends inside the root element
    except etree.XMLSyntaxError as error:
        fault = error
    site: dict[str, str] = {}
    namespaces: dict[str, int] = {}
    for event, element in parser.read_events():
        name, text = etree.QName(element).localname, (element.text or "").strip()
        if not site:
            if name != "mediawiki":
                raise _not_an_export(path, f"its root is <{name}>")
            site["language"] = language or element.get(_LANGUAGE, "")
        elif event == "end" and text and name in ("dbname", "case"):
            site[name] = text
        elif name == "namespace" and text:
            with suppress(ValueError):
                namespaces[text] = read_number(element.get("key", ""))
    if content.strip() and not fault and not complete:
        raise EaseError(f"{path} is truncated before its first page: download it again.")
    if not site:
        raise _not_an_export(path, f"it begins with {content[:40]!r}" if fault else "it has no element")
    if fault:
        raise EaseError(f"{path} is broken before its first page: {fault.msg}. Download it again.")
    return SiteInfo(**site, namespaces=namespaces)


def read_number(text: str) -> int:
    """Return a number of an export, such as a page's id.

    Raises:
        ValueError: It is not an integer of 64 bits.
    """
    if (found := _NUMBER.fullmatch(text)) and abs(number := int(found[1])) < 1 << 63:
        return number
    raise ValueError(f"{text[:40]!r} is not a number of 64 bits")


def _check_declarations(path: Path, content: bytes) -> None:
    if _DECLARATIONS.search(content):
        raise EaseError(
            f"{path} declares a document type or entities, which can expand without bound and which no MediaWiki "
            "export does: refused. Download the dump from its publisher."
        )
    encoding = _ENCODING.match(content)
    if encoding and encoding[1].lower() not in {b"utf-8", b"utf8", b"us-ascii"}:
        raise EaseError(
            f"{path} is encoded in {encoding[1].decode()}, but MediaWiki exports are UTF-8: convert it."
        )


def _read_header(path: Path) -> tuple[bytes, bool]:
    """Return the bytes up to the end of the siteinfo or the first page, and whether they are complete."""
    content = bytearray()
    for _, block in DecompressedStream(path):
        searched = max(0, len(content) - _OVERLAP)
        content += block
        if end := _HEADER_END.search(content, searched):
            return bytes(content[: end.end()]), True
        if len(content) > _MAX_HEADER_BYTES:
            raise EaseError(
                f"{path} has no <page> in its first {len(content):,} bytes: it is not a dump of articles. "
                "Choose a file named …-pages-articles….xml."
            )
    return bytes(content), False


def _not_an_export(path: Path, found: str) -> EaseError:
    return EaseError(
        f"{path} is not a MediaWiki export (XML with the root <mediawiki>): {found}. Name another file."
    )
