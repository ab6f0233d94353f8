"""Measure mining from links to pairs and hard negatives: time, memory and growth, compared with Python dictionaries.

    python -m benchmarks.mining_speed
    python -m benchmarks.mining_speed --links 1000000 10000000 100000000 --per-language 3000000 --memory-limit 6GB
    python -m benchmarks.mining_speed --engines duckdb spark

`ease.entities` counts, filters, samples and mines generated links with Wikipedia's skew (`link_tables`) on DuckDB, and
on Spark in local mode if it is named; the rows of both are compared. Each size and engine runs in a separate process,
whose peak memory is reported. The baseline `dictionary_mining` does the same at one size, for some of the pairs. For
each frequent entity, a chi-square test compares the hard negatives of both implementations over its candidates.
"""

from __future__ import annotations

import itertools
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import duckdb
import ibis
import pandas as pd
from scipy.stats import chi2_contingency, kstest

from benchmarks.command_line import command_line_parser
from benchmarks.dictionary_mining import mine_with_dictionaries
from benchmarks.link_tables import LANGUAGES, LinkTables, tables_in, write_link_tables
from benchmarks.memory import in_new_process, peak_megabytes
from ease.entities.negatives import HardNegativeOptions, mine_hard_negatives
from ease.entities.pairs import PairOptions, select_pairs
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary

MIN_LINK_COUNT, SHORTEST, LONGEST = 10, 10, 1000
FEWEST_NEGATIVES = 200
"""Minimum number of hard negatives that the baseline draws for an entity to be tested."""


class Run(NamedTuple):
    """Result of one measurement."""

    links: int
    pairs: int
    seconds: float
    peak_gigabytes: float
    stages: dict[str, float]


class Limits(NamedTuple):
    """What an engine may use."""

    memory: str
    threads: int


def on_duckdb(spill: Path, limits: Limits) -> ibis.BaseBackend:
    """Connect to DuckDB in this process."""
    engine = ibis.duckdb.connect(
        memory_limit=limits.memory, threads=limits.threads, temp_directory=str(spill)
    )
    engine.raw_sql("SET enable_progress_bar = false")
    return engine


def on_spark(spill: Path, limits: Limits) -> ibis.BaseBackend:
    """Start Spark in local mode: a Java process with the memory limit as its heap, and one task for each thread."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{limits.threads}]")
    builder = builder.config("spark.driver.memory", limits.memory.upper().replace("GB", "g"))
    builder = builder.config("spark.local.dir", str(spill)).config("spark.ui.showConsoleProgress", "false")
    return ibis.pyspark.connect(builder.getOrCreate())


ENGINES = {"duckdb": on_duckdb, "spark": on_spark}


def mine_with_tables(tables: LinkTables, folder: Path, per_language: int, engine: str, limits: Limits) -> Run:
    """Count, filter, sample and mine with `ease.entities`; each table is written before the next is computed."""
    connection = ENGINES[engine](folder / "spill", limits)
    links, sentences, types = (connection.read_parquet(path) for path in tables)
    pair_options = PairOptions(
        min_characters=SHORTEST, max_characters=LONGEST, max_pairs_per_language=per_language
    )
    stages, started = {}, time.perf_counter()

    def stage(name: str, table: ibis.Table) -> ibis.Table:
        before, path = time.perf_counter(), mined_table(folder, engine, name)
        connection.to_parquet(table, path)
        stages[name] = time.perf_counter() - before
        return connection.read_parquet(path)

    options = VocabularyOptions(min_link_count=MIN_LINK_COUNT)
    vocabulary = stage("vocabulary", build_vocabulary(links, None, options, LANGUAGES))
    pairs = stage("pairs", select_pairs(sentences, links, vocabulary, pair_options))
    appearing = links.select("language", "page_id", "entity")
    mined = stage(
        "negatives",
        mine_hard_negatives(pairs, appearing, types, vocabulary, HardNegativeOptions(without="drop")),
    )
    seconds = time.perf_counter() - started
    process = connection._session._jvm.ProcessHandle.current().pid() if engine == "spark" else "self"
    gigabytes = peak_megabytes(process) / 1024
    return Run(links.count().execute(), mined.count().execute(), seconds, gigabytes, stages)


def mined_table(folder: Path, engine: str, name: str) -> Path:
    """Return the path of an engine's table: a file of DuckDB, a folder of files of Spark."""
    return folder / f"{engine}-{name}.parquet"


def mine_with_a_loop(tables: LinkTables, folder: Path, per_language: int, pairs: int) -> Run:
    """Mine `pairs` pairs with dictionaries; the stage `negatives` excludes building the dictionaries."""
    started = time.perf_counter()
    mined = mine_with_dictionaries(tables, MIN_LINK_COUNT, SHORTEST, LONGEST, per_language, seed=0)
    first = next(mined)
    before = time.perf_counter()
    found = [first, *itertools.islice(mined, pairs)]
    seconds = time.perf_counter() - before
    columns = {
        "entity": [pair.key[3] for pair in found],
        "hard_negative": [pair.hard_negative for pair in found],
    }
    pd.DataFrame(columns).to_parquet(folder / "loop.parquet")
    return Run(
        0, len(found) - 1, time.perf_counter() - started, peak_megabytes() / 1024, {"negatives": seconds}
    )


def differing_rows(folder: Path) -> int:
    """Count the rows of the hard negatives that only one of the engines has."""
    here, there = (
        f"(SELECT * EXCLUDE sentence FROM read_parquet('{path}'))"
        for path in (
            mined_table(folder, "duckdb", "negatives"),
            mined_table(folder, "spark", "negatives") / "*.parquet",
        )
    )
    both = f"{here} AS one FULL JOIN {there} AS other USING (pair_id)"
    return duckdb.sql(f"SELECT count(*) FROM {both} WHERE one IS DISTINCT FROM other").fetchall()[0][0]


def compare_negatives(ours: Path, theirs: Path) -> list[float]:
    """Return the p-value of a chi-square test for each entity: do both draw its candidates equally often?"""
    counts = duckdb.sql(
        f"""
        SELECT entity, hard_negative, count(*) FILTER (way = 0) AS ours, count(*) FILTER (way = 1) AS theirs
        FROM (SELECT entity, hard_negative, 0 AS way FROM '{ours}'
              UNION ALL SELECT entity, hard_negative, 1 FROM '{theirs}')
        GROUP BY ALL ORDER BY ALL
        """
    ).df()
    return [
        float(chi2_contingency(_pooled(rows[["ours", "theirs"]])).pvalue)
        for _, rows in counts.groupby("entity")
        if rows["theirs"].sum() >= FEWEST_NEGATIVES and len(rows) > 1
    ]


def _pooled(counts: pd.DataFrame) -> list[list[int]]:
    """Merge rare candidates until each cell's expected count is at least five, as the test requires."""
    share = counts["theirs"].sum() / counts.to_numpy().sum()
    fewest = math.ceil(5 / min(share, 1 - share))
    cells, rest = [], [0, 0]
    for ours, theirs in counts.to_numpy().tolist():
        rest = [rest[0] + ours, rest[1] + theirs]
        if sum(rest) >= fewest:
            cells.append(rest)
            rest = [0, 0]
    if cells:
        cells[-1] = [cells[-1][0] + rest[0], cells[-1][1] + rest[1]]
    return cells if len(cells) > 1 else [[1, 1], [1, 1]]


def main() -> None:
    """Measure each size, then the baseline on one of them, and print the results."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--links", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument(
        "--per-language", type=int, default=3_000_000, help="maximum number of pairs per language"
    )
    parser.add_argument("--loop-links", type=int, default=10_000_000, help="size on which the baseline runs")
    parser.add_argument(
        "--loop-pairs", type=int, default=20_000, help="number of pairs after which the baseline stops"
    )
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["duckdb"])
    parser.add_argument(
        "--memory-limit",
        default="6GB",
        help="memory limit of DuckDB, and size of Spark's heap; both spill to disk",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="parent of the temporary folder for the tables")
    given = parser.parse_args()
    if given.loop_links not in given.links:
        parser.error(f"--loop-links is {given.loop_links}: choose one of the values of --links")
    if "duckdb" not in given.engines:
        parser.error("--engines lacks duckdb, with which the others are compared")
    limits, runs = Limits(given.memory_limit, given.threads), {}
    with tempfile.TemporaryDirectory(dir=given.folder) as work:
        print(
            "| engine | links | pairs mined | vocabulary s | pairs s | negatives s | all s | relative to n log n "
            "| peak GB |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        folders = {links: Path(work) / str(links) for links in given.links}
        for links, folder in folders.items():
            tables = write_link_tables(folder, links, memory_limit=given.memory_limit)
            for engine in given.engines:
                run = in_new_process(mine_with_tables, tables, folder, given.per_language, engine, limits)
                runs[engine, links] = run
                print(_row(engine, run, runs[engine, given.links[0]]), flush=True)
            if "spark" in given.engines:
                print(f"\nHard negatives that only one engine has: {differing_rows(folder):,}\n", flush=True)
        folder = folders[given.loop_links]
        loop = in_new_process(
            mine_with_a_loop, tables_in(folder), folder, given.per_language, given.loop_pairs
        )
        values = compare_negatives(mined_table(folder, "duckdb", "negatives"), folder / "loop.parquet")
    ours, theirs = (run.pairs / run.stages["negatives"] for run in (runs["duckdb", given.loop_links], loop))
    print(
        f"\nPairs mined per second on {given.loop_links:,} links: ease {ours:,.0f}, dictionaries {theirs:,.0f} "
        f"({loop.peak_gigabytes:.1f} GB); ratio {ours / theirs:.0f}"
    )
    if not values:
        print(f"No entity has {FEWEST_NEGATIVES} hard negatives of both implementations: raise --loop-pairs")
        return
    uniformity = kstest(values, "uniform").pvalue
    print(
        f"Hard negatives of {len(values)} entities compared: p-values from {min(values):.3f} to {max(values):.3f}, "
        f"median {statistics.median(values):.2f}; Kolmogorov-Smirnov test of uniformity: p = {uniformity:.2f}"
    )


def _row(engine: str, run: Run, first: Run) -> str:
    """Format a measurement as a table row; `first` is the engine's first."""
    growth = run.seconds / first.seconds * _n_log_n(first.links) / _n_log_n(run.links)
    stages = " | ".join(f"{seconds:.1f}" for seconds in run.stages.values())
    return (
        f"| {engine} | {run.links:,} | {run.pairs:,} | {stages} | {run.seconds:.1f} | {growth:.2f} "
        f"| {run.peak_gigabytes:.1f} |"
    )


def _n_log_n(count: int) -> float:
    return count * math.log(count)


if __name__ == "__main__":
    main()
