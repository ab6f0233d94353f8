"""EASE's and supervised SimCSE's losses for the trainer of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import torch
from numpy.typing import ArrayLike
from pydantic import SkipValidation
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.data_collator import BaseDataCollator
from torch import Tensor, nn
from torch.nn import functional
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ease.arguments import checked
from ease.encoders.encoder import embedding_dimension
from ease.errors import EaseError
from ease.methods import method_options
from ease.methods.base import TOTAL, Entities, Inputs
from ease.methods.components.distributed import process_count
from ease.methods.components.entity_table import EntityTable, Rows
from ease.methods.components.losses import NO_ENTITY, info_nce
from ease.methods.ease import Ease, EaseOptions
from ease.methods.supervised_simcse import absent_negatives

NO_NEGATIVE = torch.iinfo(torch.int64).min
"""The label of a hard negative that a pair does not have.

:meta hide-value:
"""


class EntityContrastiveLoss(nn.Module):
    """EASE's loss: the positives of a sentence are the embedding of its entity and its own second dropout view.

    docs/library.md has an example.

    The loss has its own parameters: the entity table and the projection into the encoder's space. The trainer optimises
    these parameters but does not save them in its checkpoints: add :class:`LossCheckpoints` to its callbacks.

    Args:
        model: SentenceTransformer model.
        embeddings: Initial entity embeddings, shape (entities, entity dimension).
        entities: The integer that names each row of `embeddings` in the dataset, such as 64 for Q64. Default: the row.
        options: Parameters of :class:`ease.methods.ease.EaseOptions`: `entity_weight` (λ), `temperature`,
            `self_temperature`, `hard_negative_weight`, …

    Requirements:
        1. Columns `sentence`, `entity` and optionally `hard_negative`, which may have nulls
        2. :class:`EntityCollator` as the trainer's data collator
        3. One process, as the trainer does not synchronise the gradients of a loss's parameters
        4. An entity table that fits in memory four times: AdamW updates all of its rows in every step. `ease.train`
           updates the rows of the batch only

    Inputs:
        Sentences; their labels are (entity, hard negative), integers.

    Recommendations:
        - ``BatchSamplers.NO_DUPLICATES`` keeps two pairs of one entity out of a batch, where each would be the other's
          negative. It also treats two nulls as duplicates: use it without nulls among the hard negatives.

    References:
        - EASE: Entity-Aware Contrastive Learning of Sentence Embedding (Nishikawa et al. 2022), equations 1 to 4:
          https://aclanthology.org/2022.naacl-main.284
    """

    @checked
    def __init__(
        self,
        model: SentenceTransformer,
        embeddings: SkipValidation[ArrayLike | Tensor],
        entities: SkipValidation[Sequence[int] | None] = None,
        **options: Any,
    ) -> None:
        super().__init__()
        table = _tensor("embeddings", embeddings, torch.float32).clone()
        if table.ndim != 2 or not table.numel():
            raise EaseError(f"`embeddings` have the shape {tuple(table.shape)}: give (entities, dimension).")
        names = torch.arange(len(table))
        if entities is not None:
            names = _tensor("entities", entities, torch.int64)
        if names.shape != (len(table),) or len(names.unique()) != len(table):
            raise EaseError(f"{len(names.unique())} distinct `entities` for {len(table)} rows of `embeddings`.")
        self.model = model
        validated = cast(EaseOptions, method_options("ease", options))
        self.method = Ease(validated, embedding_dimension(model), table)
        if self.method.table is not None:
            self.method.table = _DenseTable(table)
        order = names.argsort()
        self.names: Tensor
        self.rows: Tensor
        self.register_buffer("names", names[order])
        self.register_buffer("rows", order)

    def forward(self, sentence_features: Iterable[dict[str, Any]], labels: Tensor) -> Tensor:
        """Return equation 4 of a batch.

        Args:
            sentence_features: Tokens of the column `sentence`.
            labels: Entity and hard negative of each sentence, shape (n, 2).
        """
        if process_count() > 1:
            raise EaseError("EntityContrastiveLoss trains in one process: use `ease.train` for several.")
        features = dict(next(iter(sentence_features)))
        views = len(self.method.reads(self.method.options).views)
        for name, value in features.items():
            if isinstance(value, Tensor) and len(value) == len(labels):
                features[name] = torch.cat([value] * views)
        sentences = self.model(features)["sentence_embedding"].unflatten(0, (views, -1))
        # `searchsorted` returns the number of names for a label above all of them.
        places = torch.searchsorted(self.names, labels).clamp(max=len(self.names) - 1)
        missing = labels == NO_NEGATIVE
        unknown = labels[(self.names[places] != labels) & ~missing]
        if len(unknown):
            raise EaseError(f"Entity {int(unknown[0])} of the dataset is not among the loss's `entities`.")
        positives, hard_negatives = self.rows[places].masked_fill(missing, NO_ENTITY).unbind(1)
        present = torch.ones(sentences.shape[:2], dtype=torch.bool, device=sentences.device)
        inputs = Inputs(sentences.float(), present, Entities(positives, hard_negatives))
        # Cosines over a small temperature lose too much in half precision.
        with torch.autocast(sentences.device.type, enabled=False):
            loss: Tensor = self.method(inputs)[TOTAL]
        return loss


def _tensor(name: str, values: object, dtype: torch.dtype) -> Tensor:
    """Return numbers as a tensor of a type; refuse what is none, or changes in this type."""
    try:
        numbers = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        if not dtype.is_floating_point and isinstance(values, Sequence):
            for value in values:
                if not isinstance(value, Integral):
                    raise EaseError(f"`{name}` must be integers, not {value!r}.") from error
        raise EaseError(f"`{name}` are {type(values).__name__}: give numbers in rows of one length. {error}") from error
    if numbers.is_floating_point() and not dtype.is_floating_point:
        raise EaseError(f"`{name}` are {numbers.dtype}: give integers.")
    return numbers.to(dtype)


class SupervisedSimCSELoss(nn.Module):
    """Supervised SimCSE's loss: identify an anchor's positive among all positives and hard negatives of the batch.

    Without `hard_negative_weight` and with a hard negative in every row, this is the library's
    ``MultipleNegativesRankingLoss`` with ``scale = 1 / temperature``.

    Args:
        model: SentenceTransformer model.
        temperature: τ, which divides the cosines.
        hard_negative_weight: log α, added to the logit of an anchor's own hard negative.

    Inputs:
        (anchor, positive) pairs or (anchor, positive, hard negative) triplets. Labels of triplets are optional: 0 for
        rows whose negative is to be ignored, 1 for the others.

    References:
        - SimCSE: Simple Contrastive Learning of Sentence Embeddings (Gao et al. 2021), equations 5 and 8:
          https://arxiv.org/abs/2104.08821
    """

    def __init__(
        self, model: SentenceTransformer, temperature: float = 0.05, hard_negative_weight: float = 0.0
    ) -> None:
        super().__init__()
        self.model = model
        self.temperature = temperature
        self.hard_negative_weight = hard_negative_weight

    def forward(self, sentence_features: Iterable[dict[str, Any]], labels: Tensor | None) -> Tensor:
        """Return equation 5 of a batch, or 8 with a weight."""
        anchors, positives, *negatives = (self.model(features)["sentence_embedding"] for features in sentence_features)
        hard_negatives = excluded = None
        if negatives:
            hard_negatives = negatives[0]
            if labels is not None:
                excluded = absent_negatives(labels.bool(), len(anchors))
        with torch.autocast(anchors.device.type, enabled=False):
            return info_nce(
                anchors,
                positives,
                self.temperature,
                hard_negatives=hard_negatives,
                excluded=excluded,
                hard_negative_weight=self.hard_negative_weight,
            )


class EntityCollator(BaseDataCollator):
    """Data collator that gives the columns `entity` and `hard_negative` to the loss as labels."""

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Collate rows; a missing or null `hard_negative` means that a pair has no hard negative."""
        rows = [dict(row) for row in features]
        for row in rows:
            negative = row.pop("hard_negative", None)
            if negative is None:
                negative = NO_NEGATIVE
            row["label"] = [row.pop("entity"), negative]
        collated: dict[str, Any] = super().__call__(rows)
        return collated


class LossCheckpoints(TrainerCallback):
    """Saves a loss's own parameters with the trainer's checkpoints, and restores them when a training run resumes.

    Resume from a checkpoint in the trainer's `output_dir`.

    Args:
        loss: The loss that the trainer is given.
    """

    def __init__(self, loss: nn.Module) -> None:
        self._loss = loss

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **options: Any) -> None:
        """Write the parameters into the checkpoint that the trainer has just saved."""
        if state.is_world_process_zero:
            # The trainer saves the model itself.
            parameters = {
                name: value.contiguous()
                for name, value in self._loss.state_dict().items()
                if not name.startswith("model.")
            }
            save_file(parameters, _file(args, state))

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **options: Any
    ) -> None:
        """Read the parameters from the checkpoint that the trainer resumes from.

        Raises:
            EaseError: If the checkpoint does not have them.
        """
        if not state.global_step:
            return
        file = _file(args, state)
        if not file.exists():
            raise EaseError(
                f"The checkpoint has no {file}: resume from an earlier one, which was saved with this callback."
            )
        self._loss.load_state_dict(load_file(file), strict=False)  # the model is in the checkpoint itself


def _file(args: TrainingArguments, state: TrainerState) -> Path:
    return Path(str(args.output_dir), f"checkpoint-{state.global_step}", "loss.safetensors")


class _DenseTable(EntityTable):
    """An entity table with a dense gradient, for optimisers that do not support sparse gradients."""

    def __init__(self, embeddings: Tensor) -> None:
        super().__init__(embeddings)
        self.weight.requires_grad_()

    def forward(self, *ids: Tensor, distinct_rows: Rows | None = None) -> list[Tensor]:
        rows = functional.embedding(torch.cat(ids).clamp(min=0), self.weight)
        return list(rows.split([len(part) for part in ids]))
