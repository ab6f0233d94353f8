"""Complete tiny training runs: results, determinism, ablations, errors and memory."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModel

from ease.encoders.model_card import ModelCardData
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT
from ease.training import job as job_module
from ease.training.batches import Batch
from ease.training.job import run_job
from ease.training.model import TrainingModel
from tests.training.tiny_training import MakeJob, Trained, losses


def test_a_training_leaves_the_best_model_and_its_parts(trained: Trained, files: Path) -> None:
    result, reported = trained.result, trained.reports
    assert result.steps == 12
    scores = {step: values["development"] for step, values in reported if "development/sample_graded/en" in values}
    assert list(scores) == [0, 4, 8, 12]
    assert result.start_score == scores.pop(0)
    assert result.best_score == max(scores.values())
    assert scores[result.best_step] == result.best_score
    assert [step for step, values in reported if "loss" in values] == list(range(1, 13))
    assert {"loss", "entity_loss", "self_loss", "learning_rate", "pairs_per_second"} <= reported[1][1].keys()
    assert [{"step": step, **values} for step, values in reported] == result.history

    assert AutoModel.from_pretrained(result.model).config.hidden_size == 32
    parts = load_file(result.model / "training" / "parts.safetensors")
    assert parts["method.table.weight"].shape == (10, 24)
    assert parts["method.projection.weight"].shape == (32, 24)
    assert not np.array_equal(parts["method.table.weight"], load_file(files / "table.safetensors")["embeddings"])
    assert "20260101" in (result.model / "README.md").read_text(encoding="utf-8")
    left = {path.name for path in result.model.parent.iterdir()}
    assert left == {"job.json", "lock", "metrics.jsonl", "model", "result.json"}


def test_the_start_is_scored_and_never_kept(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([50.0, 30.0, 40.0])
    monkeypatch.setattr(job_module, "development_evaluation", lambda *_: lambda _: {DEVELOPMENT: next(left)})
    result = run_job(make_job(training={"max_steps": 4, "evaluate_every": 2}, card=ModelCardData()))
    assert (result.start_score, result.best_score, result.best_step) == (50, 40, 4)
    assert result.below_start
    assert [line["step"] for line in result.history if DEVELOPMENT in line] == [0, 2, 4]
    card = (result.model / "README.md").read_text(encoding="utf-8")
    assert "| development | 40.00 | 50.00 |" in card
    assert "lowered the model's score on `development" in card


def test_the_card_of_ease_plus_without_a_table_names_no_entity_embeddings(make_job: MakeJob) -> None:
    options = {"entity_weight": 0, "attraction": 1}
    training = {"max_steps": 1, "batches": {"sentences_per_entity": 2}}
    job = make_job(method="ease_plus", method_options=options, training=training, development={}, card=ModelCardData())
    card = (run_job(job).model / "README.md").read_text(encoding="utf-8")
    assert "EASE+ pulls a sentence towards other sentences about the same entity and towards its own encoding" in card
    assert "embeddings of entities" not in card
    assert "hard negative" not in card


def test_reports_are_means_over_their_steps_and_evaluations_change_nothing(make_job: MakeJob, trained: Trained) -> None:
    result = run_job(make_job(training={"report_every": 5}, development={}))
    single = {line["step"]: line for line in trained.result.history if "loss" in line}
    windows = {5: range(1, 6), 10: range(6, 11), 12: range(11, 13)}
    found = {int(line["step"]): line for line in result.history if "loss" in line}
    assert found.keys() == windows.keys()
    for step, steps in windows.items():
        for name in ("loss", "entity_loss", "self_loss"):
            assert found[step][name] == pytest.approx(np.mean([single[one][name] for one in steps]), rel=1e-6)
        assert found[step]["learning_rate"] == single[step]["learning_rate"]


def test_a_finished_training_is_not_repeated(trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(trained.job.folder, folder)
    job = trained.job.model_copy(update={"folder": folder})
    reported: list[int] = []
    again = run_job(job, lambda step, _: reported.append(step))
    assert again == trained.result.model_copy(update={"model": folder / "model"})
    assert not reported
    faster = job.training.model_copy(update={"learning_rate": 2e-3})
    run_job(job.model_copy(update={"training": faster}), lambda step, _: reported.append(step))
    assert reported[:2] == [0, 1]


def test_torch_s_global_state_is_restored_and_bf16_is_near_single_precision(make_job: MakeJob) -> None:
    threads, state, environment = torch.get_num_threads(), torch.get_rng_state(), dict(os.environ)
    found: list[bool] = []

    def note(step: int, _: dict[str, float]) -> None:
        found.append(torch.are_deterministic_algorithms_enabled())

    few: dict[str, Any] = {"max_steps": 1, "threads": threads + 1}
    still = "encoder_without_dropout"  # whose masks differ
    single = losses(run_job(make_job("single", still, development={}, training=few), note))
    few |= {"precision": "bf16", "deterministic": False}
    half = losses(run_job(make_job("half", still, development={}, training=few), note))
    assert half[1] != single[1]
    assert half[1] == pytest.approx(single[1], rel=0.02)
    assert found == [True, False]
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled()
    assert dict(os.environ) == environment


def test_bf16_casts_each_weight_once_a_step(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    casts: list[Counter[int]] = []

    class CastCounter(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten._foreach_copy_.default:
                casts[-1].update(weight.data_ptr() for weight in args[1])
            if func is torch.ops.aten._to_copy.default and kwargs["dtype"] is torch.bfloat16:
                casts[-1][args[0].data_ptr()] += 1
            return func(*args, **(kwargs or {}))

    def forward(model: TrainingModel, batch: Batch) -> dict[str, torch.Tensor]:
        assert len(batch.columns["sentence"].chunks) > 1
        casts.append(Counter())
        with CastCounter():
            terms = plain_forward(model, batch)
        weights = {weight.data_ptr() for weight in model.encoder.parameters()}
        casts[-1] = Counter({address: count for address, count in casts[-1].items() if address in weights})
        return terms

    plain_forward = TrainingModel.forward
    monkeypatch.setattr(TrainingModel, "forward", forward)
    run_job(make_job(development={}, training={"max_steps": 2, "precision": "bf16"}))
    assert [set(counts.values()) for counts in casts] == [{1}, {1}]


def test_the_train_time_mlp_stays_out_of_the_model(make_job: MakeJob) -> None:
    result = run_job(make_job(pooling="cls_mlp_train", training={"max_steps": 1}, development={}))
    encoder = SentenceTransformer(str(result.model), device="cpu")
    assert [type(module).__name__ for module in encoder] == ["Transformer", "Pooling"]
    assert "head.0.weight" in load_file(result.model / "training" / "parts.safetensors")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": Path("nowhere.parquet")}, "no such file"),
        ({"folder": Path(__file__) / "job"}, "Cannot write to .*test_job.py/job"),
        ({"table": None}, "needs the `table` of entity embeddings"),
        ({"vocabulary": None, "method_options": {"entity_weight": 0}}, "needs the entity `vocabulary`"),
        ({"training": {"batch_size": 512}}, "160 training pairs do not fill a batch of 512"),
        ({"training": {"max_tokens": 64}}, "`max_tokens` 64: the encoder accepts at most 32"),
        ({"training": {"matryoshka": [32]}}, "`matryoshka` 32: give numbers from 1 to 31"),
        ({"training": {"language_ranks": [4]}}, "rank 4 is above 3, the number of directions"),
        ({"training": {"language_ranks": [0, 1]}, "development": {}}, "a choice needs development tasks"),
        ({"training": {"compiled": True, "lora": {"rank": 4}}}, "`compiled` trains all weights"),
        ({"training": {"lora": {"targets": "query q_proj"}}}, "no linear layers named q_proj; it has dense"),
        ({"training": {"compiled": True, "packed": True}}, "On a CPU, `compiled` is for padded texts"),
        ({"training": {"sub_batch_size": 5}}, "16 is not a multiple of `sub_batch_size` 5"),
        (
            {"training": {"sub_batch_size": 4, "batches": {"sentences_per_entity": 4}}},
            "`sub_batch_size` 4 does not hold two entities of 4 sentences .*raise it to at least 8, or lower",
        ),
    ],
)
def test_faults_of_a_job_are_named(make_job: MakeJob, changes: dict[str, Any], message: str) -> None:
    with pytest.raises((EaseError, ValidationError), match=message):
        run_job(make_job(**changes))


def test_more_processes_than_gpus_are_refused(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    job = make_job(training={"processes": 2, "device": "auto"})
    with pytest.raises(EaseError, match="1 GPU.* for 2 `processes`: lower `processes`"):
        run_job(job)
    assert not job.folder.exists()


def test_unused_entities_are_not_read(make_job: MakeJob, trained: Trained, files: Path, tmp_path: Path) -> None:
    vocabulary = pq.read_table(files / "vocabulary.parquet").to_pylist()
    small = load_file(files / "table.safetensors")["embeddings"]
    large = np.full((5 * len(small), small.shape[1]), np.nan, dtype=np.float32)
    large[2::5] = small
    rows = [{"row": 5 * entry["row"] + 2, "entity": entry["entity"]} for entry in vocabulary]
    others = [{"row": row, "entity": 1000 + row} for row in range(len(large)) if row % 5 != 2]
    pq.write_table(pa.Table.from_pylist([*others, *rows]), tmp_path / "vocabulary.parquet")
    save_file({"rows": large}, tmp_path / "large.safetensors")
    job = make_job(vocabulary=tmp_path / "vocabulary.parquet", table=tmp_path / "large.safetensors")
    parts, usual = (
        load_file(result.model / "training" / "parts.safetensors") for result in (run_job(job), trained.result)
    )
    assert parts["vocabulary_rows"].tolist() == list(range(2, len(large), 5))
    assert np.array_equal(parts["method.table.weight"], usual["method.table.weight"])


def test_a_batch_beyond_the_memory_says_what_to_change(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingModel, "forward", lambda *_: torch.empty(1 << 60))
    with pytest.raises(EaseError, match="not enough memory. Lower `mini_batch_size`.*can't allocate memory"):
        run_job(make_job(development={}))
