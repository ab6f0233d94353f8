"""Complete tiny trainings: results, determinism, ablations and errors."""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import pairwise_cos_sim
from transformers import AutoModel

from ease.encoders.encoder import load_encoder
from ease.encoders.model_card import ModelCardData
from ease.errors import EaseError
from ease.training import job as job_module
from ease.training.__main__ import read_job
from ease.training.job import _log_gain, run_job
from ease.training.options import TrainingOptions
from ease.training.progress import Progress
from tests.training.processes import finish, train_in_process
from tests.training.tiny_training import MakeJob, Trained, losses, same, weights


def test_a_training_leaves_the_best_model_and_its_parts(trained: Trained, files: Path) -> None:
    result, reported = trained.result, trained.reports
    assert result.steps == 12
    scores = {
        step: values["development"] for step, values in reported if "development/sample_graded/en" in values
    }
    assert list(scores) == [0, 4, 8, 12]
    assert result.start_score == scores.pop(0)
    assert result.best_score == max(scores.values())
    assert scores[result.best_step] == result.best_score
    assert [step for step, values in reported if "loss" in values] == list(range(1, 13))
    assert {"loss", "entity_loss", "self_loss", "learning_rate", "pairs_per_second"} <= reported[1][1].keys()
    assert [{"step": step, **values} for step, values in reported] == result.history

    encoder = SentenceTransformer(str(result.model), device="cpu")
    assert encoder.encode(["Berlin", "東京"]).shape == (2, 32)
    assert AutoModel.from_pretrained(result.model).config.hidden_size == 32
    parts = load_file(result.model / "training" / "parts.safetensors")
    assert parts["method.table.weight"].shape == (10, 24)
    assert parts["method.projection.weight"].shape == (32, 24)
    assert not np.array_equal(
        parts["method.table.weight"], load_file(files / "table.safetensors")["embeddings"]
    )
    readme = (result.model / "README.md").read_text(encoding="utf-8")
    assert "20260101" in readme
    assert f"| development | {result.best_score:.2f} |" in readme
    assert "| development/sample_graded/en |" in readme
    left = {path.name for path in result.model.parent.iterdir()}
    assert left == {"job.json", "lock", "metrics.jsonl", "model", "result.json"}


def test_the_start_is_scored_and_never_kept(
    make_job: MakeJob, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every model is worse than the start, whose own cosines are the gold scores; the log and the result say so."""
    job = make_job("worse", training={"learning_rate": 3.0}, card=ModelCardData())
    graded = pq.read_table(job.development["sample_graded"]["path"])
    encoder = load_encoder(job.encoder)
    first, second = (encoder.encode(graded[name].to_pylist()) for name in ("sentence1", "sentence2"))
    cosines = pairwise_cos_sim(first, second).tolist()
    path = tmp_path / "graded.parquet"
    pq.write_table(graded.set_column(graded.column_names.index("score"), "score", pa.array(cosines)), path)
    result = run_job(job.model_copy(update={"development": {"sample_graded": {"path": str(path)}}}))
    start = result.start_score
    assert start == pytest.approx(100, abs=0.5)
    assert result.below_start
    assert result.best_step > 0
    assert [line["step"] for line in result.history if "development" in line] == [0, 4, 8, 12]
    assert any("worse" in line.message for line in caplog.records if line.levelname == "WARNING")
    card = (result.model / "README.md").read_text(encoding="utf-8")
    assert f"| development | {result.best_score:.2f} | {start:.2f} |" in card
    assert "lowered the model's score on `development" in card


def test_reports_are_means_over_their_steps(make_job: MakeJob, trained: Trained) -> None:
    result = run_job(make_job(training={"report_every": 5}))
    single = {line["step"]: line for line in trained.result.history if "loss" in line}
    windows = {5: range(1, 6), 10: range(6, 11), 12: range(11, 13)}
    found = {int(line["step"]): line for line in result.history if "loss" in line}
    assert found.keys() == windows.keys()
    for step, steps in windows.items():
        for name in ("loss", "entity_loss", "self_loss"):
            assert found[step][name] == pytest.approx(np.mean([single[one][name] for one in steps]), rel=1e-6)
        assert found[step]["learning_rate"] == single[step]["learning_rate"]


def test_rates_are_of_training_steps_alone(make_job: MakeJob) -> None:
    """Six slow reports, four of them of evaluations, take a second in total and are not counted."""
    begun = time.perf_counter()
    result = run_job(make_job(training={"report_every": 6}), lambda step, values: time.sleep(0.2))
    elapsed = time.perf_counter() - begun
    assert len(result.history) == 6
    assert 0 < result.seconds < elapsed - 6 * 0.2
    assert result.pairs_per_second == pytest.approx(12 * 16 / result.seconds)
    windows = [6 * 16 / line["pairs_per_second"] for line in result.history if "loss" in line]
    assert len(windows) == 2
    assert 0 < sum(windows) <= result.seconds * 1.000001


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(
    make_job: MakeJob, trained: Trained
) -> None:
    second, other = run_job(make_job("second")), run_job(make_job("other", training={"seed": 1}))
    assert losses(trained.result) == losses(second)
    assert same(weights(trained.result), weights(second))
    assert not same(weights(trained.result), weights(other))


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


def test_a_model_without_its_result_is_not_taken_for_an_earlier_one(
    make_job: MakeJob, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job()
    run_job(job)

    def full(*_: object) -> None:
        raise OSError("no room")

    other = job.model_copy(update={"training": job.training.model_copy(update={"learning_rate": 2e-3})})
    monkeypatch.setattr(job_module, "write_text_atomically", full)
    with pytest.raises(OSError, match="no room"):
        run_job(other)
    monkeypatch.undo()
    assert same(weights(run_job(job)), weights(trained.result))


def test_torch_s_global_state_is_restored(make_job: MakeJob) -> None:
    threads, state, environment = torch.get_num_threads(), torch.get_rng_state(), dict(os.environ)
    found: list[bool] = []

    def note(step: int, _: dict[str, float]) -> None:
        found.append(torch.are_deterministic_algorithms_enabled())

    few: dict[str, Any] = {"max_steps": 1, "threads": threads + 1}
    run_job(make_job(development={}, training=few), note)
    few |= {"precision": "bf16", "deterministic": False}
    run_job(make_job("half", development={}, training=few), note)
    assert found == [True, False]
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled()
    assert dict(os.environ) == environment


def test_bf16_is_close_to_single_precision_and_evaluations_change_nothing(
    make_job: MakeJob, trained: Trained
) -> None:
    half, single = (
        losses(run_job(make_job(precision, development={}, training={"precision": precision})))
        for precision in ("bf16", "fp32")
    )
    assert single == losses(trained.result), "which is evaluated"
    assert half[1] != single[1]
    assert half[1] == pytest.approx(single[1], rel=0.02)


def test_reads_entities_decides_the_input_of_a_method(make_job: MakeJob) -> None:
    with pytest.raises(EaseError, match="needs the `table` of entity embeddings"):
        run_job(make_job(table=None))
    with pytest.raises(EaseError, match="needs the entity `vocabulary`"):
        run_job(make_job(vocabulary=None, method_options={"entity_weight": 0}))
    short: dict[str, Any] = {"training": {"max_steps": 2}, "development": {}}
    entity_table = run_job(make_job("table", **short)).model / "training" / "parts.safetensors"
    assert "vocabulary_rows" in load_file(entity_table)
    without = run_job(make_job("without", table=None, method_options={"entity_weight": 0}, **short))
    texts = run_job(make_job("texts", method="simcse", **short))
    for result in (without, texts):
        assert not (result.model / "training").exists(), "given a table that it does not train"


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("entity", "No entity has two sentences"),
        ("language", "All sentences are of one language"),
        ("page_id", "All sentences are of one page"),
    ],
)
def test_what_keeps_sentences_from_attracting_each_other_is_said(
    make_job: MakeJob, files: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: str, said: str
) -> None:
    pairs = pd.read_parquet(files / "pairs.parquet").assign(language=["en", "it"] * 80, page_id=range(160))
    if kept == "entity":
        pairs = pairs.drop_duplicates("entity")
    else:
        pairs[kept] = pairs[kept].iloc[0]
    pairs.to_parquet(tmp_path / "pairs.parquet")
    rows = pairs["entity"].to_numpy(np.int64).view([("entity", "<i8")])
    job_module._describe_entities(make_job(pairs=tmp_path / "pairs.parquet"), rows)
    warned = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert [said in message for message in warned] == [True]


def test_the_train_time_mlp_stays_out_of_the_model(make_job: MakeJob) -> None:
    result = run_job(make_job(pooling="cls_mlp_train", training={"max_steps": 1}, development={}))
    encoder = SentenceTransformer(str(result.model), device="cpu")
    assert [type(module).__name__ for module in encoder] == ["Transformer", "Pooling"]
    assert "head.0.weight" in load_file(result.model / "training" / "parts.safetensors")


def test_faults_of_a_job_are_named(make_job: MakeJob, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="Unknown training method 'eas': did you mean ease"):
        make_job(method="eas")
    with pytest.raises(ValidationError, match="temperature: Input should be greater than 0"):
        make_job(method_options={"temperature": -0.05})
    with pytest.raises(EaseError, match="160 training pairs do not fill a batch of 512"):
        run_job(make_job(training={"batch_size": 512}))
    with pytest.raises(EaseError, match="no such file"):
        run_job(make_job(pairs=tmp_path / "nowhere.parquet"))
    with pytest.raises(EaseError, match="`max_tokens` 64: the encoder accepts at most 32"):
        run_job(make_job(training={"max_tokens": 64}))
    with pytest.raises(EaseError, match="Unknown evaluation task 'stsbb'"):
        run_job(make_job(development={"stsbb": {}}))
    with pytest.raises(EaseError, match="Encoder '/nowhere' does not load"):
        run_job(make_job(encoder="/nowhere"))
    occupied = tmp_path / "occupied"
    occupied.write_text("", encoding="utf-8")
    with pytest.raises(EaseError, match="Cannot write to .*occupied/job"):
        run_job(make_job(folder=occupied / "job"))


def test_a_folder_has_one_training_at_a_time(make_job: MakeJob, trained: Trained, tmp_path: Path) -> None:
    job, refusal = make_job(), tmp_path / "refusal.txt"
    other = make_job(training={"learning_rate": 0.5})

    def intrude(step: int, values: dict[str, float]) -> None:
        if step == 1:
            with pytest.raises(EaseError, match="Another run is at work"):
                run_job(other)
            assert finish([train_in_process(other, refusal)]) == [1]

    result = run_job(job, intrude)
    message = refusal.read_text(encoding="utf-8")
    assert f"Another run is at work in {job.folder} (process {os.getpid()} on" in message
    assert read_job(job.folder) == job, "the job is described as it runs"
    assert losses(result) == losses(trained.result)


@pytest.mark.parametrize("judged", [True, False])
def test_only_sentence_embeddings_are_judged_by_the_development_score(
    trained: Trained, caplog: pytest.LogCaptureFixture, judged: bool
) -> None:
    worse = trained.result.model_copy(update={"start_score": 90.0, "best_score": 80.0})
    with caplog.at_level(logging.INFO, "ease.training.job"):
        _log_gain(worse, judged=judged)
    assert "scores 80.00 on the development tasks, the start 90.00" in caplog.text
    assert ("made the encoder worse" in caplog.text) is judged


def test_without_a_terminal_a_line_is_logged_by_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.training.progress.SECONDS_BETWEEN_LINES", 0.0)
    progress = Progress(tmp_path, 9, TrainingOptions(seed=0, report_every=100), None)
    progress.start(0, None)
    with caplog.at_level(logging.INFO, "ease.training.progress"):
        for step, loss in enumerate((3.0, 2.0), start=1):
            progress.add(step, {"loss": torch.tensor(loss)}, {})
    assert f"{tmp_path.name}: step 2 of 9, loss 2.5000, pairs/s " in caplog.text


def test_sentences_with_more_entities_than_positives_are_counted(
    make_job: MakeJob, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    options = {"positives": 2}
    changes: dict[str, Any] = {"method": "ease_plus", "method_options": options, "development": {}}
    run_job(make_job("counted", training={"max_steps": 1}, **changes))
    assert "80 of 160 pairs have more than 1 other entities in their sentence" in caplog.text


def test_more_processes_than_gpus_are_refused(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    job = make_job(training={"processes": 2, "device": "auto"})
    with pytest.raises(EaseError, match="1 GPU.* for 2 `processes`: lower `processes`"):
        run_job(job)
    assert not job.folder.exists()
