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

LOOP: dict[str, Any] = {
    "batch_size": 16,
    "learning_rate": 1e-3,
    "max_steps": 4,
    "max_tokens": 16,
    "device": "cpu",
}


def pairs() -> pd.DataFrame:
    texts = sentences()
    return pd.DataFrame({"sentence": texts, "entity": [f"Q{number // 4}" for number in range(len(texts))]})


def test_the_file_of_an_encoder_gives_the_defaults(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bge-m3` is trained by LoRA, and a given value wins."""
    shutil.copytree(files / "encoder", tmp_path / "bge-m3")
    given: list[TrainingOptions] = []

    def spy(job: TrainingJob, *others: Any) -> Any:
        given.append(job.training)
        return run_job(job, *others)

    monkeypatch.setattr("ease.training.api.run_job", spy)
    loop = {name: value for name, value in LOOP.items() if name != "learning_rate"}
    found = train(pairs(), tmp_path / "bge-m3", "simcse", **{**loop, "max_steps": 1})
    assert (given[0].learning_rate, given[0].batch_size) == (1e-4, 16)
    assert given[0].lora == LoraOptions(rank=16, targets=("query", "key", "value", "dense"))
    assert found.get_embedding_dimension() == 32


def embed(model: Any) -> np.ndarray:
    found: np.ndarray = model.encode(sentences()[:8])
    return found


class ForeignFrame:
    """A data frame of another library, which has no more than Arrow's C interface."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._table = pa.Table.from_pandas(frame)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", ["foreign", "arrow", "parquet"])
def test_a_table_of_any_kind_trains_the_same_encoder(files: Path, tmp_path: Path, kind: str) -> None:
    frame = pairs()
    frame.to_parquet(tmp_path / "given.parquet")
    given: dict[str, Any] = {
        "foreign": ForeignFrame(frame),
        "arrow": pa.Table.from_pandas(frame),
        "parquet": tmp_path / "given.parquet",
    }
    reported: list[int] = []
    start = load_encoder(str(files / "encoder"))
    before = embed(start)
    loop = {**LOOP, "max_steps": 2, "temperature": 0.1}
    found = train(given[kind], start, report=lambda step, _: reported.append(step), report_every=1, **loop)
    assert reported == [1, 2]
    assert np.array_equal(embed(start), before), "the object is not changed"
    assert not np.allclose(embed(found), before)
    again = train(frame, str(files / "encoder"), **loop)
    assert np.array_equal(embed(found), embed(again))


def test_ease_plus_reads_the_further_entities_of_a_sentence(files: Path) -> None:
    table = pairs().assign(
        further_entities=[[f"Q{number % 5}", f"P{number}"] for number in range(len(pairs()))]
    )
    found, alone = (
        embed(train(given, str(files / "encoder"), "ease_plus", **LOOP)) for given in (table, pairs())
    )
    one = embed(train(pairs(), str(files / "encoder"), "ease_plus", positives=1, **LOOP))
    assert not np.allclose(found, alone)
    assert np.allclose(alone, one, atol=1e-6), "without the column, a sentence has its pair's entity alone"


def test_the_training_is_that_of_the_pipelines(files: Path, tmp_path: Path, make_job: MakeJob) -> None:
    table = pq.read_table(files / "pairs.parquet")
    vocabulary = pq.read_table(files / "vocabulary.parquet").to_pylist()
    embeddings = load_file(files / "table.safetensors")["embeddings"]
    given = {entry["entity"]: embeddings[entry["row"]] for entry in vocabulary}
    found = train(
        table,
        files / "encoder",
        entity_embeddings=given,
        folder=tmp_path / "kept",
        threads=1,
        length_chunks=2,
        **LOOP,
    )
    result = run_job(make_job(development={}, training={"max_steps": 4}))
    assert np.allclose(embed(found), embed(load_encoder(str(result.model))), atol=1e-5)
    assert (tmp_path / "kept" / "model").is_dir()


def test_errors_name_faults(files: Path) -> None:
    encoder = str(files / "encoder")
    with pytest.raises(EaseError, match="lack the column 'sentence'; they have text"):
        train(pd.DataFrame({"text": ["a"]}), encoder)
    with pytest.raises(EaseError, match="lack the column 'entity'"):
        train(pd.DataFrame({"sentence": ["a"]}), encoder)
    with pytest.raises(EaseError, match="Unknown parameter 'temprature': did you mean temperature"):
        train(pairs(), encoder, temprature=1)
    with pytest.raises(
        EaseError, match="Unknown parameter 'block_rows': it was renamed to 'mini_batch_size'"
    ):
        train(pairs(), encoder, block_rows=1)
    with pytest.raises(EaseError, match="9 entities have no embedding in `entity_embeddings`, such as 'Q1'"):
        train(pairs(), encoder, entity_embeddings={"Q0": [1.0, 2.0]})
    vectors = {f"Q{number}": [1.0] * (3 if number == 1 else 2) for number in range(10)}
    with pytest.raises(
        EaseError, match="'Q0' has the shape \\(2,\\) and 'Q1' \\(3,\\): give vectors of one length"
    ):
        train(pairs(), encoder, entity_embeddings=vectors)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("sentence", ["a", None, "b"], "1 pairs have no 'sentence', the first in row 1"),
        ("entity", [None, None, "Q1"], "2 pairs have no 'entity', the first in row 0"),
        ("sentence", [1, 2, 3], "The column 'sentence' holds int64: give texts"),
        (
            "further_entities",
            ["Q1", "Q2", "Q3"],
            "'further_entities' holds .*string: give a list for each pair",
        ),
        (
            "hard_negative",
            [1, None, 2],
            "columns of entities differ: 'entity' holds string, 'hard_negative' holds int64",
        ),
        ("hard_negative", [None, "Q1", "Q3"], "the hard negative of row 2 is the pair's own entity"),
        ("hard_negative", [0.5, 1, 2], "'hard_negative' holds double: give integers or texts"),
    ],
)
def test_a_wrong_column_is_refused(files: Path, column: str, values: list[Any], message: str) -> None:
    given = {"sentence": ["a", "b", "c"], "entity": ["Q1", "Q2", "Q3"], column: values}
    with pytest.raises(EaseError, match=message):
        train(pd.DataFrame(given), str(files / "encoder"), "ease_plus", **LOOP)


def test_a_table_of_another_kind_is_refused(files: Path, tmp_path: Path) -> None:
    encoder = str(files / "encoder")
    with pytest.raises(EaseError, match="The pairs have no row"):
        train(pairs().head(0), encoder, **LOOP)
    with pytest.raises(EaseError, match="`pairs` is a builtins.list: give a DataFrame"):
        train([{"sentence": "a"}], encoder, **LOOP)  # type: ignore[arg-type]
    mixed = pairs().assign(entity=[1, *["Q2"] * (len(pairs()) - 1)])
    with pytest.raises(EaseError, match=r"has values of several types \(.*entity.*\): give one"):
        train(mixed, encoder, **LOOP)
    with pytest.raises(EaseError, match="`development` is a list: give each task's options by its name"):
        train(pairs(), encoder, development=["stsb:dev"], **LOOP)  # type: ignore[arg-type]
    with pytest.raises(EaseError, match=r"missing\.parquet: there is no such file"):
        train(tmp_path / "missing.parquet", encoder, **LOOP)
    (tmp_path / "folder").touch()
    with pytest.raises(EaseError, match="Cannot write to .*folder"):
        train(pairs(), encoder, folder=tmp_path / "folder", **LOOP)


def test_a_column_that_the_method_does_not_read_may_hold_anything(files: Path) -> None:
    table = pairs().assign(negative=range(len(pairs())))
    assert train(table, str(files / "encoder"), **LOOP)
    with pytest.raises(EaseError, match="The column 'negative' holds int64: give texts"):
        train(table.assign(positive="a city"), str(files / "encoder"), "supervised_simcse", **LOOP)


def test_missing_further_entities_are_left_out(files: Path) -> None:
    table = pairs().assign(further_entities=[[None, "P1"]] * len(pairs()))
    known = pairs().assign(further_entities=[["P1"]] * len(pairs()))
    found, expected = (
        embed(train(given, str(files / "encoder"), "ease_plus", **LOOP)) for given in (table, known)
    )
    assert np.array_equal(found, expected)


def test_numbers_and_texts_train_alike(files: Path) -> None:
    texts = pairs().assign(hard_negative=[None, "Q99"] * (len(pairs()) // 2))
    numbers = texts.assign(
        entity=texts["entity"].str[1:].astype(int), hard_negative=[None, 99] * (len(pairs()) // 2)
    )
    assert numbers["hard_negative"].dtype == float, "pandas has no integers with nulls"
    found, expected = (embed(train(given, str(files / "encoder"), **LOOP)) for given in (numbers, texts))
    assert np.array_equal(found, expected)


def test_a_folder_has_one_training(files: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"folder": tmp_path / "kept", **LOOP}

    def train_others(step: int, values: Any) -> None:
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        with pytest.raises(EaseError, match="Another run is at work in .*kept"):
            train(pairs().head(16), str(files / "encoder"), **given)
        assert before == {file: file.read_bytes() for file in before}

    first = train(pairs(), load_encoder(str(files / "encoder")), report=train_others, **given)
    reported: list[int] = []
    again = {**given, "report": lambda step, _: reported.append(step)}
    second = train(pairs(), load_encoder(str(files / "encoder")), **again)
    assert not reported, "a finished training is not repeated"
    assert np.array_equal(embed(first), embed(second))
