"""Multi-SimLex: word pairs graded 0 to 6 in and across 13 languages (Vulić et al., 2020).

A language pair is read from its own file if that exists. Otherwise its word pairs are made from the two languages'
pairs as by the authors (section 6): each concept pair gives two word pairs with one word of each language. Their grade
is the mean of both languages' grades. They are dropped if these differ by more than a fifth of the scale.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import SubsetFiles, SubsetOptions
from ease.evaluation.tasks.graded_pairs import SPEARMAN, GradedPair, GradedPairs, parse_gold
from ease.evaluation.tasks.set_files import SetFiles, read_fields
from ease.io.text_tables import read_records
from ease.similarity.encode import Encode
from ease.wikimedia.languages import Language

LOWEST = 0
HIGHEST = 6
LARGEST_DIFFERENCE = (HIGHEST - LOWEST) / 5 + 1e-9
"""Between the grades of a concept pair in two languages, with a tolerance for rounding (2.6 and 1.4 are kept)."""

LANGUAGES = {
    language: Language(language).iso_639_3.upper() for language in "en fr zh he et ar ru es pl fi cy sw yue".split()
}
"""Codes of the files by the codes of subsets."""

LANGUAGE_PAIRS = tuple("-".join(pair) for pair in combinations(LANGUAGES, 2))
GROUPS = {
    "monolingual": tuple(LANGUAGES),
    "crosslingual": LANGUAGE_PAIRS,
    "mirror_bert": tuple("en fr et ar zh ru es pl".split()),
    "mirror_bert_crosslingual": tuple("en-fr en-zh en-he fr-zh fr-he zh-he".split()),
}
"""Subsets of the averages; the last two are Tables 1 and 5 of Mirror-BERT."""

KEY = "ID"


class MultiSimLex(GradedPairs):
    """Spearman's correlation for each language and language pair, and means of groups."""

    METRICS = (SPEARMAN,)
    Options = SubsetOptions
    options: SubsetOptions

    @property
    def groups(self) -> Mapping[str, Collection[str]]:
        """The languages, the language pairs, and those of the paper's tables."""
        return GROUPS

    def files(self) -> SubsetFiles:
        """Return the files of words and grades, or the one file of a language pair."""
        folder = self.options.path
        group_files = (folder / "translation.csv", folder / "scores.csv")
        subsets = self.options.select((*LANGUAGES, *LANGUAGE_PAIRS))
        return {subset: _pair_file(folder, subset) or group_files for subset in subsets}

    def read(self, subset: str, paths: tuple[Path, ...]) -> list[list[GradedPair]]:
        """Read or make the pairs of a subset."""
        if len(paths) == 1:
            rows = read_fields(paths, {"left": 1, "right": 2, "score": 3}, SetFiles(format="tsv"))
            graded = ((row, parse_gold(row["score"], LOWEST, HIGHEST, place)) for place, row in rows)
            return [[GradedPair(row["left"], row["right"], gold) for row, gold in graded]]
        first, *second = read_languages(paths[0], paths[1], tuple(subset.split("-")))
        return [cross(first, *second) if second else first]

    def complete_count(self) -> int:
        """Return 0: there are means of groups only."""
        return 0

    def score(self, encode: Encode, subset: str, data: list[list[GradedPair]]) -> Iterator[Score]:
        """Score a subset, with a note on how its pairs were made."""
        note = self._note(subset, data[0])
        for score in super().score(encode, subset, data):
            yield replace(score, note=note)

    def _note(self, subset: str, pairs: list[GradedPair]) -> str:
        if "-" in subset:
            return "" if _pair_file(self.options.path, subset) else "made from the languages' own sets"
        ungraded = sum(math.isnan(pair.gold) for pair in pairs)
        return f"pairs without a word or a grade skipped: {ungraded}" if ungraded else ""


def _pair_file(folder: Path, subset: str) -> tuple[Path] | None:
    """Find the file of a language pair, which may name either language first."""
    codes = [LANGUAGES[code] for code in subset.split("-")]
    names = [f"{mark.join(order)}.txt" for mark in "-_" for order in (codes, codes[::-1])]
    for name in names:
        if len(codes) == 2 and (folder / name).exists():
            return (folder / name,)
    return None


def read_languages(translation: Path, scores: Path, codes: tuple[str, ...]) -> list[list[GradedPair]]:
    """Read the pairs of several languages; row i of each is of the same concept pair.

    Rows of both files are matched by `ID` if both have that column, else by line. A pair without a word or grade is
    graded NaN.
    """
    sides = [f"{LANGUAGES[code]} {side}" for code in codes for side in (1, 2)]
    words = list(read_records(translation, sides, ",", quoted=True))
    grades = list(read_records(scores, [LANGUAGES[code] for code in codes], ",", quoted=True))
    if len(words) != len(grades):
        raise EaseError(f"{translation} holds {len(words)} word pairs and {scores} {len(grades)}: fetch both again.")
    if all(KEY in row for _, row in (words[0], grades[0])):
        by_key = {row[KEY]: (place, row) for place, row in grades}
        counts = Counter(row[KEY] for _, row in words)
        for place, row in words:
            if row[KEY] not in by_key or counts[row[KEY]] > 1:
                raise EaseError(f"{place}: {KEY} {row[KEY]} is not in {scores}, or occurs twice; fetch both again.")
        grades = [by_key[row[KEY]] for _, row in words]
    pairs: list[list[GradedPair]] = [[] for _ in codes]
    for (_, row), (place, marks) in zip(words, grades, strict=True):
        for code, language_pairs in zip(codes, pairs, strict=True):
            name = LANGUAGES[code]
            gold = parse_gold(marks[name], LOWEST, HIGHEST, f"{place}, column {name}")
            left = row[f"{name} 1"]
            right = row[f"{name} 2"]
            language_pairs.append(GradedPair(left, right, gold if left and right else math.nan))
    return pairs


def cross(first: list[GradedPair], second: list[GradedPair]) -> list[GradedPair]:
    """Make cross-lingual pairs from the pairs of two languages in the same order of concept pairs."""
    return [
        GradedPair(left, right, (pair.gold + translated.gold) / 2)
        for pair, translated in zip(first, second, strict=True)
        # False for NaN, that is, if a word or a grade is missing.
        if abs(pair.gold - translated.gold) <= LARGEST_DIFFERENCE
        for left, right in ((pair.left, translated.right), (translated.left, pair.right))
    ]
