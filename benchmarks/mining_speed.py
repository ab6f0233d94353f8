"""Measure the way from links to pairs and hard negatives: seconds, memory and growth.

    python -m benchmarks.mining_speed
    python -m benchmarks.mining_speed --links 1000000 10000000 100000000 --memory-limit 6GB
    python -m benchmarks.mining_speed --engines duckdb spark
    python -m benchmarks.mining_speed --engines duckdb spark --spark-master spark://127.0.0.1:7077

`ease.entities` counts, filters, samples and mines generated links with Wikipedia's skew on DuckDB, and on Spark if it
is named, in local mode or on a standalone cluster on this machine; the rows of both are compared. Each size and engine
runs in a new process. Memory is the peak of each stage, on Spark of the driver and the executors together.
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import duckdb
import ibis
import psutil

from benchmarks.common import (
    command_line_parser,
    in_new_process,
    peak_megabytes,
    print_head,
    print_row,
    reset_peak_memory,
)
from ease.entities.negatives import HardNegativeOptions, MiningInputs, mine_hard_negatives
from ease.entities.pairs import PairOptions, pairs_with_filters, select_pairs
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary

TABLES = ("links", "sentences", "entity_types")
STAGES = ("vocabulary", "pairs", "negatives")
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
"""The program of the processes that compute for a standalone cluster's driver"""
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
    seconds: list[float]
    """Of each stage"""
    gigabytes: list[float]
    """Of each stage"""


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


def connect(engine: str, spill: Path, memory: str, threads: int, spark_master: str | None) -> ibis.BaseBackend:
    """Connect to DuckDB in this process, or start Spark, whose Java processes have the memory limit as their heap."""
    if engine == "duckdb":
        connection = ibis.duckdb.connect(memory_limit=memory, threads=threads, temp_directory=str(spill))
        connection.raw_sql("SET enable_progress_bar = false")
        return connection
    from pyspark.sql import SparkSession

    heap = memory.upper().replace("GB", "g")
    builder = SparkSession.builder.master(spark_master or f"local[{threads}]")
    builder = builder.config("spark.driver.memory", heap).config("spark.executor.memory", heap)
    builder = builder.config("spark.local.dir", str(spill)).config("spark.ui.showConsoleProgress", "false")
    return ibis.pyspark.connect(builder.getOrCreate())


def engine_processes(connection: ibis.BaseBackend) -> list[int]:
    """Return the processes that compute: this one for DuckDB; for Spark, its driver and the executors."""
    if connection.name == "duckdb":
        return [psutil.Process().pid]
    driver = connection._session._jvm.ProcessHandle.current().pid()
    processes = psutil.process_iter(["pid", "cmdline"])
    # Nothing is known of another process that has just ended.
    executors = [process.pid for process in processes if EXECUTOR in (process.info["cmdline"] or ())]
    return [driver, *executors]


def mine(
    folder: Path, per_language: int, engine: str, memory: str, threads: int, spark_master: str | None = None
) -> Run:
    """Count, filter, sample and mine; each table is written before the next is computed."""
    connection = connect(engine, folder / "spill", memory, threads, spark_master)
    links, sentences, types = (connection.read_parquet(folder / f"{name}.parquet") for name in TABLES)
    seconds: list[float] = []
    gigabytes: list[float] = []

    def stage(table: ibis.Table) -> ibis.Table:
        path = folder / f"{engine}-{STAGES[len(seconds)]}.parquet"
        for process in engine_processes(connection):
            reset_peak_memory(process)
        started = time.perf_counter()
        connection.to_parquet(table, path)
        seconds.append(time.perf_counter() - started)
        gigabytes.append(sum(map(peak_megabytes, engine_processes(connection))) / 1024)
        return connection.read_parquet(path)

    vocabulary = stage(build_vocabulary(links, None, VocabularyOptions(min_link_count=10), LANGUAGES))
    options = PairOptions(min_characters=10, max_characters=1000, max_pairs_per_language=per_language)
    pairs = stage(select_pairs(pairs_with_filters(sentences, links, vocabulary, options), sentences, options))
    appearing = links.select("language", "page_id", "entity")
    mining = MiningInputs(appearing, types, HardNegativeOptions(without="drop"))
    mined = stage(mine_hard_negatives(pairs, mining, vocabulary))
    return Run(links.count().execute(), mined.count().execute(), seconds, gigabytes)


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
    parser.add_argument("--memory-limit", default="6GB", help="of DuckDB, and of Spark's heaps; both spill to disk")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--spark-master", help="address of a standalone cluster; default: Spark in local mode")
    parser.add_argument("--folder", type=Path, help="parent of the temporary folder for the tables")
    options = parser.parse_args()
    stages = [f"{name}, s (GB)" for name in STAGES]
    print_head("engine", "links", "pairs mined", *stages, "all, s", "relative to n log n")
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        for links in options.links:
            folder = Path(work) / str(links)
            write_link_tables(folder, links, options.memory_limit)
            for engine in options.engines:
                limits = options.memory_limit, options.threads
                run = in_new_process(mine, folder, options.per_language, engine, *limits, options.spark_master)
                total = sum(run.seconds)
                each = total / (run.links * math.log(run.links))
                growth = each / first.setdefault(engine, each)
                costs = [
                    f"{seconds:.1f} ({gigabytes:.1f})"
                    for seconds, gigabytes in zip(run.seconds, run.gigabytes, strict=True)
                ]
                print_row(engine, f"{run.links:,}", f"{run.pairs:,}", *costs, f"{total:.1f}", f"{growth:.2f}")
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
