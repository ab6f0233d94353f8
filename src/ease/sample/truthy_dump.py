"""Write the sample's Wikidata as truthy statements: statements of the best rank, labels and articles."""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ease.sample.dump_files import DUMP_DATE

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
    lines = "".join(f"{line} .\n" for entity in entities for line in _statements(entity))
    path.write_bytes(bz2.compress(lines.encode("ascii"), compresslevel=1))


def _statements(entity: Mapping[str, Any]) -> Iterator[str]:
    subject = f"<{_ENTITY}{entity['id']}>"
    for language, label in entity["labels"].items():
        for predicate in _LABELS:
            yield f'{subject} <{predicate}> "{_escape(label["value"])}"@{language}'
    for site, link in entity.get("sitelinks", {}).items():
        if site != "commonswiki":
            language, title = site.removesuffix("wiki"), quote(link["title"].replace(" ", "_"))
            page = f"<https://{language}.wikipedia.org/wiki/{title}>"
            yield f"{page} <http://schema.org/about> {subject}"
    for property_id, statements in entity["claims"].items():
        preferred = any(statement["rank"] == "preferred" for statement in statements)
        for statement in statements:
            if statement["rank"] == ("preferred" if preferred else "normal"):
                snak, value = statement["mainsnak"], f"{_UNKNOWN}{statement['id'].replace('$', '-')}"
                if snak["snaktype"] == "value":
                    value = f"{_ENTITY}{snak['datavalue']['value']['id']}"
                yield f"{subject} <{_DIRECT}{property_id}> <{value}>"


def _escape(text: str) -> str:
    """Escape a text for N-Triples in ASCII."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    codes = ((letter, ord(letter)) for letter in text)
    return "".join(
        letter if code < 128 else f"\\u{code:04X}" if code < 1 << 16 else f"\\U{code:08X}"
        for letter, code in codes
    )
