"""How a training run is executed: chosen from its options and the device, and said in one line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from accelerate import Accelerator

from ease.encoders import precision
from ease.encoders.encoder import load_encoder
from ease.training import execution
from ease.training.accelerator import accelerated
from ease.training.execution import Execution, choose_execution
from ease.training.options import TrainingOptions


def choose(files: Path, processes: int = 1, **options: Any) -> Execution:
    """Choose for the tiny encoder, a method of one column, and batches of 16 pairs."""
    validated = TrainingOptions(**{"batch_size": 16, "device": "cpu", "threads": 2, **options})
    return choose_execution(validated, load_encoder(str(files / "encoder")), 1, processes)


@pytest.mark.parametrize(
    ("options", "processes", "chunks"),
    [
        ({}, 1, 4),
        ({"length_chunks": 2}, 1, 2),
        ({"packed": True}, 1, 1),
        ({"mini_batch_size": 2}, 1, 8),
        ({"mini_batch_size": 2, "packed": True}, 2, 4),
        ({"mini_batch_size": 2, "sub_batch_size": 8}, 2, 4),
    ],
)
def test_no_chunk_is_larger_than_a_mini_batch(
    files: Path, options: dict[str, Any], processes: int, chunks: int
) -> None:
    assert choose(files, processes, **options).chunks == chunks


def test_the_choice_is_logged_in_one_line_with_its_reasons(
    files: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda: False)
    monkeypatch.setattr(precision, "LEAST_WEIGHTS", 1)
    with caplog.at_level(logging.INFO, "ease.training.execution"):
        choose(files, onednn=False, sub_batch_size=4)
        choose(files, compiled=True, precision="fp32")
        choose(files, onednn=False, packed=True, mini_batch_size=8, precision="bf16")
        choose(files, precision="bf16")
    cpu = "Execution: CPU (`device: cpu`), 2 threads"
    assert [line for line in caplog.messages if line.startswith("Execution")] == [
        f"{cpu}, fp32 (this CPU has no bf16 instructions); padded texts, in 4 chunks by length; 4 sub-batches a step",
        f"{cpu}, fp32; padded texts, in 4 chunks by length; compiled layers",
        f"{cpu}, bf16; texts in rows of 64 tokens (`packed: true`); mini-batches of 8 pairs, computed twice",
        f"{cpu}, bf16; texts in rows of 64 tokens (in bf16 faster than padded texts)",
    ]


def test_a_cpu_that_multiplies_faster_in_bf16_takes_it_for_large_encoders(
    files: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda: True)
    monkeypatch.setattr(precision, "bf16_gain", lambda: 2.0)
    assert choose(files).precision == "fp32", "the tiny encoder"
    monkeypatch.setattr(precision, "LEAST_WEIGHTS", 1)
    with caplog.at_level(logging.INFO, "ease.training.execution"):
        chosen = choose(files)
    assert (chosen.precision, chosen.onednn) == ("bf16", False)
    assert "2 threads, bf16 (this CPU multiplies faster in bf16); texts in rows" in caplog.text


@pytest.mark.parametrize(
    ("options", "processes", "packed"),
    [
        ({"max_tokens": 32}, 1, True),
        ({"max_tokens": 35}, 1, False),
        ({"max_tokens": 32, "packed": False}, 1, False),
        ({"max_tokens": 32, "length_chunks": 4}, 1, False),
        ({"max_tokens": 32, "mini_batch_size": 8}, 1, False),
        ({"max_tokens": 32, "compiled": True}, 1, False),
        ({"max_tokens": 32, "precision": "fp32"}, 1, False),
        ({"max_tokens": 32}, 2, False),
    ],
)
def test_in_bf16_on_a_cpu_texts_are_packed_if_they_fill_rows(
    files: Path, options: dict[str, Any], processes: int, packed: bool
) -> None:
    assert choose(files, processes, **{"precision": "bf16", **options}).packed == packed


def test_an_encoder_that_refuses_packed_texts_is_padded_in_bf16(files: Path) -> None:
    encoder = load_encoder(str(files / "encoder"))
    transformer: Any = encoder[0]
    transformer.model.set_attn_implementation("eager")
    chosen = choose_execution(TrainingOptions(device="cpu", precision="bf16"), encoder, 1)
    assert (chosen.half_transformer, chosen.packed, chosen.chunks) == (True, False, 4)


def test_a_gpu_packs_texts_for_graphs_where_it_can(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "uses_gpu", lambda options: options.device == "auto")
    gpu = {"device": "auto", "precision": "fp32"}
    with_graphs, without = choose(files, **gpu), choose(files, graphs=False, **gpu)
    assert (with_graphs.device, with_graphs.graphs, with_graphs.packed, with_graphs.chunks) == ("cuda", True, True, 1)
    assert (without.device, without.graphs, without.packed, without.chunks) == ("cuda", False, False, 1)


def test_a_precision_can_follow_another_trainers() -> None:
    Accelerator(cpu=True, mixed_precision="no")
    with accelerated(Execution(precision="bf16")) as accelerator:
        assert accelerator.mixed_precision == "bf16"
