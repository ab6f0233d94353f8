"""PAWS-X with a fine-tuned encoder: trained on English pairs, tested in seven languages (Table 5 of mSimCSE).

Unlike in the task `pawsx`, both sentences of a pair are one input of the encoder's transformer, which gets its
library's classification head and is trained with it by transformers' `Trainer`. The paper does not give its settings;
the defaults are those of XTREME (Hu et al., 2020), where its baselines come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding, Trainer, TrainingArguments

from ease.encoders.check import READING
from ease.errors import EaseError
from ease.evaluation.classifiers import require_known_classes
from ease.evaluation.scores import DEVELOPMENT_METRIC
from ease.evaluation.tasks.base import TaskOptions
from ease.evaluation.tasks.set_files import Labelled
from ease.evaluation.tasks.transfer import HitsBySeed, LabelledOptions, Transfer
from ease.io.locks import temporary_folder
from ease.similarity.encode import Encode


class FineTuningOptions(LabelledOptions):
    """The settings of the fine-tuning."""

    batch_size: PositiveInt = Field(description="pairs per step")
    learning_rate: PositiveFloat = Field(description="peak learning rate of AdamW")
    warmup: float = Field(ge=0, lt=1, description="fraction of the steps for linear warm-up")
    max_tokens: int = Field(ge=8, description="tokens of a pair; longer pairs are truncated")


class FineTunedPawsX(Transfer):
    """Accuracy in each language and their average, and the accuracy on the English development data."""

    Options: ClassVar[type[TaskOptions]] = FineTuningOptions
    options: FineTuningOptions
    TRAINS_ENCODER = True

    def train(self, encode: Encode, training: Labelled, tests: Mapping[str, Labelled]) -> tuple[HitsBySeed, str]:
        """Train a copy of the encoder with each seed."""
        encoder = getattr(encode, "encoder", None)
        if not isinstance(encoder, SentenceTransformer):
            raise EaseError("this task trains the encoder: give a function that `encode_with` returns.")
        runs = [fine_tune(encoder, training, tests, self.options, seed) for seed in self.options.seeds]
        return {name: [run[name] for run in runs] for name in tests}, tests[DEVELOPMENT_METRIC].note


def training_arguments(folder: Path, options: Any, seed: int, cuda: bool) -> TrainingArguments:
    """Return the arguments of the trainer, which keeps the weights of the best step in a folder."""
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch_size,
        per_device_eval_batch_size=2 * options.batch_size,
        learning_rate=options.learning_rate,
        warmup_steps=options.warmup,
        weight_decay=options.weight_decay,
        max_grad_norm=options.clip_norm,
        seed=seed,
        bf16=cuda and torch.cuda.is_bf16_supported(including_emulation=False),
        use_cpu=not cuda,
        eval_strategy="steps",
        eval_steps=options.evaluation_steps,
        save_steps=options.evaluation_steps,
        save_total_limit=1,
        save_only_model=True,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
    )
    # With several GPUs, `Trainer` would multiply the batch size by their number.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments


def fine_tune(
    encoder: SentenceTransformer, training: Labelled, tests: Mapping[str, Labelled], options: Any, seed: int
) -> dict[str, NDArray[np.bool_]]:
    """Train a classifier of pairs, and return whether the class of each pair of each test is predicted.

    AdamW with a linear warm-up and decay of the learning rate; the weights are those of the best step on the
    development data. The seed determines the head's weights, the order of the pairs and the dropout.

    Raises:
        EaseError: If the encoder does not begin with a transformer that has a classification head, there is only one
            class, or the development data have an unknown class.
    """
    development = tests[DEVELOPMENT_METRIC]
    classes = require_known_classes(training.labels, development.labels, "the development data").tolist()
    transformer = encoder[0]
    tokenizer = encoder.tokenizer
    if not isinstance(transformer, Transformer):
        raise EaseError(
            f"The encoder begins with {type(transformer).__name__}: only a transformer can be fine-tuned on pairs."
        )

    def rows(pairs: Labelled) -> list[dict[str, Any]]:
        left, right = (list(side) for side in zip(*pairs.texts, strict=True))
        tokens = tokenizer(left, right, truncation=True, max_length=options.max_tokens)
        return [
            {**{name: values[row] for name, values in tokens.items()}, "labels": classes.index(label)}
            for row, label in enumerate(pairs.labels)
        ]

    def hits(predictions: Any) -> NDArray[np.bool_]:
        flags: NDArray[np.bool_] = np.argmax(predictions.predictions, axis=1) == predictions.label_ids
        return flags

    cuda = encoder.device.type == "cuda"
    with temporary_folder() as folder, torch.random.fork_rng(devices=[encoder.device] if cuda else []):
        torch.manual_seed(seed)
        transformer.model.save_pretrained(copy := str(folder / "encoder"))
        try:  # a copy with a head of random weights
            with READING:
                model: Any = AutoModelForSequenceClassification.from_pretrained(copy, num_labels=len(classes))
        except ValueError as error:
            raise EaseError(
                f"transformers has no classification head for {transformer.model.config.model_type}: fine-tune another "
                "encoder."
            ) from error
        trainer = Trainer(
            model,
            training_arguments(folder, options, seed, cuda),
            DataCollatorWithPadding(tokenizer),
            train_dataset=rows(training),
            eval_dataset=rows(development),
            compute_metrics=lambda predictions: {"accuracy": float(np.mean(hits(predictions)))},
        )
        trainer.train()
        return {name: hits(trainer.predict(rows(test))) for name, test in tests.items()}  # type: ignore[arg-type]
