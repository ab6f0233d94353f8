"""Mining parallel sentences as BUCC does: seconds and peak memory of our search, beside sentence-transformers'.

    python -m benchmarks.search_memory
    python -m benchmarks.search_memory --sizes 150000x400000 --dimension 768 --no-peer

Random embeddings; both keep the four nearest. Ours searches both ways in one pass, as the margin needs it; the peer,
`semantic_search`, is called once each way. Each runs in a process of its own, which holds the embeddings too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import torch
from sentence_transformers.util import semantic_search

from benchmarks.memory import peak_megabytes
from ease.evaluation.search import mutual_neighbours

NEIGHBOURS = 4


class Cost(NamedTuple):
    """What a search took; the cosines of the first queries' nearest targets, to compare."""

    seconds: float
    megabytes: float
    nearest: list[float]


def search_with_ease(queries: np.ndarray, targets: np.ndarray) -> list[float]:
    """Both ways at once."""
    forward, _ = mutual_neighbours(queries, targets, NEIGHBOURS)
    return forward.cosines[:100, 0].tolist()


def search_with_peer(queries: np.ndarray, targets: np.ndarray) -> list[float]:
    """One way, then the other."""
    left, right = torch.from_numpy(queries), torch.from_numpy(targets)
    forward = semantic_search(left, right, top_k=NEIGHBOURS)
    semantic_search(right, left, top_k=NEIGHBOURS)
    return [float(found[0]["score"]) for found in forward[:100]]


WAYS = {"ease": search_with_ease, "semantic_search": search_with_peer}


def measure(way: str, queries: int, targets: int, dimension: int, threads: int) -> Cost:
    """Search once among new embeddings."""
    torch.set_num_threads(threads)
    random = np.random.default_rng(0)
    sides = [random.standard_normal((rows, dimension), dtype=np.float32) for rows in (queries, targets)]
    started = time.perf_counter()
    nearest = WAYS[way](*sides)
    return Cost(time.perf_counter() - started, peak_megabytes(), nearest)


def alone(function: Callable[..., Cost], *arguments: object) -> Cost:
    """Run in a process of its own, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=["7500x20000", "15000x40000"], help="QUERIESxTARGETS")
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    given = parser.parse_args(arguments)
    print(
        "| queries | targets | way | seconds | ratio | peak MB |\n| ---: | ---: | --- | ---: | ---: | ---: |"
    )
    for size in given.sizes:
        queries, targets = map(int, size.split("x"))
        ways = ["ease"] if given.no_peer else list(WAYS)
        costs = {way: alone(measure, way, queries, targets, given.dimension, given.threads) for way in ways}
        for way, cost in costs.items():
            if not np.allclose(cost.nearest, costs["ease"].nearest, atol=1e-5):
                raise SystemExit(f"{way} finds other neighbours than ease")
            ratio = cost.seconds / costs["ease"].seconds
            print(
                f"| {queries:,} | {targets:,} | {way} | {cost.seconds:.1f} | {ratio:.2f} | {cost.megabytes:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
