"""Bilingual lexicon induction: retrieval of words' translations (Glavaš et al., 2019).

VecMap maps both languages into one space, learnt from the training dictionary, and CSLS retrieves the test words'
translations (Mirror-BERT, section 3). Words are encoded singly, as written in the files, by one encoder or by one for
each language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import Texts
from ease.evaluation.tasks.set_files import SetFiles, TableOptions, TableTask, read_pairs
from ease.io.text_tables import read_lines
from ease.similarity.encode import Encode, encode_of
from ease.similarity.retrieval import common_space, csls_ranks
from ease.similarity.vectors import unit_or_zero_rows, unit_rows

METRICS = ("accuracy_at_1", "mean_reciprocal_rank")
LANGUAGE_PLACEHOLDER = "{language}"
VECTORS = ".vec"
"""In the names of fastText's files of word vectors, such as cc.en.300.vec.gz"""

WordPairs = list[tuple[str, str]]


class LexiconOptions(TableOptions):
    """Training and test dictionary of each pair, and both languages' vocabularies."""

    training: Literal["500", "1k", "3k", "5k"] = Field(description="training pairs of words for the maps")
    neighbours: int = Field(ge=1, description="neighbours of CSLS (k)")
    vocabulary: str | None = Field(
        None,
        description="file below `path` of a language's candidate words, one per line, the most frequent first, such as "
        "vocabulary.{language}.txt, or fastText's cc.{language}.300.vec.gz; null: the words of both dictionaries",
    )
    vocabulary_size: int = Field(ge=1, description="maximum number of words of each such file")

    def locate(self, form: SetFiles, subset: str) -> tuple[Path, ...]:
        """Return the dictionaries, then the vocabularies if they are configured."""
        languages = subset.split("-") if self.vocabulary else ()
        names = [str(self.vocabulary).replace(LANGUAGE_PLACEHOLDER, code) for code in languages]
        return (*super().locate(form, subset), *(self.path / name for name in names))

    def fill(self, name: str, subset: str, part: str = "") -> str:
        """Return the name of a file with the pair and the size of the training dictionary in it."""
        return super().fill(name.replace("{training}", self.training), subset, part)

    @field_validator("vocabulary")
    @classmethod
    def _names_the_language(cls, name: str | None) -> str | None:
        if name is not None and LANGUAGE_PLACEHOLDER not in name:
            raise EaseError(f"vocabulary {name!r}: write {LANGUAGE_PLACEHOLDER} in place of the language's code.")
        return name


class Vocabulary(NamedTuple):
    """The rows of the words of one language: the first `candidates` are candidates, the others only train the maps."""

    rows: dict[str, int]
    candidates: int


class Lexicons(NamedTuple):
    """The dictionaries of a pair of languages, the words of each, and the numbers of the source words to test."""

    training: WordPairs
    test: WordPairs
    sides: list[Vocabulary]
    queries: dict[str, int]


class LexiconInduction(TableTask):
    """Accuracy @1 and mean reciprocal rank over the distinct source words of each pair's test dictionary."""

    TYPE = "BitextMining"
    METRICS = METRICS
    Options = LexiconOptions
    options: LexiconOptions

    def read(self, subset: str, paths: tuple[Path, ...]) -> Lexicons:
        """Read the dictionaries and the vocabularies of a pair."""
        training, test = (
            [(word, translation) for _, word, translation in read_pairs(path, "two words")] for path in paths[:2]
        )
        vocabularies = [read_vocabulary(path, self.options.vocabulary_size) for path in paths[2:]]
        sides = []
        for trained, tested, vocabulary in zip(
            zip(*training, strict=True), zip(*test, strict=True), vocabularies or (None, None), strict=True
        ):
            # Without a vocabulary, the words of both dictionaries are candidates.
            candidates = dict.fromkeys([*(vocabulary or trained), *tested])
            sides.append(Vocabulary(numbered([*candidates, *trained]), len(candidates)))
        return Lexicons(training, test, sides, numbered(word for word, _ in test))

    def texts(self, data: Lexicons) -> Mapping[str, Texts]:
        """Return each source word."""
        return {metric: [(word,) for word in data.queries] for metric in METRICS}

    def score(self, encode: Encode, subset: str, data: Lexicons) -> Iterator[Score]:
        """Map both languages into one space, and rank the translations of each source word."""
        source, target = data.sides
        units = [
            unit_rows(encode_of(encode, language)(list(side.rows)), center=True)
            for language, side in zip(subset.split("-"), data.sides, strict=True)
        ]
        maps = common_space(
            units[0][[source.rows[word] for word, _ in data.training]],
            units[1][[target.rows[translation] for _, translation in data.training]],
        )
        left, right = (
            unit_or_zero_rows(rows @ matrix.astype(np.float32)) for rows, matrix in zip(units, maps, strict=True)
        )
        gold = [(data.queries[word], target.rows[translation]) for word, translation in data.test]
        ranks = csls_ranks(
            left[[source.rows[word] for word in data.queries]],
            right[: target.candidates],
            left[: source.candidates],
            np.array(gold, dtype=np.int64),
            self.options.neighbours,
            progress=f"{self.name} {subset}",
        )
        for metric, values in zip(METRICS, (ranks == 1, 1 / ranks), strict=True):
            yield self.result(subset, metric, 100 * float(np.mean(values)), items=mean_items(values))


def read_vocabulary(path: Path, size: int) -> list[str]:
    """Read the first `size` words of a file of one word a line, or of word vectors (`.vec`); skip blank lines."""
    vectors = VECTORS in path.name
    stripped = (
        (line.partition(" ")[0] if vectors else line).strip()
        for number, line in read_lines(path)
        if not (vectors and number == 1)  # how many words and dimensions there are
    )
    words = list(islice(filter(None, stripped), size))
    if not words:
        raise EaseError(f"{path}: contains no word; write one per line.")
    return words


def numbered(words: Iterable[str]) -> dict[str, int]:
    """Return the row of each distinct word, in order."""
    return {word: row for row, word in enumerate(dict.fromkeys(words))}
