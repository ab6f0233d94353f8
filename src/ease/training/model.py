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

from ease.encoders.attention import padding_known, prepare_padding
from ease.encoders.encoder import load_encoder
from ease.encoders.onednn import use_onednn
from ease.encoders.poolings import PoolingName
from ease.errors import EaseError
from ease.lazy import import_or_advise
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod, local_rows
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.drophead import set_dropout
from ease.methods.components.losses import cosine_distillation, similarity_distillation
from ease.training.batches import Batch, Padded
from ease.training.execution import PLAIN_EXECUTION, Execution
from ease.training.half_precision import HalfTransformer
from ease.training.options import LoraOptions, TeacherOptions, TrainingOptions
from ease.training.packing import Packed, Transform, TransformerGraphs, embed_packed
from ease.training.prepared_pairs import Layout, prompt_tokens
from ease.training.token_tables import TokenTable, use_sparse_gradients, use_token_tables

logger = logging.getLogger(__name__)

POOLER = "pooler"
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
        *,
        matryoshka: Sequence[int] = (),
        teacher: TeacherOptions | None = None,
        execution: Execution = PLAIN_EXECUTION,
    ) -> None:
        """Join the parts, and prepare the encoder for the execution.

        Args:
            encoder: The encoder to train; it already accepts packed texts if the execution packs.
            head: Layers between the encoder and the loss, which are not saved.
            method: Computes the loss.
            vocabulary_rows: The entity vocabulary's row for each row of the method's table.
            matryoshka: Numbers of first dimensions at which the loss is also computed.
            teacher: Options of the teacher's loss; None, or without an encoder: no teacher.
            execution: How batches are computed.

        Raises:
            EaseError: If the method or the head does not fit the teacher.
        """
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.method = method
        self.reads = method.reads(method.options)
        self.vocabulary_rows = vocabulary_rows
        self.dimensions: tuple[int | None, ...] = (None, *matryoshka)  # None: all
        self.execution = execution
        self.teacher: TeacherOptions | None = None
        if teacher is not None and teacher.encoder is not None:
            self._check_teacher(teacher)
            self.teacher = teacher
        if not execution.packed:
            prepare_padding(encoder)
        if execution.onednn:
            use_onednn(encoder)
        if execution.token_tables:
            use_token_tables(encoder[0])
            if not self.reads.token_matrix:
                use_sparse_gradients(self)
        self.half_transformer: HalfTransformer | None = None
        self.transform: Transform | None = None
        if execution.graphs:
            self.transform = TransformerGraphs(encoder[0])
        elif execution.half_transformer:
            self.half_transformer = self.transform = HalfTransformer(encoder)
        for parameter in self.parameters():
            # transformers loads some weights as slices of one tensor, which safetensors refuses to save.
            if parameter.untyped_storage().nbytes() > parameter.nbytes:
                parameter.data = parameter.data.clone()

    @property
    def token_tables(self) -> dict[str, TokenTable]:
        """The encoder's trained tables of embeddings that have sparse gradients, by name."""
        return {
            name: module
            for name, module in self.named_modules()
            if isinstance(module, TokenTable) and module.sparse and module.weight.requires_grad
        }

    def _check_teacher(self, teacher: TeacherOptions) -> None:
        if SENTENCE not in self.reads.views:
            raise EaseError(
                f"{type(self.method).__name__} computes no sentence embeddings for a teacher: set `teacher.encoder` to "
                "null."
            )
        if teacher.form == "cosine" and not isinstance(self.head, nn.Identity):
            raise EaseError(
                "This pooling has layers between encoder and loss that are not saved, so `teacher.form: cosine` would "
                "not teach the saved encoder: set `teacher.form` to `similarity`, or another `pooling`."
            )

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
        """Encode every view of a batch and compute the loss terms, each averaged over the numbers of dimensions."""
        inputs = self.encode(batch)._replace(mini_batch_size=self.execution.mini_batch_size)
        device = inputs.sentences.device.type
        if torch.is_autocast_enabled(device):
            inputs = inputs._replace(autocast=torch.get_autocast_dtype(device))
        # Cosines over a small temperature lose too much in half precision.
        with torch.autocast(device, enabled=False):
            by_dimension = [
                self.method(inputs._replace(sentences=inputs.sentences[..., :count])) for count in self.dimensions
            ]
            terms = {name: torch.stack([each[name] for each in by_dimension]).mean() for name in by_dimension[0]}
            if self.teacher is not None:
                assert batch.teacher is not None
                terms["teacher_loss"] = self._teacher_loss(self.teacher, inputs, batch.teacher)
                terms[TOTAL] = terms[TOTAL] + self.teacher.weight * terms["teacher_loss"]
        return terms

    def encode(self, batch: Batch) -> Inputs:
        """Encode every view of a batch; the views of a column share a forward pass, with different dropout masks."""
        if self.half_transformer is not None:
            self.half_transformer.cast()
        views = self.reads.views
        encode: Callable[..., Tensor] = self._encode_chunk
        if self.execution.mini_batch_size is not None:
            # Gradient caching (Gao et al. 2021, section 3): keep each chunk's embeddings without its activations, and
            # encode the chunk again in the backward pass, with the random state that it had.
            encode = partial(checkpoint, encode, use_reentrant=False)
        # By column, an iterator over its views
        encoded: dict[str, Iterator[Tensor]] = {}
        for name in dict.fromkeys(views):
            column = batch.columns[name]
            chunks = [encode(chunk, views.count(name)) for chunk in column.chunks]
            # Chunks are sorted by length: their rows return to the order of the batch.
            encoded[name] = iter(torch.cat(chunks, dim=1)[:, column.places])
        if views:
            sentences = torch.stack([next(encoded[name]) for name in views])
            present = torch.stack([batch.columns[name].present for name in views])
        else:  # a method that reads tokens alone, such as MLM
            sentences = present = torch.empty(0, device=next(self.parameters()).device)
        # Tests train in double precision, which stays.
        at_least_single = torch.promote_types(sentences.dtype, torch.float32)
        return Inputs(sentences.to(at_least_single), present, batch.entities, batch.texts)

    def _teacher_loss(self, options: TeacherOptions, inputs: Inputs, teachers: Tensor) -> Tensor:
        """Compare the sentences of a batch with the teacher's embeddings, in all dimensions."""
        students = inputs.sentences[self.reads.views.index(SENTENCE)]
        if options.form == "cosine":
            return cosine_distillation(students, teachers)
        gathered = getattr(self.method.options, "gather_negatives", False)
        candidates = teacher_candidates = None
        if gathered:
            candidates = gather_with_gradient(students)
            teacher_candidates = gather(teachers)
        return similarity_distillation(
            students,
            teachers,
            options.temperature,
            candidates=candidates,
            teacher_candidates=teacher_candidates,
            targets=local_rows(len(students), students.device, gathered),
            mini_batch_size=inputs.mini_batch_size,
        )

    def _encode_chunk(self, chunk: Padded | Packed, views: int) -> Tensor:
        """Encode texts of similar length: -> (views, rows, dimension)."""
        if not isinstance(chunk, Padded):
            first_position = self.execution.first_position
            assert first_position is not None, "only a packing execution has packed batches"
            packed = embed_packed(self.encoder, chunk, first_position, self.transform)
            by_text: Tensor = self.head(packed)
            # The views of a text are adjacent in packed rows.
            return by_text.unflatten(0, (-1, views)).transpose(0, 1)
        features: dict[str, Any] = {"input_ids": chunk.tokens.repeat(views, 1)}  # (views * rows, width)
        if chunk.mask is not None:
            features["attention_mask"] = chunk.mask.repeat(views, 1)
        with padding_known():
            features = (self.transform or self.encoder[0])(features)
        for module in list(self.encoder)[1:]:
            features = module(features)
        embeddings: Tensor = self.head(features["sentence_embedding"])
        return embeddings.unflatten(0, (views, len(chunk.tokens)))


def load_for_training(name: str, pooling: PoolingName | None, options: TrainingOptions) -> SentenceTransformer:
    """Load an encoder in single precision, with the options' dropout and adapters.

    Args:
        name: The encoder's hub name or folder.
        pooling: Its pooling; None: as it was saved.
        options: Of the training run.

    Raises:
        EaseError: If it does not load, is no transformer, or accepts fewer tokens than `max_tokens`.
    """
    encoder = load_encoder(name, pooling, options.seed).float()
    if not isinstance(encoder[0], Transformer):
        raise EaseError(
            f"The encoder {name!r} begins with {type(encoder[0]).__name__}, which no method trains: choose a "
            "transformer."
        )
    longest = encoder.max_seq_length
    prompt = prompt_tokens(encoder)
    if longest is not None and options.max_tokens + prompt > longest:
        beside = f" with a prompt of {prompt}" if prompt else ""
        raise EaseError(f"`max_tokens` {options.max_tokens}: the encoder accepts at most {longest}{beside}.")
    if options.encoder_dropout is not None:
        set_dropout(encoder, options.encoder_dropout, "encoder_dropout")
    if options.lora is not None and options.lora.rank:
        add_lora(encoder, options.lora)
    return encoder


def add_lora(encoder: SentenceTransformer, options: LoraOptions) -> None:
    """Freeze an encoder's transformer and add adapters to its linear layers, in place (Hu et al. 2021).

    Layers behind the transformer, such as a Dense layer, are trained as without LoRA. The adapters are drawn from
    torch's random state and do not change the embeddings before the first step.
    """
    peft = import_or_advise("peft")
    model = getattr(encoder[0], "model", nn.Identity())
    paths: dict[str, list[str]] = {}
    for path, layer in model.named_modules():
        parts = path.split(".")
        if isinstance(layer, nn.Linear) and POOLER not in parts:
            paths.setdefault(parts[-1], []).append(path)
    if not paths:
        raise EaseError(
            f"`lora` adapts linear layers, and the encoder's {type(encoder[0]).__name__} has none: set `lora: null`."
        )
    targets = options.targets or sorted(paths)
    if missing := sorted(set(targets) - paths.keys()):
        raise EaseError(
            f"`lora.targets`: the encoder has no linear layers named {', '.join(missing)}; it has "
            f"{', '.join(sorted(paths))}. Choose among them, or omit `targets` for all."
        )
    config = peft.LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=[path for name in targets for path in paths[name]],
    )
    peft.inject_adapter_in_model(config, model, ADAPTER)


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
