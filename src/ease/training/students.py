"""Distillation: a student is made from its teacher, and sentence-transformers' trainer fits it to the embeddings.

References:
    Tulkens and van Dongen 2024 (Model2Vec): a forward pass over the vocabulary, weighted by Zipf's law.
    Sanh et al. 2019 (DistilBERT): a student starts from layers of its teacher.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset, Features, Value, disable_progress_bars
from datasets import Sequence as ListOf
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.modules import StaticEmbedding, Transformer
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, PrinterCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from ease import __version__
from ease.device import best_device
from ease.encoders.check import no_progress_bars
from ease.encoders.encoder import embedding_dimension, load_encoder, save_encoder
from ease.encoders.encoding import encode_with, fingerprint
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from ease.io.locks import folder_lock, temporary_folder
from ease.names import check_name
from ease.options import validate
from ease.similarity.vectors import unit_or_zero_rows
from ease.training.loop import Report
from ease.training.options import ShallowOptions, StaticOptions
from ease.training.prepared_pairs import default_prompt

BLOCK = 8192
"""Sentences encoded at a time"""
TOKENS = 1024
"""Tokens of the vocabulary embedded at a time"""
SIF = 1e-3
"""a of the initial weight a / (a + p) of a token with the frequency p (Arora et al. 2017)"""
Options = StaticOptions | ShallowOptions
KINDS: dict[str, type[Options]] = {"static": StaticOptions, "shallow": ShallowOptions}


class Distilled(NamedTuple):
    """A finished student."""

    model: Path
    """Its folder, in the format of sentence-transformers"""
    history: list[dict[str, float]]
    """Reported losses, each with its `step`"""


def distill(
    teacher: str | Path | SentenceTransformer,
    sentences: Iterable[str],
    student: str = "static",
    *,
    folder: str | Path | None = None,
    report: Report | None = None,
    **options: Any,
) -> SentenceTransformer:
    """Train a small encoder to reproduce the embeddings of a large one.

    Args:
        teacher: A hub name, a folder or an object; the object is not changed.
        sentences: Training sentences; repeated sentences are used once.
        student: `static` (one vector per token; their mean is the embedding) or `shallow` (the teacher's first layers).
        folder: Folder for checkpoints and the saved student (`model`); the same call resumes an interrupted training
            there. Default: a temporary folder.
        report: Called with a step and its loss.
        options: Options of the student (`dimension`, `int8`, `layers`, `matryoshka`, `rows`, `seed`) and `learning`, a
            dictionary with `epochs`, `batch_size` and `learning_rate`.

    Returns:
        The student, on the CPU.

    Raises:
        EaseError: If an option is wrong, the teacher does not load or fit, or there is no sentence.

    Example:
        >>> import ease
        >>> student = ease.distill("sentence-transformers/LaBSE", sentences, dimension=256)
        >>> student.save("small")
    """
    check_name(student, list(KINDS), "student")
    validated = validate(KINDS[student], options, "Options of the student")
    # The names of a table's columns would be texts, too.
    texts: list[Any] = [] if hasattr(sentences, "columns") else list(dict.fromkeys(sentences))
    if isinstance(sentences, str) or not texts or not all(isinstance(text, str) for text in texts):
        raise EaseError('`sentences` must be a list of texts, such as the column `table["sentence"]` of a data frame.')
    if validated.rows is not None and validated.rows < len(texts):
        chosen = np.random.default_rng(validated.seed).choice(len(texts), validated.rows, replace=False)
        texts = [texts[place] for place in sorted(chosen)]
    loaded = teacher if isinstance(teacher, SentenceTransformer) else load_encoder(str(teacher))
    with temporary_folder() as temporary, folder_lock(Path(folder or temporary / "work")) as lock:
        made = distill_student(loaded, texts, validated, lock.folder, report=report)
        return load_encoder(str(made.model))


def distill_student(
    teacher: str | SentenceTransformer,
    sentences: Iterable[str],
    options: Options,
    folder: Path,
    *,
    encoding: EncodingOptions | None = None,
    card: Callable[[int, int], str] | None = None,
    report: Report | None = None,
) -> Distilled:
    """Train a student of an encoder, or resume an interrupted training.

    The sentences are distinct and in a fixed order; the caller has locked the folder. `encoding` has the batch size and
    the cache of the teacher's embeddings, by default in the folder. `card` returns the model card, given the dimension
    and the number of sentences.
    """
    encoder = load_encoder(teacher) if isinstance(teacher, str) else copy.deepcopy(teacher)
    encoder.to(best_device()).eval()
    student = first_layers(encoder, options.layers) if isinstance(options, ShallowOptions) else None
    _check_dimensions(encoder, options)
    encoding = encoding or EncodingOptions(cache=folder / "teacher")
    encode = encode_with(encoder, encoding, "teacher", teacher if isinstance(teacher, str) else None)
    chosen = options.model_dump(mode="json", exclude={"teacher"})
    digest = hashlib.sha256(json.dumps([__version__, fingerprint(encoder), chosen]).encode())
    squares = np.zeros((embedding_dimension(encoder),) * 2)

    def rows() -> Iterator[dict[str, Any]]:
        rest = iter(sentences)
        while block := list(islice(rest, BLOCK)):
            digest.update("\0".join(block).encode())
            vectors = unit_or_zero_rows(encode(block)).astype(np.float16)
            squares[:] += vectors.T.astype(np.float64) @ vectors
            yield from ({"sentence": text, "label": row} for text, row in zip(block, vectors, strict=True))

    disable_progress_bars()
    with temporary_folder() as temporary, no_progress_bars():
        if (first := next(made := rows(), None)) is None:
            raise EaseError(
                "There is no training sentence for the student: give texts, or loosen the filters of the pairs."
            )
        features = Features({"sentence": Value("string"), "label": ListOf(Value("float16"))})
        data = Dataset.from_generator(
            lambda: chain([first], made), features, cache_dir=str(temporary), fingerprint="targets"
        )
        directions = np.eye(len(squares))
        if isinstance(options, StaticOptions):
            # Largest sum of squares first; all directions together are a rotation, which keeps every cosine.
            directions = np.linalg.eigh(squares)[1][:, ::-1][:, : options.dimension]
        student = student or static_student(encoder, directions)
        history = _fit(student, directions, data, options, folder / f"fit-{digest.hexdigest()[:16]}", report)
    with atomic_folder(folder / "model") as aside:
        save_encoder(student.cpu(), aside, card and card(embedding_dimension(student), len(data)))
        if isinstance(options, StaticOptions) and options.int8:
            _save_as_int8(student[0], aside)
    for unfinished in (*folder.glob("fit-*"), folder / "teacher"):
        shutil.rmtree(unfinished, ignore_errors=True)
    return Distilled(folder / "model", history)


def _save_as_int8(module: Any, folder: Path) -> None:
    """Replace saved vectors by 8-bit integers and a scale per token, by the names that `StaticEmbedding` reads."""
    weight = module.embedding.weight.detach()
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127
    integers = (weight / scales[:, None]).round().to(torch.int8)
    (file,) = folder.rglob("model.safetensors")
    save_file({"embeddings": integers, "weights": scales}, file)


def static_student(teacher: SentenceTransformer, directions: np.ndarray) -> SentenceTransformer:
    """Return a static encoder whose vectors are the teacher's embeddings of single tokens.

    The directions of the teacher's space that become the student's dimensions are (dimension, kept).
    """
    tokenizer = teacher.tokenizer
    example = tokenizer("a", return_special_tokens_mask=True)
    inner = np.flatnonzero(np.equal(example["special_tokens_mask"], 0))
    ids = torch.tensor(example["input_ids"])
    before, after = ids[: inner[0]], ids[inner[-1] + 1 :]
    rows = []
    with torch.inference_mode():
        for tokens in torch.arange(len(tokenizer)).split(TOKENS):
            columns = [before.expand(len(tokens), -1), tokens[:, None], after.expand(len(tokens), -1)]
            inputs = torch.cat(columns, dim=1).to(teacher.device)
            features = {"input_ids": inputs, "attention_mask": torch.ones_like(inputs)}
            rows.append(teacher(features)["sentence_embedding"].float().cpu().numpy())
    vectors = np.concatenate(rows).astype(np.float64) @ directions
    vectors -= vectors.mean(axis=0)
    vectors /= max(float(np.sqrt(np.mean(vectors**2))), 1e-12)
    frequencies = 1 / np.arange(2, len(vectors) + 2)  # tokens are numbered by frequency: Zipf's law
    vectors *= (SIF / (SIF + frequencies / frequencies.sum()))[:, None]
    vectors[tokenizer.all_special_ids] = 0
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    module = StaticEmbedding(backend, embedding_weights=torch.tensor(vectors, dtype=torch.float32))
    return SentenceTransformer(modules=[module], device="cpu")


def first_layers(teacher: SentenceTransformer, layers: int) -> SentenceTransformer:
    """Return a copy of a teacher with its first layers only."""
    if not isinstance(teacher[0], Transformer):
        raise EaseError(
            f"A shallow student needs a transformer as `teacher`, not {type(teacher[0]).__name__}: choose another one."
        )
    student = copy.deepcopy(teacher)
    model: Any = student[0].model
    count = int(model.config.num_hidden_layers)
    stacks = [part for part in model.modules() if isinstance(part, nn.ModuleList) and len(part) == count]
    if layers >= count or len(stacks) != 1:
        raise EaseError(
            f"`layers` {layers}: the teacher has {count} in {len(stacks)} list(s): give fewer, or another `teacher`."
        )
    del stacks[0][layers:]
    model.config.num_hidden_layers = layers
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:layers]
    return student


def _check_dimensions(teacher: SentenceTransformer, options: Options) -> None:
    """Refuse a teacher or dimensions that do not fit before the teacher encodes the sentences."""
    dimension = embedding_dimension(teacher)
    if isinstance(options, StaticOptions):
        if not isinstance(teacher.tokenizer, PreTrainedTokenizerFast):
            raise EaseError("A static student needs a fast tokenizer: choose a transformer as `teacher`.")
        if options.dimension is not None and options.dimension > dimension:
            raise EaseError(f"`dimension` {options.dimension} is above the teacher's {dimension}: lower it.")
        dimension = options.dimension or dimension
    if wrong := [count for count in options.matryoshka if count >= dimension]:
        raise EaseError(f"`matryoshka` {wrong[0]}: give numbers below the student's {dimension}.")


class _Distance(nn.Module):
    """1 minus the cosine to the teacher's embeddings, averaged over numbers of first dimensions."""

    def __init__(self, student: SentenceTransformer, directions: np.ndarray, dimensions: Sequence[int]) -> None:
        super().__init__()
        self.student, self.dimensions = student, (None, *dimensions)
        self.directions = torch.tensor(directions.copy(), dtype=torch.float32, device=student.device)

    def forward(self, features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Return the loss of a batch."""
        (sentences,) = features
        # Without dropout, the same sentences in the same order give the same student.
        found = self.student.eval()(sentences)["sentence_embedding"]
        wanted = labels.float() @ self.directions
        losses = [1 - functional.cosine_similarity(found[:, :kept], wanted[:, :kept]) for kept in self.dimensions]
        return torch.stack(losses).mean()


class _Reporting(TrainerCallback):
    def __init__(self, report: Report | None) -> None:
        self.report = report

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Report a loss."""
        if self.report is not None and "loss" in given["logs"]:
            self.report(state.global_step, {"loss": given["logs"]["loss"]})


def _fit(
    student: SentenceTransformer,
    directions: np.ndarray,
    data: Dataset,
    options: Options,
    folder: Path,
    report: Report | None,
) -> list[dict[str, float]]:
    """Train a student in place, resuming from a checkpoint in the folder; return the reported losses."""
    learning = options.learning
    if not learning.epochs:
        return []
    student.to(best_device())
    steps = learning.epochs * -(-len(data) // learning.batch_size)
    arguments = SentenceTransformerTrainingArguments(
        str(folder),
        num_train_epochs=learning.epochs,
        per_device_train_batch_size=learning.batch_size,
        learning_rate=learning.learning_rate,
        max_grad_norm=0,
        seed=options.seed,
        use_cpu=student.device.type == "cpu",
        save_steps=max(1, steps // 20),
        save_total_limit=1,
        logging_steps=max(1, steps // 50),
        report_to="none",
        disable_tqdm=True,
        prompts=default_prompt(student) or None,
    )
    trainer = SentenceTransformerTrainer(
        student,
        arguments,
        data.with_format("torch"),
        loss=_Distance(student, directions, options.matryoshka),
        callbacks=[_Reporting(report)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)) if folder.is_dir() else None)
    return [{"step": log["step"], "loss": log["loss"]} for log in trainer.state.log_history if "loss" in log]
