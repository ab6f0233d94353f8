"""Classifiers of sentence pairs that are fine-tuned with the encoder (section 4.6 and Table 5 of mSimCSE).

Both sentences of a pair are one input of the encoder's transformer, which gets its library's classification head and is
trained with it. The encoder itself is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor
from torch.nn import functional
from tqdm.auto import tqdm
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from ease.errors import EaseError
from ease.evaluation.classifier import require_known_classes

HEAD = ("pooler.",)
"""Weights of a transformer that only its classification head uses."""


@dataclass(frozen=True)
class FineTuningSettings:
    """Hyperparameters; `evaluation_steps` is the number of steps between two evaluations on the development data."""

    epochs: int = 5
    batch_size: int = 32
    learning_rate: float = 2e-5
    warmup: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    max_tokens: int = 128
    evaluation_steps: int = 200


@dataclass(frozen=True)
class LabelledPairs:
    """Sentence pairs with their labels, n each."""

    left: Sequence[str]
    right: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True, eq=False)
class PairClassifier:
    """A fine-tuned transformer with its tokenizer; predicts one of the classes."""

    classes: NDArray[np.str_]
    model: PreTrainedModel
    tokenizer: Any
    settings: FineTuningSettings

    def accuracy(self, pairs: LabelledPairs) -> float:
        """Share (0 to 1) of pairs whose class is predicted."""
        return float(np.mean(self.hits(pairs)))

    def hits(self, pairs: LabelledPairs) -> NDArray[np.bool_]:
        """Whether the class of each pair is predicted: (pairs,)."""
        predicted = np.empty(len(pairs.labels), dtype=np.int64)
        training = self.model.training
        self.model.eval()
        # Pairs of about the same length are padded the least.
        order = np.argsort(
            [len(left) + len(right) for left, right in zip(pairs.left, pairs.right, strict=True)]
        )
        with torch.no_grad():
            for rows in np.array_split(order, -(-len(order) // (2 * self.settings.batch_size))):
                predicted[rows] = self.logits(pairs, rows.tolist()).argmax(dim=1).cpu().numpy()
        self.model.train(training)
        hits: NDArray[np.bool_] = self.classes[predicted] == np.asarray(pairs.labels)
        return hits

    def logits(self, pairs: LabelledPairs, rows: Sequence[int]) -> Tensor:
        """Compute the scores of the classes: (rows, classes)."""
        device = self.model.device
        read = self.tokenizer(
            [pairs.left[row] for row in rows],
            [pairs.right[row] for row in rows],
            padding=True,
            truncation=True,
            max_length=self.settings.max_tokens,
            return_tensors="pt",
        ).to(device)
        half = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            logits: Tensor = self.model(**read).logits
        return logits.float()


def fine_tune(
    encoder: SentenceTransformer,
    training: LabelledPairs,
    development: LabelledPairs,
    settings: FineTuningSettings,
    seed: int,
) -> PairClassifier:
    """Train a classifier of pairs, and return it with the weights of the best step on the development data.

    AdamW with a linear warm-up and decay of the learning rate. The seed determines the head's weights, the order of the
    pairs and the dropout.

    Args:
        encoder: Begins with a transformer; not changed.
        training: Pairs of at least two classes.
        development: Labelled with classes of the training data.
        settings: Hyperparameters.
        seed: Random seed.

    Raises:
        EaseError: If the encoder does not begin with a transformer that has a classification head, there is only one
            class, or the development data have an unknown class.
    """
    classes = require_known_classes(training.labels, development.labels, "the development data")
    with _seeded(seed, encoder.device):
        model = _with_head(encoder, len(classes))
        classifier = PairClassifier(classes, model, encoder.tokenizer, settings)
        _train(classifier, training, development, torch.Generator().manual_seed(seed))
    return classifier


def _train(
    classifier: PairClassifier,
    training: LabelledPairs,
    development: LabelledPairs,
    generator: torch.Generator,
) -> None:
    """Train in place, and keep the weights of the first step of the best development accuracy."""
    model, settings = classifier.model.train(), classifier.settings
    wanted = torch.from_numpy(np.searchsorted(classifier.classes, np.asarray(training.labels))).to(
        model.device
    )
    optimizer = torch.optim.AdamW(
        model.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
    )
    steps = settings.epochs * -(-len(wanted) // settings.batch_size)
    warmup = int(settings.warmup * steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (warmup + 1), (steps - step) / (steps - warmup))
    )
    best, weights = -1.0, {}
    batches = (
        batch
        for _ in range(settings.epochs)
        for batch in torch.randperm(len(wanted), generator=generator).split(settings.batch_size)
    )
    for step, batch in enumerate(tqdm(batches, "Fine-tuning", steps, delay=2, leave=False), start=1):
        optimizer.zero_grad()
        functional.cross_entropy(
            classifier.logits(training, batch.tolist()), wanted[batch.to(wanted.device)]
        ).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimizer.step()
        schedule.step()
        if step % settings.evaluation_steps == 0 or step == steps:
            accuracy = classifier.accuracy(development)
            if accuracy > best:
                best, weights = (
                    accuracy,
                    {name: value.cpu().clone() for name, value in model.state_dict().items()},
                )
    model.load_state_dict(weights)
    model.eval()


def _with_head(encoder: SentenceTransformer, classes: int) -> PreTrainedModel:
    """Return a copy of an encoder's transformer with a classification head of random weights."""
    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise EaseError(
            f"The encoder begins with {type(transformer).__name__}: only a transformer can be fine-tuned on pairs."
        )
    source: Any = transformer.model
    config = type(source.config).from_dict({**source.config.to_dict(), "num_labels": classes})
    try:
        model: PreTrainedModel = AutoModelForSequenceClassification.from_config(config)
    except ValueError as error:
        raise EaseError(
            f"transformers has no classification head for {config.model_type}: fine-tune another encoder."
        ) from error
    found = model.base_model.load_state_dict(source.state_dict(), strict=False)
    if missing := [name for name in found.missing_keys if not name.startswith(HEAD)]:
        raise EaseError(f"The encoder lacks the weights {', '.join(missing[:3])} of {type(model).__name__}.")
    return model.to(encoder.device)  # type: ignore[arg-type]


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's own generators, which new weights and dropout use, and restore them afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
