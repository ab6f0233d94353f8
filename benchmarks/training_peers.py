"""Inputs of `training_speed`, and what it compares with: sentence-transformers' trainer, and a plain loop."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from accelerate.state import AcceleratorState
from datasets import Dataset
from numpy.typing import NDArray
from safetensors.numpy import save_file
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW, Optimizer, SparseAdam
from transformers import PrinterCallback, TrainerCallback

from benchmarks.inputs import encoder_options, made_sentences, real_data
from ease.encoders.encoder import build_encoder, embedding_dimension, load_encoder, save_encoder
from ease.training.batches import pair_indices
from ease.training.job import build_model, run_job
from ease.training.options import TrainingJob, TrainingOptions

MAX_TOKENS = 32
FURTHER_ENTITIES = 3
"""Entities of a sentence beside its pair's own, which EASE+ reads: as many as it takes at most."""
WORK = "work.json"
"""File of the sizes, written last"""
SCALE = 20.0
"""Inverse temperature, as sentence-transformers names it."""
RATE = 3e-5
CURVE_RATE = 1e-4
Curve = NDArray[np.float64]


class Work(NamedTuple):
    """Folder of the input files, and the sizes from which the operations of a training run are computed."""

    folder: Path
    sentences: int
    entities: int
    dimension: int
    """Of sentence and entity embeddings"""
    parameters: int
    """Of the encoder's layers, without embeddings and pooler"""
    attention_width: int
    """Number of layers times hidden size"""
    mean_tokens: float
    mean_square: float
    """Mean of the squared number of tokens"""

    @property
    def flops_of_a_pair(self) -> float:
        """Operations per training pair (two views): 6 per parameter and token, 12 per token pair in attention."""
        return 2 * (6 * self.parameters * self.mean_tokens + 12 * self.attention_width * self.mean_square)


def read_sentences(pairs: Path | None) -> tuple[list[str], str]:
    """Return sentences and their source: a file of pairs, real dumps (`EASE_TEST_DATA`) or generated sentences."""
    data = real_data()
    if pairs is not None:
        return pq.read_table(pairs, columns=["sentence"])["sentence"].to_pylist(), str(pairs)
    if data is None:
        return made_sentences(50_000), "generated: median of 17 words"
    # A machine with a GPU needs no parser: it reads a file of sentences.
    from ease.wikimedia.dumps.files import find_dumps
    from ease.wikimedia.dumps.parts import IngestOptions
    from ease.wikimedia.wikipedia import ingest_wikipedia

    dumps = find_dumps(data / "dumps" / "wikipedia", ["en", "it"])
    with tempfile.TemporaryDirectory() as work:
        parts = ingest_wikipedia(dumps, IngestOptions(splitter="icu", workers=1), Path(work))
        tables = [pq.read_table(path, columns=["text", "links"]) for path in parts.sentences]
    rows = (row for table in tables for row in table.to_pylist())
    sentences = [row["text"] for row in rows if row["links"] and 10 <= len(row["text"]) <= 1000]
    return sentences, "English and Italian Wikipedia: sentences with links"


def prepare(folder: Path, sentences: Sequence[str], encoder: str, entities: int) -> Work:
    """Write the pairs, the entity vocabulary, the entity embeddings and the encoder.

    All entities occur, at most two for each sentence, and are equally frequent, which maximises the number of distinct
    entities in a batch.
    """
    count = len(sentences)
    entities = min(entities, 2 * count)
    loaded = build_encoder(encoder_options(encoder), sentences)
    save_encoder(loaded, folder / "encoder")
    transformer: Any = loaded[0]
    config = transformer.model.config
    for name, value in vars(config).items():
        if "dropout" in name and isinstance(value, float):
            setattr(config, name, 0.0)
    save_encoder(loaded, folder / "still")
    random = np.random.default_rng(0)
    positive, negative = np.split(random.permutation(np.resize(np.arange(entities), 2 * count)), 2)
    columns = {
        "sentence": sentences,
        "entity": positive,
        "hard_negative": np.where(positive == negative, (negative + 1) % entities, negative),
        "further_entities": list(random.integers(entities, size=(count, FURTHER_ENTITIES))),
    }
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    rows = np.arange(entities)
    pq.write_table(pa.table({"row": rows, "entity": rows}), folder / "vocabulary.parquet")
    dimension = embedding_dimension(loaded)
    table = random.standard_normal((entities, dimension), dtype=np.float32)
    save_file({"embeddings": table}, folder / "table.safetensors")
    token_ids = loaded.tokenizer(list(sentences), truncation=True, max_length=MAX_TOKENS)["input_ids"]
    lengths = np.array([len(tokens) for tokens in token_ids], float)
    parameters = sum(
        weights.numel()
        for name, weights in loaded.named_parameters()
        if "embeddings." not in name and "pooler." not in name
    )
    width = int(config.num_hidden_layers * config.hidden_size)
    means = float(lengths.mean()), float((lengths**2).mean())
    work = Work(folder, count, entities, dimension, parameters, width, *means)
    (folder / WORK).write_text(json.dumps({**work._asdict(), "folder": str(folder)}), encoding="utf-8")
    return work


def read_work(folder: Path) -> Work | None:
    """Return what `prepare` wrote to a folder; None if it wrote nothing."""
    file = folder / WORK
    if not file.exists():
        return None
    return Work(**{**json.loads(file.read_text(encoding="utf-8")), "folder": folder})


class EntityLoss(nn.Module):
    """Loss of EASE's equation 4 on two columns of sentences; a label is an entity and its hard negative."""

    def __init__(self, encoder: SentenceTransformer, table: Tensor) -> None:
        """Initialise from entity embeddings of shape (entities, dimension)."""
        super().__init__()
        self.encoder = encoder
        self.views = MultipleNegativesRankingLoss(encoder, scale=SCALE)
        self.table = nn.Embedding.from_pretrained(table, freeze=False, sparse=True)
        self.projection = nn.Linear(table.shape[1], encoder.get_embedding_dimension() or 0, bias=False)

    def forward(self, columns: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Return the sum of equations 2 and 3; labels have shape (n, 2)."""
        embeddings = [self.encoder(column)["sentence_embedding"] for column in columns]
        entities = functional.normalize(self.projection(self.table(labels.T.flatten())), dim=1)  # (2n, dimension)
        logits = SCALE * functional.normalize(embeddings[0], dim=1) @ entities.T
        entity_loss = functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
        return entity_loss + self.views.compute_loss_from_embeddings(embeddings, labels)


def train_peer(
    folder: Path,
    method: str,
    batch_size: int,
    steps: int,
    device: str,
    half: bool,
    entities: int,
    mark: Callable[[int], None],
) -> None:
    """Train with sentence-transformers and call `mark` with the number of each finished step.

    `entities` is the size of the table, over which the entities of the pairs are spread.
    """
    encoder = load_encoder(str(folder / "encoder")).to(device)
    encoder.max_seq_length = MAX_TOKENS
    pairs = pq.read_table(folder / "pairs.parquet")
    columns: dict[str, Any] = dict.fromkeys(("anchor", "positive"), pairs["sentence"].to_pylist())
    loss: nn.Module = MultipleNegativesRankingLoss(encoder, scale=SCALE)
    optimizers: dict[str, Any] = {}
    if method == "ease":
        ids = [pairs[name].to_numpy() for name in ("entity", "hard_negative")]
        spread = entities // (max(map(np.max, ids)) + 1)
        columns["label"] = (np.stack(ids, axis=1) * spread).tolist()
        table = torch.randn(entities, encoder.get_embedding_dimension() or 0, device=device)
        loss = EntityLoss(encoder, table).to(device)
        optimizers["optimizers"] = (sparse_and_dense(loss), None)

    class Steps(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **options: Any) -> None:
            mark(state.global_step)

    with tempfile.TemporaryDirectory() as work:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=work,
            max_steps=steps,
            per_device_train_batch_size=batch_size,
            learning_rate=RATE,
            bf16=half,
            use_cpu=device == "cpu",
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = SentenceTransformerTrainer(
            model=encoder,
            args=arguments,
            train_dataset=Dataset.from_dict(columns),
            loss=loss,
            callbacks=[Steps()],
            **optimizers,
        )
        trainer.remove_callback(PrinterCallback)  # it prints between the rows of the table
        try:
            trainer.train()
        finally:
            # accelerate keeps the precision for the process, and the next training may have another one.
            AcceleratorState._reset_state(reset_partial_state=True)


def sparse_and_dense(loss: EntityLoss) -> AdamW:
    """Return AdamW for all parameters but the entity table, which `SparseAdam` updates after each of its steps."""
    sparse = SparseAdam([loss.table.weight], lr=RATE)
    dense = AdamW([weights for weights in loss.parameters() if weights is not loss.table.weight], lr=RATE, fused=True)

    def step_table(*_: Any) -> None:
        sparse.step()
        sparse.zero_grad()

    dense.register_step_post_hook(step_table)
    return dense


def our_job(folder: Path, work: Path, method: str, encoder: str = "encoder", **training: Any) -> TrainingJob:
    """Return an EASE job on the files that `prepare` wrote."""
    return TrainingJob(
        folder=work,
        pairs=folder / "pairs.parquet",
        encoder=str(folder / encoder),
        method=method,
        vocabulary=folder / "vocabulary.parquet",
        table=folder / "table.safetensors",
        training=TrainingOptions(max_tokens=MAX_TOKENS, **training),
    )


def our_curve(folder: Path, method: str, **training: Any) -> Curve:
    """Return the losses of the EASE trainer, without dropout."""
    with tempfile.TemporaryDirectory() as work:
        job = our_job(folder, Path(work), method, "still", learning_rate=CURVE_RATE, report_every=1, **training)
        return np.array([line["loss"] for line in run_job(job).history])


def plain_curve(folder: Path, method: str, batch_size: int, steps: int, device: str, half: bool) -> Curve:
    """Return the losses of a plain loop: eager mode, padded batches, one view at a time.

    Optimisers, learning rates, gradient clipping and batches are those of the EASE trainer. With `half`, the encoder
    runs in bfloat16.
    """
    pairs = pq.read_table(folder / "pairs.parquet")
    encoder = load_encoder(str(folder / "still")).to(device).train()
    weights: list[nn.Parameter] = list(encoder.parameters())
    optimizers: list[Optimizer] = []
    if method == "ease":
        table = nn.Embedding.from_pretrained(
            load_file(folder / "table.safetensors")["embeddings"], freeze=False, sparse=True
        ).to(device)
        optimizers.append(SparseAdam([table.weight], lr=CURVE_RATE))
        job = our_job(folder, folder / "projection", method, "still", batch_size=batch_size, device="cpu")
        torch.manual_seed(job.training.seed)
        method_of_ours: Any = build_model(job).method
        projection = nn.Parameter(method_of_ours.projection.weight.detach().to(device))
        weights.append(projection)
    optimizers.append(AdamW(weights, lr=CURVE_RATE, weight_decay=0.0, foreach=False))
    losses = []
    for step, rows in enumerate(islice(pair_indices(np.empty(len(pairs), "V1"), batch_size, seed=0), steps)):
        batch = pairs.take(rows)
        texts = encoder.tokenizer(
            batch["sentence"].to_pylist(), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        ).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=half):
            views = [encoder(dict(texts))["sentence_embedding"].float() for _ in range(2)]
        loss = _contrast(views[0], views[1])
        if method == "ease":
            ids = np.concatenate([batch[name].to_numpy() for name in ("entity", "hard_negative")])
            loss = loss + _contrast(views[0], table(torch.from_numpy(ids).to(device)) @ projection.T)
        loss.backward()
        _clip([*weights, table.weight] if method == "ease" else weights)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = CURVE_RATE * (steps - step) / steps
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return np.array(losses)


def _contrast(anchors: Tensor, candidates: Tensor) -> Tensor:
    """Return the loss of equations 2 and 3: candidate i is the positive of anchor i."""
    cosines = functional.normalize(anchors, dim=1) @ functional.normalize(candidates, dim=1).T
    return functional.cross_entropy(cosines * SCALE, torch.arange(len(anchors), device=anchors.device))


def _clip(parameters: list[nn.Parameter]) -> None:
    """Clip the gradients, dense and sparse, to a joint norm of 1."""
    gradients = []
    for weights in parameters:
        if weights.grad is not None and weights.grad.is_sparse:
            weights.grad = weights.grad.coalesce()
            gradients.append(weights.grad.values())
        elif weights.grad is not None:
            gradients.append(weights.grad)
    norm = math.sqrt(sum(float(gradient.double().square().sum()) for gradient in gradients))
    for gradient in gradients:
        gradient.mul_(min(1.0, 1 / (norm + 1e-6)))
