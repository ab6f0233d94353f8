"""Encoder, train-time head and method as one module: one forward pass gives the loss, on any device."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.methods import Inputs, TrainingMethod
from ease.training.batches import Batch, Column, Layout
from ease.training.gradient_cache import cached_gradients


class TrainingModel(nn.Module):
    """All that is trained."""

    def __init__(
        self,
        encoder: SentenceTransformer,
        head: nn.Module,
        method: TrainingMethod,
        vocabulary_rows: Tensor | None = None,
        block_rows: int | None = None,
    ) -> None:
        """Join the parts.

        Args:
            encoder: Gives sentence embeddings.
            head: Layers between the embeddings and the losses, in training alone.
            method: Gives the losses.
            vocabulary_rows: The entity vocabulary's row for each row of the method's table; not trained.
            block_rows: Rows whose activations and similarities are held at a time, those of the others being computed
                again for the gradient; by default all.
        """
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.method = method
        self.vocabulary_rows = vocabulary_rows
        self.block_rows = block_rows

    def layout(self, max_tokens: int) -> Layout:
        """What is to be prepared of each row for the method."""
        columns = tuple(dict.fromkeys([*self.method.views, *self.method.token_columns]))
        return Layout(max_tokens, columns, self.method.required)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Encode every view of the batch and compute its loss terms."""
        inputs = self.encode(batch)._replace(block_rows=self.block_rows)
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
        none = torch.empty(0, device=next(self.parameters()).device)
        sentences = torch.stack([next(encoded[name]) for name in views]) if views else none
        present = torch.stack([batch.columns[name].present for name in views]) if views else none
        at_least_single = torch.promote_types(sentences.dtype, torch.float32)
        return Inputs(sentences.to(at_least_single), present, batch.entities, batch.texts)

    def _encode_column(self, column: Column, views: int) -> Tensor:
        """Encode a column's texts several times: -> (views, n, dimension)."""
        encode = self._encode_chunk if self.block_rows is None else cached_gradients(self._encode_chunk)
        parts = [encode(tokens, mask, views) for tokens, mask in column.chunks]
        return torch.cat(parts, dim=1)[:, column.places]

    def _encode_chunk(self, tokens: Tensor, mask: Tensor | None, views: int) -> Tensor:
        """Encode texts of similar length: (rows, width) twice -> (views, rows, dimension)."""
        features = {"input_ids": tokens.repeat(views, 1)}  # (views * rows, width)
        if mask is not None:
            features["attention_mask"] = mask.repeat(views, 1)
        embeddings: Tensor = self.head(
            self.encoder(features)["sentence_embedding"]
        )  # (views * rows, dimension)
        return embeddings.unflatten(0, (views, len(tokens)))
