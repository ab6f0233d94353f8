"""The pipeline `audit`: a test set on the sample, whose pages are kept out of the training pairs."""

from __future__ import annotations

import runpy
from pathlib import Path

import ibis
import mteb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW

from ease.entities.audit import AuditOptions, add_distractors, match_candidates
from ease.entities.negatives import HardNegativeOptions
from ease.entities.pairs import PairOptions
from ease.errors import EaseError
from ease.pipelines.audit.nodes import find_audit_candidates, match_audit_titles, write_audit
from ease.pipelines.entity_pairs.nodes import make_pairs
from ease.pipelines.setting import Setting
from tests.pipelines.test_entity_pairs import WIKIDATA, tables
from tests.project import Project

LANGUAGES = ("ar", "de", "ja")


def setting(languages: str = "en eo") -> Setting:
    """A setting without an encoder to load."""
    names = {"name": "mine", "dev_tasks": (), "test_tasks": ()}
    return Setting(**names, languages=languages, encoder={"name": "random:", "seed": 0})


@pytest.fixture(scope="module")
def audited(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which the audit was made, and a training run that it chose the checkpoint of."""
    made = project.copy(tmp_path_factory.mktemp("audited") / "copy")
    made.run("audit", "--tags=audit")
    made.run(
        "train_multilingual",
        "--from-nodes=multilingual.entity_pairs.make_pairs,multilingual.acquire_evaluation.locate_evaluation_sets",
        "--to-nodes=multilingual.ease.score_encoder",
        multilingual__pairs__without_audit="true",
        multilingual__setting__dev_tasks="audit",
        multilingual__setting__test_tasks="audit",
    )
    return made


def test_the_test_set_is_made_by_one_command(audited: Project) -> None:
    assert not (audited.folder / "data" / "01_raw" / "evaluation" / "audit").exists()
    folder = audited.latest("03_primary/multilingual/audit_set")
    assert sorted(path.stem for path in folder.iterdir()) == [f"{language}-en" for language in LANGUAGES]
    summary = pd.DataFrame(audited.json("08_reporting/multilingual/audit_summary.json"))
    # The sample's sentences are all made from templates, of which few are used.
    assert summary.pairs.between(5, 20).all()
    for subset, pairs in zip(summary.subset, summary.pairs, strict=True):
        rows = pq.read_table(folder / f"{subset}.parquet").to_pandas()
        answers = rows[rows.grade == "answer"]
        sentences = answers[answers.kind.isin(["first", "links"])]
        assert sentences["side"].value_counts().to_dict() == {"left": pairs, "right": pairs}
        assert set(rows.grade) == {"answer", "same_page", "same_link", "same_type"}
    assert (summary.words + summary.names).min() > 30


def test_mteb_scores_the_pairs_as_a_task_of_its_own(audited: Project) -> None:
    folder = audited.latest("08_reporting/multilingual/audit_task")
    module = runpy.run_path(str(folder / "mteb_task.py"))
    task = module["WikipediaAuditArDeJaEn"]()
    encoder = SentenceTransformer(modules=[BoW(vocab=list("abcdefghijklmnopqrstuvwxyz"))])
    results = mteb.evaluate(encoder, [task], cache=None, show_progress_bar=False).task_results[0]
    scores = {row["hf_subset"]: row for row in results.scores["test"]}
    assert set(scores) == {f"{code}-en-{kind}" for code in LANGUAGES for kind in ("names", "sentences")}
    assert scores["ja-en-names"]["languages"] == ["jpn-Jpan", "eng-Latn"]
    assert all(0 <= row["main_score"] <= 1 for row in scores.values())
    card = (folder / "README.md").read_text()
    assert DatasetCard(card).data.to_dict()["license"] == "cc-by-sa-4.0"
    assert "| ja-en-names | jpn-Jpan, eng-Latn | " in card


def test_no_page_of_the_audit_is_in_the_training_pairs(audited: Project) -> None:
    pages = pq.read_table(audited.latest("03_primary/multilingual/audit_pages.parquet")).to_pandas()
    pairs = pq.read_table(audited.latest("05_model_input/multilingual/training_pairs.parquet")).to_pandas()
    assert len(pages) > 50
    assert len(pairs) > 100
    assert pairs.merge(pages, on=["language", "page_id"]).empty


def test_the_audit_chooses_the_checkpoint_and_scores_the_encoder(audited: Project) -> None:
    history = pd.DataFrame(audited.json("06_models/multilingual/ease/history.json"))
    own = history[history.name == "development/audit/average"].set_index("step").value
    chosen = history[history.name == "development"].set_index("step").value
    # The main score alone, not that of a grade.
    assert own.to_dict() == pytest.approx(chosen.to_dict())
    rows = audited.json("07_model_output/multilingual/ease/scores.json")
    assert {row["subset"] for row in rows} == {"average", *(f"{language}-en" for language in LANGUAGES)}
    assert {row["metric"] for row in rows} == {
        *("audit_score", "kept_neighbours", "hubs", "retrieval_accuracy"),
        *("reciprocal_rank", "free_reciprocal_rank", "sentence_reciprocal_rank"),
        *(f"{grade}_accuracy" for grade in ("other_pages", "same_type", "same_link", "same_page")),
    }
    main = [row for row in rows if row["main"] and row["subset"] != "average"]
    assert all(row["low"] < row["value"] < row["high"] for row in main), "each has an interval"


def test_pairs_without_a_missing_audit_are_refused() -> None:
    options = PairOptions(without_audit=True)
    with pytest.raises(EaseError, match=r"`mine.pairs.without_audit` is set, .* has no audit yet"):
        make_pairs(
            **tables(),
            dumps=WIKIDATA,
            audit_pages=None,
            options=options,
            negatives=HardNegativeOptions(without="keep"),
            setting=setting("en"),
        )


def audit_tables() -> list[ibis.Table]:
    given = tables()
    return [given[name] for name in ("sentences", "links", "sitelinks", "entity_types")]


def test_dumps_without_items_cannot_be_audited() -> None:
    with pytest.raises(EaseError, match=r"give a Wikidata dump \(`acquire.wikidata`\), or"):
        find_audit_candidates(*audit_tables(), {"wikidata": None, "page_props": []}, AuditOptions(), setting("en eo"))


def test_a_language_without_any_pair_is_named(tmp_path: Path) -> None:
    given = audit_tables()
    candidates = find_audit_candidates(*given, WIKIDATA, AuditOptions(), setting())
    answers = match_candidates(candidates, AuditOptions())
    sentences, links, sitelinks, types = given
    titles = match_audit_titles(sentences, sitelinks, types, AuditOptions(), setting())
    audit = add_distractors(answers, titles, candidates, sentences, links, types, AuditOptions())
    with pytest.raises(EaseError, match=r"fewer than 50 pairs \(`audit.min_pairs`\): eo-en 0"):
        write_audit(audit, AuditOptions(), setting(), str(tmp_path))
    assert not list(tmp_path.iterdir())
