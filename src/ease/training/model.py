"""Encoder, train-time head and method as one module: one forward pass gives the loss, on any device."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.methods import Inputs, TrainingMethod
from ease.training.batches import Batch, Column, Layout


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

    def layout(self, max_tokens: int) -> Layout:
        """What is to be prepared of each row for the method."""
        columns = tuple(dict.fromkeys([*self.method.views, *self.method.token_columns]))
        return Layout(max_tokens, columns, self.method.required)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Encode every view of the batch and compute its loss terms."""
        inputs = self.encode(batch)
        device = inputs.sentences.device.type
        if torch.is_autocast_enabled(device):
            inputs = inputs._replace(autocast=torch.get_autocast_dtype(device))
        # Cosines over a small temperature lose too much in half precision.
        with torch.autocast(device, enabled=False):
            terms: dict[str, Tensor] = self.method(inputs)
        return terms

    def encode(self, batch: Batch) -> Inputs:
        """Encode every view of a batch; the views of one column in one pass, each with its own dropout."""
        views = self.method.views
        columns = dict.fromkeys(views)
        encoded = {
            name: iter(self._encode_column(batch.columns[name], views.count(name))) for name in columns
        }
        device = next(self.parameters()).device
        sentences = [next(encoded[name]) for name in views]
        present = [batch.columns[name].present for name in views]
        return Inputs(
            torch.stack(sentences).float() if views else torch.empty(0, device=device),
            torch.stack(present) if views else torch.empty(0, device=device),
            batch.entities,
            batch.texts,
        )

    def _encode_column(self, column: Column, views: int) -> Tensor:
        """Encode a column's texts several times: -> (views, n, dimension)."""
        parts = []
        for tokens, mask in column.chunks:
            features = {"input_ids": tokens.repeat(views, 1)}  # (views * rows, width)
            if mask is not None:
                features["attention_mask"] = mask.repeat(views, 1)
            embeddings = self.head(self.encoder(features)["sentence_embedding"])  # (views * rows, dimension)
            parts.append(embeddings.unflatten(0, (views, len(tokens))))
        return torch.cat(parts, dim=1)[:, column.places]
