"""Tasks that differ in their files: every kind and format, real files, and one test of each kind of fault."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import paired_cosine_distances

from ease.errors import EaseError
from ease.evaluation.analysis.graded import parallel_sentences
from ease.evaluation.scores import Score
from ease.evaluation.sets import locate_sets, located_parameters, read_located, read_sets
from ease.evaluation.tasks import build_tasks
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task, task_parameters
from tests.evaluation.tasks.conftest import evaluate

FIVE = [("a b c", "a b c", "5"), ("a b c", "a b d", "3.5"), ("a b c", "x y z", "0"), ("a", "b", "")]
TEXTS = [("sport", f"ball goal team {n}") for n in range(6)] + [("money", f"bank coin {n}") for n in range(6)]
SENTENCES = [("one two", "one two !"), ("three four", "three four !"), ("five", "five !")]
QUERIES = [("red apple", "an apple is red", "2"), ("red apple", "red car", "0"), ("blue sky", "the sky is blue", "1")]
PAIRS = [("old", "new", 1.58), ("smart", "smart", 9.2), ("hard dense", "hard", 8.77), ("a b", "b c", 0.5)]
XNLI = "ar bg de el en es fr hi ru sw th tr ur vi zh".split()


def write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    """Write rows in the format of the file's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".jsonl" in path.name.lower():
        text = "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix.lower() == ".gz" else text.encode())
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    else:
        path.write_text("".join("\t".join(map(str, row)) + "\n" for row in (header, *rows)), encoding="utf-8")
    return path


def write_lines(folder: Path, **files: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name.replace("__", ".")).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_xnli(folder: Path, rows: int, **changed: list[str]) -> None:
    """Write XNLI's table of 15 columns, with unbalanced quotes as in the published file."""
    columns = {code: [f'"Well" {code} {row} same{row} other{row}' for row in range(rows)] for code in XNLI}
    write_table(folder / "xnli.15way.orig.tsv", XNLI, list(zip(*{**columns, **changed}.values(), strict=True)))


def write_simlex(folder: Path, pairs: Sequence[tuple[str, str, float]]) -> None:
    """Write word pairs in the format of SimLex-999 and, with three annotators, in that of its Italian translation."""
    header = ("word1", "word2", "POS", "SimLex999")
    write_table(folder / "SimLex-999.txt", header, [(left, right, "A", grade) for left, right, grade in pairs])
    translated = [f"{left},{right},1,3,7,{grade}\r" for left, right, grade in pairs]
    write_lines(folder, MSimLex999_Italian__txt=["Word1,Word2,1,2,3,Average Score\r", *translated])


def write_qqp(folder: Path) -> None:
    """Write pairs of questions as GLUE's dev.tsv, with a blank question, and as Kaggle's train.csv."""
    header = ("id", "question1", "question2", "is_duplicate")
    rows = [(0, "a b", "a b", 1), (1, "a b", "b c", 1), (2, "a b", "c d", 0), (3, "a b", "a d", 0)]
    write_table(folder / "dev.tsv", header, [*rows, (9, "What is it?", "", 0)])
    write_table(folder / "train.csv", header, rows)


def write_russian_sts(folder: Path, *grades: str) -> None:
    """Write SemEval's files of sentence pairs and of grades."""
    pairs = ["Кто-то спит.\tКто-то спит.", "Кто-то рисует.\tКто-то танцует.", "Кот спит.\tЕдет поезд."]
    write_lines(folder, STS__input__MSRvid__txt=pairs, STS__gs__MSRvid__txt=grades or ("5.000", "0.300", "0.000"))


def texts_fit(name: str, scores: Mapping[tuple[str, str], Score], path: Path) -> None:
    """Check that the texts of the items are as many as the items of each score."""
    for subset, by_metric in make_task(name, path).item_texts():
        for metric, texts in by_metric.items():
            assert len(texts) == len(scores[subset, metric].items or ())


def test_graded_pairs_of_every_form(tmp_path: Path, encode: Encode) -> None:
    write_simlex(tmp_path, PAIRS)
    expected = 100 * spearmanr([0, 1, 2**-0.5, 0.5], [grade for _, _, grade in PAIRS]).statistic
    found = evaluate("simlex", encode, tmp_path)
    assert {key: score.value for key, score in found.items()} == {
        (subset, "spearman"): pytest.approx(expected) for subset in ("en", "it", "average")
    }
    assert found["average", "spearman"].note == "2 of 4 subsets"
    texts_fit("simlex", found, tmp_path)
    write_russian_sts(tmp_path, "0", "1.000", "2.0")
    assert evaluate("russian_sts", encode, tmp_path)["msrvid", "spearman"].value == pytest.approx(-100)
    write_lines(tmp_path, **{"sts-dev__csv": [f"\t\t\t1\t{grade}\t{one}\t{two}\tsource" for one, two, grade in FIVE]})
    score = evaluate("stsb", encode, tmp_path, subsets=("dev",))["dev", "spearman"]
    assert score.value == pytest.approx(100), "the pair without a grade is skipped"
    assert len(score.items or ()) == 3


def test_parts_are_scored_together_and_alone(tmp_path: Path, encode: Encode) -> None:
    parts = {
        "FNWN": ([("a b", "a b"), ("a b", "b c"), ("a b", "c d")], ["5", "3", "1"]),
        "headlines": ([("a", "a"), ("a b", "b c"), ("a", "b")], ["1", "3", "4"]),
        "OnWN": ([("a b", "a b"), ("a b", "b c"), ("a b", "c d")], ["4", "2", ""]),
    }
    for part, (pairs, grades) in parts.items():
        lines = {"input": ["\t".join((*pair, "source")) for pair in pairs], "gs": grades}
        write_lines(tmp_path / "STS13-en-test", **{f"STS__{kind}__{part}__txt": own for kind, own in lines.items()})
    found = evaluate("sts", encode, tmp_path)
    cosines = [1, 0.5, 0, 1, 0.5, 0, 1, 0.5]
    gold = [5, 3, 1, 1, 3, 4, 4, 2]
    assert found["2013", "spearman"].value == pytest.approx(100 * spearmanr(cosines, gold).statistic)
    assert found["2013", "spearman_part_mean"].value == pytest.approx(100 * (1 - 1 + 1) / 3)
    assert len(found) == 2


def test_the_first_form_whose_files_exist_is_read(tmp_path: Path, encode: Encode) -> None:
    write_lines(tmp_path / "extended", **{"STS__es-en__txt": ["a b\ta b\t5", "a b\tb c\t2", "a b\tc d\t3"]})
    assert evaluate("sts17", encode, tmp_path)["en-es", "spearman"].value == pytest.approx(50)
    files = {"input": ["a b\ta b", "a b\tc d"], "gs": ["0", "5"]}
    write_lines(tmp_path, **{f"STS__{kind}__track4a__es-en__txt": own for kind, own in files.items()})
    assert evaluate("sts17", encode, tmp_path)["en-es", "spearman"].value == pytest.approx(-100)


def test_binary_pairs(tmp_path: Path, encode: Encode, caplog: pytest.LogCaptureFixture) -> None:
    write_qqp(tmp_path)
    with caplog.at_level("INFO"):
        found = evaluate("qqp", encode, tmp_path)
    # Of four comparisons, three are right and one, 0.5 with 0.5, is a tie.
    assert {key: score.value for key, score in found.items()} == {("dev", "auc"): 87.5, ("train", "auc"): 87.5}
    assert "1 pairs with a blank text are skipped" in caplog.text
    texts_fit("qqp", found, tmp_path)


def test_labelled_texts_of_every_form(tmp_path: Path, encode: Encode) -> None:
    tabbed = [f"{label}\t{text}\tmore" for label, text in TEXTS]
    write_lines(
        tmp_path,
        agnews__txt=tabbed,
        searchsnippets__txt=[text for _, text in TEXTS] + [""],
        searchsnippets_label__txt=[label for label, _ in TEXTS] + ["money"],
        tweet__txt=[json.dumps({"text": text, "cluster": 7 if label == "sport" else 8}) for label, text in TEXTS],
    )
    found = evaluate("stc", encode, tmp_path)
    assert {subset for subset, _ in found} == {"agnews", "searchsnippets", "tweet", "average"}
    assert [score.value for score in found.values()] == pytest.approx([100] * len(found))
    assert found["searchsnippets", "accuracy"].note == "blank texts skipped: 1"
    texts_fit("stc", found, tmp_path)
    news = [{"sentence": text, "label": "103" if label == "sport" else "104"} for label, text in TEXTS]
    write_lines(tmp_path, dev__json=[*map(json.dumps, news)])
    tnews = evaluate("tnews", encode, tmp_path, subsets=("dev",))
    assert [metric for _, metric in tnews] == ["mean_cluster_purity", "purity"] * 2
    for split, rows in (("train", TEXTS[:4]), ("dev", TEXTS[4:8]), ("test", TEXTS[8:])):
        write_table(tmp_path / "eng_Latn" / f"{split}.tsv", ("category", "text"), rows)
    sib = evaluate("sib200", encode, tmp_path)["eng_Latn", "accuracy"]
    assert len(sib.items or ()) == len(TEXTS), "all splits together"


def test_parallel_sentences_of_every_form(tmp_path: Path, encode: Encode) -> None:
    write_xnli(tmp_path, 6, sw=["0 same0 other0", "1 same1 other1", "x", "y", "z", "w"])
    found = evaluate("xnli", encode, tmp_path)
    assert found["sw-en", "retrieval_accuracy"].value == pytest.approx(100 / 3)
    assert found["de-en", "retrieval_accuracy"].value == 100
    assert found["average", "retrieval_accuracy"].value == pytest.approx((13 * 100 + 100 / 3) / 14)
    first = evaluate("xnli", encode, tmp_path, sentences=2)["sw-en", "retrieval_accuracy"]
    assert first.value == 100, "the first sentences only"
    texts_fit("xnli", found, tmp_path)
    sides = parallel_sentences(make_task("xnli", tmp_path), "de-fr")
    assert sides.left[1].startswith('"Well" de 1')
    assert sides.right[1].startswith('"Well" fr 1')
    write_lines(tmp_path, de=["a", "b", "a", ""], en=["a", "b", "c", "d"])
    sets = {"de-en": {"file": ("de", "en")}}
    parallel = evaluate("parallel_files", encode, tmp_path, sets=sets)["de-en", "retrieval_accuracy"]
    assert (parallel.value, len(parallel.items or ())) == (100, 2), "blank and repeated sentences are skipped"


def mine(path: Path, **chosen: Any) -> dict[str, Any]:
    return {"path": path, "sets": {"mine": {"licence": "CC BY 4.0", **chosen}}}


def scored(encode: Encode, name: str, configured: dict[str, Any]) -> dict[str, float]:
    scores = make_task(name, **configured, subsets=("mine",)).evaluate(encode)
    return {score.metric: score.value for score in scores if score.subset == "mine"}


@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv", "MINE.JSONL.GZ"])
def test_every_format_of_an_own_file_gives_the_same_scores(name: str, tmp_path: Path, encode: Encode) -> None:
    tricky = [*FIVE, ("a, b", 'said "c"', "1")]
    file = write_table(tmp_path / name, ("first", "second", "grade"), tricky)
    columns = {"left": "first", "right": "second", "score": "grade"}
    configured = mine(tmp_path, file=file.name, columns=columns, lowest=0, highest=5)
    assert scored(encode, "own_graded_pairs", configured) == {"spearman": pytest.approx(94.868, abs=0.01)}


def test_each_kind_of_own_file_is_scored(tmp_path: Path, encode: Encode) -> None:
    write_table(tmp_path / "texts.csv", ("label", "text"), [*TEXTS, ("sport", " ")])
    assert scored(encode, "own_labelled_texts", mine(tmp_path, file="texts.csv"))["accuracy"] == 100
    write_table(tmp_path / "sides.tsv", ("en", "de", "id"), [(*row, "1") for row in SENTENCES])
    configured = mine(tmp_path, file="sides.tsv", columns={"left": "en", "right": "de"})
    assert scored(encode, "own_parallel_sentences", configured) == {"retrieval_accuracy": 100, "csls_accuracy": 100}
    write_table(tmp_path / "queries.jsonl", ("query", "document", "gain"), QUERIES)
    write_table(tmp_path / "more.csv", ("document",), [(f"red apple red {n}",) for n in range(3)])
    gain = {"file": "queries.jsonl", "columns": {"gain": "gain"}}
    assert scored(encode, "own_queries", mine(tmp_path, **gain)) == {"ndcg_at_10": 100}
    further = scored(encode, "own_queries", mine(tmp_path, **gain, documents=str(tmp_path / "more.csv")))
    assert 50 < further["ndcg_at_10"] < 90


def test_a_file_anywhere_is_located_read_and_checked(tmp_path: Path, encode: Encode) -> None:
    file = write_table(tmp_path / "elsewhere.csv", ("sentence1", "sentence2", "score"), FIVE)
    parameters = {"own_graded_pairs": task_parameters("own_graded_pairs", **mine(tmp_path / "nowhere", file=str(file)))}
    tasks = build_tasks(parameters)
    located = read_sets(locate_sets(tasks), tasks)
    assert located["own_graded_pairs"].subsets == {"mine": (str(file),)}
    again = read_located({name: found.model_dump(mode="json") for name, found in located.items()})
    (task,) = build_tasks(located_parameters(parameters, again)).values()
    assert task.evaluate(encode)
    file.write_text(file.read_text() + "x,y,1\n")
    with pytest.raises(EaseError, match="its contents have changed"):
        located_parameters(parameters, again)


GRADED = ("sentence1", "sentence2", "score")


@pytest.mark.parametrize(
    ("task", "header", "rows", "message"),
    [
        ("own_graded_pairs", ("a", "b", "score"), FIVE, "no column sentence1, sentence2; it has a, b, score"),
        ("own_graded_pairs", GRADED, [("a", "b", "good")], "line 2: the score 'good' is not a number"),
        ("own_graded_pairs", GRADED, [("a", "b", "2"), ("c", "d", "2")], "no two different grades"),
        ("own_labelled_texts", ("text", "label"), [("a", "x"), ("b", "x")], "2 texts in 1 classes"),
        ("own_labelled_texts", ("text", "label"), [("a", "x"), ("b", "")], "line 3: the label is missing"),
        ("own_parallel_sentences", ("sentence1", "sentence2"), [("a", "b")], r"1 pair\(s\) of sentences"),
        ("own_queries", ("query", "document"), [("a", "b")], "among 1 documents, so there is nothing to rank"),
    ],
)
def test_faults_are_found_when_the_set_is_located(
    task: str, header: tuple[str, ...], rows: list[Any], message: str, tmp_path: Path, encode: Encode
) -> None:
    write_table(tmp_path / "mine.csv", header, rows)
    configured = mine(tmp_path, file="mine.csv")
    with pytest.raises(EaseError, match=rf"mine\.csv.*({message})"):
        scored(encode, task, configured)
    tasks = {task: make_task(task, **configured)}
    located = read_sets(locate_sets(tasks), tasks)
    assert set(located[task].faults) == {"mine"}


@pytest.mark.parametrize(
    ("task", "file", "text", "message"),
    [
        ("stsb", "sts-dev.csv", "a\tb\tc\td\t5\tleft\n", "line 1: 6 columns instead of 7"),
        ("russian_sts", "STS.gs.MSRvid.txt", "5\n1\n", "holds 3 sentence pairs and .* 2 grades"),
        ("qqp", "dev.tsv", "question1\tquestion2\tis_duplicate\na\tb\t1\n", "all 1 pairs have one label"),
        ("stc", "agnews.txt", "1\ta\n2 b\n", "line 2: no tab between a label and a text"),
        ("stc", "tweet.txt", '{"text": ["a"], "cluster": 1}\n', r"line 1: \['a'\] is not text but a list"),
        ("tnews", "dev.json", '{"sentence": "a", "label": "9"}\n', "the label '9' is not one of news_story"),
        (
            "tnews",
            "dev.json",
            '[{"sentence": "a"}]',
            "line 1: not a JSON object: .* not an array",
        ),
        (
            "tnews",
            "dev.json",
            '[\n{"sentence": "a"},\n',
            r"line 1, column 2: .*, not an array",
        ),
        ("tnews", "dev.json", '{\n"sentence": "a"\n}\n', r"line 1, column 2: .*give one JSON object a line\.$"),
        ("sample_graded", "", "PAR1", "not a complete Parquet file"),
        ("tatoeba", "tatoeba.deu-eng.deu", "a\n", "deu ends after line 1, but .*eng has a line 2"),
    ],
)
def test_broken_files_are_named(task: str, file: str, text: str, message: str, tmp_path: Path, encode: Encode) -> None:
    if task == "russian_sts":
        write_russian_sts(tmp_path, "0")
    if task == "tatoeba":
        write_lines(tmp_path, **{"tatoeba__deu-eng__eng": ["a", "b"]})
    path = tmp_path / (file or "graded.parquet")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(EaseError, match=message):
        evaluate(task, encode, tmp_path if file else path, subsets=("dev",) if "dev" in file else None)


def test_wrong_configurations_are_refused(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "mine.xlsx").write_bytes(b"")
    with pytest.raises(EaseError, match=r"ending '\.xlsx' is unknown: .*\.csv, \.tsv"):
        scored(encode, "own_labelled_texts", mine(tmp_path, file="mine.xlsx"))
    for configured, message in (
        ({"sets": {"mine": {"file": "x.csv", "columns": {"txet": "a"}}}}, "no 'txet': did you mean text"),
        ({"sets": {"average_of_all": {"file": "x.csv"}}}, "may not be named 'average_of_all'"),
        ({"sets": {" ": {"file": "x.csv"}}}, "A set may not be named ' ': give it a name that is not blank"),
        ({"subsets": ("mine",)}, r"No set is configured: add `tasks\.own_labelled_texts\.sets\.mine`"),
    ):
        with pytest.raises(EaseError, match=message):
            make_task("own_labelled_texts", tmp_path, **configured)
    make_task("own_labelled_texts", tmp_path)  # one of all tasks


def test_real_sets_are_read_as_published(test_data: Path, encode: Encode) -> None:
    folder = test_data / "eval"
    sets = {("stc", "agnews"): 4, ("stc", "searchsnippets"): 8, ("stc", "tweet"): 89}
    for (name, subset), classes in {**sets, ("mewsc16", "eo"): 8, ("tnews", "dev_few_all"): 15}.items():
        task = make_task(name, folder / name, subsets=(subset,))
        data = task.read(subset, task.files()[subset])
        assert len(Counter(data.labels)) == classes
    rows = pd.read_csv(folder / "qnli" / "dev.tsv", sep="\t", quoting=csv.QUOTE_NONE)
    distances = paired_cosine_distances(encode(rows["question"]), encode(rows["sentence"]))
    area = roc_auc_score(rows["label"] == "entailment", -distances)
    found = evaluate("qnli", encode, folder / "qnli")["dev", "auc"]
    assert found.value == pytest.approx(100 * area, abs=0.01)
