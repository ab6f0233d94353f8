"""Compare nearest-neighbour search for BUCC with sentence-transformers: time and peak memory.

    python -m benchmarks.search_memory
    python -m benchmarks.search_memory --sizes 150000x400000 --dimension 768 --no-peer

Both search random embeddings and keep the four nearest neighbours. `ease.similarity.neighbours` searches in both
directions in one pass, as the margin criterion requires; `semantic_search` is called once per direction. Each search
runs in a separate process, whose memory includes the embeddings; on a GPU, memory is what torch allocated there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from sentence_transformers.util import semantic_search

from benchmarks.common import command_line_parser, measured_alone, peak_megabytes, print_head, print_row
from ease.device import best_device
from ease.similarity.neighbours import mutual_neighbours

NEIGHBOURS = 4


class Cost(NamedTuple):
    """Time and peak memory of a search, and the highest cosine of each of the first 100 queries, to compare."""

    seconds: float
    megabytes: float
    nearest: list[float]


def search_with_ease(queries: np.ndarray, targets: np.ndarray) -> list[float]:
    """Search in both directions in one pass."""
    forward, _ = mutual_neighbours(queries, targets, NEIGHBOURS)
    return forward.cosines[:100, 0].tolist()


def search_with_peer(queries: np.ndarray, targets: np.ndarray) -> list[float]:
    """Search in one direction, then in the other."""
    left, right = (torch.from_numpy(rows).to(best_device()) for rows in (queries, targets))
    forward = semantic_search(left, right, top_k=NEIGHBOURS)
    semantic_search(right, left, top_k=NEIGHBOURS)
    return [float(hits[0]["score"]) for hits in forward[:100]]


WAYS = {"ease": search_with_ease, "semantic_search": search_with_peer}


def measure(way: str, queries: int, targets: int, dimension: int, threads: int) -> Cost:
    """Search random embeddings in the current process."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    # On a GPU if there is one: a host needs longer than the search.
    sides = [torch.randn(rows, dimension, device=best_device()).cpu().numpy() for rows in (queries, targets)]
    WAYS[way](*(side[:100] for side in sides))  # loads the GPU's libraries
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    nearest = WAYS[way](*sides)
    seconds = time.perf_counter() - started
    if torch.cuda.is_available():
        return Cost(seconds, torch.cuda.max_memory_allocated() / 2**20, nearest)
    return Cost(seconds, peak_megabytes(), nearest)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["7500x20000", "15000x40000"], help="QUERIESxTARGETS")
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-peer", action="store_true", help="skip semantic_search")
    options = parser.parse_args(arguments)
    print_head("search", "queries", "targets", "seconds", "ratio", "peak MB")
    for size in options.sizes:
        queries, targets = map(int, size.split("x"))
        first: Cost | None = None
        for way in ["ease"] if options.no_peer else WAYS:
            cost = measured_alone(measure, way, queries, targets, options.dimension, options.threads)
            first = first or cost
            if not np.allclose(cost.nearest, first.nearest, atol=1e-5):
                raise SystemExit(f"{way} finds different neighbours than ease for {size}: compare the two searches")
            sizes = f"{queries:,}", f"{targets:,}"
            ratio = f"{cost.seconds / first.seconds:.2f}"
            print_row(way, *sizes, f"{cost.seconds:.1f}", ratio, f"{cost.megabytes:,.0f}")


if __name__ == "__main__":
    main()
