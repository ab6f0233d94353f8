"""The wikitext benchmarks on a few pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import template_speed, wikitext_growth, wikitext_speed
from tests.wikimedia.made_dumps import article, made, make_page


def cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


@pytest.mark.slow
def test_speed_of_a_dump_covers_its_articles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [article(1), make_page(2, "Long", "[[a]] é. " * 50_000), make_page(3, "Talk:A", "x", namespace=1)]
    dump = made(tmp_path, *pages)
    monkeypatch.setattr(sys, "argv", ["wikitext_speed", str(dump.path), "--repeats", "1"])
    wikitext_speed.main()
    head, _, row = map(cells, capsys.readouterr().out.splitlines())
    name, articles, megabytes, ours, theirs, ratio = row
    assert len(head) == len(row)
    assert (name, articles, megabytes) == ("enwiki-made", "2", "0.50")
    assert float(ours) / float(theirs) == pytest.approx(float(ratio), abs=0.1, rel=0.1)


@pytest.mark.parametrize(("show", "word"), [(True, "1,300 miles"), (False, "")])
def test_templates_are_shown_or_removed(tmp_path: Path, show: bool, word: str) -> None:
    dump = made(tmp_path, make_page(1, "Rhine", "The [[river]] is {{convert|1300|mi}} long."))
    template_speed.seconds_to_ingest(dump.path, show, tmp_path / "parts")
    (sentences,) = (tmp_path / "parts").rglob("sentences.parquet")
    assert pq.read_table(sentences)["text"].to_pylist() == [" ".join(f"The river is {word} long.".split())]


def test_growth_is_the_ratio_of_the_last_to_the_first_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wikitext_growth, "seconds", lambda source, site: len(source) / 8)
    wikitext_growth.main(["--times", "2", "8", "--repeats", "2"])
    head, _, *rows = map(cells, capsys.readouterr().out.splitlines())
    assert head == ["source", "2 times", "8 times", "growth"]
    assert ["`'{{'`", "0.500", "2.000", "4.0"] in rows
    assert ["`'[[a|' … 'x' … ']]'`", "1.625", "6.125", "3.8"] in rows
    assert len(rows) == len(wikitext_growth.hostile_sources())
