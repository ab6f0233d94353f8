"""Links to pairs to hard negatives: seconds, memory and growth of the tables' way, beside a loop over dictionaries.

    python -m benchmarks.mining_speed
    python -m benchmarks.mining_speed --links 1000000 10000000 100000000 --per-language 3000000 --memory-limit 6GB

Made links with a Wikipedia's skew (`link_tables`) are counted, filtered, drawn and mined by `ease.entities` on DuckDB,
each size in a process of its own, whose peak memory is told. The loop does the same on one size, for some of the pairs,
and its negatives must have the same distribution: for each frequent entity a chi-square test over its candidates.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import ibis
import pandas as pd
from scipy.stats import chi2_contingency, kstest

from benchmarks.dictionary_mining import mine_with_dictionaries
from benchmarks.link_tables import LANGUAGES, LinkTables, tables_in, write_link_tables
from benchmarks.memory import peak_megabytes
from ease.entities.negatives import HardNegativeOptions, mine_hard_negatives
from ease.entities.pairs import PairOptions, select_pairs
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary

MIN_LINK_COUNT, SHORTEST, LONGEST = 10, 10, 1000
FEWEST_NEGATIVES = 200
"""Of an entity, for its candidates to be compared."""


class Run(NamedTuple):
    """What one way took."""

    links: int
    pairs: int
    seconds: float
    peak_gigabytes: float
    stages: dict[str, float]


def mine_with_tables(
    tables: LinkTables, folder: Path, per_language: int, memory_limit: str, threads: int
) -> Run:
    """Count, filter, draw and mine with the project's own expressions, each table written before the next."""
    settings = {"memory_limit": memory_limit, "threads": threads, "temp_directory": str(folder / "spill")}
    engine = ibis.duckdb.connect(**settings)
    engine.raw_sql("SET enable_progress_bar = false")
    links, sentences, types = (engine.read_parquet(path) for path in tables)
    pair_options = PairOptions(
        min_characters=SHORTEST, max_characters=LONGEST, max_pairs_per_language=per_language
    )
    stages, started = {}, time.perf_counter()

    def stage(name: str, table: ibis.Table) -> ibis.Table:
        before = time.perf_counter()
        engine.to_parquet(table, folder / f"{name}.parquet")
        stages[name] = time.perf_counter() - before
        return engine.read_parquet(folder / f"{name}.parquet")

    options = VocabularyOptions(min_link_count=MIN_LINK_COUNT)
    vocabulary = stage("vocabulary", build_vocabulary(links, None, options, LANGUAGES))
    pairs = stage("pairs", select_pairs(sentences, links, vocabulary, pair_options))
    appearing = links.select("language", "page_id", "entity")
    mined = stage(
        "negatives", mine_hard_negatives(pairs, appearing, types, vocabulary, HardNegativeOptions())
    )
    seconds = time.perf_counter() - started
    return Run(links.count().execute(), mined.count().execute(), seconds, peak_megabytes() / 1024, stages)


def mine_with_a_loop(tables: LinkTables, folder: Path, per_language: int, pairs: int) -> Run:
    """Do the same with dictionaries, but stop after so many pairs; `negatives` is the time of the loop alone."""
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


def compare_negatives(ours: Path, theirs: Path) -> list[float]:
    """p-values of chi-square tests, one an entity: do both ways draw its candidates equally often?"""
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
    """Put rare candidates together until each cell expects five or more, as the test wants."""
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


def alone(way: Callable[..., Run], *arguments: Any) -> Run:
    """Run in a process of its own, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(way, *arguments).result()


def main() -> None:
    """Measure each size, then the loop on the first, and print Markdown tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--per-language", type=int, default=3_000_000, help="pairs at most")
    parser.add_argument("--loop-links", type=int, default=10_000_000, help="the size on which the loop runs")
    parser.add_argument("--loop-pairs", type=int, default=20_000, help="after which the loop stops")
    parser.add_argument("--memory-limit", default="6GB", help="of DuckDB, which spills what exceeds it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="for the tables; by default a temporary one")
    given = parser.parse_args()
    if given.loop_links not in given.links:
        parser.error("--loop-links must be one of --links")
    with tempfile.TemporaryDirectory(dir=given.folder) as work:
        runs, folders = [], [Path(work) / str(links) for links in given.links]
        print("| links | pairs mined | vocabulary s | pairs s | negatives s | all s | of n log n | peak GB |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for links, folder in zip(given.links, folders, strict=True):
            tables = write_link_tables(folder, links, memory_limit=given.memory_limit)
            run = alone(
                mine_with_tables, tables, folder, given.per_language, given.memory_limit, given.threads
            )
            runs.append(run)
            growth = run.seconds / runs[0].seconds * _n_log_n(runs[0].links) / _n_log_n(run.links)
            stages = " | ".join(f"{seconds:.1f}" for seconds in run.stages.values())
            print(
                f"| {run.links:,} | {run.pairs:,} | {stages} | {run.seconds:.1f} | {growth:.2f} "
                f"| {run.peak_gigabytes:.1f} |",
                flush=True,
            )
        place = given.links.index(given.loop_links)
        loop = alone(
            mine_with_a_loop, tables_in(folders[place]), folders[place], given.per_language, given.loop_pairs
        )
        ours, theirs = (run.pairs / run.stages["negatives"] for run in (runs[place], loop))
        values = compare_negatives(folders[place] / "negatives.parquet", folders[place] / "loop.parquet")
    print(
        f"\nPairs mined a second on {given.loop_links:,} links: ours {ours:,.0f}, the loop {theirs:,.0f} (with "
        f"{loop.peak_gigabytes:.1f} GB), {ours / theirs:.0f} times as many"
    )
    print(
        f"Negatives of {len(values)} entities compared: p-values from {min(values):.3f} to {max(values):.3f}, "
        f"median {statistics.median(values):.2f}; uniform with p = {kstest(values, 'uniform').pvalue:.2f}"
    )


def _n_log_n(count: int) -> float:
    return count * math.log(count)


if __name__ == "__main__":
    main()
