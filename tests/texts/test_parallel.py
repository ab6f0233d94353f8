"""Parallel sentences in their three forms."""

from __future__ import annotations

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


def test_facts_are_paired_with_the_pivot_language(gather_rows: GatherRows, write_file: WriteFile) -> None:
    path = write_file("facts.tsv", FACTS)
    rows, _ = gather_rows({"kind": "parallel", "path": path})
    assert rows == [("one", "eins", None), ("one", "un", None), ("three", "trois", None)]
    rows, _ = gather_rows({"kind": "parallel", "path": path, "pivot": "fr", "languages": ["en"]})
    assert sorted(rows) == [("trois", "three", None), ("un", "one", None)]
    with pytest.raises(EaseError, match="facts.tsv has nothing in ja: it has de, en, fr"):
        gather_rows({"kind": "parallel", "path": path, "languages": ["de", "ja"]})


def test_sentences_with_the_translation_of_the_next_line(
    gather_rows: GatherRows, write_file: WriteFile
) -> None:
    english, german = write_file("a.en", "one\ntwo\n\nfour\nfive\n"), write_file("a.de", "1\n2\n3\n4\n5\n")
    source = {"kind": "parallel", "paths": [english, german], "form": "following"}
    rows, _ = gather_rows(source)
    assert rows == [("one", "2", None), ("four", "5", None)], "the blank third line separates two and four"


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
