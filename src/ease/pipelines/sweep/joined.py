"""Encoders of several variants, one for each language, scored together (Tables 6 and 19 of Mirror-BERT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from ease.encoders.options import EncodingOptions
from ease.evaluation.scoring import TaskOptions, score_tasks, task_name
from ease.evaluation.sets import at_paths, read_located, scorable
from ease.io.models import StrictModel, Words
from ease.io.registry import check_name
from ease.pipelines.evaluate.scoring import score_rows
from ease.pipelines.mlflow_runs import log_scores, nested_run

TASKS = ["bli"]
"""Tasks that encode each language by its own encoder."""
JOINED = "joined"
"""The method of the scores of several encoders together."""


class Joined(StrictModel):
    """Variants whose encoders are scored together, one for each language."""

    encoders: dict[str, str] = Field(
        min_length=2, description="the label of the variant that encodes a language, by the language's code"
    )
    base: str = Field("", description="what the report calls the encoders that the variants start from")
    tasks: Words = Field(("bli",), description="tasks, or single subsets of them (`bli:en-fr`)")

    @field_validator("tasks")
    @classmethod
    def _by_language(cls, references: Sequence[str]) -> Sequence[str]:
        for reference in references:
            check_name(task_name(reference), TASKS, "task with an encoder for each language")
        return references


def score_joined(
    title: str,
    seed: int,
    joined: Joined,
    models: Mapping[str, Path],
    evaluation_data: Mapping[str, Any],
    tasks: TaskOptions,
) -> list[dict[str, Any]]:
    """Score the encoders of several variants together; return a row for each score.

    Args:
        title: Name of the encoders in tables.
        seed: The seed of the variants.
        joined: The variants and the tasks.
        models: The folder of each language's encoder.
        evaluation_data: The located evaluation sets.
        tasks: The options of each task.
    """
    from ease.encoders.encoding import encode_with
    from ease.evaluation.encodes import EncodeByLanguage

    located, name = read_located(evaluation_data), f"{title} seed={seed}"
    references = scorable(joined.tasks, located)
    options = EncodingOptions()
    encode = EncodeByLanguage({code: encode_with(folder, options, code) for code, folder in models.items()})
    with nested_run(name) as run_id:
        scores = score_tasks(encode, references, at_paths(tasks, located)) if references else []
        log_scores(run_id, scores)
    about: dict[str, Any] = {"variant": title, "recipe": title, "under": "", "method": JOINED, "seed": seed}
    about |= {
        "languages": " ".join(models),
        "base": joined.base,
        "pooling": "",
        "development": None,
        "seconds": 0.0,
    }
    return score_rows(scores, located, **about, model=name, split="test")
