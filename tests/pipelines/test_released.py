"""The complete job trains on released pairs without a dump."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from tests.file_server import Answer, FileServer
from tests.made_pairs import make_records
from tests.project import Project

pytestmark = pytest.mark.slow

RECORDS = make_records()


def test_every_stage_runs_on_pairs_of_several_languages(copy: Project, server: FileServer) -> None:
    server.files["/resolve/main/pairs.json"] = json.dumps(RECORDS).encode()
    server.answers["/resolve/main/pairs.json"] = [Answer(break_after=1000)]
    address = f"{server.address}/resolve/main/pairs.json"
    unread = {"acquire__wikipedia": "nowhere", "acquire__wikidata": "nowhere"}
    copy.run("released_pairs", "--namespaces=multilingual", multilingual__pairs__released=address, **unread)
    trained = "--tags=acquire_evaluation,entity_embeddings,train,evaluate"
    copy.run("train_multilingual", trained, "--to-nodes=multilingual.ease.score_encoder")
    rows = pq.read_table(copy.latest("05_model_input/multilingual/training_pairs.parquet")).to_pylist()
    vocabulary = pq.read_table(copy.latest("03_primary/multilingual/entity_vocabulary.parquet")).to_pylist()
    labels = {row["entity"]: row["label"] for row in vocabulary}
    assert {row["language"] for row in rows} == {"und"}
    given = {record["text"]: record for record in RECORDS}
    assert {row["sentence"]: labels[row["entity"]] for row in rows} == {
        text: record["positive_entity"] for text, record in given.items()
    }
    assert all(labels[row["hard_negative"]] in given[row["sentence"]]["negative_entity"] for row in rows)
    assert copy.json("08_reporting/multilingual/embedding_coverage.json")["source"] == "random"
    assert len(copy.versions("07_model_output/multilingual/ease/scores.json")) == 2
    card = (copy.latest("06_models/multilingual/ease/encoder") / "README.md").read_text("utf-8")
    assert "| Released training pairs: pairs.json |  | as its publisher says |" in card
    listed = copy.json("01_raw/multilingual/dumps.json")
    assert listed["source"] == address
    assert listed["wikipedia"] == []
