"""Generate a Wikidata for benchmarks in all dump formats: JSON, truthy statements and page_props of the wikis.

Sizes follow the real Wikidata: about 13 kB of JSON and 70 truthy statements per item; every third item has articles.
"""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ease.sample.dump_files import page_props_name
from ease.wikimedia.wikipedia import PAGES

LANGUAGES = ("en", "de", "fr", "ja")
LABELLED = (*LANGUAGES, *"es it nl ru sv pl pt ar zh uk ca cs fa ko tr he".split())
STATEMENTS = 13
WORDS = [
    first + last for first in ("ba", "de", "ki", "lo", "mu", "ra", "so", "te") for last in ("n", "rt", "l")
]

CREATE = b"""-- MySQL dump 10.19  Distrib 10.5.23-MariaDB, for debian-linux-gnu (x86_64)
CREATE TABLE `page_props` (
  `pp_page` int(10) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL,
  `pp_value` blob NOT NULL,
  `pp_sortkey` float DEFAULT NULL,
  PRIMARY KEY (`pp_page`,`pp_propname`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
"""


@dataclass(frozen=True)
class MadeWikidata:
    """Paths of the generated files."""

    folder: Path

    def json(self, packing: str) -> Path:
        """Return the path of the JSON dump, compressed as `bz2` or `gz`."""
        return self.folder / f"wikidata-20240101-all.json.{packing}"

    def truthy(self, packing: str) -> Path:
        """Return the path of the truthy statements, compressed as `bz2` or `gz`."""
        return self.folder / f"wikidata-20240103-truthy-BETA.nt.{packing}"

    @property
    def pages(self) -> Path:
        """Path of the page titles of all wikis, with the schema of the table `pages`."""
        return self.folder / "pages.parquet"


def make_wikidata(folder: Path, items: int, seed: int = 0) -> MadeWikidata:
    """Write `items` items in all formats."""
    made = MadeWikidata(folder)
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    rows: dict[str, list[bytes]] = {language: [] for language in LANGUAGES}
    pages: list[dict[str, Any]] = []
    files: list[tuple[IO[bytes], IO[bytes]]] = [
        (bz2.open(made.json("bz2"), "wb", 9), bz2.open(made.truthy("bz2"), "wb", 9)),
        (gzip.open(made.json("gz"), "wb", 6), gzip.open(made.truthy("gz"), "wb", 6)),  # type: ignore[list-item]
    ]
    for qid in range(1, items + 1):
        entity = make_item(qid, rng)
        json_line = (b"[\n" if qid == 1 else b",\n") + orjson.dumps(entity)
        lines = "".join(f"{line} .\n" for line in truthy_lines(entity)).encode()
        for json_file, truthy_file in files:
            json_file.write(json_line)
            truthy_file.write(lines)
        for site, link in entity["sitelinks"].items():
            language, page = site.removesuffix("wiki"), qid * 3
            rows[language].append(b"(%d,'page_image_free','Picture_of_it_%d.jpg',NULL)" % (page, qid))
            rows[language].append(b"(%d,'wikibase-shortdesc','The town\\'s %d-th thing',NULL)" % (page, qid))
            rows[language].append(b"(%d,'wikibase_item','Q%d',NULL)" % (page, qid))
            pages.append({"language": language, "page_id": page, "title": link["title"]})
    for json_file, truthy_file in files:
        json_file.write(b"\n]\n")
        json_file.close()
        truthy_file.close()
    for language, own in rows.items():
        statements = (own[start : start + 10_000] for start in range(0, len(own), 10_000))
        content = b"".join(
            b"INSERT INTO `page_props` VALUES " + b",".join(some) + b";\n" for some in statements
        )
        packed = gzip.compress(CREATE + content + b"-- Dump completed\n", mtime=0)
        (folder / page_props_name(language)).write_bytes(packed)
    pq.write_table(pa.Table.from_pylist(pages, schema=PAGES), made.pages)
    return made


def make_item(qid: int, rng: random.Random) -> dict[str, Any]:
    """Return an item in the format of the JSON dump; each statement has a reference."""
    name = " ".join(rng.choices(WORDS, k=3))
    wikis = LANGUAGES[: rng.randrange(1, 5)] if qid % 3 == 0 else ()
    properties = ["P31", *(f"P{number}" for number in rng.sample(range(100, 9000), STATEMENTS - 1))]
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {code: {"language": code, "value": f"{name} {qid}"} for code in LABELLED},
        "descriptions": {
            code: {"language": code, "value": " ".join(rng.choices(WORDS, k=5))} for code in LABELLED
        },
        "aliases": {"en": [{"language": "en", "value": rng.choice(WORDS)}]},
        "claims": {name: [_statement(qid, name, rng)] for name in properties},
        "sitelinks": {
            f"{language}wiki": {"site": f"{language}wiki", "title": f"{name} {qid}", "badges": []}
            for language in wikis
        },
        "lastrevid": rng.randrange(10**9),
    }


def _statement(qid: int, property_id: str, rng: random.Random) -> dict[str, Any]:
    order = ["P248", "P813"]
    reference = {
        "hash": f"{rng.getrandbits(160):040x}",
        "snaks": {name: [_snak(name, rng)] for name in order},
        "snaks-order": order,
    }
    return {
        "mainsnak": _snak(property_id, rng),
        "type": "statement",
        "id": f"Q{qid}${rng.getrandbits(128):032X}",
        "rank": "normal",
        "references": [reference],
    }


def _snak(property_id: str, rng: random.Random) -> dict[str, Any]:
    number = rng.randrange(1, 10_000)
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return {
        "snaktype": "value",
        "property": property_id,
        "hash": f"{rng.getrandbits(160):040x}",
        "datavalue": {"value": value, "type": "wikibase-entityid"},
        "datatype": "wikibase-item",
    }


def truthy_lines(entity: dict[str, Any]) -> Iterator[str]:
    """Yield the truthy triples of an item, without the final dots."""
    subject = f"<http://www.wikidata.org/entity/{entity['id']}>"
    for language, label in entity["labels"].items():
        yield f'{subject} <http://www.w3.org/2000/01/rdf-schema#label> "{label["value"]}"@{language}'
        yield f'{subject} <http://www.w3.org/2004/02/skos/core#prefLabel> "{label["value"]}"@{language}'
        yield f'{subject} <http://schema.org/description> "{entity["descriptions"][language]["value"]}"@{language}'
    for property_id, (statement,) in entity["claims"].items():
        value = statement["mainsnak"]["datavalue"]["value"]["id"]
        predicate = f"<http://www.wikidata.org/prop/direct/{property_id}>"
        yield f"{subject} {predicate} <http://www.wikidata.org/entity/{value}>"
