"""Map a function over shards in local processes or on a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from joblib import Parallel, delayed

if TYPE_CHECKING:
    from pyspark import SparkContext

_ROUNDS = 4
"""Tasks per Spark slot in one job. Results arrive job by job, and each job waits for its slowest task."""

Task = TypeVar("Task")
Result = TypeVar("Result")


class MapShards(Protocol):
    """Applies a function to tasks, in any order and in any number of processes."""

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield results as they are finished."""


def joblib_map(workers: int | None) -> MapShards:
    """Map in local processes; None uses one per core, 1 uses the current process."""

    def apply(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        processes = min(workers, len(tasks)) if workers else -1
        parallel = Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1)
        return parallel(delayed(function)(task) for task in tasks)

    return apply


def spark_map(context: SparkContext) -> MapShards:
    """Map on a Spark cluster whose machines can all access the folders of the dumps and the parts."""

    def apply(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        size = max(1, _ROUNDS * context.defaultParallelism)
        for start in range(0, len(tasks), size):
            chunk = tasks[start : start + size]
            yield from context.parallelize(chunk, len(chunk)).map(function).collect()

    return apply
