"""A run says in its log, with lines at most seconds apart, which node runs and what the node has done."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner

import ease
from ease.encoders.encoding import encode_with
from ease.evaluation.scoring import score_task
from ease.hooks.progress import RunProgress
from tests.encoders.tiny import tiny_encoder
from tests.evaluation.made_tasks import make_task

LANGUAGES = ("deu", "fra", "ita", "jpn")


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """Parallel sentences of four pairs of languages, and a short silence."""
    monkeypatch.setattr("ease.io.progress.SILENCE", 0.1)
    caplog.set_level(logging.INFO)
    for language in LANGUAGES:
        for side in (language, "eng"):
            lines = [f"{side} sentence {number}" for number in range(20)]
            (tmp_path / f"tatoeba.{language}-eng.{side}").write_text("\n".join(lines) + "\n")
    return tmp_path


def slow_encode(sentences: Sequence[str]) -> np.ndarray:
    time.sleep(0.3)
    return np.random.default_rng(len(sentences)).normal(size=(len(sentences), 4)).astype(np.float32)


def test_a_run_says_which_node_runs_and_what_it_has_done(sets: Path, caplog: pytest.LogCaptureFixture) -> None:
    def prepare() -> int:
        time.sleep(0.3)
        return 1

    def score(_: int) -> int:
        return len(score_task(slow_encode, make_task("tatoeba", sets)))

    hooks = _create_hook_manager()
    hooks.register(RunProgress())
    pipeline = Pipeline([node(prepare, None, "start", name="prepare"), node(score, "start", "scores", name="score")])
    catalog = DataCatalog({"start": MemoryDataset(), "scores": MemoryDataset()})
    hooks.hook.before_pipeline_run(run_params={}, pipeline=pipeline, catalog=catalog)
    time.sleep(0.3)
    SequentialRunner().run(pipeline, catalog, hooks)
    hooks.hook.after_pipeline_run(run_params={}, run_result={}, pipeline=pipeline, catalog=catalog)
    lines = caplog.messages
    assert lines[0] == "Checking what the 2 nodes of this run need", "at once"
    assert "0 of 2 nodes done, the next has not begun for 0 s" in lines
    assert "Node 1 of 2: prepare for 0 s" in lines
    assert any(re.fullmatch(r"Node 2 of 2: score for \d s; tatoeba: [123] of 4 subsets", line) for line in lines)


@pytest.mark.slow
def test_scoring_and_encoding_of_a_script_are_reported(
    sets: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny_encoder(["A sentence."])
    forward = encoder.forward

    def slow_forward(*inputs: Any, **options: Any) -> Any:
        time.sleep(0.2)
        return forward(*inputs, **options)

    monkeypatch.setattr(encoder, "forward", slow_forward)
    encode = encode_with(encoder)
    assert encode(["A sentence."]).shape == (1, 16)
    ease.evaluate(encoder, {"tatoeba": {"path": sets}}, batch_size=4)
    line = r"Scoring; tasks: 0 of 1 tasks; tatoeba: \d of 4 subsets; encoding: \d+ of \d+ sentences"
    assert any(re.fullmatch(line, text) for text in caplog.messages), caplog.messages
