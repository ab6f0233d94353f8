"""STS 2022, Belebele, SIB-200, MasakhaNEWS and FLORES-200 are read in their published forms."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from ease.evaluation.tasks.components.flores_languages import BELEBELE, FLORES, SIB

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Score, belebele, flores, masakhanews, sib200, sts22

NEWS = (
    "category\theadline\ttext\turl\n"
    'sports\tteam wins match\t"Long ""quoted"" text,\nof two lines."\thttps://example.org/1\n'
    "sports\tteam loses match\tShort.\thttps://example.org/2\n"
    "business\tbank raises rates\tShort.\thttps://example.org/3\n"
    '"business"\t"bank ""cuts"" rates"\tShort.\thttps://example.org/4\n'
)
"""Written by pandas: fields with quotes, tabs or line breaks are quoted."""


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def values(scores: list[Score]) -> dict[tuple[str, str], float]:
    return {(score.subset, score.metric): round(score.value, 4) for score in scores}


def test_the_lists_of_languages_are_complete() -> None:
    assert (len(FLORES), len(SIB), len(BELEBELE), len(sts22.PAIRS)) == (204, 205, 122, 18)
    assert len(flores.PAIRS) == 203
    assert {"eng_Latn", "zho_Hant", "swh_Latn"} <= set(FLORES) & set(SIB) & set(BELEBELE)


def test_sts22_is_read_compressed_and_plain(tmp_path: Path, encode: Encode) -> None:
    rows = [
        {"id": "1_2", "score": 4.0, "sentence1": "a b c", "sentence2": "a b c", "lang": "de"},
        {"id": "3_4", "score": 2.5, "sentence1": "a b c", "sentence2": "a b d", "lang": "de"},
        {"id": "5_6", "score": 1.0, "sentence1": "a b c", "sentence2": "x y z", "lang": "de"},
    ]
    (tmp_path / "de.jsonl.gz").write_bytes(gzip.compress(lines(rows).encode()))
    (tmp_path / "zh-en.jsonl").write_text(lines(rows[::-1]))
    scores = sts22.evaluate(encode, sts22.Options(path=tmp_path))
    assert values(scores) == {(name, "spearman"): 100 for name in ("de", "zh-en", "average")}
    assert scores[-1].note == "2 of 18 subsets"
    (tmp_path / "ar.jsonl").write_text(lines([{**rows[0], "score": 5}]))
    with pytest.raises(EaseError, match=r"ar\.jsonl, line 1: the score 5 is outside 1 to 4"):
        sts22.evaluate(encode, sts22.Options(path=tmp_path, subsets=("ar",)))
    (tmp_path / "ar.jsonl").write_text(lines([{**rows[0], "sentence2": None}]))
    with pytest.raises(EaseError, match=r"ar\.jsonl, line 1: an article is blank; fetch the second version"):
        sts22.evaluate(encode, sts22.Options(path=tmp_path, subsets=("ar",)))


def test_belebele_ranks_the_passages_of_a_language(tmp_path: Path, encode: Encode) -> None:
    def row(number: int, passage: str, question: str) -> dict[str, Any]:
        answers = {f"mc_answer{answer}": "x" for answer in range(1, 5)}
        about = {"link": f"https://example.org/{passage}", "question_number": number, "dialect": "swh_Latn"}
        texts = {
            "flores_passage": passage,
            "question": question,
            "correct_answer_num": "1",
            "ds": "2023-05-03",
        }
        return {**about, **texts, **answers}

    rows = [
        *(row(1, "moto na maji", "moto ?"), row(2, "moto na maji", "maji ?")),
        *(row(1, "jua na mwezi", "jua ?"), row(1, "nyota", "moto nyota ?")),
    ]
    (tmp_path / "swh_Latn.jsonl").write_text(lines(rows))
    data = belebele.read_questions(tmp_path / "swh_Latn.jsonl")
    assert (len(data.queries), len(data.documents)) == (4, 3)
    scores = belebele.evaluate(encode, belebele.Options(path=tmp_path))
    assert values(scores) == {("swh_Latn", "ndcg_at_10"): 100, ("average", "ndcg_at_10"): 100}
    (tmp_path / "eng_Latn.jsonl").write_text(lines([{**rows[0], "question": ""}]))
    with pytest.raises(EaseError, match=r"eng_Latn\.jsonl, line 1: the question or the passage is blank"):
        belebele.evaluate(encode, belebele.Options(path=tmp_path, subsets=("eng_Latn",)))


def test_sib200_clusters_all_splits_together(tmp_path: Path, encode: Encode) -> None:
    texts = {
        "train": ["sports\tball goal", "travel\ttrain bus"],
        "dev": ['sports\tball "goal" won'],
        "test": [],
    }
    texts["test"] = ["travel\ttrain bus late", "sports\tball goal lost"]
    (tmp_path / "ast_Latn").mkdir()
    for split, rows in texts.items():
        body = "".join(f"{number}\t{row}\n" for number, row in enumerate(rows))
        (tmp_path / "ast_Latn" / f"{split}.tsv").write_text("index_id\tcategory\ttext\n" + body)
    data = sib200.read_language(sib200.files(sib200.Options(path=tmp_path))["ast_Latn"])
    assert len(data.texts) == 5
    assert 'ball "goal" won' in data.texts
    scores = sib200.evaluate(encode, sib200.Options(path=tmp_path, seeds=(1,), n_init=2))
    assert values(scores)["ast_Latn", "accuracy"] == 100
    (tmp_path / "ast_Latn" / "dev.tsv").unlink()
    with pytest.raises(EaseError, match=r"ace_Arab/train\.tsv: no such file"):
        sib200.evaluate(encode, sib200.Options(path=tmp_path))


def test_masakhanews_clusters_headlines(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "lin").mkdir()
    (tmp_path / "lin" / "test.tsv").write_text(NEWS)
    data = masakhanews.read_headlines(tmp_path / "lin" / "test.tsv")
    assert data.texts == ["team wins match", "team loses match", "bank raises rates", 'bank "cuts" rates']
    assert data.labels == ["sports", "sports", "business", "business"]
    scores = masakhanews.evaluate(encode, masakhanews.Options(path=tmp_path, seeds=(1,), n_init=5))
    assert values(scores)["lin", "v_measure"] == 100


def test_flores_matches_each_language_with_english(tmp_path: Path, encode: Encode) -> None:
    english = ["one two", "three", "four five six"]
    (tmp_path / "eng_Latn.devtest").write_text("\n".join(english) + "\n")
    (tmp_path / "deu_Latn.devtest").write_text("\n".join(f"{text} !" for text in english) + "\n")
    scores = flores.evaluate(encode, flores.Options(path=tmp_path))
    assert values(scores) == {
        ("deu_Latn-eng_Latn", "retrieval_accuracy"): 100,
        ("average", "retrieval_accuracy"): 100,
    }
    assert flores.read_parallel(flores.Options(path=tmp_path), "deu_Latn-eng_Latn")[1] == english
    (tmp_path / "deu_Latn.devtest").write_text("one\n")
    with pytest.raises(
        EaseError, match=r"deu_Latn\.devtest ends after line 1, but .*eng_Latn\.devtest has a line 2"
    ):
        flores.evaluate(encode, flores.Options(path=tmp_path))
