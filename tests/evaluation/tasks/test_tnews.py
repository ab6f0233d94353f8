"""TNEWS: real few-shot files, an independent computation, both label formats, and invalid files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from ease.evaluation.tasks.tnews import TOPICS, Options, evaluate, files, read_news
from sklearn.cluster import KMeans

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, available_subsets, main_score, missing_files

WORDS = {"103": "比赛 进球 球队 冠军", "109": "手机 芯片 网络 软件", "114": "股市 大盘 涨停 基金"}
ROWS = [(number, f"{words} {n}") for number, words in WORDS.items() for n in range(4)]


def line(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"


NAMED = "".join(
    line(label=int(n), label_desc=TOPICS[n], sentence=text, keywords="", id=0) for n, text in ROWS
)
NUMBERED = "".join(line(label=n, sentence=text) for n, text in ROWS)


def characters(texts: object) -> np.ndarray:
    """Encode texts as hashed character counts, which works for Chinese."""
    rows = np.zeros((len(list(texts)), 256), dtype=np.float32)  # type: ignore[call-overload]
    for row, text in zip(rows, texts, strict=True):  # type: ignore[call-overload]
        np.add.at(row, [ord(character) % 256 for character in text], 1)
    return rows


def test_the_real_files_hold_fifteen_topics(test_data: Path) -> None:
    found = available_subsets(files(Options(path=test_data / "eval" / "tnews")))
    assert list(found) == ["dev_few_all", "train_few_all"]
    for (path,) in found.values():
        rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        data = read_news(path)
        assert data.texts == [row["sentence"].strip() for row in rows]
        assert Counter(data.labels) == Counter(row["label_desc"] for row in rows)
        assert {(str(row["label"]), row["label_desc"]) for row in rows} == set(TOPICS.items())
        assert len(set(data.labels)) == 15


def test_real_titles_equal_scikit_learn_and_counting(test_data: Path) -> None:
    folder = test_data / "eval" / "tnews"
    with (folder / "dev_few_all.json").open(encoding="utf-8") as file:
        rows = [json.loads(text) for text in file]
    embeddings = characters([row["sentence"] for row in rows])
    purities, means = [], []
    for seed in (5, 6):
        clusters = KMeans(15, n_init=1, random_state=seed).fit_predict(embeddings)
        inside = [
            Counter(row["label"] for row, found in zip(rows, clusters, strict=True) if found == cluster)
            for cluster in range(15)
        ]
        greatest = [max(counts.values()) for counts in inside]
        purities.append(100 * sum(greatest) / len(rows))
        means.append(
            100 * fmean(most / counts.total() for most, counts in zip(greatest, inside, strict=True))
        )
    options = Options(path=folder, subsets=("dev_few_all",), seeds=(5, 6), n_init=1)
    mean, purity, *averages = evaluate(characters, options)
    assert (purity.task, purity.subset, purity.metric) == ("tnews", "dev_few_all", "purity")
    assert purity.value == pytest.approx(fmean(purities), abs=0.1)
    assert purity.deviation == pytest.approx(stdev(purities), abs=0.1)
    assert mean.metric == "mean_cluster_purity"
    assert mean.value == pytest.approx(fmean(means), abs=0.1)
    assert 100 / 15 < purity.value < 100
    assert [(score.subset, score.note) for score in averages] == [("average", "")] * 2


def test_topics_are_read_by_name_or_by_number(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "dev.json").write_bytes(b"\xef\xbb\xbf" + NAMED.replace("\n", "\r\n").encode())
    (tmp_path / "train.json").write_text(NUMBERED + "\n", encoding="utf-8")
    (tmp_path / "test_public.json").write_text(NAMED + NUMBERED, encoding="utf-8")
    named, numbered = (read_news(tmp_path / f"{name}.json") for name in ("dev", "train"))
    assert named == numbered
    assert set(named.labels) == {"news_sports", "news_tech", "news_stock"}
    scores = evaluate(encode, Options(path=tmp_path))
    purities = {score.subset: score for score in scores if score.metric == "purity"}
    assert list(purities) == ["dev", "train", "test_public", "average"]
    assert all(score.value == 100 for score in scores)
    assert purities["average"].note == "3 of 5 subsets"
    assert main_score(scores) == 100


def test_missing_files_are_listed_and_blank_sentences_noted(tmp_path: Path, encode: Encode) -> None:
    (tmp_path / "dev.json").write_text(NAMED + line(label=103, sentence=" "), encoding="utf-8")
    options = Options(path=tmp_path, subsets=("dev", "train"))
    assert missing_files(files(options)) == {"train": [tmp_path / "train.json"]}
    scores = evaluate(encode, options)
    assert {score.note for score in scores if score.subset == "dev"} == {"blank texts skipped: 1"}
    assert {score.note for score in scores if score.averaged} == {"1 of 2 subsets"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "dev.json: contains no text"),
        (
            b'{"label": 103, "sentence": "a"}\n{"label": 103\n',
            r"dev.json, line 2, column \d+: not a JSON object",
        ),
        (b'["a"]\n', "dev.json, line 1: not a JSON object"),
        (b'{"label": 103, "content": "a"}\n', "line 1: no field 'sentence' among 'label', 'content'"),
        (b'{"id": 0, "sentence": "a"}\n', "line 1: neither 'label_desc' nor 'label' has a topic"),
        (b'{"label": "", "label_desc": null, "sentence": "a"}\n', "line 1: neither 'label_desc' nor"),
        (b'{"label": 105, "sentence": "a"}\n', "line 1: the topic 105 is not one of news_story"),
        (b'{"label_desc": "sports", "sentence": "a"}\n', "line 1: the topic 'sports' is not one of"),
        ('{"label": 103, "sentence": "é"}\n'.encode("latin-1"), "dev.json, line 1: not UTF-8"),
        ('{"label": 103, "sentence": "体育"}\n'.encode("gbk"), "dev.json, line 1: not UTF-8"),
        (line(label=103, sentence="a").encode() * 3, "tnews dev: 3 texts in 1 classes; .* at least two"),
    ],
)
def test_errors_name_invalid_files(tmp_path: Path, encode: Encode, content: bytes, said: str) -> None:
    (tmp_path / "dev.json").write_bytes(content)
    with pytest.raises(EaseError, match=said):
        evaluate(encode, Options(path=tmp_path, subsets=("dev",)))
