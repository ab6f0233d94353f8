"""Parallel sentences, scored by retrieval of each sentence's translation by cosine (section 5.3) and by CSLS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.scores import Score, averages
from ease.evaluation.tasks.base import SubsetFiles, Task, TaskOptions, Texts
from ease.evaluation.tasks.set_files import SetFiles, Sides, TableOptions, TableTask, read_parquet_rows, required
from ease.similarity.encode import Encode
from ease.similarity.retrieval import parallel_csls_hits, parallel_hits

RETRIEVAL_ACCURACY = "retrieval_accuracy"
CSLS_ACCURACY = "csls_accuracy"
RETRIEVAL_METRICS = (RETRIEVAL_ACCURACY, CSLS_ACCURACY)


def retrieval_scores(task: Task, subset: str, left: np.ndarray, right: np.ndarray) -> Iterator[Score]:
    """Yield the share of translations that are found, in points, averaged over both directions (section 5.3 of EASE).

    By cosine, and by CSLS, which a search engine can compute from the same embeddings. A translation that ties with
    another sentence is a miss.
    """
    hits_by_metric = {
        RETRIEVAL_ACCURACY: parallel_hits(left, right),
        CSLS_ACCURACY: parallel_csls_hits(left, right),
    }
    for metric, directions in hits_by_metric.items():
        hits = np.array(directions)  # (directions, rows)
        value = 100 * float(hits.mean(axis=1).mean())
        # Both directions of a pair are one item, since they depend on the same two sentences.
        yield task.result(subset, metric, value, items=mean_items(hits.mean(axis=0)))


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

    TYPE = "BitextMining"
    METRICS = RETRIEVAL_METRICS
    Options: ClassVar[type[TaskOptions]] = ParallelOptions
    options: Any

    def read(self, subset: str, paths: tuple[Path, ...]) -> Sides:
        """Read both sides of a set."""
        rows = self.rows(subset, paths)
        if self.options.distinct:
            pairs: Iterable[tuple[str, ...]] = _distinct((row["left"], row["right"]) for _, row in rows)
        else:
            pairs = (tuple(required(place, row, "left", "right")) for place, row in rows)
        first = list(islice(pairs, self.options.form(subset).sentences))
        if len(first) < 2:
            raise EaseError(
                f"{' and '.join(map(str, paths))}: {len(first)} pair(s) of sentences, and retrieval needs 2; give "
                "others."
            )
        return Sides(*map(list, zip(*first, strict=True)))

    def parallel(self, subset: str) -> Sides:
        """Read both sides of a subset such as `sw-en`, of as many sentences as there are."""
        return self.read(subset, self.options.locate(self.options.form(subset), subset))

    def texts(self, data: Sides) -> Mapping[str, Texts]:
        """Return each sentence with its translation."""
        pairs: Texts = list(zip(*data, strict=True))
        return dict.fromkeys(RETRIEVAL_METRICS, pairs)

    def score(self, encode: Encode, subset: str, data: Sides) -> Iterator[Score]:
        """Yield the share of sentences, in points, whose translation is found, by cosine and by CSLS."""
        yield from retrieval_scores(self, subset, *np.split(encode([*data.left, *data.right]), 2))


def _distinct(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of which neither sentence is blank or has occurred on its side."""
    lefts: set[str] = set()
    rights: set[str] = set()
    for left, right in rows:
        if left and right and left not in lefts and right not in rights:
            lefts.add(left)
            rights.add(right)
            yield left, right


class SampleParallelOptions(TaskOptions):
    """The Parquet file with the columns fact_id, language and text, and the options of the search."""

    candidates: int = Field(ge=2, description="sentences per side: the first facts in order of fact_id")
    pivot: str = Field(description="language that all others are matched with")
    languages: tuple[str, ...] | None = Field(
        None, min_length=1, description="languages to match with the pivot; null: all in the file"
    )

    @model_validator(mode="after")
    def _match_others(self) -> SampleParallelOptions:
        if self.pivot in (self.languages or ()):
            raise EaseError(f"`languages` of sample_parallel contains the pivot {self.pivot}: remove it.")
        return self


class SampleParallel(Task):
    """Retrieval of the sample wiki's facts, which are held out of its dumps and stated in every language.

    Between each language and the pivot, and their average.
    """

    TYPE = "BitextMining"
    METRICS = RETRIEVAL_METRICS
    Options = SampleParallelOptions
    options: SampleParallelOptions

    def files(self) -> SubsetFiles:
        """Return the one file of all languages."""
        return {"all": (self.options.path,)}

    def read(self, subset: str, paths: tuple[Path, ...]) -> dict[str, Sides]:
        """Read the first `candidates` facts of each language with their sentences in the pivot, in order of fact_id."""
        options = self.options
        facts = read_facts(paths[0], (options.pivot, *(options.languages or ())))
        first = {}
        for language in options.languages or sorted(facts.keys() - {options.pivot}):
            sides = shared_facts(facts, language, options.pivot)
            if len(sides.left) < options.candidates:
                raise EaseError(
                    f"{paths[0]}: {len(sides.left)} facts are stated in both {language} and {options.pivot}, fewer "
                    f"than the {options.candidates} `candidates` of {self.name}: lower that parameter or make a larger "
                    "sample."
                )
            first[language] = Sides(*(side[: options.candidates] for side in sides))
        return first

    def parallel(self, subset: str) -> Sides:
        """Read all facts stated in both languages of a pair such as `ja-en`, in order of fact_id."""
        first, _, second = subset.rpartition("-")
        return shared_facts(read_facts(self.options.path, (first, second)), first, second)

    def item_texts(self) -> Iterator[tuple[str, Mapping[str, Texts]]]:
        """Yield each pair of languages with the texts of its items."""
        for language, sides in self.read("all", (self.options.path,)).items():
            pairs: Texts = list(zip(*sides, strict=True))
            yield f"{language}-{self.options.pivot}", dict.fromkeys(RETRIEVAL_METRICS, pairs)

    def score(self, encode: Encode, subset: str, data: dict[str, Sides]) -> Iterator[Score]:
        """Score each language; the pivot's sentences are encoded once."""
        texts = sorted({text for sides in data.values() for text in sides.right})
        pivots = dict(zip(texts, encode(texts), strict=True))
        for language, sides in data.items():
            right = np.array([pivots[text] for text in sides.right])
            yield from retrieval_scores(self, f"{language}-{self.options.pivot}", encode(sides.left), right)

    def averages(self, scores: Sequence[Score]) -> list[Score]:
        """Return the mean over the languages; the file decides which there are."""
        return averages(scores, len({score.subset for score in scores}))


def read_facts(path: Path, languages: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Read the sentences by language and fact; the languages given must be among them, and any other one."""
    facts: dict[str, dict[str, str]] = {}
    for _, row in read_parquet_rows(path, ["fact_id", "language", "text"]):
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
