"""Compare the time of an evaluation with MTEB's, on tasks that both have.

    python -m benchmarks.evaluation_speed --encoder sentence-transformers/all-MiniLM-L6-v2
    python -m benchmarks.evaluation_speed --encoder my/encoder --tasks sts17 tatoeba:deu-eng tatoeba:cmn-eng
    python -m benchmarks.evaluation_speed --encoder my/encoder --ways ease

Both read the same files and score the same subsets of STS 2012 to 2016, STS 2017 and Tatoeba, alternately, in one
process and from an empty cache, with the same number of torch threads and each with its own default batch size. The
scores are compared: the largest difference is printed. On a machine that is not idle, measure with `--threads 1`:
threads of torch that wait for each other use CPU time.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import mteb
import torch
from datasets import Dataset
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining
from sentence_transformers import SentenceTransformer

from benchmarks.common import command_line_parser, print_head, print_row
from benchmarks.inputs import evaluation_tasks
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.evaluation.scoring import score_tasks, select_parameters
from ease.evaluation.tasks import TaskParameters, build_tasks
from ease.evaluation.tasks.graded_pairs import read_paired_files

TASKS = ("sts", "sts17", "tatoeba")
Rows = dict[str, list[Any]]


def _load_rows(self: Any, num_proc: int | None = None, **_: Any) -> None:
    self.dataset = {"test": Dataset.from_dict(self.rows)}
    self.data_loaded = True


class LocalSTS(AbsTaskSTS):
    """Graded pairs with the columns sentence1, sentence2 and score."""

    rows: ClassVar[Rows] = {}
    load_data = _load_rows


class LocalBitext(AbsTaskBitextMining):
    """Parallel sentences with the columns sentence1 and sentence2."""

    rows: ClassVar[Rows] = {}
    load_data = _load_rows


def peers_of(tasks: TaskParameters) -> dict[str, LocalSTS | LocalBitext]:
    """Return MTEB's task for each subset of our tasks that has files, by `task/subset`."""
    peers: dict[str, LocalSTS | LocalBitext] = {}
    for name, task in build_tasks(tasks).items():
        for subset, paths in task.files().items():
            if not all(path.exists() for path in paths):
                continue
            if name == "tatoeba":
                sides = dict(zip(("sentence1", "sentence2"), task.read(subset, paths), strict=True))
                peers[f"{name}/{subset}"] = _task(LocalBitext, "BitextMining", "accuracy", sides)
            else:
                files = zip(paths[::2], paths[1::2], strict=True)
                pairs = [pair for both in files for pair in read_paired_files(*both)]
                columns = map(list, zip(*pairs, strict=True))
                rows = dict(zip(("sentence1", "sentence2", "score"), columns, strict=True))
                peers[f"{name}/{subset}"] = _task(LocalSTS, "STS", "cosine_spearman", rows)
    return peers


def _task(base: type[LocalSTS | LocalBitext], kind: str, score: str, rows: Rows) -> LocalSTS | LocalBitext:
    metadata = TaskMetadata(
        name=f"Local{kind}",
        description="Rows of a file.",
        dataset={"path": "local", "revision": "1"},
        type=kind,
        main_score=score,
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        modalities=["text"],
        category="t2t",
    )
    return type(base.__name__, (base,), {"rows": rows, "metadata": metadata})()


def score_here(encoder: SentenceTransformer, tasks: TaskParameters, batch_size: int | None) -> dict[str, float]:
    """Score all subsets as the `evaluate` pipeline does, from an empty cache; main scores by `task/subset`."""
    with tempfile.TemporaryDirectory() as cache:
        encode = encode_with(encoder, EncodingOptions(batch_size=batch_size, cache=Path(cache)))
        scores = score_tasks(encode, build_tasks(tasks).values())
    return {f"{score.task}/{score.subset}": score.value for score in scores if score.main}


def score_by_mteb(
    encoder: SentenceTransformer, peers: dict[str, LocalSTS | LocalBitext], batch_size: int | None
) -> dict[str, float]:
    """Score all subsets by MTEB, without its cache of results; main scores in points by `task/subset`."""
    options: Any = {"batch_size": batch_size} if batch_size else {}
    scores = {}
    for name, task in peers.items():
        results = mteb.evaluate(encoder, [task], cache=None, show_progress_bar=False, encode_kwargs=options)
        scores[name] = 100 * float(results.task_results[0].get_score())
    return scores


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both ways in turn and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", required=True, help="hub name or folder")
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="tasks, or subsets as task:subset")
    parser.add_argument("--batch-size", type=int, help="of both; default: of each way")
    parser.add_argument("--ways", nargs="+", choices=["mteb", "ease"], default=["mteb", "ease"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    encoder = load_encoder(options.encoder)
    with tempfile.TemporaryDirectory() as work:
        tasks = select_parameters(options.tasks, evaluation_tasks(Path(work)))
        peers = peers_of(tasks)
        ways: dict[str, Callable[[], dict[str, float]]] = {
            "mteb": partial(score_by_mteb, encoder, peers, options.batch_size),
            "ease": partial(score_here, encoder, tasks, options.batch_size),
        }
        fastest = dict.fromkeys(options.ways, (math.inf, math.inf))
        scores: dict[str, dict[str, float]] = {}
        for _ in range(options.rounds):
            for name in options.ways:
                cpu = time.process_time()
                wall = time.perf_counter()
                scores[name] = ways[name]()
                spent = time.process_time() - cpu, time.perf_counter() - wall
                fastest[name] = min(fastest[name], spent)
    print(f"{len(peers)} subsets; fastest round\n")
    print_head("", "CPU seconds", "ratio", "seconds", "ratio")
    for name, (cpu, wall) in fastest.items():
        first_cpu, first_wall = fastest[options.ways[0]]
        print_row(name, f"{cpu:.1f}", f"{first_cpu / cpu:.2f}", f"{wall:.1f}", f"{first_wall / wall:.2f}")
    if len(scores) == 2:
        # MTEB searches Tatoeba in one direction only.
        graded = [name for name in scores["mteb"] if not name.startswith("tatoeba/")]
        gaps = [abs(scores["mteb"][name] - scores["ease"][name]) for name in graded]
        print(f"\nLargest difference of Spearman's correlations: {max(gaps, default=0):.4f} points")


if __name__ == "__main__":
    main()
