"""Retrieval of the sample wiki's parallel sentences: facts held out of its dumps, stated in every language."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.retrieval import parallel_hits
from ease.evaluation.tasks import Encode, Files, Score, average, error_prefix
from ease.evaluation.tasks.components.options import TaskOptions
from ease.evaluation.tasks.components.parallel import Sides, score_hits
from ease.evaluation.tasks.components.parquet import read_columns

logger = logging.getLogger(__name__)

TASK, METRIC = "sample_parallel", "retrieval_accuracy"
KIND = "BitextMining"
SOURCE = "the pipeline `acquire_evaluation`, which writes it if `path` is `sample:parallel`"
COLUMNS = pa.schema([("fact_id", pa.string()), ("language", pa.string()), ("text", pa.string())])


class Options(TaskOptions):
    """The Parquet file with the columns fact_id, language and text, and the options of the search."""

    candidates: int = Field(
        default=300, ge=2, description="sentences per side: the first facts in order of fact_id"
    )
    pivot: str = Field(default="en", description="language that all others are matched with")
    languages: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="languages to match with the pivot; null: all in the file",
    )

    @model_validator(mode="after")
    def _match_others(self) -> Options:
        if self.pivot in (self.languages or ()):
            raise EaseError(f"`languages` of {TASK} contains the pivot {self.pivot}: remove it.")
        return self


def files(options: Options) -> Files:
    """One file of all languages."""
    return {"all": (options.path,)}


def read_facts(path: Path, languages: Sequence[str] = ()) -> dict[str, dict[str, str]]:
    """Read the sentences by language and fact; the languages given must be among them, and any other one."""
    facts: dict[str, dict[str, str]] = {}
    for number, row in enumerate(read_columns(path, COLUMNS).to_pylist(), start=1):
        place, (fact, language, text) = f"{path}, row {number}", row.values()
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


def shared_facts(facts: dict[str, dict[str, str]], language: str, options: Options) -> list[str]:
    """Return the `candidates` facts to match between a language and the pivot, in order of fact_id."""
    shared = sorted(facts[language].keys() & facts[options.pivot].keys())
    if len(shared) < options.candidates:
        raise EaseError(
            f"{options.path}: {len(shared)} facts are stated in both {language} and {options.pivot}, fewer "
            f"than the {options.candidates} `candidates` of {TASK}: lower that parameter or "
            "make a larger sample."
        )
    return shared[: options.candidates]


def read_parallel(options: Options, subset: str) -> tuple[list[str], list[str]]:
    """Read the facts stated in both languages of a pair such as `ja-en`, in order of fact_id."""
    first, _, second = subset.rpartition("-")
    facts = read_facts(options.path, (first, second))
    shared = sorted(facts[first].keys() & facts[second].keys())
    return [facts[first][fact] for fact in shared], [facts[second][fact] for fact in shared]


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Retrieval accuracy between each language and the pivot, both directions averaged, and their average."""
    facts = read_facts(options.path, (options.pivot, *(options.languages or ())))
    languages = options.languages or sorted(facts.keys() - {options.pivot})
    shared = {language: shared_facts(facts, language, options) for language in languages}
    pivot_facts = sorted(set().union(*shared.values()))
    pivot_row = {fact: row for row, fact in enumerate(pivot_facts)}
    pivot = encode([facts[options.pivot][fact] for fact in pivot_facts])
    scores = []
    for language, chosen in shared.items():
        own = encode([facts[language][fact] for fact in chosen])
        with error_prefix(f"{TASK} {language}-{options.pivot}"):
            hits = parallel_hits(own, pivot[[pivot_row[fact] for fact in chosen]])
        sides = Sides(*([facts[code][fact] for fact in chosen] for code in (language, options.pivot)))
        scores.append(score_hits(TASK, f"{language}-{options.pivot}", hits, sides))
    mean = average(scores, len(languages))
    logger.info(
        "%s: %.1f of 100 retrieved among %d candidates, %d languages, both directions",
        *(TASK, mean.value, options.candidates, len(languages)),
    )
    return [*scores, mean]
