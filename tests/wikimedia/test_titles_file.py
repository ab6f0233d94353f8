"""Tables of titles in several languages, in place of Wikidata's sitelinks."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia.titles_file import ingest_titles, main, read_titles
from tests.wikimedia.made_dumps import make_export, make_page


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_each_row_is_an_item_with_its_titles(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "titles.tsv", "en\tnote\teo", "Warsaw\tx\tvarsovio", "New_York\t\tNovjorko ", "Rome\t\t"
    )
    expected = [(2, "eo", "Varsovio"), (2, "en", "Warsaw"), (3, "eo", "Novjorko"), (3, "en", "New York")]
    assert list(read_titles(file, ["eo", "en"])) == [*expected, (4, "en", "Rome")]


def test_the_numbers_of_known_items_are_read(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "titles.tsv", "item\teo\ten", "Q270\tVarsovio\tWarsaw")
    assert list(read_titles(file, ["eo", "en"])) == [(270, "eo", "Varsovio"), (270, "en", "Warsaw")]


def test_a_title_of_two_items_stays_with_the_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write_lines(tmp_path / "titles.tsv", "eo\ten", "Romo\tRome", "Romo\tRoma", "Oslo\tOslo")
    sitelinks, counts = ingest_titles(file, ["eo", "en"], tmp_path / "parts")
    rows = [(row["qid"], row["language"], row["title"]) for row in pq.read_table(sitelinks).to_pylist()]
    assert rows == [(2, "en", "Rome"), (2, "eo", "Romo"), (3, "en", "Roma"), (4, "en", "Oslo"), (4, "eo", "Oslo")]
    assert counts["sitelinks"] == {"eo": 2, "en": 3}
    assert "1 titles or items occur twice" in caplog.text


def test_interlanguage_links_of_an_old_dump_are_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [
        make_page(1, "Varsovio", "Urbo, angle [[:en:Wrong|so]].\n[[de:Warschau]]\n[[ en: Warsaw ]]\n[[en:Second]]"),
        make_page(2, "Romo", "Urbo kun [[ponto]]j.\n[[it:Roma]]"),
        make_page(3, "Diskuto:Romo", "[[en:Talk:Rome]]", namespace=1),
    ]
    dump = tmp_path / "eowiki-20120101-pages-articles.xml"
    dump.write_text(make_export(pages, "eo"), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["titles_file", str(dump), "eo", "en", "de"])
    main()
    printed = capsys.readouterr().out
    assert printed == "eo\ten\tde\nVarsovio\tWarsaw\tWarschau\n"
    file = write_lines(tmp_path / "titles.tsv", printed)
    assert len(list(read_titles(file, ["eo", "en"]))) == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["eo;en", "Romo;Rome"], r"header names none of the languages eo, en \(columns: eo;en\)"),
        (["eo\tde", "Romo\tRom"], r"header names eo of the languages eo, en"),
        (["eo\ten\ten", "a\tb\tc"], "the header names the column en twice"),
        (["eo\ten", "Romo"], "line 2: 1 columns, but the header has 2"),
        (["item\teo\ten", "270\tVarsovio\tWarsaw"], "line 2: '270' is no item such as Q64"),
        (["eo\ten", "\t"], "contains no title"),
    ],
)
def test_wrong_tables_are_refused(lines: list[str], message: str, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "titles.tsv", *lines)
    with pytest.raises(EaseError, match=message):
        ingest_titles(file, ["eo", "en"], tmp_path / "parts")
