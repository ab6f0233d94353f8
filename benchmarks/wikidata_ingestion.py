"""Compare the extraction of sitelinks and types from each Wikidata dump format with a plain loop over the JSON dump.

    python -m benchmarks.wikidata_ingestion --items 1500 6000

All readers process the same generated items on one core (about 13 kB of JSON and 70 truthy statements each, as in the
real Wikidata; every third item has articles) and must return the same rows. Each measurement runs in a new process,
after a warm-up on a few items. The table has items per second of CPU time for the largest number of items, the median
of several rounds; the ratio to the plain loop's, with the same compression and with bz2; and peak memory.
"""

from __future__ import annotations

import bz2
import gc
import gzip
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import command_line_parser, in_new_process, peak_megabytes, print_head, print_row
from ease.entities.links import join_sitelinks, types_of_linked
from ease.sample.dump_files import page_props_name
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import (
    ENTITY_TYPES,
    SITELINKS,
    find_page_props,
    ingest_page_props,
    ingest_truthy,
    ingest_wikidata,
)
from ease.wikimedia.wikipedia import PAGES

LANGUAGES = ("en", "de", "fr", "ja")
LABELLED = (*LANGUAGES, *"es it nl ru sv pl pt ar zh uk ca cs fa ko tr he".split())
STATEMENTS = 13
WORDS = [first + last for first in "ba de ki lo mu ra so te".split() for last in ("n", "rt", "l")]

FEW = 50
ONE_CORE = IngestOptions(workers=1)
Tables = tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]
CREATE = b"""CREATE TABLE `page_props` (
  `pp_page` int(10) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL,
  `pp_value` blob NOT NULL,
  `pp_sortkey` float DEFAULT NULL
);
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
        """Path of the page titles of all wikis."""
        return self.folder / "pages.parquet"


Reader = Callable[[MadeWikidata, str, Path], list[list[Path]]]
"""Reads the files of a compression format and returns the Parquet files of both tables."""


def make_wikidata(folder: Path, items: int, seed: int = 0) -> MadeWikidata:
    """Write `items` items in all formats."""
    wikidata = MadeWikidata(folder)
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    rows: dict[str, list[bytes]] = {language: [] for language in LANGUAGES}
    pages: list[dict[str, Any]] = []
    json_lines: list[bytes] = []
    triples: list[bytes] = []
    for qid in range(1, items + 1):
        entity = make_item(qid, rng)
        json_lines.append(orjson.dumps(entity))
        triples += [f"{line} .\n".encode() for line in truthy_lines(entity)]
        for site, link in entity["sitelinks"].items():
            language = site.removesuffix("wiki")
            page = qid * 3
            rows[language].append(b"(%d,'page_image_free','Picture_of_it_%d.jpg',NULL)" % (page, qid))
            rows[language].append(b"(%d,'wikibase-shortdesc','The town\\'s %d-th thing',NULL)" % (page, qid))
            rows[language].append(b"(%d,'wikibase_item','Q%d',NULL)" % (page, qid))
            pages.append({"language": language, "page_id": page, "title": link["title"]})
    packings: dict[str, Callable[[bytes], bytes]] = {"bz2": bz2.compress, "gz": gzip.compress}
    for packing, compress in packings.items():
        wikidata.json(packing).write_bytes(compress(b"[\n" + b",\n".join(json_lines) + b"\n]\n"))
        wikidata.truthy(packing).write_bytes(compress(b"".join(triples)))
    for language, language_rows in rows.items():
        statements = (language_rows[start : start + 10_000] for start in range(0, len(language_rows), 10_000))
        content = b"".join(b"INSERT INTO `page_props` VALUES " + b",".join(some) + b";\n" for some in statements)
        packed = gzip.compress(CREATE + content + b"-- Dump completed\n", mtime=0)
        (folder / page_props_name(language)).write_bytes(packed)
    pq.write_table(pa.Table.from_pylist(pages, schema=PAGES), wikidata.pages)
    return wikidata


def make_item(qid: int, rng: random.Random) -> dict[str, Any]:
    """Return an item in the format of the JSON dump; each statement has a reference."""
    name = " ".join(rng.choices(WORDS, k=3))
    wikis = LANGUAGES[: rng.randrange(1, 5)] if qid % 3 == 0 else ()
    properties = ["P31", *(f"P{number}" for number in rng.sample(range(100, 9000), STATEMENTS - 1))]
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {code: {"language": code, "value": f"{name} {qid}"} for code in LABELLED},
        "descriptions": {code: {"language": code, "value": " ".join(rng.choices(WORDS, k=5))} for code in LABELLED},
        "claims": {name: [_statement(qid, name, rng)] for name in properties},
        "sitelinks": {
            f"{language}wiki": {"site": f"{language}wiki", "title": f"{name} {qid}", "badges": []} for language in wikis
        },
        "lastrevid": rng.randrange(10**9),
    }


def _statement(qid: int, property_id: str, rng: random.Random) -> dict[str, Any]:
    snaks = {name: [_snak(name, rng)] for name in ("P248", "P813")}
    reference = {"hash": f"{rng.getrandbits(160):040x}", "snaks": snaks, "snaks-order": [*snaks]}
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


def plain_loop(wikidata: MadeWikidata, packing: str, folder: Path) -> list[list[Path]]:
    """Parse every line of the JSON dump and collect the rows in lists."""
    sitelinks: list[tuple[int, str, str]] = []
    types: list[tuple[int, int]] = []
    path = wikidata.json(packing)
    with bz2.open(path) if packing == "bz2" else gzip.open(path) as file:
        for line in file:
            if not line.startswith(b"{"):
                continue
            item = orjson.loads(line.rstrip(b",\r\n"))
            titles = [(site, item["sitelinks"].get(f"{site}wiki")) for site in LANGUAGES]
            links = [(int(item["id"][1:]), site, link["title"]) for site, link in titles if link]
            sitelinks += links
            if links:
                for statement in item["claims"].get("P31", []):
                    if statement["rank"] == "normal" and statement["mainsnak"]["snaktype"] == "value":
                        value = statement["mainsnak"]["datavalue"]["value"]
                        types.append((links[0][0], value["numeric-id"]))
    paths = [folder / "sitelinks.parquet", folder / "types.parquet"]
    for target, schema, columns in (
        (paths[0], SITELINKS, zip(*sitelinks, strict=True)),
        (paths[1], ENTITY_TYPES, zip(*types, strict=True)),
    ):
        pq.write_table(pa.table([pa.array(column) for column in columns], names=schema.names), target)
    return [[target] for target in paths]


def from_json(wikidata: MadeWikidata, packing: str, folder: Path) -> list[list[Path]]:
    """Read the JSON dump with EASE."""
    parts = ingest_wikidata(wikidata.json(packing), LANGUAGES, ONE_CORE, folder)
    return [parts.sitelinks, parts.entity_types]


def from_page_props(wikidata: MadeWikidata, packing: str, folder: Path) -> list[list[Path]]:
    """Read page_props, page titles and truthy statements with EASE."""
    items = ingest_page_props(find_page_props([wikidata.folder], dict.fromkeys(LANGUAGES)), ONE_CORE, folder)
    types = ingest_truthy(wikidata.truthy(packing), ONE_CORE, folder)
    engine = ibis.duckdb.connect(threads=1)

    def table(paths: Sequence[Path]) -> ibis.Table:
        return engine.read_parquet([str(path) for path in paths])

    sitelinks = join_sitelinks(table([wikidata.pages]), table(items.page_items)).cache()
    joined = types_of_linked(table(types.entity_types), sitelinks)
    paths = [folder / "sitelinks.parquet", folder / "types.parquet"]
    for path, rows in zip(paths, (sitelinks, joined), strict=True):
        rows.to_parquet(path)
    return [[path] for path in paths]


READERS: dict[str, Reader] = {
    "plain loop of orjson over the JSON dump": plain_loop,
    "ours, JSON dump": from_json,
    "ours, page_props and truthy statements": from_page_props,
}


class Measured(NamedTuple):
    """CPU seconds, peak memory in MB and the rows."""

    seconds: float
    megabytes: float
    rows: Tables


def measure(reader: Reader, wikidata: MadeWikidata, packing: str, few: MadeWikidata) -> Measured:
    """Measure a reader in the current process, after reading a few items so that imports do not count."""
    with tempfile.TemporaryDirectory() as folder:
        reader(few, packing, Path(folder))
    # Otherwise the time includes one collection of the libraries' objects, whatever the number of items.
    gc.collect()
    gc.freeze()
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        tables = reader(wikidata, packing, Path(folder))
        seconds = time.process_time() - start
        megabytes = peak_megabytes()
        links, types = (
            {tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist()} for paths in tables
        )
    return Measured(seconds, megabytes, (links, types))


def print_rows(dumps: Sequence[MadeWikidata], items: Sequence[int], repeats: int, few: MadeWikidata) -> None:
    """Print a row for each reader and compression format."""
    on_bz2: float | None = None
    for packing in ("bz2", "gz"):
        # The readers take turns, since other work on the machine slows all of them.
        rounds = [
            [in_new_process(measure, reader, dumps[-1], packing, few) for reader in READERS.values()]
            for _ in range(repeats)
        ]
        rate_of_the_loop: float | None = None
        for (name, reader), measured in zip(READERS.items(), zip(*rounds, strict=True), strict=True):
            if any(run.rows != rounds[0][0].rows for run in measured):
                raise SystemExit(f"{name} (.{packing}) returns other rows than the plain loop: compare the readers")
            rate = items[-1] / statistics.median(run.seconds for run in measured)
            rate_of_the_loop = rate_of_the_loop or rate
            on_bz2 = on_bz2 or rate
            ratios = [f"{rate / loop:.1f}" for loop in (rate_of_the_loop, on_bz2)]
            peaks = [in_new_process(measure, reader, dump, packing, few).megabytes for dump in dumps[:-1]]
            peaks.append(max(run.megabytes for run in measured))
            print_row(name, packing, f"{rate:,.0f}", *ratios, *(f"{peak:.0f}" for peak in peaks))


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, generate the items, measure all readers and print the table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[1500, 6000], help="numbers of items")
    parser.add_argument("--repeats", type=int, default=3, help="rounds for the last number of items")
    options = parser.parse_args(arguments)
    print_head(
        *("reader", "compression", "items per second and core"),
        *("relative to the plain loop", "relative to the plain loop on bz2"),
        *(f"peak MB, {items:,} items" for items in options.items),
        texts=2,
    )
    with tempfile.TemporaryDirectory() as folder:
        dumps = [make_wikidata(Path(folder) / str(items), items) for items in options.items]
        few = make_wikidata(Path(folder) / "few", FEW)
        print_rows(dumps, options.items, options.repeats, few)


if __name__ == "__main__":
    main()
