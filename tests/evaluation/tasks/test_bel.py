"""Biomedical entity linking: every file format, composite mentions, ties, brute force, and invalid files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ease.errors import EaseError
from ease.evaluation.scores import main_score
from ease.evaluation.tasks.base import missing_files
from ease.evaluation.tasks.bel import Query, read_mentions, read_names
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task

NAMES = "D1||Breast Cancer\nD1||cancer of breast tissue\n\nD2||ovarian cancer\nD3|D4||liver failure\ncui-less||none\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def document_line(mention: str, concept: str) -> str:
    return f"10021369||0|12||SpecificDisease||{mention}||{concept}\n"


def write_documents(folder: Path, *documents: str, names: str = NAMES, subset: str = "ncbi-disease") -> Any:
    write(folder / subset / "test_dictionary.txt", names)
    for number, text in enumerate(documents):
        write(folder / subset / "processed_test" / f"{number}.concept", text)
    return make_task("bel", folder, subsets=(subset,))


def write_cometa(folder: Path) -> None:
    """Write COMETA's dictionary and the test and development splits of both settings."""
    write(folder / "cometa" / "COMETA_id_sf_dictionary.txt", "1||head ache\n2||sore + throat\n")
    rows = 'ID\tTerm\tGeneral SNOMED ID\tExample\n0\tHead\t1\t"my\n""head"" aches"\n1\tsore + throat\t2\tit is\n'
    for split in ("stratified_general", "zeroshot_general"):
        write(folder / "cometa" / "splits" / split / "test.csv", rows)
        write(folder / "cometa" / "splits" / split / "dev.csv", "Term\tGeneral SNOMED ID\nsore + throat\t1\n")


def accuracies(encode: Encode, task: Any) -> tuple[float, float]:
    first, fifth, *_ = task.evaluate(encode)
    assert (first.metric, fifth.metric) == ("accuracy_at_1", "accuracy_at_5")
    return first.value, fifth.value


def test_documents_are_linked_to_the_nearest(tmp_path: Path, encode: Encode, caplog: pytest.LogCaptureFixture) -> None:
    task = write_documents(
        tmp_path,
        document_line("BREAST cancer", "D1") + document_line("breast cancer", "D2"),
        "",
        document_line("none", "CUI-less") + document_line("Liver", "D4") + document_line("a", "D9"),
    )
    with caplog.at_level(logging.INFO):
        scores = task.evaluate(encode)
    # At rank 1: the first mention, and the liver, which is a name of both D3 and D4; ovarian cancer is at rank 2.
    assert [(score.subset, score.metric, score.value, score.note) for score in scores] == [
        (subset, metric, value, "")
        for subset in ("ncbi-disease", "average")
        for metric, value in (("accuracy_at_1", 50), ("accuracy_at_5", 75))
    ]
    assert "1 of 4 mentions have concepts without a name" in caplog.text
    assert scores[0].deviation is None
    assert main_score(scores) == 50


def test_all_parts_of_a_composite_mention_must_be_found(tmp_path: Path, encode: Encode) -> None:
    lines = [
        document_line("breast cancer|ovarian cancer", "D1|D2"),  # both
        document_line("breast cancer+ovarian cancer", "D2+D1"),  # in any order
        document_line("breast cancer|ovarian cancer", "D1"),  # the second only among the next
        document_line("ovarian cancer+", "D2"),  # no part after the separator
    ]
    assert accuracies(encode, write_documents(tmp_path, "".join(lines))) == (75, 100)
    path = write(tmp_path / "queries.txt", "1||+\n1|2||Ca2+\n")
    assert read_mentions(path) == [Query(("+",), frozenset("1")), Query(("ca2",), frozenset("12"))]


def test_a_name_of_several_concepts_is_one_candidate_and_ties_are_misses(tmp_path: Path, encode: Encode) -> None:
    names = "".join(f"D{number}||cold\n" for number in range(9)) + "D7||flu\n"
    lines = "".join(document_line("cold", f"D{number}") for number in range(9))
    assert accuracies(encode, write_documents(tmp_path, lines, names=names)) == (100, 100)
    names = "".join(f"D{number}||name {number}\n" for number in range(9))
    task = write_documents(tmp_path, document_line("name 3", "D3"), names=names)
    assert accuracies(lambda texts: np.ones((len(texts), 3)), task) == (0, 0)


def test_askapatient_is_the_mean_of_ten_folds(tmp_path: Path, encode: Encode) -> None:
    write(tmp_path / "askapatient" / "AskAPatient.dict.txt", "1||head ache\n2||sore throat\n3||cold feet\n")
    files = [tmp_path / "askapatient" / f"AskAPatient.fold-{fold}.test.preprocessed_query.txt" for fold in range(10)]
    for fold, file in enumerate(files):
        write(file, "1||Head\n" + "2||cold\n" * fold)
    first, fifth, *_ = make_task("bel", tmp_path).evaluate(encode)
    shares = [100 / (fold + 1) for fold in range(10)]
    assert first.value == pytest.approx(np.mean(shares))
    assert first.deviation == pytest.approx(np.std(shares, ddof=1))
    assert fifth.value == 100, "of the three names, all but the right one are at least as near to cold"
    files[7].unlink()
    assert missing_files(make_task("bel", tmp_path).files())["askapatient"] == [files[7]]


def test_cometa_columns_are_found_by_name(tmp_path: Path, encode: Encode) -> None:
    write_cometa(tmp_path)
    for subset, first in (("stratified", 100), ("zeroshot", 100), ("zeroshot-dev", 0)):
        assert accuracies(encode, make_task("bel", tmp_path, subsets=(f"cometa-{subset}",))) == (first, 100)
    path = tmp_path / "cometa" / "splits" / "zeroshot_general" / "test.csv"
    assert read_mentions(path)[1] == Query(("sore + throat",), frozenset({"2"}))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("names", "CUI-less||a\n", "contains no name of a concept"),
        ("names", "D1||a\n\nD2 b\n", r"line 3: 1 fields separated by \|\| instead of 2"),
        ("mentions.txt", "", "contains no mention of a concept"),
        ("mentions.csv", "Term\tID\na\t1\n", "no column General SNOMED ID; it has Term, ID"),
    ],
)
def test_errors_name_invalid_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(EaseError, match=rf"{name}.*{message}"):
        (read_names if name == "names" else read_mentions)(path)
