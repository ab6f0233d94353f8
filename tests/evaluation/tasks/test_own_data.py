"""Files of one's own are tasks by configuration alone, and errors name file, row and column."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from ease.evaluation.tasks.components.relevance import collect_relevance

import ease
from ease.encoders.encoder import build_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.evaluation.scoring import score_tasks, task_options
from ease.evaluation.sets import at_paths, locate_sets, read_located, read_sets
from ease.evaluation.tasks import Encode

PAIRS = [("a b c", "a b c", "5"), ("a b c", "a b d", "3.5"), ("a b c", "x y z", "0"), ("a", "b", "")]
TEXTS = [("sport", f"ball goal team {n}") for n in range(6)] + [("money", f"bank coin {n}") for n in range(6)]
SENTENCES = [("one two", "one two !"), ("three four", "three four !"), ("five", "five !")]
QUERIES = [
    ("red apple", "an apple is red", "2"),
    ("red apple", "red car", "0"),
    ("blue sky", "the sky is blue", "1"),
]


def write(path: Path, header: tuple[str, ...], rows: list[Any]) -> str:
    """Write rows in the format of the file's ending."""
    rows = [tuple(row) for row in rows]
    if ".jsonl" in path.name.lower():
        text = "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix.lower() == ".gz" else text.encode())
    elif path.suffix == ".tsv":
        path.write_text("".join("\t".join(row) + "\n" for row in (header, *rows)))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    return path.name


def options(folder: Path, task: str, **chosen: Any) -> dict[str, dict[str, Any]]:
    """Options of a task with one set, as they are configured."""
    return {task: {"path": folder, "sets": {"mine": {"licence": "CC BY 4.0", **chosen}}}}


def scored(encode: Encode, task: str, configured: dict[str, dict[str, Any]]) -> dict[str, float]:
    scores = score_tasks(encode, [f"{task}:mine"], configured)
    return {score.metric: score.value for score in scores if score.subset == "mine"}


@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv", "mine.jsonl", "mine.jsonl.gz", "MINE.JSONL.GZ"])
def test_every_format_gives_the_same_scores(name: str, tmp_path: Path, encode: Encode) -> None:
    tricky = [*PAIRS, ("a, b", 'said "c"', "1")]
    file = write(tmp_path / name, ("first", "second", "grade"), tricky)
    columns = {"left": "first", "right": "second", "score": "grade"}
    configured = options(tmp_path, "own_graded_pairs", file=file, columns=columns, lowest=0, highest=5)
    assert scored(encode, "own_graded_pairs", configured) == {"spearman": pytest.approx(94.868, abs=0.01)}


def test_each_kind_is_scored(tmp_path: Path, encode: Encode) -> None:
    texts = write(tmp_path / "texts.csv", ("label", "text"), [*TEXTS, ("sport", " ")])
    found = scored(encode, "own_labelled_texts", options(tmp_path, "own_labelled_texts", file=texts))
    assert found["accuracy"] == 100
    assert found["v_measure"] == pytest.approx(100)
    sides = write(tmp_path / "sides.tsv", ("en", "de", "id"), [(*row, "1") for row in SENTENCES])
    columns = {"left": "en", "right": "de"}
    configured = options(tmp_path, "own_parallel_sentences", file=sides, columns=columns)
    assert scored(encode, "own_parallel_sentences", configured) == {"retrieval_accuracy": 100}
    queries = write(tmp_path / "queries.jsonl", ("query", "document", "gain"), QUERIES)
    write(tmp_path / "more.csv", ("document",), [(f"red apple red {n}",) for n in range(3)])
    configured = options(tmp_path, "own_queries", file=queries, columns={"gain": "gain"})
    assert scored(encode, "own_queries", configured) == {"ndcg_at_10": 100}
    configured = options(
        tmp_path, "own_queries", file=queries, columns={"gain": "gain"}, documents=tmp_path / "more.csv"
    )
    assert 50 < scored(encode, "own_queries", configured)["ndcg_at_10"] < 90


def test_of_a_repeated_judgement_the_highest_gain_counts() -> None:
    for gains in ([1.0, 2.0], [2.0, 1.0]):
        judgements = [("a query", "a document", gain) for gain in gains]
        assert collect_relevance(judgements, ["another document"], "file").gains == [{0: 2.0}]


def test_a_file_anywhere_is_located_read_and_checked(tmp_path: Path, encode: Encode) -> None:
    file = tmp_path / "elsewhere.csv"
    write(file, ("sentence1", "sentence2", "score"), PAIRS)
    configured = options(tmp_path / "nowhere", "own_graded_pairs", file=file)
    located = read_sets(locate_sets(["own_graded_pairs"], configured), ["own_graded_pairs"], configured)
    assert located["own_graded_pairs"].subsets == {"mine": (str(file),)}
    again = read_located({name: found.model_dump(mode="json") for name, found in located.items()})
    assert score_tasks(encode, ["own_graded_pairs"], at_paths(configured, again))
    file.write_text(file.read_text() + "x,y,1\n")
    with pytest.raises(EaseError, match="its contents have changed"):
        at_paths(configured, again)


@pytest.mark.parametrize(
    ("task", "header", "rows", "message"),
    [
        (
            "own_graded_pairs",
            ("a", "b", "score"),
            PAIRS,
            r"mine\.csv: no column sentence1, sentence2; it has a, b, score",
        ),
        (
            *("own_graded_pairs", ("sentence1", "sentence2", "score"), [("a", "b", "good"), ("c", "d", "1")]),
            r"mine\.csv, line 2, column 'score': the score 'good' is not a number",
        ),
        (
            *("own_graded_pairs", ("sentence1", "sentence2", "score"), [("a", "", "2"), ("c", "d", "1")]),
            r"mine\.csv, line 2: the column 'sentence2' is blank",
        ),
        (
            *("own_graded_pairs", ("sentence1", "sentence2", "score"), [("a", "b", "2"), ("c", "d", "2")]),
            r"mine\.csv: the 2 pairs have no two different grades",
        ),
        (
            *("own_labelled_texts", ("text", "label"), [("a", "sport"), ("b", "sport"), ("c", "sport")]),
            r"mine\.csv: all 3 texts have the label 'sport', and clustering needs two; is 'label' the right column\?",
        ),
        (
            *("own_labelled_texts", ("text", "label"), [("a", "sport"), ("b", "")]),
            r"mine\.csv, line 3, column 'label': the label is missing",
        ),
        ("own_parallel_sentences", ("sentence1", "sentence2"), [("a", "b")], r"mine\.csv: 1 distinct pair"),
        (
            *("own_queries", ("query", "document"), [("a", "b"), ("c", "")]),
            r"mine\.csv, line 3: the column 'document' is blank",
        ),
        (
            "own_queries",
            ("query", "document"),
            [("a", "b")],
            r"mine\.csv: 1 document, so there is nothing to rank",
        ),
    ],
)
def test_faults_are_found_when_the_set_is_located(
    task: str, header: tuple[str, ...], rows: list[Any], message: str, tmp_path: Path, encode: Encode
) -> None:
    configured = options(tmp_path, task, file=write(tmp_path / "mine.csv", header, rows))
    with pytest.raises(EaseError, match=message):
        scored(encode, task, configured)
    located = read_sets(locate_sets([task], configured), [task], configured)
    assert set(located[task].faults) == {"mine"}


def test_a_set_may_not_have_the_name_of_an_average(tmp_path: Path, encode: Encode) -> None:
    chosen = {"licence": "CC BY 4.0", "file": "mine.csv"}
    configured = {"own_labelled_texts": {"path": tmp_path, "sets": {"average_quality": chosen}}}
    with pytest.raises(EaseError, match="may not be named 'average_quality'"):
        score_tasks(encode, ["own_labelled_texts"], configured)


def test_wrong_files_and_configurations_are_refused(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "mine.jsonl").write_text('{"text": "a", "label": ["x"]}\n{"text": "b"}\n')
    with pytest.raises(EaseError, match=r"mine\.jsonl, line 1: \['x'\] is not text but a list"):
        scored(encode, "own_labelled_texts", options(tmp_path, "own_labelled_texts", file="mine.jsonl"))
    (tmp_path / "mine.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "a \\ud800", "label": "x"}\n')
    with pytest.raises(
        EaseError, match=r"mine\.jsonl, line 2, column \d+: not a JSON object \(no low surrogate"
    ):
        scored(encode, "own_labelled_texts", options(tmp_path, "own_labelled_texts", file="mine.jsonl"))
    (tmp_path / "mine.jsonl").write_text('{"text": "a", "topic": "x"}\n')
    with pytest.raises(EaseError, match=r"mine\.jsonl, line 1: no field 'label' among 'text', 'topic'"):
        scored(encode, "own_labelled_texts", options(tmp_path, "own_labelled_texts", file="mine.jsonl"))
    write(tmp_path / "mine.xlsx", ("text", "label"), TEXTS)
    with pytest.raises(EaseError, match=r"ending '\.xlsx' is unknown: .*\.csv, \.tsv"):
        scored(encode, "own_labelled_texts", options(tmp_path, "own_labelled_texts", file="mine.xlsx"))
    with pytest.raises(EaseError, match=r"sets\.mine\.licence: Field required"):
        task_options("own_queries", {"own_queries": {"path": tmp_path, "sets": {"mine": {"file": "x.csv"}}}})
    with pytest.raises(EaseError, match=r"No set mine: configure `tasks\.own_queries\.sets\.mine`"):
        scored(encode, "own_queries", {"own_queries": {"path": tmp_path}})
    with pytest.raises(EaseError, match=r"No set is configured: add one to `tasks\.own_queries\.sets`"):
        score_tasks(encode, ["own_queries"], {"own_queries": {"path": tmp_path}})


def test_the_library_scores_own_data(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.csv", ("sentence1", "sentence2", "score"), PAIRS)
    small = RandomBertOptions(layers=1, hidden_size=16, heads=2, intermediate_size=32, vocabulary_size=300)
    encoder = build_encoder(EncoderOptions(random=small), ["a b c d x y z"] * 3)
    sets = {"mine": {"file": file, "licence": "private"}}
    table = ease.evaluate(encoder, {"own_graded_pairs": {"path": ".", "sets": sets}}, data=tmp_path)
    assert list(table["subset"]) == ["mine", "average"]
