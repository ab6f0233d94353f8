"""Parallel sentences, scored by retrieval of each sentence's translation by cosine (section 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import Files, Score, Task, TaskOptions, Texts, averages
from ease.evaluation.tasks.set_files import SetFiles, Sides, TableOptions, TableTask, read_parquet, required
from ease.similarity.encode import Encode
from ease.similarity.retrieval import parallel_hits

METRIC = "retrieval_accuracy"


def retrieval_score(task: str, subset: str, left: np.ndarray, right: np.ndarray) -> Score:
    """Return the share of translations that are found, in points, averaged over both directions (section 5.3).

    A translation that ties with another sentence is a miss.
    """
    hits = np.array(parallel_hits(left, right))  # (directions, rows)
    value = 100 * float(hits.mean(axis=1).mean())
    return Score(task, subset, METRIC, value, items=mean_items(hits.mean(axis=0)))


class ParallelSet(SetFiles):
    """A file of parallel sentences, or two."""

    sentences: int | None = Field(None, ge=2, description="number of pairs to read, the first ones; null: all")


class ParallelOptions(TableOptions, ParallelSet):
    """Options of parallel sentences."""

    sets: Mapping[str, ParallelSet] = Field({}, description="sets by name, with what differs from the task's own files")
    distinct: bool = Field(
        True,
        description="skip blank and repeated sentences, which would tie with themselves; otherwise blank ones are "
        "refused",
    )


class ParallelSentences(TableTask):
    """Retrieval in both directions."""

    KIND, METRICS = "BitextMining", (METRIC,)
    Options: ClassVar[type[TaskOptions]] = ParallelOptions

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> Sides:
        """Read both sides of a set."""
        rows = self.rows(options, subset, paths)
        if options.distinct:
            pairs: Iterable[tuple[str, ...]] = _distinct((row["left"], row["right"]) for _, row in rows)
        else:
            pairs = (tuple(required(place, row, "left", "right")) for place, row in rows)
        found = list(islice(pairs, options.form(subset).sentences))
        if len(found) < 2:
            raise EaseError(
                f"{' and '.join(map(str, paths))}: {len(found)} pair(s) of sentences, and retrieval needs 2; give "
                "others."
            )
        return Sides(*map(list, zip(*found, strict=True)))

    def parallel(self, options: Any, subset: str) -> Sides:
        """Read both sides of a subset such as `sw-en`, of as many sentences as there are."""
        return self.read(options, subset, options.locate(options.form(subset), subset))

    def texts(self, options: Any, data: Sides) -> Mapping[str, Texts]:
        """Return each sentence with its translation."""
        return {METRIC: list(zip(*data, strict=True))}

    def score(self, encode: Encode, options: Any, subset: str, data: Sides) -> Iterator[Score]:
        """Share of sentences, in points, whose translation is found, averaged over both directions."""
        yield retrieval_score(self.name, subset, *np.split(encode([*data.left, *data.right]), 2))


def _distinct(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    lefts, rights = set[str](), set[str]()
    for left, right in rows:
        if left and right and left not in lefts and right not in rights:
            lefts.add(left)
            rights.add(right)
            yield left, right


class SampleOptions(TaskOptions):
    """The Parquet file with the columns fact_id, language and text, and the options of the search."""

    candidates: int = Field(ge=2, description="sentences per side: the first facts in order of fact_id")
    pivot: str = Field(description="language that all others are matched with")
    languages: tuple[str, ...] | None = Field(
        min_length=1, description="languages to match with the pivot; null: all in the file"
    )

    @model_validator(mode="after")
    def _match_others(self) -> SampleOptions:
        if self.pivot in (self.languages or ()):
            raise EaseError(f"`languages` of sample_parallel contains the pivot {self.pivot}: remove it.")
        return self


class SampleParallel(Task):
    """Retrieval of the sample wiki's facts, which are held out of its dumps and stated in every language.

    Between each language and the pivot, and their average.
    """

    KIND, METRICS, Options = "BitextMining", (METRIC,), SampleOptions

    def files(self, options: SampleOptions) -> Files:
        """Return the one file of all languages."""
        return {"all": (options.path,)}

    def read(self, options: SampleOptions, subset: str, paths: tuple[Path, ...]) -> dict[str, Sides]:
        """Read the first `candidates` facts of each language with their sentences in the pivot, in order of fact_id."""
        facts = read_facts(paths[0], (options.pivot, *(options.languages or ())))
        found = {}
        for language in options.languages or sorted(facts.keys() - {options.pivot}):
            sides = shared_facts(facts, language, options.pivot)
            if len(sides.left) < options.candidates:
                raise EaseError(
                    f"{paths[0]}: {len(sides.left)} facts are stated in both {language} and {options.pivot}, fewer "
                    f"than the {options.candidates} `candidates` of {self.name}: lower that parameter or make a larger "
                    "sample."
                )
            found[language] = Sides(*(side[: options.candidates] for side in sides))
        return found

    def parallel(self, options: SampleOptions, subset: str) -> Sides:
        """Read all facts stated in both languages of a pair such as `ja-en`, in order of fact_id."""
        first, _, second = subset.rpartition("-")
        return shared_facts(read_facts(options.path, (first, second)), first, second)

    def item_texts(self, options: SampleOptions) -> Iterator[tuple[str, Mapping[str, Texts]]]:
        """Yield each pair of languages with the texts of its items."""
        for language, sides in self.read(options, "all", (options.path,)).items():
            yield f"{language}-{options.pivot}", {METRIC: list(zip(*sides, strict=True))}

    def score(self, encode: Encode, options: SampleOptions, subset: str, data: dict[str, Sides]) -> Iterator[Score]:
        """Score each language; the pivot's sentences are encoded once."""
        texts = sorted({text for sides in data.values() for text in sides.right})
        pivots = dict(zip(texts, encode(texts), strict=True))
        scores = []
        for language, sides in data.items():
            right = np.array([pivots[text] for text in sides.right])
            scores.append(retrieval_score(self.name, f"{language}-{options.pivot}", encode(sides.left), right))
        yield from [*scores, *averages(scores, len(scores))]


def read_facts(path: Path, languages: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Read the sentences by language and fact; the languages given must be among them, and any other one."""
    facts: dict[str, dict[str, str]] = {}
    for _, row in read_parquet(path, ["fact_id", "language", "text"]):
        facts.setdefault(row["language"], {})[row["fact_id"]] = row["text"]
    absent = [language for language in languages if language not in facts]
    if absent or not facts.keys() - languages[:1]:
        raise EaseError(
            f"{path}: no sentence in {', '.join(absent) or f'a language but {languages[0]}'}; "
            f"it has {', '.join(sorted(facts)) or 'none at all'}."
        )
    return facts


def shared_facts(facts: Mapping[str, Mapping[str, str]], first: str, second: str) -> Sides:
    """Return the facts stated in two languages, in order of fact_id."""
    shared = sorted(facts[first].keys() & facts[second].keys())
    return Sides(*([facts[code][fact] for fact in shared] for code in (first, second)))
