"""Test texts among training sentences: exact ones, and near duplicates by runs of words and by MinHash.

Texts are normalised (NFKC, case folded, punctuation and white space dropped) and cut into tokens: words, and each
character of scripts that are written without spaces. DuckDB or Spark passes the training sentences in batches to a
function that keeps those that may match a test text; only these are compared in full.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import regex
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.resampling import FEWEST_ITEMS, interval, resample
from ease.evaluation.score_cache import read_items
from ease.evaluation.scores import AVERAGE
from ease.evaluation.tasks.base import Task, Texts
from ease.lazy import ibis, pd
from ease.options import StrictModel

if TYPE_CHECKING:
    import ibis.expr.types as ir

logger = logging.getLogger(__name__)

SENTENCE = "sentence"
EXACT, NGRAM, MINHASH = KINDS = ("exact", "n-gram", "minhash")
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Ranges of Thai, Lao, Tibetan, Myanmar, Khmer, Japanese kana and Chinese characters."""
TOKEN = re.compile(rf"[{UNSPACED}]|[^{UNSPACED}\s]+")
ALONE = re.compile(rf"[{UNSPACED}]")
WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")  # with the marks of many scripts, which Python's words lack
SHINGLE, UNSPACED_SHINGLE = 5, 3  # characters of an n-gram; where there are no spaces
BANDS, HASHES, SEED = 20, 120, 42  # MinHash compares a pair if all hashes of one of the bands are equal

Row = Mapping[str, Any]


class ContaminationOptions(StrictModel):
    """Thresholds for near duplicates."""

    words: int = Field(13, ge=2, description="words of a run that a test text shares with a training sentence")
    characters: int = Field(30, ge=2, description="characters of such a run where a language writes without spaces")
    similarity: float = Field(
        0.8, gt=0, le=1, description="minimum Jaccard similarity of the sets of character n-grams"
    )


class Match(NamedTuple):
    """A training sentence that contains or nearly equals a test text."""

    kind: str
    similarity: float  # Jaccard similarity of the character n-grams
    sentence: str


class Prepared(NamedTuple):
    """A normalised text: its tokens in one string, and its runs of tokens and of characters."""

    text: str
    runs: list[str]
    shingles: list[str]


def prepare(text: str | None, options: ContaminationOptions) -> Prepared:
    """Normalise a text."""
    words = " ".join(WORD.findall(unicodedata.normalize("NFKC", text or "").casefold()))
    tokens = TOKEN.findall(words) if ALONE.search(words) else words.split()
    alone = sum(len(token) == 1 and token >= "\u0e00" for token in tokens)
    run, shingle = options.words, SHINGLE
    if 2 * alone > len(tokens):
        run, shingle = options.characters, UNSPACED_SHINGLE
    return Prepared(
        " ".join(tokens),
        [" ".join(tokens[at : at + run]) for at in range(len(tokens) - run + 1)],
        [words[at : at + shingle] for at in range(len(words) - shingle + 1)],
    )


class TestIndex:
    """Index of test texts; finds training sentences that contain or nearly equal one."""

    __test__ = False  # no class of tests

    def __init__(self, texts: Sequence[str], options: ContaminationOptions) -> None:
        """Prepare the test texts."""
        from rensa import RMinHashLSH

        self.options, self.tests = options, [prepare(text, options) for text in texts]
        self.whole, self.runs = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for row, test in enumerate(self.tests):
            if test.text:
                self.whole[test.text].append(row)
            for run in test.runs:
                self.runs[run].append(row)
        self.similar = RMinHashLSH(options.similarity, HASHES, BANDS)
        known = [row for row, test in enumerate(self.tests) if test.shingles]
        hashes = self._hashes([self.tests[row] for row in known])
        self.similar.insert_pairs(list(zip(known, hashes, strict=True)))

    def _hashes(self, texts: Sequence[Prepared]) -> list[Any]:
        from rensa import RMinHash

        return RMinHash.from_token_sets([text.shingles for text in texts], HASHES, SEED)

    def candidates(self, sentences: Sequence[Prepared]) -> Iterator[dict[int, str]]:
        """Yield each sentence's test texts, by row, with the kind of match; similarities are not compared yet."""
        near = self.similar.query_all(self._hashes(sentences)) if sentences else []
        for sentence, similar in zip(sentences, near, strict=True):
            found = dict.fromkeys(similar if sentence.shingles else (), MINHASH)
            found |= {row: NGRAM for run in sentence.runs for row in self.runs.get(run, ())}
            yield found | dict.fromkeys(self.whole.get(sentence.text, ()), EXACT)

    def matches(self, sentences: Sequence[str | None]) -> Iterator[tuple[int, Match]]:
        """Yield the row of a test text and its match for each sentence that contains or nearly equals it."""
        prepared = [prepare(sentence, self.options) for sentence in sentences]
        for sentence, own, found in zip(sentences, prepared, self.candidates(prepared), strict=True):
            for row, kind in found.items():
                shared, every = set(own.shingles), set(self.tests[row].shingles)
                similarity = len(shared & every) / len(shared | every) if shared or every else 0.0
                if kind != MINHASH or similarity >= self.options.similarity:
                    yield row, Match(kind, 1.0 if kind == EXACT else similarity, sentence or "")


def best_matches(index: TestIndex, batches: Iterable[Sequence[str | None]]) -> dict[int, tuple[Match, int]]:
    """Return the best match of each test text that has one, and how many sentences match it."""

    def rank(match: Match) -> tuple[int, float, str]:
        return KINDS.index(match.kind), -match.similarity, match.sentence

    best: dict[int, tuple[Match, int]] = {}
    for sentences in batches:
        for text, match in index.matches(sentences):
            known, count = best.get(text, (match, 0))
            best[text] = min(known, match, key=rank), count + 1
    return best


@cache
def _index(texts: tuple[str, ...], options: ContaminationOptions) -> TestIndex:
    """Return the index of test texts; a worker of an engine makes it once."""
    return TestIndex(texts, options)


def find_matches(
    texts: Sequence[str], training: ir.Table, options: ContaminationOptions
) -> dict[str, tuple[Match, int]]:
    """Return the best match of each distinct test text among training sentences, and how many sentences match it.

    `training` is a table of DuckDB or Spark with the column `sentence`.
    """
    if not texts:
        return {}
    given = tuple(texts)

    def flags(sentences: Sequence[str | None]) -> list[bool]:
        found = _index(given, options).candidates([prepare(sentence, options) for sentence in sentences])
        return [bool(rows) for rows in found]

    about = {"name": ibis.util.gen_name("may_match"), "signature": (("string",), "boolean")}
    if training.get_backend().name == "duckdb":
        flag = ibis.udf.scalar.pyarrow(lambda column: pa.array(flags(column.to_pylist()), pa.bool_()), **about)
    else:  # Spark passes single rows to functions of PyArrow, and batches to those of pandas.
        flag = ibis.udf.scalar.pandas(lambda column: pd.Series(flags(column.fillna("").tolist())), **about)
    likely = training.select(SENTENCE).filter(flag(training[SENTENCE]))
    batches = (batch.column(0).to_pylist() for batch in likely.to_pyarrow_batches())
    matches = best_matches(_index(given, options), batches)
    return {given[text]: match for text, match in matches.items()}


class TaskTexts(NamedTuple):
    """The texts of the items of a score, in order."""

    task: str
    subset: str
    metric: str
    texts: Texts

    def contaminated(self, matches: Mapping[str, Any]) -> list[int]:
        """Return the rows of the items that have a text among the training sentences."""
        return [row for row, item in enumerate(self.texts) if any(text in matches for text in item)]


def read_task_texts(tasks: Iterable[Task]) -> tuple[list[TaskTexts], dict[str, str]]:
    """Return the texts of each score's items, and for each task that cannot be read the reason."""
    readable: list[TaskTexts] = []
    failed = {}
    for task in tasks:
        try:
            task_texts = [
                TaskTexts(task.name, subset, metric, texts)
                for subset, by_metric in task.item_texts()
                for metric, texts in by_metric.items()
                if texts
            ]
            if not task_texts:
                raise EaseError("no item of this task contributes alone to its score")
            readable += task_texts
        except EaseError as error:
            failed[task.name] = str(error)
    return readable, failed


def clean_scores(scores: Iterable[Row], contaminated: Iterable[Row], cache: Path) -> list[dict[str, Any]]:
    """Return the scores without the contaminated items, and the averages of tasks that have several subsets.

    `scores` have the version of their `data` and the file, in the folder `cache`, of their `items`; those of other data
    or without items have no row. `contaminated` has of each test set its number of `items`, the contaminated `rows` and
    the version of the `data`. `low` and `high` are the clean score's 95% interval.
    """
    known = {(row["task"], row["subset"], row["metric"]): row for row in contaminated}
    rows: list[dict[str, Any]] = []
    for score in scores:
        found = known.get((score["task"], score["subset"], score.get("metric")))
        if found is None or not score.get("items") or not (file := cache / score["items"]).is_file():
            continue
        items = read_items(file).get((score["subset"], score["metric"]))
        if items is None or found["data"] != score["data"] or len(items) != found["items"]:
            logger.warning(
                "%s %s of %s was scored on other data: run `evaluate` again",
                score["task"],
                score["subset"],
                score["method"],
            )
            continue
        clean = items.take(np.setdiff1d(np.arange(len(items)), found["rows"]))
        row = {name: score[name] for name in ("method", "model", "task", "subset", "metric")}
        row |= {"items": len(items), "contaminated": len(found["rows"])}
        row |= {"whole": score["value"], "clean": clean.value(), "difference": clean.value() - score["value"]}
        row |= {"low": None, "high": None}
        if len(clean) >= FEWEST_ITEMS:
            row |= interval(resample(clean, f"{score['task']}/{score['subset']}"))._asdict()
        rows.append(row)
    keys = ["method", "model", "task", "metric"]
    averages = []
    for key, own in pd.DataFrame(rows).groupby(keys, sort=False) if rows else ():
        own = own.dropna(subset=["clean"])  # a subset without a clean item has no clean score to compare
        if len(own) > 1:
            sums = own[["items", "contaminated"]].sum().to_dict()
            means = own[["whole", "clean"]].mean().to_dict()
            about = dict(zip(keys, key, strict=True))
            averages.append(
                {**about, "subset": AVERAGE, **sums, **means, "difference": means["clean"] - means["whole"]}
            )
    return [*rows, *averages]
