"""Encoder, train-time head and method as one module: one forward pass gives the loss, on any device."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.methods import TrainingMethod
from ease.training.batches import Batch


class TrainingModel(nn.Module):
    """All that is trained."""

    def __init__(
        self,
        encoder: SentenceTransformer,
        head: nn.Module,
        method: TrainingMethod,
        vocabulary_rows: Tensor | None = None,
    ) -> None:
        """Join the parts.

        Args:
            encoder: Gives sentence embeddings.
            head: Layers between the embeddings and the losses, in training alone.
            method: Gives the losses.
            vocabulary_rows: The entity vocabulary's row for each row of the method's table; not trained.
        """
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.method = method
        self.vocabulary_rows = vocabulary_rows

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Encode every view of the batch and compute its loss terms."""
        sentences = self.encode(batch)
        # Cosines over a small temperature lose too much in half precision.
        with torch.autocast(sentences.device.type, enabled=False):
            terms: dict[str, Tensor] = self.method(sentences.float(), batch.entities)
        return terms

    def encode(self, batch: Batch) -> Tensor:
        """Encode all views of a chunk in one pass, each with its own dropout: -> (views, n, dimension)."""
        views = self.method.views
        parts = []
        for tokens, mask in batch.chunks:
            features = {"input_ids": tokens.repeat(views, 1)}  # (views * rows, width)
            if mask is not None:
                features["attention_mask"] = mask.repeat(views, 1)
            embeddings = self.head(self.encoder(features)["sentence_embedding"])  # (views * rows, dimension)
            parts.append(embeddings.unflatten(0, (views, len(tokens))))
        return torch.cat(parts, dim=1)[:, batch.places]
