"""Multi-SimLex: word pairs graded 0 to 6 in 13 languages, and across them (Vulić et al., 2020).

A pair of languages is read from its own file where that is there. Otherwise its pairs are made from the two languages'
as the authors made theirs (section 6): each concept pair gives two, a word of each language in turn; their grade is the
mean of both languages' grades; they are kept where those differ by no more than a fifth of the scale.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average
from ease.evaluation.tasks.components.graded_pairs import (
    GradedColumns,
    GradedPair,
    check_gold,
    read_graded_pairs,
    score_graded_pairs,
)
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.text_tables import read_records
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

TASK, METRIC = "multisimlex", "spearman"
SOURCE = (
    "https://multisimlex.com/data/: translation.csv and scores.csv; the cross-lingual sets, if wanted, as "
    "ENG-FRA.txt and so on, lines of two words and a grade with tabs between (licence: see https://multisimlex.com)"
)
LOWEST, HIGHEST = 0, 6
LARGEST_DIFFERENCE = (HIGHEST - LOWEST) / 5 + 1e-9
"""Between the grades of a concept pair in two languages; 2.6 and 1.4 differ by that much, which floats round up."""

LANGUAGES = {
    language: Language(language).iso_639_3.upper()
    for language in "en fr zh he et ar ru es pl fi cy sw yue".split()
}
"""The codes of the files by those of the subsets."""

PAIRS = tuple("-".join(pair) for pair in combinations(LANGUAGES, 2))
GROUPS = {
    "monolingual": tuple(LANGUAGES),
    "crosslingual": PAIRS,
    "mirror_bert": tuple("en fr et ar zh ru es pl".split()),
    "mirror_bert_crosslingual": tuple("en-fr en-zh en-he fr-zh fr-he zh-he".split()),
}
"""Subsets that are averaged together; the last two are Tables 1 and 5 of Mirror-BERT."""

CROSSLINGUAL = GradedColumns(left=0, right=1, gold=2, lowest=LOWEST, highest=HIGHEST)
KEY = "ID"


class Options(SubsetOptions):
    """The folder that holds translation.csv, scores.csv and cross-lingual files; languages, and pairs such as en-fr."""


def files(options: Options) -> Files:
    """Words and grades of each language; of a pair of languages its file, else the same as of a language."""
    both = options.path / "translation.csv", options.path / "scores.csv"
    chosen = options.chosen((*LANGUAGES, *PAIRS))
    return {subset: _own_file(options.path, subset) or both for subset in chosen}


def _own_file(folder: Path, subset: str) -> tuple[Path] | None:
    """Find the file of a pair of languages, which may name either first."""
    codes = [LANGUAGES[code] for code in subset.split("-")]
    names = [f"{mark.join(order)}.txt" for mark in "-_" for order in (codes, codes[::-1])]
    found = [folder / name for name in names if len(codes) == 2 and (folder / name).exists()]
    return (found[0],) if found else None


def read_languages(translation: Path, scores: Path, codes: tuple[str, ...]) -> list[list[GradedPair]]:
    """Read the pairs of some languages, those of one concept pair in the same row of all.

    Rows of both files belong together by their `ID` where both have one, otherwise line by line. A pair that lacks a
    word or a grade has NaN for its grade.

    Raises:
        EaseError: Naming the file and line, if a column is missing, an `ID` stands twice or in one file only, a
            grade is no number from 0 to 6, or the files have unlike numbers of rows.
    """
    grades = _keyed(scores, tuple(LANGUAGES[code] for code in codes))
    words = _keyed(translation, tuple(f"{LANGUAGES[code]} {side}" for code in codes for side in (1, 2)))
    if len(words) != len(grades):
        raise EaseError(
            f"{translation} holds {len(words)} word pairs and {scores} {len(grades)}: fetch both again."
        )
    by_line = any(key is None for key, _, _ in (words[0], grades[0]))
    known = {key: (place, row) for key, place, row in grades}
    pairs: list[list[GradedPair]] = [[] for _ in codes]
    for number, (key, place, row) in enumerate(words):
        if not by_line and key not in known:
            raise EaseError(f"{place}: {KEY} {key} is not in {scores}; fetch both again.")
        graded_at, graded = grades[number][1:] if by_line else known[key]
        for code, found in zip(codes, pairs, strict=True):
            name = LANGUAGES[code]
            left, right = row[f"{name} 1"], row[f"{name} 2"]
            gold = _grade(graded[name], f"{graded_at}, column {name}")
            found.append(GradedPair(left, right, gold if left and right else math.nan))
    return pairs


def _keyed(path: Path, columns: tuple[str, ...]) -> list[tuple[str | None, str, dict[str, str]]]:
    """The rows of a file with their places and their `ID`s, if there is such a column."""
    rows = [(row.get(KEY), place, row) for place, row in read_records(path, columns, ",", quoted=True)]
    seen: set[str] = set()
    for key, place, _ in rows:
        if key in seen:
            raise EaseError(f"{place}: {KEY} {key} occurs twice; fetch the file again.")
        if key is not None:
            seen.add(key)
    return rows


def _grade(text: str, place: str) -> float:
    """Read a grade; a blank one is NaN."""
    if not text:
        return math.nan
    try:
        gold = float(text)
    except ValueError:
        raise EaseError(f"{place}: the grade {text!r} is not a number.") from None
    return check_gold(gold, LOWEST, HIGHEST, place)


def cross(first: list[GradedPair], second: list[GradedPair]) -> list[GradedPair]:
    """Make the pairs across two languages from those of each, whose rows are of the same concept pairs."""
    return [
        GradedPair(left, right, (one.gold + other.gold) / 2)
        for one, other in zip(first, second, strict=True)
        # NaN, where a word or a grade is missing, compares false.
        if abs(one.gold - other.gold) <= LARGEST_DIFFERENCE
        for left, right in ((one.left, other.right), (other.left, one.right))
    ]


def read_subset(subset: str, paths: tuple[Path, ...]) -> tuple[list[GradedPair], str]:
    """Read or make the pairs of a subset, and say what a reader of its score must know."""
    if len(paths) == 1:
        return read_graded_pairs(paths[0], CROSSLINGUAL), ""
    translation, scores = paths
    first, *second = read_languages(translation, scores, tuple(subset.split("-")))
    if second:
        return cross(first, *second), "made from the languages' own sets"
    lacking = sum(math.isnan(pair.gold) for pair in first)
    return first, f"pairs without a word or a grade left out: {lacking}" if lacking else ""


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with the grades, for each language and pair of languages, and means of groups.

    Raises:
        EaseError: Naming the file and line, or the subset, that cannot be scored.
    """
    scores = []
    for subset, paths in tqdm(
        available_subsets(files(options)).items(), desc=TASK, unit="set", delay=2, leave=False
    ):
        pairs, note = read_subset(subset, paths)
        scores.append(replace(score_graded_pairs(encode, pairs, TASK, subset), note=note))
    means = []
    for name, subsets in GROUPS.items():
        members = [score for score in scores if score.subset in subsets]
        if members:
            means.append(average(members, len(subsets), f"average_{name}"))
    return [*scores, *means]
