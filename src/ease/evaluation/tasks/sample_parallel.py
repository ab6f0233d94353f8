"""Retrieval of the sample wiki's parallel sentences: facts held out of its dumps, stated in every language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import Files, Score, SubsetTask, TaskOptions, Texts, averages
from ease.evaluation.tasks.parallel_sentences import METRIC, retrieval_score
from ease.evaluation.tasks.set_files import Sides, read_parquet

Facts = dict[str, dict[str, str]]
"""Sentences by language and fact."""


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


class SampleParallel(SubsetTask):
    """Retrieval accuracy between each language and the pivot, both directions averaged, and their average."""

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

    def score(
        self, encode: Encode, options: SampleOptions, subset: str, data: dict[str, Sides]
    ) -> Iterator[Score]:
        """Score each language; the pivot's sentences are encoded once."""
        pivots = {
            text: row for row, text in enumerate(sorted({t for sides in data.values() for t in sides.right}))
        }
        embeddings = encode(list(pivots))
        scores = []
        for language, sides in data.items():
            right = embeddings[[pivots[text] for text in sides.right]]
            pair = f"{language}-{options.pivot}"
            scores.append(retrieval_score(self.name, pair, encode(sides.left), right))
        yield from [*scores, *averages(scores, len(scores))]


TASK = SampleParallel


def read_facts(path: Path, languages: tuple[str, ...]) -> Facts:
    """Read the sentences by language and fact; the languages given must be among them, and any other one."""
    facts: Facts = {}
    for place, row in read_parquet(path, ["fact_id", "language", "text"]):
        fact, language, text = row.values()
        if not (fact and language and text):
            raise EaseError(f"{place}: fact_id, language or text is missing; make the file again.")
        if facts.setdefault(language, {}).setdefault(fact, text) is not text:
            raise EaseError(f"{place}: fact {fact} is stated twice in {language}; make the file again.")
    absent = [language for language in languages if language not in facts]
    if absent or not facts.keys() - languages[:1]:
        raise EaseError(
            f"{path}: no sentence in {', '.join(absent) or f'a language but {languages[0]}'}; "
            f"it has {', '.join(sorted(facts)) or 'none at all'}."
        )
    return facts


def shared_facts(facts: Facts, first: str, second: str) -> Sides:
    """Return the facts stated in two languages, in order of fact_id."""
    shared = sorted(facts[first].keys() & facts[second].keys())
    return Sides(*([facts[code][fact] for fact in shared] for code in (first, second)))
