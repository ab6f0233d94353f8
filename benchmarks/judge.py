"""Measure whether `teach`'s judge, the audit, ranks checkpoints of different quality as Tatoeba does.

    python -m benchmarks.judge --encoder ENCODER --language hy --dump HYWIKI --english ENWIKI --tatoeba FOLDER \
        --work FOLDER

Checkpoints of several training runs, good and bad ones, and encoders that read wrong letters are scored by the audit of
half of the titles, and by all pairs of Tatoeba in both directions; the other half of the titles trains. The embeddings
stay in the work folder: the same command goes on where it was stopped, and scores them anew after a change of the
judge. The rows of the table are also written there, as `rows.jsonl`.
"""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import bootstrap, spearmanr

from benchmarks.common import command_line_parser, print_head, print_row
from benchmarks.judged_checkpoints import (
    ENGLISH,
    LETTERS,
    RUNS,
    STEPS,
    Corpus,
    permute_letters,
    read_linking,
    read_title_pairs,
    split_corpus,
    train_run,
)
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.encoders.respelling import respell
from ease.entities.audit import LEFT
from ease.evaluation.scores import AVERAGE, Score
from ease.evaluation.scoring import score_task
from ease.evaluation.tasks import build_task, package_tasks
from ease.evaluation.tasks.audit import AUDIT_SCORE, KEPT_NEIGHBOURS, RECIPROCAL_RANK
from ease.evaluation.tasks.base import Task
from ease.evaluation.tasks.parallel_sentences import RETRIEVAL_ACCURACY, ParallelSentences
from ease.wikimedia.languages import Language

JUDGES = (AUDIT_SCORE, RECIPROCAL_RANK, KEPT_NEIGHBOURS)
AUDIT = "audit"
TATOEBA = "tatoeba"
START = "start"
FEWEST = 5
"""Fewer checkpoints have no correlation."""
HALVES = 200
"""Random halves of Tatoeba whose agreement is averaged"""


class Embeddings:
    """The embeddings of all texts by each checkpoint, kept in a folder."""

    def __init__(self, folder: Path, own: Sequence[str], english: Sequence[str]) -> None:
        """Refuse a folder with the embeddings of other texts."""
        self._folder = folder
        self.own = list(dict.fromkeys(own))
        self.texts = list(dict.fromkeys([*self.own, *english]))
        self._rows = {text: row for row, text in enumerate(self.texts)}
        listing = folder / "texts.json"
        folder.mkdir(parents=True, exist_ok=True)
        if not listing.exists():
            listing.write_text(json.dumps(self.texts), encoding="utf-8")
        if json.loads(listing.read_text(encoding="utf-8")) != self.texts:
            raise SystemExit(f"{folder} has embeddings of other texts: choose another folder")

    def has(self, name: str) -> bool:
        """Return whether a checkpoint's embeddings are kept."""
        return self._file(name).exists()

    def add(self, name: str, encoder: Any, spelling: Mapping[str, str]) -> None:
        """Encode all texts, those of the language with other letters."""
        read = [respell(text, spelling) if row < len(self.own) else text for row, text in enumerate(self.texts)]
        embeddings = encode_with(encoder, EncodingOptions())(read)
        partial = self._file(name).with_suffix(".partial")
        with partial.open("wb") as file:
            np.save(file, embeddings)
        partial.rename(self._file(name))
        # An encoder refers to itself: without this, the copies of all runs stay in memory.
        gc.collect()
        print(f"{name}: encoded", flush=True)

    def scores(self, name: str, tasks: Sequence[Task]) -> Iterator[Score]:
        """Yield the scores of a checkpoint."""
        embeddings = np.load(self._file(name))
        for task in tasks:
            for score in score_task(lambda texts: embeddings[[self._rows[text] for text in texts]], task):
                if not score.subset.startswith(AVERAGE):
                    yield score

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.npy"


def encode_checkpoints(encoder: str, embeddings: Embeddings, corpus: Corpus, steps: Sequence[int]) -> list[str]:
    """Train what is missing, and return the names of all checkpoints, the starting encoder first."""
    start = load_encoder(encoder)
    spellings = {START: dict[str, str]()}
    for count in LETTERS:
        spellings[f"{count} letters permuted"] = permute_letters(corpus.sentences, count)
    for name, spelling in spellings.items():
        if not embeddings.has(name):
            embeddings.add(name, start, spelling)
    names = list(spellings)
    for kind, run in RUNS.items():
        of_run = {step: f"{kind}, {step} steps" for step in steps}
        names += of_run.values()
        if not all(map(embeddings.has, of_run.values())):
            for step, trained in train_run(start, run, corpus, steps):
                embeddings.add(of_run[step], trained, {})
    return names


def score_checkpoints(
    names: Sequence[str], embeddings: Embeddings, tasks: Sequence[Task]
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the scores of each checkpoint in points, by its name, and its hits of Tatoeba: (checkpoints, pairs)."""
    rows = []
    hits = []
    for name in names:
        scores = {(score.task, score.metric): score for score in embeddings.scores(name, tasks)}
        tatoeba = scores[TATOEBA, RETRIEVAL_ACCURACY].items
        assert tatoeba is not None
        hits.append(tatoeba.columns["numerator"])
        values = {judge: scores[AUDIT, judge].value for judge in JUDGES}
        rows.append({"checkpoint": name, TATOEBA: tatoeba.value(), **values})
    of_start = hits[0]
    # Both checkpoints are scored on the same pairs.
    errors = [100 * (row - of_start).std() / len(row) ** 0.5 for row in hits]
    return pd.DataFrame(rows).set_index("checkpoint").assign(error=errors), np.array(hits)


def half_agreement(hits: np.ndarray) -> float:
    """Return Spearman's correlation of the checkpoints between two halves of Tatoeba's pairs, the mean of many."""
    random = np.random.default_rng(0)
    correlations = []
    for _ in range(HALVES):
        first, second = np.array_split(random.permutation(hits.shape[1]), 2)
        correlations.append(spearmanr(hits[:, first].mean(axis=1), hits[:, second].mean(axis=1)).statistic)
    return float(np.mean(correlations))


def correlation(scores: pd.DataFrame, judge: str) -> str:
    """Return Spearman's correlation of a judge with Tatoeba, with its 95% interval over the checkpoints."""
    if len(scores) < FEWEST:
        return "–"

    def statistic(first: np.ndarray, second: np.ndarray) -> float:
        return float(spearmanr(first, second).statistic)

    samples = (scores[judge], scores[TATOEBA])
    with warnings.catch_warnings():
        # A resample of equal scores has no correlation.
        warnings.simplefilter("ignore")
        interval = bootstrap(
            samples, statistic, paired=True, vectorized=False, method="percentile", n_resamples=2000, rng=0
        ).confidence_interval
    return f"{statistic(*samples):.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def equal_signs(scores: pd.DataFrame, judge: str) -> str:
    """Return the share of checkpoints that both scores put on the same side of the starting encoder."""
    gains = (scores - scores.loc[START]).drop(START)
    return f"{100 * (np.sign(gains[judge]) == np.sign(gains[TATOEBA])).mean():.0f}%"


def print_results(scores: pd.DataFrame, hits: np.ndarray) -> None:
    """Print the checkpoints, best first, and how well each judge ranks them."""
    print_head("checkpoint", TATOEBA, *JUDGES)
    for name, row in scores.sort_values(TATOEBA, ascending=False).iterrows():
        print_row(name, *(f"{row[column]:.1f}" for column in (TATOEBA, *JUDGES)))
    gains = (scores[TATOEBA] - scores.loc[START, TATOEBA]).abs()
    is_clear = (gains > 2 * scores["error"]) | (scores.index == START)
    # Respelling trains nothing.
    is_trained = scores.index.str.contains("steps") | (scores.index == START)
    parts = {"all": scores, "trained": scores[is_trained], "clear": scores[is_clear]}
    print_head("judge", *(f"{name} ({len(part)})" for name, part in parts.items()), "sign", "sign of the clear")
    for judge in JUDGES:
        correlations = [correlation(part, judge) for part in parts.values()]
        print_row(judge, *correlations, equal_signs(scores, judge), equal_signs(parts["clear"], judge))
    halves = half_agreement(hits)
    # By Spearman and Brown's formula: no other score correlates more than the root of a score's own reliability.
    ceiling = (2 * halves / (1 + halves)) ** 0.5
    print(f"Tatoeba: {hits.shape[1]} pairs; between halves {halves:.2f}, so that {ceiling:.2f} is the ceiling")


def tatoeba_task(folder: Path, language: str) -> tuple[ParallelSentences, str]:
    """Return the task with the language's pairs with English, and their name."""
    codes = sorted(Language(language).three_letter_codes)
    subsets = [f"{code}-eng" for code in codes if (folder / f"tatoeba.{code}-eng.eng").exists()]
    if not subsets:
        raise SystemExit(f"{folder} has no pairs of {language} ({', '.join(codes)}) with English")
    parameters = {**package_tasks()[TATOEBA], "path": folder, "subsets": subsets[:1]}
    task = build_task(TATOEBA, parameters)
    assert isinstance(task, ParallelSentences)
    return task, subsets[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, score and print."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", required=True, help="folder or hub name of the starting encoder")
    parser.add_argument("--language", required=True, help="code of its Wikipedia")
    parser.add_argument("--dump", type=Path, required=True, help="the language's dump, or a slice of it")
    parser.add_argument("--english", type=Path, required=True, help="an English dump, or a slice of it")
    parser.add_argument("--titles", type=Path, help="table of titles (docs/downloads.md); default: names from CLDR")
    parser.add_argument("--tatoeba", type=Path, required=True, help="folder of Tatoeba's pairs")
    parser.add_argument("--work", type=Path, required=True, help="folder for embeddings and rows")
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS, help="steps after which checkpoints are scored")
    options = parser.parse_args(arguments)
    titles = read_title_pairs(options.language, options.titles)
    audit, corpus = split_corpus(titles, read_linking(options.dump), read_linking(options.english))
    tatoeba, subset = tatoeba_task(options.tatoeba, options.language)
    sides = tatoeba.parallel(subset)
    is_own = audit["side"] == LEFT
    embeddings = Embeddings(
        options.work, [*audit[is_own]["text"], *sides.left], [*audit[~is_own]["text"], *sides.right]
    )
    folder = options.work / AUDIT
    folder.mkdir(exist_ok=True)
    audit.to_parquet(folder / f"{options.language}-{ENGLISH}.parquet")
    judge = build_task(AUDIT, {**package_tasks()[AUDIT], "path": folder, "start": options.encoder})
    names = encode_checkpoints(options.encoder, embeddings, corpus, options.steps)
    scores, hits = score_checkpoints(names, embeddings, (judge, tatoeba))
    scores.reset_index().to_json(options.work / "rows.jsonl", orient="records", lines=True, force_ascii=False)
    print_results(scores, hits)


if __name__ == "__main__":
    main()
