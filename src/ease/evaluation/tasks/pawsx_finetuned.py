"""PAWS-X with a fine-tuned encoder: trained on English pairs, tested in seven languages (Table 5 of mSimCSE).

Unlike in the task `pawsx`, the encoder is trained with the classifier, and reads both sentences of a pair at once. The
paper does not give its settings; the defaults are those of XTREME (Hu et al., 2020), where its baselines come from.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt
from sentence_transformers import SentenceTransformer

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import (
    Score,
    Seeds,
    SubsetOptions,
    TaskOptions,
    available_subsets,
    averages,
    error_prefix,
    repeated_score,
)
from ease.evaluation.tasks.pawsx import PawsX
from ease.evaluation.tasks.transfer import DEVELOPMENT_METRIC, METRIC


class Options(SubsetOptions):
    """The folder of the languages' folders, the languages to test, and the settings of the training."""

    seeds: Seeds = Field((42,), description="seeds of the trainings, whose scores are averaged")
    epochs: PositiveInt = Field(5, description="passes over the 49,401 training pairs")
    batch_size: PositiveInt = Field(32, description="pairs per step")
    learning_rate: PositiveFloat = Field(2e-5, description="peak learning rate of AdamW")
    warmup: float = Field(0.0, ge=0, lt=1, description="fraction of the steps for linear warm-up")
    weight_decay: float = Field(0.0, ge=0, description="of AdamW")
    clip_norm: PositiveFloat = Field(1.0, description="maximum norm of the gradient")
    max_tokens: int = Field(128, ge=8, description="tokens of a pair; longer pairs are truncated")
    evaluation_steps: PositiveInt = Field(
        200,
        description="steps between two evaluations on the English development data, which select the best step",
    )


class FineTunedPawsX(PawsX):
    """Accuracy in each language and their average, and the accuracy on the English development data."""

    Options: ClassVar[type[TaskOptions]] = Options
    TRAINS_ENCODER = True

    def evaluate(self, encode: Encode, options: Any) -> list[Score]:
        """Train a copy of the encoder with each seed, and test it."""
        from ease.evaluation.fine_tuning import fine_tune

        encoder = getattr(encode, "encoder", None)
        found = available_subsets(self.files(options))
        with error_prefix(self.name):
            if not isinstance(encoder, SentenceTransformer):
                raise EaseError("this task trains the encoder: give a function that `encode_with` returns.")
            files = {language: self.read(options, language, paths) for language, paths in found.items()}
            training, development, _ = next(iter(files.values()))
            tests = {DEVELOPMENT_METRIC: development} | {
                language: test for language, (_, _, test) in files.items()
            }
            hits = [fine_tune(encoder, training, development, tests, options, seed) for seed in options.seeds]
        scores = []
        for language, test in tests.items():
            own = [run[language] for run in hits]
            about = ("en", DEVELOPMENT_METRIC) if language == DEVELOPMENT_METRIC else (language, METRIC)
            items = mean_items(np.mean(own, axis=0)) if about[1] == METRIC else None
            values = [float(np.mean(one)) for one in own]
            scores.append(repeated_score(self.name, *about, values, test.note, items))
        return [*scores, *averages(scores[1:], len(self.known))]


TASK: Any = FineTunedPawsX
