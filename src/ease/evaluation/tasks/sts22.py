"""STS 2022: news articles of ten languages, graded 1 to 4 (Chen et al., 2022), in MTEB's second version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average
from ease.evaluation.tasks.components.graded_pairs import GradedPair, parse_gold, score_graded_sets
from ease.evaluation.tasks.components.labelled_texts import read_objects
from ease.evaluation.tasks.components.options import SubsetOptions

TASK, METRIC = "sts22", "spearman"
KIND = "STS"
SOURCE = (
    "https://huggingface.co/datasets/mteb/sts22-crosslingual-sts, commit d31f33a: test/{ar,de,de-en,...}.jsonl.gz (the "
    "articles are their publishers'; no licence stated: for research)"
)
PAIRS = tuple("ar de de-en de-fr de-pl en es es-en es-it fr fr-pl it pl pl-en ru tr zh zh-en".split())


class Options(SubsetOptions):
    """The folder of ar.jsonl.gz to zh-en.jsonl.gz, and the languages or pairs of languages to score."""


def files(options: Options) -> Files:
    """One file per language or pair, compressed unless only the other one exists."""
    return {pair: (_file(options.path, pair),) for pair in options.chosen(PAIRS)}


def _file(folder: Path, pair: str) -> Path:
    packed, plain = folder / f"{pair}.jsonl.gz", folder / f"{pair}.jsonl"
    return plain if plain.exists() and not packed.exists() else packed


def read_pairs(path: Path) -> list[GradedPair]:
    """Read JSON lines with the fields sentence1, sentence2 and score."""
    pairs = list(_pairs(path))
    if not pairs:
        raise EaseError(f"{path}: contains no pair; fetch it again.")
    return pairs


def _pairs(path: Path) -> Iterator[GradedPair]:
    for place, row in read_objects(path, ("sentence1", "sentence2", "score")):
        left, right = (str(row[name] or "").strip() for name in ("sentence1", "sentence2"))
        if not left or not right:
            raise EaseError(f"{place}: an article is blank; fetch the second version of the file.")
        yield GradedPair(left, right, parse_gold(str(row["score"]), 1, 4, place))


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each language or pair, and the mean."""
    found = available_subsets(files(options))
    scores = score_graded_sets(encode, {pair: read_pairs(path) for pair, (path,) in found.items()}, TASK)
    return [*scores, average(scores, len(PAIRS))]
