"""`ease.training.api.train` on tables in memory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.api import train
from ease.training.job import run_job
from ease.training.options import LoraOptions, TrainingJob, TrainingOptions
from tests.training.tiny_training import MakeJob, sentences

LOOP: dict[str, Any] = {"batch_size": 16, "learning_rate": 1e-3, "max_steps": 4, "max_tokens": 16, "device": "cpu"}


def pairs() -> pd.DataFrame:
    texts = sentences()
    return pd.DataFrame({"sentence": texts, "entity": [f"Q{number // 4}" for number in range(len(texts))]})


def embed(model: Any) -> np.ndarray:
    found: np.ndarray = model.encode(sentences()[:8])
    return found


def test_the_file_of_an_encoder_gives_the_defaults(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bge-m3` is trained by LoRA, and a given value wins."""
    shutil.copytree(files / "encoder", tmp_path / "bge-m3")
    (tmp_path / "bge-m3" / "README.md").write_text("---\nbase_model: BAAI/bge-m3\n---\n", encoding="utf-8")
    given: list[TrainingOptions] = []

    def spy(job: TrainingJob, *others: Any) -> Any:
        given.append(job.training)
        return run_job(job, *others)

    monkeypatch.setattr("ease.training.api.run_job", spy)
    loop = {name: value for name, value in LOOP.items() if name != "learning_rate"}
    train(pairs(), tmp_path / "bge-m3", "simcse", **{**loop, "max_steps": 1})
    assert (given[0].learning_rate, given[0].batch_size) == (1e-4, 16)
    assert given[0].lora == LoraOptions(rank=16, targets=("query", "key", "value", "dense"))


def test_tables_of_all_kinds_numbers_and_texts_train_the_same_encoder(files: Path, tmp_path: Path) -> None:
    texts = pairs().assign(hard_negative=[None, "Q99"] * (len(pairs()) // 2))
    numbers = texts.assign(entity=texts["entity"].str[1:].astype(int), hard_negative=[None, 99] * (len(pairs()) // 2))
    assert numbers["hard_negative"].dtype == float, "pandas has no integers with nulls"
    texts.to_parquet(tmp_path / "given.parquet")
    tables = [texts, pa.Table.from_pandas(texts), tmp_path / "given.parquet", numbers]
    reported: list[int] = []
    start = load_encoder(str(files / "encoder"))
    before = embed(start)
    loop = {**LOOP, "max_steps": 2, "temperature": 0.1, "report_every": 1}
    found = [embed(train(table, start, report=lambda step, _: reported.append(step), **loop)) for table in tables]
    assert reported == [1, 2] * len(tables)
    assert np.array_equal(embed(start), before), "the object is not changed"
    assert not np.allclose(found[0], before)
    assert all(np.array_equal(one, found[0]) for one in found)


def test_ease_plus_reads_the_further_entities_of_a_sentence(files: Path) -> None:
    count = len(pairs())
    known = pairs().assign(further_entities=[[f"Q{number % 5}", f"P{number}"] for number in range(count)])
    loop = {**LOOP, "max_steps": 2, "entity_weight": 1.0}
    found, alone = (embed(train(table, str(files / "encoder"), "ease_plus", **loop)) for table in (known, pairs()))
    assert not np.allclose(found, alone)


def test_the_training_is_that_of_the_pipelines(files: Path, tmp_path: Path, make_job: MakeJob) -> None:
    table = pq.read_table(files / "pairs.parquet")
    vocabulary = pq.read_table(files / "vocabulary.parquet").to_pylist()
    embeddings = load_file(files / "table.safetensors")["embeddings"]
    given = {entry["entity"]: embeddings[entry["row"]] for entry in vocabulary}
    loop = {**LOOP, "threads": 1, "length_chunks": 2, "entity_weight": 1.0, "temperature": 0.05, "seed": 0}
    found = train(table, files / "encoder", entity_embeddings=given, folder=tmp_path / "kept", **loop)
    result = run_job(make_job(development={}, training={"max_steps": 4}))
    assert np.allclose(embed(found), embed(load_encoder(str(result.model))), atol=1e-5)
    assert (tmp_path / "kept" / "model").is_dir()


VECTORS = {f"Q{number}": [1.0] * (3 if number == 1 else 2) for number in range(10)}


def with_column(name: str, values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"sentence": ["a", "b", "c"], "entity": ["Q1", "Q2", "Q3"], name: values})


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (pairs().head(0), {}, "The pairs have no row"),
        (pd.DataFrame({"text": ["a"]}), {}, "lack the column 'sentence'; they have text"),
        ([{"sentence": "a"}], {}, "`pairs` must be a DataFrame, an Arrow table or a Parquet file"),
        (with_column("entity", [1, "Q2", "Q2"]), {}, "Column .entity. mixes types"),
        (pairs(), {"temprature": 1}, "Unknown parameter 'temprature': did you mean temperature"),
        (pairs(), {"entity_embeddings": {"Q0": [1.0]}}, "9 entities have no embedding .* such as 'Q1'"),
        (pairs(), {"entity_embeddings": VECTORS}, "must be vectors of one length"),
        (with_column("sentence", [1, 2, 3]), {}, "The column 'sentence' holds int64: give texts"),
        (with_column("sentence", ["a", None, "b"]), {}, "1 pairs have no 'sentence', the first in row 1"),
        (with_column("sentence", ["a", "\u00a0 ", "b"]), {}, "1 pairs have a blank 'sentence', the first in row 1"),
        (with_column("entity", ["Q1", "", "Q2"]), {}, "1 pairs have a blank 'entity'"),
        (with_column("hard_negatives", ["Q2"] * 3), {}, "the column 'hard_negatives': rename it to 'hard_negative'"),
        (
            with_column("language", ["en", None, "de"]),
            {"batches": {"languages": "single"}},
            "1 pairs have no 'language'",
        ),
        (pa.Table.from_arrays([pa.array(["a"])] * 2, names=["sentence", "sentence"]), {}, "'sentence' twice"),
        ({"sentence": ["a \ud800"], "entity": ["Q1"]}, {}, "is not Unicode"),
        (pairs(), {"entity_embeddings": {name: [float("nan")] for name in VECTORS}}, "NaN"),
        (pairs(), {"entity_embeddings": dict.fromkeys(VECTORS, 1.0)}, "must be vectors"),
        (with_column("further_entities", ["Q1"] * 3), {}, "holds .*string: give a list for each"),
        (with_column("hard_negative", [1, None, 2]), {}, "holds double: give texts as in 'entity'"),
        (with_column("hard_negative", [None, "Q1", "Q3"]), {}, "of row 2 is the pair's own entity"),
    ],
)
def test_faults_are_named(files: Path, table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        train(table, str(files / "encoder"), "ease_plus", **{**LOOP, **options})


def test_columns_that_other_tools_read_are_ignored(files: Path) -> None:
    """Only a column that is named nearly like one that is missing may be a misspelling."""
    table = pairs().assign(id=range(len(pairs())), source="wiki", positive="b", hard_negative=None)
    train(table, str(files / "encoder"), "simcse", **{**LOOP, "max_steps": 1})


def test_a_folder_has_one_training(files: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"folder": tmp_path / "kept", **LOOP}

    def train_others(step: int, values: Any) -> None:
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        with pytest.raises(EaseError, match="Another run is at work in .*kept"):
            train(pairs().head(16), str(files / "encoder"), **given)
        assert before == {file: file.read_bytes() for file in before}

    train(pairs(), str(files / "encoder"), report=train_others, **{**given, "max_steps": 1})
