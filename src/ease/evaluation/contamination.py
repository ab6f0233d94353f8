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

SENTENCE_COLUMN = "sentence"
EXACT = "exact"
NGRAM = "n-gram"
MINHASH = "minhash"
MATCH_KINDS = (EXACT, NGRAM, MINHASH)
"""Kinds of matches, the surest first"""
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Ranges of Thai, Lao, Tibetan, Myanmar, Khmer, Japanese kana and Chinese characters."""
TOKEN = re.compile(rf"[{UNSPACED}]|[^{UNSPACED}\s]+")
UNSPACED_CHARACTER = re.compile(rf"[{UNSPACED}]")
SHINGLE_LENGTH = 5
"""Characters of an n-gram"""
UNSPACED_SHINGLE_LENGTH = 3
"""Characters of an n-gram of a text without spaces"""
BANDS = 20
HASHES = 120
"""MinHash compares a pair if all hashes of one of the bands, six each, are equal."""
HASH_SEED = 42

ScoreRow = Mapping[str, Any]


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
    similarity: float
    """Jaccard similarity of the character n-grams"""
    sentence: str


class NormalizedText(NamedTuple):
    """A normalised text: its tokens in one string, and its runs of tokens and of characters."""

    text: str
    runs: list[str]
    shingles: list[str]


@cache
def _word_pattern() -> Any:
    """Return the pattern of a word with the marks of many scripts, which Python's own words lack."""
    import regex  # not at each start

    return regex.compile(r"[\p{L}\p{N}\p{M}]+")


def normalize(text: str | None, options: ContaminationOptions) -> NormalizedText:
    """Normalise a text, and cut it into runs of tokens and of characters."""
    words = " ".join(_word_pattern().findall(unicodedata.normalize("NFKC", text or "").casefold()))
    # The pattern of tokens is slow, and most texts have spaces.
    tokens = TOKEN.findall(words) if UNSPACED_CHARACTER.search(words) else words.split()
    unspaced = sum(len(token) == 1 and token >= "\u0e00" for token in tokens)
    run_length = options.words
    shingle_length = SHINGLE_LENGTH
    if 2 * unspaced > len(tokens):
        run_length = options.characters
        shingle_length = UNSPACED_SHINGLE_LENGTH
    runs = [" ".join(tokens[start : start + run_length]) for start in range(len(tokens) - run_length + 1)]
    shingles = [words[start : start + shingle_length] for start in range(len(words) - shingle_length + 1)]
    return NormalizedText(" ".join(tokens), runs, shingles)


class TestIndex:
    """Index of test texts; finds training sentences that contain or nearly equal one."""

    __test__ = False  # pytest would take it for a class of tests

    def __init__(self, texts: Sequence[str], options: ContaminationOptions) -> None:
        """Prepare the test texts."""
        from rensa import RMinHashLSH

        self.options = options
        self.tests = [normalize(text, options) for text in texts]
        self.rows_by_text: dict[str, list[int]] = defaultdict(list)
        self.rows_by_run: dict[str, list[int]] = defaultdict(list)
        for row, test in enumerate(self.tests):
            if test.text:
                self.rows_by_text[test.text].append(row)
            for run in test.runs:
                self.rows_by_run[run].append(row)
        self.similar = RMinHashLSH(options.similarity, HASHES, BANDS)
        # Texts shorter than an n-gram have no n-grams, so all of them would have equal hashes.
        hashed = [row for row, test in enumerate(self.tests) if test.shingles]
        hashes = self._hashes([self.tests[row] for row in hashed])
        self.similar.insert_pairs(list(zip(hashed, hashes, strict=True)))

    def _hashes(self, texts: Sequence[NormalizedText]) -> list[Any]:
        from rensa import RMinHash

        return RMinHash.from_token_sets([text.shingles for text in texts], HASHES, HASH_SEED)

    def candidates(self, sentences: Sequence[NormalizedText]) -> Iterator[dict[int, str]]:
        """Yield each sentence's test texts, by row, with the kind of match; similarities are not compared yet."""
        similar_rows = self.similar.query_all(self._hashes(sentences)) if sentences else []
        for sentence, similar in zip(sentences, similar_rows, strict=True):
            # Surer kinds replace others.
            kinds = dict.fromkeys(similar if sentence.shingles else (), MINHASH)
            kinds |= {row: NGRAM for run in sentence.runs for row in self.rows_by_run.get(run, ())}
            yield kinds | dict.fromkeys(self.rows_by_text.get(sentence.text, ()), EXACT)

    def matches(self, sentences: Sequence[str | None]) -> Iterator[tuple[int, Match]]:
        """Yield the row of a test text and its match for each sentence that contains or nearly equals it."""
        normalized = [normalize(sentence, self.options) for sentence in sentences]
        for sentence, text, kinds in zip(sentences, normalized, self.candidates(normalized), strict=True):
            for row, kind in kinds.items():
                similarity = 1.0 if kind == EXACT else _jaccard(text.shingles, self.tests[row].shingles)
                if kind != MINHASH or similarity >= self.options.similarity:
                    yield row, Match(kind, similarity, sentence or "")


def _jaccard(left: Iterable[str], right: Iterable[str]) -> float:
    """Return how many of two sets' elements both have: 0 to 1."""
    first = set(left)
    second = set(right)
    union = first | second
    return len(first & second) / len(union) if union else 0.0


def best_matches(index: TestIndex, batches: Iterable[Sequence[str | None]]) -> dict[int, tuple[Match, int]]:
    """Return the best match of each test text that has one, and how many sentences match it."""

    def rank(match: Match) -> tuple[int, float, str]:
        # The sentence decides last, so that the result does not depend on the order of the sentences.
        return MATCH_KINDS.index(match.kind), -match.similarity, match.sentence

    best: dict[int, tuple[Match, int]] = {}
    for sentences in batches:
        for row, match in index.matches(sentences):
            previous, count = best.get(row, (match, 0))
            best[row] = min(previous, match, key=rank), count + 1
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
    tests = tuple(texts)

    def flags(sentences: Sequence[str | None]) -> list[bool]:
        candidates = _index(tests, options).candidates([normalize(sentence, options) for sentence in sentences])
        return [bool(rows) for rows in candidates]

    # The engine drops the sentences without a candidate, so that few of them reach this process.
    signature = {"name": ibis.util.gen_name("may_match"), "signature": (("string",), "boolean")}
    if training.get_backend().name == "duckdb":
        flag = ibis.udf.scalar.pyarrow(lambda column: pa.array(flags(column.to_pylist()), pa.bool_()), **signature)
    else:  # Spark passes single rows to functions of PyArrow, and batches to those of pandas.
        flag = ibis.udf.scalar.pandas(lambda column: pd.Series(flags(column.fillna("").tolist())), **signature)
    likely = training.select(SENTENCE_COLUMN).filter(flag(training[SENTENCE_COLUMN]))
    batches = (batch.column(0).to_pylist() for batch in likely.to_pyarrow_batches())
    matches = best_matches(_index(tests, options), batches)
    return {tests[row]: match for row, match in matches.items()}


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


def clean_scores(scores: Iterable[ScoreRow], contaminated: Iterable[ScoreRow], cache: Path) -> list[dict[str, Any]]:
    """Return the scores without the contaminated items, and the averages of tasks that have several subsets.

    Args:
        scores: Rows of scores with the version of their `data` and the file, in the folder `cache`, of their `items`;
            those of other data or without items have no row in the result.
        contaminated: For each test set its number of `items`, the contaminated `rows` and the version of the `data`.
        cache: The folder of the files of items.

    Returns:
        Rows with the score of the `whole` set, the `clean` score and its 95% interval, `low` and `high`.
    """
    by_score = {(row["task"], row["subset"], row["metric"]): row for row in contaminated}
    rows = []
    for score in scores:
        test_set = by_score.get((score["task"], score["subset"], score.get("metric")))
        if test_set is not None and score.get("items"):
            row = _clean_score(score, test_set, cache / score["items"])
            if row is not None:
                rows.append(row)
    return [*rows, *_clean_averages(rows)]


def _clean_score(score: ScoreRow, test_set: ScoreRow, file: Path) -> dict[str, Any] | None:
    """Return the row of one score; None if its items are gone or of other data."""
    if not file.is_file():
        return None
    items = read_items(file).get((score["subset"], score["metric"]))
    if items is None or test_set["data"] != score["data"] or len(items) != test_set["items"]:
        logger.warning(
            "%s %s of %s was scored on other data: run `evaluate` again",
            score["task"],
            score["subset"],
            score["method"],
        )
        return None
    clean = items.take(np.setdiff1d(np.arange(len(items)), test_set["rows"]))
    row = {name: score[name] for name in ("method", "model", "task", "subset", "metric")}
    row |= {"items": len(items), "contaminated": len(test_set["rows"])}
    row |= {"whole": score["value"], "clean": clean.value(), "difference": clean.value() - score["value"]}
    row |= {"low": None, "high": None}
    if len(clean) >= FEWEST_ITEMS:
        row |= interval(resample(clean, f"{score['task']}/{score['subset']}"))._asdict()
    return row


def _clean_averages(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means over the subsets of each task that has several."""
    if not rows:
        return []
    keys = ["method", "model", "task", "metric"]
    averages = []
    for key, subsets in pd.DataFrame(rows).groupby(keys, sort=False):
        # A subset without a clean item has no clean score to compare.
        scored = subsets.dropna(subset=["clean"])
        if len(scored) > 1:
            sums = scored[["items", "contaminated"]].sum().to_dict()
            means = scored[["whole", "clean"]].mean().to_dict()
            row = dict(zip(keys, key, strict=True)) | {"subset": AVERAGE} | sums | means
            averages.append({**row, "difference": means["clean"] - means["whole"]})
    return averages
