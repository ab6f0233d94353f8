"""PAWS-X with a fine-tuned encoder: trained on English pairs, tested in seven languages (Table 5 of mSimCSE).

Unlike in the task `pawsx`, the encoder is trained with the classifier, and reads both sentences of a pair at once. The
paper does not give its settings; the defaults are those of XTREME (Hu et al., 2020), where its baselines come from.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from sentence_transformers import SentenceTransformer

from ease.errors import EaseError
from ease.evaluation.fine_tuning import FineTuningSettings, LabelledPairs, fine_tune
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, average, error_prefix, pawsx
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.repetitions import Seeds, repeated_score
from ease.evaluation.tasks.components.transfer import DEVELOPMENT_METRIC, METRIC
from ease.evaluation.tasks.pawsx import KIND, LANGUAGES, SOURCE, Pairs, read_paraphrases

__all__ = ["KIND", "METRIC", "SOURCE", "TRAINS_ENCODER", "Options", "evaluate", "files"]

logger = logging.getLogger(__name__)

TASK = "pawsx_finetuned"
TRAINS_ENCODER = True
"""The task trains a copy of the encoder, so truncated embeddings have no score."""


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

    @property
    def settings(self) -> FineTuningSettings:
        """The settings of the training."""
        return FineTuningSettings(**self.model_dump(exclude={"path", "subsets", "seeds"}))


def files(options: Options) -> Files:
    """The English training and development files, and each language's test file."""
    return pawsx.files(pawsx.Options(path=options.path, subsets=options.subsets))


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy in each language and their average, and the accuracy on the English development data."""
    chosen = available_subsets(files(options))
    training_file, development_file, _ = next(iter(chosen.values()))
    training, development = read_paraphrases(training_file), read_paraphrases(development_file)
    tests = {language: read_paraphrases(paths[2]) for language, paths in chosen.items()}
    encode(training.left[:1])  # the check of evaluation sets ends here
    with error_prefix(TASK):
        encoder = _encoder(encode)
        trained = [
            fine_tune(encoder, _labelled(training), _labelled(development), options.settings, seed)
            for seed in options.seeds
        ]
    accuracies = [classifier.accuracy(_labelled(development)) for classifier in trained]
    best = repeated_score(TASK, "en", DEVELOPMENT_METRIC, accuracies, development.note)
    scores = [
        _tested(language, test, [classifier.hits(_labelled(test)) for classifier in trained])
        for language, test in tests.items()
    ]
    mean = average(scores, len(LANGUAGES))
    logger.info(
        "%s: accuracy %.1f over %d languages; English %.1f", TASK, mean.value, len(scores), best.value
    )
    return [best, *scores, mean]


def _tested(language: str, test: Pairs, hits: Sequence[NDArray[np.bool_]]) -> Score:
    items = mean_items(np.mean(hits, axis=0), test.texts)
    return repeated_score(TASK, language, METRIC, [float(np.mean(own)) for own in hits], test.note, items)


def _labelled(pairs: Pairs) -> LabelledPairs:
    return LabelledPairs(pairs.left, pairs.right, pairs.labels)


def _encoder(encode: Encode) -> SentenceTransformer:
    """Return the encoder behind a function that encodes sentences."""
    encoder = getattr(encode, "encoder", None)
    if not isinstance(encoder, SentenceTransformer):
        raise EaseError("this task trains the encoder: give a function that `encode_with` returns.")
    return encoder
