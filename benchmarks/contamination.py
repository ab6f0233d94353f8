"""Speed and memory of the search for test texts among made training sentences.

    python -m benchmarks.contamination --megabytes 1000

A child process makes the sentences as Parquet first, so that the memory is the search's own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ease.evaluation.contamination import ContaminationOptions, find_matches
from ease.io.parquet import read_parquet

VOCABULARY, BLOCK = 50_000, 50_000
TESTS = 20_000


def sentences(count: int, seed: int) -> list[str]:
    """Make sentences of 4 to 35 words whose frequencies fall as those of a language."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    own = np.random.default_rng(0)
    words = np.array(["".join(own.choice(letters, own.integers(2, 11))) for _ in range(VOCABULARY)])
    random = np.random.default_rng([1, seed])
    lengths = random.integers(4, 36, count)
    ranks = np.exp(random.uniform(0, np.log(VOCABULARY), int(lengths.sum()))).astype(int) - 1
    parts = np.split(words[ranks], np.cumsum(lengths)[:-1])
    return [" ".join(part).capitalize() + "." for part in parts]


def write(file: Path, megabytes: int) -> None:
    """Write sentences of this size, in UTF-8, to a Parquet file."""
    size, seed = 0, 1
    with pq.ParquetWriter(file, pa.schema([("sentence", pa.string())])) as writer:
        while size < megabytes * 10**6:
            block = sentences(BLOCK, seed)
            size, seed = size + sum(map(len, block)), seed + 1
            writer.write_table(pa.table({"sentence": block}))


def main() -> None:
    """Print the seconds and the peak memory of one search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="size of the training sentences")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write(given.write, given.megabytes)
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "training.parquet"
        command = [sys.executable, "-m", "benchmarks.contamination", "--megabytes", str(given.megabytes)]
        subprocess.run([*command, "--write", str(file)], check=True)
        engine = ibis.duckdb.connect(memory_limit="1GB", threads=2)
        texts = sentences(TESTS, 0)
        before, cpu = time.perf_counter(), time.process_time()
        found = find_matches(texts, read_parquet(engine, [file]), ContaminationOptions())
        seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{given.megabytes} MB, {TESTS} test texts: {seconds:.0f} s ({cpu:.0f} s of CPU time), "
        f"peak {peak:.0f} MB, {len(found)} found"
    )


if __name__ == "__main__":
    main()
