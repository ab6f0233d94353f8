"""Encoder, train-time head and method as one module, whose forward pass returns the loss terms; LoRA."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ease.encoders.encoder import load_encoder
from ease.encoders.onednn import has_onednn, use_onednn
from ease.encoders.token_batches import padding_known, prepare_padding
from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod, own_rows
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.drophead import set_dropout
from ease.methods.components.losses import cosine_distillation, similarity_distillation
from ease.training.batches import Batch, Padded
from ease.training.options import LoraOptions, TeacherOptions, TrainingJob
from ease.training.packing import Packed, Transform, embed_packed, prepare_packing
from ease.training.prepared_pairs import Layout, prompt_tokens

logger = logging.getLogger(__name__)

UNUSED = "pooler"
"""Part of a transformer that its embeddings of tokens do not depend on."""
ADAPTER = "default"
"""Name of the LoRA adapter in peft"""


class TrainingModel(nn.Module):
    """All trained parameters."""

    def __init__(
        self,
        encoder: SentenceTransformer,
        head: nn.Module,
        method: TrainingMethod[Any],
        vocabulary_rows: Tensor | None = None,
        mini_batch_size: int | None = None,
        matryoshka: Sequence[int] = (),
        teacher: TeacherOptions | None = None,
        *,
        packed: bool = False,
        transform: Transform | None = None,
        onednn: bool = False,
    ) -> None:
        """Join the parts.

        `vocabulary_rows` has the entity vocabulary's row for each row of the method's table. Activations and
        similarities of `mini_batch_size` rows are in memory at a time, and recomputed for the gradient. The loss is
        also computed on the first `matryoshka` dimensions. `transform` computes packed texts in place of the encoder's
        transformer, and `onednn` replaces the encoder's linear layers, if torch has it.
        """
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.method = method
        self.vocabulary_rows = vocabulary_rows
        self.mini_batch_size = mini_batch_size
        self.dimensions: tuple[int | None, ...] = (None, *matryoshka)  # None: all
        self.teacher = teacher if teacher is not None and teacher.encoder is not None else None
        self.reads = method.reads(method.options)
        if self.teacher is not None and SENTENCE not in self.reads.views:
            raise EaseError(
                f"{type(method).__name__} computes no sentence embeddings for a teacher: set `teacher.encoder` to null."
            )
        if self.teacher is not None and self.teacher.form == "cosine" and not isinstance(head, nn.Identity):
            raise EaseError(
                "This pooling has layers between encoder and loss that are not saved, so `teacher.form: cosine` would "
                "not teach the saved encoder: set `teacher.form` to `similarity`, or another `pooling`."
            )
        self.packed, self.transform = packed, transform
        self.first_position = prepare_packing(encoder) if packed else 0
        if not packed:
            prepare_padding(encoder)
        if onednn and has_onednn():
            use_onednn(encoder)
        for parameter in self.parameters():
            # transformers loads some weights as slices of one tensor, which safetensors refuses to save.
            if parameter.untyped_storage().nbytes() > parameter.nbytes:
                parameter.data = parameter.data.clone()

    def layout(self, max_tokens: int, languages: bool = False) -> Layout:
        """Return the columns to prepare for the method, and for batches that depend on languages.

        The tokens of the encoder's prompt are added to `max_tokens`.
        """
        reads = self.reads
        return Layout(
            max_tokens + prompt_tokens(self.encoder),
            tuple(dict.fromkeys([*reads.views, *reads.token_columns])),
            reads.required,
            reads.further_positives,
            reads.subjects,
            languages,
        )

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Encode every view of a batch and compute the loss terms."""
        inputs = self.encode(batch)._replace(mini_batch_size=self.mini_batch_size)
        device = inputs.sentences.device.type
        if torch.is_autocast_enabled(device):
            inputs = inputs._replace(autocast=torch.get_autocast_dtype(device))
        # Cosines over a small temperature lose too much in half precision.
        with torch.autocast(device, enabled=False):
            terms = [self.method(inputs._replace(sentences=inputs.sentences[..., :count])) for count in self.dimensions]
            mean = {name: torch.stack([one[name] for one in terms]).mean() for name in terms[0]}
            if self.teacher is not None:
                assert batch.teacher is not None
                mean["teacher_loss"] = self._teacher_loss(self.teacher, inputs, batch.teacher)
                mean[TOTAL] = mean[TOTAL] + self.teacher.weight * mean["teacher_loss"]
        return mean

    def encode(self, batch: Batch) -> Inputs:
        """Encode every view of a batch; the views of a column share a forward pass, with different dropout masks."""
        views = self.reads.views
        encode: Callable[..., Tensor] = self._encode_chunk
        if self.mini_batch_size is not None:
            # Gradient caching (Gao et al. 2021, section 3): keep each chunk's embeddings without its activations, and
            # encode the chunk again in the backward pass, with the random state that it had.
            encode = partial(checkpoint, encode, use_reentrant=False)
        encoded: dict[str, Iterator[Tensor]] = {}
        for name in dict.fromkeys(views):
            parts = [encode(chunk, views.count(name)) for chunk in batch.columns[name].chunks]
            encoded[name] = iter(torch.cat(parts, dim=1)[:, batch.columns[name].places])
        none = torch.empty(0, device=next(self.parameters()).device)
        sentences = torch.stack([next(encoded[name]) for name in views]) if views else none
        present = torch.stack([batch.columns[name].present for name in views]) if views else none
        at_least_single = torch.promote_types(sentences.dtype, torch.float32)
        return Inputs(sentences.to(at_least_single), present, batch.entities, batch.texts)

    def _teacher_loss(self, options: TeacherOptions, inputs: Inputs, teachers: Tensor) -> Tensor:
        """Compare the sentences of a batch with the teacher's embeddings, in all dimensions."""
        students = inputs.sentences[self.reads.views.index(SENTENCE)]
        if options.form == "cosine":
            return cosine_distillation(students, teachers)
        gathered = getattr(self.method.options, "gather_negatives", False)
        return similarity_distillation(
            students,
            teachers,
            options.temperature,
            candidates=gather_with_gradient(students) if gathered else None,
            teacher_candidates=gather(teachers) if gathered else None,
            own=own_rows(len(students), students.device, gathered),
            mini_batch_size=inputs.mini_batch_size,
        )

    def _encode_chunk(self, chunk: Padded | Packed, views: int) -> Tensor:
        """Encode texts of similar length: -> (views, rows, dimension)."""
        if not isinstance(chunk, Padded):
            rows = embed_packed(self.encoder, chunk, self.first_position, self.transform)
            embeddings: Tensor = self.head(rows)
            return embeddings.unflatten(0, (-1, views)).transpose(0, 1)
        features: dict[str, Any] = {"input_ids": chunk.tokens.repeat(views, 1)}  # (views * rows, width)
        if chunk.mask is not None:
            features["attention_mask"] = chunk.mask.repeat(views, 1)
        with padding_known():
            embeddings = self.head(self.encoder(features)["sentence_embedding"])
        return embeddings.unflatten(0, (views, len(chunk.tokens)))


def load_for_training(job: TrainingJob) -> SentenceTransformer:
    """Load the encoder in single precision, with the job's dropout and adapters."""
    encoder = load_encoder(job.encoder, job.pooling, job.training.seed).float()
    if not isinstance(encoder[0], Transformer):
        raise EaseError(
            f"The encoder {job.encoder!r} begins with {type(encoder[0]).__name__}, which no method trains: choose a "
            "transformer."
        )
    longest, prompt = encoder.max_seq_length, prompt_tokens(encoder)
    if longest is not None and job.training.max_tokens + prompt > longest:
        beside = f" with a prompt of {prompt}" if prompt else ""
        raise EaseError(f"`max_tokens` {job.training.max_tokens}: the encoder accepts at most {longest}{beside}.")
    if job.training.encoder_dropout is not None:
        set_dropout(encoder, job.training.encoder_dropout, "encoder_dropout")
    if job.training.lora is not None and job.training.lora.rank:
        add_lora(encoder, job.training.lora)
    return encoder


def add_lora(encoder: SentenceTransformer, options: LoraOptions) -> None:
    """Freeze an encoder's transformer and add adapters to its linear layers, in place (Hu et al. 2021).

    Layers behind the transformer, such as a Dense layer, are trained as without LoRA. The adapters are drawn from
    torch's random state and do not change the embeddings before the first step.
    """
    from peft import LoraConfig, inject_adapter_in_model

    model = getattr(encoder[0], "model", nn.Identity())
    paths: dict[str, list[str]] = {}
    for path, layer in model.named_modules():
        parts = path.split(".")
        if isinstance(layer, nn.Linear) and UNUSED not in parts:
            paths.setdefault(parts[-1], []).append(path)
    if not paths:
        raise EaseError(
            f"`lora` adapts linear layers, and the encoder's {type(encoder[0]).__name__} has none: set `lora: null`."
        )
    chosen = options.targets or sorted(paths)
    if missing := sorted(set(chosen) - paths.keys()):
        raise EaseError(
            f"`lora.targets`: the encoder has no linear layers named {', '.join(missing)}; it has "
            f"{', '.join(sorted(paths))}. Choose among them, or omit `targets` for all."
        )
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=[path for name in chosen for path in paths[name]],
    )
    inject_adapter_in_model(config, model, ADAPTER)


@contextmanager
def merged(encoder: SentenceTransformer) -> Iterator[None]:
    """Replace adapted layers by plain ones with the same function inside; the adapters are then restored unchanged."""
    adapted: list[tuple[nn.Module, str, Any]] = [
        (parent, name, child)
        for parent in list(encoder.modules())
        for name, child in parent.named_children()
        if hasattr(child, "get_delta_weight")  # of peft, which only `add_lora` imports
    ]
    for parent, name, child in adapted:
        plain = copy.copy(child.get_base_layer())
        plain._parameters = dict(plain._parameters)
        weight = plain.weight.detach() + child.get_delta_weight(ADAPTER).detach()
        plain.weight = nn.Parameter(weight, requires_grad=False)
        setattr(parent, name, plain)
    try:
        yield
    finally:
        for parent, name, child in adapted:
            setattr(parent, name, child)
