"""Generate link tables of any size with the skew of Wikipedia, as Parquet files written in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import duckdb

LINKS_PER_PAGE = 30
LINKS_PER_SENTENCE = 3
LINKS_PER_ENTITY = 20
"""Average, about that of English Wikipedia."""
LARGEST_TYPE = 1_000_000
ENTITIES_PER_TYPE = 10
FIRST_TYPE = 1 << 30
"""First identifier of a type; types are entities whose identifiers exceed those of all other entities."""
LANGUAGES = tuple("en de fr es ru ja it pl nl pt sv ar fa ca cs ko tr eo".split())


class LinkTables(NamedTuple):
    """Files of the generated wiki, with the columns that `ease.entities` reads."""

    links: Path
    sentences: Path
    entity_types: Path


def tables_in(folder: Path) -> LinkTables:
    """Return the paths of the tables in a folder."""
    return LinkTables(*(folder / f"{name}.parquet" for name in LinkTables._fields))


def write_link_tables(folder: Path, links: int, seed: int = 0, memory_limit: str = "4GB") -> LinkTables:
    """Write sentences, their links and the types of the entities.

    Link targets follow Zipf's law with exponent 1: the frequency of the entity of rank r is proportional to 1/r.
    The type of rank t has min(`LARGEST_TYPE`, entities / 4) / t members, and at least 2. Languages later in
    `LANGUAGES` have fewer pages, because a page's language index is the scaled square of a uniform number.

    Args:
        folder: Output folder, created if missing.
        links: Approximate number of links, in pages of `LINKS_PER_PAGE`.
        seed: Seed of all random draws.
        memory_limit: Memory limit of DuckDB.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = tables_in(folder)
    entities, pages = max(links // LINKS_PER_ENTITY, 100), max(links // LINKS_PER_PAGE, 1)
    largest = min(LARGEST_TYPE, entities // 4)
    with duckdb.connect(
        config={"memory_limit": memory_limit, "temp_directory": str(folder / "spill")}
    ) as engine:
        engine.execute(_MACROS.format(seed=seed, names=list(LANGUAGES), first_type=FIRST_TYPE))
        for query, path in (
            (_SENTENCES.format(pages=pages, each=LINKS_PER_PAGE // LINKS_PER_SENTENCE), tables.sentences),
            (_LINKS.format(pages=pages, entities=entities), tables.links),
            (
                _TYPES.format(types=entities // ENTITIES_PER_TYPE, largest=largest, entities=entities),
                tables.entity_types,
            ),
        ):
            engine.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return tables


_MACROS = """
SET preserve_insertion_order = false;
CREATE MACRO uniform(purpose, a, b) AS (hash({seed}, purpose, a, b) >> 11)::DOUBLE / (1::HUGEINT << 53)::DOUBLE;
CREATE MACRO language_of(page) AS list_extract({names}, 1 + floor(18 * uniform(1, page, 0) ** 2)::INTEGER);
-- Give entities of similar frequency distant identifiers: an odd multiplier permutes the integers below a power of two.
CREATE MACRO scatter(rank) AS (rank * 2654435761) % {first_type};
"""

_SENTENCES = """
SELECT language_of(page) AS language, page AS page_id, place::INTEGER AS sentence_index,
       left(repeat(md5(page::VARCHAR || '.' || place::VARCHAR), 40),
            floor(exp(4.6 + 0.6 * (uniform(2, page, place) + uniform(3, page, place)
                                   + uniform(4, page, place) - 1.5) * 2))::INTEGER) AS text
FROM (SELECT page, unnest(range({each})) AS place FROM range({pages}) AS pages(page))
"""

_LINKS = f"""
SELECT language_of(page) AS language, page AS page_id, (place // {LINKS_PER_SENTENCE})::INTEGER AS sentence_index,
       'title ' || rank AS title, scatter(rank)::BIGINT AS entity
FROM (SELECT page, place, floor(({{entities}}::DOUBLE) ** uniform(5, page, place))::BIGINT AS rank
      FROM (SELECT page, unnest(range({LINKS_PER_PAGE})) AS place FROM range({{pages}}) AS pages(page)))
"""

_TYPES = f"""
SELECT DISTINCT scatter(1 + floor({{entities}} * uniform(6, type, member))::BIGINT)::BIGINT AS qid,
       {FIRST_TYPE} + type AS type_qid
FROM (SELECT type, unnest(range(greatest(2, {{largest}} // type))) AS member
      FROM range(1, {{types}} + 1) AS types(type))
"""
