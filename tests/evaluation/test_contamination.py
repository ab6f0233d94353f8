"""Test texts among training sentences: planted ones are found, others are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.evaluation import contamination
from ease.evaluation.contamination import EXACT, MINHASH, NGRAM, ContaminationOptions, TestIndex, best_matches
from ease.io.parquet import read_parquet
from tests.evaluation.made_tasks import make_task
from tests.spark import spark_session as spark_session

RANDOM = np.random.default_rng(16)
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyzéü"))
WORDS = np.array(["".join(RANDOM.choice(LETTERS, RANDOM.integers(2, 10))) for _ in range(3000)])
KANJI = np.array([chr(point) for point in range(0x4E00, 0x4E00 + 1500)])
FREQUENCIES = 1 / np.arange(10, 3010)
FREQUENCIES /= FREQUENCIES.sum()


def sentence(words: int | None = None) -> str:
    """Make a sentence of words of very different frequencies."""
    count = words or int(RANDOM.integers(4, 30))
    return " ".join(RANDOM.choice(WORDS, count, p=FREQUENCIES)).capitalize() + "."


def unspaced(characters: int | None = None) -> str:
    return "".join(RANDOM.choice(KANJI, characters or int(RANDOM.integers(10, 60)))) + "。"


def respelt(text: str) -> str:
    """Change case, punctuation and spaces."""
    return "  " + text[:-1].upper().replace(" ", "  ", 2).replace(" ", ", ", 1) + " !?"


def embedded(text: str) -> str:
    return f"{sentence(5)} {text[:-1]}, {sentence(4)}"


def with_a_typing_error(text: str) -> str:
    place = len(text) // 2
    return text[:place] + "q" + text[place + 1 :]


def within_others(text: str) -> str:
    return unspaced(12)[:-1] + text[:-1] + unspaced(9)


@pytest.mark.slow
def test_planted_texts_are_found_and_no_others() -> None:
    planted: list[tuple[str, Callable[..., str], int | None, Callable[[str], str]]] = [
        *((EXACT, sentence, None, respelt), (EXACT, unspaced, None, respelt)),
        *((NGRAM, sentence, 14, embedded), (NGRAM, unspaced, 32, within_others)),
        *((MINHASH, sentence, 12, with_a_typing_error), (MINHASH, unspaced, 50, with_a_typing_error)),
    ]
    leaks: list[tuple[str, str]] = []
    training = [sentence() for _ in range(2000)] + [unspaced() for _ in range(500)]
    for kind, make, size, change in planted:
        own = [make(size) for _ in range(120)]
        leaks += [(text, kind) for text in own]
        training += [change(text) for text in own]
    clean = [sentence() for _ in range(2000)] + [unspaced() for _ in range(500)]
    index = TestIndex([*(text for text, _ in leaks), *clean], ContaminationOptions())
    found = best_matches(index, np.array_split(np.array(training, dtype=object), 7))
    kinds = [found[row][0].kind if row in found else None for row in range(len(leaks))]
    assert np.mean([kind is not None for kind in kinds]) >= 0.99
    assert np.mean([kind == wanted for kind, (_, wanted) in zip(kinds, leaks, strict=True)]) >= 0.95
    false_alarms = sum(row >= len(leaks) for row in found)
    assert false_alarms / len(clean) < 0.002


def kinds(text: str, training: str, **options: Any) -> list[str]:
    index = TestIndex([text], ContaminationOptions(**options))
    return [match.kind for _, match in index.matches([training])]


def test_normalisation_covers_case_width_punctuation_and_spaces() -> None:
    assert kinds("Straße, Café: １２ %", "STRASSE CAFE\u0301 12") == [EXACT]
    assert kinds("これは、テストです。", "これは テスト です!") == [EXACT]
    assert kinds("the end", "then d") == []
    assert kinds("", "...") == []
    assert kinds("one", "") == []


def test_each_kind_has_its_parameter() -> None:
    words = " ".join(WORDS[:13])
    assert kinds(words, f"so {words} and more words follow") == [NGRAM]
    assert kinds(words, f"so {words} and more words follow", words=14, similarity=0.95) == []
    run = "".join(KANJI[:30])
    assert kinds(run, "".join(KANJI[100:140]) + run) == [NGRAM]
    assert kinds(run, "".join(KANJI[100:140]) + run, characters=31) == []
    near = with_a_typing_error(words)
    assert kinds(words, near) == [MINHASH]
    assert kinds(words, near, similarity=0.99) == []


def test_the_most_similar_of_several_near_duplicates_is_the_best_match() -> None:
    text = " ".join(f"word{number}" for number in range(12))
    nearer, near = text.replace("word11", "word1x"), text.replace("word3", "wxrd3").replace("word9", "wxrd9")
    index = TestIndex([text], ContaminationOptions(similarity=0.5))
    for sentences in ([near, nearer], [nearer, near]):
        match, count = best_matches(index, [sentences])[0]
        assert (match.sentence, match.kind, count) == (nearer, MINHASH, 2)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_an_engine_scans_the_training_sentences(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    connection: Any = ibis.duckdb.connect()
    if engine == "spark":
        connection = ibis.pyspark.connect(request.getfixturevalue("spark"))
    tests = [sentence(14) for _ in range(50)]
    training = [*(sentence() for _ in range(1000)), None, respelt(tests[3]), embedded(tests[3]), embedded(tests[5])]
    pq.write_table(pa.table({"sentence": training}), tmp_path / "training.parquet")
    table = read_parquet(connection, [tmp_path / "training.parquet"])
    found = contamination.find_matches(tests, table, ContaminationOptions())
    kinds = {text: (match.kind, count) for text, (match, count) in found.items()}
    assert kinds == {tests[3]: (EXACT, 2), tests[5]: (NGRAM, 1)}
    assert contamination.find_matches([], table, ContaminationOptions()) == {}


def test_items_of_a_task_with_a_leaked_text(tmp_path: Path) -> None:
    pairs = [(sentence(14), sentence(14), n % 6) for n in range(40)]
    lines = (f"a\tb\tc\t{n}\t{gold}\t{left}\t{right}\n" for n, (left, right, gold) in enumerate(pairs))
    (tmp_path / "sts-test.csv").write_text("".join(lines), encoding="utf-8")
    (texts,), failed = contamination.read_task_texts([make_task("stsb", tmp_path, subsets=("test",))])
    assert failed == {}
    assert (texts.task, texts.subset, texts.metric) == ("stsb", "test", "spearman")
    assert list(texts.texts) == [(left, right) for left, right, _ in pairs]
    table = ibis.duckdb.connect().create_table(
        "training", ibis.memtable({"sentence": [respelt(pairs[7][1]), embedded(pairs[9][0])]})
    )
    matches = contamination.find_matches([text for item in texts.texts for text in item], table, ContaminationOptions())
    assert texts.contaminated(matches) == [7, 9]
