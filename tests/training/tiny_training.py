"""A tiny real training: a two-layer BERT, pairs in three scripts, an entity table and graded pairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file, save_file

from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.training.options import TrainingJob, TrainingOptions, TrainingResult
from tests.evaluation.made_tasks import task_parameters

PLACES = ["Berlin", "Париж", "東京", "Roma", "Lisboa", "Москва", "大阪", "Ankara", "Kraków", "Oslo"]
PHRASES = ["{} is a large city", "{} — большой город на реке", "{}は大きな都市で、川がある", "people like {}"]
SMALL = RandomBertOptions(
    hidden_size=32, heads=2, intermediate_size=64, vocabulary_size=300, max_positions=32, dropout=0.1
)

MakeJob = Callable[..., TrainingJob]


class Trained(NamedTuple):
    """A finished training with its reports."""

    job: TrainingJob
    result: TrainingResult
    reports: list[tuple[int, dict[str, float]]]


def tiny_job(files: Path, folder: Path, encoder: str = "encoder", **changes: Any) -> TrainingJob:
    """Make a job of 12 steps of 16 pairs on the CPU, with a test's changes."""
    training = {
        "batch_size": 16,
        "learning_rate": 1e-3,
        "max_steps": 12,
        "report_every": 1,
        "evaluate_every": 4,
        "checkpoint_seconds": 0,
        "max_tokens": 16,
        "length_chunks": 2,
        "device": "cpu",
        "threads": 1,  # several would wait for each other on a busy machine, with nothing to share
        **changes.pop("training", {}),
    }
    values: dict[str, Any] = {
        "folder": folder,
        "pairs": files / "pairs.parquet",
        "encoder": str(files / encoder),
        "method": "ease",
        "vocabulary": files / "vocabulary.parquet",
        "table": files / "table.safetensors",
        "development": {"sample_graded": task_parameters("sample_graded", str(files / "graded.parquet"))},
        **changes,
    }
    return TrainingJob(training=TrainingOptions(**training), **values)


def weights(result: TrainingResult) -> dict[str, np.ndarray]:
    """Return all trained parameters by name."""
    parts = result.model / "training" / "parts.safetensors"
    return {**load_file(result.model / "model.safetensors"), **(load_file(parts) if parts.exists() else {})}


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    """Return whether weights are bit-identical."""
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def losses(result: TrainingResult) -> dict[int, float]:
    """Return the reported losses by step."""
    return {int(line["step"]): line["loss"] for line in result.history if "loss" in line}


def assert_same(first: TrainingResult, second: TrainingResult) -> None:
    """Compare all weights and all metrics except the throughput."""
    histories = [
        [{**line, "pairs_per_second": 0.0} if "loss" in line else line for line in result.history]
        for result in (first, second)
    ]
    assert histories[0] == histories[1]
    assert first.best_step == second.best_step
    assert same(weights(first), weights(second))


class Stop(Exception):
    """Interrupts a training run in the middle of a step."""


def stop_at(wanted: int) -> Callable[[int, dict[str, float]], None]:
    """Return a report that interrupts a training run after a step, before its checkpoint."""

    def report(step: int, values: dict[str, float]) -> None:
        if step == wanted:
            raise Stop

    return report


def sentences() -> list[str]:
    return [phrase.format(place) for place in PLACES for phrase in PHRASES]


def write_files(folder: Path) -> None:
    """Write all files of a tiny job: 160 pairs over 10 entities, a quarter of them without a hard negative."""
    texts = sentences() * 4
    entities = [3 * (number // len(PHRASES) % len(PLACES)) - 7 for number in range(len(texts))]
    negatives = [None if number % 4 == 0 else 3 * (number % len(PLACES)) - 7 for number in range(len(texts))]
    negatives = [None if one == own else one for one, own in zip(negatives, entities, strict=True)]
    further = [
        [3 * ((number // len(PHRASES) + step) % len(PLACES)) - 7 for step in range(1, 1 + number % 4)] or None
        for number in range(len(texts))
    ]
    subjects = [None if number % 3 else 3 * ((number + 5) % len(PLACES)) - 7 for number in range(len(texts))]
    columns = {
        "pair_id": pa.array(range(len(texts)), pa.int64()),
        "language": ["en", "ru", "ja", "eo"] * (len(texts) // 4),
        "sentence": texts,
        "entity": pa.array(entities, pa.int64()),
        "hard_negative": pa.array(negatives, pa.int64()),
        "further_entities": pa.array(further, pa.list_(pa.int64())),
        "subject": pa.array(subjects, pa.int64()),
    }
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    count = len(PLACES)
    vocabulary = {
        "row": list(range(count)),
        "entity": pa.array([3 * number - 7 for number in range(count)], pa.int64()),
    }
    pq.write_table(pa.table(vocabulary).take([3, 1, 0, 2, *range(4, count)]), folder / "vocabulary.parquet")
    table = np.random.default_rng(0).normal(size=(count, 24)).astype(np.float32)
    save_file({"embeddings": table}, folder / "table.safetensors")
    save_encoder(build_encoder(EncoderOptions(random=SMALL), sentences()), folder / "encoder")
    still = SMALL.model_copy(update={"dropout": 0.0})
    save_encoder(build_encoder(EncoderOptions(random=still), sentences()), folder / "encoder_without_dropout")
    graded = {
        "sentence1": sentences()[:20],
        "sentence2": sentences()[4:24],
        "score": [float(number % 6) for number in range(20)],
    }
    pq.write_table(pa.table(graded), folder / "graded.parquet")
