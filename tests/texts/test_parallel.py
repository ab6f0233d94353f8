"""Parallel sentences in their three forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.errors import EaseError
from tests.texts.conftest import GatherRows, WriteFile

FACTS = (
    "fact_id\tlanguage\ttext\n1\ten\tone\n1\tde\teins\n1\tfr\tun\n2\tde\tzwei\n3\tfr\ttrois\n3\ten\tthree\n"
)


def test_two_columns(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("a.tsv", "hello\tbonjour\n\tvide\nyes\toui\n")
    rows, (report,) = gather_rows({"kind": "parallel", "path": path})
    assert rows == [("hello", "bonjour", None), ("yes", "oui", None)]
    assert (report["read"], report["blank"]) == (3, 1)


def test_two_line_files(gather_rows: GatherRows, write_file: WriteFile) -> None:
    english, french = write_file("a.en", "hello\r\n\r\nyes"), write_file("a.fr.gz", "bonjour\nrien\noui\n")
    rows, (report,) = gather_rows({"kind": "parallel", "paths": [english, french]})
    assert rows == [("hello", "bonjour", None), ("yes", "oui", None)]
    assert report["place"] == f"{english} and {french}"
    assert report["blank"] == 1


def test_files_of_unequal_length_are_an_error_with_the_line(
    gather_rows: GatherRows, write_file: WriteFile
) -> None:
    long, short = write_file("a.en", "1\n2\n3\n"), write_file("a.fr", "1\n2\n")
    for paths in ([long, short], [short, long]):
        with pytest.raises(EaseError, match="a.fr ends after line 2, but .*a.en has a line 3"):
            gather_rows({"kind": "parallel", "paths": paths})


def test_facts_are_paired_with_the_pivot_language(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("facts.tsv", FACTS)
    rows, _ = gather_rows({"kind": "parallel", "path": path})
    assert rows == [("one", "eins", None), ("one", "un", None), ("three", "trois", None)]
    rows, _ = gather_rows({"kind": "parallel", "path": path, "pivot": "fr", "languages": ["en"]})
    assert sorted(rows) == [("trois", "three", None), ("un", "one", None)]
    with pytest.raises(EaseError, match="facts.tsv has nothing in ja: it has de, en, fr"):
        gather_rows({"kind": "parallel", "path": path, "languages": ["de", "ja"]})


def test_real_translations(gather_rows: GatherRows, test_data: Path) -> None:
    folder = test_data / "eval" / "tatoeba"
    paths = [folder / f"tatoeba.afr-eng.{code}" for code in ("eng", "afr")]
    rows, _ = gather_rows({"kind": "parallel", "paths": paths, "rows": 100}, seed=5)
    english, afrikaans = (path.read_text(encoding="utf-8").split("\n") for path in paths)
    pairs = {(one.strip(), other.strip()) for one, other in zip(english, afrikaans, strict=True)}
    assert len(rows) == 100
    assert {row[:2] for row in rows} <= pairs


def test_sentences_with_the_translation_of_the_next_line(
    gather_rows: GatherRows, write_file: WriteFile
) -> None:
    english, german = write_file("a.en", "one\ntwo\n\nfour\nfive\n"), write_file("a.de", "1\n2\n3\n4\n5\n")
    source = {"kind": "parallel", "paths": [english, german], "form": "following"}
    rows, _ = gather_rows(source)
    assert rows == [("one", "2", None), ("four", "5", None)], "the blank third line separates two and four"
    table = write_file("a.tsv", "one\t1\ntwo\t2\nthree\t3\n")
    assert gather_rows({"kind": "parallel", "path": table, "form": "following"})[0] == [
        ("one", "2", None),
        ("two", "3", None),
    ]


def test_shuffled_sentences_meet_no_translation(gather_rows: GatherRows, write_file: WriteFile) -> None:
    english = write_file("a.en", "".join(f"e{line}\n" for line in range(200)))
    german = write_file("a.de", "".join(f"d{line}\n" for line in range(200)))
    source = {"kind": "parallel", "paths": [english, german], "form": "shuffled"}
    rows, _ = gather_rows(source, seed=1)
    assert 195 <= len(rows) <= 200, "only lines that meet themselves are dropped"
    pairs = [(int(one[1:]), int(str(other)[1:])) for one, other, _ in rows]
    assert all(one != other for one, other in pairs)
    assert len({other for _, other in pairs}) == len(pairs), "each translation is used once"
    assert abs(sum((one < 100) == (other < 100) for one, other in pairs) - 100) < 30, "not only neighbours"
    assert gather_rows(source, seed=1)[0] == rows
    assert gather_rows(source, seed=2)[0] != rows
