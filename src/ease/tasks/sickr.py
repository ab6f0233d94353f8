"""SICK-Relatedness: English sentence pairs graded 1 to 5 (Marelli et al., 2014)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ease.tasks import Encode, Score
from ease.tasks._graded import GradedColumns, read_graded_pairs, score_graded_pairs

COLUMNS = GradedColumns(left="sentence_A", right="sentence_B", gold="relatedness_score", lowest=1, highest=5)
FILES = {"train": "SICK_train.txt", "trial": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


class Options(BaseModel):
    """Where the data set lies and which of its splits to score."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path = Field(
        description="The folder that holds SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt."
    )
    splits: tuple[Literal["train", "trial", "test"], ...] = Field(
        default=("trial",), min_length=1, description="Splits to score, each a subset; trial selects models."
    )


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with the grades, for each split."""
    return [
        score_graded_pairs(encode, read_graded_pairs(options.path / FILES[split], COLUMNS), "sickr", split)
        for split in options.splits
    ]
