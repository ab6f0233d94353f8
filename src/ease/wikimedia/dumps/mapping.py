"""Ways to map a function over shards: processes of this machine, or a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from joblib import Parallel, delayed

if TYPE_CHECKING:
    from pyspark import SparkContext

_ROUNDS = 4
"""Tasks for each of Spark's slots in one job: results come by jobs, and the last of a job is waited for."""

Task = TypeVar("Task")
Result = TypeVar("Result")


class MapShards(Protocol):
    """Applies a function to tasks, in any order and any number of processes."""

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Results as they come."""


def joblib_map(workers: int | None) -> MapShards:
    """A map over processes of this machine; None is one for each core, 1 is this process itself."""

    def apply(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        processes = min(workers, len(tasks)) if workers else -1
        parallel = Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1)
        return parallel(delayed(function)(task) for task in tasks)

    return apply


def spark_map(context: SparkContext) -> MapShards:
    """A map over a Spark cluster whose machines all see the dumps' and the parts' folders."""

    def apply(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        size = max(1, _ROUNDS * context.defaultParallelism)
        for start in range(0, len(tasks), size):
            chunk = tasks[start : start + size]
            yield from context.parallelize(chunk, len(chunk)).map(function).collect()

    return apply
