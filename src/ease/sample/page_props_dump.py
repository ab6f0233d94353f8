"""Write the page_props table of a sample wiki as an SQL dump, with items and other properties of pages."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from ease.sample.dump_files import DUMP_DATE
from ease.sample.pages import WikiPage
from ease.sample.site import Site

_ROWS_PER_STATEMENT = 500
_TEMPLATE = 10
_HEAD, _FOOT = files("ease.sample").joinpath("page_props.sql").read_text(encoding="utf-8").split("ROWS\n")
_ESCAPES = {
    **{b"\\": b"\\\\", b"'": b"\\'", b'"': b'\\"'},
    **{b"\0": b"\\0", b"\n": b"\\n", b"\r": b"\\r", b"\x1a": b"\\Z"},
}
Property = tuple[str, bytes, str]
"""Name, value and sort key."""


def page_props_name(language: str) -> str:
    """Return the file name of a wiki's dump of this table."""
    return f"{language}wiki-{DUMP_DATE}-page_props.sql.gz"


def write_page_props(path: Path, site: Site, pages: Sequence[WikiPage], qids: Mapping[str, int]) -> None:
    """Write the dump of pages that are in the order of the wiki's dump, which numbers them; `qids` are by title."""
    rows = []
    for number, page in enumerate(pages, 1):
        for name, value, sort_key in sorted(_properties(number, page, qids.get(page.title))):
            escaped = b"".join(_ESCAPES.get(bytes((byte,)), bytes((byte,))) for byte in value)
            rows.append(b"(%d,'%s','%s',%s)" % (number, name.encode(), escaped, sort_key.encode()))
    statements = [
        b"INSERT INTO `page_props` VALUES " + b",".join(rows[start : start + _ROWS_PER_STATEMENT]) + b";\n"
        for start in range(0, len(rows), _ROWS_PER_STATEMENT)
    ]
    head = _HEAD.replace("DATABASE", site.dbname)
    content = b"".join((head.encode(), *statements, _FOOT.encode()))
    path.write_bytes(gzip.compress(content, mtime=0))


def _properties(number: int, page: WikiPage, qid: int | None) -> Iterator[Property]:
    if qid is not None:
        yield "wikibase_item", f"Q{qid}".encode(), "NULL"
        yield "wikibase-badge-Q17437796", b"1", "1"
    if number % 3 == 0:
        yield "displaytitle", f"<i>''{page.title}''</i>".encode(), "NULL"
    if number % 20 == 7:
        # Would mislead a parser that ignores quotes and escapes.
        text = f"\\'),({number},'wikibase_item','Q{number}',NULL),\n\"\\"
        yield "wikibase-shortdesc", text.encode(), "NULL"
    if page.namespace == _TEMPLATE:
        # MediaWiki stores this property compressed.
        yield "templatedata", zlib.compress(json.dumps({"description": page.title}).encode(), 9), "NULL"
