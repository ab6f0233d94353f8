"""Time and memory of an index of sentences, exact and by faiss.

    python -m benchmarks.search_index
    python -m benchmarks.search_index --sentences 1200000 --dimension 384

Sentences and links are made up, and embeddings are drawn around random centres, so that the time excludes an encoder.
Each index is built and searched in a process of its own. `recall` is the share of the 10 nearest sentences that are
found, measured on 50 queries.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.command_line import command_line_parser
from benchmarks.memory import in_new_process, peak_megabytes
from ease.search.engine import digest_tables
from ease.search.index import Index, build_index

CENTRES, QUERIES, NEAREST, PER_PAGE = 1_000, 50, 10, 100
LANGUAGES = ("de", "en", "fr", "ja")


class Cost(NamedTuple):
    """Seconds of the build and of a search, peak memory of both, and the rows found by each query."""

    build: float
    search: float
    megabytes: float
    rows: list[list[int]]


def write_tables(folder: Path, sentences: int) -> tuple[list[Path], list[Path], str]:
    """Write sentences, of which every second links to an entity."""
    numbers = np.arange(sentences)
    key = {
        "language": pa.array(LANGUAGES).take(numbers % len(LANGUAGES)),
        "page_id": numbers // PER_PAGE,
        "sentence_index": numbers % PER_PAGE,
    }
    title = pa.array(["A page"]).take(np.zeros(sentences, dtype=np.int64))
    texts = pa.array([f"Sentence {number} of a made-up wiki." for number in numbers])
    files = folder / "sentences.parquet", folder / "links.parquet"
    pq.write_table(pa.table({**key, "page_title": title, "text": texts}), files[0])
    pq.write_table(pa.table({**key, "entity": numbers, "title": title}).take(numbers[::2]), files[1])
    return [files[0]], [files[1]], digest_tables([*files])


class Embed:
    """Vectors around random centres, as if from an encoder."""

    def __init__(self, dimension: int) -> None:
        self._random = np.random.default_rng(0)
        self._centres = self._random.standard_normal((CENTRES, dimension), dtype=np.float32)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Draw one for each text."""
        chosen = self._centres[self._random.integers(CENTRES, size=len(texts))]
        return chosen + self._random.standard_normal(chosen.shape, dtype=np.float32)


def measure(
    folder: Path, tables: tuple[list[Path], list[Path], str], dimension: int, memory: int, exact_limit: int
) -> Cost:
    """Build an index and search it."""
    embed = Embed(dimension)
    started = time.perf_counter()
    build_index(folder, embed, "made up", tables, memory=memory, exact_limit=exact_limit)
    build = time.perf_counter() - started
    index, queries = Index(folder), embed([""] * QUERIES)
    index.nearest(queries[0], NEAREST)
    started = time.perf_counter()
    rows = [index.nearest(query, NEAREST).rows.tolist() for query in queries]
    return Cost(build, (time.perf_counter() - started) / QUERIES, peak_megabytes(), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--sentences", nargs="+", type=int, default=[100_000])
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--memory", type=int, default=1_024, help="megabytes, as in `ease.open_search`")
    given = parser.parse_args(arguments)
    print("| sentences | search | build, s | a search, ms | recall@10 | peak MB |\n|---|---|---|---|---|---|")
    for sentences in given.sentences:
        with tempfile.TemporaryDirectory() as place:
            tables = write_tables(Path(place), sentences)
            costs = {
                name: in_new_process(
                    measure, Path(place) / name, tables, given.dimension, given.memory, limit
                )
                for name, limit in (("exact", sentences), ("faiss", 0))
            }
        for name, cost in costs.items():
            pairs = zip(cost.rows, costs["exact"].rows, strict=True)
            recall = np.mean([len({*own} & {*best}) / NEAREST for own, best in pairs])
            print(
                f"| {sentences:,} | {name} | {cost.build:.0f} | {1000 * cost.search:.0f} | {recall:.2f} | "
                f"{cost.megabytes:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
