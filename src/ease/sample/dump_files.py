"""Write MediaWiki exports as Wikimedia publishes them: articles dumps and content exports."""

from __future__ import annotations

import bz2
import hashlib
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from ease.sample.pages import WikiPage
from ease.sample.site import Site
from ease.wikimedia.dumps.files import CHECKSUM_LIST

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


def write_content_export(folder: Path, site: Site, pages: Sequence[WikiPage]) -> list[Path]:
    """Write an export of all namespaces, with a talk page for each article, as two files of consecutive pages."""
    articles = (page for page in pages if page.namespace == 0)
    talk = [WikiPage(f"{site.names[1]}:{page.title}", page.text, namespace=1) for page in articles]
    written = [_page(page, number, site.language) for number, page in enumerate([*pages, *talk], start=1)]
    middle, date = len(pages) // 2, f"{DUMP_DATE[:4]}-{DUMP_DATE[4:6]}-{DUMP_DATE[6:]}"
    files = []
    for first, last in ((1, middle), (middle + 1, len(written))):
        files.append(folder / f"{site.dbname}-{date}-p{first}p{last}.xml.bz2")
        content = "".join((_head(site), *written[first - 1 : last], "</mediawiki>\n"))
        files[-1].write_bytes(bz2.compress(content.encode(), compresslevel=1))
    return files


def write_checksums(folder: Path, files: Sequence[Path]) -> None:
    """Write SHA256SUMS, which a content export has when it is complete."""
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (folder / CHECKSUM_LIST).write_text("".join(lines), encoding="utf-8")


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
