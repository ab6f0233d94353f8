"""The function that scores encoders without Kedro."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

from ease import evaluate
from ease.encoders.encoder import save_encoder
from ease.errors import EaseError
from tests.encoders.tiny import tiny_encoder

PAIRS = [("a cat", "a cat sat", 4.0), ("a dog", "the sea", 0.5), ("rain", "rain fell", 3.0)]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    return tiny_encoder([left for left, _, _ in PAIRS])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "stsb").mkdir()
    lines = "".join(f"x\tx\tx\tx\t{gold}\t{left}\t{right}\n" for left, right, gold in PAIRS)
    for split in ("dev", "test"):
        (tmp_path / "stsb" / f"sts-{split}.csv").write_text(lines, encoding="utf-8")
    return tmp_path


def test_an_encoder_is_scored_from_memory_and_from_its_folder(encoder: SentenceTransformer, data: Path) -> None:
    scores = evaluate(encoder, ["stsb:test", "stsb:dev"], data)
    assert list(zip(scores["task"], scores["subset"], strict=True)) == [("stsb", "test"), ("stsb", "dev")]
    assert scores["value"].between(-100, 100).all()
    save_encoder(encoder, data / "model")
    again = evaluate(data / "model", "stsb:test", data, batch_size=2, cache=data / "cache")
    assert again["value"].tolist() == pytest.approx(scores["value"].tolist()[:1])
    (data / "stsb").rename(data / "STS-B")
    assert evaluate(encoder, {"stsb": {"path": "STS-B", "subsets": ["dev"]}}, data)["subset"].tolist() == ["dev"]


def test_a_mapping_may_define_a_task(encoder: SentenceTransformer, data: Path) -> None:
    columns = {"left": 6, "right": 7, "score": 5}
    mine = {
        "kind": "graded_pairs",
        "file": "sts-{subset}.csv",
        "format": "tsv",
        "columns": columns,
        "names": "dev test",
    }
    scores = evaluate(encoder, {"mine": {**mine, "path": "stsb"}, "stsb": {"subsets": ["test"]}}, data)
    found = {
        (task, subset): value for task, subset, value in scores[["task", "subset", "value"]].itertuples(index=False)
    }
    assert found.keys() == {("mine", "dev"), ("mine", "test"), ("mine", "average"), ("stsb", "test")}
    assert found["mine", "test"] == found["stsb", "test"]
    assert list(scores.columns) == ["task", "subset", "metric", "value", "deviation", "note", "low", "high"]
    with pytest.raises(EaseError, match="Unknown evaluation task 'sts71'"):
        evaluate(encoder, "sts71", data)


@pytest.mark.parametrize(
    ("tasks", "given", "said"),
    [
        ({"stsb": {"subsets": ["train"]}}, {}, r"stsb/sts-train\.csv: no such file"),
        ({"stsb": {"pth": "x"}}, {}, "Options of the task 'stsb': there is no field `pth`"),
        ("stsb", {"options": {"dimension": 4}}, "`options` are for an encoder given by its name"),
        ([], {}, "No task is named: name one, such as stsb"),
        (
            ["sts17"],
            {},
            r": no such file of the task 'sts17'\. .*as `data=`.* The files are from https?://.*acquire_evaluation.fetch=true",
        ),
    ],
)
def test_wrong_arguments_are_named(
    encoder: SentenceTransformer, data: Path, tasks: Any, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(EaseError, match=said):
        evaluate(encoder, tasks, data, **given)
