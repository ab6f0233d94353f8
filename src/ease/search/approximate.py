"""faiss for large indexes: compressed vectors in lists, mapped from the disk; the best are compared again exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.io.atomic import atomic_path

APPROXIMATE = "vectors.faiss"
TRAINING_ROWS_PER_LIST = 64
PROBED = 64
"""Lists that a search reads."""


def build_approximate(folder: Path, blocks: Sequence[Path], memory: int) -> None:
    """Compress all blocks of unit vectors into one file.

    Vectors have one byte a dimension, or fewer if that exceeds the memory.

    Args:
        folder: The index.
        blocks: Files of all blocks, in the order of the rows.
        memory: Megabytes that the compressed vectors may take.

    Raises:
        EaseError: If faiss is missing, or even the smallest vectors exceed the memory.
    """
    faiss = load_faiss()
    vectors = [np.load(block, mmap_mode="r") for block in blocks]
    rows, dimension = sum(map(len, vectors)), vectors[0].shape[1]
    most = max(1, rows // TRAINING_ROWS_PER_LIST)
    lists = 2 ** math.floor(math.log2(min(4 * math.sqrt(rows), most)))
    index = faiss.index_factory(
        dimension, f"IVF{lists},{vector_code(rows, dimension, memory)}", faiss.METRIC_INNER_PRODUCT
    )
    wanted = min(rows, lists * TRAINING_ROWS_PER_LIST)
    index.train(np.concatenate([block[:: max(1, rows // wanted)] for block in vectors]))
    for block in vectors:
        index.add(np.ascontiguousarray(block))
    with atomic_path(folder / APPROXIMATE) as partial:
        faiss.write_index(index, str(partial))


def vector_code(rows: int, dimension: int, memory: int) -> str:
    """Return faiss's name of the most exact code that fits: 8 bits a dimension, or product quantisation."""
    available = memory * 10**6 / rows - 8  # 8 bytes hold the row's number
    if available >= dimension:
        return "SQ8"
    sizes = [size for size in range(8, dimension) if dimension % size == 0 and size <= available]
    if not sizes:
        raise EaseError(
            f"{rows:,} sentences need {rows * 16 // 10**6 + 1} MB of memory or more, not {memory}: raise `memory`."
        )
    return f"PQ{sizes[-1]}"


def search_approximate(
    index: Any, query: NDArray[np.float32], count: int, ranges: Sequence[tuple[int, int]]
) -> NDArray[np.int64]:
    """Return the rows of about the nearest vectors within ranges of rows: at most `count`, in no order."""
    faiss = load_faiss()
    parts = [faiss.IDSelectorRange(start, end) for start, end in ranges]
    chosen = parts[0]
    kept = [*parts]  # faiss holds pointers to the parts of a selector
    for part in parts[1:]:
        chosen = faiss.IDSelectorOr(chosen, part)
        kept.append(chosen)
    options = faiss.SearchParametersIVF(sel=chosen, nprobe=min(PROBED, index.nlist))
    rows = index.search(query[None], count, params=options)[1][0]
    found: NDArray[np.int64] = rows[rows >= 0]
    return found


def load_faiss() -> Any:
    """Import faiss.

    Raises:
        EaseError: If it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise EaseError(
            "An index of so many sentences needs faiss: install the extra `demo`, or `pip install faiss-cpu`."
        ) from error
    return faiss
