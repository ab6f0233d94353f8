"""Write MediaWiki exports as Wikimedia publishes them: XML in several bz2 streams."""

from __future__ import annotations

import bz2
import hashlib
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from ease.sample.pages import WikiPage
from ease.sample.site import Site

DUMP_DATE = "20240101"
_EXPORT = "http://www.mediawiki.org/xml/export-0.11/"


def dump_name(language: str, project: str = "wiki") -> str:
    """Return the file name of a wiki's dump; `project` is the end of the database's name (`wiki`, `wikinews`)."""
    return f"{language}{project}-{DUMP_DATE}-pages-articles-multistream.xml.bz2"


def write_dump(path: Path, site: Site, pages: Sequence[WikiPage], pages_per_stream: int) -> None:
    """Write a multistream dump: a stream with the header, streams of pages, a stream with the end tag."""
    written = [_page(page, number, site.language) for number, page in enumerate(pages, start=1)]
    starts = range(0, len(written), pages_per_stream)
    streams = ["".join(written[start : start + pages_per_stream]) for start in starts]
    with path.open("wb") as file:
        for stream in (_head(site), *streams, "</mediawiki>\n"):
            file.write(bz2.compress(stream.encode(), compresslevel=1))


def _head(site: Site) -> str:
    """Return the root element's start tag and `<siteinfo>`."""
    namespaces = "".join(
        f'    <namespace key="{number}" case="first-letter"'
        + (f">{escape(name)}</namespace>\n" if name else "/>\n")
        for number, name in sorted(site.names.items())
    )
    return f"""<mediawiki xmlns="{_EXPORT}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{_EXPORT} {_EXPORT.rstrip("/")}.xsd" version="0.11" xml:lang="{site.language}">
<siteinfo>
  <sitename>{escape(site.names[4])}</sitename>
  <dbname>{site.dbname}</dbname>
  <base>{site.address}</base>
  <generator>EASE sample wiki</generator>
  <case>first-letter</case>
  <namespaces>
{namespaces}  </namespaces>
</siteinfo>
"""


def _page(page: WikiPage, identifier: int, language: str) -> str:
    redirect = ""
    if page.redirect is not None:
        title = escape(page.redirect, {'"': "&quot;"})
        redirect = f'\n  <redirect title="{title}"/>'
    number = revision_id(language, identifier)
    content = page.text.encode()
    sha1 = int(hashlib.sha1(content, usedforsecurity=False).hexdigest(), 16)
    digest = np.base_repr(sha1, 36).lower().rjust(31, "0")  # as MediaWiki writes it
    text = f'<text bytes="{len(content)}" sha1="{digest}" xml:space="preserve"'
    text += f">{escape(page.text)}</text>" if page.text else "/>"
    return f"""<page>
  <title>{escape(page.title)}</title>
  <ns>{page.namespace}</ns>
  <id>{identifier}</id>{redirect}
  <revision>
    <id>{number}</id>
    <timestamp>2024-01-01T00:00:00Z</timestamp>
    <contributor>
      <username>EASE sample</username>
      <id>1</id>
    </contributor>
    <origin>{number}</origin>
    <model>wikitext</model>
    <format>text/x-wiki</format>
    {text}
    <sha1>{digest}</sha1>
  </revision>
</page>
"""


def revision_id(language: str, identifier: int) -> int:
    """Return a revision number; it depends on the language and differs from the page's number, as on real wikis."""
    return 1_000_000 + int(language, 36) * 1_000_000 + identifier
