"""CPU time of the intervals of scores beside that of the scores.

    python -m benchmarks.interval_time --encoder sentence-transformers/all-MiniLM-L6-v2

Each available task is scored with an empty cache, in one thread, and its items are resampled and written as in an
evaluation.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.inputs import evaluation_tasks
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import write_items
from ease.evaluation.scoring import score_tasks


def main() -> None:
    """Print a Markdown table of the CPU seconds of each task, and their sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", required=True, help="hub name or folder of the encoder")
    parser.add_argument("--tasks", nargs="*", help="tasks to score; by default all that are available")
    given = parser.parse_args()
    encoder, sums = load_encoder(given.encoder), [0.0, 0.0]
    print("| task | scores | score, s | intervals, s | share |\n| --- | ---: | ---: | ---: | ---: |")
    with TemporaryDirectory() as folder:
        tasks = evaluation_tasks(Path(folder))
        chosen = {name: own for name, own in tasks.items() if not given.tasks or name in given.tasks}
        for name in chosen:
            encode = encode_with(encoder, EncodingOptions(cache=Path(folder)))
            before = time.process_time()
            scores = score_tasks(encode, [name], chosen)
            between = time.process_time()
            write_items(Path(folder) / f"{name}.parquet", *with_intervals(scores))
            seconds = between - before, time.process_time() - between
            sums = [total + own for total, own in zip(sums, seconds, strict=True)]
            print(_line(name, str(len(scores)), *seconds), flush=True)
    print(_line("all", "", *sums))


def _line(name: str, scores: str, scoring: float, intervals: float) -> str:
    share = f"{100 * intervals / scoring:.1f}%"
    return f"| {name} | {scores} | {scoring:.1f} | {intervals:.1f} | {share} |"


if __name__ == "__main__":
    main()
