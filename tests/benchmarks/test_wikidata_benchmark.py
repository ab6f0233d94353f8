"""The Wikidata benchmark on a few items."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import wikidata_ingestion
from benchmarks.wikidata_ingestion import LANGUAGES, make_wikidata


@pytest.mark.long
def test_each_reader_is_measured_and_returns_the_rows_of_the_plain_loop(capsys: pytest.CaptureFixture[str]) -> None:
    wikidata_ingestion.main(["--items", "30", "60", "--repeats", "1"])
    head, _, *lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()
    ]
    assert head[-2:] == ["peak MB, 30 items", "peak MB, 60 items"]
    assert [line[:2] for line in lines] == [
        [way, packing] for packing in ("bz2", "gz") for way in wikidata_ingestion.READERS
    ]
    rates = [float(line[2].replace(",", "")) for line in lines]
    for start in (0, 3):
        ratios = [float(line[3]) for line in lines[start : start + 3]]
        assert ratios == pytest.approx([rate / rates[start] for rate in rates[start : start + 3]], abs=0.06)
    assert [float(line[4]) for line in lines] == pytest.approx([rate / rates[0] for rate in rates], abs=0.06)
    assert all(float(cell) > 50 for line in lines for cell in line[5:])


@pytest.mark.long
@pytest.mark.slow
def test_differing_rows_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_wikidata(tmp_path / "made", 12)
    other = make_wikidata(tmp_path / "other", 12, seed=1)
    for language in LANGUAGES:
        (path,) = other.folder.glob(f"{language}wiki-*-page_props.sql.gz")
        path.replace(made.folder / path.name)
    other.pages.replace(made.pages)
    with pytest.raises(SystemExit, match=r"page_props and truthy statements \(\.bz2\) returns other rows"):
        wikidata_ingestion.print_rows([made], [12], 1, made)
