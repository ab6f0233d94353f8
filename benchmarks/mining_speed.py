"""Measure the way from links to pairs and hard negatives: seconds, memory and growth.

    python -m benchmarks.mining_speed
    python -m benchmarks.mining_speed --links 1000000 10000000 100000000 --memory-limit 6GB
    python -m benchmarks.mining_speed --engines duckdb spark

`ease.entities` counts, filters, samples and mines generated links with Wikipedia's skew on DuckDB, and on Spark in
local mode if it is named; the rows of both are compared. Each size and engine runs in a new process.
"""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import duckdb
import ibis

from benchmarks.common import command_line_parser, in_new_process, peak_megabytes, print_head, print_row
from ease.entities.negatives import HardNegativeOptions, MiningInputs, mine_hard_negatives
from ease.entities.pairs import PairOptions, filter_links, select_pairs
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary

TABLES = ("links", "sentences", "entity_types")
STAGES = ("vocabulary", "pairs", "negatives")
LINKS_PER_PAGE = 30
LINKS_PER_SENTENCE = 3
LINKS_PER_ENTITY = 20
"""Average, about that of English Wikipedia."""
LARGEST_TYPE = 1_000_000
ENTITIES_PER_TYPE = 10
FIRST_TYPE = 1 << 30
"""First identifier of a type; types are entities whose identifiers exceed those of all other entities."""
LANGUAGES = tuple("en de fr es ru ja it pl nl pt sv ar fa ca cs ko tr eo".split())


class Run(NamedTuple):
    """Result of one measurement."""

    links: int
    pairs: int
    gigabytes: float
    seconds: list[float]
    """Of each stage, then of all"""


def write_link_tables(folder: Path, links: int, memory_limit: str) -> None:
    """Write about `links` links, their sentences, and the types of their entities, as Parquet files in bounded memory.

    Targets of links follow Zipf's law with exponent 1. The type of rank t has min(`LARGEST_TYPE`, entities / 4) / t
    members, and at least 2. Later languages of `LANGUAGES` have fewer pages.
    """
    folder.mkdir()
    entities = max(links // LINKS_PER_ENTITY, 100)
    pages = max(links // LINKS_PER_PAGE, 1)
    types = entities // ENTITIES_PER_TYPE
    largest = min(LARGEST_TYPE, entities // 4)
    queries = {
        "sentences": _SENTENCES.format(pages=pages, each=LINKS_PER_PAGE // LINKS_PER_SENTENCE),
        "links": _LINKS.format(pages=pages, entities=entities),
        "entity_types": _TYPES.format(types=types, largest=largest, entities=entities),
    }
    with duckdb.connect(config={"memory_limit": memory_limit, "temp_directory": str(folder)}) as engine:
        engine.execute(_MACROS.format(names=list(LANGUAGES), first_type=FIRST_TYPE))
        for name, query in queries.items():
            engine.execute(f"COPY ({query}) TO '{folder / name}.parquet' (FORMAT parquet)")


def connect(engine: str, spill: Path, memory: str, threads: int) -> ibis.BaseBackend:
    """Connect to DuckDB in this process, or start Spark: a Java process with the memory limit as its heap."""
    if engine == "duckdb":
        connection = ibis.duckdb.connect(memory_limit=memory, threads=threads, temp_directory=str(spill))
        connection.raw_sql("SET enable_progress_bar = false")
        return connection
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{threads}]")
    builder = builder.config("spark.driver.memory", memory.upper().replace("GB", "g"))
    builder = builder.config("spark.local.dir", str(spill)).config("spark.ui.showConsoleProgress", "false")
    return ibis.pyspark.connect(builder.getOrCreate())


def mine(folder: Path, per_language: int, engine: str, memory: str, threads: int) -> Run:
    """Count, filter, sample and mine; each table is written before the next is computed."""
    connection = connect(engine, folder / "spill", memory, threads)
    links, sentences, types = (connection.read_parquet(folder / f"{name}.parquet") for name in TABLES)
    marks = [time.perf_counter()]

    def stage(table: ibis.Table) -> ibis.Table:
        path = folder / f"{engine}-{STAGES[len(marks) - 1]}.parquet"
        connection.to_parquet(table, path)
        marks.append(time.perf_counter())
        return connection.read_parquet(path)

    vocabulary = stage(build_vocabulary(links, None, VocabularyOptions(min_link_count=10), LANGUAGES))
    options = PairOptions(min_characters=10, max_characters=1000, max_pairs_per_language=per_language)
    pairs = stage(select_pairs(filter_links(sentences, links, vocabulary, options), sentences, options))
    appearing = links.select("language", "page_id", "entity")
    mining = MiningInputs(appearing, types, HardNegativeOptions(without="drop"))
    mined = stage(mine_hard_negatives(pairs, mining, vocabulary))
    process = "self"
    if engine == "spark":
        # Spark's memory is that of its Java process.
        process = connection._session._jvm.ProcessHandle.current().pid()
    gigabytes = peak_megabytes(process) / 1024
    seconds = [after - before for before, after in itertools.pairwise(marks)]
    return Run(links.count().execute(), mined.count().execute(), gigabytes, [*seconds, marks[-1] - marks[0]])


def differing_rows(folder: Path) -> int:
    """Count the rows of the hard negatives that only one of the engines has; Spark writes a folder of files."""
    duckdb_rows, spark_rows = (
        f"(SELECT * EXCLUDE sentence FROM read_parquet('{folder}/{path}'))"
        for path in ("duckdb-negatives.parquet", "spark-negatives.parquet/*.parquet")
    )
    both = f"{duckdb_rows} AS one FULL JOIN {spark_rows} AS other USING (pair_id)"
    return duckdb.sql(f"SELECT count(*) FROM {both} WHERE one IS DISTINCT FROM other").fetchall()[0][0]


def main() -> None:
    """Measure each size and print its rows."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--links", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--per-language", type=int, default=3_000_000, help="most pairs of a language")
    parser.add_argument("--engines", nargs="+", choices=["duckdb", "spark"], default=["duckdb"])
    parser.add_argument("--memory-limit", default="6GB", help="of DuckDB, and Spark's heap; both spill to disk")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="parent of the temporary folder for the tables")
    options = parser.parse_args()
    stages = [f"{name} s" for name in (*STAGES, "all")]
    print_head("engine", "links", "pairs mined", *stages, "relative to n log n", "peak GB")
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        for links in options.links:
            folder = Path(work) / str(links)
            write_link_tables(folder, links, options.memory_limit)
            for engine in options.engines:
                run = in_new_process(mine, folder, options.per_language, engine, options.memory_limit, options.threads)
                each = run.seconds[-1] / (run.links * math.log(run.links))
                growth = each / first.setdefault(engine, each)
                seconds = [f"{stage:.1f}" for stage in run.seconds]
                print_row(
                    *(engine, f"{run.links:,}", f"{run.pairs:,}", *seconds, f"{growth:.2f}"), f"{run.gigabytes:.1f}"
                )
            if {"duckdb", "spark"} <= {*options.engines}:
                print(f"\nHard negatives that only one engine has: {differing_rows(folder):,}\n", flush=True)


_MACROS = """
SET preserve_insertion_order = false;
CREATE MACRO uniform(purpose, a, b) AS (hash(0, purpose, a, b) >> 11)::DOUBLE / (1::HUGEINT << 53)::DOUBLE;
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

if __name__ == "__main__":
    main()
