"""Read the header of a MediaWiki export: its wiki and the wiki's namespaces."""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikitext.titles import SiteInfo

_MAX_HEADER_BYTES = 16 << 20
_FIRST_PAGE = re.compile(rb"<page[\s>]")
_DECLARATIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
_ENCODING = re.compile(rb"\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.-]+)")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NUMBER = re.compile(r"-*\d+")


def read_siteinfo(path: Path, language: str | None = None) -> SiteInfo:
    """Read the namespaces and title rules of an export's wiki, which are before its first page.

    Args:
        path: The export.
        language: Language of the wiki; None: the one that the export names, or an empty text.

    Raises:
        EaseError: The file is missing, broken, not a MediaWiki export, or declares a document type.
    """
    content = _read_to_first_page(path)
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
        elif name == "namespace" and text and (key := _NUMBER.fullmatch(element.get("key", ""))):
            namespaces[text] = int(key[0])
    if not site:
        raise _not_an_export(path, f"it begins with {content[:40]!r}" if fault else "it has no element")
    if fault:
        raise EaseError(f"{path} is broken before its first page: {fault.msg}. Download it again.")
    return SiteInfo(**site, namespaces=namespaces)


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


def _read_to_first_page(path: Path) -> bytes:
    content = bytearray()
    for _, block in DecompressedStream(path):
        content += block
        if page := _FIRST_PAGE.search(content):
            return bytes(content[: page.start()])
        if len(content) > _MAX_HEADER_BYTES:
            raise EaseError(
                f"{path} has no <page> in its first {len(content):,} bytes: it is not a dump of articles. "
                "Choose a file named …-pages-articles….xml."
            )
    return bytes(content)


def _not_an_export(path: Path, found: str) -> EaseError:
    return EaseError(
        f"{path} is not a MediaWiki export (XML with the root <mediawiki>): {found}. Name another file."
    )
