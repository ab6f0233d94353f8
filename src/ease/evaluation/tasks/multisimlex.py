"""Multi-SimLex: word pairs graded 0 to 6 in and across 13 languages (Vulić et al., 2020).

A language pair is read from its own file if that exists. Otherwise its word pairs are made from the two languages'
pairs as by the authors (section 6): each concept pair gives two word pairs with one word of each language. Their grade
is the mean of both languages' grades. They are dropped if these differ by more than a fifth of the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, averages, score_subsets
from ease.evaluation.tasks.components import graded_pairs as graded
from ease.evaluation.tasks.components.graded_pairs import GradedPair
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.text_tables import read_records
from ease.wikimedia.languages import Language

TASK, METRIC = "multisimlex", "spearman"
KIND = "STS"
SOURCE = (
    "https://multisimlex.com/data/: translation.csv and scores.csv; the cross-lingual sets, if wanted, as "
    "ENG-FRA.txt and so on, lines of two words and a grade with tabs between (licence: see https://multisimlex.com)"
)
LOWEST, HIGHEST = 0, 6
LARGEST_DIFFERENCE = (HIGHEST - LOWEST) / 5 + 1e-9
"""Between the grades of a concept pair in two languages, with a tolerance for rounding (2.6 and 1.4 are kept)."""

LANGUAGES = {
    language: Language(language).iso_639_3.upper()
    for language in "en fr zh he et ar ru es pl fi cy sw yue".split()
}
"""Codes of the files by the codes of subsets."""

PAIRS = tuple("-".join(pair) for pair in combinations(LANGUAGES, 2))
GROUPS = {
    "monolingual": tuple(LANGUAGES),
    "crosslingual": PAIRS,
    "mirror_bert": tuple("en fr et ar zh ru es pl".split()),
    "mirror_bert_crosslingual": tuple("en-fr en-zh en-he fr-zh fr-he zh-he".split()),
}
"""Subsets of the averages; the last two are Tables 1 and 5 of Mirror-BERT."""

CROSSLINGUAL = graded.GradedColumns(left=0, right=1, gold=2, lowest=LOWEST, highest=HIGHEST)
KEY = "ID"
Row = tuple[str, dict[str, str]]
"""The place and the fields of a row."""


class Options(SubsetOptions):
    """The folder of translation.csv, scores.csv and cross-lingual files; languages, and pairs such as en-fr."""


def files(options: Options) -> Files:
    """Files of words and grades, or the one file of a language pair."""
    both = options.path / "translation.csv", options.path / "scores.csv"
    chosen = options.chosen((*LANGUAGES, *PAIRS))
    return {subset: _own_file(options.path, subset) or both for subset in chosen}


def _own_file(folder: Path, subset: str) -> tuple[Path] | None:
    """Find the file of a language pair, which may name either language first."""
    codes = [LANGUAGES[code] for code in subset.split("-")]
    names = [f"{mark.join(order)}.txt" for mark in "-_" for order in (codes, codes[::-1])]
    found = [folder / name for name in names if len(codes) == 2 and (folder / name).exists()]
    return (found[0],) if found else None


def read_languages(translation: Path, scores: Path, codes: tuple[str, ...]) -> list[list[GradedPair]]:
    """Read the pairs of several languages; row i of each is of the same concept pair.

    Rows of both files are matched by `ID` if both have that column, else by line. A pair without a word or grade is
    graded NaN.
    """
    sides = [f"{LANGUAGES[code]} {side}" for code in codes for side in (1, 2)]
    words = list(read_records(translation, sides, ",", quoted=True))
    grades = list(read_records(scores, [LANGUAGES[code] for code in codes], ",", quoted=True))
    if len(words) != len(grades):
        raise EaseError(
            f"{translation} holds {len(words)} word pairs and {scores} {len(grades)}: fetch both again."
        )
    if all(KEY in row for _, row in (words[0], grades[0])):
        known = _by_id(grades)
        for key, (place, _) in _by_id(words).items():
            if key not in known:
                raise EaseError(f"{place}: {KEY} {key} is not in {scores}; fetch both again.")
        grades = [known[row[KEY]] for _, row in words]
    pairs: list[list[GradedPair]] = [[] for _ in codes]
    for (_, row), (place, marks) in zip(words, grades, strict=True):
        for name, found in zip((LANGUAGES[code] for code in codes), pairs, strict=True):
            gold = graded.parse_gold(marks[name], LOWEST, HIGHEST, f"{place}, column {name}")
            left, right = row[f"{name} 1"], row[f"{name} 2"]
            found.append(GradedPair(left, right, gold if left and right else math.nan))
    return pairs


def _by_id(rows: list[Row]) -> dict[str, Row]:
    keyed: dict[str, Row] = {}
    for place, row in rows:
        if row[KEY] in keyed:
            raise EaseError(f"{place}: {KEY} {row[KEY]} occurs twice; fetch the file again.")
        keyed[row[KEY]] = place, row
    return keyed


def cross(first: list[GradedPair], second: list[GradedPair]) -> list[GradedPair]:
    """Make cross-lingual pairs from the pairs of two languages in the same order of concept pairs."""
    return [
        GradedPair(left, right, (one.gold + other.gold) / 2)
        for one, other in zip(first, second, strict=True)
        # False for NaN, that is, if a word or a grade is missing.
        if abs(one.gold - other.gold) <= LARGEST_DIFFERENCE
        for left, right in ((one.left, other.right), (other.left, one.right))
    ]


def read_subset(subset: str, paths: tuple[Path, ...]) -> tuple[list[GradedPair], str]:
    """Read or make the pairs of a subset, with a note for its score."""
    if len(paths) == 1:
        return graded.read_graded_pairs(paths[0], CROSSLINGUAL), ""
    translation, scores = paths
    first, *second = read_languages(translation, scores, tuple(subset.split("-")))
    if second:
        return cross(first, *second), "made from the languages' own sets"
    lacking = sum(math.isnan(pair.gold) for pair in first)
    return first, f"pairs without a word or a grade skipped: {lacking}" if lacking else ""


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each language and language pair, and means of groups."""

    def score(subset: str, paths: tuple[Path, ...]) -> Iterator[Score]:
        pairs, note = read_subset(subset, paths)
        for one in graded.score_graded_sets(encode, {subset: pairs}, TASK):
            yield replace(one, note=note)

    scores = score_subsets(TASK, files(options), score)
    return [*scores, *averages(scores, 0, GROUPS)]
