"""Write MediaWiki exports as Wikimedia publishes them: XML in several bz2 streams."""

from __future__ import annotations

import bz2
import hashlib
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from lxml import etree

from ease.sample.pages import WikiPage
from ease.sample.site import Site

DUMP_DATE = "20240101"
_TIMESTAMP = "2024-01-01T00:00:00Z"
_EXPORT = "http://www.mediawiki.org/xml/export-0.11/"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def dump_name(language: str, project: str = "wiki") -> str:
    """Return the file name of a wiki's dump; `project` is the end of the database's name (`wiki`, `wikinews`)."""
    return f"{language}{project}-{DUMP_DATE}-pages-articles-multistream.xml.bz2"


def write_dump(path: Path, site: Site, pages: Sequence[WikiPage], pages_per_stream: int) -> None:
    """Write a multistream dump: a stream with the header, streams of pages, a stream with the end tag."""
    with path.open("wb") as file:
        for part in _parts(site, pages, pages_per_stream):
            file.write(bz2.compress(part.encode(), compresslevel=1))


def _parts(site: Site, pages: Sequence[WikiPage], pages_per_stream: int) -> Iterator[str]:
    yield _head(site)
    identifiers = count(1)
    for start in range(0, len(pages), pages_per_stream):
        stream = pages[start : start + pages_per_stream]
        yield "".join(_page(page, next(identifiers), site.language) for page in stream)
    yield "</mediawiki>\n"


def _head(site: Site) -> str:
    """Return the root element's start tag and `<siteinfo>`."""
    info = etree.Element("siteinfo")
    for tag, text in (
        ("sitename", site.names[4]),
        ("dbname", site.dbname),
        ("base", site.address),
        ("generator", "EASE sample wiki"),
        ("case", "first-letter"),
    ):
        etree.SubElement(info, tag).text = text
    namespaces = etree.SubElement(info, "namespaces")
    for number, name in sorted(site.names.items()):
        element = etree.SubElement(namespaces, "namespace", key=str(number), case="first-letter")
        element.text = name or None
    etree.indent(info)
    return (
        f'<mediawiki xmlns="{_EXPORT}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{_EXPORT} {_EXPORT.rstrip("/")}.xsd" version="0.11" '
        f'xml:lang="{site.language}">\n'
        f"{etree.tostring(info, encoding='unicode')}\n"
    )


def _page(page: WikiPage, identifier: int, language: str) -> str:
    element = etree.Element("page")
    etree.SubElement(element, "title").text = page.title
    etree.SubElement(element, "ns").text = str(page.namespace)
    etree.SubElement(element, "id").text = str(identifier)
    if page.redirect is not None:
        etree.SubElement(element, "redirect", title=page.redirect)
    revision = etree.SubElement(element, "revision")
    number = str(revision_id(language, identifier))
    etree.SubElement(revision, "id").text = number
    etree.SubElement(revision, "timestamp").text = _TIMESTAMP
    contributor = etree.SubElement(revision, "contributor")
    etree.SubElement(contributor, "username").text = "EASE sample"
    etree.SubElement(contributor, "id").text = "1"
    etree.SubElement(revision, "origin").text = number
    etree.SubElement(revision, "model").text = "wikitext"
    etree.SubElement(revision, "format").text = "text/x-wiki"
    content = page.text.encode()
    digest = _base36(hashlib.sha1(content, usedforsecurity=False).digest())
    text = etree.SubElement(
        revision, "text", {"bytes": str(len(content)), "sha1": digest, _SPACE: "preserve"}
    )
    text.text = page.text or None
    etree.SubElement(revision, "sha1").text = digest
    etree.indent(element)
    return etree.tostring(element, encoding="unicode") + "\n"


def revision_id(language: str, identifier: int) -> int:
    """Return a revision number; it depends on the language and differs from the page's number, as on real wikis."""
    return 1_000_000 + int(language, 36) * 1_000_000 + identifier


def _base36(digest: bytes) -> str:
    """Write a SHA-1 as MediaWiki does: in base 36, with 31 digits."""
    number, digits = int.from_bytes(digest), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.rjust(31, "0")
