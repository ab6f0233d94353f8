"""STS Benchmark: English sentence pairs graded 0 to 5 (Cer et al., 2017)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ease.tasks import Encode, Score
from ease.tasks._graded import GradedColumns, read_graded_pairs, score_graded_pairs

COLUMNS = GradedColumns(left=5, right=6, gold=4, lowest=0, highest=5)


class Options(BaseModel):
    """Where the benchmark lies and which of its splits to score."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path = Field(description="The folder that holds sts-train.csv, sts-dev.csv and sts-test.csv.")
    splits: tuple[Literal["train", "dev", "test"], ...] = Field(
        default=("dev",), min_length=1, description="Splits to score, each a subset; dev selects models."
    )


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with the grades, for each split."""
    return [
        score_graded_pairs(
            encode, read_graded_pairs(options.path / f"sts-{split}.csv", COLUMNS), "stsb", split
        )
        for split in options.splits
    ]
