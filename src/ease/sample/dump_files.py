"""Write the sample's dumps: pages, page_props tables, Wikidata as JSON and as truthy statements."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

import numpy as np

from ease.sample.pages import WikiPage
from ease.sample.world import ENTITY_KINDS, QID_BASE, Entity, Phrasebook, Site, World
from ease.wikimedia.dumps.files import CHECKSUM_LIST

DUMP_DATE = "20240101"
# As in Wikipedia's own dumps.
_PAGES_PER_STREAM = 100
_EXPORT = "http://www.mediawiki.org/xml/export-0.11/"


def dump_name(language: str, project: str = "wiki") -> str:
    """Return the file name of a wiki's dump; `project` is the end of the database's name (`wiki`, `wikinews`)."""
    return f"{language}{project}-{DUMP_DATE}-pages-articles-multistream.xml.bz2"


def write_dump(path: Path, site: Site, pages: Sequence[WikiPage]) -> None:
    """Write a multistream dump: a stream with the header, streams of pages, a stream with the end tag."""
    elements = [_page(page, number, site.language) for number, page in enumerate(pages, start=1)]
    starts = range(0, len(elements), _PAGES_PER_STREAM)
    streams = ["".join(elements[start : start + _PAGES_PER_STREAM]) for start in starts]
    with path.open("wb") as file:
        for stream in (_head(site), *streams, "</mediawiki>\n"):
            file.write(bz2.compress(stream.encode(), compresslevel=1))


def write_content_export(folder: Path, site: Site, pages: Sequence[WikiPage]) -> None:
    """Write an export of all namespaces, with a talk page for each article, as two files of consecutive pages.

    The files are added to SHA256SUMS, which a content export has when it is complete.
    """
    articles = (page for page in pages if page.namespace == 0)
    talk = [WikiPage(f"{site.names[1]}:{page.title}", page.text, namespace=1) for page in articles]
    elements = [_page(page, number, site.language) for number, page in enumerate([*pages, *talk], start=1)]
    middle = len(pages) // 2
    date = f"{DUMP_DATE[:4]}-{DUMP_DATE[4:6]}-{DUMP_DATE[6:]}"
    for first, last in ((1, middle), (middle + 1, len(elements))):
        file = folder / f"{site.dbname}-{date}-p{first}p{last}.xml.bz2"
        content = "".join((_head(site), *elements[first - 1 : last], "</mediawiki>\n"))
        file.write_bytes(bz2.compress(content.encode(), compresslevel=1))
        with (folder / CHECKSUM_LIST).open("a", encoding="utf-8") as sums:
            sums.write(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")


def _head(site: Site) -> str:
    """Return the root element's start tag and `<siteinfo>`."""
    namespaces = ""
    for number, name in sorted(site.names.items()):
        content = "/>"
        if name:
            content = f">{escape(name)}</namespace>"
        namespaces += f'    <namespace key="{number}" case="first-letter"{content}\n'
    return f"""<mediawiki xmlns="{_EXPORT}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{_EXPORT} {_EXPORT.rstrip("/")}.xsd" version="0.11" xml:lang="{site.language}">
<siteinfo>
  <sitename>{escape(site.names[4])}</sitename>
  <dbname>{site.dbname}</dbname>
  <base>https://{site.language}.{site.project}.org/wiki/</base>
  <generator>EASE sample wiki</generator>
  <case>first-letter</case>
  <namespaces>
{namespaces}  </namespaces>
</siteinfo>
"""


def _page(page: WikiPage, identifier: int, language: str) -> str:
    """Return a page's XML with a single revision."""
    redirect = ""
    if page.redirect is not None:
        title = escape(page.redirect, {'"': "&quot;"})
        redirect = f'\n  <redirect title="{title}"/>'
    number = revision_id(language, identifier)
    content = page.text.encode()
    sha1 = int(hashlib.sha1(content, usedforsecurity=False).hexdigest(), 16)
    # MediaWiki writes hashes in base 36.
    digest = np.base_repr(sha1, 36).lower().rjust(31, "0")
    text = "/>"
    if page.text:
        text = f">{escape(page.text)}</text>"
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
    <text bytes="{len(content)}" sha1="{digest}" xml:space="preserve"{text}
    <sha1>{digest}</sha1>
  </revision>
</page>
"""


def revision_id(language: str, identifier: int) -> int:
    """Return a revision number; it depends on the language and differs from the page's number, as on real wikis."""
    return 1_000_000 + int(language, 36) * 1_000_000 + identifier


_ROWS_PER_STATEMENT = 500
_HEAD, _FOOT = files("ease.sample").joinpath("page_props.sql").read_text(encoding="utf-8").split("ROWS\n")
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", '"': '\\"', "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"})


def page_props_name(language: str) -> str:
    """Return the file name of a wiki's dump of this table."""
    return f"{language}wiki-{DUMP_DATE}-page_props.sql.gz"


def write_page_props(path: Path, site: Site, pages: Sequence[WikiPage], qids: Mapping[str, int]) -> None:
    """Write the dump of pages that are in the order of the wiki's dump, which numbers them; `qids` are by title."""
    rows = []
    for number, page in enumerate(pages, 1):
        properties = []  # name, value, sort key
        if (qid := qids.get(page.title)) is not None:
            properties.append(("wikibase_item", f"Q{qid}".encode(), "NULL"))
            properties.append(("wikibase-badge-Q17437796", b"1", "1"))
        if number % 3 == 0:
            properties.append(("displaytitle", f"<i>''{page.title}''</i>".encode(), "NULL"))
        if number % 20 == 7:
            # Would mislead a parser that ignores quotes and escapes.
            text = f"\\'),({number},'wikibase_item','Q{number}',NULL),\n\"\\"
            properties.append(("wikibase-shortdesc", text.encode(), "NULL"))
        if page.namespace == 10:
            # MediaWiki stores this property of templates compressed: bytes of any value.
            data = json.dumps({"description": page.title}).encode()
            properties.append(("templatedata", zlib.compress(data, 9), "NULL"))
        for name, value, sort_key in sorted(properties):
            escaped = value.decode("latin-1").translate(_ESCAPES).encode("latin-1")
            rows.append(b"(%d,'%s','%s',%s)" % (number, name.encode(), escaped, sort_key.encode()))
    statements = [
        b"INSERT INTO `page_props` VALUES " + b",".join(rows[start : start + _ROWS_PER_STATEMENT]) + b";\n"
        for start in range(0, len(rows), _ROWS_PER_STATEMENT)
    ]
    head = _HEAD.replace("DATABASE", site.dbname)
    content = b"".join((head.encode(), *statements, _FOOT.encode()))
    # Without a time in the header, the same rows give the same bytes.
    path.write_bytes(gzip.compress(content, mtime=0))


TRUTHY_NAME = f"wikidata-{DUMP_DATE}-truthy-BETA.nt.bz2"

_ENTITY = "http://www.wikidata.org/entity/"
_DIRECT = "http://www.wikidata.org/prop/direct/"
_UNKNOWN = "http://www.wikidata.org/.well-known/genid/"
_LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
)


def write_truthy(path: Path, entities: Iterable[Mapping[str, Any]]) -> None:
    """Write the truthy statements of the JSON dump's entities."""
    lines = "".join(f"{line} .\n" for entity in entities for line in _triples(entity))
    path.write_bytes(bz2.compress(lines.encode("ascii"), compresslevel=1))


def _triples(entity: Mapping[str, Any]) -> Iterator[str]:
    """Yield an entity's triples: its labels, the pages about it, and the best-ranked statements of each property."""
    subject = f"<{_ENTITY}{entity['id']}>"
    for language, label in entity["labels"].items():
        for predicate in _LABELS:
            yield f'{subject} <{predicate}> "{_escape(label["value"])}"@{language}'
    for site, link in entity.get("sitelinks", {}).items():
        # Wikimedia Commons is no Wikipedia, although its database's name also ends with wiki.
        if site != "commonswiki":
            language = site.removesuffix("wiki")
            title = quote(link["title"].replace(" ", "_"))
            page = f"<https://{language}.wikipedia.org/wiki/{title}>"
            yield f"{page} <http://schema.org/about> {subject}"
    for property_id, statements in entity["claims"].items():
        rank = "normal"
        if any(statement["rank"] == "preferred" for statement in statements):
            rank = "preferred"
        for statement in statements:
            if statement["rank"] != rank:
                continue
            snak = statement["mainsnak"]
            # An unknown value is a blank node with an address of its own.
            value = f"{_UNKNOWN}{statement['id'].replace('$', '-')}"
            if snak["snaktype"] == "value":
                value = f"{_ENTITY}{snak['datavalue']['value']['id']}"
            yield f"{subject} <{_DIRECT}{property_id}> <{value}>"


def _escape(text: str) -> str:
    """Escape a text for N-Triples in ASCII."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')

    def code(letter: re.Match[str]) -> str:
        if letter[0] < "\U00010000":
            return f"\\u{ord(letter[0]):04X}"
        return f"\\U{ord(letter[0]):08X}"

    return re.sub(r"[^\x00-\x7f]", code, escaped)


WIKIDATA_NAME = f"wikidata-{DUMP_DATE}-all.json.bz2"
MULTILINGUAL, WIDESPREAD, SHARED, CODED, TYPELESS = range(QID_BASE + 11, QID_BASE + 16)
"""Further classes: of territories with several languages, of languages and currencies of several territories, etc."""

Json = dict[str, Any]


def class_of(kind: str) -> int:
    """Return the item number of a kind's class."""
    return QID_BASE + 1 + ENTITY_KINDS.index(kind)


def write_wikidata(path: Path, entities: Iterable[Json]) -> None:
    """Write the dump: an array with one entity per line."""
    lines = [json.dumps(entity, ensure_ascii=False, separators=(",", ":")) for entity in entities]
    path.write_bytes(bz2.compress(("[\n" + ",\n".join(lines) + "\n]\n").encode(), compresslevel=1))


def entity_classes(world: World) -> dict[Entity, tuple[int, ...]]:
    """Return the classes of each entity by its preferred statements, else its normal ones."""
    uses = Counter(
        entity
        for fact in world.facts
        for entity, relation in ((fact.subject, "speaks"), (fact.object, "speaks"), (fact.object, "pays"))
        if fact.relation == relation
    )
    further = {"territory": (MULTILINGUAL,), "language": (WIDESPREAD,), "currency": (SHARED,)}
    classes: dict[Entity, tuple[int, ...]] = {}
    for entity in world.entities:
        classes[entity] = (class_of(entity.kind),)
        if uses[entity] > 1:
            classes[entity] += further.get(entity.kind, ())
    return classes


def wikidata_entities(world: World, books: Mapping[str, Phrasebook]) -> Iterator[Json]:
    """Yield the entities in the order of the dump."""
    for identifier, label in (("P31", "instance of"), ("P361", "part of")):
        yield {
            "type": "property",
            "datatype": "wikibase-item",
            "id": identifier,
            "labels": {"en": {"language": "en", "value": label}},
            "claims": {"P31": [_statement("P31", identifier, TYPELESS)]},
        }
    for kind in ENTITY_KINDS:
        labels = {language: book.words[kind]["short"] for language, book in books.items()}
        yield _item(class_of(kind), labels, {}, {})
    parts = {fact.subject: fact.object for fact in world.facts if fact.relation in ("located", "part")}
    for number, (entity, classes) in enumerate(entity_classes(world).items()):
        books_with_name = {language: book for language, book in books.items() if entity in book.names}
        # Some items have no label, as on Wikidata.
        labels = {language: book.names[entity] for language, book in books_with_name.items() if number % 50 != 9}
        titles = {language: book.titles[entity] for language, book in books_with_name.items()}
        identifier = f"Q{entity.qid}"
        # Some items have preferred or deprecated statements, or an unknown value.
        rank = "normal"
        if number % 10 == 3:
            rank = "preferred"
        types = [_statement("P31", identifier, value, rank) for value in classes]
        if number % 10 == 3:
            types.append(_statement("P31", identifier, CODED))
        if number % 10 == 5:
            wrong = class_of(ENTITY_KINDS[(ENTITY_KINDS.index(entity.kind) + 1) % len(ENTITY_KINDS)])
            types.insert(0, _statement("P31", identifier, wrong, "deprecated"))
        if number % 10 == 7:
            types.append(_statement("P31", identifier, None))
        claims = {"P31": types}
        if entity in parts:
            claims["P361"] = [_statement("P361", identifier, parts[entity].qid)]
        yield _item(entity.qid, labels, claims, titles)


def _statement(property_id: str, subject: str, value: int | None, rank: str = "normal") -> Json:
    """Return a statement; value None means an unknown value."""
    snak: Json = {"snaktype": "somevalue", "property": property_id, "datatype": "wikibase-item"}
    if value is not None:
        item = {"entity-type": "item", "numeric-id": value, "id": f"Q{value}"}
        snak |= {"snaktype": "value", "datavalue": {"value": item, "type": "wikibase-entityid"}}
    return {"mainsnak": snak, "type": "statement", "id": f"{subject}${property_id}-{value}", "rank": rank}


def _item(qid: int, labels: Mapping[str, str], claims: Mapping[str, list[Json]], titles: Mapping[str, str]) -> Json:
    """Return an item in the form of the dump."""
    sitelinks = {
        f"{language}wiki": {"site": f"{language}wiki", "title": title, "badges": []}
        for language, title in titles.items()
    }
    if titles:
        sitelinks["commonswiki"] = {"site": "commonswiki", "title": f"Category:Q{qid}", "badges": []}
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {language: {"language": language, "value": label} for language, label in labels.items()},
        "descriptions": {},
        # PHP writes an empty map as a list; the real dump has both forms.
        "aliases": [],
        "claims": claims,
        "sitelinks": sitelinks,
        "lastrevid": qid - QID_BASE,
    }
